//! Agents and the questions to them.

use serde_json::{Map, Value, json};

use super::state::{Agent, Person, Reply, State};

/// A request of a person.
pub(super) struct Asked<'a> {
    pub method: &'a str,
    pub query: &'a str,
    /// The body; none when it is no JSON.
    pub json: Option<&'a Value>,
    pub person: &'a Person,
}

const PARAMS: [&str; 4] = ["temperature", "max_tokens", "top_k", "top_p"];

impl Agent {
    fn access(&self, person: &Person) -> Option<&'static str> {
        let shared = |group: &String| person.groups.contains(&group.as_str());
        match self.visibility.as_str() {
            _ if self.owner == person.user => Some("owner"),
            _ if person.superuser => Some("admin"),
            "tenant" => Some("tenant"),
            "groups" if self.allowed_groups.iter().any(shared) => Some("groups"),
            _ => None,
        }
    }

    fn item(&self, name: &str, access: &str, whole: bool) -> Value {
        let can_manage = matches!(access, "owner" | "admin");
        let mut item = json!({
            "name": name, "source": "studio", "origin": "studio", "owner": self.owner, "enabled": true,
            "agent_id": self.id, "tenant": "acme", "version": self.version,
            "updated_at": format!("2026-02-03T04:05:{:02}.000007+00:00", self.version % 60),
            "visibility": self.visibility, "allowed_groups": self.allowed_groups, "class_name": self.bot_class,
            "module": null, "file_path": null, "tags": [], "priority": 0, "at_startup": false, "llm": self.llm,
            "description": self.description, "category": self.category, "access": access, "can_manage": can_manage,
        });
        if whole && can_manage {
            let params: Map<String, Value> = PARAMS
                .into_iter()
                .map(|key| (key.to_owned(), self.params.get(key).cloned().unwrap_or_default()))
                .collect();
            item["definition"] = json!({
                "bot_class": self.bot_class, "llm": self.llm, "description": self.description,
                "category": self.category, "model_params": params, "system_prompt": self.system_prompt,
                "tools": self.tools,
            });
        }
        item
    }
}

fn not_found(name: &str) -> Reply {
    Reply::no(404, "not_found", format!("Agent '{name}' not found."))
}

fn not_manageable() -> Reply {
    Reply::no(403, "not_manageable", "You do not have permission to modify this resource.")
}

fn authoring_denied() -> Reply {
    Reply::no(403, "authoring_denied", "Authoring is not allowed.")
}

fn invalid_json() -> Reply {
    Reply::no(400, "invalid_json", "Invalid JSON body.")
}

/// The agent, if the person sees it, and how.
fn seen<'a>(state: &'a mut State, name: &str, person: &Person) -> Result<(&'a mut Agent, &'static str), Reply> {
    let agent = state.agents.get_mut(name).ok_or_else(|| not_found(name))?;
    let access = agent.access(person).ok_or_else(|| not_found(name))?;
    Ok((agent, access))
}

/// The agent, if the person manages it, and how.
fn managed<'a>(state: &'a mut State, name: &str, person: &Person) -> Result<(&'a mut Agent, &'static str), Reply> {
    match seen(state, name, person)? {
        (_, "tenant" | "groups") => Err(not_manageable()),
        found => Ok(found),
    }
}

/// Refuses a version that is not the current one.
fn current(name: &str, agent: &Agent, expected: Option<&Value>) -> Result<(), Reply> {
    let expected = match expected {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::String(text)) if text.is_empty() => return Ok(()),
        Some(Value::String(text)) => text.parse().ok(),
        Some(other) => other.as_i64(),
    };
    match expected {
        None => Err(Reply::no(400, "invalid_expected_version", "expected_version must be an integer")),
        Some(version) if version != agent.version => {
            let message = format!("{name}: expected {version}, found {}", agent.version);
            Err(Reply::no(409, "version_conflict", message))
        }
        Some(_) => Ok(()),
    }
}

/// Refuses what is out of range.
fn in_range(params: &Map<String, Value>) -> Result<(), Reply> {
    match params.get("temperature").and_then(Value::as_f64) {
        Some(temperature) if temperature > 2.0 => {
            let message = "One or more model settings are out of range or of the wrong type.";
            let details = json!([{
                "field": "temperature", "constraint": "le", "limit": 2.0,
                "message": "Input should be less than or equal to 2",
            }]);
            Err(Reply(422, json!({ "message": message, "code": "invalid_config", "details": details })))
        }
        _ => Ok(()),
    }
}

fn value_of_query(query: &str, key: &str) -> Option<Value> {
    let value = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key)?.1;
    Some(Value::String(value.to_owned()))
}

pub(super) fn list(state: &State, asked: &Asked<'_>) -> Reply {
    let seen = state.agents.iter().filter_map(|(name, agent)| {
        let access = agent.access(asked.person)?;
        Some(agent.item(name, access, false))
    });
    let agents: Vec<Value> = seen.collect();
    Reply(200, json!({ "count": agents.len(), "agents": agents }))
}

pub(super) fn get(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    match seen(state, name, asked.person) {
        Ok((agent, access)) => Reply(200, agent.item(name, access, true)),
        Err(refusal) => refusal,
    }
}

pub(super) fn create(state: &mut State, asked: &Asked<'_>) -> Reply {
    made(state, asked).unwrap_or_else(|refusal| refusal)
}

fn made(state: &mut State, asked: &Asked<'_>) -> Result<Reply, Reply> {
    if !asked.person.may_author {
        return Err(authoring_denied());
    }
    let body = asked.json.ok_or_else(invalid_json)?;
    let name = match &body["name"] {
        Value::String(name) => slug(name),
        Value::Null => {
            return Err(Reply::schema(400, "CreateAgentRequest", "name", "Field required", "missing", body));
        }
        other => {
            let fault = "Input should be a valid string";
            return Err(Reply::schema(400, "CreateAgentRequest", "name", fault, "string_type", other));
        }
    };
    if name.is_empty() || name.len() > 64 {
        return Err(Reply::no(400, "invalid_name", format!("Invalid agent name '{name}'.")));
    }
    let mut params = body["config"].as_object().cloned().unwrap_or_default();
    let system_prompt = params.remove("system_prompt").unwrap_or_default();
    let tools = params.remove("tools").unwrap_or_else(|| json!([]));
    if let Some(key) = params.keys().find(|key| !PARAMS.contains(&key.as_str())) {
        return Err(Reply::no(422, "unsupported_config_key", format!("unsupported config keys: ['{key}']")));
    }
    in_range(&params)?;
    if state.agents.contains_key(&name) {
        return Err(Reply::no(409, "name_taken", format!("Name '{name}' is not available.")));
    }
    let groups = body["allowed_groups"].as_array().cloned().unwrap_or_default();
    let agent = Agent {
        id: state.new_id(),
        owner: asked.person.user.to_owned(),
        version: 1,
        visibility: body["visibility"].as_str().unwrap_or("private").to_owned(),
        allowed_groups: groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect(),
        bot_class: body["bot_class"].as_str().unwrap_or("BasicBot").to_owned(),
        llm: body["llm"].clone(),
        description: body["description"].clone(),
        category: body["category"].as_str().unwrap_or("general").to_owned(),
        params,
        system_prompt,
        tools,
    };
    let mut answer = json!({
        "name": name, "persisted": true, "source": "studio", "file_path": null, "agent_id": agent.id, "version": 1,
        "tenant": "acme",
    });
    if body["persist"] == false {
        answer["warnings"] = json!(["'persist' is ignored: agents are always stored."]);
    }
    state.agents.insert(name, agent);
    Ok(Reply(201, answer))
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_matches('-').to_owned()
}

pub(super) fn patch(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    patched(state, name, asked).unwrap_or_else(|refusal| refusal)
}

fn patched(state: &mut State, name: &str, asked: &Asked<'_>) -> Result<Reply, Reply> {
    let (agent, access) = managed(state, name, asked.person)?;
    if !asked.person.may_author {
        return Err(authoring_denied());
    }
    let body = asked.json.and_then(Value::as_object).ok_or_else(invalid_json)?;
    if body.contains_key("name") {
        return Err(Reply::no(422, "name_immutable", "The agent name cannot be changed."));
    }
    const KNOWN: [&str; 6] = ["description", "llm", "model_params", "system_prompt", "category", "expected_version"];
    if let Some((key, value)) = body.iter().find(|(key, _)| !KNOWN.contains(&key.as_str())) {
        let fault = "Extra inputs are not permitted";
        return Err(Reply::schema(422, "UpdateAgentRequest", key, fault, "extra_forbidden", value));
    }
    let params = body.get("model_params").and_then(Value::as_object).cloned().unwrap_or_default();
    in_range(&params)?;
    current(name, agent, body.get("expected_version"))?;
    // Null means unchanged, everywhere.
    let sent = |key: &str| body.get(key).filter(|value| !value.is_null()).cloned();
    agent.params.extend(params.into_iter().filter(|(_, value)| !value.is_null()));
    agent.description = sent("description").unwrap_or_else(|| agent.description.clone());
    agent.llm = sent("llm").unwrap_or_else(|| agent.llm.clone());
    agent.system_prompt = sent("system_prompt").unwrap_or_else(|| agent.system_prompt.clone());
    if let Some(category) = sent("category").and_then(|category| category.as_str().map(str::to_owned)) {
        agent.category = category;
    }
    agent.version += 1;
    Ok(Reply(200, agent.item(name, access, true)))
}

pub(super) fn visibility(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    shared(state, name, asked).unwrap_or_else(|refusal| refusal)
}

fn shared(state: &mut State, name: &str, asked: &Asked<'_>) -> Result<Reply, Reply> {
    let (agent, access) = managed(state, name, asked.person)?;
    let body = asked.json.ok_or_else(invalid_json)?;
    let Some(visibility @ ("private" | "tenant" | "groups")) = body["visibility"].as_str() else {
        let fault = "Input should be 'private', 'tenant' or 'groups'";
        let sent = &body["visibility"];
        return Err(Reply::schema(400, "VisibilityUpdateRequest", "visibility", fault, "literal_error", sent));
    };
    let groups: Vec<&str> = body["allowed_groups"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if visibility == "groups" && groups.is_empty() {
        return Err(Reply::no(422, "groups_required", "allowed_groups is required when visibility is 'groups'."));
    }
    if !asked.person.superuser && !groups.iter().all(|group| asked.person.groups.contains(group)) {
        return Err(Reply::no(422, "groups_not_allowed", "allowed_groups must be a subset of your own groups."));
    }
    agent.visibility = visibility.to_owned();
    agent.allowed_groups = groups.into_iter().map(str::to_owned).collect();
    agent.version += 1;
    Ok(Reply(200, agent.item(name, access, true)))
}

pub(super) fn delete(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    let expected = value_of_query(asked.query, "expected_version");
    let refused = match managed(state, name, asked.person) {
        Err(refusal) => Err(refusal),
        Ok(_) if !asked.person.may_author => Err(authoring_denied()),
        Ok((agent, _)) => current(name, agent, expected.as_ref()),
    };
    if let Err(refusal) = refused {
        return refusal;
    }
    state.agents.remove(name);
    Reply(200, json!({ "name": name, "deleted": true }))
}

pub(super) fn reload(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    if let Err(refusal) = managed(state, name, asked.person) {
        return refusal;
    }
    if !asked.person.may_author {
        return authoring_denied();
    }
    if asked.query.contains("expected_version") {
        let message = "expected_version is not supported on this route.";
        return Reply::no(400, "expected_version_unsupported", message);
    }
    Reply(200, json!({ "name": name, "reloaded": true, "previous_instance_closed": false, "warnings": [] }))
}

pub(super) fn ask(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    let llm = match seen(state, name, asked.person) {
        Ok((agent, _)) => agent.llm.clone(),
        Err(refusal) => return refusal,
    };
    let Some(body) = asked.json else { return invalid_json() };
    let Some(query) = body["query"].as_str() else {
        return Reply::schema(400, "TestAskRequest", "query", "Field required", "missing", body);
    };
    if llm.as_str().is_some_and(|llm| llm.starts_with("broken")) {
        return Reply::no(502, "query_failed", "The model could not answer: overloaded.");
    }
    let key = (
        asked.person.user.to_owned(),
        llm.as_str().and_then(|llm| llm.split(':').next()).unwrap_or_default().to_owned(),
    );
    let own = body["use_byok"] != false && body["key_source"] != "server" && state.keys.contains_key(&key);
    if body["key_source"] == "byok" && !own {
        let details = json!({ "provider": key.1, "requested": "byok" });
        let message = "The requested key is not available.";
        return Reply(422, json!({ "message": message, "code": "key_source_unavailable", "details": details }));
    }
    let said = state.sessions.entry((asked.person.user.to_owned(), name.to_owned())).or_default();
    let response = format!("echo[{said}]: {query}");
    *said += 2;
    let source = if own { "byok" } else { "server" };
    Reply(
        200,
        json!({
            "agent_name": name, "query": query, "response": response, "metadata": {}, "byok": own,
            "key_source": source,
        }),
    )
}

pub(super) fn end(state: &mut State, name: &str, asked: &Asked<'_>) -> Reply {
    if let Err(refusal) = seen(state, name, asked.person) {
        return refusal;
    }
    match state.sessions.remove(&(asked.person.user.to_owned(), name.to_owned())) {
        Some(_) => Reply(200, json!({ "message": format!("Test session for '{name}' stopped"), "agent_name": name })),
        None => Reply(200, json!({ "message": format!("No active test session for '{name}'") })),
    }
}
