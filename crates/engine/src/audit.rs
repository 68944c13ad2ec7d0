//! The journal, for administrators of a tenant.

use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::audit::{AuditEntry, AuditList, AuditReport, ListAudit, VerifyAudit};
use contract::ops::common::Page;
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Micros, Result, StudioError, ids};
use store::repo::audit::{self, ListedEntry};
use trust::journal;

/// Entries of a page when no limit is given: unlike records, entries never stop growing in number.
const PAGE: u32 = 100;

impl Serve<ListAudit> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, query: Late<Page>, _: Late<NoBody>) -> Result<Json<AuditList>> {
        let partition = who.partition()?;
        let Page { limit, cursor, q, sort } = query.open()?;
        if q.is_some() || sort.is_some() {
            return Err(StudioError::invalid_request(
                "The journal is listed newest first and takes neither 'q' nor 'sort'.",
            ));
        }
        if cursor.as_deref().is_some_and(|cursor| !ids::is_id(cursor)) {
            return Err(StudioError::invalid_request("'cursor' must be the 'next_cursor' of the page before."));
        }
        let limit = limit.unwrap_or(PAGE);
        let read = |tx: &mut dyn store::Tx| {
            let more = i64::from(limit) + 1;
            Ok(audit::list(tx, partition.as_str(), cursor.as_deref(), more)?)
        };
        let mut rows = self.store.read::<_, Failure, _>(read).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(|row| row.entry.id.clone());
        let entries = rows.into_iter().map(entry).collect::<Result<Vec<_>>>()?;
        Ok(Json(AuditList { count: entries.len(), entries, next_cursor }))
    }
}

fn entry(row: ListedEntry) -> Result<AuditEntry> {
    let ListedEntry { entry, link } = row;
    let (seq, hash) = link.unzip();
    Ok(AuditEntry {
        // A body that was tampered with is still shown; the check says what is wrong with it.
        body: serde_json::from_str(&entry.body).unwrap_or(serde_json::Value::String(entry.body)),
        id: entry.id,
        seq,
        at: Micros(entry.at),
        actor: entry.actor,
        action: entry.action,
        subject: entry.subject,
        hash,
    })
}

impl Serve<VerifyAudit> for Engine {
    /// An administrator of the platform gets the check of everything. One of a tenant gets that of the tenant's own chain:
    /// roots stand over the entries of all tenants, and their numbers would tell of others.
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<AuditReport>> {
        let partition = who.partition()?.clone();
        let all = who.scope.is_superuser;
        let check = move |tx: &mut dyn store::Tx| {
            Ok(if all { journal::verify(tx, None)? } else { journal::verify_partition(tx, &partition)? })
        };
        Ok(Json(self.store.read_long::<_, Failure, _>(check).await?))
    }
}
