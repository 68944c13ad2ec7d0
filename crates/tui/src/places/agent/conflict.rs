//! Somebody else saved first: for each field that both changed, mine, theirs and what it was.

use super::fields;
use crate::action::Action;
use crate::form::Form;
use crate::theme::Theme;
use crate::widgets::rows as rows_that_fit;
use crate::words::count;
use contract::ops::agents::AgentItem;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::Value;
use text::Safe;

/// From this width on the three stand side by side.
const WIDE: u16 = 60;

#[derive(Debug, PartialEq)]
struct Row {
    key: String,
    label: String,
    base: Value,
    mine: Value,
    theirs: Value,
    /// Whether mine is taken; none = not decided yet.
    mine_taken: Option<bool>,
}

/// The open conflict.
#[derive(Debug)]
pub(super) struct Conflict {
    rows: Vec<Row>,
    at: usize,
    /// What they stored.
    pub theirs: Box<AgentItem>,
}

impl Conflict {
    /// Compares the form with what is stored now.
    pub fn new(form: &Form, theirs: Box<AgentItem>) -> Self {
        let rows = fields::values(&theirs)
            .into_iter()
            .filter_map(|(key, theirs)| {
                let field = form.field(key)?;
                let base = field.base.clone().unwrap_or_default();
                let mine = field.value.clone().unwrap_or_default();
                let both = field.is_changed() && theirs != base && theirs != mine;
                both.then(|| Row { key: key.into(), label: field.label.clone(), base, mine, theirs, mine_taken: None })
            })
            .collect();
        Self { rows, at: 0, theirs }
    }

    /// Whether nothing must be decided: they changed other fields.
    pub fn is_none(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether everything is decided.
    pub fn is_decided(&self) -> bool {
        self.rows.iter().all(|row| row.mine_taken.is_some())
    }

    /// Puts what was decided into the form: their values are the base, mine stay as changes.
    pub fn settle(&self, form: &mut Form) {
        for (key, theirs) in fields::values(&self.theirs) {
            form.set_base(key, Some(theirs.clone()));
            if self.rows.iter().any(|row| row.key == key && row.mine_taken == Some(false)) {
                form.set(key, theirs);
            }
        }
    }

    /// Takes an action. False: it means nothing here.
    pub fn act(&mut self, action: Action) -> bool {
        let count = self.rows.len().max(1);
        match action {
            Action::NextField => self.at = (self.at + 1) % count,
            Action::PreviousField => self.at = (self.at + count - 1) % count,
            Action::TakeMine | Action::TakeTheirs => {
                if let Some(row) = self.rows.get_mut(self.at) {
                    row.mine_taken = Some(action == Action::TakeMine);
                }
                let open = |row: &Row| row.mine_taken.is_none();
                self.at = self.rows.iter().position(open).unwrap_or(self.at);
            }
            _ => return false,
        }
        true
    }

    /// Draws the fields, and the three versions of the one in hand.
    pub fn draw(&self, theme: &Theme, keys: &str, area: Rect, frame: &mut Frame<'_>) {
        let rows = (self.rows.len() as u16).min(area.height / 3).max(1);
        let [head, list, rest] =
            Layout::vertical([Constraint::Length(2), Constraint::Length(rows), Constraint::Min(0)]).areas(area);
        let version = self.theirs.version.map_or_else(|| "–".into(), |version| version.to_string());
        let said = format!("Somebody saved version {version} meanwhile. {keys}");
        frame.render_widget(Paragraph::new(said).style(theme.warn).wrap(Wrap { trim: true }), head);
        let first = (self.at + 1).saturating_sub(usize::from(rows));
        let lines: Vec<Line<'_>> = self
            .rows
            .iter()
            .enumerate()
            .skip(first)
            .take(rows.into())
            .map(|(index, row)| {
                let here = index == self.at;
                let taken = match row.mine_taken {
                    None => "? not decided",
                    Some(true) => "✓ mine",
                    Some(false) => "✓ theirs",
                };
                let style = if here { theme.selected } else { theme.text };
                Line::from(vec![
                    Span::styled(format!("{} {:<16}", if here { "›" } else { " " }, row.label), style),
                    Span::styled(format!(" {taken}"), if row.mine_taken.is_none() { theme.warn } else { theme.good }),
                ])
            })
            .collect();
        rows_that_fit(frame, list, lines);
        let Some(row) = self.rows.get(self.at) else { return };
        let parts: [Rect; 3] = if rest.width >= WIDE {
            Layout::horizontal([Constraint::Fill(1); 3]).spacing(1).areas(rest)
        } else {
            Layout::vertical([Constraint::Fill(1); 3]).areas(rest)
        };
        // Long texts differ somewhere: each is shown from the first line in which they do.
        let skip = same_lines([&row.mine, &row.theirs, &row.base]);
        for (part, (title, value)) in
            parts.into_iter().zip([("mine", &row.mine), ("theirs", &row.theirs), ("before", &row.base)])
        {
            let mut lines = vec![Line::styled(title, theme.strong)];
            if skip > 0 {
                lines.push(Line::styled(format!("… {} alike", count(skip, "line", "lines")), theme.dim));
            }
            lines.extend(words(value).split('\n').skip(skip).map(|line| Line::raw(Safe::clean(line).to_string())));
            frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), part);
        }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "– (none)".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn same_lines(values: [&Value; 3]) -> usize {
    let [one, two, three] = values.map(words);
    one.split('\n').zip(two.split('\n')).zip(three.split('\n')).take_while(|((a, b), c)| a == b && b == c).count()
}
