//! Catalogues: what agents can be made of.

use crate::Result;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, NoBody, Params, Query};
use serde::{Deserialize, Serialize};
use serde_json::Value;

operations! {
    /// Read a catalogue: base-classes, llm-clients, tools, vector-stores, model-params.
    GetCatalog = "catalog.get" {
        Get "/catalog/{kind}", Read, Gates::FREE,
        path: KindPath, query: CatalogQuery, body: NoBody, reply: Json<Value>, ok: 200,
        refusals: [NotFound 404, TenantRequired 422],
    }
}

/// `{kind}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindPath {
    /// Which catalogue.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["base-classes", "llm-clients", "tools", "vector-stores", "model-params"])))]
    pub kind: String,
}
impl Params for KindPath {}

/// `provider` and `model`, for `model-params`.
#[derive(Clone, Debug, Default)]
pub struct CatalogQuery {
    /// A provider.
    pub provider: Option<String>,
    /// A model of it.
    pub model: Option<String>,
}

impl Query for CatalogQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let mut query = Self::default();
        for (key, value) in pairs {
            match key.as_str() {
                "provider" => query.provider = Some(value),
                "model" => query.model = Some(value),
                _ => {}
            }
        }
        Ok(query)
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        pairs.extend(self.provider.clone().map(|v| ("provider".to_owned(), v)));
        pairs.extend(self.model.clone().map(|v| ("model".to_owned(), v)));
        pairs
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![
            crate::schema::Parameter::new(
                "provider",
                "For `model-params`: a provider.",
                serde_json::json!({ "type": "string" }),
            ),
            crate::schema::Parameter::new(
                "model",
                "For `model-params`: a model of it.",
                serde_json::json!({ "type": "string" }),
            ),
        ]
    }
}
