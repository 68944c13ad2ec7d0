//! How the dialog is drawn.

use super::rows::{Ink, LABEL, Row, rows, wrap_words};
use super::{Dialog, Focus, Mode, Shown};
use crate::action::Action;
use crate::keymap::Keymap;
use crate::state::State;
use crate::theme::Theme;
use crate::widgets::popup;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use text::Safe;

/// Wider than this nobody reads.
const WIDEST: u16 = 100;
/// Most rows of notes, where there is room.
const NOTES: usize = 3;

/// What drawing keeps.
#[derive(Default)]
pub struct View {
    /// Of which approval, of which revision and width the rows are.
    key: (String, u32, u16),
    rows: Vec<Row>,
    form: crate::form::View,
}

impl Dialog {
    /// Draws it.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        self.shown.set(None);
        let width = area.width.min(WIDEST);
        let inner_width = width.saturating_sub(2);
        let kept = &mut view.layers.dialog;
        let key = (self.view.id.clone(), self.revision, inner_width);
        if kept.key != key {
            kept.rows = rows(&self.view, self.edited.as_ref(), inner_width.into());
            kept.key = key;
        }
        let total = kept.rows.len();
        let notes = self.notes(theme, &state.keymap, inner_width.into());
        let most = if area.height >= 12 { NOTES } else { 1 };
        let note_rows = notes.len().min(most) as u16;
        let wanted = if self.mode == Mode::Edit { area.height } else { u16::try_from(total).unwrap_or(u16::MAX) };
        let height = wanted.saturating_add(3 + note_rows).min(area.height);
        let border = if self.over.is_some() { theme.border } else { theme.alarm };
        let inner = popup(frame, area, &self.title(), (width, height), border);
        if inner.is_empty() {
            return;
        }
        self.painted.set(true);
        // On a single row there is what has the focus: nobody decides with a control that is not seen.
        let bare = inner.height == 1;
        let control_first = bare && (self.mode == Mode::Reason || self.focus != Focus::Text);
        let [body, controls, foot] = Layout::vertical([
            Constraint::Min(u16::from(!control_first)),
            Constraint::Length(u16::from(!bare || control_first)),
            Constraint::Length(note_rows.min(inner.height.saturating_sub(2))),
        ])
        .areas(inner);
        match (self.mode, &self.editor) {
            (Mode::Edit, Some(editor)) => view.cursor = editor.draw(theme, &mut kept.form, body, frame),
            _ if body.is_empty() => {}
            _ => {
                let visible = body.height as usize;
                let first = self.scroll.min(total.saturating_sub(visible));
                let lines = kept.rows.iter().skip(first).take(visible).map(|row| line(row, theme));
                frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
                self.shown.set(Some(Shown { first, rows: visible, total, width: inner_width }));
                // In the frame, where it takes no row from what must be read.
                let below = total.saturating_sub(first + visible);
                let mark = if below == 0 { " end ".to_owned() } else { format!(" {below} more ") };
                let foot = Rect { x: inner.x + 1, y: inner.bottom(), width: inner.width.saturating_sub(1), height: 1 };
                let foot = foot.intersection(area);
                let mark = Line::styled(text::truncate(&mark, foot.width.into()).into_owned(), border);
                frame.render_widget(mark, foot);
            }
        }
        match self.mode {
            Mode::Reason if !controls.is_empty() => {
                view.cursor = self.reason.draw(frame, controls, "reason: ", theme.text)
            }
            Mode::Look if self.over.is_none() => {
                frame.render_widget(Paragraph::new(self.controls(theme, controls.width.into())), controls);
            }
            _ => {}
        }
        let notes: Vec<Line<'_>> =
            notes.into_iter().take(foot.height.into()).map(|(text, style)| Line::styled(text, style)).collect();
        frame.render_widget(Paragraph::new(notes), foot);
    }

    fn title(&self) -> String {
        match (&self.over, self.count.is_empty()) {
            (Some(_), _) => "Approval".to_owned(),
            (None, true) => "Approve this call?".to_owned(),
            (None, false) => format!("Approve this call? · {}", self.count),
        }
    }

    /// Whether a control does something now.
    fn is_on(&self, control: Focus) -> bool {
        self.asleep().is_none()
            && match control {
                Focus::Approve => self.seen_end,
                Focus::Edit => self.view.editable,
                _ => true,
            }
    }

    /// `[ Approve ]` is awake, `( Approve )` asleep, `[›Approve‹]` has the focus: no colour is needed to tell them apart.
    fn controls(&self, theme: &Theme, width: usize) -> Line<'static> {
        let all = [
            (Focus::Approve, "Approve"),
            (Focus::Reject, "Reject…"),
            (Focus::Edit, "Edit…"),
            (Focus::Leave, "Leave open"),
        ];
        let span = |(control, name): (Focus, &str)| {
            let on = self.is_on(control) || (control == Focus::Leave && self.guard.looks_awake());
            let (left, right) = if self.focus == control { ("›", "‹") } else { (" ", " ") };
            let (open, close) = if on { ("[", "]") } else { ("(", ")") };
            let style = match (on, self.focus == control) {
                (true, true) => theme.focus,
                (true, false) => theme.text,
                (false, true) => theme.dim.patch(theme.selected),
                (false, false) => theme.dim,
            };
            Span::styled(format!("{open}{left}{name}{right}{close}"), style)
        };
        let spans: Vec<Span<'static>> = all.into_iter().flat_map(|control| [span(control), Span::raw(" ")]).collect();
        if spans.iter().map(|span| text::width(&span.content)).sum::<usize>() <= width + 1 {
            return Line::from(spans);
        }
        // Too narrow for all: the one with the focus, or where to find them.
        all.into_iter()
            .find(|(control, _)| *control == self.focus)
            .map_or_else(|| Line::styled("Tab: controls", theme.dim), |control| Line::from(span(control)))
    }

    fn notes(&self, theme: &Theme, keymap: &Keymap, width: usize) -> Vec<(String, Style)> {
        let hint = |action| keymap.hint(action);
        let (text, style) = if let Some(over) = &self.over {
            let how = if !self.guard.looks_awake() {
                String::new()
            } else if self.history {
                format!("{} closes. ", hint(Action::DialogLeave))
            } else {
                "Any key closes. ".to_owned()
            };
            (format!("{how}{over}"), theme.warn)
        } else if let Some(error) =
            self.editor.as_ref().filter(|_| self.mode == Mode::Edit).and_then(|e| e.error.as_ref())
        {
            (error.to_string(), theme.bad)
        } else if let Some(asleep) = self.asleep() {
            (asleep.to_owned(), theme.dim)
        } else if let Some(note) = &self.note {
            (note.to_string(), theme.warn)
        } else {
            (self.hint(&hint), theme.dim)
        };
        wrap_words(&Safe::clean(&text), width.max(1), 0).into_iter().map(|row| (row, style)).collect()
    }

    fn hint(&self, hint: &dyn Fn(Action) -> String) -> String {
        match self.mode {
            Mode::Reason => {
                let (enter, back) = (hint(Action::LayerEnter), hint(Action::LayerClose));
                format!("{enter} rejects, after a pause of 0.3 s. {back} goes back.")
            }
            Mode::Edit => {
                let why = self.editor.as_ref().and_then(|editor| editor.why_json());
                let why = why.map(|why| format!(" As JSON: {why}")).unwrap_or_default();
                format!("{} takes the changes, {} goes back.{why}", hint(Action::Save), hint(Action::Back))
            }
            Mode::Look if !self.seen_end => {
                format!("Approve is asleep: scroll to the end first ({}).", hint(Action::DialogDown))
            }
            Mode::Look => match self.focus {
                Focus::Text => {
                    format!("{} moves the focus to Approve; Enter there approves.", hint(Action::DialogNext))
                }
                Focus::Approve => "Enter approves exactly this call, once; after a pause of 0.3 s.".to_owned(),
                Focus::Reject => "Enter asks for a reason, which goes to the model.".to_owned(),
                Focus::Edit if self.view.editable => "Enter changes the arguments; nothing runs yet.".to_owned(),
                Focus::Edit => "The arguments of this tool cannot be changed.".to_owned(),
                Focus::Leave => "Enter goes back; it stays pending.".to_owned(),
            },
        }
    }
}

fn line<'a>(row: &'a Row, theme: &Theme) -> Line<'a> {
    let fact = |style: Style| {
        // The label is ASCII, and so are the blanks under it.
        let (label, value) = row.text.split_at_checked(LABEL).unwrap_or((row.text.as_str(), ""));
        Line::from(vec![Span::styled(label, theme.dim), Span::styled(value, style)])
    };
    match row.ink {
        Ink::Fact => fact(theme.text),
        Ink::Tool => fact(theme.strong),
        Ink::Head => Line::styled(row.text.as_str(), theme.strong),
        Ink::Code => Line::styled(row.text.as_str(), theme.text),
        Ink::Changed => Line::styled(row.text.as_str(), theme.warn),
        Ink::Dim => Line::styled(row.text.as_str(), theme.dim),
    }
}
