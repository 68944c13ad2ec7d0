//! The question whether a call may run, as text: all of it first, then only a whole word that was typed afterwards counts.

use super::input::{Input, Typed};
use crate::cli::approvals::fields;
use crate::cli::ctx::Ctx;
use crate::cli::exit::Failure;
use crate::cli::table::lines;
use contract::ops::approvals::{ApprovalStatus, ApprovalView, DecideApproval, Decision, DecisionBody, GetApproval};
use contract::ops::common::IdPath;
use contract::wire::{Json, NoBody, NoQuery};
use std::time::{Duration, Instant};
use tui::places::approvals::dialog::guard::SETTLE_MS;

/// An open question.
pub struct Question {
    view: ApprovalView,
    /// What begins before this was typed for something else: nobody has heard the question yet.
    ready: Instant,
}

/// What a line did to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is still open.
    Nothing,
    /// It is answered, or nobody can answer it any more.
    Closed,
    /// The person leaves it open.
    Later,
}

/// What an answer means; none = it is none.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Approve,
    Reject(Option<String>),
    Later,
}

fn answer(text: &str) -> Option<Answer> {
    let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let rest = rest.trim();
    match word {
        "approve" if rest.is_empty() => Some(Answer::Approve),
        "reject" => Some(Answer::Reject((!rest.is_empty()).then(|| rest.to_owned()))),
        "later" if rest.is_empty() => Some(Answer::Later),
        _ => None,
    }
}

impl Question {
    /// Reads an approval and asks. None: it is not pending, or somebody else decides; then it is only told.
    pub async fn ask(ctx: &Ctx, input: &mut Input, id: &str) -> Result<Option<Self>, Failure> {
        let Json(view) = ctx.call::<GetApproval>(IdPath { id: id.to_owned() }, NoQuery, NoBody).await?;
        let out = &ctx.out;
        let pending = view.status == ApprovalStatus::Pending;
        out.line(if pending { "\nA person has to approve this call:" } else { "\nThis approval is no longer open:" })?;
        for line in lines(&fields(&view)) {
            out.line(&format!("  {line}"))?;
        }
        if !pending {
            return Ok(None);
        }
        if !view.may_decide {
            out.line("Somebody else decides this. Type leave to go on with something else meanwhile.")?;
            return Ok(None);
        }
        out.line("Type approve to run exactly this call once, reject and a reason, or later.")?;
        // After the last word of the question: what came while it was written was not meant for it either.
        let dropped = input.discard();
        if dropped > 0 {
            out.line(&format!("{dropped} line(s) typed before do not count."))?;
        }
        Ok(Some(Self { view, ready: Instant::now() + Duration::from_millis(SETTLE_MS) }))
    }

    /// The approval.
    pub fn id(&self) -> &str {
        &self.view.id
    }

    /// The turn that waits for it.
    pub fn turn(&self) -> &str {
        &self.view.turn
    }

    /// Whether it is still pending.
    pub async fn is_open(&self, ctx: &Ctx) -> Result<bool, Failure> {
        let path = IdPath { id: self.view.id.clone() };
        let Json(view) = ctx.call::<GetApproval>(path, NoQuery, NoBody).await?;
        Ok(view.status == ApprovalStatus::Pending)
    }

    /// Takes a line.
    pub async fn hear(&self, ctx: &Ctx, line: &Typed) -> Result<Said, Failure> {
        let out = &ctx.out;
        if line.began < self.ready {
            out.line("That was typed before the question could be read and does not count.")?;
            return Ok(Said::Nothing);
        }
        let body = match answer(&line.text) {
            Some(Answer::Approve) => DecisionBody { decision: Decision::Approve, args: None, reason: None },
            Some(Answer::Reject(reason)) => DecisionBody { decision: Decision::Reject, args: None, reason },
            Some(Answer::Later) => {
                out.line("It stays open; type approvals to see what waits.")?;
                return Ok(Said::Later);
            }
            None => {
                out.line("Nothing was decided. Type the whole word: approve, or reject and a reason, or later.")?;
                return Ok(Said::Nothing);
            }
        };
        let path = IdPath { id: self.view.id.clone() };
        match ctx.call::<DecideApproval>(path, NoQuery, body).await {
            Ok(Json(view)) => out.line(&format!("{} is {}.", view.tool, view.status.as_str()))?,
            // Whoever was faster, the person hears what became of it.
            Err(Failure::Studio(error)) => out.failure(&Failure::Studio(error), &ctx.way)?,
            Err(other) => return Err(other),
        }
        Ok(Said::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer};

    #[test]
    fn only_the_whole_word_answers() {
        assert_eq!(answer(" approve "), Some(Answer::Approve));
        assert_eq!(answer("reject not today"), Some(Answer::Reject(Some("not today".into()))));
        assert_eq!((answer("reject"), answer("later")), (Some(Answer::Reject(None)), Some(Answer::Later)));
        for none in
            ["", "a", "y", "yes", "Approve", "approve it", "approved", "appro", "/approve", "rejecting", "later on"]
        {
            assert_eq!(answer(none), None, "{none}");
        }
    }
}
