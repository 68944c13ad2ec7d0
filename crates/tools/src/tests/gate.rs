use super::*;
use crate::enter;
use crate::testing::Harness;
use rules::scope::ScopeReason as Reason;

#[test]
fn a_tenant_bound_tool_is_behind_the_gate_and_another_is_not() {
    let registry = registry(
        HostTools::new("my_")
            .toolkit(kit(vec![method("kit")], &Arc::default()).tenant_bound())
            .tool(tool("my_filled", method("x").filled_with_agent("agent")))
            .tool(tool("my_free", method("x"))),
    );
    let refused = |name: &str, request: Option<&BoundRequest>| enter(bound(&registry, name).facts(), request).err();
    for name in ["my_kit", "my_filled"] {
        assert_eq!(refused(name, None), Some(Reason::NoContext));
        assert_eq!(refused(name, Some(&BoundRequest::default())), Some(Reason::NoScope));
        assert_eq!(refused(name, Some(&request(None, Some("acme")))), Some(Reason::NoTenant));
        assert_eq!(refused(name, Some(&request(Some("acme"), Some("")))), Some(Reason::AgentTenantUnset));
        assert_eq!(refused(name, Some(&request(Some("acme"), Some("globex")))), Some(Reason::TenantMismatch));
        assert_eq!(refused(name, Some(&request(Some("acme"), Some("acme")))), None);
    }
    assert_eq!(refused("my_free", None), None);
}

#[tokio::test]
async fn outside_a_scope_not_even_the_constructor_runs() {
    let built = Arc::new(AtomicUsize::new(0));
    let count = built.clone();
    let counted = HostTool::new("my_x", method("x").reads(), move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Probe::default()))
    });
    let harness = Harness::new(HostTools::new("my_").tool(counted.tenant_bound()));
    let refused = harness.call("my_x", json!({ "n": 1 })).await;
    assert_eq!((refused.ok, refused.code.as_deref()), (false, Some("tool_scope_unavailable")));
    assert_eq!(refused.value, json!({ "reason": "no_scope" }));
    assert_eq!(built.load(Ordering::SeqCst), 0);
    let harness = harness.scope("acme", "ann");
    assert!(harness.call("my_x", json!({ "n": 1 })).await.ok);
    assert!(harness.call("my_x", json!({ "n": 1 })).await.ok);
    assert_eq!(built.load(Ordering::SeqCst), 1, "one instance serves many calls");
}

#[tokio::test]
async fn server_managed_parameters_come_from_the_scope() {
    let method = method("x").reads().filled_with_tenant("t").filled_with_caller("c").filled_with_agent("a");
    let harness = Harness::new(host(vec![method])).scope("acme", "ann");
    let answer = harness.call("my_x", json!({ "n": 1 })).await.value;
    assert_eq!(answer["args"], json!({ "n": 1, "note": "none", "t": "acme", "c": "ann", "a": "agent-under-test" }));
    assert_eq!((&answer["tenant"], &answer["caller"]), (&json!("acme"), &json!("ann")));
    let refused = harness.call("my_x", json!({ "n": 1, "t": "globex" })).await;
    assert_eq!(refused.code.as_deref(), Some("server_managed"));
    let shown = harness.preview("my_x", json!({ "n": 1 })).await.unwrap().unwrap();
    assert_eq!(shown["t"], "acme", "a preview sees what the run would see");
}

#[tokio::test]
async fn a_tool_may_refuse_for_its_own_records() {
    let refused =
        Harness::new(host(vec![method("is_elsewhere").reads()])).call("my_is_elsewhere", json!({ "n": 1 })).await;
    assert_eq!(refused.code.as_deref(), Some("tool_scope_unavailable"));
    assert_eq!(refused.value, json!({ "reason": "host_tenant_mismatch" }));
}
