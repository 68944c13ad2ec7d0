//! The same operations over HTTP: a server somewhere else answers them.
//!
//! A request is repeated while only the connection is at fault. It carries a key by which the server knows it again, so that
//! what changes something is done once; and once it may have arrived it names the run of the server that knows the key, so that
//! a server that was restarted meanwhile refuses it and the person looks. Streams are continued after the last event that came.

mod address;
mod again;
mod answer;
mod changes;
mod connection;
mod events;
mod exchange;
mod joint;
mod original;
mod sign_in;
mod speech;
#[cfg(test)]
mod tests;

pub use address::PREFIX;
pub(crate) use address::path_of;
pub use connection::Connection;
pub use exchange::Pace;
pub use sign_in::{Credential, Password};
pub use speech::Dialect;

use crate::dialect::Original;
use address::Address;
use answer::{Answer, Whole};
use contract::operation::{Effect, Meta, meta};
use contract::ops::approvals::ListApprovals;
use contract::ops::me::GetMe;
use contract::ops::test::{AskDefer, AskStream, Deferred};
use contract::ops::turns::{ResumeTurn, TurnEvents};
use contract::turn::Watched;
use contract::wire::{Json, Method, Reply as _, WireReply, WireRequest};
use contract::{Operation, Result, StudioError};
use events::{Turn, Wanted, follow, follow_begun};
use exchange::{Line, Repeat, Sending};
use futures_util::stream::BoxStream;
use joint::Joint;
use sign_in::SignIn;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use uuid::Uuid;

/// A server, and who speaks to it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address, such as `https://studio.example.com`.
    pub url: String,
    /// Where it answers below that; none = [`PREFIX`]. May hold `{tenant}`.
    pub prefix: Option<String>,
    /// What stands for `{tenant}` in the prefix.
    pub tenant: Option<String>,
    /// Who speaks.
    pub credential: Credential,
    /// How long what may take.
    pub pace: Pace,
}

impl Server {
    /// A server at this address, with the usual prefix and pace.
    pub fn new(url: impl Into<String>, credential: Credential) -> Self {
        Self { url: url.into(), prefix: None, tenant: None, credential, pace: Pace::default() }
    }
}

/// A client of a server. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Proxy(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    line: Arc<Line>,
    /// The turns that were begun or taken up here: somebody here wants them to go on.
    wanted: Arc<Wanted>,
    dialect: Joint<Dialect>,
    /// What is kept of a server that speaks the other dialect.
    original: Original,
}

impl Proxy {
    /// A client of this server. Nothing is sent yet.
    ///
    /// # Errors
    /// `invalid_config` for an address that is none.
    pub fn new(server: Server) -> Result<Self> {
        let Server { url, prefix, tenant, credential, pace } = server;
        let address = Address::read(&url, prefix.as_deref(), tenant.as_deref())?;
        let line = Arc::new(Line::new(address, SignIn::new(credential)?, pace)?);
        let wanted = Arc::default();
        Ok(Self(Arc::new(Shared { line, wanted, dialect: Joint::new(), original: Original::default() })))
    }

    /// Host and port, for people.
    pub fn host(&self) -> &str {
        self.0.line.address.host()
    }

    /// Asks for the password of the sign-in now, if a person is to be asked for one: a program that is about to take the whole
    /// terminal cannot ask later.
    ///
    /// # Errors
    /// Nobody can be asked.
    pub async fn ask_password(&self) -> Result<()> {
        self.0.line.sign_in.ask_password().await
    }

    /// The whole address below which it answers, without anything secret: what tells one server from another.
    pub fn address(&self) -> String {
        self.0.line.address.at("", &[]).to_string()
    }

    /// How the connection stands, and every change of it.
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.0.line.standing.subscribe()
    }

    /// Whenever something changed on the server, or may have while it could not be reached. It never ends, and keeps
    /// [`Proxy::connection`] true while it is read.
    pub fn changes(&self) -> BoxStream<'static, ()> {
        changes::changes(self.clone())
    }

    /// Calls an operation.
    ///
    /// # Errors
    /// Its refusals; 503 `unavailable` when the server cannot be reached.
    pub(crate) async fn call(&self, meta: &Meta, request: WireRequest) -> Result<WireReply> {
        match (self.dialect().await?, meta.id) {
            (Dialect::Original, _) => self.call_original(meta, request).await,
            (Dialect::Ours, AskStream::ID) => self.ask(request).await,
            (Dialect::Ours, _) => self.send(meta, &request).await,
        }
    }

    async fn send(&self, meta: &Meta, request: &WireRequest) -> Result<WireReply> {
        let sending = self.sending(meta, request)?;
        let line = &self.0.line;
        if meta.id == ResumeTurn::ID
            && let Some(turn) = request.path.get("id")
        {
            self.0.wanted.add(turn);
        }
        match line.exchange(&sending, line.pace.patience).await? {
            Answer::Whole(whole) => whole.meaning(),
            Answer::Stream(response) => {
                let turn = if meta.id == TurnEvents::ID { Some(self.turn(request)?) } else { None };
                Ok(WireReply::Events(200, follow(line.clone(), sending, turn, response)))
            }
        }
    }

    /// Asks, and then watches the turn: whatever becomes of the connection, the turn goes on and is asked for once.
    async fn ask(&self, request: WireRequest) -> Result<WireReply> {
        let begun = self.send(&meta::<AskDefer>(), &request).await?;
        let Json(Deferred { turn, session, .. }) = Json::from_wire(begun)?;
        self.0.wanted.add(&turn);
        let path = BTreeMap::from([("id".to_owned(), turn.clone())]);
        let of_turn = WireRequest { path, ..WireRequest::default() };
        let sending = self.sending(&meta::<TurnEvents>(), &of_turn)?;
        let first = serde_json::to_value(Watched::Turn { turn, session }).map_err(|_| StudioError::internal())?;
        // The turn is told at once: from here on nobody may take the words back and ask again.
        Ok(WireReply::Events(200, follow_begun(self.0.line.clone(), sending, self.turn(&of_turn)?, first)))
    }

    /// What a stream knows of the turn that this request names.
    fn turn(&self, request: &WireRequest) -> Result<Turn> {
        let id = request.path.get("id").cloned().unwrap_or_default();
        let path = BTreeMap::from([("id".to_owned(), id.clone())]);
        let resume = self.sending(&meta::<ResumeTurn>(), &WireRequest { path, ..WireRequest::default() })?;
        Ok(Turn { id, resume, wanted: self.0.wanted.clone(), run: self.0.line.run() })
    }

    fn sending(&self, meta: &Meta, request: &WireRequest) -> Result<Sending> {
        let sent = speech::ours(meta, request)?;
        let changes = meta.method != Method::Get;
        Ok(Sending {
            method: verb(meta.method),
            url: self.0.line.address.at(&sent.path, &sent.query),
            body: sent.body,
            key: changes.then(Uuid::new_v4),
            // To take a turn up twice is to take it up once, whoever has it.
            bound: changes && meta.id != ResumeTurn::ID,
            deferred: meta.id == AskDefer::ID,
            last: None,
            repeat: if meta.effect == Effect::Run { Repeat::Joining } else { Repeat::Freely },
            long: false,
        })
    }

    /// What the server speaks; asked once.
    ///
    /// # Errors
    /// A refusal; 503 `unavailable` when the server cannot be reached; 502 when what answers is none.
    pub async fn dialect(&self) -> Result<Dialect> {
        let ask = async |left| match Dialect::of(self.look(GetMe::ROUTES[0], &[], left).await?)? {
            Dialect::Ours => Ok(Dialect::Ours),
            // It may be ours behind a gateway that takes unknown headers away.
            Dialect::Original => {
                let pending = [("status".to_owned(), "pending".to_owned())];
                let whole = self.look(ListApprovals::ROUTES[0], &pending, left).await?;
                Ok(if speech::lists_approvals(&whole) { Dialect::Ours } else { Dialect::Original })
            }
        };
        self.0.dialect.get(self.0.line.pace.patience, |_| true, |_| false, ask).await
    }

    async fn look(&self, path: &str, query: &[(String, String)], patience: Duration) -> Result<Whole> {
        let line = &self.0.line;
        match line.exchange(&Sending::get(line.address.at(path, query)), patience).await? {
            Answer::Whole(whole) => Ok(whole),
            Answer::Stream(_) => Err(StudioError::new(
                contract::Code::InternalError,
                502,
                "This does not look like a Studio server: it sent a stream of events where one answer was expected.",
            )),
        }
    }
}

fn verb(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

/// A refusal of a whole answer, if it is one.
fn refusal(whole: Whole) -> Option<StudioError> {
    whole.meaning().err()
}
