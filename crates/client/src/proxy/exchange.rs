//! One request and its answer, tried again while only the connection is at fault.

use super::address::Address;
use super::again::Again;
use super::answer::{Answer, Broken, Stop, read};
use super::connection::Standing;
use super::sign_in::{Login, SignIn};
use contract::{Code, Result, StudioError};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use text::Secret;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// How many times the usual is waited for a long answer.
const LONG: u32 = 10;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Names a run of the server: what it keeps of keys ends with the run.
const BOOT: HeaderName = HeaderName::from_static("x-astudio-boot");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long what may be waited for, and how much may come.
#[derive(Clone, Debug)]
pub struct Pace {
    /// For a connection.
    pub connect: Duration,
    /// For a whole answer that is no stream.
    pub answer: Duration,
    /// In a stream that sends nothing, not even a heartbeat.
    pub silence: Duration,
    /// For a server that cannot be reached, from the first failure of a request on.
    pub patience: Duration,
    /// Most bytes of an answer, and of one event.
    pub most: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(60),
            silence: Duration::from_secs(45),
            patience: Duration::from_secs(30),
            most: 64 << 20,
        }
    }
}

/// Whether a request may be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It changes something, and the server would do it twice: only while it cannot have arrived.
    Unsent,
    /// It reads, or the server knows it again.
    Freely,
    /// The server knows it again and goes on with it meanwhile, so that a long answer is waited for in pieces.
    Joining,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    /// The verb.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// The body, JSON.
    pub body: Option<Vec<u8>>,
    /// By which the server knows the request again.
    pub key: Option<Uuid>,
    /// Whether the answer is to come before the work is done.
    pub deferred: bool,
    /// The last event that was seen of a stream.
    pub last: Option<String>,
    /// Whether only the run of the server that it was sent to first knows it again.
    pub bound: bool,
    /// Whether it may be sent twice.
    pub repeat: Repeat,
    /// Whether the answer takes as long as a model does, and perhaps a person, and cannot be waited for in pieces.
    pub long: bool,
}

impl Sending {
    /// A request that reads.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            body: None,
            key: None,
            bound: false,
            deferred: false,
            last: None,
            repeat: Repeat::Freely,
            long: false,
        }
    }
}

/// The way to one server.
#[derive(Debug)]
pub(super) struct Line {
    http: reqwest::Client,
    /// Where it is.
    pub address: Address,
    /// How it stands.
    pub standing: Standing,
    /// How long what may take.
    pub pace: Pace,
    /// Who speaks.
    pub sign_in: SignIn,
    /// The run of the server that answered last.
    boot: Mutex<Option<HeaderValue>>,
}

impl Line {
    /// A way to this address.
    ///
    /// # Errors
    /// No connections can be made on this machine.
    pub fn new(address: Address, sign_in: SignIn, pace: Pace) -> Result<Self> {
        // An `Err` says that one is installed already, which is all that is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .connect_timeout(pace.connect)
            .tcp_keepalive(Duration::from_secs(15))
            .pool_idle_timeout(Duration::from_secs(20))
            // The token is for the address that the operator named.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("astudio/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            builder = builder.no_proxy();
        } else if !address.is_encrypted() {
            tracing::warn!(
                server = address.host(),
                "the connection is not encrypted; the token can be read on its way"
            );
        }
        let http = builder.build().map_err(|error| {
            let why = super::answer::reason(&error);
            StudioError::new(Code::Unavailable, 503, format!("No connections can be made on this machine: {why}."))
        })?;
        Ok(Self { http, address, standing: Standing::new(), pace, sign_in, boot: Mutex::default() })
    }

    /// Sends a request as whoever speaks here, and again while only the connection is at fault, for so long.
    ///
    /// # Errors
    /// The server cannot be reached, or what answers is none.
    pub async fn exchange(&self, sending: &Sending, patience: Duration) -> Result<Answer> {
        let mut refused = None;
        loop {
            let sign_in = async |login, left| self.login(login, left).await;
            let token = self.sign_in.token(refused.as_ref(), patience, sign_in).await?;
            let answer = self.tries(sending, token.as_ref(), patience).await?;
            let unauthorized = matches!(&answer, Answer::Whole(whole) if whole.status == 401);
            if unauthorized && refused.is_none() && self.sign_in.can_renew() && token.is_some() {
                refused = token;
                continue;
            }
            return Ok(answer);
        }
    }

    /// The run of the server that answered last, where it is named.
    pub fn run(&self) -> Option<HeaderValue> {
        self.boot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn login(&self, login: Login, patience: Duration) -> Result<Value> {
        let body = login.body.to_string().into_bytes();
        let sending = Sending { method: Method::POST, body: Some(body), ..Sending::get(login.url) };
        let Answer::Whole(whole) = self.tries(&sending, None, patience).await? else {
            return Err(StudioError::new(Code::Unauthorized, 401, "The sign-in was answered with a stream."));
        };
        let (status, success) = (whole.status, whole.is_success());
        match whole.json().filter(|_| success) {
            Some(answer) => Ok(answer),
            // That it is too much or too early says nothing of the user and the password.
            None if matches!(status, 408 | 425 | 429) => Err(StudioError::new(
                Code::RateLimited,
                429,
                format!("The sign-in was put off with {status}. Wait a while, then try again."),
            )),
            None if (400..500).contains(&status) => Err(StudioError::new(
                Code::Unauthorized,
                401,
                format!("The sign-in was refused with {status}. Check user, password and `login_url` of the profile."),
            )),
            None => Err(whole.foreign()),
        }
    }

    async fn tries(&self, sending: &Sending, token: Option<&Secret>, patience: Duration) -> Result<Answer> {
        let mut again = Again::within(patience);
        let mut sent = false;
        let boot = self.run();
        // A run that does not know the key would do it a second time, and without its name no run can be told from another.
        let known = !sending.bound || boot.is_some();
        let long = sending.long || (sending.repeat == Repeat::Joining && !known);
        loop {
            let known_to = boot.as_ref().filter(|_| sent && sending.bound);
            let (broken, foreign) = match self.attempt(sending, token, known_to, long).await {
                Ok(Answer::Whole(whole)) if whole.is_of_a_gateway() => {
                    let why = format!("something before it answered {}", whole.status);
                    (Broken { why, sent: true, slow: false }, Some(whole.foreign()))
                }
                Ok(answer) => {
                    self.standing.works();
                    return Ok(answer);
                }
                Err(Stop::Final(error)) => return Err(error),
                Err(Stop::Broken(broken)) => (broken, None),
            };
            sent |= broken.sent;
            let allowed = !sent || (sending.repeat != Repeat::Unsent && known);
            if broken.slow && sending.repeat == Repeat::Joining {
                again.reset();
            }
            let Some(wait) = again.next().filter(|_| allowed) else {
                return Err(foreign.unwrap_or_else(|| self.lost(&broken.why, sent, sending)));
            };
            if !broken.slow {
                tracing::debug!(why = broken.why, ?wait, "the server cannot be reached; trying again");
                self.standing.broke(wait);
            }
            sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        sending: &Sending,
        token: Option<&Secret>,
        known_to: Option<&HeaderValue>,
        long: bool,
    ) -> std::result::Result<Answer, Stop> {
        let accepted =
            if sending.method == Method::GET { "application/json, text/event-stream" } else { "application/json" };
        let mut request = self
            .http
            .request(sending.method.clone(), sending.url.clone())
            .header(ACCEPT, HeaderValue::from_static(accepted));
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, bearer(token)?);
        }
        if let Some(key) = &sending.key {
            request = request.header(IDEMPOTENCY_KEY, key.to_string());
        }
        if let Some(boot) = known_to {
            request = request.header(BOOT, boot);
        }
        if sending.deferred {
            request = request.header(PREFER, HeaderValue::from_static("respond-async"));
        }
        // An id that cannot be sent back came from no server of ours.
        if let Some(last) = sending.last.as_deref().and_then(|last| HeaderValue::from_str(last).ok()) {
            request = request.header(LAST_EVENT_ID, last);
        }
        if let Some(body) = &sending.body {
            request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body.clone());
        }
        let exchange = async {
            let response = request.send().await.map_err(|error| Stop::broken(&error))?;
            if let Some(boot) = response.headers().get(BOOT) {
                *self.boot.lock().unwrap_or_else(PoisonError::into_inner) = Some(boot.clone());
            }
            read(response, self.pace.most).await
        };
        let most = if long { self.pace.answer * LONG } else { self.pace.answer };
        timeout(most, exchange).await.unwrap_or_else(|_| {
            let why = format!("no answer within {} s", most.as_secs());
            Err(Stop::Broken(Broken { why, sent: true, slow: true }))
        })
    }

    fn lost(&self, why: &str, sent: bool, sending: &Sending) -> StudioError {
        let host = self.address.host();
        let message = if sent && sending.method != Method::GET {
            format!(
                "The connection to {host} broke before the answer came ({why}). Whether it was done is not known: look \
                 before you do it again."
            )
        } else {
            format!("The server {host} cannot be reached ({why}). Check its address and the network, then try again.")
        };
        StudioError::new(Code::Unavailable, 503, message)
    }
}

fn bearer(token: &Secret) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| {
        StudioError::new(
            Code::InvalidConfig,
            422,
            "The token holds characters that no token has. Check where it comes from.",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}
