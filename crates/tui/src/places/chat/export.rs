//! The transcript as files: Markdown to read, JSON with everything.

use super::transcript::{Kind, Transcript};
use contract::ops::test::TestTranscript;
use serde_json::json;

/// A name for a file: letters, digits and dashes of what others chose.
pub fn file_name(agent: &str, session: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).take(60).collect()
    };
    format!("chat-{}-{}", plain(agent), plain(session))
}

/// Everything, as the engine keeps it.
pub fn as_json(agent: &str, transcript: &TestTranscript) -> String {
    let all = json!({ "agent": agent, "session": transcript.session, "turns": transcript.turns });
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

/// A fence that nothing in the text ends.
fn fenced(text: &str, language: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// What a person reads. The words stand as they were written.
pub fn as_markdown(agent: &str, stored: &TestTranscript) -> String {
    let mut transcript = Transcript::default();
    transcript.load(stored.turns.clone());
    let mut out = format!("# Chat with {agent}, session {}\n", stored.session);
    for item in transcript.items() {
        let piece = match &item.kind {
            Kind::Person(text) => format!("## Person\n\n{text}\n"),
            Kind::Answer(text) => format!("## {agent}\n\n{text}\n"),
            Kind::Reasoning(text) => format!("### Reasoning\n\n{}", fenced(text, "")),
            Kind::Call(call) => {
                let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
                let mut piece =
                    format!("### Tool {}: {}\n\n{}", call.tool, call.words(), fenced(&pretty(&call.args), "json"));
                if let Some(outcome) = call.outcome() {
                    piece += &format!("\n{}", fenced(&pretty(&outcome), "json"));
                }
                piece
            }
            Kind::Failure(text) => format!("**{text}**\n"),
            Kind::Note(text) => format!("*{text}*\n"),
            Kind::End(_) => continue,
        };
        out += &format!("\n{piece}");
    }
    out
}
