//! Single effects of a turn: ask the model, check a call, ask a person, run a read, run a write.

use super::drive::{Driven, not_approved};
use super::lease::append_in;
use super::state::CallState;
use crate::call::{self, Stopped};
use crate::context;
use crate::error::RuntimeError;
use contract::chat::Block;
use contract::turn::{CallResult, PlannedCall, TurnEvent};
use contract::{Code, Micros};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, select_biased};
use models::{Message, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Reply};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::StoreError;
use store::repo::approvals::ApprovalRow;
use store::repo::turns;
use tools::{Cleared, Unanswered};
use trust::approvals::{self, Consume, NotConsumed};

impl Driven {
    /// Asks the model, cutting the context in the open when it outgrows the window.
    pub(super) async fn ask_model(&mut self) -> Result<(), RuntimeError> {
        let mut is_written = std::mem::take(&mut self.is_unput);
        let earlier = match self.earlier.take() {
            Some(earlier) => earlier,
            None => Arc::new(self.runtime.earlier(&self.session.id, self.turn.n).await?),
        };
        self.earlier = Some(earlier.clone());
        let current = context::messages_of(&self.state);
        let tools = context::tool_specs(&self.instance);
        let system = self.agent.system_prompt.clone();
        let (provider, model) = self.turn.model.split_once(':').map_or((self.turn.model.as_str(), ""), |(p, m)| (p, m));
        let (provider, model) = (provider.to_owned(), model.to_owned());
        let again = self.state.steps.last().filter(|step| step.blocks.is_none());
        let (step, mut attempt) = match again {
            Some(open) => (self.state.steps.len() as u32, open.attempts + 1),
            None => (self.state.steps.len() as u32 + 1, 1),
        };
        let last_cut = self.state.steps.last().map_or(0, |step| step.cut);
        let mut cut = match is_written {
            true => last_cut,
            false => self.runtime.cut(&self.turn.model, &self.agent, &tools, &earlier, &current, last_cut),
        };

        loop {
            if !std::mem::take(&mut is_written) {
                self.append(vec![TurnEvent::ModelAsked { step, attempt, cut }]).await?;
            }
            let messages: Vec<Message> = earlier.iter().skip(cut as usize).flatten().chain(&current).cloned().collect();
            let request = ModelRequest {
                model: model.clone(),
                system: system.clone(),
                messages,
                tools: tools.clone(),
                params: self.agent.params.clone(),
            };
            let outcome = self.stream(&provider, request).await?;
            match outcome {
                Streamed::Reply(reply) => return self.replied(reply).await,
                Streamed::Stopped(by) => return self.append(vec![TurnEvent::Interrupted { by }]).await,
                Streamed::OutOfTime => {
                    return self.append(vec![TurnEvent::LimitHit { limit: contract::turn::Limit::Time }]).await;
                }
                Streamed::Failed(error)
                    if error.kind == ModelErrorKind::ContextTooLong && (cut as usize) < earlier.len() =>
                {
                    // The provider counts better than our estimate: leave out half of what is left and say so in the log.
                    let left = earlier.len() as u32 - cut;
                    cut += left.div_ceil(2);
                    attempt += 1;
                }
                Streamed::Failed(error) => {
                    let failed = TurnEvent::ModelFailed { status: error.status, message: error.message };
                    return self.append(vec![failed]).await;
                }
            }
        }
    }

    async fn stream(&mut self, provider: &str, request: ModelRequest) -> Result<Streamed, RuntimeError> {
        if self.client.is_none() {
            match self.runtime.client(provider, &self.turn.key_source, &self.turn.user_id).await {
                Ok(client) => self.client = Some(client),
                Err(error) => return Ok(Streamed::Failed(error)),
            }
        }
        let Some(client) = self.client.clone() else { return Err(RuntimeError::LeaseLost) };
        let limit = i64::try_from(self.state.limits.seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let left = Duration::from_micros(u64::try_from(limit.saturating_sub(self.state.worked)).unwrap_or(0));
        let mut stopped = self.runtime.stopped(&self.partition, &self.turn.id).boxed().fuse();
        let runtime = self.runtime.clone();
        let mut lost = runtime.keep(&self.lease).boxed().fuse();
        let mut stops = runtime.stops().boxed().fuse();
        let mut out_of_time = tokio::time::sleep(left).boxed().fuse();
        let seq = self.state.last_seq;
        let answer = async {
            let mut stream = client.stream(request).await?;
            while let Some(event) = stream.next().await {
                match event? {
                    ModelEvent::Text(text) => self.live.text(seq, &text),
                    ModelEvent::Reasoning(text) => self.live.reasoning(seq, &text),
                    ModelEvent::Done(reply) => return Ok(reply),
                    ModelEvent::CallStarted { .. }
                    | ModelEvent::CallArguments { .. }
                    | ModelEvent::CallReady { .. } => {}
                }
            }
            Err(ModelError::new(ModelErrorKind::Truncated, "The provider ended the answer before it was complete."))
        };
        let mut answer = std::pin::pin!(answer.fuse());
        select_biased! {
            reply = answer => Ok(match reply {
                Ok(reply) => Streamed::Reply(Box::new(reply)),
                Err(error) => Streamed::Failed(error),
            }),
            by = stopped => Ok(Streamed::Stopped(by)),
            error = lost => Err(error),
            // The question is asked again by whoever takes the turn up; nothing is lost with it.
            error = stops => Err(error),
            () = out_of_time => Ok(Streamed::OutOfTime),
        }
    }

    async fn replied(&mut self, reply: Box<Reply>) -> Result<(), RuntimeError> {
        let first = self.state.calls.len() as u32;
        let calls = reply.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        let calls: Vec<PlannedCall> = (first..)
            .zip(calls)
            .map(|(ordinal, call)| PlannedCall {
                ordinal,
                model_call_id: call.id.clone(),
                tool: call.name.clone(),
                args_text: call.args_text.clone(),
            })
            .collect();
        let Reply { blocks, usage, finish } = *reply;
        // Asked again it would say something else, and cost as much.
        self.append_surely(vec![TurnEvent::ModelReplied { blocks, calls, usage, finish }]).await
    }

    fn planned(&self, ordinal: u32) -> PlannedCall {
        self.state.calls[ordinal as usize].planned.clone()
    }

    /// Runs the gates of a call and writes down what would run.
    pub(super) async fn check(&mut self, ordinal: u32) -> Result<(), RuntimeError> {
        let planned = self.planned(ordinal);
        let request = self.request().await?;
        let event = match call::check(&self.instance, &request, &planned.tool, &planned.args_text) {
            Ok(passed) => TurnEvent::CallChecked {
                ordinal,
                tool: passed.facts.name().to_owned(),
                needs_approval: passed.facts.needs_approval(),
                args_hash: passed.args.hash(),
                digest: passed.facts.digest().to_owned(),
                args: approvals::masked(passed.args.value()),
            },
            Err(Stopped { code, message }) => TurnEvent::CallRefused { ordinal, code, message },
        };
        self.append(vec![event]).await
    }

    /// Asks a person: the record is there before anybody is asked.
    pub(super) async fn open_approval(&mut self, ordinal: u32) -> Result<(), RuntimeError> {
        let planned = self.planned(ordinal);
        let refused = |code, message| TurnEvent::CallRefused { ordinal, code, message };
        let request = self.request().await?;
        let passed = match call::check(&self.instance, &request, &planned.tool, &planned.args_text) {
            Ok(passed) => passed,
            Err(Stopped { code, message }) => return self.append(vec![refused(code, message)]).await,
        };
        let facts = passed.facts;
        let bound = match self.instance.bound(facts, &passed.scope) {
            Ok(bound) => bound,
            Err(why) => return self.append(vec![refused(Code::InstantiationFailed, why)]).await,
        };
        let preview = bound.preview(&passed.scope, &passed.args, Duration::from_secs(10)).await;
        let now = Micros::now();
        let seconds = facts.approval_seconds().unwrap_or(self.runtime.settings.approval_seconds);
        let row = ApprovalRow {
            id: String::new(),
            partition: self.partition.as_str().to_owned(),
            requested_by: self.turn.user_id.clone(),
            agent_id: self.agent.agent_id.clone(),
            agent_name: self.agent.name.clone(),
            agent_version: self.turn.agent_version,
            model: self.turn.model.clone(),
            session_id: self.session.id.clone(),
            session_name: self.session.name.clone(),
            turn_id: self.turn.id.clone(),
            ordinal,
            tool: facts.name().to_owned(),
            slug: facts.slug().to_owned(),
            method: facts.method().to_owned(),
            source: facts.source().as_str().to_owned(),
            digest: facts.digest().to_owned(),
            instance_id: self.instance.id.clone(),
            args: String::new(),
            args_sealed: None,
            args_hash: String::new(),
            schema: facts.schema().to_string(),
            preview: preview.map(|p| p.to_string()),
            rule: facts.rule().unwrap_or_default().to_owned(),
            deciders: self.runtime.deciders(&self.partition).await?,
            four_eyes: facts.four_eyes(),
            editable: facts.editable(),
            status: contract::ops::approvals::ApprovalStatus::Pending,
            created_at: now,
            expires_at: now.plus_seconds(seconds),
            decided_by: None,
            decided_at: None,
            reason: None,
            edited_args: None,
            edited_sealed: None,
            edited_hash: None,
            consumed_at: None,
            replaced_by: None,
        };
        let request = match approvals::Request::new(self.runtime.vault.as_deref(), row, passed.args.value()) {
            Ok(request) => request,
            Err(error) => return self.append(vec![refused(Code::VaultUnavailable, error.to_string())]).await,
        };
        let (lease, seconds) = (self.lease.clone(), self.runtime.settings.lease_seconds);
        let logged = self
            .runtime
            .store
            .write(move |tx| -> Result<_, RuntimeError> {
                approvals::request(tx, Micros::now(), &request)?;
                let asked = TurnEvent::ApprovalAsked { ordinal, approval: request.id().to_owned() };
                append_in(tx, &lease, seconds, &[asked])
            })
            .await?;
        for event in &logged {
            self.state.apply(event);
        }
        Ok(())
    }

    /// Runs reads side by side. Their results go into the log together, in one commit, when the last has come: what is lost
    /// with the process until then is read again.
    pub(super) async fn run_reads(&mut self, ordinals: &[u32]) -> Result<(), RuntimeError> {
        let mut ready = Vec::new();
        let mut events = Vec::new();
        let request = self.request().await?;
        for &ordinal in ordinals {
            let planned = self.planned(ordinal);
            match call::check(&self.instance, &request, &planned.tool, &planned.args_text) {
                Ok(passed) => match self.instance.bound(passed.facts, &passed.scope) {
                    Ok(bound) => match Cleared::unenforced(&bound, passed.scope, passed.args) {
                        Ok(cleared) => {
                            events.push(TurnEvent::CallStarted {
                                ordinal,
                                epoch: self.lease.epoch,
                                approval: None,
                                edited_args: None,
                            });
                            ready.push((ordinal, cleared));
                        }
                        Err(why) => events.push(TurnEvent::CallRefused {
                            ordinal,
                            code: Code::ConfirmationRequired,
                            message: why.to_string(),
                        }),
                    },
                    Err(message) => {
                        events.push(TurnEvent::CallRefused { ordinal, code: Code::InstantiationFailed, message });
                    }
                },
                Err(Stopped { code, message }) => events.push(TurnEvent::CallRefused { ordinal, code, message }),
            }
        }
        self.append(events).await?;
        let within = Duration::from_secs(self.runtime.settings.call_seconds);
        let runs = join_all(ready.into_iter().map(|(ordinal, cleared)| async move {
            let result = cleared.execute(within).await.unwrap_or_else(Unanswered::into_result);
            TurnEvent::CallEnded { ordinal, result }
        }));
        let runtime = self.runtime.clone();
        let lease = self.lease.clone();
        let ended = tokio::select! {
            ended = runs => ended,
            error = runtime.keep(&lease) => return Err(error),
            error = runtime.stops() => return Err(error),
            by = runtime.stopped(&self.partition, &self.turn.id) => vec![TurnEvent::Interrupted { by }],
        };
        if ended.is_empty() { Ok(()) } else { self.append(ended).await }
    }

    /// Runs a write, if a person has said yes. Whether they have is decided by the consumption alone: there is no other
    /// look at the record on the way to the tool.
    pub(super) async fn try_write(&mut self, ordinal: u32) -> Result<(), RuntimeError> {
        let call = &self.state.calls[ordinal as usize];
        if call.state != CallState::Asked {
            return Ok(());
        }
        let Some(approval) = call.approval.clone() else { return Ok(()) };
        // Hours may have passed since the question: what the person may do is asked anew before their yes is used.
        let request = self.request_anew().await?;
        let planned = self.planned(ordinal);
        let passed = match call::check(&self.instance, &request, &planned.tool, &planned.args_text) {
            Ok(passed) => passed,
            Err(Stopped { code, message }) => {
                return self.append(vec![TurnEvent::CallRefused { ordinal, code, message }]).await;
            }
        };
        let call::Passed { facts, scope, .. } = passed;
        let bound = match self.instance.bound(facts, &scope) {
            Ok(bound) => bound,
            Err(message) => {
                let code = Code::InstantiationFailed;
                return self.append(vec![TurnEvent::CallRefused { ordinal, code, message }]).await;
            }
        };
        let want = Consume {
            partition: self.partition.clone(),
            id: approval.clone(),
            turn_id: self.turn.id.clone(),
            ordinal,
            tool: facts.name().to_owned(),
            digest: facts.digest().to_owned(),
            agent_version: self.turn.agent_version,
            void_seconds: self.runtime.settings.void_seconds,
        };
        let (lease, seconds) = (self.lease.clone(), self.runtime.settings.lease_seconds);
        // The refusal of our part travels as an error of the store's; this tells it from one.
        let fenced = Arc::new(AtomicBool::new(false));
        let fencing = fenced.clone();
        let consumed = approvals::consume(&self.runtime.store, self.runtime.vault.clone(), want, move |tx, row| {
            let edited_args: Option<Value> =
                row.edited_args.as_deref().and_then(|text| serde_json::from_str(text).ok());
            let started =
                TurnEvent::CallStarted { ordinal, epoch: lease.epoch, approval: Some(row.id.clone()), edited_args };
            append_in(tx, &lease, seconds, &[started]).map(drop).map_err(|error| match error {
                RuntimeError::Store(error) => error,
                other => {
                    fencing.store(true, Ordering::Relaxed);
                    StoreError::Decode(other.to_string())
                }
            })
        })
        .await;
        let approval = match consumed {
            Ok(approval) => approval,
            Err(NotConsumed::Stands(row)) => {
                return match not_approved(&row) {
                    Some(how) => {
                        self.append(vec![TurnEvent::ApprovalSettled { ordinal, approval: row.id.clone(), how }]).await
                    }
                    None => Ok(()),
                };
            }
            Err(NotConsumed::Absent) => return Ok(()),
            Err(NotConsumed::Sealed(why)) => {
                let refused =
                    TurnEvent::CallRefused { ordinal, code: Code::ConfirmationRequired, message: format!("{why}.") };
                return self.append(vec![refused]).await;
            }
            Err(NotConsumed::Store(_)) if fenced.load(Ordering::Relaxed) => return Err(RuntimeError::LeaseLost),
            Err(NotConsumed::Store(error)) => return Err(error.into()),
        };
        self.refold().await?;
        store::fault::point("call_started");
        let ended = match Cleared::approved(&bound, scope, approval) {
            Ok(cleared) => {
                let runtime = self.runtime.clone();
                let lease = self.lease.clone();
                let run = cleared.execute(Duration::from_secs(self.runtime.settings.call_seconds));
                let mut run = std::pin::pin!(run);
                // A write that runs is never dropped half-way, and what came of it is written whenever it still can be:
                // only who has taken the turn over meanwhile may call its outcome unknown.
                let answered = tokio::select! {
                    answered = &mut run => answered,
                    error = runtime.keep(&lease) => {
                        tracing::warn!(turn = lease.turn, %error, "the lease ended while a write runs");
                        run.await
                    }
                };
                match answered {
                    Ok(result) => TurnEvent::CallEnded { ordinal, result },
                    // It may still happen: a tool that did not answer in time is not a tool that did nothing.
                    Err(_) => TurnEvent::CallUnknown { ordinal },
                }
            }
            Err(why) => {
                let code = Some(Code::ConfirmationRequired.as_str().into());
                let result = CallResult { ok: false, value: Value::Null, error: Some(why.to_string()), code };
                TurnEvent::CallEnded { ordinal, result }
            }
        };
        self.append_surely(vec![ended]).await?;
        store::fault::point("end_written");
        Ok(())
    }

    /// Reads what a transaction of ours has added to the log.
    async fn refold(&mut self) -> Result<(), RuntimeError> {
        let (turn, after) = (self.turn.id.clone(), self.state.last_seq);
        let events = self.runtime.store.read(move |tx| turns::events(tx, &turn, after)).await?;
        for event in &events {
            self.state.apply(event);
        }
        Ok(())
    }
}

enum Streamed {
    Reply(Box<Reply>),
    Failed(ModelError),
    Stopped(String),
    OutOfTime,
}
