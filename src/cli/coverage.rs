//! Which command calls which operation: the one table. A command can call no operation that is missing here.

use contract::Operation;
use contract::ops::{agents, approvals, audit, catalog, keys, me, people, test, tokens, tools, turns};

/// An operation that a command calls; made by the table only.
pub trait Commanded: Operation {}

macro_rules! commands {
    ($($operation:ty => $command:literal),+ $(,)?) => {
        /// Operation ids, and the command that is their way in.
        pub const COMMANDS: &[(&str, &str)] = &[$((<$operation as Operation>::ID, $command)),+];
        $(impl Commanded for $operation {})+
    };
}

commands! {
    me::GetMe => "me",
    agents::ListAgents => "agents list",
    agents::GetAgent => "agents show",
    agents::CreateAgent => "agents create",
    agents::PatchAgent => "agents edit",
    agents::DeleteAgent => "agents delete",
    agents::ReloadAgent => "agents reload",
    agents::SetAgentVisibility => "agents visibility",
    test::AskStream => "ask",
    test::EndTest => "sessions end",
    test::ListTestSessions => "sessions list",
    test::Transcript => "sessions show",
    turns::GetTurn => "turns show",
    turns::TurnEvents => "turns watch",
    turns::ResumeTurn => "turns resume",
    turns::InterruptTurn => "turns interrupt",
    turns::SettleCall => "turns settle",
    approvals::ListApprovals => "approvals list",
    approvals::GetApproval => "approvals show",
    approvals::DecideApproval => "approvals approve",
    approvals::WithdrawApproval => "approvals withdraw",
    approvals::ReaskApproval => "approvals reask",
    people::ListTenants => "tenants list",
    people::CreateTenant => "tenants create",
    people::GetTenant => "tenants show",
    people::PatchTenant => "tenants edit",
    people::ListUsers => "users list",
    people::CreateUser => "users create",
    people::GetUser => "users show",
    people::PatchUser => "users edit",
    people::ListMembers => "members list",
    people::GetMember => "members show",
    people::PutMember => "members set",
    people::DeleteMember => "members remove",
    tokens::ListTokens => "tokens list",
    tokens::CreateToken => "tokens create",
    tokens::RevokeToken => "tokens revoke",
    tokens::ListTenantTokens => "tokens list",
    tokens::RevokeTenantToken => "tokens revoke",
    catalog::GetCatalog => "catalog",
    keys::ListKeys => "keys list",
    keys::StoreKey => "keys set",
    keys::DeleteKey => "keys delete",
    tools::ExecuteTool => "tools execute",
    audit::ListAudit => "audit list",
    audit::VerifyAudit => "audit verify",
}

/// Operations that have no command of their own, and why. `astudio api call` reaches them.
pub const API_ONLY: &[(&str, &str)] = &[
    ("test.ask", "`ask` watches the turn and says the same at its end"),
    ("test.defer", "`ask --no-wait` says the same"),
    ("events.watch", "for programs that show records; a command reads them when it is called"),
];

/// The command of an operation.
pub fn command_of(id: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(known, _)| *known == id).map(|(_, command)| *command)
}
