//! The check of the journal: entries against links against roots.
//!
//! One pass in the order in which rounds made the links. A partition's places grow with the rounds, so this pass sees each
//! chain in its order too, and needs memory for the heads of the chains only.

use std::collections::HashMap;

use contract::Micros;
use contract::ops::audit::AuditReport;
use rules::Partition;
use serde::{Deserialize, Serialize};
use store::repo::audit::{self, EntryRow, LinkRow, RootRow};
use store::{StoreError, Tx};

use super::hash::{self, Merkle, ZERO};

/// Rows read at once.
const PAGE: i64 = 2_000;

/// Most faults that are put into words.
const MOST_FAULTS: usize = 100;

/// A root for keeping outside the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedRoot {
    /// Number of the round.
    pub round: i64,
    /// Its hash, which covers every root and link before it.
    pub hash: String,
    /// When it was sealed.
    pub at: Micros,
}

/// The newest root, which stands for all that was sealed so far; none in an empty journal.
///
/// # Errors
/// What the store says.
pub fn newest_root(tx: &mut dyn Tx) -> Result<Option<ExportedRoot>, StoreError> {
    let root = audit::newest_root(tx)?;
    Ok(root.map(|root| ExportedRoot { round: root.round, hash: root.hash, at: Micros(root.at) }))
}

/// Checks the whole journal, of all partitions; with a root that was kept elsewhere also that nothing up to it was cut
/// off or written anew.
///
/// # Errors
/// What the store says; what does not fit is in the report.
pub fn verify(tx: &mut dyn Tx, kept: Option<&ExportedRoot>) -> Result<AuditReport, StoreError> {
    let mut check = Check::default();
    check.all_links(tx, kept)?;
    check.queue(tx, None)?;
    check.strays(tx, None)?;
    Ok(check.report())
}

/// Checks the entries and the chain of one partition, and tells nothing of others: roots stand over the links of all, so
/// they are not looked at.
///
/// # Errors
/// What the store says; what does not fit is in the report.
pub fn verify_partition(tx: &mut dyn Tx, partition: &Partition) -> Result<AuditReport, StoreError> {
    let mut check = Check::default();
    let mut after = i64::MIN;
    loop {
        let page = audit::links_of(tx, partition.as_str(), after, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        after = last.seq;
        for (link, entry) in &page {
            check.link(link, entry.as_ref());
        }
    }
    check.queue(tx, Some(partition))?;
    check.strays(tx, Some(partition))?;
    Ok(check.report())
}

#[derive(Default)]
struct Check {
    report: AuditReport,
    faulty: bool,
    heads: HashMap<String, (i64, String)>,
    /// Entries that a link or the queue accounts for.
    known: u64,
}

impl Check {
    fn fault(&mut self, words: impl FnOnce() -> String) {
        self.faulty = true;
        if self.report.faults.len() < MOST_FAULTS {
            self.report.faults.push(words());
        }
    }

    fn report(mut self) -> AuditReport {
        self.report.ok = !self.faulty;
        self.report
    }

    fn all_links(&mut self, tx: &mut dyn Tx, kept: Option<&ExportedRoot>) -> Result<(), StoreError> {
        let mut roots = Roots::new(kept);
        let mut open: Option<(i64, Merkle)> = None;
        let mut after = (i64::MIN, String::new(), i64::MIN);
        loop {
            let page = audit::links_by_round(tx, (after.0, &after.1, after.2), PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = (last.round, last.partition.clone(), last.seq);
            for (link, entry) in &page {
                if let Some((round, merkle)) = open.take_if(|(round, _)| *round != link.round) {
                    roots.round(self, tx, round, merkle)?;
                }
                self.link(link, entry.as_ref());
                open.get_or_insert_with(|| (link.round, Merkle::default())).1.push(&link.hash);
            }
        }
        if let Some((round, merkle)) = open {
            roots.round(self, tx, round, merkle)?;
        }
        roots.end(self, tx)
    }

    fn link(&mut self, link: &LinkRow, entry: Option<&EntryRow>) {
        self.report.links += 1;
        let name = || format!("link {} of '{}'", link.seq, link.partition);
        match entry {
            None => self.fault(|| format!("{}: its entry {} is gone", name(), link.audit_id)),
            Some(entry) => {
                self.report.entries += 1;
                self.known += 1;
                self.entry(entry);
                if entry.body_hash != link.body_hash {
                    self.fault(|| format!("{}: entry {} is not the one that was linked", name(), entry.id));
                }
                if entry.partition != link.partition {
                    self.fault(|| format!("{}: entry {} belongs to another partition", name(), entry.id));
                }
            }
        }
        if hash::link(link) != link.hash {
            self.fault(|| format!("{}: its hash does not fit its fields", name()));
        }
        let head = self.heads.get_mut(&link.partition);
        let (seq, prev) = head.as_ref().map_or((0, ZERO), |head| (head.0, head.1.as_str()));
        let (in_place, follows) = (link.seq == seq + 1, link.prev_hash == prev);
        match head {
            Some(head) => {
                head.0 = link.seq;
                head.1.clone_from(&link.hash);
            }
            None => {
                self.heads.insert(link.partition.clone(), (link.seq, link.hash.clone()));
            }
        }
        if !in_place {
            self.fault(|| format!("{}: it follows link {seq}", name()));
        } else if !follows {
            self.fault(|| format!("{}: it was made after another link than the one before it", name()));
        }
    }

    fn entry(&mut self, entry: &EntryRow) {
        if hash::entry(entry) != entry.body_hash {
            self.fault(|| format!("entry {}: its hash does not fit its fields", entry.id));
        }
    }

    /// The tail that is not sealed yet.
    fn queue(&mut self, tx: &mut dyn Tx, partition: Option<&Partition>) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let page = audit::queue_page(tx, &after, PAGE)?;
            let Some((last, ..)) = page.last() else {
                return Ok(());
            };
            after.clone_from(last);
            for (id, entry, linked) in page {
                // Whose it was is not known of an entry that is gone.
                if partition.is_some_and(|p| entry.as_ref().is_none_or(|e| e.partition != p.as_str())) {
                    continue;
                }
                match entry {
                    None => self.fault(|| format!("entry {id}: it waits to be sealed and is gone")),
                    Some(_) if linked => {
                        self.fault(|| format!("entry {id}: it is linked and waits to be sealed again"))
                    }
                    Some(entry) => {
                        self.report.entries += 1;
                        self.report.unsealed += 1;
                        self.known += 1;
                        self.entry(&entry);
                    }
                }
            }
        }
    }

    /// Entries that were put in past the journal, or whose links were taken away.
    fn strays(&mut self, tx: &mut dyn Tx, partition: Option<&Partition>) -> Result<(), StoreError> {
        let partition = partition.map(Partition::as_str);
        if audit::count(tx, partition)? == self.known {
            return Ok(());
        }
        let ids = audit::strays(tx, partition, MOST_FAULTS as i64)?;
        for id in &ids {
            self.fault(|| format!("entry {id}: it is neither linked nor waiting to be sealed"));
        }
        if ids.is_empty() {
            self.fault(|| "the number of entries does not fit that of links".to_owned());
        }
        Ok(())
    }
}

/// The chain of roots, read beside the links.
struct Roots<'a> {
    kept: Option<&'a ExportedRoot>,
    page: std::vec::IntoIter<RootRow>,
    read: i64,
    round: i64,
    hash: String,
}

impl<'a> Roots<'a> {
    fn new(kept: Option<&'a ExportedRoot>) -> Self {
        Self { kept, page: Vec::new().into_iter(), read: i64::MIN, round: 0, hash: ZERO.to_owned() }
    }

    /// The next root up to and including a round.
    fn next(&mut self, tx: &mut dyn Tx, up_to: i64) -> Result<Option<RootRow>, StoreError> {
        if self.page.as_slice().is_empty() {
            self.page = audit::roots_page(tx, self.read, PAGE)?.into_iter();
            self.read = self.page.as_slice().last().map_or(self.read, |root| root.round);
        }
        match self.page.as_slice().first() {
            Some(root) if root.round <= up_to => Ok(self.page.next()),
            _ => Ok(None),
        }
    }

    /// Checks the root of a round whose links have been seen.
    fn round(&mut self, check: &mut Check, tx: &mut dyn Tx, round: i64, merkle: Merkle) -> Result<(), StoreError> {
        let mut merkle = Some(merkle);
        while let Some(root) = self.next(tx, round)? {
            let links = if root.round == round { merkle.take() } else { None };
            self.root(check, &root, links.unwrap_or_default());
        }
        if merkle.is_some() {
            check.fault(|| format!("round {round}: its root is gone"));
        }
        Ok(())
    }

    fn end(mut self, check: &mut Check, tx: &mut dyn Tx) -> Result<(), StoreError> {
        while let Some(root) = self.next(tx, i64::MAX)? {
            self.root(check, &root, Merkle::default());
        }
        if let Some(kept) = self.kept {
            check.fault(|| format!("round {}: the root that was kept elsewhere is gone", kept.round));
        }
        Ok(())
    }

    fn root(&mut self, check: &mut Check, root: &RootRow, links: Merkle) {
        let round = root.round;
        check.report.roots += 1;
        if root.links.unsigned_abs() != links.len() || root.links < 0 {
            check.fault(|| format!("round {round}: {} links were sealed, {} are there", root.links, links.len()));
        } else if links.root() != root.merkle {
            check.fault(|| format!("round {round}: its links are not those that were sealed"));
        }
        if hash::root(root) != root.hash {
            check.fault(|| format!("round {round}: its hash does not fit its fields"));
        }
        if round != self.round + 1 {
            check.fault(|| format!("round {round}: it follows round {}", self.round));
        } else if root.prev_hash != self.hash {
            check.fault(|| format!("round {round}: it was made after another root than the one before it"));
        }
        if let Some(kept) = self.kept.take_if(|kept| kept.round == round)
            && (kept.hash != root.hash || kept.at.0 != root.at)
        {
            check.fault(|| format!("round {round}: its root is not the one that was kept elsewhere"));
        }
        self.round = round;
        self.hash.clone_from(&root.hash);
    }
}
