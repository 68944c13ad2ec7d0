//! Building an agent anew.

use super::guard::{not_found, not_manageable};
use crate::{Admitted, Engine, Host, Serve};
use contract::ops::agents::{ReloadAgent, Reloaded};
use contract::ops::common::{NamePath, NoVersionQuery};
use contract::wire::{Json, Late, NoBody};
use contract::{Code, Result};

impl Serve<ReloadAgent> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<NoVersionQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<Reloaded>> {
        let (head, verdict) = self.visible(&who, &path.name).await?;
        // A plain host lets everyone who signed in reload.
        if who.host == Host::OptedIn && !verdict.can_manage {
            return Err(not_manageable(&path.name));
        }
        who.require_author()?;
        query.open()?;
        let partition = who.partition()?;
        let done = self.runtime.reload(partition, &head.id, &who.bind(partition, Some(&head))).await;
        // The runtime knows the agent by its id, which is no name to show.
        let done = done.map_err(|error| if error.code == Code::NotFound { not_found(&path.name) } else { error })?;
        Ok(Json(Reloaded { name: path.name, reloaded: true, previous_instance_closed: false, warnings: done.warnings }))
    }
}
