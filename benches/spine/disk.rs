//! The floor under every durable call.

use super::report::median;
use super::world::folder;
use std::io::Write as _;
use std::time::Instant;

/// How long this disk takes to keep a small write, in microseconds.
pub fn micros() -> f64 {
    let folder = folder();
    let mut file = std::fs::File::create(folder.path().join("probe")).unwrap();
    let once = |_| {
        let since = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        since.elapsed().as_secs_f64() * 1e6
    };
    median(&(0..100).map(once).collect::<Vec<_>>())
}
