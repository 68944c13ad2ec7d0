//! Turns: state, events, resume, interrupt, settle. A turn belongs to the person who asked.

use crate::{Admitted, Engine, Serve};
use contract::ops::common::{AfterQuery, IdPath};
use contract::ops::test::AskAnswer;
use contract::ops::turns::{CallPath, GetTurn, InterruptTurn, ResumeTurn, SettleBody, SettleCall, TurnEvents};
use contract::turn::Watched;
use contract::wire::{Events, Json, Late, NoBody, NoQuery};
use contract::{Result, StudioError};
use std::time::Duration;

impl Serve<GetTurn> for Engine {
    async fn serve(&self, who: Admitted, path: IdPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<AskAnswer>> {
        let partition = who.partition()?;
        self.runtime.turn(partition, &who.user, &path.id).await?;
        self.runtime.view(partition, &path.id).await.map(Json)
    }
}

impl Serve<TurnEvents> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        query: Late<AfterQuery>,
        _: Late<NoBody>,
    ) -> Result<Events<Watched>> {
        let partition = who.partition()?;
        let (turn, session) = self.runtime.turn(partition, &who.user, &path.id).await?;
        let after = query.open()?.after.unwrap_or(0);
        Ok(Events(self.runtime.watch(partition.clone(), turn.id, session.name, after)))
    }
}

impl Serve<ResumeTurn> for Engine {
    async fn serve(&self, who: Admitted, path: IdPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<AskAnswer>> {
        let partition = who.partition()?;
        let (turn, session) = self.runtime.turn(partition, &who.user, &path.id).await?;
        // The person must still see the agent: what they may do is decided now, not when the turn began.
        let (head, _) = self.visible(&who, &session.agent_name).await?;
        if head.id != session.agent_id {
            return Err(StudioError::not_found("Turn", &path.id));
        }
        self.runtime.resume(partition, &turn.id, self.standing(&who, &head));
        self.runtime.settled(partition, &turn.id, Duration::ZERO).await?;
        self.runtime.view(partition, &turn.id).await.map(Json)
    }
}

impl Serve<InterruptTurn> for Engine {
    async fn serve(&self, who: Admitted, path: IdPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<AskAnswer>> {
        let partition = who.partition()?;
        let (turn, session) = self.runtime.turn(partition, &who.user, &path.id).await?;
        let standing = self.standing_by(&who, &session.agent_id, &session.agent_name);
        self.runtime.interrupt(partition, &turn.id, &who.user, standing).await?;
        self.runtime.view(partition, &turn.id).await.map(Json)
    }
}

impl Serve<SettleCall> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: CallPath,
        _: Late<NoQuery>,
        body: Late<SettleBody>,
    ) -> Result<Json<AskAnswer>> {
        let partition = who.partition()?;
        let (turn, _) = self.runtime.turn(partition, &who.user, &path.id).await?;
        let ordinal = path.ordinal.parse().map_err(|_| StudioError::not_found("Call", &path.ordinal))?;
        let SettleBody { ran, note } = body.open()?;
        self.runtime.settle(partition, &turn.id, ordinal, &who.user, ran, note).await?;
        self.runtime.view(partition, &turn.id).await.map(Json)
    }
}
