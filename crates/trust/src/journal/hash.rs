//! What the hashes of the journal cover.
//!
//! Each is SHA-256 over a name of its own (so that no hash of one kind is one of another) and its fields, texts behind
//! their length and numbers in eight bytes (so that no two lists of fields read alike), written as 64 hex digits:
//!
//! - an entry: id, partition, time, actor, action, subject, body;
//! - a link: partition, place, id of the entry, hash of the entry, hash of the link before, round;
//! - a root: round, time, number of links, Merkle root, hash of the root before.
//!
//! The Merkle root stands over the link hashes of a round by partition and place. The first link of a chain and the first
//! root have [`ZERO`] before them.

use sha2::{Digest, Sha256};
use store::repo::audit::{EntryRow, LinkRow, RootRow};

/// Stands where there is nothing before.
pub(super) const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";

struct Fields(Sha256);

impl Fields {
    fn of(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
        self
    }

    fn int(mut self, number: i64) -> Self {
        self.0.update(number.to_be_bytes());
        self
    }

    fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)].into());
        out.push(DIGITS[usize::from(byte & 15)].into());
    }
    out
}

/// The hash of an entry; its own field is not looked at.
pub(super) fn entry(row: &EntryRow) -> String {
    Fields::of("astudio-audit-entry-1")
        .text(&row.id)
        .text(&row.partition)
        .int(row.at)
        .text(&row.actor)
        .text(&row.action)
        .text(&row.subject)
        .text(&row.body)
        .hex()
}

/// The hash of a link; its own field is not looked at.
pub(super) fn link(row: &LinkRow) -> String {
    Fields::of("astudio-audit-link-1")
        .text(&row.partition)
        .int(row.seq)
        .text(&row.audit_id)
        .text(&row.body_hash)
        .text(&row.prev_hash)
        .int(row.round)
        .hex()
}

/// The hash of a root; its own field is not looked at.
pub(super) fn root(row: &RootRow) -> String {
    Fields::of("astudio-audit-root-1")
        .int(row.round)
        .int(row.at)
        .int(row.links)
        .text(&row.merkle)
        .text(&row.prev_hash)
        .hex()
}

/// Collects the link hashes of a round, in memory of the logarithm of their number.
#[derive(Default)]
pub(super) struct Merkle {
    /// Roots of complete subtrees, the largest first, with the number of their leaves.
    peaks: Vec<(u64, [u8; 32])>,
    leaves: u64,
}

impl Merkle {
    /// The next link hash.
    pub(super) fn push(&mut self, hash: &str) {
        let leaf = Sha256::new_with_prefix([0]).chain_update(hash.as_bytes()).finalize();
        self.peaks.push((1, leaf.into()));
        self.leaves += 1;
        while let [.., (left, a), (right, b)] = self.peaks[..]
            && left == right
        {
            self.peaks.truncate(self.peaks.len() - 2);
            self.peaks.push((left + right, node(&a, &b)));
        }
    }

    /// How many there were.
    pub(super) fn len(&self) -> u64 {
        self.leaves
    }

    /// The root.
    pub(super) fn root(self) -> String {
        let mut peaks = self.peaks.into_iter().rev().map(|(_, hash)| hash);
        let Some(last) = peaks.next() else {
            return ZERO.to_owned();
        };
        hex(&peaks.fold(last, |right, left| node(&left, &right)))
    }
}

fn node(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn root_of(leaves: &[&str]) -> String {
        let mut merkle = Merkle::default();
        leaves.iter().for_each(|leaf| merkle.push(leaf));
        assert_eq!(merkle.len(), leaves.len() as u64);
        merkle.root()
    }

    /// The tree by its definition: the left part is the largest power of two below the number of leaves.
    fn by_definition(leaves: &[&str]) -> [u8; 32] {
        match leaves {
            [leaf] => Sha256::new_with_prefix([0]).chain_update(leaf.as_bytes()).finalize().into(),
            _ => {
                let half = leaves.len().next_power_of_two() / 2;
                node(&by_definition(&leaves[..half]), &by_definition(&leaves[half..]))
            }
        }
    }

    #[test]
    fn the_merkle_root_is_that_of_the_definition() {
        let names: Vec<String> = (0..70).map(|n| format!("leaf {n}")).collect();
        let leaves: Vec<&str> = names.iter().map(String::as_str).collect();
        for n in 1..=leaves.len() {
            assert_eq!(root_of(&leaves[..n]), hex(&by_definition(&leaves[..n])), "{n} leaves");
        }
        assert_eq!(root_of(&[]), ZERO);
        assert_ne!(root_of(&["a", "b"]), root_of(&["b", "a"]));
        assert_ne!(root_of(&["a", "b", "b"]), root_of(&["a", "b"]));
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let two = |a: &str, b: &str| Fields::of("x").text(a).text(b).hex();
        assert_ne!(two("ab", "c"), two("a", "bc"));
        assert_eq!(two("ab", "c").len(), 64);
    }
}
