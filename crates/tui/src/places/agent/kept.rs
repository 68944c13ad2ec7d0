//! Unsaved text of the form as it is kept in a file, and whether it belongs to what is open.

use crate::form::Form;
use contract::ops::me::Me;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The agent; none for a new one.
    pub agent: Option<String>,
    /// Whose it is.
    pub tenant: Option<String>,
    pub user: Option<String>,
    /// The version on which it was typed.
    pub version: Option<i64>,
    /// What was typed, by field.
    pub fields: Map<String, Value>,
    /// What stood there in that version.
    pub base: Map<String, Value>,
}

impl Kept {
    /// What is typed in the form and not saved.
    pub fn of(form: &Form, agent: Option<&str>, me: Option<&Me>, version: Option<i64>) -> Self {
        let mut kept = Self {
            agent: agent.map(str::to_owned),
            tenant: me.and_then(|me| me.tenant.clone()),
            user: me.map(|me| me.user_id.clone()),
            version,
            ..Self::default()
        };
        for field in form.fields().iter().filter(|field| field.is_changed() && !field.secret) {
            kept.fields.insert(field.key.clone(), field.value.clone().unwrap_or_default());
            kept.base.insert(field.key.clone(), field.base.clone().unwrap_or_default());
        }
        kept
    }

    /// Reads what was kept for this agent and person; none when it is of others or cannot be read.
    pub fn read(text: &str, agent: Option<&str>, me: Option<&Me>) -> Option<Self> {
        let kept: Self = serde_json::from_str(text).ok()?;
        let mine =
            me.is_none_or(|me| kept.user.as_ref().is_none_or(|user| *user == me.user_id && kept.tenant == me.tenant));
        (mine && kept.agent.as_deref() == agent).then_some(kept)
    }

    /// Leaves only what differs from the form.
    pub fn without_what_stands(mut self, form: &Form) -> Self {
        self.fields.retain(|key, value| {
            form.field(key)
                .is_some_and(|field| !field.read_only && field.value.as_ref().unwrap_or(&Value::Null) != value)
        });
        self
    }

    /// The same with newer text over it.
    pub fn under(mut self, newer: Self) -> Self {
        // What is not offered keeps the base on which it was typed.
        for (key, value) in newer.base {
            self.base.entry(key).or_insert(value);
        }
        self.fields.extend(newer.fields);
        self
    }
}
