//! The sealer: numbers and links what was committed, one root per round.

use std::collections::BTreeMap;

use contract::Micros;
use store::repo::audit::{self, LinkRow, RootRow};
use store::{Store, StoreError, Tx};

use super::hash::{self, Merkle, ZERO};

/// Most entries of one round; what is left waits for the next.
const MOST: i64 = 10_000;

/// Seals one round: takes the queued entries in the order of their ids, links them and adds a root. Answers how many.
///
/// An entry that commits late simply gets the next number. Heads are read inside the transaction, for another process may
/// have sealed in between.
///
/// # Errors
/// What the store says.
pub fn seal(tx: &mut dyn Tx, now: Micros) -> Result<usize, StoreError> {
    let queued = audit::unsealed(tx, MOST)?;
    let Some((last, _, _)) = queued.last() else {
        return Ok(0);
    };
    let last = last.clone();
    let newest = audit::newest_root(tx)?;
    let round = newest.as_ref().map_or(1, |root| root.round + 1);

    let sealed = queued.len();
    let mut by_partition: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (id, partition, body_hash) in queued {
        by_partition.entry(partition).or_default().push((id, body_hash));
    }
    let mut merkle = Merkle::default();
    for (partition, entries) in by_partition {
        let (mut seq, mut prev) = audit::head(tx, &partition)?.unwrap_or((0, ZERO.to_owned()));
        for (audit_id, body_hash) in entries {
            seq += 1;
            let mut link = LinkRow {
                partition: partition.clone(),
                seq,
                audit_id,
                body_hash,
                prev_hash: prev,
                hash: String::new(),
                round,
            };
            link.hash = hash::link(&link);
            audit::insert_link(tx, &link)?;
            merkle.push(&link.hash);
            prev = link.hash;
        }
    }
    let links = i64::try_from(merkle.len()).map_err(|_| StoreError::BadNumber)?;
    let prev_hash = newest.map_or_else(|| ZERO.to_owned(), |root| root.hash);
    let mut root = RootRow { round, at: now.0, links, merkle: merkle.root(), prev_hash, hash: String::new() };
    root.hash = hash::root(&root);
    audit::insert_root(tx, &root)?;
    audit::dequeue(tx, &last)?;
    Ok(sealed)
}

/// Makes the store's writer the sealer: a round at the end of each group, in the commit of the entries themselves.
/// Answers `false` if the store already ends its groups otherwise.
pub fn install(store: &Store) -> bool {
    store.on_group_end(Box::new(|tx| seal(tx, Micros::now()).map(drop)))
}
