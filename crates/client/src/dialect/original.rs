//! A Python Agent Studio as this program sees it: the dialect, and a short memory of the answers it gave.
//!
//! It keeps no turns, but whoever asks reads the turn afterwards to say how it ended; so the last answers are kept here.

use super::{Sent, answer_since, ask, request, shape};
use contract::ops::test::AskAnswer;
use contract::wire::{WireReply, WireRequest};
use contract::{Micros, Result};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many answers are kept.
const KEPT: usize = 32;

/// What to do for an operation.
pub enum Step {
    /// Send this, and give what comes back to [`Original::receive`].
    Send(Sent),
    /// This is the answer; nothing is sent.
    Done(WireReply),
}

/// A Python Agent Studio behind a URL, for one person.
#[derive(Debug, Default)]
pub struct Original {
    /// Oldest first.
    answers: Mutex<VecDeque<AskAnswer>>,
}

impl Original {
    /// What to do for an operation of ours.
    ///
    /// # Errors
    /// As [`request`], also for a turn that is not one of the last that were asked here.
    pub fn send(&self, id: &str, asked: &WireRequest) -> Result<Step> {
        if let ("turns.get", Some(turn)) = (id, asked.path.get("id"))
            && let Some(answer) = self.answers().iter().find(|answer| answer.turn == *turn)
        {
            return Ok(Step::Done(shape::reply(200, answer)));
        }
        request(id, asked).map(Step::Send)
    }

    /// Our answer, from what came back to a request that was sent at `began`.
    ///
    /// # Errors
    /// As [`super::answer`].
    pub fn receive(&self, id: &str, asked: &WireRequest, began: Micros, status: u16, body: Value) -> Result<WireReply> {
        if !(200..300).contains(&status) || !matches!(id, "test.ask" | "test.stream") {
            return answer_since(id, asked, began, status, body);
        }
        let answer = ask::read(asked, body)?;
        let reply = if id == "test.ask" { shape::reply(200, &answer) } else { ask::turn(&answer, began) };
        let mut answers = self.answers();
        if answers.len() == KEPT {
            answers.pop_front();
        }
        answers.push_back(answer);
        Ok(reply)
    }

    fn answers(&self) -> MutexGuard<'_, VecDeque<AskAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
