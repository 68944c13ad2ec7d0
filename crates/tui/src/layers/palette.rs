//! The palette: every place and action by its name, found by a few letters.

use super::{Ctx, Done};
use crate::action::{ACTIONS, Action, Context, Info};
use crate::event::{Input, What};
use crate::keymap::Key;
use crate::places::Go;
use crate::state::State;
use crate::view::View;
use crate::widgets::{Line as LineInput, popup};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use text::Safe;

/// Columns for a key.
const KEY: usize = 9;

/// The palette layer.
pub struct Palette {
    contexts: Vec<Context>,
    query: LineInput,
    selected: usize,
}

impl Palette {
    /// A palette over the actions of these contexts.
    pub fn new(mut contexts: Vec<Context>) -> Self {
        if !contexts.contains(&Context::Global) {
            contexts.push(Context::Global);
        }
        Self { contexts, query: LineInput::default(), selected: 0 }
    }

    /// What fits, the most useful first: what can be done here, then places, then what works everywhere. What only moves
    /// something is found by its words alone.
    fn found(&self) -> Vec<&'static Info> {
        let query = self.query.text().trim_start_matches(':').to_owned();
        // Words as they are: letters that only stand scattered in a sentence would bring what nobody means.
        let pattern = Pattern::new(&query, CaseMatching::Ignore, Normalization::Smart, AtomKind::Substring);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut found: Vec<_> = ACTIONS
            .iter()
            .filter(|info| self.contexts.contains(&info.context) && info.action != Action::Palette)
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

    /// The place of an agent, typed as `agent NAME` or `agent NAME chat`.
    fn typed(&self) -> Option<(String, Go)> {
        let words: Vec<&str> = self.query.text().trim_start_matches(':').split_whitespace().collect();
        match words[..] {
            ["agent", name] => Some((format!("Open agent {name}"), Go::Agent(Some(name.into())))),
            ["agent", name, "chat"] | ["chat", name] => {
                Some((format!("Chat with {name}"), Go::Chat { agent: name.into(), session: None }))
            }
            _ => None,
        }
    }

    /// The rows in words with their actions; what was typed as a place comes first, without one.
    fn rows(&self) -> Vec<(Safe<'static>, Option<&'static Info>)> {
        let typed = self.typed().map(|(title, _)| (Safe::clean(&title).into_owned(), None));
        let found = self.found().into_iter().map(|info| (Safe::clean(info.about.trim_end_matches('.')), Some(info)));
        typed.into_iter().chain(found).collect()
    }

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) -> Done {
        match action {
            Some(Action::LayerUp) => self.selected = self.selected.saturating_sub(1),
            Some(Action::LayerDown) => self.selected = (self.selected + 1).min(self.rows().len().saturating_sub(1)),
            Some(Action::LayerClose) => return Done::Close,
            Some(Action::LayerEnter) => {
                return match self.rows().get(self.selected) {
                    Some((_, Some(info))) => Done::Act(info.action),
                    Some((_, None)) => {
                        *ctx.go = self.typed().map(|(_, go)| go);
                        Done::Close
                    }
                    None => Done::Stay,
                };
            }
            _ => {
                let changed = match &input.what {
                    What::Key(key) => self.query.key(key),
                    What::Paste(text) => self.query.paste(text),
                    _ => false,
                };
                if changed {
                    self.selected = 0;
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
            .map(|(index, (title_of, info))| {
                let style = if index == self.selected { state.theme.selected } else { state.theme.text };
                let title = text::pad(title_of.as_str(), title);
                let keys = info.and_then(|info| state.keymap.keys(info.action).first().map(Key::label));
                let keys = keys.unwrap_or_default();
                Line::from(vec![
                    Span::styled(if index == self.selected { "›" } else { " " }, style),
                    Span::styled(title, style),
                    Span::styled(format!(" {keys}"), state.theme.accent),
                ])
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), rest);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Stage;

    #[test]
    fn it_begins_with_what_can_be_done_here_in_words_and_leaves_motion_out() {
        let mut stage = Stage::new(100, 40);
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
