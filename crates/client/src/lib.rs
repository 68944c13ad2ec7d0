//! The one client of screens and commands.
//!
//! Whoever shows something to a person calls typed operations here and does not know whether the engine runs in this
//! process or a server answers. It may use `engine` and below. It never decides anything.

pub mod dialect;

use contract::wire::{Body, Query, WireReply, WireRequest};
use contract::{Operation, Result, StudioError};
use engine::Entry;

pub use engine::{Caller, Engine, Serve};
use std::collections::BTreeMap;

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
pub struct Client {
    engine: Engine,
    caller: Caller,
}

impl Client {
    /// A client of the engine in this process.
    pub fn local(engine: Engine, caller: Caller) -> Self {
        Self { engine, caller }
    }

    /// The engine in this process, for what only works where the data is.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Calls an operation.
    ///
    /// # Errors
    /// Its refusals.
    pub async fn call<O: Operation>(&self, request: Request<O>) -> Result<O::Reply>
    where
        Engine: Serve<O>,
    {
        self.engine.call::<O>(self.caller.clone(), request.wire()).await
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
        (entry.call)(self.engine.clone(), self.caller.clone(), request).await
    }
}

fn entry(id: &str) -> Option<Entry> {
    engine::entries().into_iter().find(|entry| entry.meta.id == id)
}
