//! The runtime: turns, the gate order of one call, instances and leases, test sessions.
//!
//! A turn is a total fold over its stored events and what follows is derived from the state alone, so it can be resumed
//! after a crash. It may use `tools`, `models`, `trust`, `store` and below. It never decides who may see an agent: the
//! engine did that before.

mod agent;
mod ask;
mod call;
mod context;
mod control;
mod error;
mod instances;
mod kept;
mod keys;
mod settings;
mod source;
mod standing;
mod talk;
#[cfg(test)]
mod testing;
pub mod turn;
mod view;
mod watch;

pub use ask::Ask;
pub use control::Reload;
pub use error::{RuntimeError, store_refusal};
pub use keys::KeyChoice;
pub use settings::RuntimeSettings;
pub use source::ModelSource;
pub use standing::Standing;

use crate::instances::{Instance, Shared};
use crate::kept::Instances;
use crate::turn::drive::Held;
use crate::watch::Watchers;
use contract::StudioError;
use rules::partition::Partition;
use rules::policy::TenantToolingPolicy;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError, vals};
use tokio::sync::watch as signal;
use tools::Registry;
use trust::vault::Vault;

/// How long a turn may take to come to a safe place when no tool is in the way.
const SAFE_PLACE: Duration = Duration::from_secs(20);

/// Runs turns. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

/// What the runtime works with.
pub struct Inner {
    pub(crate) store: Store,
    pub(crate) registry: Arc<Registry>,
    pub(crate) models: Arc<dyn ModelSource>,
    pub(crate) vault: Option<Arc<Vault>>,
    pub(crate) policy: TenantToolingPolicy,
    pub(crate) settings: RuntimeSettings,
    pub(crate) instances: Instances,
    pub(crate) watchers: Watchers,
    stopping: signal::Sender<bool>,
    driving: signal::Sender<usize>,
}

impl Deref for Runtime {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Runtime {
    /// A runtime over these parts.
    pub fn new(
        store: Store,
        registry: Arc<Registry>,
        models: Arc<dyn ModelSource>,
        vault: Option<Arc<Vault>>,
        policy: TenantToolingPolicy,
        settings: RuntimeSettings,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            registry,
            models,
            vault,
            policy,
            settings,
            instances: Instances::default(),
            watchers: Watchers::default(),
            stopping: signal::Sender::new(false),
            driving: signal::Sender::new(0),
        }))
    }

    /// Its settings.
    pub fn settings(&self) -> &RuntimeSettings {
        &self.settings
    }

    /// Drives a turn in the background, unless this process does already. `held` is the lease of a turn that has only just begun.
    pub(crate) fn spawn(&self, partition: Partition, turn: String, standing: Standing, held: Option<Held>) {
        // Entered before the task runs, so that whoever waits for the turn can tell a driver that failed from none yet.
        let Some(live) = self.watchers.enter(&turn) else { return };
        let runtime = self.clone();
        runtime.driving.send_modify(|n| *n += 1);
        let done = Done(runtime.clone());
        tokio::spawn(async move {
            let _done = done;
            turn::drive::drive(runtime, partition, turn, standing, live, held).await;
        });
    }

    /// How long a [`Runtime::shutdown`] takes at most, unless something hangs: as long as a write may be in the hands of its tool,
    /// with some time to write down what came of it.
    pub fn shutdown_takes(&self) -> Duration {
        Duration::from_secs(self.settings.call_seconds).saturating_add(SAFE_PLACE)
    }

    /// Lets every turn of this process come to a safe place: what runs is finished, what waits goes on waiting as a row. Then
    /// the tools that were built are closed. Call before the process ends.
    pub async fn shutdown(&self) {
        self.stopping.send_replace(true);
        let mut driving = self.driving.subscribe();
        // The sender lives in self, so this only ends when nothing is driven any more.
        let _ = driving.wait_for(|n| *n == 0).await;
        self.instances.close().await;
    }

    /// Resolves when this process is about to end.
    pub(crate) async fn stops(&self) -> RuntimeError {
        // The sender lives in self, so the wait only ends when it says so.
        let _ = self.stopping.subscribe().wait_for(|stop| *stop).await;
        RuntimeError::Stopping
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits for the bell, at most so long; less when the process is about to stop.
    pub(crate) async fn pause(&self, bell: &mut store::bell::Waiter, at_most: Duration) {
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            _ = bell.rung() => {}
            () = tokio::time::sleep(at_most) => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }

    /// Resolves when a person asks this turn to stop; answers who.
    pub(crate) async fn stopped(&self, partition: &Partition, turn: &str) -> String {
        let mut bell = self.store.bell().subscribe();
        loop {
            let (partition, turn) = (partition.clone(), turn.to_owned());
            let row = self.store.read(move |tx| store::repo::turns::get(tx, &partition, &turn)).await;
            if let Ok(Some(by)) = row.map(|row| row.and_then(|row| row.stop_asked_by)) {
                return by;
            }
            let _ = tokio::time::timeout(Duration::from_secs(2), bell.rung()).await;
        }
    }

    pub(crate) fn instance(
        &self,
        partition: &Partition,
        session: &str,
        agent: &agent::AgentVersion,
    ) -> Result<Shared, StudioError> {
        self.instances.get(&format!("session:{session}"), || self.build(partition, agent))
    }

    pub(crate) fn build(&self, partition: &Partition, agent: &agent::AgentVersion) -> Result<Instance, StudioError> {
        Ok(Instance::new(&self.registry, &self.policy, partition, agent)?)
    }

    /// Who decides approvals of a tenant: the asker, unless the tenant's rule says otherwise.
    pub(crate) async fn deciders(&self, partition: &Partition) -> Result<String, StoreError> {
        let Some(tenant) = partition.as_tenant().map(str::to_owned) else { return Ok("asker".into()) };
        let row = self
            .store
            .read(move |tx| tx.query_one("select approvals from tenants where id = $1", vals![tenant]))
            .await?;
        row.map_or(Ok("asker".into()), |row| row.text(0))
    }
}

struct Done(Runtime);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.driving.send_modify(|n| *n -= 1);
    }
}
