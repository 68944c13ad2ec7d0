//! The beginning of a turn: session, model, key, and the first entry of the log.

use crate::agent;
use crate::context;
use crate::keys::KeyChoice;
use crate::standing::Standing;
use crate::turn::drive::{Held, Known};
use crate::turn::lease::Lease;
use crate::{Runtime, RuntimeError};
use contract::turn::{PlannedCall, TurnEvent, TurnStatus};
use contract::{Code, Micros, StudioError, ids};
use models::Message;
use rules::partition::Partition;
use serde_json::json;
use store::repo::sessions::{self, SessionRow};
use store::repo::turns::{self, TurnRow};
use store::{StoreError, Tx};

/// How often an ask looks for another session when the one it found has ended meanwhile.
const BEGIN_TRIES: u32 = 5;

/// What is asked, by whom.
#[derive(Clone)]
#[allow(missing_docs)]
pub struct Ask {
    pub partition: Partition,
    pub user: String,
    /// Names the credential; its default session hangs on it.
    pub credential: String,
    pub agent_id: String,
    /// Name of a session; none = the default one.
    pub session: Option<String>,
    pub text: String,
    /// Another model for the session, already allowed.
    pub model: Option<String>,
    pub key: KeyChoice,
    /// What the person may do, asked anew whenever it matters.
    pub standing: Standing,
}

/// A turn that has begun.
pub(crate) struct Begun {
    pub turn: String,
    pub session: String,
    pub held: Held,
}

impl Runtime {
    /// Begins a turn and drives it in the background. Answers the ids of turn and session name.
    ///
    /// # Errors
    /// The refusals of an ask.
    pub async fn ask(&self, ask: Ask) -> Result<(String, String), StudioError> {
        let runtime = self.clone();
        // Whoever asked may leave between the commit and the drive; the turn must not stay without a driver.
        let begun = tokio::spawn(async move {
            let (partition, standing) = (ask.partition.clone(), ask.standing.clone());
            let begun = runtime.begin(ask, None).await?;
            runtime.spawn(partition, begun.turn.clone(), standing, Some(begun.held));
            Ok((begun.turn, begun.session))
        });
        begun.await.map_err(|_| StudioError::internal())?
    }

    /// Begins a turn. With `call`, the model is not asked first: the turn starts with this call, as if it had been wanted
    /// just now.
    pub(crate) async fn begin(&self, ask: Ask, call: Option<PlannedCall>) -> Result<Begun, StudioError> {
        for _ in 0..BEGIN_TRIES {
            if let Some(begun) = self.try_begin(&ask, call.clone()).await? {
                return Ok(begun);
            }
        }
        Err(StudioError::new(Code::TurnOpen, 409, "The session ends at this moment. Ask again."))
    }

    /// None when the session ended between the look at it and the beginning.
    async fn try_begin(&self, ask: &Ask, call: Option<PlannedCall>) -> Result<Option<Begun>, StudioError> {
        let found = self.find(ask).await?;
        let (session, version) = (found.session, found.version);
        let llm = ask.model.as_ref().or(session.model.as_ref()).or(version.llm.as_ref()).ok_or_else(|| {
            StudioError::new(
                Code::Unavailable,
                503,
                "This agent has no model. Give it one, such as 'rehearsal:greeter'.",
            )
        })?;
        let (provider, model) =
            self.models.resolve(llm).map_err(|why| StudioError::new(Code::Unavailable, 503, why))?;
        let instance = self.instance(&ask.partition, &session.id, &version)?;
        let key_source = self.key_source(&provider, &ask.user, &ask.key).await?;

        let now = Micros::now();
        let model = format!("{provider}:{model}");
        let limits = self.settings.limits;
        let mut turn = TurnRow {
            id: ids::log_id(),
            session_id: session.id.clone(),
            partition: ask.partition.as_str().to_owned(),
            user_id: ask.user.clone(),
            n: found.turns + 1,
            status: TurnStatus::Running,
            agent_version: version.version,
            model: model.clone(),
            key_source: key_source.to_owned(),
            limits,
            lease_owner: Some(self.owner()),
            lease_epoch: 1,
            lease_until: Some(now.plus_seconds(self.settings.lease_seconds)),
            last_seq: 0,
            stop_asked_by: None,
            created_at: now,
        };
        let lease = Lease {
            turn: turn.id.clone(),
            epoch: turn.lease_epoch,
            partition: ask.partition.clone(),
            user: ask.user.clone(),
        };
        let mut events = vec![TurnEvent::Started {
            text: ask.text.clone(),
            agent_version: version.version,
            model: model.clone(),
            limits,
        }];
        // Each commit is a wait for the disk; the first question goes into that of the beginning, so that there is one of them
        // before the model is asked.
        let earlier = match call {
            Some(call) => {
                events.extend(planned(call));
                None
            }
            None => {
                let earlier = match found.is_new {
                    true => Vec::new(),
                    false => self.earlier(&session.id, turn.n).await?,
                };
                let current = [Message::User { text: ask.text.clone() }];
                let tools = context::tool_specs(&instance);
                let cut = self.cut(&model, &version, &tools, &earlier, &current, 0);
                events.push(TurnEvent::ModelAsked { step: 1, attempt: 1, cut });
                Some(earlier)
            }
        };
        let override_model = ask.model.clone();
        let (is_new, row) = (found.is_new, turn.clone());
        let of = session.clone();
        let written = self
            .store
            .write(move |tx| -> Result<_, StoreError> {
                if is_new {
                    sessions::insert(tx, &of)?;
                } else if sessions::get(tx, &of.id)?.is_none_or(|now| now.ended_at.is_some()) {
                    return Ok(None);
                }
                sessions::touch(tx, &of.id, now, override_model.as_deref())?;
                let n = turns::last_of_session(tx, &of.id)?.map_or(1, |last| last.n + 1);
                // Another turn has come and gone meanwhile: the question would leave it out.
                let is_late = n != row.n && matches!(events.last(), Some(TurnEvent::ModelAsked { .. }));
                let events = &events[..events.len() - usize::from(is_late)];
                let logged = turns::begin(tx, &TurnRow { n, ..row.clone() }, events)?;
                Ok(Some((n, logged)))
            })
            .await;
        match written {
            Ok(None) => Ok(None),
            Ok(Some((n, events))) => {
                let earlier = earlier.filter(|_| n == turn.n);
                turn.n = n;
                let (id, name) = (turn.id.clone(), session.name.clone());
                let known = Some(Known { session, agent: version, instance, events, earlier });
                Ok(Some(Begun { turn: id, session: name, held: Held { lease, turn, known } }))
            }
            Err(StoreError::Unique) => Err(turn_open(&session.name, &[])),
            Err(error) => Err(crate::store_refusal(error)),
        }
    }

    /// The session an ask goes to, and the agent's version it runs on.
    async fn find(&self, ask: &Ask) -> Result<Found, StudioError> {
        let ask = ask.clone();
        self.store
            .read(move |tx| -> Result<Found, RuntimeError> {
                let existing = match &ask.session {
                    Some(name) => sessions::find(tx, &ask.partition, &ask.user, &ask.agent_id, name)?
                        .filter(|session| session.ended_at.is_none()),
                    None => sessions::find_default(tx, &ask.partition, &ask.user, &ask.agent_id, &ask.credential)?,
                };
                if let Some(session) = existing {
                    let last = turns::last_of_session(tx, &session.id)?;
                    let turns = last.as_ref().map_or(0, |turn| turn.n);
                    match last.filter(|turn| !turn.status.is_over()) {
                        None => {
                            let version = agent::load(tx, &ask.agent_id, session.agent_version)?.ok_or_else(gone)?;
                            return Ok(Found { session, version, is_new: false, turns });
                        }
                        Some(turn) if ask.session.is_some() => {
                            return Err(turn_open(&session.name, &open_approvals(tx, &turn.id)?).into());
                        }
                        // The default session is busy: what waits there goes on waiting, this ask gets a new one.
                        Some(_) => {}
                    }
                }
                let current = agent::current_version(tx, &ask.partition, &ask.agent_id)?.ok_or_else(gone)?;
                let version = agent::load(tx, &ask.agent_id, current)?.ok_or_else(gone)?;
                let id = ids::record_id();
                let now = Micros::now();
                let session = SessionRow {
                    name: ask.session.clone().unwrap_or_else(|| id.replace('-', "")[..12].to_owned()),
                    id,
                    partition: ask.partition.as_str().to_owned(),
                    user_id: ask.user.clone(),
                    agent_id: ask.agent_id.clone(),
                    agent_name: version.name.clone(),
                    credential: ask.session.is_none().then(|| ask.credential.clone()),
                    agent_version: current,
                    model: None,
                    started_at: now,
                    last_at: now,
                    ended_at: None,
                };
                Ok(Found { session, version, is_new: true, turns: 0 })
            })
            .await
            .map_err(StudioError::from)
    }
}

struct Found {
    session: SessionRow,
    version: agent::AgentVersion,
    is_new: bool,
    /// How many turns the session has.
    turns: i64,
}

/// The log of a turn that starts with a call.
fn planned(call: PlannedCall) -> [TurnEvent; 2] {
    use contract::chat::{Block, Finish, ModelCall};
    let block = Block::Call(ModelCall {
        id: call.model_call_id.clone(),
        name: call.tool.clone(),
        args_text: call.args_text.clone(),
    });
    [
        TurnEvent::ModelAsked { step: 1, attempt: 1, cut: 0 },
        TurnEvent::ModelReplied { blocks: vec![block], calls: vec![call], usage: None, finish: Finish::ToolCalls },
    ]
}

fn gone() -> RuntimeError {
    StudioError::new(Code::NotFound, 404, "The agent is not there any more, or is disabled.").into()
}

fn open_approvals(tx: &mut dyn Tx, turn: &str) -> Result<Vec<String>, StoreError> {
    use contract::ops::approvals::ApprovalStatus::Pending;
    let rows = store::repo::approvals::of_turn(tx, turn)?;
    Ok(rows.into_iter().filter(|a| a.status == Pending).map(|a| a.id).collect())
}

fn turn_open(session: &str, approvals: &[String]) -> StudioError {
    StudioError::new(
        Code::TurnOpen,
        409,
        format!("Session '{session}' has a turn that is not over. Resume it, answer what it waits for, or use another session."),
    )
    .with(json!({ "session": session, "approvals": approvals }))
}
