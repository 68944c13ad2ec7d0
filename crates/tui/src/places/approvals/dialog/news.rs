//! What becomes of an approval while its dialog is open: its time, the answers of the server, its end.

use super::ending::{ended, gone, time_left};
use super::{Dialog, Focus, LOOK_AGAIN_MS, Mode, Msg, News, drop_kept, read_one};
use crate::effect::Effect;
use crate::state::Ctx;
use contract::ops::approvals::ApprovalView;
use contract::{Code, StudioError};
use text::Safe;

impl Dialog {
    /// A time has come. Says whether something changed on screen.
    pub fn tick(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut changed = std::mem::take(&mut self.changed) | self.guard.tick(ctx.now);
        if self.keep_at.is_some_and(|at| at <= ctx.now) {
            self.keep(ctx);
        }
        if self.over.is_none() && self.clock.is_some() && self.count_due <= ctx.now {
            changed |= self.count_down(ctx);
        }
        changed
    }

    /// Works out the time that is left, and when it reads differently. Says whether it does now.
    fn count_down(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some((at, wall)) = self.clock else { return false };
        let passed = i64::try_from(ctx.now.saturating_sub(at)).unwrap_or(i64::MAX).saturating_mul(1_000);
        let left = self.view.expires_at.0.saturating_sub(wall.0).saturating_sub(passed);
        let left = u64::try_from(left).unwrap_or(0).div_ceil(1_000);
        let (text, step) = time_left(left);
        if left == 0 {
            ctx.effects.push(read_one(&self.view.id));
        }
        self.count_due = ctx.now + if left == 0 { LOOK_AGAIN_MS } else { left % step + 1 };
        ctx.effects.push(Effect::Wake(self.count_due));
        let changed = self.count != text;
        self.count = text;
        changed
    }

    /// Takes a message. Says whether the dialog is done.
    pub fn update(&mut self, msg: Msg, ctx: &mut Ctx<'_>) -> bool {
        match msg.what {
            News::Decided(Ok(_)) => return true,
            News::Kept(text) => self.take_kept(text.as_deref()),
            News::Decided(Err(error)) => self.refused(error),
            // The answer to one's own decision says more.
            News::Read { .. } if self.sent.is_some() || self.over.is_some() => {}
            News::Read { at, reply: Ok(view) } => {
                self.clock = Some((ctx.now, at));
                match ended(&view) {
                    Some(how) => {
                        ctx.effects.push(drop_kept(&self.view.id));
                        self.end(Some(view), how);
                    }
                    None => _ = self.count_down(ctx),
                }
            }
            News::Read { reply: Err(error), .. } if error.code == Code::NotFound => self.end(None, gone()),
            News::Read { .. } => {}
        }
        false
    }

    fn refused(&mut self, error: StudioError) {
        self.sent = None;
        self.focus = Focus::Text;
        let message = Safe::clean(&error.message).into_owned();
        let view = error.details.as_ref().and_then(|details| details.get("approval"));
        let view: Option<ApprovalView> = view.and_then(|view| serde_json::from_value(view.clone()).ok());
        match error.code {
            Code::AlreadyDecided | Code::ApprovalExpired => {
                let how = view.as_ref().and_then(ended).unwrap_or(message);
                self.end(view, how);
            }
            Code::NotFound => self.end(None, gone()),
            Code::InvalidArgs if self.edited.is_some() => {
                self.open_editor();
                match &mut self.editor {
                    Some(editor) => editor.error = Some(message),
                    None => self.note = Some(message),
                }
            }
            _ => self.note = Some(message),
        }
    }

    /// It is over: whoever types just now must see that first.
    fn end(&mut self, view: Option<ApprovalView>, how: Safe<'static>) {
        if let Some(view) = view.filter(|view| view.id == self.view.id) {
            self.view = view;
            self.revision += 1;
        }
        self.over = Some(how);
        self.mode = Mode::Look;
        self.focus = Focus::Text;
        self.guard.rearm();
    }
}
