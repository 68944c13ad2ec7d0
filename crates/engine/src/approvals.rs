//! Approvals: list, read, decide, withdraw, ask again. Who is not asked and may not decide gets the answer of an absent id.

use crate::{Admitted, Engine, Serve};
use contract::ops::approvals::{
    ApprovalList, ApprovalStatus, ApprovalView, ApprovalsQuery, DecideApproval, Decision, DecisionBody, GetApproval,
    ListApprovals, ReaskApproval, WithdrawApproval,
};
use contract::ops::common::IdPath;
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Result, StudioError};
use runtime::{KeyChoice, store_refusal};
use serde_json::{Value, json};
use store::repo::approvals as repo;
use trust::approvals::life::{Act, Refused, Who};
use trust::approvals::{self, ApprovalRow, Decided, Edit};

fn person(who: &Admitted) -> Who<'_> {
    Who {
        user: &who.user,
        administers: who.scope.may_administer || who.scope.is_superuser,
        groups: Some(&who.scope.groups),
    }
}

fn not_found(id: &str) -> StudioError {
    StudioError::not_found("Approval", id)
}

fn view(row: ApprovalRow, may_decide: bool) -> ApprovalView {
    let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    ApprovalView {
        may_decide: may_decide && row.status == ApprovalStatus::Pending,
        status: row.status,
        tenant: (row.partition != "-").then(|| row.partition.clone()),
        args: read(&row.args),
        schema: read(&row.schema),
        // The preview is of the call as it was asked; changed arguments do something else.
        preview: row.preview.as_deref().filter(|_| row.edited_args.is_none()).map(read),
        edited_args: row.edited_args.as_deref().map(read),
        id: row.id,
        requested_by: row.requested_by,
        agent: row.agent_name,
        agent_version: row.agent_version,
        model: row.model,
        session: row.session_name,
        turn: row.turn_id,
        ordinal: row.ordinal,
        tool: row.tool,
        slug: row.slug,
        source: row.source,
        args_hash: row.edited_hash.unwrap_or(row.args_hash),
        rule: row.rule,
        editable: row.editable,
        created_at: row.created_at,
        expires_at: row.expires_at,
        decided_by: row.decided_by,
        decided_at: row.decided_at,
        reason: row.reason,
        replaced_by: row.replaced_by,
    }
}

impl Engine {
    /// An approval that the caller may know of, as it stands now.
    async fn approval(&self, who: &Admitted, id: &str) -> Result<(ApprovalRow, bool)> {
        let (partition, wanted) = (who.partition()?.clone(), id.to_owned());
        let row = self.store.read(move |tx| repo::get(tx, &partition, &wanted)).await.map_err(store_refusal)?;
        let void = self.runtime.settings().void_seconds;
        row.and_then(|row| approvals::effective(row, &person(who), Micros::now(), void)).ok_or_else(|| not_found(id))
    }

    /// Arguments that the person changed: checked against the tool as it is registered now.
    fn edit(&self, row: &ApprovalRow, args: Value) -> Result<Edit> {
        let invalid = |why: String| StudioError::new(Code::InvalidArgs, 422, why);
        if !row.editable {
            return Err(invalid("The arguments of this tool cannot be changed. Approve or reject it as it is.".into()));
        }
        let facts = self
            .registry
            .lookup(&row.slug)
            .and_then(|entry| entry.facts().find(|facts| facts.name() == row.tool))
            .filter(|facts| facts.digest() == row.digest)
            .ok_or_else(|| invalid("The tool has changed since it was asked for. Reject it, and ask again.".into()))?;
        if let Some(name) = masked(&args) {
            return Err(invalid(format!(
                "'{name}' holds the mask of a secret, not its value. Give the value anew, or approve unchanged."
            )));
        }
        let checked = tools::Args::check(facts, args).map_err(|fault| invalid(format!("{fault}.")))?;
        Edit::new(self.vault.as_deref(), &row.id, checked.value())
            .map_err(|error| StudioError::new(Code::VaultUnavailable, 503, error.to_string()))
    }

    async fn act(
        &self,
        who: &Admitted,
        id: &str,
        act: Act,
        reason: Option<String>,
        edit: Option<Edit>,
    ) -> Result<Json<ApprovalView>> {
        let (partition, wanted) = (who.partition()?.clone(), id.to_owned());
        let (user, groups) = (who.user.clone(), who.scope.groups.clone());
        let administers = person(who).administers;
        let void = self.runtime.settings().void_seconds;
        let decided = self
            .store
            .write(move |tx| {
                let person = Who { user: &user, administers, groups: Some(&groups) };
                let now = Micros::now();
                approvals::decide(tx, now, void, &partition, &wanted, &person, act, reason.as_deref(), edit.as_ref())
            })
            .await
            .map_err(store_refusal)?;
        match decided {
            Decided::Done(row) => Ok(Json(view(*row, true))),
            Decided::Not(Refused::Expired, row) => Err(StudioError::new(
                Code::ApprovalExpired,
                410,
                "Nobody answered in time; this approval has expired. Ask for it again.",
            )
            .with(json!({ "approval": row.map(|row| view(*row, false)) }))),
            Decided::Not(Refused::NotFound, _) => Err(not_found(id)),
            Decided::Not(_, row) => Err(already(row.map(|row| view(*row, false)))),
        }
    }
}

/// The first secret argument that was sent back as it is shown: the mask would run as if it were the value.
fn masked(args: &Value) -> Option<&str> {
    match args {
        Value::Object(map) => map.iter().find_map(|(name, value)| match value {
            Value::String(text) if text == text::MASK && text::is_secret_name(name) => Some(name.as_str()),
            other => masked(other),
        }),
        Value::Array(items) => items.iter().find_map(masked),
        _ => None,
    }
}

fn already(row: Option<ApprovalView>) -> StudioError {
    let how = row.as_ref().map_or("answered", |row| row.status.as_str());
    let by = row.as_ref().and_then(|row| row.decided_by.clone()).map(|by| format!(" by {by}")).unwrap_or_default();
    StudioError::new(
        Code::AlreadyDecided,
        409,
        format!("This approval is already {how}{by}. An approval is answered once."),
    )
    .with(json!({ "approval": row }))
}

impl Serve<ListApprovals> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        _: NoPath,
        query: Late<ApprovalsQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<ApprovalList>> {
        let ApprovalsQuery { status, agent, mine } = query.open()?;
        let Some(partition) = who.partition.clone() else {
            return Ok(Json(ApprovalList { approvals: Vec::new(), count: 0 }));
        };
        // Time turns pending into expired and approved into void without anybody writing it down.
        let stored: Vec<ApprovalStatus> = match status {
            Some(ApprovalStatus::Expired) => vec![ApprovalStatus::Expired, ApprovalStatus::Pending],
            Some(ApprovalStatus::Void) => vec![ApprovalStatus::Void, ApprovalStatus::Approved],
            Some(status) => vec![status],
            None => Vec::new(),
        };
        let asker = mine.then(|| who.user.clone());
        let concerned = who.user.clone();
        let rows = self
            .store
            .read(move |tx| repo::list(tx, &partition, &stored, agent.as_deref(), asker.as_deref(), &concerned))
            .await
            .map_err(store_refusal)?;
        let (person, now, void) = (person(&who), Micros::now(), self.runtime.settings().void_seconds);
        let approvals: Vec<ApprovalView> = rows
            .into_iter()
            .filter_map(|row| approvals::effective(row, &person, now, void))
            .filter(|(row, _)| status.is_none_or(|wanted| row.status == wanted))
            .map(|(row, may_decide)| view(row, may_decide))
            .collect();
        Ok(Json(ApprovalList { count: approvals.len(), approvals }))
    }
}

impl Serve<GetApproval> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<ApprovalView>> {
        let (row, may_decide) = self.approval(&who, &path.id).await?;
        Ok(Json(view(row, may_decide)))
    }
}

impl Serve<DecideApproval> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        body: Late<DecisionBody>,
    ) -> Result<Json<ApprovalView>> {
        let (row, may_decide) = self.approval(&who, &path.id).await?;
        if !may_decide {
            return Err(not_found(&path.id));
        }
        let DecisionBody { decision, args, reason } = body.open()?;
        let edit = match (decision, args) {
            (Decision::Approve, Some(args)) if row.status == ApprovalStatus::Pending => Some(self.edit(&row, args)?),
            _ => None,
        };
        let act = match decision {
            Decision::Approve => Act::Approve,
            Decision::Reject => Act::Reject,
        };
        self.act(&who, &path.id, act, reason, edit).await
    }
}

impl Serve<WithdrawApproval> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<ApprovalView>> {
        self.act(&who, &path.id, Act::Withdraw, None, None).await
    }
}

impl Serve<ReaskApproval> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: IdPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<ApprovalView>> {
        let (row, _) = self.approval(&who, &path.id).await?;
        // Who may decide it sees it, and asks nothing for another person.
        if row.requested_by != who.user {
            return Err(not_found(&path.id));
        }
        let over = matches!(row.status, ApprovalStatus::Expired | ApprovalStatus::Void);
        if !over || row.replaced_by.is_some() {
            return Err(already(Some(view(row, false))));
        }
        let partition = who.partition()?.clone();
        let (head, _) = self.visible(&who, &row.agent_name).await?;
        if head.id != row.agent_id {
            return Err(not_found(&path.id));
        }
        let ask = runtime::Ask {
            standing: self.standing(&who, &head),
            partition,
            user: who.user.clone(),
            credential: who.sign_in.credential.clone(),
            agent_id: head.id,
            session: Some(row.session_name.clone()),
            text: String::new(),
            model: None,
            key: KeyChoice { use_byok: true, source: None },
        };
        let new = self.runtime.ask_again(ask, &row).await?;
        let new = new.ok_or_else(|| {
            StudioError::new(
                Code::AlreadyDecided,
                409,
                "The call was refused when it was asked again; see the transcript.",
            )
        })?;
        let may_decide =
            approvals::effective(new.clone(), &person(&who), Micros::now(), self.runtime.settings().void_seconds)
                .is_some_and(|(_, may)| may);
        Ok(Json(view(new, may_decide)))
    }
}

#[cfg(test)]
mod tests {
    use super::masked;
    use serde_json::json;

    #[test]
    fn a_mask_is_no_value() {
        assert_eq!(masked(&json!({ "to": "a", "auth": [{ "password": "********" }] })), Some("password"));
        assert_eq!(masked(&json!({ "password": "hunter22", "note": "********" })), None);
    }
}
