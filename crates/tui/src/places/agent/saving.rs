//! Saving: what is sent, what comes of it, and the way through a conflict.

use super::{Conflict, Msg, Place, event, fields, get};
use crate::effect::{Effect, call};
use crate::form::Field;
use crate::places::agents;
use crate::state::Ctx;
use contract::ops::agents::{AgentCreated, AgentItem, CreateAgent, OptionalNamePath, PatchAgent};
use contract::ops::common::NamePath;
use contract::wire::{Json, NoQuery};
use contract::{Code, Result, StudioError};

impl Place {
    pub(super) fn save(&mut self, ctx: &mut Ctx<'_>) {
        if self.saving {
            return ctx.tell("It is being saved.");
        }
        if let Some(why) = &self.locked {
            return ctx.complain(format!("Nothing can be saved: {why}."));
        }
        if self.form.fields().is_empty() {
            return;
        }
        if let Some(conflict) = &self.conflict {
            if !conflict.is_decided() {
                return ctx.complain("Take mine or theirs for each field first.");
            }
            conflict.settle(&mut self.form);
            self.rebase(ctx);
        }
        if !self.subject.is_new() && !self.form.is_dirty() {
            return ctx.tell("Nothing was changed, so nothing was sent.");
        }
        if !self.form.check() {
            return ctx.complain("Nothing was sent: see the marked field.");
        }
        let ticket = self.ticket;
        self.saving = true;
        self.llm_changed = self.form.field("llm").is_some_and(Field::is_changed);
        ctx.effects.push(match self.subject.agent() {
            Some(name) => {
                let (path, name) = (NamePath { name: name.to_owned() }, name.to_owned());
                let body = fields::patch(&self.form, self.version);
                call::<PatchAgent>(path, NoQuery, body, move |reply| event(Msg::Saved { ticket, name, reply }))
            }
            None => {
                let body = fields::create(&self.form, self.class.as_deref());
                call::<CreateAgent>(OptionalNamePath::default(), NoQuery, body, move |reply| {
                    event(Msg::Created { ticket, reply })
                })
            }
        });
    }

    pub(super) fn saved(&mut self, reply: Result<Json<AgentItem>>, ctx: &mut Ctx<'_>) {
        self.saving = false;
        match reply {
            Ok(Json(item)) => {
                for (key, value) in fields::values(&item) {
                    self.form.set_base(key, Some(value));
                }
                self.version = item.version;
                let version = item.version.map(|version| format!(" as version {version}")).unwrap_or_default();
                ctx.tell(format!("'{}' is saved{version}.", item.name));
                if self.llm_changed {
                    self.warn_of_model(item.llm.as_deref(), ctx);
                }
                self.item = Some(Box::new(item));
                self.confirmed(ctx);
            }
            Err(error) if error.code == Code::VersionConflict => {
                if let Some(name) = self.subject.agent() {
                    let ticket = self.ticket;
                    self.saving = true;
                    ctx.effects.push(get(name, move |reply| Msg::Theirs { ticket, reply }));
                }
            }
            Err(error) => self.refused(&error, ctx),
        }
    }

    /// It is stored as it was wished; whether it can answer is another matter.
    fn warn_of_model(&self, llm: Option<&str>, ctx: &mut Ctx<'_>) {
        if let Some((llm, why)) = llm.and_then(|llm| Some((llm, self.models.fault(llm)?))) {
            ctx.complain(format!("It cannot answer yet with {llm}: {why}."));
        }
    }

    /// It is stored: what was kept is not needed any more, but for what was typed meanwhile.
    pub(super) fn confirmed(&mut self, ctx: &mut Ctx<'_>) {
        if self.form.is_dirty() {
            self.keep(ctx);
        } else if self.offer.is_none() {
            self.was_kept = false;
            ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text: None });
        }
    }

    pub(super) fn refused(&mut self, error: &StudioError, ctx: &mut Ctx<'_>) {
        self.keep(ctx);
        if fields::blame(&mut self.form, error) {
            ctx.complain("It was not saved: see the marked field.");
        } else {
            ctx.complain(&error.message);
        }
    }

    pub(super) fn created(&mut self, ticket: u64, reply: Result<Json<AgentCreated>>, ctx: &mut Ctx<'_>) {
        let here = ticket == self.ticket;
        match reply {
            Ok(Json(created)) => {
                ctx.tell(format!("'{}' is created. {}", created.name, created.warnings.join(" ")));
                ctx.effects.push(agents::made(&created.name));
                if here {
                    let llm = self.form.field("llm").map(Field::shown);
                    self.warn_of_model(llm.as_deref().filter(|llm| !llm.is_empty()), ctx);
                    ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text: None });
                    // Nothing of it is unsaved any more, so that opening keeps nothing.
                    *self = Self { ticket: self.ticket, ..Self::default() };
                    self.open(Some(created.name), ctx);
                }
            }
            Err(error) if here => {
                self.saving = false;
                self.refused(&error, ctx);
            }
            Err(error) => ctx.complain(&error.message),
        }
    }

    /// Somebody else saved first: compares what they stored.
    pub(super) fn meet(&mut self, reply: Result<Json<AgentItem>>, ctx: &mut Ctx<'_>) {
        self.saving = false;
        match reply {
            Ok(Json(item)) => {
                let conflict = Conflict::new(&self.form, Box::new(item));
                self.search = None;
                if conflict.is_none() {
                    conflict.settle(&mut self.form);
                    self.conflict = Some(conflict);
                    self.rebase(ctx);
                    ctx.tell(
                        "Somebody changed other fields meanwhile; they are taken over. Save again to store yours.",
                    );
                } else {
                    self.conflict = Some(conflict);
                }
            }
            Err(error) => ctx.complain(&error.message),
        }
    }

    /// The settled conflict's version is the one to change now.
    pub(super) fn rebase(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(conflict) = self.conflict.take() {
            self.version = conflict.theirs.version;
            self.item = Some(conflict.theirs);
            self.lock(ctx);
            self.keep(ctx);
        }
    }
}
