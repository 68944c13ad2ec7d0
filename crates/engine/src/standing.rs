//! The scope that tools run in, and asking for it anew.

use crate::{Admitted, Caller, Engine, Host, tokens};
use contract::ops::test::Ask;
use contract::{Operation as _, Result, StudioError};
use rules::partition::Partition;
use rules::scope::{BoundRequest, ScopeAgent, ToolScope};
use runtime::Standing;
use std::sync::Arc;
use store::repo::agents::Head;

impl Admitted {
    /// The request that tools run in, of this agent or of none: on a plain host it carries no scope.
    pub(crate) fn bind(&self, partition: &Partition, agent: Option<&Head>) -> BoundRequest {
        let scope = || ToolScope {
            caller: self.scope.clone(),
            agent: agent.map(|head| ScopeAgent {
                agent_id: head.id.clone(),
                name: head.name.clone(),
                owner: Some(head.owner.clone()),
                tenant: partition.as_tenant().map(str::to_owned),
                visibility: head.visibility,
            }),
        };
        BoundRequest { scope: (self.host == Host::OptedIn).then(scope) }
    }
}

impl Engine {
    /// What the caller may do with this agent whenever a turn asks: admitted anew, and the agent must still be the same and
    /// visible to them.
    pub(crate) fn standing(&self, who: &Admitted, agent: &Head) -> Standing {
        self.standing_by(who, &agent.id, &agent.name)
    }

    /// The same by the agent's id and name.
    pub(crate) fn standing_by(&self, who: &Admitted, id: &str, name: &str) -> Standing {
        let engine = self.clone();
        let caller = Caller { sign_in: Some(who.sign_in.clone()), ..Caller::default() };
        let (id, name) = (id.to_owned(), name.to_owned());
        Arc::new(move || {
            let (engine, caller, id, name) = (engine.clone(), caller.clone(), id.clone(), name.clone());
            Box::pin(async move { engine.still(caller, &id, &name).await })
        })
    }

    async fn still(&self, caller: Caller, id: &str, name: &str) -> Result<BoundRequest> {
        // A turn can wait for longer than its token is good.
        if let Some(sign_in) = caller.sign_in.as_ref().filter(|sign_in| sign_in.is_token) {
            tokens::still_good(&self.store, &sign_in.credential).await?;
        }
        // All gates through which a turn comes in.
        let who = self.admit(caller, &Ask::GATES, Ask::EFFECT).await?;
        let (head, _) = self.visible(&who, name).await?;
        if head.id != id {
            return Err(StudioError::not_found("Agent", name));
        }
        Ok(who.bind(who.partition()?, Some(&head)))
    }
}
