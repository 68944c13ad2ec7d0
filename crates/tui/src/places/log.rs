//! The program's own log, newest last; follows it until one scrolls up.

use crate::action::{Action, Context, Need};
use crate::effect::Effect;
use crate::event::{Event, Input};
use crate::markdown::wrap::{Break, wrap_text};
use crate::places;
use crate::state::{Ctx, State};
use crate::widgets::{Line as LineInput, filter_input, list_move, row};
use crate::words::count;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use std::borrow::Cow;
use std::collections::VecDeque;
use text::Safe;

/// Most lines that are kept here; the file of the log has more.
const MOST: usize = 5_000;

/// The place.
#[derive(Default)]
pub struct Place {
    lines: VecDeque<String>,
    /// Where the next call continues.
    next: usize,
    /// Whether a call waits for more.
    asked: bool,
    filter: LineInput,
    typing: bool,
    /// The last line in sight, counted among those that pass the filter; none = the newest, and follow.
    bottom: Option<usize>,
}

/// A message.
#[derive(Debug)]
pub enum Msg {
    /// More lines.
    Lines {
        /// From where they were asked for.
        from: usize,
        /// The lines.
        lines: Vec<String>,
        /// Where the next call continues.
        next: usize,
    },
}

/// What drawing keeps.
#[derive(Default)]
pub struct View {}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.typing { Vec::new() } else { vec![Context::Log, Context::List] }
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Rows => !self.passing().is_empty(),
            Need::Filter => !self.lines.is_empty(),
            Need::Away => self.bottom.is_some(),
            // Nothing is opened, and it is read all the time.
            Need::Row | Need::Source => false,
            _ => true,
        }
    }

    /// Whether the filter is typed.
    pub fn wants_text(&self) -> bool {
        self.typing
    }

    /// Asks for what there is, once; the answer asks for more.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        if !std::mem::replace(&mut self.asked, true) {
            self.ask(ctx);
        }
    }

    fn ask(&self, ctx: &mut Ctx<'_>) {
        let from = self.next;
        ctx.effects.push(Effect::Host {
            run: Box::new(move |host| {
                Box::pin(async move {
                    let (lines, next) = host.log(from).await;
                    Event::Place(places::Msg::Log(Msg::Lines { from, lines, next }))
                })
            }),
        });
    }

    fn passing(&self) -> Vec<&String> {
        let wanted = self.filter.text().to_lowercase();
        self.lines.iter().filter(|line| wanted.is_empty() || line.to_lowercase().contains(&wanted)).collect()
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        let len = self.passing().len();
        match action {
            Action::FollowLog | Action::Last => self.bottom = None,
            Action::Filter => self.typing = true,
            other => {
                let at = self.bottom.unwrap_or(len.saturating_sub(1));
                if let Some(to) = list_move(other, at, len, ctx) {
                    self.bottom = Some(to).filter(|to| to + 1 < len);
                }
            }
        }
    }

    /// Takes an input that means no action: the filter's text.
    pub fn input(&mut self, input: &Input, _: &mut Ctx<'_>) {
        if filter_input(&mut self.typing, &mut self.filter, input) {
            self.bottom = None;
        }
    }

    /// Nothing moves by itself.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        let Msg::Lines { from, lines, next } = msg;
        // The answer to a call from before the place was made anew.
        if from != self.next {
            return;
        }
        self.next = next;
        self.lines.extend(lines);
        let over = self.lines.len().saturating_sub(MOST);
        self.lines.drain(..over);
        // What is in sight stays in sight while older lines go.
        if self.filter.text().is_empty() {
            self.bottom = self.bottom.map(|bottom| bottom.saturating_sub(over));
        }
        self.ask(ctx);
    }

    /// Draws the place.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let passing = self.passing();
        let end = self.bottom.map_or(passing.len(), |bottom| (bottom + 1).min(passing.len()));
        if self.typing || !self.filter.text().is_empty() {
            let cursor = self.filter.draw(frame, head, "filter: ", theme.text);
            if self.typing {
                view.cursor = cursor;
            }
        } else {
            let newer = passing.len() - end;
            let text = if self.bottom.is_none() {
                format!("{}, following", count(passing.len(), "line", "lines"))
            } else {
                format!(
                    "{}, {newer} newer below; {} follows",
                    count(passing.len(), "line", "lines"),
                    state.keymap.hint(Action::FollowLog)
                )
            };
            row(frame, head, text, theme.dim);
        }
        if passing.is_empty() {
            let text = if self.lines.is_empty() { "Nothing was logged yet." } else { "No line fits the filter." };
            row(frame, list, text, theme.dim);
            return;
        }
        // Wrapped from the last line upwards, and at the top of the log filled from above.
        let rows = list.height as usize;
        let styled = |line: &String| {
            let style = if line.contains(" ERROR ") {
                theme.bad
            } else if line.contains(" WARN ") {
                theme.warn
            } else {
                theme.text
            };
            let pieces = wrap_text(&Safe::clean(&short_time(line)), list.width.into(), style, Break::Words);
            pieces.into_iter().map(Line::from).collect::<Vec<_>>()
        };
        let mut lines: VecDeque<Line<'_>> = VecDeque::new();
        for line in passing[..end].iter().rev() {
            if lines.len() >= rows {
                break;
            }
            styled(line).into_iter().rev().for_each(|piece| lines.push_front(piece));
        }
        let filled = lines.len() < rows;
        for line in &passing[end..] {
            if lines.len() >= rows {
                break;
            }
            lines.extend(styled(line));
        }
        // Only what was wrapped upwards can be too much: its end is what counts.
        let over = lines.len().saturating_sub(rows);
        let lines: Vec<Line<'_>> = lines.into_iter().skip(if filled { 0 } else { over }).collect();
        frame.render_widget(Paragraph::new(lines), list);
    }
}

/// A line of the log whose time is cut to the second: `2026-12-01T04:32:01.965647Z  INFO` becomes `2026-12-01 04:32:01  INFO`.
fn short_time(line: &str) -> Cow<'_, str> {
    let Some((time, rest)) = line.split_once('Z') else { return line.into() };
    let pattern = "0000-00-00T00:00:00";
    let fits = time.len() >= pattern.len()
        && time.bytes().zip(pattern.bytes()).all(|(c, p)| if p == b'0' { c.is_ascii_digit() } else { c == p })
        && time[pattern.len()..].bytes().all(|c| c == b'.' || c.is_ascii_digit());
    if fits { format!("{}{rest}", time[..pattern.len()].replace('T', " ")).into() } else { line.into() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Stage;

    fn lines(from: usize, to: usize) -> Event {
        let lines =
            (from..to).map(|n| format!("2026 {} line-{n}", if n % 10 == 0 { " WARN " } else { " INFO " })).collect();
        Event::Place(places::Msg::Log(Msg::Lines { from, lines, next: to }))
    }

    fn stage() -> Stage {
        let mut stage = Stage::new(90, 24);
        stage.keys("alt-5");
        stage.event(lines(0, 100));
        stage
    }

    #[test]
    fn it_follows_until_one_scrolls_up() {
        let mut stage = stage();
        assert!(stage.shows("100 lines, following") && stage.shows("line-99"));
        stage.event(lines(100, 110));
        assert!(stage.shows("line-109"));
        stage.keys("up up").event(lines(110, 120));
        assert!(
            stage.shows("line-107") && !stage.shows("line-108") && stage.shows("12 newer below"),
            "{:#?}",
            stage.screen()
        );
        stage.keys("f");
        assert!(stage.shows("line-119"));
        stage.keys("home");
        assert!(stage.shows("line-0") && stage.shows("line-15"));
    }

    #[test]
    fn it_filters_while_one_types() {
        let mut stage = stage();
        stage.keys("/").typed("warn");
        assert!(stage.shows("line-90") && !stage.shows("line-91"));
        stage.typed("?q").keys("enter");
        assert!(stage.shows("No line fits the filter."), "typed letters are no actions");
        stage.keys("/ esc");
        assert!(stage.shows("line-99"));
    }

    #[test]
    fn old_lines_go_and_only_one_call_waits() {
        let mut stage = stage();
        stage.keys("alt-1 alt-5");
        let waits = |stage: &Stage| stage.effects.iter().filter(|e| matches!(e, Effect::Host { .. })).count();
        assert_eq!(waits(&stage), 2, "one at first, one after the answer");
        stage.event(lines(100, 9_000));
        assert!(stage.shows("5,000 lines") && stage.shows("line-8999"));
        for (width, height) in [(1, 1), (20, 5), (22, 6), (90, 24)] {
            stage.resize(width, height);
        }
    }

    #[test]
    fn times_are_short_and_everything_else_stays() {
        assert_eq!(short_time("2026-12-01T04:32:01.965647Z  INFO x: Z"), "2026-12-01 04:32:01  INFO x: Z");
        for other in ["", "Z", "ÄZ", "2026-12-01T04:32:01Äx.Z", "panicked at Z", "2026-12-01T04:32Z"] {
            assert_eq!(short_time(other), other);
        }
    }

    #[test]
    fn long_lines_are_wrapped() {
        let mut stage = stage();
        let long = format!("{}-the-end", "日本".repeat(60));
        stage.event(Event::Place(places::Msg::Log(Msg::Lines { from: 100, lines: vec![long], next: 101 })));
        assert!(stage.shows("-the-end") && stage.shows("line-99"), "{:#?}", stage.screen());
    }

    #[test]
    fn lines_cannot_steer_the_terminal() {
        let mut stage = stage();
        stage.event(Event::Place(places::Msg::Log(Msg::Lines {
            from: 100,
            lines: vec!["a\u{1b}[2Jb".into()],
            next: 101,
        })));
        assert!(stage.screen().iter().all(|line| !line.contains('\u{1b}')));
    }
}
