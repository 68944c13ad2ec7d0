//! The palette: every place and action by its name, found by a few letters.

use super::Done;
use crate::action::{ACTIONS, Action, Context, Info};
use crate::event::{Input, What};
use crate::keymap::Key;
use crate::state::State;
use crate::view::View;
use crate::widgets::{Line as LineInput, popup};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

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
        let pattern = Pattern::parse(&query, CaseMatching::Ignore, Normalization::Smart);
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

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>) -> Done {
        match action {
            Some(Action::LayerUp) => self.selected = self.selected.saturating_sub(1),
            Some(Action::LayerDown) => self.selected = (self.selected + 1).min(self.found().len().saturating_sub(1)),
            Some(Action::LayerClose) => return Done::Close,
            Some(Action::LayerEnter) => {
                return self.found().get(self.selected).map_or(Done::Stay, |info| Done::Act(info.action));
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
        let found = self.found();
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
            .map(|(index, info)| {
                let style = if index == self.selected { state.theme.selected } else { state.theme.text };
                let title = text::pad(info.about.trim_end_matches('.'), title);
                let keys = state.keymap.keys(info.action).first().map(Key::label).unwrap_or_default();
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
    fn names_of_actions_still_find_them() {
        let mut stage = Stage::new(100, 30);
        stage.keys("ctrl-p").typed("go-audit").keys("enter");
        assert!(stage.shows("›Audit"), "{:#?}", stage.screen());
    }
}
