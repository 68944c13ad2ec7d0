//! The test chat: ask, stream, end, sessions, transcript.

use crate::{Admitted, Engine, Serve};
use contract::ops::common::{NamePath, trimmed};
use contract::ops::test::{
    Ask, AskAnswer, AskBody, AskDefer, AskStream, Deferred, EndTest, ListTestSessions, SessionQuery, TestEnded,
    TestSessions, TestTranscript, Transcript,
};
use contract::turn::{TurnStatus, Watched};
use contract::wire::{Events, Json, Late, NoBody, NoQuery};
use contract::{Code, Result, StudioError};
use rules::partition::Partition;
use runtime::KeyChoice;
use std::time::Duration;
use store::repo::agents::Head;

/// Longest time for which an ask waits for people, in seconds: a day, as long as an approval lives.
const MOST_WAIT: u64 = 86_400;

/// A turn that has begun for a caller.
struct Begun {
    partition: Partition,
    turn: String,
    session: String,
    wait: Option<u64>,
}

impl Engine {
    async fn begin(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        body: Late<AskBody>,
    ) -> Result<Begun> {
        let (head, verdict) = self.visible(&who, &path.name).await?;
        let body = body.open()?;
        if trimmed(&body.query).is_empty() {
            return Err(StudioError::invalid_request("'query' must say something."));
        }
        if body.wait.is_some_and(|seconds| seconds > MOST_WAIT) {
            return Err(StudioError::invalid_request(format!("'wait' is at most {MOST_WAIT} seconds.")));
        }
        let session = session_name(&who, query.open()?, body.session)?;
        if !head.active {
            return Err(StudioError::new(Code::Unavailable, 503, "The agent is disabled."));
        }
        if body.model.is_some() && !verdict.can_manage {
            return Err(StudioError::new(
                Code::NotManageable,
                403,
                "Only those who manage the agent may test it with another model.",
            ));
        }
        let partition = who.partition()?.clone();
        let (turn, session) = self
            .runtime
            .ask(runtime::Ask {
                standing: self.standing(&who, &head),
                partition: partition.clone(),
                credential: who.sign_in.credential.clone(),
                user: who.user,
                agent_id: head.id,
                session,
                text: body.query,
                model: body.model,
                key: KeyChoice { use_byok: body.use_byok, source: body.key_source },
            })
            .await?;
        Ok(Begun { partition, turn, session, wait: body.wait })
    }

    /// A session of the caller with an agent, by the query or the transport.
    async fn own_session(
        &self,
        who: &Admitted,
        head: &Head,
        name: Option<String>,
    ) -> Result<Option<store::repo::sessions::SessionRow>> {
        let partition = who.partition()?;
        self.runtime.session(partition, &who.user, &head.id, name.as_deref(), &who.sign_in.credential).await
    }
}

/// Body and query name the session together or agree; what the transport carried comes last.
fn session_name(who: &Admitted, query: SessionQuery, body: Option<String>) -> Result<Option<String>> {
    let named = match (body, query.session) {
        (Some(a), Some(b)) if a != b => {
            return Err(StudioError::invalid_request("Body and query name two different sessions. Name one."));
        }
        (named, other) => named.or(other).or_else(|| who.session.clone()),
    };
    named.as_deref().map(contract::ops::test::check_session_name).transpose()?;
    Ok(named)
}

impl Serve<Ask> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        body: Late<AskBody>,
    ) -> Result<Json<AskAnswer>> {
        let begun = self.begin(who, path, query, body).await?;
        let wait = begun.wait.unwrap_or(self.runtime.settings().wait_seconds);
        let names = serde_json::json!({ "turn": begun.turn, "session": begun.session });
        let settled = self.runtime.settled(&begun.partition, &begun.turn, Duration::from_secs(wait)).await;
        // The turn has begun and can be taken up again, whatever stopped it.
        settled.map_err(|error| error.with(names))?;
        let answer = self.runtime.view(&begun.partition, &begun.turn).await?;
        if answer.status == TurnStatus::Failed {
            let why = answer.metadata["error"].as_str().unwrap_or("The model gave no answer.").to_owned();
            return Err(StudioError::new(Code::QueryFailed, 502, why)
                .with(serde_json::json!({ "turn": answer.turn, "session": answer.session })));
        }
        Ok(Json(answer))
    }
}

impl Serve<AskStream> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        body: Late<AskBody>,
    ) -> Result<Events<Watched>> {
        let begun = self.begin(who, path, query, body).await?;
        Ok(Events(self.runtime.watch(begun.partition, begun.turn, begun.session, 0)))
    }
}

impl Serve<AskDefer> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        body: Late<AskBody>,
    ) -> Result<Json<Deferred>> {
        // Nothing is looked up any more: a refusal now would hide a turn that has begun. Nor has it come to a question yet.
        let Begun { turn, session, .. } = self.begin(who, path, query, body).await?;
        Ok(Json(Deferred { turn, session, approvals: Vec::new() }))
    }
}

impl Serve<EndTest> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<TestEnded>> {
        let (head, _) = self.visible(&who, &path.name).await?;
        let name = session_name(&who, query.open()?, None)?;
        let ended = match self.own_session(&who, &head, name).await? {
            Some(session) => self.runtime.end_session(who.partition()?, &session.id, &who.user).await?,
            None => false,
        };
        let message = if ended {
            "The test session has ended. Its transcript stays."
        } else {
            "There was no test session to end."
        };
        Ok(Json(TestEnded { message: message.into(), agent_name: head.name }))
    }
}

impl Serve<ListTestSessions> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<TestSessions>> {
        let (head, _) = self.visible(&who, &path.name).await?;
        let sessions = self.runtime.sessions(who.partition()?, &who.user, &head.id).await?;
        Ok(Json(TestSessions { sessions }))
    }
}

impl Serve<Transcript> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        query: Late<SessionQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<TestTranscript>> {
        let (head, _) = self.visible(&who, &path.name).await?;
        let name = session_name(&who, query.open()?, None)?;
        let shown = name.clone().unwrap_or_else(|| "default".into());
        let session =
            self.own_session(&who, &head, name).await?.ok_or_else(|| StudioError::not_found("Session", &shown))?;
        let turns = self.runtime.transcript(&session.id).await?;
        Ok(Json(TestTranscript { session: session.name, turns }))
    }
}
