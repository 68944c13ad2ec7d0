//! Writes to an agent: authorised from a read, then done in one transaction on the row as it is there.
//!
//! Between the two the row may have changed, or another row may have its name. Then the caller is authorised again, once; a
//! second time is 409.

use crate::errors::from_store;
use crate::failure::Failure;
use crate::{Admitted, Engine};
use contract::operation::Gates;
use contract::{Code, Result, StudioError};
use rules::access::{Verdict, access};
use rules::names::is_record_name;
use std::sync::Arc;
use store::repo::agents::{self as repo, Agent, Head};
use store::{StoreError, Tx};

/// The state of a row for which a caller was authorised.
#[derive(Clone, Debug)]
pub(super) struct Authorised {
    id: String,
    version: i64,
}

/// Why a transaction was not carried out.
pub(super) enum Stop {
    /// It was refused, or the storage failed.
    Failed(Failure),
    /// The row is not the one for which the caller was authorised.
    Moved,
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Failed(error.into())
    }
}

impl From<StudioError> for Stop {
    fn from(error: StudioError) -> Self {
        Stop::Failed(error.into())
    }
}

/// How a write inside a transaction ends.
pub(super) type Written<T> = std::result::Result<T, Stop>;

/// 404 for an agent.
pub(super) fn not_found(name: &str) -> StudioError {
    StudioError::not_found("Agent", name)
}

impl Engine {
    /// The agent, if the caller sees it.
    ///
    /// # Errors
    /// 404 `not_found`, the same for an absent and for an invisible one.
    pub(crate) async fn visible(&self, who: &Admitted, name: &str) -> Result<(Head, Verdict)> {
        let partition = who.partition()?;
        let head = match is_record_name(name) {
            true => self.store.read(|tx| repo::head_by_name(tx, partition, name)).await.map_err(from_store)?,
            false => None,
        };
        let found = head.map(|head| (access(&who.access_caller(), &head.owned(partition)), head));
        match found {
            Some((verdict, head)) if verdict.can_see => Ok((head, verdict)),
            _ => Err(not_found(name)),
        }
    }

    /// Authorises the caller to change the agent.
    ///
    /// # Errors
    /// 404 `not_found`, 403 `not_manageable`.
    pub(super) async fn manageable(&self, who: &Admitted, name: &str) -> Result<Authorised> {
        let (head, verdict) = self.visible(who, name).await?;
        if !verdict.can_manage {
            return Err(not_manageable(name));
        }
        Ok(Authorised { id: head.id, version: head.version })
    }

    /// Does a write for which the caller was authorised. `write` gets the row as the transaction found it.
    ///
    /// # Errors
    /// 404, 409 `version_conflict` when the client's version is not the row's or when the row moved twice, what authorising anew
    /// refuses, and what `write` refuses.
    pub(super) async fn guarded<T: Send + 'static>(
        &self,
        who: &Admitted,
        gates: &Gates,
        name: &str,
        mut authorised: Authorised,
        expected: Option<i64>,
        write: impl Fn(&mut dyn Tx, Agent) -> Written<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let write = Arc::new(write);
        let partition = who.partition()?.clone();
        for last in [false, true] {
            let (write, partition, name_here, seen) = (write.clone(), partition.clone(), name.to_owned(), authorised);
            let done = self
                .store
                .write(move |tx| {
                    let Some(agent) = repo::by_name_for_update(tx, &partition, &name_here)? else {
                        return Err(not_found(&name_here).into());
                    };
                    let version = agent.head.version;
                    let moved = agent.head.id != seen.id || version != seen.version;
                    if expected.is_some_and(|expected| expected != version) {
                        // A row that moved may be one that the caller may not know of, nor its version.
                        return Err(StudioError::version_conflict((!moved).then_some(version)).into());
                    }
                    if moved {
                        return Err(Stop::Moved);
                    }
                    write(tx, agent)
                })
                .await;
            match done {
                Ok(done) => return Ok(done),
                Err(Stop::Failed(failure)) => return Err(failure.into()),
                Err(Stop::Moved) if last => break,
                Err(Stop::Moved) => {
                    authorised = self.manageable(who, name).await?;
                    self.ask_pbac(&who.scope, gates)?;
                }
            }
        }
        Err(StudioError::version_conflict(None))
    }
}

pub(super) fn not_manageable(name: &str) -> StudioError {
    StudioError::new(
        Code::NotManageable,
        403,
        format!("You can see agent '{name}' but not change it. Ask its owner or an administrator."),
    )
}
