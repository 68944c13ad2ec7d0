//! Arguments that a person changed and has not sent: kept when the dialog is left, offered again as changed ones when it is opened
//! again. They must be seen and approved like any others.

use super::edit::{Editor, Hidden};
use super::{Dialog, Focus, Msg, News};
use crate::effect::Effect;
use crate::event::{Event, Ms};
use crate::layers;
use crate::state::Ctx;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long typing rests before it is kept, in milliseconds.
const KEEP_MS: Ms = 500;

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// What was typed in the editor.
    typed: Value,
    /// Whether it was taken as the arguments that will run.
    taken: bool,
}

fn key(id: &str) -> String {
    format!("approval-{id}")
}

/// Forgets what was kept for an approval.
pub fn drop_kept(id: &str) -> Effect {
    Effect::KeepUnsaved { key: key(id), text: None }
}

impl Dialog {
    /// Asks once for what was kept.
    pub(super) fn ask_kept(&mut self, effects: &mut Vec<Effect>) {
        let may = self.over.is_none() && self.view.may_decide && self.view.editable;
        if !may || std::mem::replace(&mut self.asked_kept, true) {
            return;
        }
        let id = self.view.id.clone();
        let then = move |text| Event::Layer(layers::Msg::Dialog(Msg { id, what: News::Kept(text) }));
        effects.push(Effect::ReadKept { key: key(&self.view.id), then: Box::new(then) });
    }

    /// Takes what was kept, unless the person has begun anew.
    pub(super) fn take_kept(&mut self, text: Option<&str>) {
        let fresh = self.editor.is_none() && self.edited.is_none() && self.sent.is_none() && self.over.is_none();
        let Some(kept) = text.filter(|_| fresh).and_then(|text| serde_json::from_str::<Kept>(text).ok()) else {
            return;
        };
        let mut editor = Editor::new(&self.view.schema, &self.view.args);
        editor.put(kept.typed);
        if kept.taken {
            self.edited = editor.take().filter(|args| *args != self.view.args);
        }
        self.editor = Some(editor);
        self.was_kept = true;
        // What is on screen has another meaning now: it is read, and answered, anew.
        self.unsee();
        self.guard.rearm();
        self.focus = Focus::Text;
        self.say(if self.edited.is_some() {
            "Your changed arguments are back; approve them like any others."
        } else {
            "What you typed into the arguments is back in the editor."
        });
    }

    /// Keeps soon what is typed.
    pub(super) fn typed(&mut self, ctx: &mut Ctx<'_>) {
        if self.keep_at.is_none() {
            let at = ctx.now + KEEP_MS;
            self.keep_at = Some(at);
            ctx.effects.push(Effect::Wake(at));
        }
    }

    /// Keeps what is typed and not sent. Says so when it cannot be.
    pub fn keep(&mut self, ctx: &mut Ctx<'_>) {
        self.keep_at = None;
        if self.over.is_some() || self.sent.is_some() {
            return;
        }
        let text = match self.editor.as_ref().map_or(Ok(None), Editor::typed) {
            Ok(typed) => typed
                .map(|typed| serde_json::to_string(&Kept { typed, taken: self.edited.is_some() }).unwrap_or_default()),
            Err(Hidden) => {
                ctx.complain("What you changed holds a hidden value, and is not kept.");
                None
            }
        };
        if text.is_some() || self.was_kept {
            self.was_kept = text.is_some();
            ctx.effects.push(Effect::KeepUnsaved { key: key(&self.view.id), text });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::layers::Layer;
    use crate::places::approvals::tests::approval;
    use crate::testing::Stage;
    use contract::ops::approvals::ApprovalView;
    use serde_json::json;

    /// A stage with the dialog awake, to which `kept` was kept before.
    fn open(view: ApprovalView, kept: Option<String>) -> Stage {
        let mut stage = Stage::new(80, 24);
        stage.state.layers.push(Layer::Approval(Box::new(Dialog::new(view))), stage.now);
        stage.state.dirty = true;
        stage.draw();
        let reads = |effect: &Effect| matches!(effect, Effect::ReadKept { key, .. } if key == "approval-1");
        assert_eq!(stage.effects.iter().filter(|effect| reads(effect)).count(), 1);
        stage.event(Event::Layer(layers::Msg::Dialog(Msg { id: "1".into(), what: News::Kept(kept) })));
        stage.wait(700);
        stage
    }

    /// What was kept last.
    fn kept(stage: &Stage) -> Option<String> {
        let of = |effect: &Effect| match effect {
            Effect::KeepUnsaved { key, text } if key == "approval-1" => Some(text.clone()),
            _ => None,
        };
        stage.effects.iter().rev().find_map(of).flatten()
    }

    #[test]
    fn what_was_changed_comes_back_as_changed_and_is_approved_by_a_person_only() {
        let mut stage = open(approval("1"), None);
        stage.keys("e ctrl-u").typed("8").keys("ctrl-s esc");
        assert!(!stage.state.layers.is_open());
        let text = kept(&stage);
        assert!(text.is_some());
        let mut stage = open(approval("1"), text.clone());
        assert!(
            stage.shows("order_id: 7 → 8") && stage.shows("Your changed arguments are back"),
            "{:#?}",
            stage.screen()
        );
        assert!(!stage.shows("[›Approve‹]") && stage.called("approvals.decide") == 0);
        for _ in 0..20 {
            stage.keys("down");
        }
        stage.keys("tab enter");
        let sent = stage.state.layers.dialog("1").unwrap().in_flight().unwrap();
        assert_eq!(sent.args, Some(json!({ "order_id": 8, "reason": "too late" })));

        // Changed back, nothing is kept any more.
        let mut stage = open(approval("1"), text);
        stage.keys("e ctrl-u").typed("7").keys("ctrl-s esc");
        assert_eq!(kept(&stage), None);
    }

    #[test]
    fn what_was_typed_and_not_taken_is_in_the_editor_again() {
        let mut stage = open(approval("1"), None);
        stage.keys("e ctrl-u").typed("0").wait(600);
        let text = kept(&stage);
        assert!(text.is_some(), "kept while one types");
        let mut stage = open(approval("1"), text);
        assert!(stage.shows("order_id: 7") && !stage.shows("→ 0") && stage.shows("is back in the editor"));
        stage.keys("e");
        assert!(stage.shows("at least 1") && stage.shows("● order_id"), "{:#?}", stage.screen());
    }

    #[test]
    fn a_hidden_value_is_written_to_no_file() {
        let view = ApprovalView {
            args: json!({ "api_key": "********", "n": 1 }),
            schema: json!({
                "type": "object", "properties": { "api_key": { "type": "string" }, "n": { "type": "integer" } }
            }),
            ..approval("1")
        };
        let mut stage = open(view.clone(), None);
        stage.keys("e ctrl-u").typed("sk-live-1234").keys("tab ctrl-u").typed("2").keys("ctrl-s esc");
        let text = kept(&stage).unwrap();
        assert!(!text.contains("sk-live") && text.contains("\"n\":2"), "{text}");
        let mut stage = open(view.clone(), Some(text));
        assert!(!stage.shows("→ 2"), "without it the arguments are not whole");
        stage.keys("e");
        assert!(stage.shows("'api_key' is shown hidden"), "{:#?}", stage.screen());

        let mut stage = open(view, None);
        stage.keys("e ctrl-u").typed("sk-live-1234").keys("ctrl-s esc");
        assert!(kept(&stage).is_none() && stage.shows("holds a hidden value, and is not kept"));
    }

    #[test]
    fn it_is_forgotten_when_the_call_is_answered() {
        let mut stage = open(approval("1"), None);
        crate::places::approvals::tests::waiting(&mut stage, vec![approval("1")]);
        stage.keys("e ctrl-u").typed("8").keys("ctrl-s esc");
        assert!(kept(&stage).is_some());
        crate::places::approvals::tests::waiting(&mut stage, vec![]);
        assert_eq!(kept(&stage), None);
    }
}
