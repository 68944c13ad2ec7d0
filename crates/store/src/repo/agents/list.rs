//! Lists of agents: whole, or page by page with a filter, in SQL as far as SQL can.

use super::{HEAD, Head, head};
use crate::{StoreError, Tx, Val};
use contract::Micros;
use rules::access::Visibility;
use rules::partition::Partition;

/// Which rows a list may touch. It only narrows what is read: a caller of these functions still asks the access rule about every row.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// Every row of the partition.
    All,
    /// Own rows, rows shared with the tenant, and rows shared with one of these groups.
    Member {
        /// The user.
        user: String,
        /// Their groups.
        groups: Vec<String>,
    },
}

/// One term of a filter; all terms must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// Owned by this user.
    Owner(String),
    /// Of this visibility.
    Visibility(Visibility),
    /// The model's name begins with this, whatever the case.
    Llm(String),
    /// Of this category.
    Category(String),
    /// Active or disabled.
    Active(bool),
    /// Name or description holds this, whatever the case.
    Text(String),
}

/// The order of a list. Rows of one instant are ordered by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By name.
    Name,
    /// By the time of the last change.
    Updated,
}

/// Where a page begins: behind the row with these keys.
#[derive(Clone, Debug, PartialEq)]
pub struct After {
    /// Its name.
    pub name: String,
    /// Its last change.
    pub updated_at: Micros,
}

/// A page that is asked for.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// Which rows may be touched.
    pub reach: &'a Reach,
    /// The filter.
    pub terms: &'a [Term],
    /// The order.
    pub order: Order,
    /// Backwards.
    pub descending: bool,
    /// Where it begins; none = at the start.
    pub after: Option<&'a After>,
    /// Most rows; none = all.
    pub limit: Option<u32>,
}

/// Rows that may answer the page. Text with letters beyond ASCII, and groups, are matched loosely here (databases fold case
/// differently), so [`Term::holds`] and the access rule decide.
///
/// # Errors
/// The storage fails.
pub fn rows(tx: &mut dyn Tx, partition: &Partition, ask: &Ask<'_>) -> Result<Vec<Head>, StoreError> {
    let mut sql = Sql { text: format!("select {HEAD} from agents where partition = "), args: Vec::new() };
    sql.bind(partition.as_str());
    sql.reach(ask.reach);
    for term in ask.terms {
        sql.term(term);
    }
    let (compare, direction) = if ask.descending { ('<', "desc") } else { ('>', "asc") };
    if let Some(after) = ask.after {
        match ask.order {
            Order::Name => sql.push(&format!(" and name {compare} ")).bind(after.name.as_str()),
            Order::Updated => sql
                .push(&format!(" and (updated_at, name) {compare} ("))
                .bind(after.updated_at.0)
                .push(", ")
                .bind(after.name.as_str())
                .push(")"),
        };
    }
    match ask.order {
        Order::Name => sql.push(&format!(" order by name {direction}")),
        Order::Updated => sql.push(&format!(" order by updated_at {direction}, name {direction}")),
    };
    if let Some(limit) = ask.limit {
        sql.push(" limit ").bind(limit);
    }
    tx.query(&sql.text, &sql.args)?.iter_mut().map(head).collect()
}

impl Term {
    /// Whether the row answers the term, exactly.
    pub fn holds(&self, row: &Head) -> bool {
        match self {
            Term::Owner(owner) => row.owner == *owner,
            Term::Visibility(visibility) => row.visibility == *visibility,
            Term::Llm(start) => {
                row.llm.as_ref().is_some_and(|llm| llm.to_lowercase().starts_with(&start.to_lowercase()))
            }
            Term::Category(category) => row.category == *category,
            Term::Active(active) => row.active == *active,
            Term::Text(text) => {
                let text = text.to_lowercase();
                let has = |field: &str| field.to_lowercase().contains(&text);
                has(&row.name) || row.description.as_deref().is_some_and(has)
            }
        }
    }
}

/// A statement under construction.
struct Sql {
    text: String,
    args: Vec<Val>,
}

impl Sql {
    fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    fn bind(&mut self, value: impl Into<Val>) -> &mut Self {
        self.args.push(value.into());
        self.text.push_str(&format!("${}", self.args.len()));
        self
    }

    fn reach(&mut self, reach: &Reach) {
        let Reach::Member { user, groups } = reach else {
            return;
        };
        self.push(" and (owner = ").bind(user.as_str()).push(" or visibility = 'tenant'");
        for group in groups {
            // Groups are kept as a JSON list, so a group stands in it with its quotes.
            let quoted = serde_json::Value::from(group.as_str()).to_string();
            self.push(" or (visibility = 'groups' and allowed_groups")
                .like(&format!("%{}%", escaped(&quoted)))
                .push(")");
        }
        self.push(")");
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Owner(owner) => self.push(" and owner = ").bind(owner.as_str()),
            Term::Visibility(visibility) => self.push(" and visibility = ").bind(visibility.as_str()),
            Term::Llm(start) => self.push(" and lower(llm)").like(&format!("{}%", loose(start))),
            Term::Category(category) => self.push(" and category = ").bind(category.as_str()),
            Term::Active(true) => self.push(" and status = 'active'"),
            Term::Active(false) => self.push(" and status = 'disabled'"),
            Term::Text(text) => {
                let pattern = format!("%{}%", loose(text));
                self.push(" and (lower(name)").like(&pattern).push(" or lower(description)").like(&pattern).push(")")
            }
        };
    }

    fn like(&mut self, pattern: &str) -> &mut Self {
        self.push(" like ").bind(pattern).push(" escape '!'")
    }
}

/// A text as a pattern that matches only itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern
}

/// A pattern for the text in lower case that also matches whatever a database makes of letters beyond ASCII.
fn loose(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => pattern.push_str(&escaped(c.to_ascii_lowercase().encode_utf8(&mut [0; 4]))),
            _ => pattern.push('%'),
        }
    }
    pattern
}
