//! What the model is told: the session's turns as messages, cut at the front when they outgrow its window.

use crate::agent::AgentVersion;
use crate::instances::Instance;
use crate::turn::results;
use crate::turn::state::State;
use crate::{Runtime, RuntimeError};
use models::{Block, Message, ToolSpec};
use store::repo::turns;

impl Runtime {
    /// The turns of a session before the `n`th as messages, each turn for itself.
    pub(crate) async fn earlier(&self, session: &str, n: i64) -> Result<Vec<Vec<Message>>, RuntimeError> {
        if n <= 1 {
            return Ok(Vec::new());
        }
        let session = session.to_owned();
        // Whole logs, as many as the session has turns: too much for the thread that others wait for.
        let states: Vec<State> = self
            .store
            .read_long(move |tx| -> Result<_, RuntimeError> {
                let mut states = Vec::new();
                for turn in turns::of_session(tx, &session)?.into_iter().filter(|turn| turn.n < n) {
                    states.push(State::of(&turns::events(tx, &turn.id, 0)?));
                }
                Ok(states)
            })
            .await?;
        Ok(states.iter().map(messages_of).collect())
    }

    /// How many of the earlier turns must be left out so that the rest fits the window of a model (`provider:model`), with room
    /// for its answer.
    pub(crate) fn cut(
        &self,
        model: &str,
        agent: &AgentVersion,
        tools: &[ToolSpec],
        earlier: &[Vec<Message>],
        current: &[Message],
        at_least: u32,
    ) -> u32 {
        let (provider, name) = model.split_once(':').unwrap_or((model, ""));
        let window = self.models.window(provider, name).unwrap_or(self.settings.window_tokens);
        let answer = agent.params.max_tokens.unwrap_or(4096).min(window / 2);
        let fixed = estimate_fixed(agent.system_prompt.as_deref(), tools);
        let room = window.saturating_sub(answer).saturating_sub(fixed);
        let sizes: Vec<u64> = earlier.iter().map(|turn| estimate(turn)).collect();
        cut(&sizes, estimate(current), room, at_least)
    }
}

/// The tools of an agent as the model is told of them.
pub(crate) fn tool_specs(instance: &Instance) -> Vec<ToolSpec> {
    let spec = |facts: &tools::Facts| ToolSpec {
        name: facts.name().to_owned(),
        description: facts.description().to_owned(),
        schema: facts.schema().clone(),
    };
    instance.facts().map(spec).collect()
}

/// The messages of a finished or running turn.
pub(crate) fn messages_of(state: &State) -> Vec<Message> {
    let mut messages = vec![Message::User { text: state.text.clone() }];
    for step in &state.steps {
        let Some(blocks) = &step.blocks else { continue };
        if !blocks.is_empty() {
            messages.push(Message::Assistant { blocks: blocks.clone() });
        }
        let calls = &state.calls[step.calls.0 as usize..step.calls.1 as usize];
        if !calls.is_empty() {
            messages.push(Message::ToolResults { results: calls.iter().map(results::for_model).collect() });
        }
    }
    // Providers want an answer between two questions.
    if let Some((_, text)) = &state.ended
        && !matches!(messages.last(), Some(Message::Assistant { .. }))
    {
        let text = if text.is_empty() {
            "(No answer was given.)".to_owned()
        } else {
            format!("(No answer was given: {text})")
        };
        messages.push(Message::Assistant { blocks: vec![Block::Text { text }] });
    }
    messages
}

/// Tokens that messages take up, estimated as a quarter of their characters; providers count exactly, and what they report
/// is what is shown.
fn estimate(messages: &[Message]) -> u64 {
    let characters: usize = messages
        .iter()
        .map(|message| match message {
            Message::User { text } => text.len(),
            Message::Assistant { blocks } => blocks
                .iter()
                .map(|block| match block {
                    Block::Text { text } | Block::Reasoning { text, .. } => text.len(),
                    Block::Call(call) => call.name.len() + call.args_text.len(),
                })
                .sum(),
            Message::ToolResults { results } => results.iter().map(|r| r.name.len() + r.content.len()).sum(),
        })
        .sum();
    (characters / 4 + messages.len() * 4) as u64
}

/// Estimated tokens of the fixed part of a request.
fn estimate_fixed(system: Option<&str>, tools: &[ToolSpec]) -> u64 {
    let tools: usize = tools.iter().map(|t| t.name.len() + t.description.len() + t.schema.to_string().len()).sum();
    ((system.map_or(0, str::len) + tools) / 4) as u64
}

/// How many of the earlier turns must be left out so that the rest fits: at least `at_least`, whole turns, oldest first.
fn cut(earlier: &[u64], current: u64, room: u64, at_least: u32) -> u32 {
    let mut total: u64 = earlier.iter().sum::<u64>() + current;
    let mut cut = 0;
    for (index, turn) in earlier.iter().enumerate() {
        if total <= room && index >= at_least as usize {
            break;
        }
        total -= turn;
        cut += 1;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn cuts_whole_turns_from_the_front() {
        assert_eq!(cut(&[10, 10, 10], 10, 40, 0), 0);
        assert_eq!(cut(&[10, 10, 10], 10, 39, 0), 1);
        assert_eq!(cut(&[10, 10, 10], 10, 10, 0), 3);
        assert_eq!(cut(&[10, 10, 10], 50, 10, 0), 3, "a turn that is too long by itself is asked all the same");
        assert_eq!(cut(&[10, 10, 10], 10, 1000, 2), 2, "a provider that said too long gets less");
        assert_eq!(cut(&[], 10, 5, 3), 0);
    }
}
