//! Keeping what is typed and not saved, and offering it again.

use super::{KEEP_MS, Kept, Msg, Place, Subject, event};
use crate::effect::Effect;
use crate::layers::{Confirm, Layer};
use crate::state::Ctx;

impl Place {
    /// Offers what was kept, once the form is there and as far as it says something else.
    pub(super) fn make_offer(&mut self, ctx: &mut Ctx<'_>) {
        if self.form.fields().is_empty() || self.locked.is_some() {
            return;
        }
        let Some(text) = self.found.take() else { return };
        let Some(kept) = Kept::read(&text, self.subject.agent(), ctx.me) else { return };
        let kept = kept.without_what_stands(&self.form);
        if !kept.fields.is_empty() {
            self.offer = Some(kept);
        } else if !self.form.is_dirty() {
            ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text: None });
        }
    }

    pub(super) fn take_offer(&mut self, ctx: &mut Ctx<'_>) {
        let Some(kept) = self.offer.take() else { return ctx.tell("No unsaved text is kept for this agent.") };
        let moved_on = self.subject.agent().is_some() && kept.version != self.version;
        for (key, value) in kept.fields {
            if moved_on && let Some(base) = kept.base.get(&key) {
                self.form.set_base(&key, Some(base.clone()));
            }
            self.form.set(&key, value);
        }
        if moved_on {
            // Based on what it was typed on, so that saving compares it with what others stored since.
            self.version = kept.version;
        }
        self.changed(ctx);
    }

    /// Keeps what is typed and not saved.
    pub fn keep(&mut self, ctx: &mut Ctx<'_>) {
        if self.subject == Subject::Nothing || self.locked.is_some() {
            return;
        }
        let dirty = self.form.is_dirty();
        if !dirty && (!self.was_kept || self.offer.is_some()) {
            return;
        }
        let text = dirty.then(|| {
            let mut kept = Kept::of(&self.form, self.subject.agent(), ctx.me, self.version);
            if let Some(offer) = &self.offer {
                kept = offer.clone().under(kept);
            }
            serde_json::to_string(&kept).unwrap_or_default()
        });
        self.was_kept = text.is_some();
        ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text });
    }

    /// Asks whether what is typed and not saved may go.
    pub(super) fn ask_drop(&self, ctx: &mut Ctx<'_>) {
        let ticket = self.ticket;
        let question = format!("What you typed is not saved ({}). Drop it?", self.form.changed().join(", "));
        ctx.open.push(Layer::Confirm(Confirm::new("Drop unsaved text", question, None, move |ctx| {
            ctx.effects.push(Effect::Send(Box::new(event(Msg::Drop { ticket }))));
        })));
    }

    /// Drops what is typed and not saved.
    pub(super) fn drop_typed(&mut self, ctx: &mut Ctx<'_>) {
        let bases: Vec<_> = self.form.fields().iter().filter(|field| field.is_changed()).collect();
        let bases: Vec<_> =
            bases.into_iter().map(|field| (field.key.clone(), field.base.clone().unwrap_or_default())).collect();
        bases.into_iter().for_each(|(key, base)| self.form.set(&key, base));
        self.conflict = None;
        self.was_kept = false;
        ctx.effects.push(Effect::KeepUnsaved { key: self.subject.key(), text: None });
        ctx.tell("What was typed is dropped.");
    }

    /// Something was typed: it is kept soon, wherever the person goes until then.
    pub(super) fn changed(&mut self, ctx: &mut Ctx<'_>) {
        if std::mem::replace(&mut self.keeping, true) {
            return;
        }
        let ticket = self.ticket;
        ctx.effects.push(Effect::Host {
            run: Box::new(move |_| {
                Box::pin(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(KEEP_MS)).await;
                    event(Msg::Keep { ticket })
                })
            }),
        });
    }
}
