//! The engine's parts, and how a host puts it together.

use crate::ScopeResolver;
use rules::policy::TenantToolingPolicy;
use rules::scope::RequestScope;
use runtime::{ModelSource, Runtime, RuntimeSettings};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;
use store::Store;
use tools::Registry;
use trust::vault::Vault;

/// A policy decision point of the host.
pub trait Pbac: Send + Sync {
    /// Whether the caller may do the action on the resource; none when it cannot say, which lets the call pass.
    fn allows(&self, scope: &RequestScope, resource: &str, action: &str) -> Option<bool>;
}

/// Settings of the engine.
#[derive(Clone, Debug, Default)]
pub struct EngineSettings {
    /// Classes that tenants may use beside the stock ones.
    pub class_allowlist: BTreeSet<String>,
    /// Settings of the runtime.
    pub runtime: RuntimeSettings,
}

/// What the engine works with.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Sealed secrets; none without a master key, and then 503 `vault_unavailable`.
    pub vault: Option<Arc<Vault>>,
    /// Which tools there are.
    pub registry: Arc<Registry>,
    /// What tenants may configure.
    pub policy: TenantToolingPolicy,
    /// Makes scopes; none on a plain host.
    pub resolver: Option<Arc<dyn ScopeResolver>>,
    /// The host's policy decision point.
    pub pbac: Option<Arc<dyn Pbac>>,
    /// Models by name.
    pub models: Arc<dyn ModelSource>,
    /// Runs turns.
    pub runtime: Runtime,
    /// Settings.
    pub settings: EngineSettings,
}

/// The engine. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

impl Deref for Engine {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Puts an engine together.
pub struct Builder {
    store: Store,
    models: Arc<dyn ModelSource>,
    vault: Option<Arc<Vault>>,
    registry: Registry,
    policy: TenantToolingPolicy,
    resolver: Option<Arc<dyn ScopeResolver>>,
    pbac: Option<Arc<dyn Pbac>>,
    settings: EngineSettings,
}

impl Builder {
    /// Starts with a database and a source of models: a plain host, deny-all, without tools.
    pub fn new(store: Store, models: Arc<dyn ModelSource>) -> Self {
        Self {
            store,
            models,
            vault: None,
            registry: Registry::default(),
            policy: TenantToolingPolicy::deny_all(),
            resolver: None,
            pbac: None,
            settings: EngineSettings::default(),
        }
    }

    /// With a vault.
    #[must_use]
    pub fn vault(mut self, vault: Option<Arc<Vault>>) -> Self {
        self.vault = vault;
        self
    }

    /// With these tools.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// With this tooling policy.
    #[must_use]
    pub fn policy(mut self, policy: TenantToolingPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Opts in: scopes come from this resolver.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn ScopeResolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// With a policy decision point.
    #[must_use]
    pub fn pbac(mut self, pbac: Arc<dyn Pbac>) -> Self {
        self.pbac = Some(pbac);
        self
    }

    /// With these settings.
    #[must_use]
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        // The journal seals what is written from the first write on. A store that is used by two engines has it already.
        trust::journal::install(&self.store);
        let registry = Arc::new(self.registry);
        let runtime = Runtime::new(
            self.store.clone(),
            registry.clone(),
            self.models.clone(),
            self.vault.clone(),
            self.policy.clone(),
            self.settings.runtime.clone(),
        );
        Engine(Arc::new(Parts {
            store: self.store,
            vault: self.vault,
            registry,
            policy: self.policy,
            resolver: self.resolver,
            pbac: self.pbac,
            models: self.models,
            runtime,
            settings: self.settings,
        }))
    }
}
