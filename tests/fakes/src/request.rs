//! What a fake was asked.

use serde_json::Value;

/// One request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The path, with the query if there is one.
    pub path: String,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The JSON body; `null` if it was none.
    pub body: Value,
}

impl Request {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The system prompt, in either protocol.
    pub fn system(&self) -> Option<String> {
        let system = &self.body["system"];
        if !system.is_null() {
            return Some(text_of(system));
        }
        self.messages()
            .iter()
            .find(|message| message["role"] == "system" || message["role"] == "developer")
            .map(|message| text_of(&message["content"]))
    }

    /// The messages as they were sent.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What the user said last, without tool results.
    pub fn user_text(&self) -> String {
        self.messages()
            .iter()
            .rev()
            .filter(|message| message["role"] == "user")
            .map(|message| text_of(&message["content"]))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// The tool results at the end of the conversation, as call id and text: what the
    /// model has to answer to now. Empty if the last word is the user's.
    pub fn tool_results(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        for message in self.messages().iter().rev() {
            if message["role"] == "tool" {
                results.push((string(&message["tool_call_id"]), text_of(&message["content"])));
                continue;
            }
            let blocks = message["content"].as_array();
            let given = blocks
                .into_iter()
                .flatten()
                .rev()
                .filter(|block| block["type"] == "tool_result")
                .map(|block| (string(&block["tool_use_id"]), text_of(&block["content"])));
            results.extend(given);
            break;
        }
        results.reverse();
        results
    }

    /// The names of the tools on offer, in either protocol.
    pub fn tool_names(&self) -> Vec<String> {
        self.body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| match &tool["function"]["name"] {
                Value::String(name) => name.clone(),
                _ => string(&tool["name"]),
            })
            .collect()
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The text of a content: a string, or its text blocks one after the other.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .filter_map(|block| block["text"].as_str())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
