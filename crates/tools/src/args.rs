//! Arguments of a call: parsed once, checked against the registered schema, defaults filled. Exactly that value is shown,
//! hashed and run.

use crate::Facts;
use contract::{canonical, json};
use serde_json::{Map, Value};

/// Checked arguments. Made by [`Args::check`] and [`Args::parse`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    value: Value,
}

/// What is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgFault {
    /// The text is not JSON, or holds what cannot be kept exactly.
    #[error("the arguments are {0}")]
    Json(String),
    /// They name what only the server fills in.
    #[error("{} filled in by the server and cannot be sent", list(.0))]
    ServerManaged(Vec<String>),
    /// They do not fit the tool's schema.
    #[error("{}", .0.join("; "))]
    Schema(Vec<String>),
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("'{n}'")).collect();
    format!("{} {}", quoted.join(", "), if names.len() == 1 { "is" } else { "are" })
}

impl Args {
    /// Parses what a model wrote, drops server-managed names (a model may imagine them), then checks. No text at all
    /// counts as no arguments.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn parse(facts: &Facts, text: &str) -> Result<Self, ArgFault> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let mut value = json::parse(text.as_bytes()).map_err(|fault| ArgFault::Json(fault.to_string()))?;
        if let Value::Object(map) = &mut value {
            for name in facts.server_managed() {
                map.remove(name);
            }
        }
        Self::check(facts, value)
    }

    /// Checks arguments from outside.
    ///
    /// # Errors
    /// What is wrong, in the contract's order: server-managed names, then the schema.
    pub fn check(facts: &Facts, mut value: Value) -> Result<Self, ArgFault> {
        if json::has_nul(&value) {
            return Err(ArgFault::Json(json::JsonFault::Nul.to_string()));
        }
        let Value::Object(map) = &value else {
            return Err(ArgFault::Schema(vec!["the arguments must be a JSON object".into()]));
        };
        let mut managed: Vec<String> =
            facts.server_managed().filter(|n| map.contains_key(*n)).map(str::to_owned).collect();
        if !managed.is_empty() {
            managed.sort_unstable();
            return Err(ArgFault::ServerManaged(managed));
        }
        fill_defaults(facts.schema(), &mut value);
        settle_integers(facts.schema(), &mut value);
        let validator = jsonschema::validator_for(facts.schema())
            .map_err(|e| ArgFault::Schema(vec![format!("the tool's own schema is broken: {e}")]))?;
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .take(10)
            .map(|e| {
                let place = e.instance_path().to_string();
                if place.is_empty() { e.to_string() } else { format!("{}: {e}", place.trim_start_matches('/')) }
            })
            .collect();
        if faults.is_empty() { Ok(Self { value }) } else { Err(ArgFault::Schema(faults)) }
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value, given away.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// SHA-256 of the canonical text.
    pub fn hash(&self) -> String {
        canonical::hash(&self.value)
    }
}

/// Writes whole numbers such as `1007.0` as integers where the schema wants one: JSON Schema takes them as equal, typed tools
/// do not, and what is approved must be what runs.
fn settle_integers(schema: &Value, value: &mut Value) {
    let wants = |kind: &str| match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    };
    match value {
        Value::Number(number) if wants("integer") && number.is_f64() => {
            // Beyond 2^53 a float no longer says which integer was meant.
            let whole = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                for (name, property) in properties {
                    if let Some(item) = map.get_mut(name) {
                        settle_integers(property, item);
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = schema.get("items") {
                items.iter_mut().for_each(|item| settle_integers(each, item));
            }
        }
        _ => {}
    }
}

/// Fills in `default`s of properties that were left out, at every level where the object is there.
fn fill_defaults(schema: &Value, value: &mut Value) {
    let (Some(Value::Object(properties)), Value::Object(map)) = (schema.get("properties"), value) else { return };
    let missing: Map<String, Value> = properties
        .iter()
        .filter(|(name, _)| !map.contains_key(*name))
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
        // A null default says "may be left out"; it is left out.
        .filter(|(_, default)| !default.is_null())
        .collect();
    map.extend(missing);
    for (name, property) in properties {
        if let Some(item) = map.get_mut(name) {
            fill_defaults(property, item);
        }
    }
}
