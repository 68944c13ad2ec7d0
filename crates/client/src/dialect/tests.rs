//! Every recorded answer of the other side goes through the dialect.
#![allow(clippy::unwrap_used)]

use super::*;
