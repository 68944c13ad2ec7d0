//! What goes wrong below becomes the contract's refusals, here and nowhere else.

pub use runtime::store_refusal as from_store;
