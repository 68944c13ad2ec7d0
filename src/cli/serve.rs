//! `astudio serve`: the home over HTTP.

use super::ctx::{Bare, needs_home};
use super::exit::{Exit, Failure, Outcome, usage};
use super::reach::Way;
use crate::app::{self, PolicyPreset};
use contract::{Code, StudioError};
use engine::{Engine, SignIn};
use serde_json::json;
use server::{Listening, OneToken, Server, ServerSettings, SignInSource, Tokens};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `astudio serve`; what they leave out is in the settings, under `server`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Mount the operations here; may hold {tenant}; may be repeated
    #[arg(long = "prefix", value_name = "PATH")]
    prefixes: Vec<String>,
    /// Serve without tenants and people: one token, printed at the start, manages all records
    #[arg(long)]
    plain_host: bool,
    /// Certificate chain for TLS, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Runs the command until SIGTERM or SIGINT.
pub async fn run(bare: Bare, args: ServeArgs, way: &Way) -> Outcome {
    let Bare { out, places, mut settings, speak_as, server } = bare;
    if server.is_some() {
        return Err(needs_home("serve"));
    }
    if speak_as.is_some() {
        return Err(usage("A server speaks for whoever signs in. Leave --as out."));
    }
    let plain = args.plain_host;
    // Others than the machine's own person configure agents here.
    settings.host.policy = PolicyPreset::DenyAll;
    let server_settings = args.over(settings.server.clone())?;
    let tls = match (server_settings.tls_cert.as_os_str().is_empty(), server_settings.tls_key.as_os_str().is_empty()) {
        (true, true) => None,
        (false, false) => Some(
            server::tls(&server_settings.tls_cert, &server_settings.tls_key)
                .map_err(|fault| StudioError::new(Code::InvalidConfig, 422, sentence(&fault.to_string())))?,
        ),
        _ => return Err(usage("TLS needs both server.tls_cert and server.tls_key.")),
    };
    let (engine, sign_in, token): (Engine, Arc<dyn SignInSource>, Option<String>) = if plain {
        let sign_in = SignIn {
            user_id: app::own_user(),
            credential: "plain-host".into(),
            // Whoever starts the process may do everything with its files anyway.
            superuser: true,
            ..SignIn::default()
        };
        let (source, token) = OneToken::make(sign_in)?;
        (app::open_plain(&places, &settings)?, Arc::new(source), Some(token))
    } else {
        let engine = app::open(&places, &settings).await?.engine;
        (engine.clone(), Arc::new(Tokens(engine.store.clone())), None)
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let (listen, prefix) = (server_settings.listen.clone(), server_settings.prefixes[0].clone());
    let stop = stopped()?;
    let listening = Listening::bind(Server::new(engine.clone(), sign_in, server_settings), tls)
        .await
        .map_err(|error| unavailable(&listen, &error))?;
    let address = listening.address()?;
    let url = format!("{scheme}://{address}{prefix}");
    let said = json!({ "url": url, "address": address.to_string(), "token": token });
    out.answer(&said, |out| {
        out.line(&format!("Serving {url}"))?;
        match &token {
            Some(token) => out.line(&format!("Token: {token}")),
            None => out.line(&format!("Sign in with a token; {} makes one.", way.command("tokens create NAME"))),
        }?;
        out.line("It serves until Ctrl-C or SIGTERM; work on it from another terminal.")
    })?;
    listening.serve(stop).await;
    // A write in the hands of its tool is given all the time that its call has. What is cut off by a second signal is taken up
    // again later; whether such a write ran is unknown then, unless its tool can tell.
    tokio::select! {
        () = engine.runtime.shutdown() => {}
        () = stopped()? => {}
        () = tokio::time::sleep(engine.runtime.shutdown_takes()) => {}
    }
    Ok(Exit::Done)
}

impl ServeArgs {
    /// The settings with what the command line says.
    fn over(self, mut settings: ServerSettings) -> Result<ServerSettings, Failure> {
        let Self { listen, prefixes, plain_host: _, tls_cert, tls_key } = self;
        settings.listen = listen.unwrap_or(settings.listen);
        if !prefixes.is_empty() {
            settings.prefixes = prefixes;
        }
        settings.tls_cert = tls_cert.unwrap_or(settings.tls_cert);
        settings.tls_key = tls_key.unwrap_or(settings.tls_key);
        if settings.prefixes.is_empty() {
            return Err(usage("server.prefixes must name at least one path."));
        }
        for prefix in &settings.prefixes {
            let parts = prefix.strip_prefix('/').map(|rest| rest.trim_end_matches('/').split('/').collect::<Vec<_>>());
            let good = |part: &str| {
                part == "{tenant}"
                    || !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            };
            if !parts.is_some_and(|parts| parts.iter().all(|part| good(part))) {
                return Err(usage(format!(
                    "The prefix '{prefix}' is no path such as /api/v1/astudio or /api/v1/{{tenant}}/astudio."
                )));
            }
        }
        for origin in &settings.origins {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            let visible =
                |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b"/*,".contains(&b));
            if !host.is_some_and(visible) {
                return Err(usage(format!(
                    "server.origins: '{origin}' is no origin such as https://chat.example.com."
                )));
            }
        }
        Ok(settings)
    }
}

/// Ends when the process is told to stop.
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
    })
}

fn unavailable(listen: &str, error: &std::io::Error) -> StudioError {
    let message = format!("The server cannot listen on '{listen}' ({}). Choose another with --listen.", error.kind());
    StudioError::new(Code::Unavailable, 503, message)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}
