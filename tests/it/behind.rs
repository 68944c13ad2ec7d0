//! An engine behind a server in this process: what is asked of it there goes over HTTP, by each person's token.

use client::{Client, Credential, Proxy, Server};
use contract::ops::tokens::CreateToken;
use contract::wire::{Raw, Reply as _, WireReply, WireRequest};
use contract::{Operation as _, Result};
use engine::{Caller, Engine};
use serde_json::json;
use server::{Listening, ServerSettings, Tokens};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use text::Secret;

/// The server, and a client for each person.
pub struct Behind {
    engine: Engine,
    url: String,
    clients: Mutex<HashMap<(String, Option<String>), Client>>,
}

impl Behind {
    /// Serves an engine until the test ends.
    pub async fn start(engine: &Engine) -> Self {
        let settings = ServerSettings { listen: "127.0.0.1:0".into(), ..ServerSettings::default() };
        let tokens = Arc::new(Tokens(engine.store.clone()));
        let listening = Listening::bind(server::Server::new(engine.clone(), tokens, settings), None).await.unwrap();
        let url = format!("http://{}", listening.address().unwrap());
        tokio::spawn(listening.serve(std::future::pending()));
        Self { engine: engine.clone(), url, clients: Mutex::default() }
    }

    /// Lets this person be known from now on. Whoever cannot have a token has one that nobody made.
    pub async fn knows(&self, user: &str, tenant: Option<&str>) -> Client {
        let who = (user.to_owned(), tenant.map(str::to_owned));
        if let Some(client) = self.clients.lock().unwrap().get(&who) {
            return client.clone();
        }
        let body = Raw::Value(json!({ "name": "test" }));
        let request = WireRequest { body, ..WireRequest::default() };
        let made = self.engine.call::<CreateToken>(Caller::user(user, tenant), request).await;
        let token = match made.map(|made| made.into_wire(CreateToken::OK)) {
            Ok(WireReply::Json(_, body)) => body["secret"].as_str().unwrap().to_owned(),
            _ => "tsf_nobody".to_owned(),
        };
        let credential = Credential::Token(Secret::new(token));
        let client = Client::proxy(Proxy::new(Server::new(self.url.clone(), credential)).unwrap());
        self.clients.lock().unwrap().entry(who).or_insert(client).clone()
    }

    /// The client of somebody who is known.
    pub fn client(&self, user: &str, tenant: Option<&str>) -> Client {
        self.clients.lock().unwrap()[&(user.to_owned(), tenant.map(str::to_owned))].clone()
    }

    /// Calls an operation as this person.
    pub async fn call(&self, id: &str, user: &str, tenant: Option<&str>, request: WireRequest) -> Result<WireReply> {
        self.knows(user, tenant).await.call_by_id(id, request).await
    }
}
