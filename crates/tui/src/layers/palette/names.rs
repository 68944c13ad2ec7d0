//! Names of agents for the palette: those that fit what is typed, and the nearest ones when none does.

use crate::effect::Effect;
use crate::event::Event;
use crate::layers;
use client::{Client, Request};
use contract::ops::agents::{AgentItem, GetAgent, ListAgents};
use contract::ops::common::{NamePath, Page};
use contract::wire::{NoBody, NoPath, NoQuery};
use contract::{Code, StudioError};

/// Names that are offered at most.
const MOST: u32 = 50;
/// Agents among which the nearest names are looked for.
const NEAR_AMONG: u32 = 1_000;
/// Names that are told as near at most, and how alike they must be: from 0 for nothing in common to 1 for the same.
const NEAR: (usize, f64) = (3, 0.7);

/// What is known of a typed name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Names that hold it: itself first, then those that begin with it.
    pub fitting: Vec<String>,
    /// Others that are written much like it; only when none fits.
    pub near: Vec<String>,
}

/// The answer for a typed name.
#[derive(Debug)]
pub struct Found {
    /// What was typed.
    pub word: String,
    /// What there is.
    pub reply: Result<Names, StudioError>,
}

/// Asks for the names that fit a word.
pub(super) fn look(word: String) -> Effect {
    let run = move |client: Client| -> futures_util::future::BoxFuture<'static, Event> {
        Box::pin(async move {
            let reply = find(&client, &word).await;
            Event::Layer(layers::Msg::Palette(Found { word, reply }))
        })
    };
    Effect::Call { name: "agents.list", run: Box::new(run) }
}

async fn find(client: &Client, word: &str) -> Result<Names, StudioError> {
    let mut fitting = list(client, Some(word), MOST).await?;
    let whole = fitting.len() < MOST as usize;
    // The filter looks at descriptions too.
    fitting.retain(|name| name.to_lowercase().contains(&word.to_lowercase()));
    // Of very many that hold the word, the one with just this name may be on a later page.
    if !whole && fitting.iter().all(|name| name != word) {
        let path = NamePath { name: word.to_owned() };
        match client.call::<GetAgent>(Request { path, query: NoQuery, body: NoBody }).await {
            Ok(item) => fitting.push(item.0.name),
            Err(error) if error.code == Code::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    fitting.sort_by_cached_key(|name| (name != word, !name.starts_with(word), name.clone()));
    let near = if fitting.is_empty() { nearest(word, list(client, None, NEAR_AMONG).await?) } else { Vec::new() };
    Ok(Names { fitting, near })
}

async fn list(client: &Client, word: Option<&str>, limit: u32) -> Result<Vec<String>, StudioError> {
    // In quotes, so that a colon makes no key of the filter.
    let q = word.filter(|word| !word.is_empty()).map(|word| format!("\"{}\"", word.replace('"', "")));
    let query = Page { limit: Some(limit), q, ..Page::default() };
    let list = client.call::<ListAgents>(Request { path: NoPath {}, query, body: NoBody }).await?;
    Ok(list.0.agents.into_iter().map(|item: AgentItem| item.name).collect())
}

/// Those most like the word, the likest first.
fn nearest(word: &str, names: Vec<String>) -> Vec<String> {
    let mut near: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(word, &name), name))
        .filter(|(by, _)| *by >= NEAR.1)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    near.into_iter().take(NEAR.0).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_are_those_that_are_written_alike() {
        let names = ["orders-desk", "order-book", "faq", "stock-clerk"].map(str::to_owned).to_vec();
        assert_eq!(nearest("ordres-desk", names.clone()).first().map(String::as_str), Some("orders-desk"));
        assert!(!nearest("ordres-desk", names.clone()).contains(&"faq".to_owned()));
        assert!(nearest("zzzz", names).is_empty());
    }
}
