//! The palette: every place and action by its name, found by a few letters; agents by theirs.

mod names;

pub use names::Found;

use super::{Ctx, Done};
use crate::action::{Action, Context, Info, Need};
use crate::event::{Input, What};
use crate::keymap::Key;
use crate::places::Go;
use crate::state::State;
use crate::view::View;
use crate::widgets::{Line as LineInput, popup, rows as fitting_rows};
use contract::StudioError;
use crossterm::event::KeyCode;
use names::Names;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use text::Safe;

/// Columns for a key.
const KEY: usize = 9;

/// What is done with an agent that is typed by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum With {
    Open,
    Chat,
}

impl With {
    fn title(self, name: &str) -> String {
        match self {
            With::Open => format!("Open agent {name}"),
            With::Chat => format!("Chat with {name}"),
        }
    }

    fn go(self, name: String) -> Go {
        match self {
            With::Open => Go::Agent(Some(name)),
            With::Chat => Go::Chat { agent: name, session: None },
        }
    }
}

/// One row.
enum Row {
    /// Something to read.
    Said(String),
    /// An agent.
    Agent(With, String),
    /// An action.
    Act(&'static Info),
}

/// The palette layer.
pub struct Palette {
    contexts: Vec<Context>,
    offered: Vec<&'static Info>,
    query: LineInput,
    selected: usize,
    /// What is known of names, for which word.
    names: Option<(String, Result<Names, StudioError>)>,
    /// The word that is being asked for.
    asked: Option<String>,
    /// Whether Enter was pressed before the answer for the word was there.
    entered: bool,
}

impl Palette {
    /// A palette over these actions of these contexts.
    pub fn new(contexts: Vec<Context>, offered: Vec<&'static Info>) -> Self {
        Self { contexts, offered, query: LineInput::default(), selected: 0, names: None, asked: None, entered: false }
    }

    /// What fits, the most useful first: what can be done here, then places, then what works everywhere. What only moves
    /// something is found by its words alone.
    fn found(&self) -> Vec<&'static Info> {
        let query = self.query.text().trim_start_matches(':').to_owned();
        // Words as they are: letters that only stand scattered in a sentence would bring what nobody means.
        let pattern = Pattern::new(&query, CaseMatching::Ignore, Normalization::Smart, AtomKind::Substring);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut found: Vec<_> = self
            .offered
            .iter()
            .copied()
            .filter(|info| info.action != Action::Palette)
            .filter(|info| !(query.trim().is_empty() && info.action.moves()))
            .filter_map(|info| {
                let name = format!("{} {}", info.id, info.about);
                let score = pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?;
                let rank = match info.context {
                    _ if info.action.moves() => 3,
                    _ if info.action.goes() => 1,
                    Context::Global => 2,
                    _ => 0,
                };
                let context = self.contexts.iter().position(|context| *context == info.context);
                Some(((std::cmp::Reverse(score), rank, context), info))
            })
            .collect();
        found.sort_by_key(|(order, _)| *order);
        found.into_iter().map(|(_, info)| info).collect()
    }

    /// Whether there is what an action needs.
    pub(super) fn has(&self, need: Need) -> bool {
        need != Need::Choice || matches!(self.rows().get(self.selected), Some(Row::Agent(..) | Row::Act(_)))
    }

    /// The name typed in `agent NAME`, `agent NAME chat` or `chat NAME`, and what is meant with it.
    fn typed(&self) -> Option<(With, &str)> {
        let text = self.query.text().trim_start_matches(':');
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["agent"] if text.ends_with(' ') => Some((With::Open, "")),
            ["chat"] if text.ends_with(' ') => Some((With::Chat, "")),
            ["agent", name] => Some((With::Open, name)),
            ["agent", name, "chat"] | ["chat", name] => Some((With::Chat, name)),
            _ => None,
        }
    }

    /// The rows; what was typed as the name of an agent comes first.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some((with, word)) = self.typed() {
            match self.names.as_ref().filter(|(known, _)| known == word) {
                None => rows.push(Row::Said("Looking for agents …".into())),
                Some((_, Err(error))) => rows.push(Row::Said(error.message.clone())),
                Some((_, Ok(names))) if names.fitting.is_empty() => rows.push(Row::Said(match &names.near[..] {
                    [] => "No such agent.".into(),
                    near => format!("No such agent; nearest: {}.", near.join(", ")),
                })),
                Some((_, Ok(names))) => rows.extend(names.fitting.iter().map(|name| Row::Agent(with, name.clone()))),
            }
        }
        rows.extend(self.found().into_iter().map(Row::Act));
        rows
    }

    /// Asks for what is typed, one name at a time.
    fn ask(&mut self, ctx: &mut Ctx<'_>) {
        let Some((_, word)) = self.typed().filter(|_| self.asked.is_none()) else { return };
        if self.names.as_ref().is_none_or(|(known, reply)| known != word || reply.is_err()) {
            let word = word.to_owned();
            self.asked = Some(word.clone());
            ctx.effects.push(names::look(word));
        }
    }

    /// Takes the names for a word. Says whether the palette is done.
    pub(super) fn take(&mut self, found: Found, ctx: &mut Ctx<'_>) -> bool {
        self.asked = None;
        let current = self.typed().filter(|(_, word)| *word == found.word).map(|(with, _)| with);
        if let (Some(with), true, Ok(names)) = (current, self.entered, &found.reply) {
            // Nobody has seen these rows yet: only the very name, or the one that can be meant.
            let meant = names.fitting.first().filter(|name| **name == found.word || names.fitting.len() == 1);
            if let Some(name) = meant {
                *ctx.go = Some(with.go(name.clone()));
                return true;
            }
        }
        self.entered &= current.is_none();
        self.names = Some((found.word, found.reply));
        if current.is_none() {
            self.ask(ctx);
        }
        false
    }

    fn enter(&mut self, ctx: &mut Ctx<'_>) -> Done {
        match self.rows().into_iter().nth(self.selected) {
            Some(Row::Act(info)) => Done::Act(info.action),
            Some(Row::Agent(with, name)) => {
                *ctx.go = Some(with.go(name));
                Done::Close
            }
            Some(Row::Said(_)) => {
                self.entered = self.asked.is_some();
                Done::Stay
            }
            None => Done::Stay,
        }
    }

    /// Writes the selected agent's name out.
    fn complete(&mut self) {
        if let Some(Row::Agent(with, name)) = self.rows().into_iter().nth(self.selected) {
            self.query = LineInput::new(match with {
                With::Open => format!("agent {name}"),
                With::Chat => format!("chat {name}"),
            });
        }
    }

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) -> Done {
        match action {
            Some(Action::LayerUp) => self.selected = self.selected.saturating_sub(1),
            Some(Action::LayerDown) => self.selected = (self.selected + 1).min(self.rows().len().saturating_sub(1)),
            Some(Action::LayerClose) => return Done::Close,
            Some(Action::LayerEnter) => return self.enter(ctx),
            _ => {
                let changed = match &input.what {
                    What::Key(key) if key.code == KeyCode::Tab => {
                        self.complete();
                        true
                    }
                    What::Key(key) => self.query.key(key),
                    What::Paste(text) => self.query.paste(text),
                    _ => false,
                };
                if changed {
                    self.selected = 0;
                    self.entered = false;
                    self.ask(ctx);
                }
            }
        }
        Done::Stay
    }

    pub(super) fn draw(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let found = self.rows();
        let inner = popup(frame, area, "Palette", (76, 28), state.theme.border);
        if inner.height < 2 {
            return;
        }
        let [top, rest] = ratatui::layout::Layout::vertical([
            ratatui::layout::Constraint::Length(1),
            ratatui::layout::Constraint::Min(0),
        ])
        .areas(inner);
        view.cursor = self.query.draw(frame, top, "› ", state.theme.text);
        let rows = rest.height as usize;
        let title = (rest.width as usize).saturating_sub(KEY + 2);
        let first = self.selected.saturating_sub(rows.saturating_sub(1));
        let lines: Vec<Line<'_>> = found
            .iter()
            .enumerate()
            .skip(first)
            .take(rows)
            .map(|(index, row)| {
                let (words, keys, plain) = match row {
                    Row::Said(said) => (said.clone(), None, state.theme.warn),
                    Row::Agent(with, name) => (with.title(name), None, state.theme.text),
                    Row::Act(info) => {
                        let keys = state.keymap.keys(info.action).first().map(Key::label);
                        (info.about.trim_end_matches('.').to_owned(), keys, state.theme.text)
                    }
                };
                let style = if index == self.selected { state.theme.selected } else { plain };
                let title = text::pad(&Safe::clean(&words), title);
                let keys = keys.unwrap_or_default();
                Line::from(vec![
                    Span::styled(if index == self.selected { "›" } else { " " }, style),
                    Span::styled(title, style),
                    Span::styled(format!(" {keys}"), state.theme.accent),
                ])
            })
            .collect();
        fitting_rows(frame, rest, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::names::{Found, Names};
    use crate::event::Event;
    use crate::layers::Msg;
    use crate::places::PlaceId;
    use crate::testing::Stage;

    fn answer(stage: &mut Stage, word: &str, fitting: &[&str], near: &[&str]) {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let reply = Ok(Names { fitting: all(fitting), near: all(near) });
        stage.event(Event::Layer(Msg::Palette(Found { word: word.to_owned(), reply })));
    }

    #[test]
    fn a_name_is_completed() {
        let mut stage = Stage::new(100, 30);
        stage.keys(":").typed("agent orders");
        answer(&mut stage, "o", &["faq-of-old", "orders-desk"], &[]);
        assert!(stage.shows("Looking for agents") && !stage.shows("faq-of-old"), "that was for another word");
        answer(&mut stage, "orders", &["orders-desk", "orders-night"], &[]);
        assert!(
            stage.shows("›Open agent orders-desk") && stage.shows("Open agent orders-night"),
            "{:#?}",
            stage.screen()
        );
        stage.keys("down enter");
        assert_eq!(stage.state.place, PlaceId::Agent);
        assert!(stage.shows("orders-night"), "{:#?}", stage.screen());
        stage.keys("ctrl-p").typed("chat or");
        answer(&mut stage, "or", &["orders-desk"], &[]);
        stage.keys("tab");
        assert!(stage.shows("› chat orders-desk"), "{:#?}", stage.screen());
    }

    #[test]
    fn an_unknown_name_opens_nothing_and_the_nearest_are_told() {
        let mut stage = Stage::new(100, 30);
        stage.keys(":").typed("agent ordrs");
        answer(&mut stage, "ordrs", &[], &["orders-desk"]);
        assert!(stage.shows("No such agent; nearest: orders-desk."), "{:#?}", stage.screen());
        stage.keys("enter");
        assert!(stage.shows("No such agent"), "it stays");
        assert_eq!(stage.state.place, PlaceId::Agents);
    }

    #[test]
    fn an_enter_before_the_answer_takes_only_what_can_be_meant() {
        let mut stage = Stage::new(100, 30);
        stage.keys(":").typed("chat orders").keys("enter");
        answer(&mut stage, "o", &[], &[]);
        answer(&mut stage, "orders", &["orders-desk", "orders-night"], &[]);
        assert_eq!(stage.state.place, PlaceId::Agents, "there are two");
        stage.typed("-desk").keys("enter");
        answer(&mut stage, "orders-desk", &["orders-desk", "orders-desk-2"], &[]);
        assert_eq!(stage.state.place, PlaceId::Chat);
    }

    #[test]
    fn it_begins_with_what_can_be_done_here_in_words_and_leaves_motion_out() {
        let mut stage = Stage::new(100, 40);
        crate::places::agents::tests::listed(&mut stage, &["orders-desk"]);
        stage.keys("ctrl-p");
        let screen = stage.screen();
        let at = |text: &str| screen.iter().position(|line| line.contains(text));
        assert!(at("›Chat with the selected agent") < at("Go to the approvals"), "{screen:#?}");
        assert!(
            at("Go to the approvals").is_some() && at("Go to the approvals") < at("Leave the workbench"),
            "{screen:#?}"
        );
        assert!(!stage.shows("One row up") && !stage.shows("go-agents"), "{screen:#?}");
        stage.typed("row up");
        assert!(stage.shows("One row up"), "{:#?}", stage.screen());
    }

    #[test]
    fn a_place_can_be_typed() {
        let mut stage = Stage::new(100, 30);
        stage.keys(":").typed("audit").keys("enter");
        assert!(stage.shows("›Audit"), "{:#?}", stage.screen());
        stage.keys(":").typed("agent orders-desk chat");
        answer(&mut stage, "orders-desk", &["orders-desk"], &[]);
        assert!(stage.shows("›Chat with orders-desk"), "{:#?}", stage.screen());
        stage.keys("enter");
        assert!(stage.shows("orders-desk · "), "{:#?}", stage.screen());
        // In a field it is a letter like any other.
        stage.typed("a:b");
        assert!(stage.shows("a:b") && !stage.shows("Palette"), "{:#?}", stage.screen());
    }

    #[test]
    fn scattered_letters_are_no_match() {
        let mut stage = Stage::new(100, 30);
        stage.keys("alt-6");
        assert!(stage.shows("›Settings"), "{:#?}", stage.screen());
        stage.keys("ctrl-p").typed("chat");
        assert!(!stage.shows("Change the selected setting"), "{:#?}", stage.screen());
        stage.keys("enter");
        assert!(stage.shows("Palette"), "nothing fits, and nothing is done");
    }

    #[test]
    fn names_of_actions_still_find_them() {
        let mut stage = Stage::new(100, 30);
        stage.keys("ctrl-p").typed("go-audit").keys("enter");
        assert!(stage.shows("›Audit"), "{:#?}", stage.screen());
    }
}
