//! From what clients send to a stored definition: normalised on creation, merged on a patch.

use contract::ops::agents::{AgentCreate, AgentPatch, CATEGORY_SIGNS, ModelParams};
use contract::{Code, Patch, Result, StudioError};
use rules::model_params::{Constraint, MODEL_PARAMS, ParamFault, check_model_params};
use rules::names::is_slug;
use rules::partition::Partition;
use serde_json::{Map, Value, json};
use store::repo::agents::{Definition, SCHEMA_VERSION};

/// Category of an agent that names none.
pub(super) const GENERAL: &str = "general";
/// Keys that have a place of their own; in `config` they would be a second, silent one.
const REFUSED: [&str; 8] =
    ["llm", "model", "model_config", "chatbot_id", "name", "mcp_servers", "toolkits", "vector_store_config"];

/// A definition from the body of a creation: `config` gives the sampling parameters, the prompt and the tools; the rest of
/// it stays.
///
/// # Errors
/// 400 `invalid_request`, 422 `invalid_config`, 422 `unsupported_config_key`, in this order.
pub(super) fn created(body: &AgentCreate) -> Result<Definition> {
    let mut config = body.config.clone().unwrap_or_default();
    let system_prompt = match config.remove("system_prompt") {
        None | Some(Value::Null) => None,
        Some(Value::String(prompt)) => Some(prompt),
        Some(_) => {
            return Err(StudioError::invalid_request("'config.system_prompt' must be text."));
        }
    };
    let tools = match config.remove("tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tools)) => tools,
        Some(_) => {
            return Err(StudioError::invalid_request("'config.tools' must be a list of slugs."));
        }
    };
    let params: Map<String, Value> =
        MODEL_PARAMS.iter().filter_map(|p| Some((p.field.to_owned(), config.remove(p.field)?))).collect();
    let mut model_params = ModelParams::default();
    set_params(&mut model_params, &params)?;
    if let Some(key) = REFUSED.into_iter().find(|key| config.contains_key(*key)) {
        return Err(unsupported(key));
    }
    Ok(Definition {
        schema_version: SCHEMA_VERSION,
        bot_class: body.bot_class.clone().unwrap_or_else(|| super::classes::DEFAULT.into()),
        llm: body.llm.clone(),
        model_params,
        system_prompt,
        description: body.description.clone(),
        category: body.category.clone().unwrap_or_else(|| GENERAL.into()),
        tools,
        config,
    })
}

/// Whether a category is a slug.
///
/// # Errors
/// 400 `invalid_category`.
pub(super) fn check_category(category: &str) -> Result<()> {
    if is_slug(category) {
        return Ok(());
    }
    let message = format!("'category' may hold only {CATEGORY_SIGNS}. Leave it out for '{GENERAL}'.");
    Err(StudioError::new(Code::InvalidCategory, 400, message))
}

/// Whether the free keys of a definition are permitted: agents of a tenant have none.
///
/// # Errors
/// 422 `unsupported_config_key`.
pub(super) fn check_config(definition: &Definition, partition: &Partition) -> Result<()> {
    match definition.config.keys().min() {
        Some(key) if !partition.is_global() => Err(unsupported(key)),
        _ => Ok(()),
    }
}

fn unsupported(key: &str) -> StudioError {
    StudioError::new(Code::UnsupportedConfigKey, 422, format!("'config.{key}' is not supported here. Leave it out."))
        .with(json!({ "key": key }))
}

/// Checks of a patch that need no record.
///
/// # Errors
/// 422 `invalid_request`, 422 `invalid_config`, 400 `invalid_category`, in this order.
pub(super) fn check_patch(patch: &AgentPatch) -> Result<()> {
    if let Patch::Set(params) = &patch.model_params {
        if let Some(key) = params.keys().find(|key| MODEL_PARAMS.iter().all(|p| p.field != **key)) {
            let known = MODEL_PARAMS.map(|p| p.field).join(", ");
            let message = format!("'model_params.{key}' is not known. Known are: {known}.");
            return Err(StudioError::new(Code::InvalidRequest, 422, message));
        }
        set_params(&mut ModelParams::default(), params)?;
    }
    match &patch.category {
        Patch::Set(category) => check_category(category),
        Patch::Absent | Patch::Null => Ok(()),
    }
}

/// The definition after a patch that [`check_patch`] passed: what was left out stays, null clears.
///
/// # Errors
/// As [`check_patch`].
pub(super) fn patched(mut old: Definition, patch: AgentPatch) -> Result<Definition> {
    old.description = patch.description.over(old.description);
    old.llm = patch.llm.over(old.llm);
    old.system_prompt = patch.system_prompt.over(old.system_prompt);
    old.category = patch.category.over(Some(old.category)).unwrap_or_else(|| GENERAL.into());
    match patch.model_params {
        Patch::Absent => {}
        Patch::Null => old.model_params = ModelParams::default(),
        Patch::Set(params) => set_params(&mut old.model_params, &params)?,
    }
    Ok(old)
}

/// Sets the parameters that are present; null clears one.
fn set_params(target: &mut ModelParams, params: &Map<String, Value>) -> Result<()> {
    let mut faults = check_model_params(params);
    for (field, value) in params {
        let whole = value.as_i64();
        match field.as_str() {
            "temperature" => target.temperature = value.as_f64(),
            "top_p" => target.top_p = value.as_f64(),
            "max_tokens" => target.max_tokens = whole,
            "top_k" => target.top_k = whole,
            _ => {}
        }
        // Stored as a signed number, which a larger one would silently leave unset.
        if let Some(bounds) =
            MODEL_PARAMS.iter().find(|p| p.field == field && p.integer && value.is_u64() && whole.is_none())
        {
            faults.push(ParamFault {
                field: bounds.field,
                constraint: Constraint::Le,
                limit: json!(i64::MAX),
                message: format!("{field} must be at most {}.", i64::MAX),
            });
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let message = faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join(" ");
    Err(StudioError::new(Code::InvalidConfig, 422, message).with(json!(faults)))
}
