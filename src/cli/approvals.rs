//! `astudio approvals`.

use super::ctx::{Ctx, json_object};
use super::exit::{Exit, Outcome};
use super::table::{Field, Table, left, or_dash, pretty, record, when};
use contract::ops::approvals::{
    ApprovalStatus, ApprovalView, ApprovalsQuery, DecideApproval, Decision, DecisionBody, GetApproval, ListApprovals,
    ReaskApproval, WithdrawApproval,
};
use contract::ops::common::IdPath;
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use serde_json::Value;

/// Commands over approvals.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List approvals that you asked for or may decide
    List {
        /// Only with this status: pending, approved, rejected, expired, withdrawn, consumed, void
        #[arg(long, value_parser = status)]
        status: Option<ApprovalStatus>,
        /// Only of this agent
        #[arg(long)]
        agent: Option<String>,
        /// Only what you asked for
        #[arg(long)]
        mine: bool,
    },
    /// Show one approval
    Show {
        /// Its id
        id: String,
    },
    /// Approve exactly this call, once
    Approve {
        /// Its id
        id: String,
        /// Run it with these arguments instead, where the tool allows it
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
    },
    /// Reject the call: nothing runs
    Reject {
        /// Its id
        id: String,
        /// Why; the model is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Take back your own open question
    Withdraw {
        /// Its id
        id: String,
    },
    /// Ask again for a call whose approval expired or became void
    Reask {
        /// Its id
        id: String,
    },
}

fn status(text: &str) -> Result<ApprovalStatus, String> {
    ApprovalStatus::parse(text)
        .ok_or_else(|| format!("it is one of {}", ApprovalStatus::ALL.map(ApprovalStatus::as_str).join(", ")))
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    let path = |id: String| IdPath { id };
    let Json(view) = match command {
        Command::List { status, agent, mine } => return list(ctx, ApprovalsQuery { status, agent, mine }).await,
        Command::Show { id } => ctx.call::<GetApproval>(path(id), NoQuery, NoBody).await?,
        Command::Approve { id, args } => {
            let args = args.map(|text| json_object("--args", &text)).transpose()?.map(Value::Object);
            let body = DecisionBody { decision: Decision::Approve, args, reason: None };
            ctx.call::<DecideApproval>(path(id), NoQuery, body).await?
        }
        Command::Reject { id, reason } => {
            let body = DecisionBody { decision: Decision::Reject, args: None, reason };
            ctx.call::<DecideApproval>(path(id), NoQuery, body).await?
        }
        Command::Withdraw { id } => ctx.call::<WithdrawApproval>(path(id), NoQuery, NoBody).await?,
        Command::Reask { id } => ctx.call::<ReaskApproval>(path(id), NoQuery, NoBody).await?,
    };
    ctx.out.answer(&view, |out| record(out, &fields(&view)))?;
    Ok(Exit::Done)
}

async fn list(ctx: &Ctx, query: ApprovalsQuery) -> Outcome {
    let Json(list) = ctx.call::<ListApprovals>(NoPath {}, query, NoBody).await?;
    ctx.out.answer(&list, |out| {
        let mut table = Table::new(&["ID", "STATUS", "AGENT", "TOOL", "ARGUMENTS", "ASKED BY", "ASKED", "LEFT"]);
        for approval in &list.approvals {
            let open = approval.status == ApprovalStatus::Pending;
            table.row([
                approval.id.clone(),
                approval.status.as_str().to_owned(),
                approval.agent.clone(),
                approval.tool.clone(),
                approval.arguments(),
                approval.requested_by.clone(),
                when(approval.created_at),
                if open { left(approval.expires_at) } else { "-".to_owned() },
            ]);
        }
        table.write(out, "No approvals.")
    })?;
    Ok(Exit::Done)
}

/// What a person has to know before they decide.
pub fn fields(approval: &ApprovalView) -> Vec<Field> {
    let pending = approval.status == ApprovalStatus::Pending;
    let edited = approval.edited_args.as_ref();
    let decided = approval.decided_by.as_ref().map(|by| match approval.decided_at {
        Some(at) => format!("{by}, {}", when(at)),
        None => by.clone(),
    });
    vec![
        ("approval", Some(approval.id.clone())),
        ("status", Some(approval.status.as_str().to_owned())),
        ("asked by", Some(format!("{}, {}", approval.requested_by, when(approval.created_at)))),
        ("agent", Some(format!("{}, version {}, model {}", approval.agent, approval.agent_version, approval.model))),
        ("session", Some(approval.session.clone())),
        ("tenant", Some(or_dash(approval.tenant.as_deref()))),
        ("tool", Some(format!("{}, {} toolkit {}", approval.tool, approval.source, approval.slug))),
        ("arguments", Some(pretty(&approval.args))),
        ("edited", edited.map(pretty)),
        ("preview", approval.preview.as_ref().map(shown)),
        ("rule", Some(approval.rule.clone())),
        ("left", pending.then(|| left(approval.expires_at))),
        ("decided by", decided),
        ("reason", approval.reason.clone()),
        ("asked again", approval.replaced_by.clone()),
    ]
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| pretty(value), str::to_owned)
}
