//! Which models can be used here, as the catalogue says.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is said of a model without a key.
const NO_KEY: &str = "no key here";

/// The models of the catalogue.
#[derive(Debug, Default)]
pub(in crate::places) struct Models {
    /// Providers, and why they cannot be used; none = they can.
    providers: BTreeMap<String, Option<String>>,
    /// `provider:model`, those that can be used first.
    models: Vec<(String, Option<String>)>,
}

impl Models {
    /// Reads rows of the catalogue `llm-clients`.
    pub fn read(catalog: &Value) -> Self {
        let mut read = Self::default();
        for row in catalog.as_array().into_iter().flatten() {
            let Some(provider) = row["provider"].as_str() else { continue };
            let keys = row["credentials"].as_array().map_or(1, Vec::len);
            let why = if row["available"] == Value::Bool(false) {
                Some(row["error"].as_str().unwrap_or("not available here").to_owned())
            } else {
                (keys == 0 && row["needs_key"] == Value::Bool(true)).then(|| NO_KEY.to_owned())
            };
            read.providers.insert(provider.to_owned(), why.clone());
            if row["available"] != Value::Bool(false) {
                let models = row["models"].as_array().into_iter().flatten().filter_map(Value::as_str);
                read.models.extend(models.map(|model| (format!("{provider}:{model}"), why.clone())));
            }
        }
        read.models.sort_by_key(|(_, why)| why.is_some());
        read
    }

    /// `provider:model` of everything that can be had.
    pub fn options(&self) -> Vec<Value> {
        self.models.iter().map(|(name, _)| json!(name)).collect()
    }

    /// Why some of them cannot be used here; the others are said to be ready.
    pub fn notes(&self) -> BTreeMap<String, String> {
        let note = |why: &Option<String>| why.clone().unwrap_or_else(|| "ready".to_owned());
        self.models.iter().map(|(name, why)| (name.clone(), note(why))).collect()
    }

    /// Why an agent with this model cannot answer here; none = it can, or nobody knows.
    pub fn fault(&self, llm: &str) -> Option<String> {
        if self.providers.is_empty() {
            return None;
        }
        let provider = llm.split(':').next().unwrap_or_default().trim().to_lowercase();
        match self.providers.get(&provider) {
            Some(why) => why.as_ref().map(|why| match why.as_str() {
                NO_KEY => format!("there is no key for {provider} here; one is stored in the place Keys"),
                other => format!("{provider} cannot be used here ({other})"),
            }),
            None => Some(format!("there is no provider '{provider}' here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Models;
    use serde_json::json;

    #[test]
    fn a_model_is_usable_with_a_key_or_when_none_is_needed() {
        let models = Models::read(&json!([
            { "provider": "anthropic", "available": true, "needs_key": true, "credentials": [], "models": ["a"] },
            { "provider": "lab", "available": true, "needs_key": false, "credentials": [], "models": ["b"] },
            { "provider": "openai", "available": true, "needs_key": true, "credentials": ["byok"], "models": ["c"] },
            { "provider": "gone", "available": false, "error": "import_failed", "models": ["d"] },
        ]));
        assert_eq!(models.options(), ["lab:b", "openai:c", "anthropic:a"], "what can be used comes first");
        assert_eq!(models.notes()["anthropic:a"], "no key here");
        assert_eq!((models.fault("openai:any"), models.fault("lab")), (None, None));
        for (llm, why) in [("Anthropic:x", "no key for anthropic"), ("gone:d", "import_failed"), ("nope:x", "'nope'")] {
            assert!(models.fault(llm).is_some_and(|said| said.contains(why)), "{llm}");
        }
        assert_eq!(Models::default().fault("nope:x"), None, "without the catalogue nothing is known");
    }
}
