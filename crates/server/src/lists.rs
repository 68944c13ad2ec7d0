//! Lists as they were written: once for each of their states, however often they are asked for.

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of written lists that are kept.
const LISTS: u64 = 24 * 1024 * 1024;

/// Lists as they were written, by tag.
pub type Lists = Cache<String, Bytes, Length>;

/// Weighs a list by its bytes.
#[derive(Clone)]
pub struct Length;

impl Weighter<String, Bytes> for Length {
    fn weight(&self, key: &String, value: &Bytes) -> u64 {
        (key.len() + value.len()) as u64
    }
}

/// An empty store of lists.
pub fn lists() -> Lists {
    Cache::with_weighter(256, LISTS, Length)
}
