//! Toolkits that ship with astudio.
//!
//! Here lives the [`desk`], the order desk of a small shop that the demo's agents work at. It is registered the way a host
//! registers its own tools and gets nothing that a host could not have. It may use `tools` and below. Nothing that decides
//! whether a tool may run belongs here.

pub mod desk;
