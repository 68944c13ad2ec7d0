//! Built agents: the tools of one version, constructed when they are first needed and closed once, when nobody uses them.

use crate::agent::AgentVersion;
use contract::ids;
use rules::partition::Partition;
use rules::policy::{AllowLists, Entry as PolicyEntry, Phase, Request, SecretOwner, TenantToolingPolicy};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tools::{Bound, Entry, Facts, InScope, Registry};

/// A built agent.
pub(crate) struct Instance {
    pub id: String,
    registry: Arc<Registry>,
    /// Slugs of its tools, as registered.
    slugs: Vec<String>,
    /// What its record names and nobody provides.
    pub unavailable: Vec<String>,
    built: Mutex<BTreeMap<String, Vec<Bound>>>,
}

impl Instance {
    /// An instance of this version. Nothing is constructed yet: constructors run behind the scope gate.
    ///
    /// # Errors
    /// The tenant's policy refuses a tool.
    pub fn new(
        registry: &Arc<Registry>,
        policy: &TenantToolingPolicy,
        partition: &Partition,
        agent: &AgentVersion,
    ) -> Result<Self, rules::policy::Refusal> {
        let mut slugs = Vec::new();
        let mut unavailable = Vec::new();
        let lookup = |slug: &str| {
            registry.lookup(slug).map(|entry| PolicyEntry { slug: entry.slug().to_owned(), host: entry.is_host() })
        };
        let (allow, held) = (AllowLists::default(), Default::default());
        for tool in &agent.tools {
            let Some(name) = tool.as_str().or_else(|| tool.get("name").and_then(Value::as_str)) else { continue };
            match registry.lookup(name) {
                Some(entry) => {
                    let request = Request {
                        phase: Phase::Build,
                        partition,
                        allow: &allow,
                        held: &held,
                        secrets: SecretOwner::Client,
                        lookup: &lookup,
                    };
                    if policy.applies_to(partition) {
                        policy.check_slug(&request, name)?;
                    }
                    if !slugs.iter().any(|s| s == entry.slug()) {
                        slugs.push(entry.slug().to_owned());
                    }
                }
                None => unavailable.push(name.to_owned()),
            }
        }
        Ok(Self { id: ids::record_id(), registry: registry.clone(), slugs, unavailable, built: Mutex::default() })
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slugs.iter().filter_map(|slug| self.registry.lookup(slug))
    }

    /// Facts of all its tools, from the registry.
    pub fn facts(&self) -> impl Iterator<Item = &Facts> {
        self.entries().flat_map(Entry::facts)
    }

    /// Facts of one tool, by the name models use.
    pub fn tool(&self, name: &str) -> Option<&Facts> {
        self.facts().find(|facts| facts.name() == name)
    }

    /// The built tool. Asks for proof of the scope gate, since building runs the host's constructor.
    ///
    /// # Errors
    /// What the constructor said.
    pub fn bound(&self, facts: &Facts, _scope: &InScope) -> Result<Bound, String> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if !built.contains_key(facts.slug()) {
            let entry = self.registry.lookup(facts.slug()).ok_or("The tool is not registered any more.")?;
            built.insert(facts.slug().to_owned(), entry.build()?);
        }
        built
            .get(facts.slug())
            .into_iter()
            .flatten()
            .find(|bound| bound.facts().name() == facts.name())
            .cloned()
            .ok_or_else(|| "The tool is not registered any more.".into())
    }

    async fn close(&self) {
        let built = std::mem::take(&mut *self.built.lock().unwrap_or_else(PoisonError::into_inner));
        for (slug, tools) in built {
            // One value stands behind all methods of a toolkit.
            if let Some(tool) = tools.first()
                && let Err(why) = tool.close().await
            {
                tracing::warn!(slug, why, "a tool could not be closed");
            }
        }
    }
}

/// Closes the instance when the last user lets go of it.
pub(crate) struct Shared(Arc<Holder>);

struct Holder(Option<Instance>);

impl Drop for Holder {
    fn drop(&mut self) {
        if let (Some(instance), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { instance.close().await });
        }
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl std::ops::Deref for Shared {
    type Target = Instance;
    fn deref(&self) -> &Instance {
        self.0.0.as_ref().expect("an instance is taken out only when its holder is dropped")
    }
}

/// Instances in use, by what they serve: a session, or an agent's own (`base`).
#[derive(Default)]
pub(crate) struct Instances(Mutex<HashMap<String, Shared>>);

impl Instances {
    /// The instance under this key, or the one that `make` gives.
    pub fn get<E>(&self, key: &str, make: impl FnOnce() -> Result<Instance, E>) -> Result<Shared, E> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = map.get(key) {
            return Ok(instance.clone());
        }
        let instance = Shared(Arc::new(Holder(Some(make()?))));
        map.insert(key.to_owned(), instance.clone());
        Ok(instance)
    }

    /// Replaces the instance under this key; the one before is retired and closed when nobody uses it. Says whether there
    /// was one.
    pub fn replace(&self, key: &str, instance: Instance) -> bool {
        let new = Shared(Arc::new(Holder(Some(instance))));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), new).is_some()
    }

    /// Retires the instance under this key.
    pub fn retire(&self, key: &str) {
        let gone = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        drop(gone);
    }
}
