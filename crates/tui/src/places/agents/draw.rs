//! How the list is drawn: columns that give way to the width, the rows in sight, the detail.

use super::pages::Row;
use super::{Place, Sort};
use crate::action::Action;
use crate::state::State;
use crate::widgets::rows;
use crate::words::{minute, thousands};
use contract::ops::agents::AgentItem;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};
use text::Safe;

/// From this width on the detail stands beside the list, below it under the list.
const BESIDE: u16 = 110;
/// Most of a prompt that is shown, in characters.
const EXCERPT: usize = 600;

/// What drawing keeps.
#[derive(Debug, Default)]
pub struct View {
    /// The row at the top.
    top: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Name,
    Llm,
    Category,
    Visibility,
    Owner,
    Version,
    Updated,
}

/// Columns in the order in which they are shown, with their widths and their ranks: the lowest rank stays longest.
const COLUMNS: [(Column, &str, u16, u8); 7] = [
    (Column::Name, "NAME", 16, 0),
    (Column::Llm, "LLM", 22, 1),
    (Column::Category, "CATEGORY", 12, 6),
    (Column::Visibility, "VISIBLE", 8, 2),
    (Column::Owner, "OWNER", 12, 5),
    (Column::Version, "VER", 5, 4),
    (Column::Updated, "UPDATED", 16, 3),
];

/// The columns that fit, with their widths; what is left goes to the name.
fn columns(width: u16) -> Vec<(Column, &'static str, usize)> {
    let mut ranked = COLUMNS;
    ranked.sort_by_key(|column| column.3);
    let mut taken = 0;
    let mut rank = 0;
    for (_, _, own, own_rank) in ranked {
        let more = own + u16::from(taken > 0);
        if own_rank > 0 && taken + more > width {
            break;
        }
        taken += more;
        rank = own_rank;
    }
    let rest = width.saturating_sub(taken);
    COLUMNS
        .into_iter()
        .filter(|column| column.3 <= rank)
        .map(|(column, title, own, _)| match column {
            Column::Name => (column, title, usize::from((own + rest).min(width))),
            _ => (column, title, usize::from(own)),
        })
        .collect()
}

fn cell(column: Column, row: &Row) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".into());
    match column {
        Column::Name if !row.enabled => format!("{} (off)", row.name),
        Column::Name => row.name.clone(),
        Column::Llm => text(&row.llm),
        Column::Category => text(&row.category),
        Column::Visibility => row.visibility.clone(),
        Column::Owner => text(&row.owner),
        Column::Version => row.version.map_or_else(|| "–".into(), |version| format!("v{version}")),
        Column::Updated => row.updated.map_or_else(|| "–".into(), minute),
    }
}

impl Place {
    /// Draws the list.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        if area.is_empty() {
            return;
        }
        let [head, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let (list, detail) = match &self.detail {
            None => (rest, None),
            Some(_) if rest.width >= BESIDE => {
                let [list, detail] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(rest);
                (list, Some(detail))
            }
            Some(_) if rest.height >= 8 => {
                let [list, detail] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(rest);
                (list, Some(detail))
            }
            // Too low for both: the detail is what was asked for.
            Some(_) => (Rect { height: 0, ..rest }, Some(rest)),
        };
        self.draw_list(state, &mut view.places.agents, list, frame);
        if let Some(detail) = detail {
            self.draw_detail(state, detail, list.width < rest.width, frame);
        }
        view.cursor = self.draw_head(state, head, frame).or(view.cursor);
    }

    fn draw_head(&self, state: &State, area: Rect, frame: &mut Frame<'_>) -> Option<ratatui::layout::Position> {
        let theme = &state.theme;
        let error = self.filter_error.as_deref().map(|why| format!("! {}", Safe::clean(why)));
        if self.filtering {
            let error = error.unwrap_or_default();
            // The field keeps half of the line, so that one sees what one types.
            let room = text::width(&error).min(usize::from(area.width / 2)) as u16;
            let [field, said] = Layout::horizontal([Constraint::Min(1), Constraint::Length(room)]).areas(area);
            frame
                .render_widget(Paragraph::new(text::truncate(&error, room.into()).into_owned()).style(theme.bad), said);
            return self.filter.draw(frame, field, "/ ", theme.text);
        }
        let mut spans = vec![Span::styled(self.count(), theme.strong)];
        if !self.applied.trim().is_empty() {
            spans.push(Span::styled(format!("  / {}", Safe::clean(self.applied.trim())), theme.accent));
        }
        match (error, &state.me) {
            (Some(error), _) => spans.push(Span::styled(format!("  {error}"), theme.bad)),
            (None, Some(me)) if !me.may_author => {
                spans.push(Span::styled("  your role may not author: new, clone and delete are off", theme.dim));
            }
            _ => {}
        }
        rows(frame, area, vec![Line::from(spans)]);
        None
    }

    fn count(&self) -> String {
        let known = self.pages.known();
        let at = thousands(self.selected + 1);
        let filtered = !self.applied.trim().is_empty();
        match self.pages.total() {
            _ if self.outdated || (known == 0 && self.asked.is_some()) => "Agents · reading …".into(),
            // The row is not told: `1 of 12` would read as one agent of twelve.
            Some(total) if filtered => match self.all.filter(|all| *all >= total) {
                Some(all) => format!("Agents · {} shown of {}", thousands(total), thousands(all)),
                None => format!("Agents · {} shown", thousands(total)),
            },
            None if filtered && known > 0 && !self.to_end => format!("Agents · more than {} shown", thousands(known)),
            Some(0) => "Agents · none".into(),
            Some(total) => format!("Agents · row {at} of {}", thousands(total)),
            None if self.to_end => format!("Agents · reading to the end, {} so far …", thousands(known)),
            None if known == 0 => "Agents".into(),
            None => format!("Agents · row {at} of more than {}", thousands(known)),
        }
    }

    fn draw_list(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        if area.is_empty() {
            return;
        }
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        self.height.set(body.height);
        let columns = columns(area.width.saturating_sub(1));
        let titles: Vec<String> =
            columns.iter().map(|(column, title, width)| text::pad(&self.title(*column, title), *width)).collect();
        frame.render_widget(Paragraph::new(format!(" {}", titles.join(" "))).style(theme.dim), head);
        let height = usize::from(body.height);
        if height == 0 {
            return;
        }
        if let Some(said) = self.instead(state) {
            let bad = self.error.is_some();
            let style = if bad { theme.bad } else { theme.dim };
            frame.render_widget(Paragraph::new(said).style(style).wrap(Wrap { trim: false }), body);
            return;
        }
        let known = self.pages.known();
        view.top = view.top.min(self.selected).max((self.selected + 1).saturating_sub(height));
        view.top = view.top.min(known.saturating_sub(height));
        let lines: Vec<Line<'_>> = (view.top..known)
            .take(height)
            .map(|index| {
                let here = index == self.selected;
                let mark = if here { "›" } else { " " };
                let style = match (here, self.outdated) {
                    (true, _) => theme.selected,
                    (false, true) => theme.dim,
                    (false, false) => theme.text,
                };
                let Some(row) = self.pages.row(index) else { return Line::styled(format!("{mark}…"), theme.dim) };
                let cells: Vec<String> = columns
                    .iter()
                    .map(|(column, _, width)| text::pad(&Safe::clean(&cell(*column, row)), *width))
                    .collect();
                Line::styled(format!("{mark}{}", cells.join(" ")), style)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), body);
    }

    fn title(&self, column: Column, title: &str) -> String {
        let sorted = match self.sort {
            Sort::Name => Column::Name,
            Sort::Updated => Column::Updated,
        };
        let arrow = if self.descending { "↓" } else { "↑" };
        if column == sorted { format!("{title} {arrow}") } else { title.to_owned() }
    }

    /// What is said in the place of rows.
    fn instead(&self, state: &State) -> Option<String> {
        let key = |action| state.keymap.hint(action);
        if let Some(error) = &self.error {
            return Some(format!("{} {} tries again.", Safe::clean(&error.message), key(Action::Refresh)));
        }
        if self.pages.known() > 0 {
            return None;
        }
        Some(match (self.pages.total(), self.applied.trim().is_empty()) {
            _ if self.outdated && self.filter_error.is_none() => "Reading …".into(),
            (Some(_), true) => {
                let may_author = state.me.as_ref().is_none_or(|me| me.may_author);
                let more = if may_author { format!(" {} makes one.", key(Action::NewAgent)) } else { String::new() };
                format!("There are no agents here that you can see.{more}")
            }
            (Some(_), false) => {
                let (change, clear) = (key(Action::Filter), key(Action::LayerClose));
                format!("No agent fits the filter. {change} changes it, {clear} in it clears it.")
            }
            (None, _) => "Reading …".into(),
        })
    }

    fn draw_detail(&self, state: &State, area: Rect, beside: bool, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let Some(detail) = &self.detail else { return };
        let side = if beside { Borders::LEFT } else { Borders::TOP };
        let block = Block::new().borders(side).border_style(theme.border);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let lines = match &detail.item {
            None if detail.name.is_empty() => vec![Line::styled("Nothing is selected.", theme.dim)],
            None => vec![Line::styled("Reading …", theme.dim)],
            Some(Err(error)) => vec![Line::styled(Safe::clean(&error.message).to_string(), theme.bad)],
            Some(Ok(item)) => detail_lines(item)
                .into_iter()
                .map(|(name, text)| {
                    let name = if name.is_empty() { String::new() } else { format!("{name:<11} ") };
                    Line::from(vec![Span::styled(name, theme.dim), Span::raw(text)])
                })
                .collect(),
        };
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }
}

fn detail_lines(item: &AgentItem) -> Vec<(&'static str, String)> {
    let clean = |text: &str| Safe::clean(text).to_string();
    let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "–".to_owned(), clean);
    let groups = item.allowed_groups.join(", ");
    let seen = if groups.is_empty() { item.visibility.clone() } else { format!("{}: {groups}", item.visibility) };
    let you = if item.can_manage { "you manage it" } else { "you may use it" };
    let mut lines = vec![
        ("name", clean(&item.name)),
        ("description", or_none(&item.description)),
        ("llm", or_none(&item.llm)),
        ("owner", format!("{} · {you} ({}) · visible: {}", or_none(&item.owner), clean(&item.access), clean(&seen))),
        (
            "kind",
            format!(
                "{} · {} · updated {}",
                clean(&item.class_name),
                or_none(&item.category),
                item.updated_at.map_or_else(|| "–".into(), minute)
            ),
        ),
    ];
    let Some(definition) = &item.definition else {
        lines.push(("definition", "is shown to those who manage the agent".into()));
        return lines;
    };
    let params = &definition.model_params;
    let set: Vec<String> = [
        ("temperature", params.temperature.map(|n| n.to_string())),
        ("max_tokens", params.max_tokens.map(|n| n.to_string())),
        ("top_k", params.top_k.map(|n| n.to_string())),
        ("top_p", params.top_p.map(|n| n.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
    .collect();
    lines.push(("parameters", if set.is_empty() { "the provider's own".into() } else { set.join(", ") }));
    let tools: Vec<String> =
        definition.tools.iter().map(|tool| tool.as_str().map_or_else(|| tool.to_string(), str::to_owned)).collect();
    lines.push(("tools", if tools.is_empty() { "–".into() } else { clean(&tools.join(", ")) }));
    match &definition.system_prompt {
        None => lines.push(("prompt", "–".into())),
        Some(prompt) => {
            lines.push(("prompt", String::new()));
            let excerpt: String = prompt.chars().take(EXCERPT).collect();
            lines.extend(Safe::clean_lines(&excerpt).lines().map(|line| ("", line.to_string())));
            if excerpt.len() < prompt.len() {
                lines.push(("", "…".into()));
            }
        }
    }
    lines
}
