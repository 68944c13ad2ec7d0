//! The routes: made from the declared operations, one handler for all of them.

use crate::carry::carry;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::observed::observed;
use crate::repeat::{BOOT, BOOT_ID, Repeats};
use crate::shared::Shared;
use crate::sign_in::SignInSource;
use crate::{ServerSettings, answer, hitl, meta, request};
use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use contract::ops::test::{Ask, AskDefer, AskStream};
use contract::wire::Method;
use contract::{Code, Operation as _, StudioError};
use engine::{Engine, Entry};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Ready;
use std::sync::Arc;
use tokio::sync::watch;

/// Where the catalogue of tools answers too, beside `/catalog/tools`.
const TOOLS_CATALOG: &str = "/api/v1/tools/catalog";
/// The header by which a client knows this program.
const VERSION: HeaderName = HeaderName::from_static("x-astudio-version");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
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
            bodies: request::room(),
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
    let named = params.iter().chain(route.fixed.iter().copied());
    let path = named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    observed(&route.shared, entry.meta.id, carry(&route.shared, &entry, path, request)).await
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
    let id = sent.cloned().unwrap_or_else(|| answer::id(&contract::ids::log_id()));
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let mut response = tracing::Instrument::instrument(next.run(request), span).await;
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(BOOT, BOOT_ID.clone());
    headers.insert(VERSION, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
