//! Lists as they were written: once for each of their states, however often they are asked for.

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

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

/// An empty store of lists. It is not divided: a part of it would be too small for a long one.
pub fn lists() -> Lists {
    let options = OptionsBuilder::new().shards(1).estimated_items_capacity(256).weight_capacity(LISTS).build();
    let options = options.expect("the three numbers are given");
    Cache::with_options(options, Length, DefaultHashBuilder::default(), DefaultLifecycle::default())
}
