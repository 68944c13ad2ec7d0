//! The document of the interface as the judge of answers.

use crate::document::resolved;
use contract::openapi;
use contract::operation::Meta;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Whether an answer is a failure of ours: any of the server's kind but those that are said on purpose.
pub fn failed(status: u16, body: &Value) -> bool {
    let code = body["code"].as_str().unwrap_or_default();
    let deliberate = matches!((status, code), (502, "query_failed") | (503, "unavailable" | "vault_unavailable"));
    status >= 500 && !deliberate
}

/// Judges answers.
pub struct Judge {
    pub document: Value,
    validators: HashMap<String, Validator>,
}

impl Judge {
    pub fn new() -> Self {
        Self { document: openapi::document(), validators: HashMap::new() }
    }

    /// What the document says of an operation.
    pub fn item(&self, meta: &Meta) -> &Value {
        &self.document["paths"][meta.routes[0]][meta.method.as_str().to_lowercase()]
    }

    /// The schema of an operation's body.
    pub fn body(&self, meta: &Meta) -> Option<Value> {
        self.item(meta).pointer("/requestBody/content/application~1json/schema").cloned()
    }

    /// What is wrong with a value by a schema of the document.
    fn faults(&mut self, schema: &Value, value: &Value) -> Option<String> {
        let key = schema.to_string();
        if !self.validators.contains_key(&key) {
            let whole = json!({ "components": self.document["components"], "allOf": [schema] });
            self.validators.insert(key.clone(), jsonschema::draft202012::new(&whole).unwrap());
        }
        self.validators[&key].iter_errors(value).next().map(|error| format!("{error} at {}", error.instance_path()))
    }

    /// Whether a body is one that the document allows.
    pub fn allows(&mut self, meta: &Meta, body: &Value) -> bool {
        self.body(meta).is_none_or(|schema| self.faults(&schema, body).is_none())
    }

    /// What is wrong with an answer: an undeclared status, another shape than the declared one, or a failure of ours.
    pub fn answer(&mut self, meta: &Meta, status: u16, body: &Value) -> Option<String> {
        if failed(status, body) {
            return Some(format!("failed with {status}"));
        }
        let declared = &self.item(meta)["responses"][status.to_string()];
        if declared.is_null() {
            return Some(format!("{status} is not declared"));
        }
        let declared = resolved(&self.document, declared);
        match declared["content"]["application/json"].get("schema").cloned() {
            Some(schema) => self.faults(&schema, body).map(|fault| format!("{status} in another shape: {fault}")),
            None => Some(format!("{status} is declared without JSON")),
        }
    }

    /// What is wrong with an event by a named schema.
    pub fn event(&mut self, schema: &Value, event: &Value) -> Option<String> {
        self.faults(schema, event).map(|fault| format!("an event in another shape: {fault}: {event}"))
    }

    /// What is wrong with a refusal, whoever answers it.
    pub fn refusal(&mut self, body: &Value) -> Option<String> {
        self.faults(&json!({ "$ref": "#/components/schemas/StudioError" }), body)
    }
}
