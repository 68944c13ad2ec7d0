//! The choices of a field: a list on top of the form, narrowed by a few letters.

use super::field::{Field, shown};
use crate::action::Action;
use crate::event::{Input, What};
use crate::theme::Theme;
use crate::widgets::{Line as LineInput, popup, rows as fitting_rows};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use serde_json::Value;
use std::collections::BTreeMap;
use text::Safe;

/// The open choices.
#[derive(Debug)]
pub(super) struct Choices {
    title: String,
    options: Vec<Value>,
    /// Words behind them.
    notes: BTreeMap<String, String>,
    filter: LineInput,
    found: Vec<usize>,
    selected: usize,
    /// Whether other text is taken too.
    free: bool,
    /// Whether they are put in and taken out, rather than one taken.
    many: bool,
}

/// What came of an input.
pub(super) enum Outcome {
    /// Nothing yet.
    Open,
    /// They are gone.
    Close,
    /// This one.
    Take(Value),
    /// Put this one in, or take it out.
    Toggle(Value),
}

impl Choices {
    pub fn new(field: &Field, options: Vec<Value>, free: bool, many: bool) -> Self {
        let current = field.text();
        let selected = options.iter().position(|option| shown(Some(option)) == current).unwrap_or(0);
        let found = (0..options.len()).collect();
        Self {
            title: field.label.clone(),
            options,
            notes: field.notes.clone(),
            filter: LineInput::default(),
            found,
            selected,
            free,
            many,
        }
    }

    pub fn act(&mut self, action: Action) -> Outcome {
        match action {
            Action::LayerUp => self.selected = self.selected.saturating_sub(1),
            Action::LayerDown => self.selected = (self.selected + 1).min(self.found.len().saturating_sub(1)),
            Action::LayerClose => return Outcome::Close,
            Action::LayerEnter => {
                let option = self.found.get(self.selected).and_then(|index| self.options.get(*index)).cloned();
                let own =
                    (self.free && !self.filter.text().is_empty()).then(|| Value::String(self.filter.text().into()));
                return match option.or(own) {
                    Some(value) if self.many => Outcome::Toggle(value),
                    Some(value) => Outcome::Take(value),
                    None => Outcome::Open,
                };
            }
            _ => {}
        }
        Outcome::Open
    }

    pub fn input(&mut self, input: &Input) {
        let changed = match &input.what {
            What::Key(key) => self.filter.key(key),
            What::Paste(text) => self.filter.paste(text),
            _ => false,
        };
        if changed {
            self.selected = 0;
            self.narrow();
        }
    }

    fn narrow(&mut self) {
        let pattern = Pattern::parse(self.filter.text(), CaseMatching::Ignore, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut found: Vec<(u32, usize)> = self
            .options
            .iter()
            .enumerate()
            .filter_map(|(index, option)| {
                let name = shown(Some(option));
                Some((pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?, index))
            })
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        self.found = found.into_iter().map(|(_, index)| index).collect();
    }

    /// Draws them; `within` says whether an option is in the field already.
    pub fn draw(
        &self,
        theme: &Theme,
        area: Rect,
        frame: &mut Frame<'_>,
        within: impl Fn(&Value) -> bool,
    ) -> Option<Position> {
        let inner = popup(frame, area, &self.title, (60, 16), theme.border);
        let [top, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        let cursor = self.filter.draw(frame, top, "› ", theme.text);
        let rows = usize::from(rest.height);
        let first = (self.selected + 1).saturating_sub(rows);
        let mut lines: Vec<Line<'_>> = (first..self.found.len())
            .take(rows)
            .filter_map(|at| {
                let option = self.options.get(*self.found.get(at)?)?;
                let here = if at == self.selected { "›" } else { " " };
                let mark = if within(option) { "✓" } else { " " };
                let style = if at == self.selected { theme.selected } else { theme.text };
                let name = shown(Some(option));
                let note = self.notes.get(&name).map(|note| format!("  {}", Safe::clean(note)));
                Some(Line::from(vec![
                    Span::styled(format!("{here}{mark} {}", Safe::clean(&name)), style),
                    Span::styled(note.unwrap_or_default(), theme.dim),
                ]))
            })
            .collect();
        if lines.is_empty() {
            let said = if self.free { "None of them; Enter takes what is written." } else { "There is none." };
            lines.push(Line::styled(said, theme.dim));
        }
        fitting_rows(frame, rest, lines);
        cursor
    }
}
