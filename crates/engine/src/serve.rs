//! From a declared operation to its service, typed and untyped.

use crate::{Admitted, Caller, Engine};
use contract::operation::{Meta, meta};
use contract::wire::{Body, Late, Query, Reply, WireReply, WireRequest};
use contract::{Code, Operation, Result, StudioError};
use futures_util::future::BoxFuture;
use std::future::Future;

/// The service of an operation. The caller has passed the gates; query and body are opened where the contract's order
/// says so.
pub trait Serve<O: Operation> {
    /// Serves one request.
    fn serve(
        &self,
        who: Admitted,
        path: O::Path,
        query: Late<O::Query>,
        body: Late<O::Body>,
    ) -> impl Future<Output = Result<O::Reply>> + Send;
}

impl Engine {
    /// Calls an operation: the gates, then its service. The only way in, for every transport.
    ///
    /// # Errors
    /// The operation's refusals.
    pub async fn call<O: Operation>(&self, caller: Caller, request: WireRequest) -> Result<O::Reply>
    where
        Engine: Serve<O>,
    {
        let who = self.admit(caller, &O::GATES, O::EFFECT).await?;
        let WireRequest { path, query, body } = request;
        // Nothing that is stored holds one, and no database would take it as a name to look for.
        if path.values().any(|value| value.contains('\0')) {
            let message = "The address holds a NUL character, so there is nothing at it.";
            return Err(StudioError::new(Code::RouteNotFound, 404, message));
        }
        let path = serde_json::to_value(path)
            .and_then(serde_json::from_value)
            .map_err(|e| StudioError::invalid_request(format!("The address is not complete: {e}.")))?;
        self.serve(who, path, Late::new(|| O::Query::open(without_nul(query)?)), Late::new(|| O::Body::open(body)))
            .await
    }
}

/// A query as it may be opened: as in a body, no text holds NUL.
fn without_nul(query: Vec<(String, String)>) -> Result<Vec<(String, String)>> {
    match query.iter().find(|(key, value)| key.contains('\0') || value.contains('\0')) {
        Some(_) => Err(StudioError::invalid_request("The query holds a NUL character, which cannot be stored.")),
        None => Ok(query),
    }
}

/// An operation without its types.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What is declared of it.
    pub meta: Meta,
    /// Calls it.
    pub call: fn(Engine, Caller, WireRequest) -> BoxFuture<'static, Result<WireReply>>,
}

fn entry<O: Operation>() -> Entry
where
    Engine: Serve<O>,
{
    Entry {
        meta: meta::<O>(),
        call: |engine, caller, request| {
            Box::pin(async move { Ok(engine.call::<O>(caller, request).await?.into_wire(O::OK)) })
        },
    }
}

macro_rules! table {
    ($($group:ident :: $name:ident),+ $(,)?) => {
        /// All operations.
        pub fn entries() -> Vec<Entry> {
            vec![$(entry::<contract::ops::$group::$name>()),+]
        }
    };
}
contract::for_each_operation!(table);
