//! The prompt: searching in it, and the person's own editor.

use super::fields::PROMPT;
use super::{Msg, Place, event};
use crate::action::Action;
use crate::effect::Effect;
use crate::state::Ctx;
use serde_json::Value;

impl Place {
    pub(super) fn search(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        let Some(search) = &self.search else { return };
        let text = search.text().to_owned();
        match action {
            Action::LayerClose => {
                self.search = None;
                self.form.find(PROMPT, "", false, true);
            }
            Action::LayerEnter | Action::LayerDown | Action::LayerUp => {
                let back = action == Action::LayerUp;
                if !text.is_empty() && !self.form.find(PROMPT, &text, back, false) {
                    ctx.complain(format!("'{text}' is not in the prompt."));
                }
            }
            _ => {}
        }
    }

    pub(super) fn edit(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(why) = &self.locked {
            return ctx.complain(format!("The prompt cannot be changed: {why}."));
        }
        let Some(field) = self.form.field(PROMPT) else { return };
        let text = field.value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let ticket = self.ticket;
        // Editors end the last line; that alone is no change.
        let ends = text.ends_with('\n');
        ctx.effects.push(Effect::Editor {
            text,
            ending: "md",
            then: Box::new(move |edited| {
                let text = edited.map(|text| match text.strip_suffix('\n') {
                    Some(rest) if !ends => rest.to_owned(),
                    _ => text,
                });
                event(Msg::Edited { ticket, text })
            }),
        });
    }
}
