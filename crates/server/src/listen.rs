//! The accept loop: connections, TLS, bounded waiting, and a stop that lets open requests end.

use crate::busy::{self, Busy};
use crate::first::First;
use crate::router::Server;
use crate::{ServerSettings, meta};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderName, HeaderValue, Method};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use socket2::{SockRef, TcpKeepalive};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 * 1024;
/// How long a peer may leave what was sent to it unacknowledged, or a silent line open, until it counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// Rest after the system had no room for a connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// What is wrong with the certificate or its key.
#[derive(Debug, thiserror::Error)]
#[error("{what} {path} cannot be used: {why}")]
pub struct TlsFault {
    what: &'static str,
    path: String,
    why: String,
}

/// TLS from PEM files.
///
/// # Errors
/// A file that is not there, holds nothing of its kind, or does not fit the other.
pub fn tls(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsFault> {
    let fault = |what, path: &Path, why: String| TlsFault { what, path: path.display().to_string(), why };
    let certs = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fault("the certificate", cert, error.to_string()))?;
    if certs.is_empty() {
        return Err(fault("the certificate", cert, "it holds no certificate".into()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| fault("the key", key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certs, private))
        .map_err(|error| fault("the key", key, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A server that is bound to its addresses.
pub struct Listening {
    server: Server,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
}

impl Listening {
    /// Binds the addresses of the settings.
    ///
    /// # Errors
    /// An address that is none or is taken.
    pub async fn bind(server: Server, tls: Option<TlsAcceptor>) -> io::Result<Self> {
        let settings = &server.shared.settings;
        let listener = TcpListener::bind(&settings.listen).await?;
        let metrics = match settings.metrics_listen.as_str() {
            "" => None,
            address => Some(TcpListener::bind(address).await?),
        };
        Ok(Self { server, listener, metrics, tls })
    }

    /// The address that was bound.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then takes no more connections, ends streams, and lets open requests end in the time that the
    /// settings give.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { server, listener, metrics, tls } = self;
        let settings = server.shared.settings.clone();
        let app = web(server.router(), &settings);
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(settings.connections.max(1)));
        let mut stop = std::pin::pin!(stop);
        let beside =
            metrics.map(|listener| tokio::spawn(accept_metrics(listener, meta::metrics_router(server.shared.clone()))));
        loop {
            let permit = room.clone().acquire_owned();
            let accepted = async {
                let permit = permit.await;
                (listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file handles: those that are open must end first.
                    tracing::warn!(kind = %error.kind(), "no connection could be accepted");
                    tokio::time::sleep(NO_ROOM).await;
                    continue;
                }
            };
            tune(&stream);
            let (app, tls, builder) = (app.clone(), tls.clone(), builder(&settings));
            let (watcher, open) = (graceful.watcher(), server.shared.metrics.connection());
            let head = Duration::from_secs(settings.header_seconds);
            tokio::spawn(async move {
                let _held = (permit, open);
                let busy = Busy::default();
                let service = counting(app, busy.clone());
                // What a peer does wrong on its line is no fault of ours.
                let served = async {
                    match tls {
                        None => {
                            let io = TokioIo::new(First::within(head, stream));
                            watcher.watch(builder.serve_connection(io, service).into_owned()).await
                        }
                        Some(tls) => match tokio::time::timeout(head, tls.accept(stream)).await {
                            Ok(Ok(stream)) => {
                                let io = TokioIo::new(First::within(head, stream));
                                watcher.watch(builder.serve_connection(io, service).into_owned()).await
                            }
                            _ => Ok(()),
                        },
                    }
                };
                tokio::select! {
                    _ = served => {}
                    () = busy.idle(GONE_AFTER) => {}
                }
            });
        }
        drop(listener);
        server.stop.send_replace(true);
        let last = Duration::from_secs(settings.stop_seconds);
        if tokio::time::timeout(last, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not end in time and were cut off");
        }
        if let Some(beside) = beside {
            beside.abort();
        }
    }
}

/// The application, with what is open on its connection counted.
fn counting(
    app: Router,
    busy: Busy,
) -> impl hyper::service::Service<
    hyper::Request<Incoming>,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + Send,
> + Clone {
    hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let (app, open) = (app.clone(), busy.enter());
        async move { Ok(app.oneshot(request.map(Body::new)).await?.map(|body| busy::counted(body, open))) }
    })
}

fn builder(settings: &ServerSettings) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let head = Duration::from_secs(settings.header_seconds);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES as u32)
        .max_concurrent_streams(256)
        .keep_alive_interval(Some(GONE_AFTER / 3))
        .keep_alive_timeout(GONE_AFTER / 3);
    builder
}

/// Small packets at once, and peers that are gone are noticed.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(GONE_AFTER / 2).with_interval(GONE_AFTER / 6));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket.set_tcp_user_timeout(Some(GONE_AFTER));
}

/// What only clients of the web need: compression, and pages of other origins.
fn web(router: Router, settings: &ServerSettings) -> Router {
    let router = router.layer(CompressionLayer::new());
    if settings.origins.is_empty() {
        return router;
    }
    let origins = settings.origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    let named = ["idempotency-key", "last-event-id", "prefer", "x-astudio-boot", "x-request-id", "x-studio-session"];
    let told = ["etag", "idempotent-replayed", "preference-applied", "retry-after", "x-astudio-boot", "x-request-id"];
    let headers = [AUTHORIZATION, CONTENT_TYPE, ACCEPT, IF_MATCH, IF_NONE_MATCH];
    let headers = headers.into_iter().chain(named.map(HeaderName::from_static));
    router.layer(
        CorsLayer::new()
            .allow_origin(origins.collect::<Vec<_>>())
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
            .allow_headers(headers.collect::<Vec<_>>())
            .expose_headers(told.map(HeaderName::from_static)),
    )
}

async fn accept_metrics(listener: TcpListener, app: Router) {
    if let Err(error) = axum::serve(listener, app).await {
        tracing::error!(kind = %error.kind(), "the listener for metrics ended");
    }
}
