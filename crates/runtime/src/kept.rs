//! The instances that are kept from one use to the next. How long and how many is the contract's (section 26): an hour without a
//! use, a thousand at most, the oldest go first, and none that is in use.

use crate::instances::{Instance, Shared};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How long an instance is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(3600);
/// Time between two looks for such.
const SWEEP: Duration = Duration::from_secs(60);
/// Instances that are kept at most, those in use aside.
const MOST: usize = 1000;

/// Instances by what they serve: a session, or an agent's own (`base`).
#[derive(Default)]
pub(crate) struct Instances(Arc<Mutex<Map>>);

#[derive(Default)]
struct Map {
    kept: HashMap<String, Kept>,
    /// Whether somebody looks for idle ones. Where nothing is kept, nothing runs.
    is_swept: bool,
}

struct Kept {
    instance: Shared,
    used: Instant,
}

fn lock(map: &Mutex<Map>) -> MutexGuard<'_, Map> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Instances {
    /// The instance under this key, or the one that `make` gives.
    pub fn get<E>(&self, key: &str, make: impl FnOnce() -> Result<Instance, E>) -> Result<Shared, E> {
        let mut map = lock(&self.0);
        if let Some(kept) = map.kept.get_mut(key) {
            kept.used = Instant::now();
            return Ok(kept.instance.clone());
        }
        let instance = Shared::new(make()?);
        let retired = self.keep(&mut map, key, instance.clone());
        drop(map);
        drop(retired);
        Ok(instance)
    }

    /// Replaces the instance under this key; the one before is retired and closed when nobody uses it. Says whether there
    /// was one.
    pub fn replace(&self, key: &str, instance: Instance) -> bool {
        let mut map = lock(&self.0);
        let before = map.kept.remove(key);
        let retired = self.keep(&mut map, key, Shared::new(instance));
        drop(map);
        drop(retired);
        before.is_some()
    }

    /// Retires the instance under this key.
    pub fn retire(&self, key: &str) {
        let gone = lock(&self.0).kept.remove(key);
        drop(gone);
    }

    /// Closes all, those in use when their users let go of them.
    pub async fn close(&self) {
        let all = std::mem::take(&mut lock(&self.0).kept);
        for kept in all.into_values() {
            kept.instance.close().await;
        }
    }

    /// Keeps one more; answers those that have to go for it.
    fn keep(&self, map: &mut Map, key: &str, instance: Shared) -> Vec<Kept> {
        map.kept.insert(key.to_owned(), Kept { instance, used: Instant::now() });
        if !std::mem::replace(&mut map.is_swept, true) {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(sweep(Arc::downgrade(&self.0)))),
                Err(_) => map.is_swept = false,
            }
        }
        if map.kept.len() <= MOST { Vec::new() } else { map.retire_oldest() }
    }
}

impl Map {
    /// Takes out a tenth of what may be kept, so that not every new one has to look for one that goes.
    fn retire_oldest(&mut self) -> Vec<Kept> {
        let mut idle: Vec<(Instant, String)> =
            self.kept.iter().filter(|(_, k)| !k.instance.is_used()).map(|(key, k)| (k.used, key.clone())).collect();
        idle.sort_unstable();
        idle.truncate(MOST / 10);
        idle.iter().filter_map(|(_, key)| self.kept.remove(key)).collect()
    }

    fn retire_idle(&mut self) -> Vec<Kept> {
        self.kept
            .extract_if(|_, kept| !kept.instance.is_used() && kept.used.elapsed() >= IDLE)
            .map(|(_, k)| k)
            .collect()
    }
}

async fn sweep(map: Weak<Mutex<Map>>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(map) = map.upgrade() else { return };
        let mut map = lock(&map);
        let retired = map.retire_idle();
        map.is_swept = !map.kept.is_empty();
        let go_on = map.is_swept;
        drop(map);
        drop(retired);
        if !go_on {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IDLE, Instances, MOST, SWEEP, lock};
    use crate::agent::AgentVersion;
    use crate::instances::{Instance, Shared};
    use models::Params;
    use rules::partition::Partition;
    use rules::policy::TenantToolingPolicy;
    use std::convert::Infallible;
    use std::sync::Arc;

    fn built() -> Instance {
        let agent = AgentVersion {
            agent_id: "a".into(),
            version: 1,
            name: "desk".into(),
            llm: None,
            system_prompt: None,
            params: Params::default(),
            tools: Vec::new(),
        };
        let policy = TenantToolingPolicy::default();
        Instance::new(&Arc::default(), &policy, &Partition::GLOBAL, &agent).unwrap()
    }

    fn get(instances: &Instances, key: &str) -> Shared {
        instances.get::<Infallible>(key, || Ok(built())).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_used_for_an_hour_goes() {
        let instances = Instances::default();
        let held = get(&instances, "held");
        let idle = get(&instances, "idle").id.clone();
        let fresh = get(&instances, "fresh").id.clone();
        tokio::time::sleep(IDLE / 2).await;
        assert_eq!(get(&instances, "fresh").id, fresh);
        tokio::time::sleep(IDLE / 2 + SWEEP).await;
        assert_eq!(get(&instances, "fresh").id, fresh, "it was used half an hour ago");
        assert_eq!(get(&instances, "held").id, held.id, "it is in use");
        assert_ne!(get(&instances, "idle").id, idle);
    }

    #[tokio::test(start_paused = true)]
    async fn with_nothing_kept_nothing_runs() {
        let instances = Instances::default();
        drop(get(&instances, "one"));
        tokio::time::sleep(IDLE + 2 * SWEEP).await;
        assert!(lock(&instances.0).kept.is_empty());
        assert!(!lock(&instances.0).is_swept);
        let again = get(&instances, "one").id.clone();
        tokio::time::sleep(IDLE + 2 * SWEEP).await;
        assert_ne!(get(&instances, "one").id, again, "the look begins again with the next one");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_go_first_and_never_one_in_use() {
        let instances = Instances::default();
        let held = get(&instances, "held");
        let mut ids = Vec::new();
        for n in 0..MOST {
            ids.push(get(&instances, &n.to_string()).id.clone());
            tokio::time::advance(std::time::Duration::from_millis(1)).await;
        }
        assert!(lock(&instances.0).kept.len() <= MOST);
        assert_eq!(get(&instances, "held").id, held.id);
        assert_eq!(get(&instances, &(MOST - 1).to_string()).id, ids[MOST - 1]);
        assert_ne!(get(&instances, "0").id, ids[0]);
    }
}
