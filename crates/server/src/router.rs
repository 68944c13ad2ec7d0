//! The routes: made from the declared operations, one handler for all of them.

use crate::conditional::{self, Read};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::repeat::{Kept, Named, Repeats};
use crate::shared::Shared;
use crate::sign_in::SignInSource;
use crate::{ServerSettings, answer, ask, hitl, meta, request, sse};
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use contract::operation::Effect;
use contract::ops::approvals::DecideApproval;
use contract::ops::test::{Ask, AskDefer, AskStream};
use contract::wire::{Method, Raw, WireReply, WireRequest};
use contract::{Code, Operation as _, Result, StudioError};
use engine::{Caller, Engine, Entry};
use futures_util::FutureExt as _;
use http::header::{ACCEPT, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Where the catalogue of tools answers too, beside `/catalog/tools`.
const TOOLS_CATALOG: &str = "/api/v1/tools/catalog";
/// The header by which a client knows this program.
const VERSION: HeaderName = HeaderName::from_static("x-astudio-version");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The server, ready to be mounted or to listen.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stop: watch::Sender<bool>,
}

impl Server {
    /// Around an engine.
    pub fn new(engine: Engine, sign_in: Arc<dyn SignInSource>, settings: ServerSettings) -> Self {
        let (stop, stopping) = watch::channel(false);
        let shared = Shared {
            limits: Limits::new(&settings),
            metrics: Metrics::default(),
            repeats: Repeats::default(),
            lists: crate::lists::lists(),
            engine,
            sign_in,
            settings,
            stopping,
        };
        Self { shared: Arc::new(shared), stop }
    }

    /// All routes. A host mounts this into its own application.
    pub fn router(&self) -> Router {
        let mut router = Router::new();
        let mut mounted = BTreeSet::new();
        for prefix in &self.shared.settings.prefixes {
            let prefix = prefix.trim_end_matches('/');
            if !mounted.insert(prefix.to_owned()) {
                tracing::info!(prefix, "this prefix is mounted already");
                continue;
            }
            for (path, methods) in routes(engine::entries()) {
                router = router.route(&format!("{prefix}{path}"), self.methods(methods));
            }
        }
        if let Some(catalog) = entry(contract::ops::catalog::GetCatalog::ID) {
            let tools = vec![("kind", "tools")];
            let alias = Route { entries: vec![catalog], fixed: tools, shared: self.shared.clone() };
            router = router.route(TOOLS_CATALOG, alias.on(MethodFilter::GET).fallback(refuse("GET".into())));
        }
        router
            .merge(hitl::router(self.shared.clone()))
            .merge(meta::router(self.shared.clone()))
            .fallback(not_found)
            .layer(middleware::from_fn(identified))
    }

    fn methods(&self, methods: BTreeMap<Method, Vec<Entry>>) -> MethodRouter {
        let allowed = methods.keys().map(|method| method.as_str()).collect::<Vec<_>>().join(", ");
        let mut out = MethodRouter::new();
        for (method, entries) in methods {
            let route = Route { entries, fixed: Vec::new(), shared: self.shared.clone() };
            out = out.merge(route.on(filter(method)));
        }
        out.fallback(refuse(allowed))
    }

    /// The text of `/metrics`.
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
}

/// Operations by path and verb.
fn routes(entries: Vec<Entry>) -> BTreeMap<&'static str, BTreeMap<Method, Vec<Entry>>> {
    let mut routes: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
    for entry in entries {
        for path in entry.meta.routes {
            routes.entry(*path).or_default().entry(entry.meta.method).or_default().push(entry);
        }
    }
    routes
}

fn entry(id: &str) -> Option<Entry> {
    engine::entries().into_iter().find(|entry| entry.meta.id == id)
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// Refuses the verbs that a path does not take.
fn refuse(allowed: String) -> impl Fn(http::Method) -> Ready<Response> + Clone + Send + Sync + 'static {
    move |method| std::future::ready(answer::method_not_allowed(&method, &allowed))
}

/// One verb of one path. Where several operations share it, the headers choose.
#[derive(Clone)]
struct Route {
    entries: Vec<Entry>,
    /// Path parameters that the address does not have.
    fixed: Vec<(&'static str, &'static str)>,
    shared: Arc<Shared>,
}

impl Route {
    fn on(self, filter: MethodFilter) -> MethodRouter {
        axum::routing::on(filter, handle).with_state(Arc::new(self))
    }

    /// The operation that a request means.
    fn choose(&self, headers: &HeaderMap) -> Entry {
        let by_id = |id: &str| self.entries.iter().find(|entry| entry.meta.id == id);
        let chosen = if request::names(headers, ACCEPT, "text/event-stream") {
            by_id(AskStream::ID)
        } else if request::names(headers, PREFER, "respond-async") {
            by_id(AskDefer::ID)
        } else {
            by_id(Ask::ID)
        };
        *chosen.unwrap_or(&self.entries[0])
    }
}

async fn handle(
    State(route): State<Arc<Route>>,
    params: std::result::Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    // What is no text names nothing.
    let Ok(params) = params else { return not_found(request.uri().clone()).await };
    let entry = route.choose(request.headers());
    let begun = Instant::now();
    let response = match AssertUnwindSafe(answered(&route, &entry, &params, request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => answer::refusal(&error),
        Err(_) => {
            tracing::error!(operation = entry.meta.id, "the operation panicked");
            answer::refusal(&StudioError::internal())
        }
    };
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    route.shared.metrics.answered(&entry.meta, status, took);
    let ms = took.as_micros() as f64 / 1e3;
    tracing::info!(target: "astudio_server::access", operation = entry.meta.id, status, ms);
    response
}

async fn answered(route: &Route, entry: &Entry, params: &RawPathParams, request: Request) -> Result<Response> {
    let shared = &route.shared;
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let mut path: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // `{tenant}` belongs to the prefix; no operation has a parameter of this name.
    let route_tenant = path.remove("tenant");
    path.extend(route.fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let caller = shared.caller(&headers, route_tenant).await?;
    let query = request::query(&parts.uri);
    let bytes = request::body(entry.meta.method, &headers, body, &shared.settings).await?;
    let key = headers.get(IDEMPOTENCY_KEY).filter(|_| entry.meta.method != Method::Get && !is_stream(entry));
    let named = match (key, &caller.sign_in) {
        (Some(key), Some(sign_in)) => {
            let what = [entry.meta.id.as_bytes(), parts.uri.to_string().as_bytes(), &bytes].map(<[u8]>::to_vec);
            let what: Vec<&[u8]> = what.iter().map(Vec::as_slice).collect();
            Some(Named::new(&sign_in.credential, key.as_bytes(), &what)?)
        }
        _ => None,
    };
    let body = if bytes.is_empty() { Raw::Absent } else { Raw::Bytes(bytes.into()) };
    let request = WireRequest { path, query, body };
    let Some(named) = named else {
        return call(shared, entry, caller, request, &headers).await;
    };
    let (work_shared, entry) = (shared.clone(), *entry);
    let work = async move {
        let response = match call(&work_shared, &entry, caller, request, &headers).await {
            Ok(response) => response,
            Err(error) => answer::refusal(&error),
        };
        keep(response).await
    };
    let (kept, repeated) = shared.repeats.once(named, work).await?;
    let mut response = answer::bytes(kept.status, kept.body);
    if repeated {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

async fn keep(response: Response) -> Kept {
    use http_body_util::BodyExt as _;
    let status = response.status().as_u16();
    // It was written in this process, whole.
    let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Kept { status, body }
}

fn is_stream(entry: &Entry) -> bool {
    entry.meta.id == AskStream::ID
}

async fn call(
    shared: &Arc<Shared>,
    entry: &Entry,
    caller: Caller,
    mut request: WireRequest,
    headers: &HeaderMap,
) -> Result<Response> {
    if is_stream(entry) {
        return ask::stream(shared, caller, request, headers).await;
    }
    if entry.meta.id == Ask::ID {
        return ask::wait(shared, entry, caller, request).await;
    }
    let seconds = Duration::from_secs(shared.settings.request_seconds);
    let in_time = |result: std::result::Result<Result<Response>, _>| {
        result.unwrap_or_else(|_| {
            Err(StudioError::new(Code::Unavailable, 503, "The server is too busy to answer in time. Try again later."))
        })
    };
    if entry.meta.effect == Effect::Read {
        sse::continue_after(&mut request, headers);
        return in_time(tokio::time::timeout(seconds, read(shared, entry, caller, request, headers)).await);
    }
    conditional::expect(shared, entry, &caller, &mut request, headers).await?;
    // Whatever was begun is done, whether or not somebody still waits for the answer.
    let (shared, entry) = (shared.clone(), *entry);
    let work = tokio::spawn(async move {
        let reply = (entry.call)(shared.engine.clone(), caller.clone(), request).await?;
        let (status, value) = conditional::json_of(reply)?;
        if entry.meta.id == DecideApproval::ID {
            ask::go_on(&shared, caller, value["turn"].as_str().unwrap_or_default());
        }
        let mut response = answer::json(status, &value);
        if entry.meta.id.starts_with("agents.")
            && let Some(tag) = conditional::tag_of(&value)
        {
            tagged(&mut response, &tag);
        }
        if entry.meta.id == AskDefer::ID {
            response.headers_mut().insert("preference-applied", HeaderValue::from_static("respond-async"));
        }
        Ok(response)
    });
    work.await.map_err(|_| StudioError::internal())?
}

async fn read(
    shared: &Arc<Shared>,
    entry: &Entry,
    caller: Caller,
    request: WireRequest,
    headers: &HeaderMap,
) -> Result<Response> {
    if entry.meta.streams {
        let WireReply::Events(_, events) = (entry.call)(shared.engine.clone(), caller, request).await? else {
            return Err(StudioError::internal());
        };
        return Ok(sse::stream(events, shared.stopping.clone(), shared.metrics.stream()));
    }
    Ok(match conditional::read(shared, entry, caller, request, headers).await? {
        Read::Same(tag) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = http::StatusCode::NOT_MODIFIED;
            tagged(&mut response, &tag);
            response
        }
        Read::Fresh(status, bytes, tag) => {
            let mut response = answer::bytes(status, bytes);
            if let Some(tag) = tag {
                tagged(&mut response, &tag);
            }
            response
        }
    })
}

fn tagged(response: &mut Response, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, value);
    }
}

async fn not_found(uri: http::Uri) -> Response {
    let message = format!("There is nothing at '{}'. The document of this interface is at /openapi.json.", uri.path());
    answer::refusal(&StudioError::new(Code::RouteNotFound, 404, message))
}

/// Gives every request an id, which stands in its answer and in the log.
async fn identified(request: Request, next: Next) -> Response {
    let sent = request
        .headers()
        .get(&REQUEST_ID)
        .filter(|id| (1..=64).contains(&id.len()) && id.as_bytes().iter().all(|byte| byte.is_ascii_graphic()));
    let id = sent.cloned().unwrap_or_else(|| {
        let id = contract::ids::log_id();
        HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
    });
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let mut response = tracing::Instrument::instrument(next.run(request), span).await;
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(VERSION, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
