//! The palette: every place and action by its name, found by a few letters.

use super::Done;
use crate::action::{ACTIONS, Action, Context, Info};
use crate::event::{Input, What};
use crate::state::State;
use crate::view::View;
use crate::widgets::{Line as LineInput, popup};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

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

    fn found(&self) -> Vec<&'static Info> {
        let query = self.query.text().trim_start_matches(':').to_owned();
        let pattern = Pattern::parse(&query, CaseMatching::Ignore, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut found: Vec<(u32, &Info)> = ACTIONS
            .iter()
            .filter(|info| self.contexts.contains(&info.context) && info.action != Action::Palette)
            .filter_map(|info| {
                let name = format!("{} {}", info.id, info.about);
                let score = pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?;
                Some((score, info))
            })
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
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
        let inner = popup(frame, area, "Palette", (76, 20), state.theme.border);
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
        let first = self.selected.saturating_sub(rows.saturating_sub(1));
        let lines: Vec<Line<'_>> = found
            .iter()
            .enumerate()
            .skip(first)
            .take(rows)
            .map(|(index, info)| {
                let style = if index == self.selected { state.theme.selected } else { state.theme.text };
                Line::from(vec![
                    Span::styled(format!("{:<18}", info.id), style),
                    Span::styled(format!(" {:<9}", state.keymap.hint(info.action)), state.theme.accent),
                    Span::styled(info.about, state.theme.dim),
                ])
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), rest);
    }
}
