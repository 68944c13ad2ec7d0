//! The same question to another model: asked in a session of its own, shown beside the answer that is there, or in its place where
//! the screen is narrow. It is a question like any other: its tools run, and its writes wait for approval. The session ends with
//! the comparison.

use super::transcript::{Kind, Transcript};
use super::{Focus, Msg, Place, event, talk};
use crate::action::Action;
use crate::effect::{Effect, call};
use crate::layers::{Choice, Choose, Layer};
use crate::markdown::render;
use crate::places::agent::models::Models;
use crate::state::{Ctx, State};
use crate::theme::{Theme, ThemeName};
use crate::widgets::Scroll;
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::ops::common::NamePath;
use contract::ops::test::{AskBody, AskStream, EndTest, SessionQuery, TestSession};
use contract::turn::{TurnStatus, Watched};
use contract::wire::{Json, NoBody};
use contract::{Code, Micros, Result, StudioError};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;
use text::Safe;

/// From so many columns of the screen on the answers stand side by side.
const WIDE: u16 = 120;

/// Under which key the stream of a comparison is watched.
fn watch_key(number: u64) -> String {
    format!("chat-compare-{number}")
}

/// What is compared.
#[derive(Debug)]
pub(super) struct Compare {
    /// Tells its stream apart from earlier ones.
    number: u64,
    question: String,
    /// The model and the answer that are there.
    here: (String, String),
    model: String,
    /// The other answer, as it comes.
    other: Transcript,
    fault: Option<StudioError>,
    /// Whether its stream has ended.
    over: bool,
    /// Where it was asked.
    session: Session,
    /// Whether the answer that was there is shown, where there is no room for both.
    first: bool,
    scroll: Scroll,
}

/// The session in which the other model is asked.
#[derive(Clone, Debug)]
pub(super) struct Session {
    agent: String,
    name: String,
}

impl Session {
    /// Ends it; a turn that is open in it is stopped by that.
    fn end(self) -> Effect {
        let query = SessionQuery { session: Some(self.name) };
        call::<EndTest>(NamePath { name: self.agent }, query, NoBody, |reply| tell(News::SessionEnded(reply.err())))
    }
}

/// What drawing keeps: the rows of the answers, by what they were made from.
#[derive(Debug, Default)]
pub(super) struct View {
    key: (u64, u64, u16, ThemeName, bool),
    rows: Vec<Line<'static>>,
}

/// What comes back.
#[derive(Debug)]
pub enum News {
    /// Models to choose from, for the question of an item.
    Models {
        /// For which opening of the chat.
        opening: u64,
        /// The item.
        item: usize,
        /// They.
        reply: Result<Json<Value>>,
    },
    /// A model was chosen.
    Chosen {
        /// For which opening of the chat.
        opening: u64,
        /// The item.
        item: usize,
        /// It.
        model: String,
    },
    /// Something of the other answer.
    Watched {
        /// Which comparison.
        number: u64,
        /// What, or why it did not begin.
        what: Box<Result<Watched>>,
    },
    /// The other answer's stream ended.
    Ended {
        /// Which comparison.
        number: u64,
    },
    /// The session of a comparison that was closed is ended; or why not.
    SessionEnded(Option<StudioError>),
}

fn tell(news: News) -> crate::event::Event {
    event(Msg::Compare(news))
}

impl Place {
    /// Asks the question that is selected, or the last one, once more.
    pub(super) fn ask_again(&mut self, ctx: &mut Ctx<'_>) {
        match self.question() {
            Some((_, text)) => self.send(text, ctx),
            None => ctx.complain("Nothing was asked yet."),
        }
    }

    /// The question that is meant: of the turn of the selected item while that is in sight, else the last one.
    pub(super) fn question(&self) -> Option<(usize, String)> {
        let items = self.transcript.items();
        let selected = self.selected.filter(|at| self.in_sight(*at)).and_then(|at| Some(items.get(at)?.turn));
        let asks = |at: &usize| {
            matches!(items[*at].kind, Kind::Person(_)) && selected.is_none_or(|turn| items[*at].turn == turn)
        };
        let at = (0..items.len()).rev().find(asks)?;
        Some((at, items[at].text().into_owned()))
    }

    /// Whether the turn of an item is still open.
    pub(super) fn is_unanswered(&self, item: usize) -> bool {
        let items = self.transcript.items();
        let last = items.last().map(|last| last.turn);
        self.transcript.open_turn().is_some() && items.get(item).map(|item| item.turn) == last
    }

    /// Asks with which model to compare.
    pub(super) fn choose_comparison(&mut self, ctx: &mut Ctx<'_>) {
        if self.compare.is_some() {
            // One that was left for another place is shown again.
            self.focus = Focus::Compare;
            return;
        }
        let Some((item, _)) = self.question() else { return ctx.complain("Nothing was asked yet.") };
        if self.is_unanswered(item) {
            return ctx.complain("Its answer is not there yet; compare when it is.");
        }
        let opening = self.opening;
        let path = KindPath { kind: "llm-clients".into() };
        ctx.effects.push(call::<GetCatalog>(path, CatalogQuery::default(), NoBody, move |reply| {
            tell(News::Models { opening, item, reply })
        }));
    }

    /// Takes what came back.
    pub(super) fn compared(&mut self, news: News, ctx: &mut Ctx<'_>) {
        match news {
            News::Models { opening, item, reply } if opening == self.opening => match reply {
                Ok(Json(rows)) => {
                    let models = Models::read(&rows);
                    let notes = models.notes();
                    let choice = |model: Value| {
                        let value = model.as_str().unwrap_or_default().to_owned();
                        let note = notes.get(&value).cloned().unwrap_or_default();
                        Choice { value, note }
                    };
                    let choices = models.options().into_iter().map(choice).collect();
                    ctx.open.push(Layer::Choose(Choose::new(
                        "Compare with which model?",
                        choices,
                        move |model, ctx| {
                            ctx.effects.push(Effect::Send(Box::new(tell(News::Chosen { opening, item, model }))));
                        },
                    )));
                }
                Err(error) => ctx.complain(&error.message),
            },
            News::Chosen { opening, item, model } if opening == self.opening => self.begin_comparison(item, model, ctx),
            News::Watched { number, what } if self.closing.contains_key(&number) => {
                // It was closed before its turn was there to be stopped.
                match *what {
                    Ok(Watched::Turn { turn, .. }) => {
                        ctx.effects.push(talk::stop(self.opening, turn));
                        self.let_go(number, ctx);
                    }
                    Ok(_) => {}
                    Err(_) => _ = self.closing.remove(&number),
                }
            }
            News::Watched { number, what } => {
                let now = ctx.now;
                if let Some(compare) = self.compare.as_mut().filter(|compare| compare.number == number) {
                    match *what {
                        Ok(what) => compare.other.watched(&what, now),
                        Err(error) => compare.fault = Some(error),
                    }
                }
            }
            News::Ended { number } => {
                self.let_go(number, ctx);
                if let Some(compare) = self.compare.as_mut().filter(|compare| compare.number == number) {
                    compare.over = true;
                }
            }
            News::SessionEnded(Some(error)) if error.code != Code::NotFound => {
                ctx.complain(format!("The session of the comparison goes on: {}", error.message));
            }
            // Late answers for another chat.
            News::SessionEnded(_) | News::Models { .. } | News::Chosen { .. } => {}
        }
    }

    fn begin_comparison(&mut self, item: usize, model: String, ctx: &mut Ctx<'_>) {
        let Some(question) = self.transcript.items().get(item) else { return };
        let (turn, question) = (question.turn, question.text().into_owned());
        let Some(agent) = self.agent.clone() else { return };
        self.comparisons += 1;
        let number = self.comparisons;
        let model_here = Some(self.transcript.model_of(turn)).filter(|model| !model.is_empty());
        let here = (
            on_version(model_here.unwrap_or("the answer above"), self.transcript.version_of(turn)),
            words(&self.transcript, turn),
        );
        // A new session each time: what was said before would make another question of it.
        let name = format!("{}{}", TestSession::COMPARISON, Micros::now().0 / 1_000);
        let session = Session { agent: agent.clone(), name: name.clone() };
        let mut other = Transcript::default();
        other.begin(question.clone(), ctx.now);
        let (over, fault, first, scroll) = (false, None, false, Scroll::default());
        self.compare = Some(Compare {
            number,
            question: question.clone(),
            here,
            model: model.clone(),
            other,
            fault,
            over,
            session,
            first,
            scroll,
        });
        self.focus = Focus::Compare;
        let run = move |client: client::Client| {
            let session = Some(name);
            let body = AskBody { query: question, use_byok: true, session, model: Some(model), ..AskBody::default() };
            talk::stream::<AskStream>(
                client,
                NamePath { name: agent },
                SessionQuery::default(),
                body,
                move |what| tell(News::Watched { number, what: Box::new(what) }),
                tell(News::Ended { number }),
            )
        };
        ctx.effects.push(Effect::Watch { key: watch_key(number), run: Box::new(run) });
    }

    /// Takes an action while it is shown.
    pub(super) fn act_compare(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        let Some(compare) = &mut self.compare else {
            self.focus = Focus::Transcript;
            return;
        };
        match action {
            Action::LayerClose => self.end_comparison(ctx),
            Action::OtherAnswer => {
                compare.first = !compare.first;
                compare.scroll = Scroll::default();
            }
            other => _ = compare.scroll.act(other),
        }
    }

    /// Closes it; what still runs there is stopped, for nobody looks at it any more.
    pub(super) fn end_comparison(&mut self, ctx: &mut Ctx<'_>) {
        let Some(compare) = self.compare.take() else { return };
        if self.focus == Focus::Compare {
            self.focus = Focus::Transcript;
        }
        let (number, turn) = (compare.number, compare.other.open_turn().map(|turn| turn.id.clone()));
        self.closing.insert(number, compare.session);
        match turn {
            // Nobody can stop it before it has an id: its stream is followed until then.
            Some(None) if !compare.over && compare.fault.is_none() => return,
            Some(Some(id)) => ctx.effects.push(talk::stop(self.opening, id)),
            _ => {}
        }
        self.let_go(number, ctx);
    }

    /// Ends the session of a comparison that was closed.
    fn let_go(&mut self, number: u64, ctx: &mut Ctx<'_>) {
        if let Some(session) = self.closing.remove(&number) {
            ctx.effects.push(Effect::Unwatch { key: watch_key(number) });
            ctx.effects.push(session.end());
        }
    }
}

/// A model with the version of the agent that it speaks for.
fn on_version(model: &str, version: Option<i64>) -> String {
    version.map_or_else(|| model.to_owned(), |version| format!("{model} · version {version}"))
}

/// What was answered in a turn, as it was written; what went wrong where nothing was.
fn words(transcript: &Transcript, turn: usize) -> String {
    let of_turn = || transcript.items().iter().filter(|item| item.turn == turn);
    let answers: Vec<&str> = of_turn()
        .filter_map(|item| match &item.kind {
            Kind::Answer(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !answers.is_empty() {
        return answers.join("\n\n");
    }
    let failures = of_turn().filter(|item| matches!(item.kind, Kind::Failure(_)));
    failures.map(|item| item.text().into_owned()).collect::<Vec<_>>().join("\n\n")
}

impl Compare {
    /// How the other answer stands, in words; none = it is there.
    fn standing(&self) -> Option<String> {
        if let Some(error) = &self.fault {
            return Some(error.message.clone());
        }
        match self.other.open_turn().map(|turn| turn.status) {
            _ if self.over && self.other.open_turn().is_some() => Some("the connection broke".to_owned()),
            Some(TurnStatus::Waiting) => Some("waits for a person; it is in the place Approvals".to_owned()),
            Some(_) => Some("working".to_owned()),
            None => None,
        }
    }

    fn rows(&self, width: u16, wide: bool, theme: &Theme) -> Vec<Line<'static>> {
        let other = words(&self.other, 0);
        let standing = self.standing();
        let answer = |name: &str, text: &str, standing: Option<&str>, width: u16| {
            let head = text::truncate(&Safe::clean(name), width.into()).into_owned();
            let mut rows = vec![Line::styled(head, theme.accent), Line::default()];
            rows.extend(render(text, width, theme));
            if let Some(standing) = standing {
                let said = Safe::clean(standing);
                rows.push(Line::styled(text::truncate(&format!("· {said}"), width.into()).into_owned(), theme.dim));
            }
            rows
        };
        let here = &self.here.0;
        let there = on_version(&self.model, self.other.version_of(0));
        if !wide {
            // Which one it is stands above; see `tabs`.
            let (text, standing) = if self.first { (&self.here.1, None) } else { (&other, standing.as_deref()) };
            return answer("", text, standing, width).split_off(2);
        }
        let column = (width - 3) / 2;
        let mut left = answer(here, &self.here.1, None, column).into_iter();
        let mut right = answer(&there, &other, standing.as_deref(), column).into_iter();
        let mut rows = Vec::new();
        loop {
            let (one, two) = (left.next(), right.next());
            if one.is_none() && two.is_none() {
                return rows;
            }
            let mut line = one.unwrap_or_default();
            let blank = usize::from(column).saturating_sub(line.width());
            // A style of the whole row ends where the other answer begins.
            let style = std::mem::take(&mut line.style);
            let mut spans: Vec<Span<'static>> =
                line.spans.into_iter().map(|s| Span::styled(s.content, style.patch(s.style))).collect();
            spans.push(Span::raw(" ".repeat(blank)));
            spans.push(Span::styled(" │ ", theme.border));
            let two = two.unwrap_or_default();
            spans.extend(two.spans.into_iter().map(|s| Span::styled(s.content, two.style.patch(s.style))));
            rows.push(Line::from(spans));
        }
    }

    /// Draws it in the place of the transcript.
    pub fn draw(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        if area.is_empty() {
            return;
        }
        let wide = is_wide(state.size.0) && area.width > 3;
        // What is told of its standing changes with the transcript, but for these two.
        let told = self.other.revision() * 4 + u64::from(self.over) * 2 + u64::from(self.fault.is_some());
        let key = (self.number, told, area.width, state.theme.name, self.first);
        if view.key != key || view.rows.is_empty() {
            view.rows = self.rows(area.width, wide, &state.theme);
            view.key = key;
        }
        let question = format!("» {}", self.question.lines().next().unwrap_or_default());
        let question = text::truncate(&Safe::clean(&question), area.width.into()).into_owned();
        frame.render_widget(Line::styled(question, state.theme.mine), Rect { height: 1, ..area });
        let head = 1 + u16::from(!wide && area.height > 2);
        if head > 1 {
            self.draw_tabs(state, Rect { y: area.y + 1, height: 1, ..area }, frame);
        }
        let body = Rect { y: area.y + head, height: area.height - head, ..area };
        let first = self.scroll.settle(view.rows.len(), body.height.into());
        let rows: Vec<Line<'static>> = view.rows.iter().skip(first).take(body.height.into()).cloned().collect();
        frame.render_widget(Paragraph::new(rows), body);
    }

    /// Both answers by name, the one that is shown with a mark.
    fn draw_tabs(&self, state: &State, area: Rect, frame: &mut Frame<'_>) {
        let there = on_version(&self.model, self.other.version_of(0));
        let half = usize::from(area.width) / 2;
        let tab = |name: &str, shown: bool| {
            let name = format!("{} {}", if shown { "›" } else { " " }, Safe::clean(name));
            let style = if shown { state.theme.strong } else { state.theme.dim };
            Span::styled(text::pad(&name, half), style)
        };
        let line = Line::from(vec![tab(&self.here.0, self.first), tab(&there, !self.first)]);
        frame.render_widget(line, area);
    }

    /// What is said of the window, for the line below.
    pub fn below(&self, state: &State) -> String {
        self.scroll.told(&state.keymap)
    }
}

/// Whether a screen of so many columns has room for both answers.
pub(super) fn is_wide(columns: u16) -> bool {
    columns >= WIDE
}
