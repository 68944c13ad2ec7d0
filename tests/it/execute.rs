//! Direct execution of a tool: what the tooling policy says of it.

use crate::world::{Setup, World, ask};
use contract::ops::catalog::GetCatalog;
use contract::ops::tools::ExecuteTool;
use rules::policy::TenantToolingPolicy;
use serde_json::json;

#[tokio::test]
async fn what_the_catalogue_hides_does_not_run_on_any_host() {
    let execute = || ask().path("slug", "hx_stuck").json(json!({ "args": {} }));
    let tools = || ask().path("kind", "tools");
    let open = World::empty(Setup::default());
    for user in ["p1", "u1", "nt"] {
        assert_eq!(open.call::<ExecuteTool>(user, execute()).await.ok()["success"], true, "{user}");
    }
    let mut policy = TenantToolingPolicy::deny_all();
    (policy.apply_to_global, policy.host_toolkits) = (true, false);
    let shut = World::empty(Setup { policy: Some(policy), ..Setup::default() });
    for user in ["p1", "u1"] {
        assert_eq!(shut.call::<GetCatalog>(user, tools()).await.ok(), json!([]), "{user}");
    }
    // A caller without a tenant is judged as GLOBAL is.
    for user in ["p1", "u1", "nt"] {
        let refused = shut.call::<ExecuteTool>(user, execute()).await;
        refused.refused(403, "tooling_not_permitted");
        assert_eq!(refused.body["details"]["reason"], "toolkit_unavailable", "{refused:?}");
    }
}
