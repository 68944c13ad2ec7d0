//! The first screen: what the program is, the demo world, and models that could be used at once.

use crate::action::{Action, Context, Need};
use crate::effect::{Effect, call};
use crate::event::{Event, Input};
use crate::places::{self, Go};
use crate::state::{Ctx, Newcomer, State};
use crate::{FoundModel, Profile};
use contract::ops::agents::{AgentCreate, CreateAgent, OptionalNamePath};
use contract::wire::NoQuery;
use contract::{Code, StudioError};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::json;
use text::Safe;

/// The agent of the demo world that the first chat is with.
const FIRST_AGENT: &str = "orders-desk";

const WHAT: [&str; 2] = [
    "A workbench for LLM agents: make them, talk with them, see each step.",
    "What an agent wants to change waits until you approved just that call.",
];

/// The place.
#[derive(Default)]
pub struct Place {
    /// Models found; none while they are looked for.
    found: Option<Vec<FoundModel>>,
    selected: usize,
    /// What is being done, so that a second key does not do it again.
    busy: Option<&'static str>,
}

/// A message.
pub enum Msg {
    /// Models found.
    Found(Vec<FoundModel>),
    /// The demo world was made, or not.
    Made(contract::Result<(String, client::Client, Profile)>),
    /// An agent of this name was made, or not.
    Created(String, contract::Result<()>),
}

impl std::fmt::Debug for Msg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Msg::Found(found) => f.debug_tuple("Found").field(found).finish(),
            Msg::Made(made) => f.debug_tuple("Made").field(&made.as_ref().map(|(said, ..)| said)).finish(),
            Msg::Created(name, made) => f.debug_tuple("Created").field(name).field(made).finish(),
        }
    }
}

/// What drawing keeps.
#[derive(Default)]
pub struct View {}

fn event(msg: Msg) -> Event {
    Event::Place(places::Msg::Welcome(msg))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        vec![Context::Welcome]
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Model => self.busy.is_none() && self.found.as_ref().is_some_and(|found| !found.is_empty()),
            _ => true,
        }
    }

    /// Nothing is typed here.
    pub fn wants_text(&self) -> bool {
        false
    }

    /// Looks for models.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.found = None;
        ctx.effects.push(Effect::Host {
            run: Box::new(|host| Box::pin(async move { event(Msg::Found(host.find_models().await)) })),
        });
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        let len = self.found.as_ref().map_or(0, Vec::len);
        match action {
            Action::ModelUp => self.selected = self.selected.saturating_sub(1),
            Action::ModelDown => self.selected = (self.selected + 1).min(len.saturating_sub(1)),
            Action::LookAgain => self.enter(ctx),
            Action::MakeDemo if self.busy.is_none() => {
                self.busy = Some("Making the demo world…");
                ctx.effects.push(Effect::Host {
                    run: Box::new(|host| Box::pin(async move { event(Msg::Made(host.make_demo().await)) })),
                });
            }
            Action::UseModel if self.busy.is_none() => self.use_model(ctx),
            _ => {}
        }
    }

    fn use_model(&mut self, ctx: &mut Ctx<'_>) {
        let Some(model) = self.found.as_ref().and_then(|found| found.get(self.selected)) else { return };
        self.busy = Some("Making an agent…");
        let name = agent_name(&model.llm);
        let body = AgentCreate {
            name: Some(json!(name)),
            llm: Some(model.llm.clone()),
            description: Some(format!("Talks with {}.", model.llm)),
            ..AgentCreate::default()
        };
        ctx.effects.push(call::<CreateAgent>(OptionalNamePath::default(), NoQuery, body, move |reply| {
            event(match reply {
                Ok(made) => Msg::Created(made.0.name, Ok(())),
                Err(error) => Msg::Created(name, Err(error)),
            })
        }));
    }

    /// Takes an input that means no action.
    pub fn input(&mut self, _: &Input, _: &mut Ctx<'_>) {}

    /// Nothing moves by itself.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Found(found) => {
                self.selected = self.selected.min(found.len().saturating_sub(1));
                self.found = Some(found);
            }
            Msg::Made(Ok((said, client, profile))) => {
                *ctx.newcomer = Some(Newcomer { client, profile });
                ctx.tell(said);
                ctx.tell("Try: cancel order 1007. The call waits for your approval.");
                *ctx.go = Some(Go::Chat { agent: FIRST_AGENT.into(), session: None });
            }
            Msg::Made(Err(error)) => self.failed(&error, ctx),
            Msg::Created(name, Ok(())) => {
                ctx.effects.push(places::agents::made(&name));
                self.busy = None;
                ctx.tell(format!("The agent {name} is made. Say something to it."));
                *ctx.go = Some(Go::Chat { agent: name, session: None });
            }
            // It is from an earlier visit.
            Msg::Created(name, Err(error)) if error.code == Code::NameTaken => {
                self.busy = None;
                *ctx.go = Some(Go::Chat { agent: name, session: None });
            }
            Msg::Created(_, Err(error)) => self.failed(&error, ctx),
        }
    }

    fn failed(&mut self, error: &StudioError, ctx: &mut Ctx<'_>) {
        self.busy = None;
        ctx.complain(&error.message);
    }

    /// Draws the place.
    pub fn draw(&self, state: &State, _: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let hint = |action| state.keymap.hint(action);
        let mut lines = vec![Line::styled("astudio", theme.strong), Line::default()];
        lines.extend(WHAT.iter().map(|line| Line::raw(*line)));
        if state.profile.is_server() {
            lines.extend(on_server(state));
            frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner(area));
            return;
        }
        lines.push(Line::raw("All stays on this machine; only the model you choose hears you."));
        lines.push(Line::default());
        lines.push(Line::from(vec![
            Span::styled(format!("{:<6}", hint(Action::MakeDemo)), theme.accent),
            Span::raw("Make the demo world: a shop with people, agents and orders."),
        ]));
        lines.push(Line::styled("      It needs no key, no network and no model.", theme.dim));
        lines.push(Line::default());
        match &self.found {
            None => lines.push(Line::styled("Looking for models on this machine…", theme.dim)),
            Some(found) if found.is_empty() => lines.extend(nothing_found(state)),
            Some(found) => {
                lines.push(Line::from(vec![
                    Span::styled(format!("{:<6}", hint(Action::UseModel)), theme.accent),
                    Span::raw("Make an agent on a model found here, and chat with it:"),
                ]));
                // As many as there is room for, with the selected one among them.
                let rows = (area.height as usize).saturating_sub(lines.len() + 1).max(1);
                let first = (self.selected + 1).saturating_sub(rows);
                for (index, model) in found.iter().enumerate().skip(first).take(rows) {
                    let here = index == self.selected;
                    let mark = if here { "›" } else { " " };
                    let llm = Safe::clean(&model.llm).pad(36);
                    lines.push(Line::from(vec![
                        Span::styled(format!("    {mark} {llm}"), if here { theme.selected } else { theme.text }),
                        Span::styled(format!(" {}", Safe::clean(&model.how)), theme.dim),
                    ]));
                }
            }
        }
        if let Some(busy) = self.busy {
            lines.push(Line::default());
            lines.push(Line::styled(busy, theme.warn));
        }
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner(area));
    }
}

fn inner(area: Rect) -> Rect {
    Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(1), ..area }
}

/// Agents run on the server: what is found on this machine is of no use to them, and the demo world is not made there.
fn on_server(state: &State) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let hint = |action| state.keymap.hint(action);
    vec![
        Line::raw("All stays on the server; only the models of its agents hear you."),
        Line::default(),
        Line::raw(format!("You work on {}. What you can do there:", Safe::clean(&state.profile.engine))),
        Line::styled(
            format!("- {} goes to its agents, and {} makes one there", hint(Action::GoAgents), hint(Action::NewAgent)),
            theme.dim,
        ),
        Line::styled(format!("- {} goes to the provider keys that you keep on it", hint(Action::GoKeys)), theme.dim),
    ]
}

fn nothing_found(state: &State) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let keys = state.keymap.hint(Action::GoKeys);
    let again = state.keymap.hint(Action::LookAgain);
    vec![
        Line::raw("No model was found on this machine. To have one:"),
        Line::styled("- start Ollama, LM Studio, llama.cpp or vLLM on its usual port", theme.dim),
        Line::styled("- set a provider's variable first, such as ANTHROPIC_API_KEY", theme.dim),
        Line::styled(format!("- store a provider key: {keys} goes to the keys"), theme.dim),
        Line::styled("- put another server into config.toml, under [providers.NAME]", theme.dim),
        Line::styled(format!("{again} looks again."), theme.dim),
    ]
}

/// The name of the agent on a model: `ollama:qwen3:8b` becomes `ollama-qwen3-8b`.
fn agent_name(llm: &str) -> String {
    let mut name = String::new();
    for c in llm.chars().take(60) {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Stage;

    fn stage(found: &[(&str, &str)]) -> Stage {
        let mut stage = Stage::new(100, 30);
        stage.keys("alt-0");
        let found = found.iter().map(|(llm, how)| FoundModel { llm: (*llm).into(), how: (*how).into() }).collect();
        stage.event(event(Msg::Found(found)));
        stage
    }

    fn hosts(stage: &Stage) -> usize {
        stage.effects.iter().filter(|effect| matches!(effect, Effect::Host { .. })).count()
    }

    #[test]
    fn it_says_what_it_is_and_what_to_do() {
        let mut stage = Stage::new(100, 30);
        stage.keys("alt-0");
        assert!(stage.shows("A workbench for LLM agents") && stage.shows("Looking for models"));
        stage.event(event(Msg::Found(Vec::new())));
        assert!(
            stage.shows("No model was found") && stage.shows("ANTHROPIC_API_KEY") && stage.shows("[providers.NAME]")
        );
        assert!(stage.shows("d demo world"), "{:#?}", stage.screen());
    }

    #[test]
    fn on_a_server_it_promises_nothing_of_this_machine() {
        let mut stage = stage(&[]);
        stage.state.profile.engine = "studio.example:8080".into();
        stage.event(event(Msg::Found(Vec::new())));
        assert!(stage.shows("All stays on the server") && stage.shows("You work on studio.example:8080"));
        assert!(!stage.shows("this machine") && !stage.shows("demo world"), "{:#?}", stage.screen());
    }

    #[test]
    fn the_demo_world_is_made_once() {
        let mut stage = stage(&[]);
        let before = hosts(&stage);
        stage.keys("d d");
        assert_eq!(hosts(&stage), before + 1);
        assert!(stage.shows("Making the demo world"));
        let error = StudioError::new(Code::StudioStorageUnavailable, 503, "The disk is full.");
        stage.event(event(Msg::Made(Err(error))));
        assert!(stage.shows("The disk is full.") && !stage.shows("Making the demo"));
        stage.keys("d");
        assert_eq!(hosts(&stage), before + 2);
    }

    #[test]
    fn an_agent_is_made_on_the_selected_model_and_the_chat_opened() {
        let mut stage =
            stage(&[("anthropic:m", "ANTHROPIC_API_KEY"), ("ollama:qwen3:8b", "Ollama at 127.0.0.1:11434")]);
        assert!(stage.shows("anthropic:m") && stage.shows("ANTHROPIC_API_KEY"));
        stage.keys("down enter enter");
        assert_eq!(stage.called("agents.create"), 1);
        stage.event(event(Msg::Created("ollama-qwen3-8b".into(), Ok(()))));
        assert_eq!(stage.state.place, places::PlaceId::Chat);
    }

    #[test]
    fn an_agent_from_an_earlier_visit_is_used_again() {
        let mut stage = stage(&[("anthropic:m", "X")]);
        stage.keys("enter");
        let taken = StudioError::new(Code::NameTaken, 409, "There is an agent of this name.");
        stage.event(event(Msg::Created("anthropic-m".into(), Err(taken))));
        assert_eq!(stage.state.place, places::PlaceId::Chat);
    }

    #[test]
    fn agents_are_named_after_their_model() {
        for (llm, name) in
            [("ollama:qwen3:8b", "ollama-qwen3-8b"), ("groq:openai/gpt-oss", "groq-openai-gpt-oss"), ("x:Ä.", "x")]
        {
            assert_eq!(agent_name(llm), name);
        }
    }

    #[test]
    fn it_can_be_drawn_at_any_size() {
        let mut stage = stage(&[("a:b", "c"); 40]);
        stage.keys("down down down");
        for (width, height) in [(1, 1), (20, 5), (30, 9), (60, 16), (200, 60)] {
            stage.resize(width, height);
        }
    }
}
