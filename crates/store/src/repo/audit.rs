//! The tables of the journal: entries, links, roots, and the queue of what is not sealed yet.
//!
//! What the hashes cover is decided by the journal, which is the only caller.

use crate::{Row, StoreError, Tx, vals};

/// A journal entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    /// UUID v7.
    pub id: String,
    /// A tenant, or `-`.
    pub partition: String,
    /// Microseconds since 1970.
    pub at: i64,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// On what.
    pub subject: String,
    /// Canonical JSON.
    pub body: String,
    /// Hash over all fields above.
    pub body_hash: String,
}

/// A link of a partition's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// The chain.
    pub partition: String,
    /// Place in the chain, from 1.
    pub seq: i64,
    /// The entry.
    pub audit_id: String,
    /// Its hash.
    pub body_hash: String,
    /// Hash of the link before.
    pub prev_hash: String,
    /// Hash of this link.
    pub hash: String,
    /// The round it was made in.
    pub round: i64,
}

/// A root of the global chain: one round of sealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRow {
    /// Number of the round, from 1.
    pub round: i64,
    /// When it was sealed, microseconds since 1970.
    pub at: i64,
    /// Links made in the round.
    pub links: i64,
    /// Merkle root over their hashes.
    pub merkle: String,
    /// Hash of the root before.
    pub prev_hash: String,
    /// Hash of this root.
    pub hash: String,
}

/// An entry for a list, with its link if it is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// The entry.
    pub entry: EntryRow,
    /// Its link's place and hash.
    pub link: Option<(i64, String)>,
}

const ENTRY: &str = "a.id, a.partition, a.at, a.actor, a.action, a.subject, a.body, a.body_hash";

const LINK: &str = "l.partition, l.seq, l.audit_id, l.body_hash, l.prev_hash, l.hash, l.round";

/// Reads the columns of [`ENTRY`] from the column `at` on.
fn entry_at(row: &mut Row, at: usize) -> Result<EntryRow, StoreError> {
    Ok(EntryRow {
        id: row.take_text(at)?,
        partition: row.take_text(at + 1)?,
        at: row.int(at + 2)?,
        actor: row.take_text(at + 3)?,
        action: row.take_text(at + 4)?,
        subject: row.take_text(at + 5)?,
        body: row.take_text(at + 6)?,
        body_hash: row.take_text(at + 7)?,
    })
}

fn link(row: &mut Row) -> Result<LinkRow, StoreError> {
    Ok(LinkRow {
        partition: row.take_text(0)?,
        seq: row.int(1)?,
        audit_id: row.take_text(2)?,
        body_hash: row.take_text(3)?,
        prev_hash: row.take_text(4)?,
        hash: row.take_text(5)?,
        round: row.int(6)?,
    })
}

fn root(row: &mut Row) -> Result<RootRow, StoreError> {
    Ok(RootRow {
        round: row.int(0)?,
        at: row.int(1)?,
        links: row.int(2)?,
        merkle: row.take_text(3)?,
        prev_hash: row.take_text(4)?,
        hash: row.take_text(5)?,
    })
}

/// Adds an entry and queues it for the sealer.
pub fn insert(tx: &mut dyn Tx, row: &EntryRow) -> Result<(), StoreError> {
    tx.exec(
        "insert into audit (id, partition, at, actor, action, subject, body, body_hash)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        vals![&row.id, &row.partition, row.at, &row.actor, &row.action, &row.subject, &row.body, &row.body_hash],
    )?;
    tx.exec("insert into audit_unsealed (audit_id) values ($1)", vals![&row.id])?;
    Ok(())
}

/// Entries of a partition, newest first; `before` is the last id of the page before.
pub fn list(
    tx: &mut dyn Tx,
    partition: &str,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<ListedEntry>, StoreError> {
    // Every id sorts before '~'.
    let rows = tx.query(
        &format!(
            "select {ENTRY}, l.seq, l.hash from audit a left join audit_links l on l.audit_id = a.id
             where a.partition = $1 and a.id < $2 order by a.id desc limit $3"
        ),
        vals![partition, before.unwrap_or("~"), limit],
    )?;
    rows.into_iter()
        .map(|mut row| {
            let link = match row.opt_int(8)? {
                Some(seq) => Some((seq, row.take_text(9)?)),
                None => None,
            };
            Ok(ListedEntry { entry: entry_at(&mut row, 0)?, link })
        })
        .collect()
}

/// Id, partition and hash of the queued entries, in the order of their ids.
pub fn unsealed(tx: &mut dyn Tx, limit: i64) -> Result<Vec<(String, String, String)>, StoreError> {
    let rows = tx.query(
        // A cross join keeps the order of the tables, so the short queue leads.
        "select a.id, a.partition, a.body_hash from audit_unsealed u cross join audit a where a.id = u.audit_id
         order by u.audit_id limit $1",
        vals![limit],
    )?;
    rows.into_iter().map(|mut row| Ok((row.take_text(0)?, row.take_text(1)?, row.take_text(2)?))).collect()
}

/// Takes the entries up to this id out of the queue. One whose entry is gone stays, for it tells of a deletion.
pub fn dequeue(tx: &mut dyn Tx, up_to: &str) -> Result<u64, StoreError> {
    tx.exec(
        "delete from audit_unsealed where audit_id <= $1
         and exists (select 1 from audit a where a.id = audit_unsealed.audit_id)",
        vals![up_to],
    )
}

/// Place and hash of the newest link of a partition.
pub fn head(tx: &mut dyn Tx, partition: &str) -> Result<Option<(i64, String)>, StoreError> {
    let row = tx.query_one(
        "select seq, hash from audit_links where partition = $1 order by seq desc limit 1",
        vals![partition],
    )?;
    row.map(|mut row| Ok((row.int(0)?, row.take_text(1)?))).transpose()
}

/// Place and subject of the entries of a partition after a place, oldest first.
pub fn subjects_after(
    tx: &mut dyn Tx,
    partition: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, String)>, StoreError> {
    let rows = tx.query(
        // A cross join keeps the order of the tables, so that only the newest links are looked at.
        "select l.seq, a.subject from audit_links l cross join audit a
         where l.partition = $1 and l.seq > $2 and a.id = l.audit_id order by l.seq limit $3",
        vals![partition, after, limit],
    )?;
    rows.into_iter().map(|mut row| Ok((row.int(0)?, row.take_text(1)?))).collect()
}

/// Adds a link.
pub fn insert_link(tx: &mut dyn Tx, row: &LinkRow) -> Result<(), StoreError> {
    tx.exec(
        "insert into audit_links (partition, seq, audit_id, body_hash, prev_hash, hash, round)
         values ($1, $2, $3, $4, $5, $6, $7)",
        vals![&row.partition, row.seq, &row.audit_id, &row.body_hash, &row.prev_hash, &row.hash, row.round],
    )?;
    Ok(())
}

/// The newest root.
pub fn newest_root(tx: &mut dyn Tx) -> Result<Option<RootRow>, StoreError> {
    let row = tx.query_one(
        "select round, at, links, merkle, prev_hash, hash from audit_roots order by round desc limit 1",
        vals![],
    )?;
    row.map(|mut row| root(&mut row)).transpose()
}

/// Adds a root.
pub fn insert_root(tx: &mut dyn Tx, row: &RootRow) -> Result<(), StoreError> {
    tx.exec(
        "insert into audit_roots (round, at, links, merkle, prev_hash, hash) values ($1, $2, $3, $4, $5, $6)",
        vals![row.round, row.at, row.links, &row.merkle, &row.prev_hash, &row.hash],
    )?;
    Ok(())
}

/// A link with its entry, if that is there.
pub type Linked = (LinkRow, Option<EntryRow>);

fn linked(rows: Vec<Row>) -> Result<Vec<Linked>, StoreError> {
    let one = |mut row: Row| {
        let link = link(&mut row)?;
        if row.is_null(7)? {
            return Ok((link, None));
        }
        Ok((link, Some(entry_at(&mut row, 7)?)))
    };
    rows.into_iter().map(one).collect()
}

/// A page of all links in the order in which rounds made them: by round, partition and place, after such a place.
pub fn links_by_round(tx: &mut dyn Tx, after: (i64, &str, i64), limit: i64) -> Result<Vec<Linked>, StoreError> {
    let rows = tx.query(
        &format!(
            "select {LINK}, {ENTRY} from audit_links l left join audit a on a.id = l.audit_id
             where (l.round, l.partition, l.seq) > ($1, $2, $3) order by l.round, l.partition, l.seq limit $4"
        ),
        vals![after.0, after.1, after.2, limit],
    )?;
    linked(rows)
}

/// A page of the links of one partition, after a place.
pub fn links_of(tx: &mut dyn Tx, partition: &str, after: i64, limit: i64) -> Result<Vec<Linked>, StoreError> {
    let rows = tx.query(
        &format!(
            "select {LINK}, {ENTRY} from audit_links l left join audit a on a.id = l.audit_id
             where l.partition = $1 and l.seq > $2 order by l.seq limit $3"
        ),
        vals![partition, after, limit],
    )?;
    linked(rows)
}

/// A page of the queue after an id: the id, its entry if that is there, and whether it is linked already.
pub fn queue_page(
    tx: &mut dyn Tx,
    after: &str,
    limit: i64,
) -> Result<Vec<(String, Option<EntryRow>, bool)>, StoreError> {
    let rows = tx.query(
        &format!(
            "select u.audit_id, l.seq, {ENTRY} from audit_unsealed u left join audit a on a.id = u.audit_id
             left join audit_links l on l.audit_id = u.audit_id
             where u.audit_id > $1 order by u.audit_id limit $2"
        ),
        vals![after, limit],
    )?;
    rows.into_iter()
        .map(|mut row| {
            let entry = if row.is_null(2)? { None } else { Some(entry_at(&mut row, 2)?) };
            Ok((row.take_text(0)?, entry, !row.is_null(1)?))
        })
        .collect()
}

/// How many entries there are, of one partition or of all.
pub fn count(tx: &mut dyn Tx, partition: Option<&str>) -> Result<u64, StoreError> {
    let row = match partition {
        Some(partition) => tx.query_one("select count(*) from audit where partition = $1", vals![partition])?,
        None => tx.query_one("select count(*) from audit", vals![])?,
    };
    row.map_or(Ok(0), |row| row.uint(0))
}

/// Entries that are neither linked nor queued, of one partition or of all.
pub fn strays(tx: &mut dyn Tx, partition: Option<&str>, limit: i64) -> Result<Vec<String>, StoreError> {
    let rows = tx.query(
        "select a.id from audit a
         where ($1 is null or a.partition = $1)
           and not exists (select 1 from audit_links l where l.audit_id = a.id)
           and not exists (select 1 from audit_unsealed u where u.audit_id = a.id)
         order by a.id limit $2",
        vals![partition, limit],
    )?;
    rows.into_iter().map(|mut row| row.take_text(0)).collect()
}

/// A page of roots after a round.
pub fn roots_page(tx: &mut dyn Tx, round: i64, limit: i64) -> Result<Vec<RootRow>, StoreError> {
    let rows = tx.query(
        "select round, at, links, merkle, prev_hash, hash from audit_roots where round > $1 order by round limit $2",
        vals![round, limit],
    )?;
    rows.into_iter().map(|mut row| root(&mut row)).collect()
}
