//! Who sees the agent: an operation of its own, asked for with a key, stored at once.

use super::{Msg, Place, event};
use crate::effect::call;
use crate::layers::{Ask, Choice, Choose, Layer};
use crate::state::Ctx;
use contract::Result;
use contract::ops::agents::{AgentItem, SetAgentVisibility, VisibilityPatch};
use contract::ops::common::NamePath;
use contract::wire::{Json, NoQuery};
use text::Safe;

/// What can be chosen.
const CHOICES: [(&str, &str); 3] = [
    ("private", "you and administrators"),
    ("tenant", "everybody in the tenant"),
    ("groups", "members of some groups"),
];

/// In words, with the groups.
pub(super) fn told(item: &AgentItem) -> String {
    match item.allowed_groups.as_slice() {
        [] => item.visibility.clone(),
        groups => format!("{}: {}", item.visibility, groups.join(", ")),
    }
}

impl Place {
    /// Asks who is to see it.
    pub(super) fn ask_visibility(&mut self, ctx: &mut Ctx<'_>) {
        let Some(item) = self.item.as_ref().filter(|_| self.subject.agent().is_some()) else {
            if !self.form.focus_on("visibility") {
                ctx.complain("Open an agent first.");
            }
            return;
        };
        if !item.can_manage {
            return ctx.complain("Only its owner and administrators may change who sees it.");
        }
        let (ticket, name, groups) = (self.ticket, item.name.clone(), item.allowed_groups.join(", "));
        let (now, before) = (item.visibility.clone(), item.visibility.clone());
        let choices = CHOICES
            .map(|(value, note)| Choice { value: value.to_owned(), note: note.to_owned() })
            .into_iter()
            .collect();
        let choose = Choose::new("Who sees this agent?", choices, move |visibility, ctx| {
            if visibility == before && visibility != "groups" {
                return ctx.tell("Nothing is changed.");
            }
            if visibility != "groups" {
                return set(ticket, name, visibility, Vec::new(), ctx);
            }
            let question = format!("Which groups see '{name}'? Their names, with commas between them.");
            ctx.open.push(Layer::Ask(Ask::line("Groups", question, groups, move |typed, ctx| {
                let named = typed.split(',').map(str::trim).filter(|group| !group.is_empty());
                set(ticket, name, visibility, named.map(str::to_owned).collect(), ctx);
            })));
        });
        ctx.open.push(Layer::Choose(choose.now(&now)));
    }

    /// It was changed, or not.
    pub(super) fn shared(&mut self, ticket: u64, name: &str, reply: Result<Json<AgentItem>>, ctx: &mut Ctx<'_>) {
        match reply {
            Ok(Json(item)) => {
                ctx.tell(format!("'{}' is visible to: {}.", Safe::clean(name), told(&item)));
                if ticket == self.ticket {
                    self.take_shared(item, ctx);
                }
            }
            Err(error) => ctx.complain(format!("Who sees '{name}' was not changed: {}", error.message)),
        }
    }

    /// What is typed stays. The change was this person's own, so what they save next is based on it; a version in between
    /// would be somebody else's, and is met when it is saved.
    fn take_shared(&mut self, item: AgentItem, ctx: &mut Ctx<'_>) {
        if !self.is_unsaved() {
            return self.take(item, ctx);
        }
        if item.version == self.version.map(|version| version + 1) {
            self.version = item.version;
        }
        self.form.set_base(super::fields::SEEN_BY, Some(told(&item).into()));
        self.item = Some(Box::new(item));
    }
}

fn set(ticket: u64, name: String, visibility: String, allowed_groups: Vec<String>, ctx: &mut Ctx<'_>) {
    let path = NamePath { name: name.clone() };
    let body = VisibilityPatch { visibility, allowed_groups };
    ctx.effects.push(call::<SetAgentVisibility>(path, NoQuery, body, move |reply| {
        event(Msg::Shared { ticket, name, reply: Box::new(reply) })
    }));
}
