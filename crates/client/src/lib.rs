//! The one client of screens and commands.
//!
//! Whoever shows something to a person calls typed operations here and does not know whether the engine runs in this
//! process or a server answers. Here live both ways: the call of the engine, and the [`proxy`] over HTTP. It may use
//! `engine` and below. It never decides anything.

pub mod dialect;
pub mod proxy;

use contract::operation::meta;
use contract::wire::{Body, Query, Reply as _, WireReply, WireRequest};
use contract::{Operation, Result, StudioError};
use engine::Entry;
use std::collections::BTreeMap;

pub use engine::{Caller, Engine, Serve};
pub use proxy::{Connection, Credential, Dialect, Pace, Password, Proxy, Server};

/// A request of an operation, typed.
pub struct Request<O: Operation> {
    /// Path parameters.
    pub path: O::Path,
    /// Query.
    pub query: O::Query,
    /// Body.
    pub body: O::Body,
}

impl<O: Operation> Request<O> {
    fn wire(&self) -> WireRequest {
        let path: BTreeMap<String, String> =
            serde_json::to_value(&self.path).and_then(serde_json::from_value).unwrap_or_default();
        WireRequest { path, query: self.query.pairs(), body: self.body.raw() }
    }
}

/// A client that speaks as one person.
#[derive(Clone)]
pub struct Client(Way);

#[derive(Clone)]
enum Way {
    Local { engine: Engine, caller: Box<Caller> },
    Proxy(Proxy),
}

impl Client {
    /// A client of the engine in this process.
    pub fn local(engine: Engine, caller: Caller) -> Self {
        Self(Way::Local { engine, caller: Box::new(caller) })
    }

    /// A client of a server.
    pub fn proxy(proxy: Proxy) -> Self {
        Self(Way::Proxy(proxy))
    }

    /// Calls an operation.
    ///
    /// # Errors
    /// Its refusals; 503 `unavailable` when a server cannot be reached.
    pub async fn call<O: Operation>(&self, request: Request<O>) -> Result<O::Reply>
    where
        Engine: Serve<O>,
    {
        match &self.0 {
            Way::Local { engine, caller } => engine.call::<O>(Caller::clone(caller), request.wire()).await,
            Way::Proxy(proxy) => O::Reply::from_wire(proxy.call(&meta::<O>(), request.wire()).await?),
        }
    }

    /// Calls an operation by its id.
    ///
    /// # Errors
    /// 404 `route_not_found` for an unknown id, else the operation's refusals.
    pub async fn call_by_id(&self, id: &str, request: WireRequest) -> Result<WireReply> {
        let entry = entry(id).ok_or_else(|| {
            StudioError::new(
                contract::Code::RouteNotFound,
                404,
                format!("There is no operation '{id}'. `astudio api` lists them."),
            )
        })?;
        match &self.0 {
            Way::Local { engine, caller } => (entry.call)(engine.clone(), Caller::clone(caller), request).await,
            Way::Proxy(proxy) => proxy.call(&entry.meta, request).await,
        }
    }
}

fn entry(id: &str) -> Option<Entry> {
    engine::entries().into_iter().find(|entry| entry.meta.id == id)
}
