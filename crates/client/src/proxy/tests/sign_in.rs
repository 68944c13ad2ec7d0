//! Signing in with user and password.

use super::fake::{Asked, Do, Fake, answer, json, me};
use super::{get, server};
use crate::{Client, Connection, Credential, Password, Proxy, Server};
use contract::{Code, StudioError};
use futures_util::StreamExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use text::Secret;

const REFUSED: &str = r#"{"message":"Sign in.","code":"unauthorized","details":null}"#;
const FOUND: &str = r#"{"name":"a"}"#;

fn proxy(fake: &Fake, login: &Fake) -> Proxy {
    let url = format!("{}/login", login.url());
    with(fake, url, Password::Known(Secret::new("geheim".into())))
}

fn with(fake: &Fake, url: String, password: Password) -> Proxy {
    let credential = Credential::Login { url, user: "ann".into(), password };
    Proxy::new(Server { credential, ..server(fake.url()) }).unwrap()
}

fn client(fake: &Fake, login: &Fake) -> Client {
    Client::proxy(proxy(fake, login))
}

fn only(token: &'static str) -> impl Fn(&Asked, usize) -> Vec<Do> {
    move |asked, _| match asked.header("authorization") {
        Some(sent) if sent == format!("Bearer {token}") && asked.path.ends_with("/me") => me(),
        Some(sent) if sent == format!("Bearer {token}") => json(200, FOUND),
        _ => json(401, REFUSED),
    }
}

#[tokio::test]
async fn a_login_gives_the_token() {
    let login = Fake::raw(|_, _| answer(200, "application/json", "", r#"{"access_token":"t0"}"#)).await;
    let fake = Fake::raw(only("t0")).await;
    let client = client(&fake, &login);
    let (one, two) = tokio::join!(get(&client, "a"), get(&client, "a"));
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    let asked = login.asked();
    assert_eq!(asked.len(), 1, "one sign-in serves all");
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/login"));
    assert_eq!(asked[0].body, r#"{"username":"ann","password":"geheim"}"#);
}

#[tokio::test]
async fn a_token_that_has_run_out_is_renewed_once() {
    let login = Fake::raw(|_, n| answer(200, "application/json", "", &format!(r#"{{"token":"t{n}"}}"#))).await;
    let fake = Fake::raw(only("t1")).await;
    let found = get(&client(&fake, &login), "a").await;
    assert!(found.is_ok(), "{found:?}");
    assert_eq!(login.asked().len(), 2);
    let fake = Fake::raw(only("never")).await;
    let login = Fake::raw(|_, n| answer(200, "application/json", "", &format!(r#"{{"token":"t{n}"}}"#))).await;
    assert_eq!(get(&client(&fake, &login), "a").await.unwrap_err().code, Code::Unauthorized);
    assert!(login.asked().len() <= 3, "{}", login.asked().len());
}

#[tokio::test]
async fn a_refused_login_says_so_without_the_password() {
    let fake = Fake::raw(only("t0")).await;
    for login in [
        Fake::raw(|_, _| answer(403, "text/plain", "", "wrong: geheim")).await,
        Fake::raw(|_, _| answer(200, "application/json", "", r#"{"ok":true}"#)).await,
        Fake::raw(|_, _| answer(302, "text/plain", "location: http://127.0.0.1:1/?p=geheim\r\n", "")).await,
    ] {
        let error = get(&client(&fake, &login), "a").await.unwrap_err();
        assert!(!error.message.contains("geheim"), "{error}");
        assert_eq!(login.asked().len(), 1);
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn a_refused_login_is_not_sent_again() {
    let fake = Fake::raw(only("t0")).await;
    let login = Fake::raw(|_, _| answer(401, "text/plain", "", "wrong")).await;
    let proxy = proxy(&fake, &login);
    let client = Client::proxy(proxy.clone());
    for _ in 0..3 {
        let error = get(&client, "a").await.unwrap_err();
        assert!(error.code == Code::Unauthorized && error.message.contains("401"), "{error}");
    }
    let (standing, mut changes) = (proxy.connection(), proxy.changes());
    assert!(tokio::time::timeout(Duration::from_millis(1_500), changes.next()).await.is_err());
    assert_eq!(*standing.borrow(), Connection::Connected, "the line is not at fault");
    assert_eq!(login.asked().len(), 1);
}

#[tokio::test]
async fn a_login_that_is_put_off_is_sent_later() {
    let fake = Fake::raw(only("t1")).await;
    let login = Fake::raw(|_, n| match n {
        0 => answer(429, "text/plain", "", "slowly"),
        n => answer(200, "application/json", "", &format!(r#"{{"token":"t{n}"}}"#)),
    })
    .await;
    let client = client(&fake, &login);
    assert_eq!(get(&client, "a").await.unwrap_err().code, Code::RateLimited);
    assert!(get(&client, "a").await.is_ok());
}

#[tokio::test]
async fn the_password_is_asked_for_once_and_only_when_a_request_needs_it() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let ask = |user: &str| {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Ok(Secret::new(format!("of {user}")))
    };
    let login = Fake::raw(|_, n| answer(200, "application/json", "", &format!(r#"{{"token":"t{n}"}}"#))).await;
    let fake = Fake::raw(only("t1")).await;
    let proxy = with(&fake, format!("{}/login", login.url()), Password::Asked(ask));
    assert_eq!(ASKED.load(Ordering::SeqCst), 0, "nothing was sent yet");
    let client = Client::proxy(proxy.clone());
    let (one, two) = tokio::join!(get(&client, "a"), get(&client, "a"));
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    proxy.ask_password().await.unwrap();
    // The first token is refused, and the sign-in is repeated with what was said.
    assert_eq!((login.asked().len(), ASKED.load(Ordering::SeqCst)), (2, 1));
    assert!(login.asked().iter().all(|asked| asked.body.contains(r#""of ann""#)), "{:?}", login.asked());

    let nobody = |_: &str| Err(StudioError::new(Code::InvalidConfig, 422, "no terminal"));
    let proxy = with(&fake, format!("{}/login", login.url()), Password::Asked(nobody));
    assert_eq!(get(&Client::proxy(proxy), "a").await.unwrap_err().message, "no terminal");
    assert_eq!(login.asked().len(), 2);
}
