//! A built agent: the tools of one version, constructed when they are first needed and closed once, when nobody uses them.

use crate::agent::AgentVersion;
use contract::ids;
use rules::partition::Partition;
use rules::policy::{Phase, Refusal, TenantToolingPolicy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tools::{Bound, Entry, Facts, InScope, Registry};

/// A built agent.
pub(crate) struct Instance {
    pub id: String,
    registry: Arc<Registry>,
    policy: TenantToolingPolicy,
    partition: Partition,
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
    ) -> Result<Self, Refusal> {
        let mut instance = Self {
            id: ids::record_id(),
            registry: registry.clone(),
            policy: policy.clone(),
            partition: partition.clone(),
            slugs: Vec::new(),
            unavailable: Vec::new(),
            built: Mutex::default(),
        };
        for tool in &agent.tools {
            let Some(name) = tool.as_str().or_else(|| tool.get("name").and_then(Value::as_str)) else { continue };
            let Some(entry) = registry.lookup(name) else {
                instance.unavailable.push(name.to_owned());
                continue;
            };
            instance.judge(Phase::Build, name)?;
            if !instance.slugs.iter().any(|slug| slug == entry.slug()) {
                instance.slugs.push(entry.slug().to_owned());
            }
        }
        Ok(instance)
    }

    /// Whether the policy still permits a call of this tool: what was permitted when the agent was built may have been taken
    /// away since.
    pub fn permitted(&self, facts: &Facts) -> Result<(), Refusal> {
        self.judge(Phase::Execute, facts.slug())
    }

    fn judge(&self, phase: Phase, slug: &str) -> Result<(), Refusal> {
        self.policy.check_one(phase, &self.partition, slug, &|slug| self.registry.policy_entry(slug))
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

impl Shared {
    pub fn new(instance: Instance) -> Self {
        Self(Arc::new(Holder(Some(instance))))
    }

    /// Closes it and waits for that, unless somebody else holds it too.
    pub async fn close(self) {
        if let Some(mut holder) = Arc::into_inner(self.0)
            && let Some(instance) = holder.0.take()
        {
            instance.close().await;
        }
    }

    /// How many hold it.
    #[cfg(test)]
    pub fn users(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether somebody else holds it too.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
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
