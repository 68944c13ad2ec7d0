//! A script played by hand: the person who chats plays the model too. What they write is read as commands, `say`, `call`
//! and `tools`; once the calls have their results, these are shown and the turn ends.

use serde_json::Value;

use super::conditions::examples;
use super::pattern::one_line;
use super::play::{MAX_CALLS, Played, told};
use super::script::Script;
use super::template::cut;
use super::turn::Turn;
use crate::{Block, ModelCall, ModelRequest, ToolSpec};

/// One command of a message.
#[derive(Debug, PartialEq)]
enum Command {
    Say(String),
    Call { tool: String, args: String },
    Tools,
}

/// What is answered to a request: what the person wrote says it.
pub(crate) fn play(script: &Script, request: &ModelRequest) -> Played<'static> {
    let turn = Turn::of(request);
    if let Some(round) = turn.rounds.last() {
        return Played::text(told("What came back:", round));
    }
    let Some(commands) = commands(turn.said) else {
        return Played::text(help(script));
    };
    let calls = commands.iter().filter(|command| matches!(command, Command::Call { .. })).count();
    if calls > MAX_CALLS {
        return Played::text(format!(
            "That would be {calls} calls at once; I make at most {MAX_CALLS}. I did nothing; please write fewer."
        ));
    }
    let mut made = 0;
    let blocks = commands
        .into_iter()
        .map(|command| match command {
            Command::Say(text) => Block::Text { text },
            Command::Tools => Block::Text { text: tools(&request.tools) },
            Command::Call { tool, args } => {
                made += 1;
                Block::Call(ModelCall {
                    id: format!("rehearsal_{}", turn.calls_ever + made),
                    name: tool,
                    args_text: args,
                })
            }
        })
        .collect();
    Played { blocks, fail: None }
}

/// The commands of a message; a line without a command goes on with the one before it. None when it does not begin with
/// a command, or a call names no tool.
fn commands(said: &str) -> Option<Vec<Command>> {
    let mut commands: Vec<Command> = Vec::new();
    for line in said.lines() {
        let (word, rest) = match line.trim_start().split_once(char::is_whitespace) {
            Some((word, rest)) => (word, rest),
            None => (line.trim(), ""),
        };
        match word.to_lowercase().as_str() {
            "say" => commands.push(Command::Say(rest.to_owned())),
            "call" => {
                let rest = rest.trim();
                let end = rest.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(rest.len());
                if end == 0 {
                    return None;
                }
                commands.push(Command::Call { tool: rest[..end].to_owned(), args: rest[end..].trim().to_owned() });
            }
            "tools" if rest.trim().is_empty() => commands.push(Command::Tools),
            _ => match commands.last_mut() {
                Some(Command::Say(text) | Command::Call { args: text, .. }) => {
                    text.push('\n');
                    text.push_str(line);
                }
                Some(Command::Tools) if line.trim().is_empty() => {}
                None if line.trim().is_empty() => {}
                Some(Command::Tools) | None => return None,
            },
        }
    }
    for command in &mut commands {
        match command {
            Command::Say(text) => text.truncate(text.trim_end().len()),
            Command::Call { args, .. } => {
                // Arguments go out as they were written, JSON or not: a model writes broken ones too.
                *args = args.trim().to_owned();
                if args.is_empty() {
                    args.push_str("{}");
                }
            }
            Command::Tools => {}
        }
    }
    Some(commands).filter(|commands| !commands.is_empty())
}

fn help(script: &Script) -> String {
    format!(
        "I am the rehearsal script `{}`, not a model: you play the model here. Write, a line each:\n\
         - `say TEXT`: the model answers with the text\n\
         - `call TOOL {{\"argument\": 1}}`: the model calls a tool; several lines are calls at once\n\
         - `tools`: lists the tools this agent has, with their arguments\n\
         Lines that begin with none of these go on with the line before.\nYou could write:\n{}",
        script.name,
        examples(script)
    )
}

fn tools(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return "This agent has no tools.".to_owned();
    }
    let mut text = "The tools of this agent:".to_owned();
    for tool in tools {
        let about = cut(&one_line(&tool.description), 200);
        text.push_str(&format!("\n- `{}`: {about}", tool.name));
        text.push_str(&arguments(&tool.schema));
    }
    text
}

fn arguments(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let line = |(name, about): (&String, &Value)| {
        let kind = match about.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                kinds.join(" or ")
            }
            _ => "any".to_owned(),
        };
        let must = if required(name) { ", required" } else { "" };
        let told = about.get("description").and_then(Value::as_str);
        let told = told.map_or_else(String::new, |t| format!(": {}", cut(&one_line(t), 200)));
        format!("\n    - `{name}` ({kind}{must}){told}")
    };
    properties.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::super::tests::Talk;
    use crate::Block;

    #[test]
    fn the_person_says_what_the_model_says() {
        let mut talk = Talk::with("manual");
        assert_eq!(talk.say("say Let me see.\nThat is order 7."), "Let me see.\nThat is order 7.");
        assert!(talk.calls().is_empty());
        assert_eq!(talk.say("  SAY again"), "again");
    }

    #[test]
    fn lines_of_calls_are_parallel_calls_and_their_results_are_shown() {
        let mut talk = Talk::with("manual");
        let text = talk.say(
            "say Both.\ncall desk_get_order {\"order_id\":\n  7}\ncall desk_list_orders\ncall no_such_tool{\"a\":[1]}",
        );
        assert_eq!(text, "Both.");
        assert_eq!(
            talk.asked(),
            [
                ("desk_get_order".to_owned(), json!({"order_id": 7})),
                ("desk_list_orders".to_owned(), json!({})),
                ("no_such_tool".to_owned(), json!({"a": [1]})),
            ]
        );
        let shown = talk.results(&[("{\"total\": 9}", false), ("[]", false), ("no such tool", true)]);
        assert!(shown.contains("`desk_get_order` answered: {\"total\": 9}"), "{shown}");
        assert!(shown.contains("`no_such_tool` failed: no such tool"), "{shown}");
        assert!(talk.calls().is_empty(), "the turn ends");
        talk.say("call desk_list_orders");
        assert_eq!(talk.calls()[0].id, "rehearsal_4", "ids do not repeat");
    }

    #[test]
    fn arguments_go_out_as_they_were_written() {
        let mut talk = Talk::with("manual");
        talk.say("call desk_get_order {\"order_id\": oops");
        assert_eq!(talk.calls()[0].args_text, "{\"order_id\": oops");
    }

    #[test]
    fn tools_are_listed_with_their_arguments() {
        let mut talk = Talk::with("manual");
        talk.request.tools[1].schema = json!({
            "type": "object",
            "required": ["order_id"],
            "properties": {
                "order_id": {"type": "integer", "description": "Its number."},
                "note": {"type": ["string", "null"]},
            },
        });
        let text = talk.say("tools");
        assert!(text.contains("- `desk_get_order`: a tool"), "{text}");
        assert!(text.contains("- `order_id` (integer, required): Its number."), "{text}");
        assert!(text.contains("- `note` (string or null)"), "{text}");
        talk.request.tools.clear();
        assert_eq!(talk.say("tools"), "This agent has no tools.");
    }

    #[test]
    fn what_is_no_command_is_answered_with_help_and_calls_nothing() {
        for said in ["cancel order 7", "", "call", "call {\"a\": 1}", "tools\nmore", "please\nsay hi"] {
            let mut talk = Talk::with("manual");
            let text = talk.say(said);
            assert!(text.contains("not a model") && text.contains("call TOOL"), "{said}: {text}");
            assert!(talk.calls().is_empty(), "{said}");
        }
    }

    #[test]
    fn too_many_calls_are_refused_whole() {
        let mut talk = Talk::with("manual");
        let text = talk.say(&"call desk_list_orders\n".repeat(33));
        assert!(text.contains("33 calls"), "{text}");
        assert!(talk.calls().is_empty());
    }

    #[test]
    fn a_script_played_by_hand_has_no_rules() {
        let yaml = "name: t\nabout: x\nby_hand: true\nrules: [{say: x}]\n";
        let error = super::super::validate(yaml).unwrap_err();
        assert!(error.to_string().contains("by_hand"), "{error}");
        let mut talk = Talk::yaml("name: mine\nabout: x\nby_hand: true\n");
        assert_eq!(talk.say("say hi"), "hi");
        assert!(matches!(
            talk.request.messages.last(),
            Some(crate::Message::Assistant { blocks }) if matches!(&blocks[..], [Block::Text { .. }])
        ));
    }
}
