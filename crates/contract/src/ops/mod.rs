//! The operations, one file per group, and the one list of them.

pub mod agents;
pub mod approvals;
pub mod audit;
pub mod catalog;
pub mod common;
pub mod events;
pub mod keys;
pub mod me;
pub mod people;
pub mod test;
pub mod tokens;
pub mod tools;
pub mod turns;

/// Calls a macro with the list of all operations. Whoever needs every operation (router, client, command, coverage check)
/// is such a macro.
#[macro_export]
macro_rules! for_each_operation {
    ($with:ident) => {
        $with! {
            me::GetMe,
            agents::ListAgents, agents::GetAgent, agents::CreateAgent, agents::PatchAgent, agents::DeleteAgent,
            agents::ReloadAgent, agents::SetAgentVisibility,
            test::Ask, test::AskStream, test::AskDefer, test::EndTest, test::ListTestSessions, test::Transcript,
            turns::GetTurn, turns::TurnEvents, turns::ResumeTurn, turns::InterruptTurn, turns::SettleCall,
            approvals::ListApprovals, approvals::GetApproval, approvals::DecideApproval, approvals::WithdrawApproval,
            approvals::ReaskApproval,
            people::ListTenants, people::CreateTenant, people::GetTenant, people::PatchTenant,
            people::ListUsers, people::CreateUser, people::GetUser, people::PatchUser,
            people::ListMembers, people::GetMember, people::PutMember, people::DeleteMember,
            tokens::ListTokens, tokens::CreateToken, tokens::RevokeToken, tokens::ListTenantTokens,
            tokens::RevokeTenantToken,
            catalog::GetCatalog,
            keys::ListKeys, keys::StoreKey, keys::DeleteKey,
            tools::ExecuteTool,
            audit::ListAudit, audit::VerifyAudit,
            events::WatchChanges,
        }
    };
}

macro_rules! metas {
    ($($group:ident :: $name:ident),+ $(,)?) => {
        /// Descriptions of all operations.
        pub const ALL: &[crate::operation::Meta] = &[$(crate::operation::meta::<$group::$name>()),+];
    };
}
for_each_operation!(metas);

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::BTreeSet;

    #[test]
    fn ids_and_routes_are_unique_and_paths_are_sound() {
        let ids: BTreeSet<_> = ALL.iter().map(|m| m.id).collect();
        assert_eq!(ids.len(), ALL.len());
        let mut routes = BTreeSet::new();
        for meta in ALL {
            assert!(!meta.about.is_empty(), "{}", meta.id);
            for route in meta.routes {
                assert!(route.starts_with('/'), "{route}");
                // These share their route with `test.ask`: the headers Accept and Prefer decide.
                let shares = ["test.stream", "test.defer"].contains(&meta.id);
                assert!(routes.insert((meta.method, *route)) || shares, "{route}");
            }
        }
    }

    #[test]
    fn mutating_operations_on_records_have_a_success_status_and_refusals_in_range() {
        for meta in ALL {
            assert!((200..300).contains(&meta.ok), "{}", meta.id);
            for (code, status) in meta.refusals {
                assert!((400..600).contains(status), "{} {code}", meta.id);
            }
        }
    }
}
