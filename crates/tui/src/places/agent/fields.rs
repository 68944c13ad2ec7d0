//! The fields of an agent, and what is sent when they are saved.

use super::sharing;
use crate::form::{Bound, Empty, Field, Form, Kind, Scalar};
use contract::ops::agents::{AgentCreate, AgentItem, AgentPatch, CATEGORY_SIGNS};
use contract::{Code, Patch, StudioError};
use serde_json::{Map, Value, json};

/// Key of the prompt.
pub(super) const PROMPT: &str = "system_prompt";
/// Key of the field that says who sees an agent; it is changed by an operation of its own.
pub(super) const SEEN_BY: &str = "seen_by";
/// Key of the field that says which tools an agent has.
const TOOLSET: &str = "toolset";
/// The sampling parameters.
const PARAMS: [&str; 4] = ["temperature", "max_tokens", "top_k", "top_p"];

fn number(key: &str, label: &str, integer: bool, min: Bound, max: Option<f64>, help: &str) -> Field {
    let max = max.map(|at| Bound { at, exclusive: false });
    Field::new(key, label, Kind::Number { min: Some(min), max, integer })
        .help(format!("{help} Empty: the provider's own."))
}

fn common() -> (Vec<Field>, Vec<Field>, Field) {
    let above = Bound { at: 0.0, exclusive: true };
    let from = Bound { at: 0.0, exclusive: false };
    let head = vec![
        Field::new("description", "description", Kind::Text).help("What it is for, for people."),
        Field::new("llm", "llm", Kind::Choice { options: Vec::new(), free: true }).help(
            "provider:model, or a provider alone. The choices are those of the catalogue; other text is taken too.",
        ),
        Field::new("category", "category", Kind::Text).help(format!("{CATEGORY_SIGNS}. Empty: general.")),
    ];
    let params = vec![
        number("temperature", "temperature", false, from, Some(2.0), "From 0 to 2."),
        number("max_tokens", "max_tokens", true, above, None, "Most tokens of an answer: a whole number above 0."),
        number("top_k", "top_k", true, above, None, "A whole number above 0."),
        number("top_p", "top_p", false, above, Some(1.0), "Above 0, at most 1."),
    ];
    let prompt =
        Field::new(PROMPT, "system prompt", Kind::Multiline).help("What the model is told before everything else.");
    (head, params, prompt)
}

/// Values of an agent by the keys of its fields; the definition's only where it is shown.
pub(super) fn values(item: &AgentItem) -> Vec<(&'static str, Value)> {
    let mut values = vec![
        ("description", json!(item.description)),
        ("llm", json!(item.llm)),
        ("category", json!(item.category)),
        (SEEN_BY, json!(sharing::told(item))),
    ];
    if let Some(definition) = &item.definition {
        let params = &definition.model_params;
        values.extend([
            ("temperature", json!(params.temperature)),
            ("max_tokens", json!(params.max_tokens)),
            ("top_k", json!(params.top_k)),
            ("top_p", json!(params.top_p)),
            (TOOLSET, json!(tools_in_words(&definition.tools))),
            (PROMPT, json!(definition.system_prompt)),
        ]);
    }
    values
}

fn tools_in_words(tools: &[Value]) -> String {
    let name = |tool: &Value| {
        let slug = tool.as_str().or_else(|| tool["slug"].as_str()).or_else(|| tool["name"].as_str());
        slug.map_or_else(|| tool.to_string(), str::to_owned)
    };
    match tools {
        [] => "none".to_owned(),
        tools => tools.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

/// The form of an agent as it is.
pub(super) fn of(item: &AgentItem) -> Form {
    let (mut fields, params, prompt) = common();
    let seen_by = Field::new(SEEN_BY, "visible to", Kind::Text)
        .help("Who sees it. It is changed on its own: the key for visibility, below or in the palette.")
        .read_only();
    if item.definition.is_some() {
        fields.extend(params);
        fields.push(seen_by);
        fields.push(
            Field::new(TOOLSET, "tools", Kind::Text)
                .help("Tools are chosen when an agent is made. To have others, clone this one in the list of agents.")
                .read_only(),
        );
        fields.push(prompt);
    } else {
        fields.push(seen_by);
    }
    let mut form = Form::new(fields);
    for (key, value) in values(item) {
        form.set_base(key, Some(value));
    }
    form
}

/// The form of a new agent.
pub(super) fn new() -> Form {
    let (mut fields, params, prompt) = common();
    let visibilities = ["private", "tenant", "groups"].map(|text| json!(text)).to_vec();
    fields.insert(
        0,
        Field::new("name", "name", Kind::Text)
            .help("Becomes small letters, digits and '-', at most 64; it cannot be changed later.")
            .when_empty(Empty::Refused),
    );
    fields.push(
        Field::new("visibility", "visibility", Kind::Choice { options: visibilities, free: false })
            .holding(Some(json!("private")))
            .when_empty(Empty::Refused)
            .help("Who sees it: you and administrators, the tenant, or groups."),
    );
    let list = |key: &str, help: &str| {
        Field::new(key, key.replace('_', " "), Kind::List { of: Scalar::Text, options: Vec::new() }).help(help)
    };
    fields.push(list("allowed_groups", "One on each line; needed with the visibility groups, and only with it."));
    fields.extend(params);
    fields.push(list("tools", "Slugs of tools and toolkits, one on each line; the choices are the catalogue's."));
    fields.push(prompt);
    Form::new(fields)
}

/// Fills the form of a new agent with what another one is made of. Answers what could not be taken over.
pub(super) fn fill(form: &mut Form, item: &AgentItem) -> Option<String> {
    form.set("name", json!(format!("{}-copy", item.name)));
    for (key, value) in values(item).into_iter().filter(|(_, value)| !value.is_null()) {
        form.set(key, value);
    }
    let Some(definition) = &item.definition else {
        return Some("prompt, parameters, tools (for its managers only)".into());
    };
    let (slugs, others): (Vec<Value>, Vec<Value>) = definition.tools.iter().cloned().partition(Value::is_string);
    if !slugs.is_empty() {
        form.set("tools", Value::Array(slugs));
    }
    (!others.is_empty()).then(|| format!("tools that are more than a name ({})", others.len()))
}

fn text(value: Option<&Value>) -> Patch<String> {
    match value {
        Some(Value::String(text)) => Patch::Set(text.clone()),
        _ => Patch::Null,
    }
}

/// What changed, as a merge patch on the version that was read; cleared fields are null.
pub(super) fn patch(form: &Form, version: Option<i64>) -> AgentPatch {
    let mut patch = AgentPatch { expected_version: version.map(Value::from), ..AgentPatch::default() };
    let mut params = Map::new();
    for key in form.changed() {
        let value = form.field(key).and_then(|field| field.value.as_ref());
        match key {
            "description" => patch.description = text(value),
            "llm" => patch.llm = text(value),
            "category" => patch.category = text(value),
            PROMPT => patch.system_prompt = text(value),
            param => _ = params.insert(param.to_owned(), value.cloned().unwrap_or_default()),
        }
    }
    if !params.is_empty() {
        patch.model_params = Patch::Set(params);
    }
    patch
}

/// The body that creates what the form says.
pub(super) fn create(form: &Form, class: Option<&str>) -> AgentCreate {
    let value = |key: &str| form.field(key).and_then(|field| field.value.clone()).filter(|value| !value.is_null());
    let text = |key: &str| value(key).and_then(|value| value.as_str().map(str::to_owned));
    let config: Map<String, Value> =
        PARAMS.into_iter().chain(["tools", PROMPT]).filter_map(|key| Some((key.to_owned(), value(key)?))).collect();
    let groups: Vec<String> = match value("allowed_groups") {
        Some(Value::Array(groups)) => groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    AgentCreate {
        name: value("name"),
        bot_class: class.map(str::to_owned),
        llm: text("llm"),
        description: text("description"),
        category: text("category"),
        config: (!config.is_empty()).then_some(config),
        visibility: text("visibility"),
        allowed_groups: (!groups.is_empty()).then_some(groups),
        persist: None,
    }
}

/// Says a refusal at the fields that it is about. False: it is about none.
pub(super) fn blame(form: &mut Form, error: &StudioError) -> bool {
    let details: Vec<&Value> = match &error.details {
        Some(Value::Array(all)) => all.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let mut faults: Vec<(&str, &str)> = details
        .into_iter()
        .filter_map(|detail| {
            let said = detail.get("message").and_then(Value::as_str).unwrap_or(&error.message);
            Some((detail.get("field")?.as_str()?, said))
        })
        .collect();
    let by_code = match error.code {
        Code::InvalidName | Code::NameTaken => Some("name"),
        Code::InvalidCategory => Some("category"),
        Code::InvalidVisibility | Code::TenantRequired => Some("visibility"),
        Code::GroupsRequired | Code::GroupsNotAllowed => Some("allowed_groups"),
        Code::ToolingNotPermitted => Some("tools"),
        _ => None,
    };
    if faults.is_empty() {
        faults.extend(by_code.map(|key| (key, error.message.as_str())));
    }
    faults.retain(|(key, _)| form.field(key).is_some());
    if let Some((first, _)) = faults.first() {
        form.focus_on(first);
    }
    for (key, said) in &faults {
        form.set_error(key, Some((*said).to_owned()));
    }
    !faults.is_empty()
}

/// Slugs of the catalogue of tools.
pub(super) fn tools(catalog: &Value) -> Vec<Value> {
    let rows = catalog.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().filter_map(|row| row.get("slug").filter(|slug| slug.is_string()).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_says_what_the_engine_says() {
        let form = new();
        let help = |key: &str| form.field(key).map(|field| field.help.as_str()).unwrap_or_default();
        assert!(help("category").starts_with(CATEGORY_SIGNS), "{}", help("category"));
        for key in ["max_tokens", "top_k"] {
            assert!(help(key).contains("whole number above 0"), "{key}: {}", help(key));
        }
        // What stands empty in a new form is what its hint says of nothing.
        for field in
            form.fields().iter().filter(|field| field.empty == Empty::Refused && field.value == Some(Value::Null))
        {
            assert!(!field.help.contains("Empty:"), "{}: {}", field.key, field.help);
        }
    }
}
