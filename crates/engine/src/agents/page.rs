//! The query of a paged list: the filter language, the order, the cursor.
//!
//! A filter is a row of terms, all of which must hold: `owner:me vis:tenant llm:anthropic category:sales status:active` and
//! bare words, which are sought in name and description. Quotes keep blanks and colons: `"quarter report" category:"a b"`.
//! A list that another server answers whole is paged here too, by the same words.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::ops::agents::{AgentItem, AgentList};
use contract::ops::common::Page;
use contract::{Micros, Result, StudioError};
use rules::access::Visibility;
use serde::{Deserialize, Serialize};
use store::repo::agents::Head;
use store::repo::agents::list::{After, Order, Term};

/// Items of a page when the client names no limit.
const LIMIT: u32 = 100;
/// Longest filter, in bytes.
const MAX_FILTER: usize = 1000;
/// Most terms of a filter.
const MAX_TERMS: usize = 32;
const KEYS: &str = "owner, vis, llm, category, status";

/// A list that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub terms: Vec<Term>,
    pub order: Order,
    pub descending: bool,
    pub after: Option<After>,
    /// None: everything.
    pub limit: Option<u32>,
}

/// What a cursor says. It holds the order, so that it cannot go on in another one.
#[derive(Serialize, Deserialize)]
struct Cursor {
    s: String,
    n: String,
    u: i64,
}

impl Ask {
    /// Reads a query for this user.
    ///
    /// # Errors
    /// 400 `invalid_request`.
    pub(super) fn new(page: &Page, user: &str) -> Result<Self> {
        let sort = page.sort.as_deref().unwrap_or("name");
        let (order, descending) = match sort {
            "name" => (Order::Name, false),
            "-name" => (Order::Name, true),
            "updated_at" => (Order::Updated, false),
            "-updated_at" => (Order::Updated, true),
            _ => {
                return Err(StudioError::invalid_request("'sort' must be name, -name, updated_at or -updated_at."));
            }
        };
        let mut ask = Self {
            terms: page.q.as_deref().map_or(Ok(Vec::new()), |q| filter(q, user))?,
            order,
            descending,
            after: None,
            limit: page.is_paged().then(|| page.limit.unwrap_or(LIMIT)),
        };
        if let Some(text) = &page.cursor {
            let read =
                URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| serde_json::from_slice::<Cursor>(&bytes).ok());
            let cursor = read.filter(|cursor| cursor.s == ask.sort() && !cursor.n.contains('\0'));
            let Cursor { n, u, .. } = cursor.ok_or_else(|| {
                StudioError::invalid_request(
                    "'cursor' is not one of this list. Use 'next_cursor' of its last page with the same sort.",
                )
            })?;
            ask.after = Some(After { name: n, updated_at: Micros(u) });
        }
        Ok(ask)
    }

    fn sort(&self) -> &'static str {
        match (self.order, self.descending) {
            (Order::Name, false) => "name",
            (Order::Name, true) => "-name",
            (Order::Updated, false) => "updated_at",
            (Order::Updated, true) => "-updated_at",
        }
    }

    /// The cursor behind this item.
    pub(super) fn cursor(&self, last: &AgentItem) -> String {
        let cursor = Cursor { s: self.sort().into(), n: last.name.clone(), u: last.updated_at.unwrap_or_default().0 };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).unwrap_or_default())
    }
}

/// The page of a list that is at hand whole, with the filter, the orders and the cursors of stored lists; `me` is whom
/// `owner:me` means.
///
/// # Errors
/// 400 `invalid_request`, as for stored lists.
pub fn page_of(mut items: Vec<AgentItem>, page: &Page, me: &str) -> Result<AgentList> {
    let ask = Ask::new(page, me)?;
    let key = |name: &str, updated_at: Option<Micros>| match ask.order {
        Order::Name => (Micros::default(), name.to_owned()),
        Order::Updated => (updated_at.unwrap_or_default(), name.to_owned()),
    };
    items.retain(|item| {
        let row = head(item);
        ask.terms.iter().all(|term| term.holds(&row))
    });
    items.sort_by_cached_key(|item| key(&item.name, item.updated_at));
    if ask.descending {
        items.reverse();
    }
    if let Some(after) = &ask.after {
        let after = key(&after.name, Some(after.updated_at));
        items.retain(|item| match key(&item.name, item.updated_at).cmp(&after) {
            std::cmp::Ordering::Less => ask.descending,
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => !ask.descending,
        });
    }
    let mut next = None;
    if let Some(limit) = ask.limit.map(|limit| limit as usize).filter(|limit| items.len() > *limit) {
        items.truncate(limit);
        next = items.last().map(|last| ask.cursor(last));
    }
    Ok(AgentList { count: items.len(), agents: items, next_cursor: page.is_paged().then_some(next) })
}

/// An item as the row that the terms judge.
fn head(item: &AgentItem) -> Head {
    Head {
        id: item.agent_id.clone().unwrap_or_default(),
        name: item.name.clone(),
        owner: item.owner.clone().unwrap_or_default(),
        visibility: item.visibility.parse().unwrap_or(Visibility::Private),
        allowed_groups: item.allowed_groups.clone(),
        bot_class: item.class_name.clone(),
        llm: item.llm.clone(),
        category: item.category.clone().unwrap_or_default(),
        description: item.description.clone(),
        active: item.enabled,
        version: item.version.unwrap_or_default(),
        created_at: Micros::default(),
        updated_at: item.updated_at.unwrap_or_default(),
    }
}

/// Reads a filter.
///
/// # Errors
/// 400 `invalid_request`, with what is known instead.
fn filter(q: &str, user: &str) -> Result<Vec<Term>> {
    if q.len() > MAX_FILTER || q.contains('\0') {
        return Err(StudioError::invalid_request(format!("'q' must be at most {MAX_FILTER} bytes of text.")));
    }
    let words = words(q);
    if words.len() > MAX_TERMS {
        return Err(StudioError::invalid_request(format!("'q' must have at most {MAX_TERMS} terms.")));
    }
    words.into_iter().map(|(key, value)| term(key.as_deref(), value, user)).collect()
}

fn term(key: Option<&str>, value: String, user: &str) -> Result<Term> {
    let Some(key) = key else {
        return Ok(Term::Text(value));
    };
    let bad =
        |values: &str| Err(StudioError::invalid_request(format!("'{key}:' in 'q' must be followed by {values}.")));
    match key {
        _ if value.is_empty() && KEYS.split(", ").any(|known| known == key) => bad("a value"),
        "owner" if value == "me" => Ok(Term::Owner(user.to_owned())),
        "owner" => Ok(Term::Owner(value)),
        "vis" => match value.parse::<Visibility>() {
            Ok(visibility) => Ok(Term::Visibility(visibility)),
            Err(_) => bad("private, tenant or groups"),
        },
        "llm" => Ok(Term::Llm(value)),
        "category" => Ok(Term::Category(value)),
        "status" => match value.as_str() {
            "active" => Ok(Term::Active(true)),
            "disabled" => Ok(Term::Active(false)),
            _ => bad("active or disabled"),
        },
        _ => Err(StudioError::invalid_request(format!(
            "'{key}' is no key of the filter. Keys are: {KEYS}. Put text with a colon in quotes."
        ))),
    }
}

/// Splits a filter into values with their keys. A colon inside quotes makes no key; a quote that is not closed goes to the end.
fn words(q: &str) -> Vec<(Option<String>, String)> {
    let mut words = Vec::new();
    let mut rest = q.trim_start();
    while !rest.is_empty() {
        let (mut key, mut value, mut quoted, mut quotes) = (None, String::new(), false, false);
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            match c {
                '"' => (quoted, quotes) = (!quoted, true),
                ':' if !quoted && !quotes && key.is_none() => key = Some(std::mem::take(&mut value)),
                c if c.is_whitespace() && !quoted => {
                    end = at;
                    break;
                }
                c => value.push(c),
            }
        }
        if key.is_some() || !value.is_empty() {
            words.push((key, value));
        }
        rest = rest[end..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn filters() {
        let read = |q: &str| filter(q, "u1");
        assert_eq!(
            read(" owner:me  vis:tenant llm:anthropic:claude \"two words\" category:\"a b\" status:disabled Word ")
                .unwrap(),
            [
                Term::Owner("u1".into()),
                Term::Visibility(Visibility::Tenant),
                Term::Llm("anthropic:claude".into()),
                Term::Text("two words".into()),
                Term::Category("a b".into()),
                Term::Active(false),
                Term::Text("Word".into()),
            ]
        );
        assert_eq!(read("\"a:b\" \"open").unwrap(), [Term::Text("a:b".into()), Term::Text("open".into())]);
        assert_eq!(read("  \"\" ").unwrap(), []);
        for (bad, says) in [
            ("color:red", "owner, vis, llm, category, status"),
            ("vis:all", "private, tenant or groups"),
            ("status:off", "active or disabled"),
            ("owner:", "a value"),
            (":x", "is no key"),
            (&"a ".repeat(33), "32 terms"),
            (&"a".repeat(1001), "1000 bytes"),
            ("a\0", "text"),
        ] {
            let error = read(bad).unwrap_err();
            assert_eq!((error.code.as_str(), error.status), ("invalid_request", 400), "{bad}");
            assert!(error.message.contains(says), "{bad}: {}", error.message);
        }
    }

    #[test]
    fn a_whole_list_is_paged_as_stored_ones_are() {
        let item = |name: &str, at: i64| -> AgentItem {
            serde_json::from_value(serde_json::json!({
                "name": name, "source": "studio", "origin": "studio", "owner": "u1", "enabled": true,
                "updated_at": Micros(at), "visibility": "private", "allowed_groups": [], "class_name": "BasicBot",
                "tags": [], "priority": 0, "at_startup": false, "access": "owner", "can_manage": true,
            }))
            .unwrap()
        };
        // Two changed at one instant, so that the name has to part them.
        let items = || vec![item("b", 5), item("c", 5), item("a", 9), item("odd", 1)];
        for (sort, whole) in
            [("name", "abcodd"), ("-name", "oddcba"), ("updated_at", "oddbca"), ("-updated_at", "acbodd")]
        {
            let (mut names, mut cursor) = (String::new(), None);
            loop {
                let page = Page { limit: Some(1), sort: Some(sort.into()), cursor, ..Page::default() };
                let list = page_of(items(), &page, "u1").unwrap();
                assert_eq!(list.count, 1);
                names.push_str(&list.agents[0].name);
                match list.next_cursor.unwrap() {
                    Some(next) => cursor = Some(next),
                    None => break,
                }
            }
            assert_eq!(names, whole, "{sort}");
        }
        let page = Page { q: Some("owner:me od".into()), ..Page::default() };
        assert_eq!(page_of(items(), &page, "u1").unwrap().agents, [item("odd", 1)]);
        assert_eq!(page_of(items(), &page, "u2").unwrap().count, 0);
        assert_eq!(page_of(items(), &Page::default(), "u1").unwrap().next_cursor, None);
    }

    #[test]
    fn a_cursor_belongs_to_its_order() {
        let ask = |sort: &str, cursor: Option<String>| {
            Ask::new(&Page { sort: Some(sort.into()), cursor, ..Page::default() }, "u1")
        };
        let made = URL_SAFE_NO_PAD.encode(br#"{"s":"-name","n":"x","u":5}"#);
        let read = ask("-name", Some(made.clone())).unwrap();
        assert_eq!(read.after, Some(After { name: "x".into(), updated_at: Micros(5) }));
        assert!(ask("name", Some(made)).is_err());
        assert!(ask("name", Some("%%".into())).is_err());
        assert!(ask("size", None).is_err());
    }
}
