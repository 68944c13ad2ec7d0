//! Calls of a server that speaks the other dialect.

use super::answer::Answer;
use super::exchange::{Repeat, Sending};
use super::{Proxy, verb};
use crate::dialect::{Start, Step};
use contract::operation::{Effect, Meta};
use contract::wire::{Method, WireReply, WireRequest};
use contract::{Code, Micros, Result, StudioError};

impl Proxy {
    /// Calls an operation in the other dialect. That server does not know a request again, so what changes something is sent
    /// once; and it answers a question only when everything is done, so that is waited for.
    pub(super) async fn call_original(&self, meta: &Meta, request: WireRequest) -> Result<WireReply> {
        let line = &self.0.line;
        let sent = match self.0.original.send(meta.id, &request)? {
            Step::Done(reply) => return Ok(reply),
            Step::Send(sent) => sent,
        };
        let url = match sent.start {
            Start::Base => line.address.at(&sent.path, &sent.query),
            Start::Root => line.address.at_root(&sent.path, &sent.query),
        };
        let sending = Sending {
            method: verb(sent.method),
            body: sent.body.map(|body| body.to_string().into_bytes()),
            repeat: if sent.method == Method::Get { Repeat::Freely } else { Repeat::Unsent },
            long: meta.effect == Effect::Run,
            ..Sending::get(url)
        };
        let began = Micros::now();
        match line.exchange(&sending, line.pace.patience).await? {
            // The page of something else, such as a sign-in.
            Answer::Whole(whole) if whole.is_success() && whole.json().is_none() => Err(whole.foreign()),
            Answer::Whole(whole) => self.0.original.receive(meta.id, &request, began, whole.status, whole.value()),
            Answer::Stream(_) => Err(StudioError::new(
                Code::InternalError,
                502,
                "The server answered with a stream of events where one answer was expected.",
            )),
        }
    }
}
