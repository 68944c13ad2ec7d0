//! A turn as callers see it.

use crate::turn::results;
use crate::turn::state::{CallState, State};
use crate::{Runtime, store_refusal};
use contract::ops::test::{AskAnswer, TestSession, TranscriptTurn};
use contract::turn::TurnStatus;
use contract::{Code, StudioError};
use rules::partition::Partition;
use serde_json::json;
use store::StoreError;
use store::repo::sessions::{self, SessionRow};
use store::repo::turns::{self, TurnRow};

impl Runtime {
    /// A turn with its session, if it is this person's.
    ///
    /// # Errors
    /// 404, the same for absent and foreign turns.
    pub async fn turn(
        &self,
        partition: &Partition,
        user: &str,
        id: &str,
    ) -> Result<(TurnRow, SessionRow), StudioError> {
        let (p, turn_id) = (partition.clone(), id.to_owned());
        let found = self
            .store
            .read(move |tx| -> Result<_, StoreError> {
                let Some(turn) = turns::get(tx, &p, &turn_id)? else { return Ok(None) };
                Ok(sessions::get(tx, &turn.session_id)?.map(|session| (turn, session)))
            })
            .await
            .map_err(store_refusal)?;
        found.filter(|(turn, _)| turn.user_id == user).ok_or_else(|| StudioError::not_found("Turn", id))
    }

    /// A turn as an answer.
    ///
    /// # Errors
    /// Of the store.
    pub async fn view(&self, partition: &Partition, id: &str) -> Result<AskAnswer, StudioError> {
        let (p, turn_id) = (partition.clone(), id.to_owned());
        let read = self
            .store
            .read(move |tx| -> Result<_, StoreError> {
                let Some(turn) = turns::get(tx, &p, &turn_id)? else { return Ok(None) };
                let Some(session) = sessions::get(tx, &turn.session_id)? else { return Ok(None) };
                let events = turns::events(tx, &turn.id, 0)?;
                let current = crate::agent::current_version(tx, &p, &session.agent_id)?;
                Ok(Some((turn, session, events, current)))
            })
            .await
            .map_err(store_refusal)?;
        let (turn, session, events, current) = read.ok_or_else(|| StudioError::not_found("Turn", id))?;
        let state = State::of(&events);
        Ok(answer(&turn, &session, &state, current))
    }

    /// Calls of a turn whose outcome is unknown.
    pub(crate) async fn unknown_calls(&self, turn: &str) -> Result<Vec<u32>, StudioError> {
        let id = turn.to_owned();
        let events = self.store.read(move |tx| turns::events(tx, &id, 0)).await.map_err(store_refusal)?;
        Ok(unknown(&State::of(&events)))
    }

    /// The person's sessions with an agent.
    ///
    /// # Errors
    /// Of the store.
    pub async fn sessions(
        &self,
        partition: &Partition,
        user: &str,
        agent_id: &str,
    ) -> Result<Vec<TestSession>, StudioError> {
        let (partition, user, agent) = (partition.clone(), user.to_owned(), agent_id.to_owned());
        let (rows, current) = self
            .store
            .read(move |tx| -> Result<_, StoreError> {
                let rows = sessions::list(tx, &partition, &user, &agent)?;
                Ok((rows, crate::agent::current_version(tx, &partition, &agent)?))
            })
            .await
            .map_err(store_refusal)?;
        let view = |(row, turns): (SessionRow, i64)| TestSession {
            stale: current != Some(row.agent_version),
            session: row.name,
            agent_version: row.agent_version,
            started_at: row.started_at,
            last_at: row.last_at,
            turns,
        };
        Ok(rows.into_iter().map(view).collect())
    }

    /// A session of the person with an agent: the named one, else the default one of the credential.
    ///
    /// # Errors
    /// Of the store.
    pub async fn session(
        &self,
        partition: &Partition,
        user: &str,
        agent_id: &str,
        name: Option<&str>,
        credential: &str,
    ) -> Result<Option<SessionRow>, StudioError> {
        let (partition, user, agent) = (partition.clone(), user.to_owned(), agent_id.to_owned());
        let (name, credential) = (name.map(str::to_owned), credential.to_owned());
        self.store
            .read(move |tx| match &name {
                Some(name) => sessions::find(tx, &partition, &user, &agent, name),
                None => sessions::find_default(tx, &partition, &user, &agent, &credential),
            })
            .await
            .map_err(store_refusal)
    }

    /// The turns of a session with their logs.
    ///
    /// # Errors
    /// Of the store.
    pub async fn transcript(&self, session_id: &str) -> Result<Vec<TranscriptTurn>, StudioError> {
        let id = session_id.to_owned();
        self.store
            .read_long(move |tx| -> Result<_, StoreError> {
                let rows = turns::of_session(tx, &id)?;
                rows.into_iter()
                    .map(|row| {
                        Ok(TranscriptTurn { events: turns::events(tx, &row.id, 0)?, turn: row.id, status: row.status })
                    })
                    .collect()
            })
            .await
            .map_err(store_refusal)
    }
}

fn unknown(state: &State) -> Vec<u32> {
    state.calls.iter().filter(|c| c.state == CallState::Unknown).map(|c| c.planned.ordinal).collect()
}

fn answer(turn: &TurnRow, session: &SessionRow, state: &State, current: Option<i64>) -> AskAnswer {
    let response = match &state.ended {
        Some((TurnStatus::Failed, _)) => String::new(),
        Some((_, text)) => text.clone(),
        None => String::new(),
    };
    let waiting: Vec<&str> = state
        .calls
        .iter()
        .filter(|call| call.state == CallState::Asked)
        .filter_map(|call| call.approval.as_deref())
        .collect();
    let mut metadata = json!({});
    if !waiting.is_empty() {
        metadata["error_code"] = Code::ConfirmationRequired.as_str().into();
        metadata["approvals"] = json!(waiting);
    }
    let unknown = unknown(state);
    if !unknown.is_empty() {
        metadata["unknown_calls"] = json!(unknown);
    }
    if let Some((TurnStatus::Failed, text)) = &state.ended {
        metadata["error_code"] = Code::QueryFailed.as_str().into();
        metadata["error"] = text.clone().into();
    }
    let cut = state.steps.iter().map(|step| step.cut).max().unwrap_or_default();
    if cut > 0 {
        metadata["turns_left_out"] = cut.into();
    }
    AskAnswer {
        agent_name: session.agent_name.clone(),
        query: state.text.clone(),
        response,
        metadata,
        byok: turn.key_source == "byok",
        key_source: turn.key_source.clone(),
        session: session.name.clone(),
        turn: turn.id.clone(),
        status: turn.status,
        agent_version: turn.agent_version,
        stale: current != Some(turn.agent_version),
        usage: state.usage,
        tool_calls: state.calls.iter().map(results::view).collect(),
    }
}
