//! The home folder and the register of the processes that use it.
//!
//! Each process holds an exclusive lock on `run/<id>.alive` for as long as it lives; the system drops
//! the lock when the process ends, however it ends. So "is that process alive" is never a guess from a
//! process number that may have been given out again.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::StoreError;

/// An open home folder and this process's place in its register. Dropping it signs the process off.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    id: Uuid,
    alive: File,
}

impl Home {
    /// Opens the folder, creating it for its owner alone if it is missing, and registers the process.
    pub fn open(path: &Path) -> Result<Home, StoreError> {
        create_private(path).map_err(|e| StoreError::home("the home folder cannot be made", &e))?;
        let path = fs::canonicalize(path).map_err(|e| StoreError::home("the home folder cannot be used", &e))?;
        let run = path.join("run");
        create_private(&run).map_err(|e| StoreError::home("the run folder of the home cannot be made", &e))?;
        let id = Uuid::new_v4();
        let alive =
            register(&run, id).map_err(|e| StoreError::home("the process cannot be registered in the home", &e))?;
        let home = Home { path, id, alive };
        home.sweep();
        Ok(home)
    }

    /// The folder, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.path.join("astudio.db")
    }

    /// The folder of what belongs to running processes; it may be emptied when none runs.
    pub fn run_dir(&self) -> PathBuf {
        self.path.join("run")
    }

    /// The name of this process in the register. Never used twice.
    pub fn process_id(&self) -> Uuid {
        self.id
    }

    /// Whether that process still lives. What a dead one left in the register is removed.
    ///
    /// When the system cannot tell, the answer is yes: taking over the work of a living process does
    /// harm, waiting does not.
    pub fn is_alive(&self, id: Uuid) -> bool {
        probe(&self.run_dir().join(format!("{id}.alive")))
    }

    /// The user this process writes files as.
    pub(crate) fn uid(&self) -> std::io::Result<u32> {
        Ok(self.alive.metadata()?.uid())
    }

    /// Removes what dead processes left.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.run_dir()) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.extension().and_then(|e| e.to_str()) {
                Some("alive" | "new") => {
                    probe(&path);
                }
                Some("bell") => {
                    let id = path.file_stem().and_then(|s| s.to_str());
                    if let Some(id) = id.and_then(|s| Uuid::parse_str(s).ok())
                        && !self.is_alive(id)
                    {
                        remove(&path);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        remove(&self.run_dir().join(format!("{}.alive", self.id)));
    }
}

/// Locks a file under a passing name and gives it its real one afterwards, so that no sweeper ever sees
/// a registered process without its lock. A sweeper may take the passing file; then another is made.
fn register(run: &Path, id: Uuid) -> std::io::Result<File> {
    let path = run.join(format!("{id}.alive"));
    loop {
        let passing = run.join(format!("{}.new", Uuid::new_v4()));
        let file = private_file().write(true).create_new(true).open(&passing)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(e)) => return Err(e),
        }
        match fs::rename(&passing, &path) {
            Ok(()) => return Ok(file),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
}

/// Whether somebody holds the lock of this file; if not, the file is removed. The lock asked for is a
/// shared one, so that two askers do not take each other for the owner.
fn probe(path: &Path) -> bool {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) => return e.kind() != ErrorKind::NotFound,
    };
    match file.try_lock_shared() {
        Ok(()) => {
            remove(path);
            false
        }
        Err(_) => true,
    }
}

/// Removes a file that another process may be removing as well.
pub(crate) fn remove(path: &Path) {
    if let Err(e) = fs::remove_file(path)
        && e.kind() != ErrorKind::NotFound
    {
        tracing::debug!(kind = %e.kind(), "a stale file of the home stays");
    }
}

/// Makes a folder for its owner alone; one that is there already stays as it is.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens files that only their owner may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_home_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("a/b")).unwrap();
        for path in [home.path().to_owned(), home.run_dir()] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }

    #[test]
    fn the_register_knows_the_living_and_forgets_the_gone() {
        let dir = tempfile::tempdir().unwrap();
        let a = Home::open(dir.path()).unwrap();
        let b = Home::open(dir.path()).unwrap();
        assert!(a.is_alive(a.process_id()));
        assert!(a.is_alive(b.process_id()));
        assert!(!a.is_alive(Uuid::new_v4()));
        let gone = b.process_id();
        drop(b);
        assert!(!a.is_alive(gone));
    }

    #[test]
    fn stale_files_are_swept_and_live_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let a = Home::open(dir.path()).unwrap();
        let dead = Uuid::new_v4();
        let run = a.run_dir();
        for name in [format!("{dead}.alive"), format!("{dead}.bell"), format!("{dead}.new")] {
            fs::write(run.join(name), "").unwrap();
        }
        fs::write(run.join("other.txt"), "").unwrap();
        let b = Home::open(dir.path()).unwrap();
        let mut left: Vec<String> =
            fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        let mut want =
            vec![format!("{}.alive", a.process_id()), format!("{}.alive", b.process_id()), "other.txt".to_owned()];
        want.sort();
        assert_eq!(left, want);
    }

    #[test]
    fn many_may_register_and_sweep_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..20 {
                        let home = Home::open(path).unwrap();
                        assert!(home.is_alive(home.process_id()));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(path.join("run")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_place_of_the_home_is_said_without_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret-name");
        fs::write(&path, "").unwrap();
        let text = Home::open(&path).unwrap_err().to_string();
        assert!(!text.contains("secret-name"), "{text}");
    }
}
