//! The one look-up of tools, for catalogue, execution, build and policy.

use crate::clear::Bound;
use crate::facts::{Facts, Source};
use crate::host::{Factory, HostTools, Rejected};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A registered tool or toolkit.
pub struct Entry {
    slug: String,
    about: String,
    category: String,
    source: Source,
    toolkit: bool,
    facts: Vec<Arc<Facts>>,
    factory: Factory,
}

impl Entry {
    /// The canonical slug.
    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// For people.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// For catalogues.
    pub fn category(&self) -> &str {
        &self.category
    }

    /// Where it comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether it is host code.
    pub fn is_host(&self) -> bool {
        self.source.is_host()
    }

    /// Whether it is a toolkit rather than a standalone tool.
    pub fn is_toolkit(&self) -> bool {
        self.toolkit
    }

    /// Facts of its callable tools.
    pub fn facts(&self) -> impl Iterator<Item = &Facts> {
        self.facts.iter().map(Arc::as_ref)
    }

    /// Builds it: one value, and a bound tool per method. Only behind the scope gate.
    ///
    /// # Errors
    /// What the host's constructor said, or that it failed inside.
    pub fn build(&self) -> Result<Vec<Bound>, String> {
        let built = std::panic::catch_unwind(AssertUnwindSafe(|| (self.factory)()));
        let tool = built.unwrap_or_else(|_| Err("the constructor failed inside".into()))?;
        Ok(self.facts.iter().map(|facts| Bound { facts: facts.clone(), tool: tool.clone() }).collect())
    }
}

/// All registered tools. Slugs are looked up without regard to case.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

impl Registry {
    /// Registers a host's tools. What breaks a rule is left out and told; it is never a crash.
    pub fn register(&mut self, host: HostTools) -> Vec<Rejected> {
        let HostTools { prefix, source, toolkits, tools } = host;
        let mut rejected = Vec::new();
        let mut reject = |slug: &str, why: String| {
            tracing::warn!(slug, why, "host tool rejected");
            rejected.push(Rejected { slug: slug.to_owned(), why });
        };
        for kit in toolkits {
            let wanted = prefix.trim_end_matches('_');
            if kit.tool_prefix != wanted {
                reject(&kit.slug, format!("its tool prefix must be '{wanted}'"));
                continue;
            }
            let facts: Result<Vec<_>, String> = kit
                .methods
                .iter()
                .map(|m| {
                    let start = format!("{}_", kit.tool_prefix);
                    let name = if m.name.starts_with(&start) { m.name.clone() } else { format!("{start}{}", m.name) };
                    m.facts(name, &kit.slug, source, kit.tenant_bound).map(Arc::new)
                })
                .collect();
            match facts {
                Ok(facts) => {
                    let entry = Entry {
                        slug: kit.slug,
                        about: kit.about,
                        category: kit.category,
                        source,
                        toolkit: true,
                        facts,
                        factory: kit.factory,
                    };
                    self.add(&prefix, entry).unwrap_or_else(|r| reject(&r.slug, r.why));
                }
                Err(why) => reject(&kit.slug, why),
            }
        }
        for tool in tools {
            match tool.method.facts(tool.slug.clone(), &tool.slug, source, tool.tenant_bound) {
                Ok(facts) => {
                    let entry = Entry {
                        slug: tool.slug,
                        about: tool.about,
                        category: tool.category,
                        source,
                        toolkit: false,
                        facts: vec![Arc::new(facts)],
                        factory: tool.factory,
                    };
                    self.add(&prefix, entry).unwrap_or_else(|r| reject(&r.slug, r.why));
                }
                Err(why) => reject(&tool.slug, why),
            }
        }
        rejected
    }

    fn add(&mut self, prefix: &str, entry: Entry) -> Result<(), Rejected> {
        let why = if prefix.is_empty() || !prefix.ends_with('_') {
            Some("the host declares no prefix that ends with '_'".to_owned())
        } else if !entry.slug.starts_with(prefix) {
            Some(format!("its slug must start with '{prefix}'"))
        } else if !rules::names::is_slug(&entry.slug) {
            Some("its slug may hold a-z, 0-9, '_' and '-' only".to_owned())
        } else if self.entries.contains_key(&entry.slug.to_lowercase()) {
            Some("another tool has this slug".to_owned())
        } else if let Some(bad) = entry.facts().map(Facts::name).find(|name| !models_take(name)) {
            Some(format!("'{bad}' is no name that models take: 1 to 64 of a-z, A-Z, 0-9, '_' and '-'"))
        } else {
            // Two tools of one name would let an approval of one be read as an approval of the other.
            let mut names: Vec<&str> = self.entries.values().flat_map(Entry::facts).map(Facts::name).collect();
            entry.facts().find_map(|facts| {
                let taken = names.contains(&facts.name());
                names.push(facts.name());
                taken.then(|| format!("another tool is called '{}'", facts.name()))
            })
        };
        if let Some(why) = why {
            return Err(Rejected { slug: entry.slug, why });
        }
        self.entries.insert(entry.slug.to_lowercase(), entry);
        Ok(())
    }

    /// The entry with this slug.
    pub fn lookup(&self, slug: &str) -> Option<&Entry> {
        self.entries.get(&slug.to_lowercase())
    }

    /// The entry with this slug, as the tooling policy asks for it.
    pub fn policy_entry(&self, slug: &str) -> Option<rules::policy::Entry> {
        self.lookup(slug).map(|entry| rules::policy::Entry { slug: entry.slug.clone(), host: entry.is_host() })
    }

    /// All entries, by slug.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

/// What every provider accepts as the name of a tool.
fn models_take(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
