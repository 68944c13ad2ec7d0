//! Deleting an agent.

use super::guard::Stop;
use crate::{Admitted, Engine, Serve};
use contract::ops::agents::{DeleteAgent, Deleted};
use contract::ops::common::{NamePath, VersionQuery};
use contract::wire::{Json, Late, NoBody};
use contract::{Micros, Operation, Result};
use serde_json::json;
use store::repo::agents as repo;
use trust::journal::{self, Entry};

impl Serve<DeleteAgent> for Engine {
    /// The policy is not asked: an agent whose tooling is no longer permitted can always be deleted.
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<VersionQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<Deleted>> {
        let authorised = self.manageable(&who, &path.name).await?;
        who.require_author()?;
        let expected = query.open()?.expected_version;
        let partition = who.partition()?.clone();
        let user = who.user.clone();
        self.guarded(&who, &DeleteAgent::GATES, &path.name, authorised, expected, move |tx, agent| {
            let now = Micros::now();
            let head = &agent.head;
            if !repo::delete(tx, &partition, head, &user, now)? {
                return Err(Stop::Moved);
            }
            let entry = Entry {
                partition: &partition,
                actor: &user,
                action: "agent.deleted",
                subject: &format!("agent:{}", head.name),
                body: json!({ "agent_id": head.id, "version": head.version }),
            };
            Ok(journal::record(tx, now, entry)?)
        })
        .await?;
        Ok(Json(Deleted { name: path.name, deleted: true }))
    }
}
