//! A proxy against a server that does what servers and networks do.

#![allow(clippy::unwrap_used)]

mod changes;
mod fake;
mod original;
mod requests;
mod sign_in;
mod streams;

use super::{Credential, Pace, Proxy, Server};
use crate::{Client, Request};
use contract::Operation as _;
use contract::Result;
use contract::ops::agents::{DeleteAgent, GetAgent};
use contract::ops::common::{NamePath, VersionQuery};
use contract::wire::{NoBody, WireReply, WireRequest};
use fake::Fake;
use std::time::Duration;
use text::Secret;

/// A server as its clients name it: impatient, so that tests are quick.
fn server(url: String) -> Server {
    let pace = Pace {
        connect: Duration::from_secs(1),
        answer: Duration::from_secs(2),
        silence: Duration::from_millis(600),
        patience: Duration::from_secs(5),
        most: 1 << 20,
    };
    Server { pace, ..Server::new(url, Credential::Token(Secret::new("geheim".into()))) }
}

fn proxy(fake: &Fake) -> Proxy {
    Proxy::new(server(fake.url())).unwrap()
}

fn client(fake: &Fake) -> Client {
    Client::proxy(proxy(fake))
}

/// Reads an agent.
async fn get(client: &Client, name: &str) -> Result<serde_json::Value> {
    let request = WireRequest { path: [("name".to_owned(), name.to_owned())].into(), ..WireRequest::default() };
    match client.call_by_id(GetAgent::ID, request).await? {
        WireReply::Json(_, value) => Ok(value),
        WireReply::Events(..) => panic!("a stream"),
    }
}

/// Deletes an agent.
async fn delete(client: &Client, name: &str) -> Result<()> {
    let request =
        Request::<DeleteAgent> { path: NamePath { name: name.into() }, query: VersionQuery::default(), body: NoBody };
    client.call(request).await.map(drop)
}
