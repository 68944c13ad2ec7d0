//! The order desk, from a person's words to the changed order.

use super::demo::{Demo, Person};
use super::place::{Where, everywhere};
use astudio::Request;
use astudio::contract::StudioError;
use astudio::contract::ops::approvals::{ApprovalStatus, GetApproval, ReaskApproval, WithdrawApproval};
use astudio::contract::ops::common::IdPath;
use astudio::contract::ops::people::{DeleteMember, PatchTenant, TenantPatch, UserPath};
use astudio::contract::ops::tokens::{CreateToken, RevokeToken, TokenCreate};
use astudio::contract::ops::turns::{InterruptTurn, ResumeTurn};
use astudio::contract::turn::TurnStatus;
use astudio::contract::wire::{NoBody, NoPath, NoQuery};
use async_trait::async_trait;
use rules::scope::RequestScope;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

everywhere! {
    async
    a_read_runs_at_once,
    a_write_waits_and_runs_once_when_it_is_approved,
    a_rejected_write_changes_nothing,
    the_arguments_that_a_person_edited_are_the_ones_that_run,
    what_breaks_a_rule_of_the_desk_fails_in_words,
    several_writes_of_one_turn_are_decided_one_by_one,
    a_question_is_for_the_person_who_asked,
    another_tenants_orders_do_not_exist,
    a_turn_that_was_stopped_runs_no_write_whatever_was_approved,
    what_the_asker_may_do_is_asked_anew_before_an_approved_write_runs,
}

async fn a_read_runs_at_once(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let answer = ben.ask("orders-desk", "what's up with order 1020?").await;
    let answer = ben.end_of(&answer.turn).await;
    assert_eq!(answer.status, TurnStatus::Done);
    assert!(answer.response.starts_with("Order 1020: "), "{}", answer.response);
    assert_eq!(ben.pending().await.len(), 0);
    let list = ben.ask("orders-desk", "show open orders").await;
    let list = ben.end_of(&list.turn).await.response;
    assert!(list.starts_with("Orders found: 12"), "{list}");
}

async fn a_write_waits_and_runs_once_when_it_is_approved(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "cancel 1007 because I ordered it twice").await;
    assert_eq!(asked.status, TurnStatus::Waiting);
    assert_eq!(ben.order(1007).await["status"], "open", "nothing was changed yet");

    let open = ben.pending().await;
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].tool.as_str(), open[0].source.as_str()), ("desk_cancel_order", "host"));
    assert_eq!(open[0].args, json!({ "order_id": 1007, "reason": "I ordered it twice" }));
    let preview = open[0].preview.clone().unwrap();
    assert_eq!(preview["changes"], json!([{ "field": "status", "before": "open", "after": "cancelled" }]));

    ben.decide(&open[0].id, json!({ "decision": "approve" })).await.unwrap();
    let done = ben.end_of(&asked.turn).await;
    assert!(done.response.starts_with("Done: order 1007 is now cancelled."), "{}", done.response);
    assert_eq!(ben.order(1007).await["status"], "cancelled");
    let second = ben.decide(&open[0].id, json!({ "decision": "approve" })).await.unwrap_err();
    assert_eq!(second.status, 409);

    // A second cancellation of the same order changes nothing and says so.
    let again = ben.ask("orders-desk", "cancel 1007").await;
    ben.decide(&ben.pending().await[0].id, json!({ "decision": "approve" })).await.unwrap();
    let again = ben.end_of(&again.turn).await.response;
    assert!(again.starts_with("Nothing was changed on order 1007"), "{again}");
}

async fn a_rejected_write_changes_nothing(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "refund 1012, it came broken").await;
    let open = ben.pending().await;
    ben.decide(&open[0].id, json!({ "decision": "reject", "reason": "ask for a photo first" })).await.unwrap();
    let end = ben.end_of(&asked.turn).await.response;
    assert!(end.contains("was rejected, so nothing was changed") && end.contains("ask for a photo first"), "{end}");
    assert_eq!(ben.order(1012).await["refunded"], 0);
}

async fn the_arguments_that_a_person_edited_are_the_ones_that_run(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "refund 1012, it came broken").await;
    let id = ben.pending().await[0].id.clone();
    let too_small = ben.decide(&id, json!({ "decision": "approve", "args": { "order_id": 1012, "amount": 0 } })).await;
    assert_eq!(too_small.unwrap_err().status, 422, "the edit is checked by the tool's schema");
    let edited = json!({ "decision": "approve", "args": { "order_id": 1012, "amount": 5.5 } });
    ben.decide(&id, edited).await.unwrap();
    ben.end_of(&asked.turn).await;
    let order = ben.order(1012).await;
    assert_eq!((&order["refunded"], &order["status"]), (&json!(5.5), &json!("delivered")));
}

async fn what_breaks_a_rule_of_the_desk_fails_in_words(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    for (words, part) in [
        ("cancel 1001", "has been delivered and cannot be cancelled"),
        ("cancel 4040", "There is no order 4040, so nothing was changed"),
        ("refund 99999 euro of order 1012", "has left to pay back"),
    ] {
        let asked = ben.ask("orders-desk", words).await;
        ben.decide(&ben.pending().await[0].id, json!({ "decision": "approve" })).await.unwrap();
        let end = ben.end_of(&asked.turn).await.response;
        assert!(end.contains(part) && end.contains("nothing was changed"), "{words}: {end}");
    }
}

async fn several_writes_of_one_turn_are_decided_one_by_one(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "cancel 1003 and 1007").await;
    let open = ben.pending().await;
    assert_eq!(open.len(), 2);
    for approval in &open {
        let verdict = if approval.args["order_id"] == 1003 { "approve" } else { "reject" };
        ben.decide(&approval.id, json!({ "decision": verdict })).await.unwrap();
    }
    let end = ben.end_of(&asked.turn).await.response;
    let lines: Vec<&str> = end.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].contains("order 1003 is now cancelled")
            && lines[1].contains("order 1007 was rejected"),
        "{end}"
    );
    let status = async |id| ben.order(id).await["status"].clone();
    assert_eq!((status(1003).await, status(1007).await), (json!("cancelled"), json!("open")));
}

async fn a_question_is_for_the_person_who_asked(place: Where) {
    let demo = Demo::on(place).await;
    let (ben, olga) = (demo.of("ben"), demo.of("olga"));
    ben.ask("orders-desk", "cancel 1007").await;
    let id = ben.pending().await[0].id.clone();
    assert_eq!(olga.pending().await.len(), 0);
    assert_eq!(olga.decide(&id, json!({ "decision": "approve" })).await.unwrap_err().status, 404);
    let other_tenant = demo.at(&demo.app.tenant, &demo.app.user);
    assert_eq!(other_tenant.decide(&id, json!({ "decision": "approve" })).await.unwrap_err().status, 404);
    assert_eq!(ben.order(1007).await["status"], "open");
}

async fn another_tenants_orders_do_not_exist(place: Where) {
    let demo = Demo::on(place).await;
    let other = demo.at(&demo.app.tenant, &demo.app.user);
    assert_eq!(other.order(1007).await, Value::Null);
    assert_eq!(demo.of("ben").order(1007).await["order_id"], 1007);
}

async fn a_turn_that_was_stopped_runs_no_write_whatever_was_approved(place: Where) {
    let demo = Demo::on(place).await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "cancel 1003 and 1007").await;
    let open = ben.pending().await;
    let stop = Request { path: IdPath { id: asked.turn.clone() }, query: NoQuery, body: NoBody };
    let stopped = ben.0.call::<InterruptTurn>(stop).await.unwrap().0;
    assert_eq!(stopped.status, TurnStatus::Interrupted);
    for approval in &open {
        let late = ben.decide(&approval.id, json!({ "decision": "approve" })).await.unwrap_err();
        assert_eq!((late.status, late.code.as_str()), (409, "already_decided"));
    }
    assert_eq!(
        (ben.order(1003).await["status"].clone(), ben.order(1007).await["status"].clone()),
        (json!("open"), json!("open"))
    );
}

async fn what_the_asker_may_do_is_asked_anew_before_an_approved_write_runs(place: Where) {
    let demo = Demo::on(place).await;
    let (root, ada, ben) = (demo.of("root"), demo.of("ada"), demo.of("ben"));
    let body = TenantPatch { approvals: Some("admins".into()), ..TenantPatch::default() };
    root.0.call::<PatchTenant>(Request { path: IdPath { id: "demo".into() }, query: NoQuery, body }).await.unwrap();
    ben.ask("orders-desk", "cancel 1007").await;
    let open = ada.pending().await;
    assert_eq!(open.len(), 1);

    let gone = Request { path: UserPath { user: "ben".into() }, query: NoQuery, body: NoBody };
    ada.0.call::<DeleteMember>(gone).await.unwrap();
    ada.decide(&open[0].id, json!({ "decision": "approve" })).await.unwrap();
    let start = std::time::Instant::now();
    loop {
        let get = Request { path: IdPath { id: open[0].id.clone() }, query: NoQuery, body: NoBody };
        let now = ada.0.call::<GetApproval>(get).await.unwrap().0.status;
        if now == ApprovalStatus::Void {
            break;
        }
        assert!(now == ApprovalStatus::Approved && start.elapsed().as_secs() < 20, "{now:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(ada.order(1007).await["status"], "open");
}

/// A resolver of scopes that cannot say for a while.
struct Flaky {
    people: engine::people::Memberships,
    down: Arc<AtomicBool>,
}

#[async_trait]
impl astudio::ScopeResolver for Flaky {
    async fn resolve(&self, sign_in: &astudio::SignIn) -> astudio::contract::Result<RequestScope> {
        if self.down.load(Ordering::SeqCst) {
            return Err(StudioError::storage_unavailable());
        }
        self.people.resolve(sign_in).await
    }
}

/// Another host over the home of a demo, with the desk's tools.
fn another_host(demo: &Demo) -> astudio::Builder {
    let store = demo.app.engine.store.clone();
    let home = store.home().path().to_owned();
    let mut registry = astudio::tools::Registry::default();
    registry.register(toolkits::desk::host_tools(home.join("desk.db")));
    let models = Arc::new(astudio::app::Models::new(&astudio::app::Settings::default(), &home));
    astudio::Builder::new(store, models).registry(registry)
}

#[tokio::test]
async fn a_passing_failure_does_not_cost_an_approval() {
    let (demo, _) = Demo::new().await;
    let down = Arc::new(AtomicBool::new(false));
    let people = engine::people::Memberships(demo.app.engine.store.clone());
    let other = another_host(&demo).resolver(Arc::new(Flaky { people, down: down.clone() })).build();
    let there = Person(astudio::Client::local(other, astudio::Caller::user("ben", Some("demo"))));
    let here = demo.of("ben");

    let asked = there.ask("orders-desk", "cancel 1007").await;
    let id = here.pending().await[0].id.clone();
    down.store(true, Ordering::SeqCst);
    here.decide(&id, json!({ "decision": "approve" })).await.unwrap();
    // Its driver is woken, cannot learn what ben may do, and leaves the yes as it is.
    for _ in 0..25 {
        let get = Request { path: IdPath { id: id.clone() }, query: NoQuery, body: NoBody };
        assert_eq!(here.0.call::<GetApproval>(get).await.unwrap().0.status, ApprovalStatus::Approved);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    down.store(false, Ordering::SeqCst);
    let resume = Request { path: IdPath { id: asked.turn.clone() }, query: NoQuery, body: NoBody };
    there.0.call::<ResumeTurn>(resume).await.unwrap();
    assert!(there.end_of(&asked.turn).await.response.starts_with("Done: order 1007"));
    assert_eq!(here.order(1007).await["status"], "cancelled");
}

/// Approves what this person's ask waits for, after something was taken away from them, and answers what became of the call.
async fn approved_too_late(demo: &Demo, asker: &Person, taken: impl AsyncFnOnce()) -> Value {
    let ben = demo.of("ben");
    let asked = asker.ask("orders-desk", "cancel 1007").await;
    let id = ben.pending().await[0].id.clone();
    taken().await;
    ben.decide(&id, json!({ "decision": "approve" })).await.unwrap();
    let mut end = ben.end_of(&asked.turn).await;
    assert_eq!(ben.order(1007).await["status"], "open");
    serde_json::to_value(end.tool_calls.remove(0)).unwrap()
}

#[tokio::test]
async fn a_write_does_not_run_by_a_token_that_was_revoked_or_ended_meanwhile() {
    for ended in [false, true] {
        let (demo, _) = Demo::new().await;
        let ben = demo.of("ben");
        let body = TokenCreate { name: "job".into(), scopes: vec!["run".into()], days: Some(1) };
        let new = Request { path: NoPath {}, query: NoQuery, body };
        let token = ben.0.call::<CreateToken>(new).await.unwrap().0;
        let store = demo.app.engine.store.clone();
        let sign_in = engine::tokens::sign_in(&store, &token.secret.unwrap()).await.unwrap();
        let caller = astudio::Caller { sign_in: Some(sign_in), ..astudio::Caller::default() };
        let asker = Person(astudio::Client::local(demo.app.engine.clone(), caller));
        let call = approved_too_late(&demo, &asker, async || {
            if ended {
                let end = "update tokens set expires_at = 1";
                store.write::<_, store::StoreError, _>(move |tx| tx.exec(end, &[])).await.unwrap();
            } else {
                let revoke = Request { path: IdPath { id: token.id.clone() }, query: NoQuery, body: NoBody };
                ben.0.call::<RevokeToken>(revoke).await.unwrap();
            }
        })
        .await;
        let why = if ended { "has expired" } else { "was revoked" };
        assert_eq!(call["state"], "refused", "{call}");
        assert!(call["result"].to_string().contains(why), "{call}");
    }
}

/// Lets nobody ask agents any more, once it is told so.
struct Closing(Arc<AtomicBool>);

impl astudio::Pbac for Closing {
    fn allows(&self, _: &RequestScope, _: &str, action: &str) -> Option<bool> {
        Some(action != "astudio:testing:ask" || !self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn the_gate_of_asks_is_passed_again_before_an_approved_write_runs() {
    let (demo, _) = Demo::new().await;
    let closed = Arc::new(AtomicBool::new(false));
    let people = engine::people::Memberships(demo.app.engine.store.clone());
    let other = another_host(&demo).resolver(Arc::new(people)).pbac(Arc::new(Closing(closed.clone()))).build();
    let asker = Person(astudio::Client::local(other, astudio::Caller::user("ben", Some("demo"))));
    let call = approved_too_late(&demo, &asker, async || closed.store(true, Ordering::SeqCst)).await;
    assert_eq!(call["state"], "refused", "{call}");
    assert!(call["result"].to_string().contains("astudio:testing:ask"), "{call}");
}

/// A host that knows people by other ids than their sign-ins do.
struct Mapped(engine::people::Memberships);

#[async_trait]
impl astudio::ScopeResolver for Mapped {
    async fn resolve(&self, sign_in: &astudio::SignIn) -> astudio::contract::Result<RequestScope> {
        let user_id = sign_in.user_id.trim_start_matches("login-").to_owned();
        self.0.resolve(&astudio::SignIn { user_id, ..sign_in.clone() }).await
    }
}

#[tokio::test]
async fn the_asker_answers_in_the_channel_of_the_original_by_whatever_id_they_sign_in() {
    let (demo, _) = Demo::new().await;
    let people = engine::people::Memberships(demo.app.engine.store.clone());
    let other = another_host(&demo).resolver(Arc::new(Mapped(people))).build();
    let caller = astudio::Caller::user("login-ben", Some("demo"));
    let (source, token) = server::OneToken::make(caller.sign_in.clone().unwrap()).unwrap();
    let asker = Person(astudio::Client::local(other.clone(), caller));
    let asked = asker.ask("orders-desk", "cancel 1007").await;
    let id = asker.pending().await[0].id.clone();
    let settings = server::ServerSettings { listen: "127.0.0.1:0".into(), ..server::ServerSettings::default() };
    let server = server::Server::new(other, Arc::new(source), settings);
    let listening = server::Listening::bind(server, None).await.unwrap();
    let url = format!("http://{}/api/v1/agents/hitl/respond", listening.address().unwrap());
    tokio::spawn(listening.serve(std::future::pending()));
    // A second provider in one process is refused, and the first is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(url).bearer_auth(token);
    let response = request.json(&json!({ "interaction_id": id, "value": true })).send().await.unwrap();
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    assert!(asker.end_of(&asked.turn).await.response.starts_with("Done: order 1007"));
}

#[tokio::test]
async fn who_may_decide_and_did_not_ask_neither_withdraws_nor_asks_again() {
    let (demo, _) = Demo::new().await;
    let (root, ada, ben) = (demo.of("root"), demo.of("ada"), demo.of("ben"));
    let body = TenantPatch { approvals: Some("admins".into()), ..TenantPatch::default() };
    root.0.call::<PatchTenant>(Request { path: IdPath { id: "demo".into() }, query: NoQuery, body }).await.unwrap();
    ben.ask("orders-desk", "cancel 1007").await;
    let id = ada.pending().await[0].id.clone();
    let path = || IdPath { id: id.clone() };
    let withdraw = || Request { path: path(), query: NoQuery, body: NoBody };
    let withdrawn = ada.0.call::<WithdrawApproval>(withdraw()).await.unwrap_err();
    let again = Request { path: path(), query: NoQuery, body: NoBody };
    let asked = ada.0.call::<ReaskApproval>(again).await.unwrap_err();
    for refusal in [withdrawn, asked] {
        assert_eq!((refusal.status, refusal.code.as_str()), (404, "not_found"));
    }
    assert_eq!(ben.0.call::<WithdrawApproval>(withdraw()).await.unwrap().0.status, ApprovalStatus::Withdrawn);
}
