use super::*;
use crate::testing::Harness;
use crate::{Args, Cleared, NotCleared, enter};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(50);

fn acme() -> BoundRequest {
    request(Some("acme"), Some("acme"))
}

fn cleared(registry: &Registry, name: &str) -> Cleared {
    let bound = bound(registry, name);
    let scope = enter(bound.facts(), Some(&acme())).unwrap();
    let args = Args::check(bound.facts(), json!({ "n": 1 })).unwrap();
    Cleared::unenforced(&bound, scope, args).unwrap()
}

#[tokio::test]
async fn a_write_runs_with_an_approval_only_and_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let harness = Harness::new(HostTools::new("my_").toolkit(kit(vec![method("x")], &runs))).scope("acme", "ann");
    let refused = harness.call("my_x", json!({ "n": 1 })).await;
    assert_eq!((refused.ok, refused.code.as_deref()), (false, Some("confirmation_required")));
    assert_eq!(runs.load(Ordering::SeqCst), 0);

    let approval = harness.approve("my_x", json!({ "n": 1 })).await.unwrap();
    let key = approval.id().to_owned();
    assert_eq!(runs.load(Ordering::SeqCst), 0, "an approval alone runs nothing");
    let done = harness.run(approval).await;
    assert!(done.ok, "{done:?}");
    assert_eq!((&done.value["key"], &done.value["args"]), (&json!(key), &json!({ "n": 1, "note": "none" })));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let again = harness.approve_and_call("my_x", json!({ "n": 1 })).await;
    assert_ne!(again.value["key"], json!(key), "another call has another key");
}

#[tokio::test]
async fn a_read_carries_no_key() {
    let done = Harness::new(host(vec![method("x").reads()])).call("my_x", json!({ "n": 1 })).await;
    assert!(done.ok && done.value["key"].is_null());
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_would_be_refused() {
    let harness = Harness::new(host(vec![method("x")])).scope("acme", "ann");
    let code =
        |r: Result<_, contract::turn::CallResult>| r.map(|_: trust::approvals::Approval| ()).unwrap_err().code.unwrap();
    assert_eq!(code(harness.approve("my_x", json!({ "n": 0 })).await), "invalid_args");
    assert_eq!(code(harness.approve("my_y", json!({ "n": 1 })).await), "not_found");
    let outside = Harness::new(HostTools::new("my_").tool(tool("my_x", method("x")).tenant_bound()));
    assert_eq!(code(outside.approve("my_x", json!({ "n": 1 })).await), "tool_scope_unavailable");
}

#[tokio::test]
async fn an_approval_is_for_one_tool_as_it_was() {
    let runs = Arc::new(AtomicUsize::new(0));
    let harness = Harness::new(host(vec![method("x"), method("y")])).scope("acme", "ann");
    let try_on = async |other: Method, name: &str| {
        let approval = harness.approve("my_x", json!({ "n": 1 })).await.unwrap();
        let bound = bound(&registry(HostTools::new("my_").toolkit(kit(vec![other], &runs))), name);
        let scope = enter(bound.facts(), Some(&acme())).unwrap();
        match Cleared::approved(&bound, scope, approval) {
            Ok(cleared) => Ok(cleared.execute(SOON).await.unwrap().ok),
            Err(why) => Err(why),
        }
    };
    assert_eq!(try_on(method("y"), "my_y").await, Err(NotCleared::OtherTool));
    let changed = Method::with_schema("x", "does something else", schema());
    assert_eq!(try_on(changed, "my_x").await, Err(NotCleared::OtherTool));
    assert_eq!(try_on(method("x").filled_with_tenant("t"), "my_x").await, Err(NotCleared::OtherTool));
    assert_eq!(runs.load(Ordering::SeqCst), 0, "nothing ran");
    assert_eq!(try_on(method("x"), "my_x").await, Ok(true));
}

#[tokio::test]
async fn the_scope_must_be_the_tools_own() {
    let both = registry(host(vec![method("x").reads(), method("y").reads(), method("w")]));
    let scope = |name: &str| enter(bound(&both, name).facts(), Some(&acme())).unwrap();
    let y = bound(&both, "my_y");
    let args = || Args::check(y.facts(), json!({ "n": 1 })).unwrap();
    assert_eq!(Cleared::unenforced(&y, scope("my_x"), args()).unwrap_err(), NotCleared::OtherScope);
    assert!(Cleared::unenforced(&y, scope("my_y"), args()).is_ok());

    let approval = Harness::new(host(vec![method("w")])).approve("my_w", json!({ "n": 1 })).await.unwrap();
    assert_eq!(Cleared::approved(&bound(&both, "my_w"), scope("my_x"), approval).unwrap_err(), NotCleared::OtherScope);
}

#[tokio::test]
async fn four_eyes_asks_somebody_else() {
    let harness = Harness::new(host(vec![method("x").four_eyes()])).scope("acme", "ann");
    assert!(harness.approve_and_call("my_x", json!({ "n": 1 })).await.ok);
}

#[tokio::test]
async fn secrets_in_arguments_reach_the_tool_and_not_the_record() {
    let schema = json!({ "type": "object", "properties": { "password": { "type": "string" } } });
    let harness = Harness::new(host(vec![Method::with_schema("x", "", schema)])).scope("acme", "ann");
    let done = harness.approve_and_call("my_x", json!({ "password": "hunter22" })).await;
    assert_eq!(done.value["args"]["password"], "hunter22", "{done:?}");
}

#[tokio::test]
async fn a_tool_that_gives_no_answer_is_told_apart_from_one_that_says_no() {
    let all = registry(host(["panics", "hangs", "fails"].map(|m| method(m).reads()).into()));
    let unanswered = cleared(&all, "my_panics").execute(SOON).await.unwrap_err();
    assert_eq!(unanswered.to_string(), "The tool failed inside.");
    let unanswered = cleared(&all, "my_hangs").execute(SOON).await.unwrap_err();
    assert!(unanswered.to_string().contains("did not answer"));
    let result = cleared(&all, "my_fails").execute(SOON).await.unwrap();
    assert_eq!((result.ok, result.error.as_deref()), (false, Some("no, in words")));
    assert!(result.value.is_null());
}

#[tokio::test]
async fn a_tool_that_panics_before_it_makes_its_future_gives_no_answer_either() {
    struct Early;
    impl Tool for Early {
        fn run<'a, 'b, 'c>(
            &'a self,
            _: Granted<'b>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send + 'c>>
        where
            'a: 'c,
            'b: 'c,
            Self: 'c,
        {
            panic!("before the future")
        }
    }
    let early = HostTool::new("my_x", method("x").reads(), || Ok(Arc::new(Early)));
    let unanswered = cleared(&registry(HostTools::new("my_").tool(early)), "my_x").execute(SOON).await.unwrap_err();
    assert_eq!(unanswered.to_string(), "The tool failed inside.");
}

#[tokio::test]
async fn previews_and_questions_about_a_run_never_fail_the_caller() {
    let all = registry(host(["x", "panics", "hangs", "fails"].map(method).into()));
    for (name, preview, ran) in [
        ("my_x", Some(json!({ "n": 1, "note": "none" })), Some(true)),
        ("my_panics", None, None),
        ("my_hangs", None, None),
        ("my_fails", None, Some(true)),
    ] {
        let bound = bound(&all, name);
        let scope = enter(bound.facts(), Some(&acme())).unwrap();
        let args = Args::check(bound.facts(), json!({ "n": 1 })).unwrap();
        assert_eq!(bound.preview(&scope, &args, SOON).await, preview, "{name}");
        assert_eq!(bound.did_run(&scope, args.value(), "ran", SOON).await, ran, "{name}");
    }
}
