//! Catalogues: what agents can be made of.

use crate::Host;
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::wire::{Json, Late, NoBody};
use contract::{Result, StudioError};
use rules::model_params::{Constraint, MODEL_PARAMS};
use rules::policy::Phase;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use store::repo::keys;
use tools::{Access, Entry};

impl Serve<GetCatalog> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: KindPath,
        query: Late<CatalogQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<Value>> {
        Ok(Json(match path.kind.as_str() {
            "base-classes" => self.base_classes(&who),
            "llm-clients" => self.llm_clients(&who).await?,
            "tools" => self.tool_rows(&who)?,
            "vector-stores" => vector_stores(),
            "model-params" => model_params(&query.open()?),
            other => return Err(StudioError::not_found("Catalogue", other)),
        }))
    }
}

/// A stock class: its name, what it does here, and the tools without which it cannot do so.
struct Class {
    name: &'static str,
    about: &'static str,
    needs: &'static [&'static str],
}

const LOOP: &str = "Works with its tools step by step up to the step limit; independent reads run at once.";
const PLAIN: &str = "Answers from its prompt, and with its tools when it has some.";

/// The stock classes by name, but for the abstract one and the one that cannot be had.
const CLASSES: [Class; 8] = [
    Class { name: "Agent", about: LOOP, needs: &[] },
    Class { name: "BaseBot", about: PLAIN, needs: &[] },
    Class { name: "BasicAgent", about: LOOP, needs: &[] },
    Class { name: "BasicBot", about: PLAIN, needs: &[] },
    Class { name: "Chatbot", about: PLAIN, needs: &[] },
    Class {
        name: "InfoAgent",
        about: "An Agent that works on data sets and draws infographics.",
        needs: &["dataset_manager", "infographic"],
    },
    Class { name: "WebAgent", about: "An Agent that calls web services.", needs: &["http"] },
    Class { name: "WebSearchAgent", about: "An Agent that searches at a configured address.", needs: &["web_search"] },
];

const ABSTRACT: &str = "AbstractBot";
const VOICE: &str = "VoiceBot";

/// What can be given when an agent is created, whatever its class.
fn params() -> Value {
    let of = |kind: &str, default: Value| json!({ "type": kind, "default": default });
    let mut params = Map::new();
    params.insert("llm".into(), of("string", Value::Null));
    params.insert("system_prompt".into(), of("string", Value::Null));
    params.insert("tools".into(), of("array", json!([])));
    for bounds in MODEL_PARAMS {
        params.insert(bounds.field.into(), of(if bounds.integer { "integer" } else { "number" }, Value::Null));
    }
    Value::Object(params)
}

impl Engine {
    fn base_classes(&self, who: &Admitted) -> Value {
        let row = |name: &str, about: &str, is_abstract: bool| {
            json!({
                "name": name, "module": "astudio.agents", "docstring": about, "params": params(), "lazy": false,
                "available": true, "allowed": !is_abstract, "abstract": is_abstract,
            })
        };
        let missing =
            |name: &str, why: String| json!({ "name": name, "lazy": false, "available": false, "error": why });
        let mut rows = BTreeMap::new();
        for class in &CLASSES {
            let lacks: Vec<&str> =
                class.needs.iter().copied().filter(|slug| self.registry.lookup(slug).is_none()).collect();
            let shown = match lacks.as_slice() {
                [] => row(class.name, class.about, false),
                lacks => missing(class.name, format!("It needs tools that are not installed: {}.", lacks.join(", "))),
            };
            rows.insert(class.name.to_owned(), shown);
        }
        rows.insert(
            ABSTRACT.into(),
            row(ABSTRACT, "What all classes have in common; no agent can be made of it.", true),
        );
        rows.insert(VOICE.into(), missing(VOICE, "Voice is not part of this program.".into()));
        if who.host == Host::OptedIn && who.partition.is_some() {
            for name in &self.settings.class_allowlist {
                rows.entry(name.clone()).or_insert_with(|| {
                    json!({
                        "name": name, "available": true, "allowed": true, "host": true, "module": null,
                        "docstring": null, "params": {}, "lazy": false,
                    })
                });
            }
        }
        rows.into_values().collect()
    }

    async fn llm_clients(&self, who: &Admitted) -> Result<Value> {
        // A key that cannot be opened is no credential.
        let own: BTreeSet<String> = match &self.vault {
            Some(_) => {
                let rows = self.store.read::<_, Failure, _>(|tx| Ok(keys::list(tx, &who.user)?)).await?;
                rows.into_iter().map(|(provider, ..)| provider).collect()
            }
            None => BTreeSet::new(),
        };
        let mut rows = self.models.catalog();
        rows.sort_by(|a, b| a["provider"].as_str().cmp(&b["provider"].as_str()));
        for row in &mut rows {
            let provider = row["provider"].as_str().unwrap_or_default();
            let kinds = [("byok", own.contains(provider)), ("server", self.models.server_key(provider).is_some())];
            let credentials: Vec<&str> = kinds.into_iter().filter_map(|(kind, there)| there.then_some(kind)).collect();
            row["credentials"] = json!(credentials);
        }
        Ok(Value::Array(rows))
    }

    fn tool_rows(&self, who: &Admitted) -> Result<Value> {
        let partition = who.partition()?;
        let lookup = |slug: &str| self.registry.policy_entry(slug);
        let shown = |entry: &&Entry| self.policy.check_one(Phase::Attach, partition, entry.slug(), &lookup).is_ok();
        Ok(self.registry.entries().filter(shown).map(tool_row).collect())
    }
}

fn tool_row(entry: &Entry) -> Value {
    let named = |access: Access| -> Vec<&str> {
        entry.facts().filter(|facts| facts.access() == access).map(|facts| facts.name()).collect()
    };
    let access = if entry.is_toolkit() {
        json!({ "read": named(Access::Read), "write": named(Access::Write) })
    } else {
        json!(entry.facts().next().map(|facts| facts.access().as_str()))
    };
    // Where host code lives is its own affair.
    let path = (!entry.is_host()).then(|| format!("astudio.tools.{}", entry.slug()));
    json!({
        "slug": entry.slug(), "dotted_path": path, "source": entry.source().as_str(), "access": access,
        "available": true, "description": entry.about(), "category": entry.category(),
    })
}

fn vector_stores() -> Value {
    [
        ("arango", "ArangoDBStore"),
        ("bigquery", "BigQueryStore"),
        ("faiss_store", "FAISSStore"),
        ("kb", "KnowledgeBaseStore"),
        ("lancedb", "LanceDBStore"),
        ("milvus", "MilvusStore"),
        ("postgres", "PgVectorStore"),
    ]
    .into_iter()
    .map(|(slug, class)| json!({ "slug": slug, "class_name": class }))
    .collect()
}

/// The bounds that are checked when an agent is written, as JSON Schema; with a provider also what it does not take.
fn model_params(query: &CatalogQuery) -> Value {
    let mut properties = Map::new();
    for bounds in MODEL_PARAMS {
        let mut schema = Map::new();
        schema.insert("type".into(), json!([if bounds.integer { "integer" } else { "number" }, "null"]));
        for (constraint, limit) in bounds.limits {
            let key = match constraint {
                Constraint::Gt => "exclusiveMinimum",
                Constraint::Ge => "minimum",
                Constraint::Lt => "exclusiveMaximum",
                Constraint::Le => "maximum",
                Constraint::Type => continue,
            };
            schema.insert(key.into(), json!(limit));
        }
        properties.insert(bounds.field.into(), Value::Object(schema));
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Some(provider) = &query.provider {
        schema["unsupported"] = match provider.to_lowercase().as_str() {
            "openai" => json!(["top_k"]),
            // It plays a script, whatever the parameters.
            "rehearsal" => MODEL_PARAMS.iter().map(|bounds| bounds.field).collect(),
            _ => json!([]),
        };
    }
    schema
}
