//! Provider keys: which there are, masked; storing and deleting them. A key is never shown.

use crate::action::{Action, Context, Need};
use crate::effect::call;
use crate::event::{Event, Input};
use crate::layers::{Ask, Choice, Choose, Confirm, Layer};
use crate::places;
use crate::state::{Ctx, State};
use crate::widgets::{keep_in_sight, list_move, row as one_row};
use crate::words::minute;
use contract::StudioError;
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::ops::keys::{DeleteKey, KeyItem, KeyStore, ListKeys, OptionalProviderPath, StoreKey};
use contract::wire::{NoBody, NoPath, NoQuery};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::Value;
use text::Safe;

/// The place.
#[derive(Default)]
pub struct Place {
    keys: Vec<KeyItem>,
    read: bool,
    error: Option<StudioError>,
    providers: Vec<Choice>,
    selected: usize,
}

/// A message.
#[derive(Debug)]
pub enum Msg {
    /// The keys.
    Listed(contract::Result<Vec<KeyItem>>),
    /// Providers that take a key.
    Providers(contract::Result<Value>),
    /// A key was stored, or not: what to say.
    Stored(contract::Result<String>),
    /// A key was deleted, or not.
    Deleted(contract::Result<String>),
}

/// What drawing keeps.
#[derive(Default)]
pub struct View {
    first: usize,
}

fn event(msg: Msg) -> Event {
    Event::Place(places::Msg::Keys(msg))
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        vec![Context::Keys, Context::List]
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match need {
            Need::Rows | Need::Row => self.error.is_none() && !self.keys.is_empty(),
            // There are few.
            Need::Filter => false,
            _ => true,
        }
    }

    /// Nothing is typed here; layers ask.
    pub fn wants_text(&self) -> bool {
        false
    }

    /// Reads what is shown.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.refresh(ctx);
        let path = KindPath { kind: "llm-clients".into() };
        let asked =
            |reply: contract::Result<contract::wire::Json<Value>>| event(Msg::Providers(reply.map(|json| json.0)));
        ctx.effects.push(call::<GetCatalog>(path, CatalogQuery::default(), NoBody, asked));
    }

    /// Reads the list again.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        ctx.effects.push(call::<ListKeys>(NoPath {}, NoQuery, NoBody, |reply| {
            event(Msg::Listed(reply.map(|json| json.0.keys)))
        }));
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        match action {
            Action::AddKey => self.add(ctx),
            Action::Open => self.replace(ctx),
            Action::DeleteKey => self.delete(ctx),
            Action::Refresh => self.refresh(ctx),
            other => {
                if let Some(to) = list_move(other, self.selected, self.keys.len(), ctx) {
                    self.selected = to;
                }
            }
        }
    }

    /// First the provider, then the key.
    fn add(&self, ctx: &mut Ctx<'_>) {
        let choose = Choose::new("Key for which provider?", self.providers.clone(), ask);
        ctx.open.push(Layer::Choose(choose));
    }

    fn replace(&self, ctx: &mut Ctx<'_>) {
        if let Some(key) = self.keys.get(self.selected) {
            ask(key.provider.clone(), ctx);
        }
    }

    fn delete(&self, ctx: &mut Ctx<'_>) {
        let Some(key) = self.keys.get(self.selected) else { return };
        let provider = key.provider.clone();
        let question = format!(
            "Delete your key for {provider} ({})?\nAgents that pay with it stop answering until there is another.",
            key.masked
        );
        ctx.open.push(Layer::Confirm(Confirm::new("Delete a key", question, None, move |ctx| {
            let path = OptionalProviderPath { provider: Some(provider) };
            ctx.effects.push(call::<DeleteKey>(path, NoQuery, NoBody, |reply| {
                event(Msg::Deleted(reply.map(|json| format!("The key for {} is deleted.", json.0.provider))))
            }));
        })));
    }

    /// Takes an input that means no action.
    pub fn input(&mut self, _: &Input, _: &mut Ctx<'_>) {}

    /// Nothing moves by itself.
    pub fn tick(&mut self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Listed(Ok(keys)) => {
                self.selected = self.selected.min(keys.len().saturating_sub(1));
                (self.keys, self.read, self.error) = (keys, true, None);
            }
            Msg::Listed(Err(error)) => self.error = Some(error),
            Msg::Providers(Ok(rows)) => self.providers = providers(&rows),
            Msg::Stored(Ok(said)) | Msg::Deleted(Ok(said)) => {
                ctx.tell(said);
                self.refresh(ctx);
            }
            Msg::Providers(Err(error)) | Msg::Stored(Err(error)) | Msg::Deleted(Err(error)) => {
                ctx.complain(&error.message);
            }
        }
    }

    /// Draws the place.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        if let Some(error) = &self.error {
            let text = Safe::clean_lines(&error.message).to_string();
            frame.render_widget(Paragraph::new(text).style(theme.bad).wrap(Wrap { trim: false }), area);
            return;
        }
        if self.keys.is_empty() {
            let text = if self.read {
                format!(
                    "You have stored no provider keys.\n\n{} stores one: it is sealed, and pays for what you ask agents in chats.",
                    state.keymap.hint(Action::AddKey)
                )
            } else {
                "…".to_owned()
            };
            frame.render_widget(Paragraph::new(text).style(theme.dim).wrap(Wrap { trim: false }), area);
            return;
        }
        let row = |provider: &str, masked: &str, at: &str| {
            format!("{} {} {at}", text::pad(provider, 18), text::pad(masked, 20))
        };
        one_row(frame, head, row("PROVIDER", "KEY", "STORED"), theme.strong);
        let rows = list.height as usize;
        let first = &mut view.places.keys.first;
        keep_in_sight(first, self.selected, rows);
        let lines: Vec<Line<'_>> = self
            .keys
            .iter()
            .enumerate()
            .skip(*first)
            .take(rows)
            .map(|(index, key)| {
                let at = minute(key.created_at);
                let text = row(&Safe::clean(&key.provider), &Safe::clean(&key.masked), &at);
                let style = if index == self.selected { theme.selected } else { theme.text };
                Line::from(Span::styled(text::pad(&text, list.width as usize), style))
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), list);
    }
}

/// Asks for the key of a provider, and stores it.
fn ask(provider: String, ctx: &mut Ctx<'_>) {
    let question = format!("The key for {provider}. It is sealed where your agents run and never shown again.");
    ctx.open.push(Layer::Ask(Ask::secret("Provider key", question, move |api_key, ctx| {
        let body = KeyStore { provider, api_key };
        ctx.effects.push(call::<StoreKey>(OptionalProviderPath::default(), NoQuery, body, |reply| {
            let said = reply.map(|json| format!("The key for {} is stored: {}", json.0.provider, json.0.masked));
            event(Msg::Stored(said))
        }));
    })));
}

/// Providers of the catalogue; those that are played need no key.
fn providers(rows: &Value) -> Vec<Choice> {
    let rows = rows.as_array().or_else(|| rows.as_object()?.values().find_map(Value::as_array));
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    rows.into_iter()
        .flatten()
        .map(|row| Choice { value: text(row, "provider"), note: text(row, "default_model") })
        .filter(|choice| !choice.value.is_empty() && choice.value != "rehearsal")
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::effect::Effect;
    use crate::testing::Stage;
    use contract::Micros;
    use serde_json::json;

    fn stage() -> Stage {
        let mut stage = Stage::new(90, 24);
        stage.keys("alt-3");
        stage.event(event(Msg::Providers(Ok(json!([
            {"provider": "anthropic", "default_model": "m"}, {"provider": "rehearsal"}, {"provider": "groq"}
        ])))));
        let key = KeyItem {
            provider: "anthropic".into(),
            masked: "sk-…cdef".into(),
            created_at: Micros(1_790_000_000_000_000),
        };
        stage.event(event(Msg::Listed(Ok(vec![key]))));
        stage
    }

    #[test]
    fn keys_are_listed_masked() {
        let stage = stage();
        assert!(stage.shows("anthropic          sk-…cdef             2026-09-21 14:13"), "{:#?}", stage.screen());
    }

    #[test]
    fn a_key_is_typed_hidden_and_stored() {
        let mut stage = stage();
        stage.keys("n").typed("gro");
        assert!(stage.shows("groq") && !stage.shows("rehearsal"));
        stage.keys("enter").paste("sk-secret-1234");
        assert!(stage.shows("••••••••••••••") && !stage.shows("secret"), "{:#?}", stage.screen());
        assert!(stage.cursor().is_some());
        assert_eq!(stage.called("keys.store"), 0);
        stage.keys("enter");
        assert_eq!(stage.called("keys.store"), 1);
        let before = stage.called("keys.list");
        stage.event(event(Msg::Stored(Ok("The key for groq is stored: sk-…1234".into()))));
        assert!(stage.shows("sk-…1234"));
        assert_eq!(stage.called("keys.list"), before + 1);
    }

    #[test]
    fn an_empty_key_is_none_and_esc_stores_nothing() {
        let mut stage = stage();
        stage.keys("n enter enter");
        assert!(stage.shows("Provider key"));
        stage.typed("abc").keys("esc");
        assert!(!stage.shows("Provider key"));
        assert_eq!(stage.called("keys.store"), 0);
    }

    #[test]
    fn the_selected_key_is_replaced() {
        let mut stage = stage();
        stage.keys("enter").typed("new");
        assert!(stage.shows("The key for anthropic."));
        stage.keys("enter");
        assert_eq!(stage.called("keys.store"), 1);
    }

    #[test]
    fn a_deletion_is_asked_about() {
        let mut stage = stage();
        stage.keys("d");
        assert!(stage.shows("Delete your key for anthropic"));
        stage.keys("esc d enter");
        assert_eq!(stage.called("keys.delete"), 1);
        assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Quit)));
    }

    #[test]
    fn it_can_be_drawn_at_any_size() {
        let mut stage = stage();
        stage.keys("n");
        for (width, height) in [(1, 1), (20, 5), (21, 6), (40, 10), (200, 60)] {
            stage.resize(width, height);
        }
        stage.keys("esc end pagedown up");
    }
}
