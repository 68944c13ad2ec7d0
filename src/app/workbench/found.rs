//! Models that can be used without more ado: providers whose key is in the environment, and servers that answer on this machine.
//! Only loopback is asked; nothing leaves the machine.

use crate::app::models::{Models, Provider};
use futures_util::future::join_all;
use models::ProviderKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tui::FoundModel;

/// How long a server on this machine has to take the connection, and how long to answer.
const CONNECT: Duration = Duration::from_millis(300);
const ANSWER: Duration = Duration::from_millis(700);
/// Most bytes of an answer.
const MOST_BYTES: u64 = 1 << 20;
/// Most models that are listed of one server.
const MOST_MODELS: usize = 50;

/// The models found, those of servers on this machine after those with a key.
pub(super) async fn models(models: &Models) -> Vec<FoundModel> {
    let mut found: Vec<FoundModel> = models.providers().filter_map(with_key).collect();
    let mut asked = BTreeSet::new();
    // A provider that the operator configured wins over a known one at the same address.
    let (own, known): (Vec<_>, Vec<_>) = models.providers().partition(|p| p.config.base_url.is_some());
    let servers = own.into_iter().chain(known).filter_map(Server::of).filter(|server| asked.insert(server.key()));
    for list in join_all(servers.map(Server::models)).await {
        found.extend(list);
    }
    found
}

/// The default model of a provider whose key is in the environment.
fn with_key(provider: &Provider) -> Option<FoundModel> {
    let variable = provider.key_variable()?;
    let model = provider.default_model()?;
    Some(FoundModel { llm: format!("{}:{model}", provider.config.name), how: format!("{variable} is set") })
}

/// A provider's server on this machine.
#[derive(Debug, PartialEq)]
struct Server {
    provider: String,
    port: u16,
    /// Addresses to try; `localhost` may be either.
    hosts: Vec<IpAddr>,
    path: String,
    /// Where its answer lists the models, and what names one.
    list: (&'static str, &'static str),
}

impl Server {
    fn of(provider: &Provider) -> Option<Self> {
        if provider.config.kind != ProviderKind::OpenAi {
            return None;
        }
        let (hosts, port, path) = loopback(provider.address()?)?;
        let name = provider.config.name.clone();
        // Ollama's own list has the models that are on disk.
        Some(if name == "ollama" {
            let path = format!("{}/api/tags", path.trim_end_matches("/v1"));
            Self { provider: name, port, hosts, path, list: ("/models", "name") }
        } else {
            Self { provider: name, port, hosts, path: format!("{path}/models"), list: ("/data", "id") }
        })
    }

    fn key(&self) -> (Vec<IpAddr>, u16) {
        (self.hosts.clone(), self.port)
    }

    async fn models(self) -> Vec<FoundModel> {
        for host in &self.hosts {
            let at = SocketAddr::new(*host, self.port);
            let Ok(Ok(stream)) = timeout(CONNECT, TcpStream::connect(at)).await else { continue };
            let Ok(Some(answer)) = timeout(ANSWER, get(stream, at, &self.path)).await else { continue };
            let names = names(&answer, self.list);
            let how = format!("{} at {at}", self.provider);
            return names
                .into_iter()
                .map(|name| FoundModel { llm: format!("{}:{name}", self.provider), how: how.clone() })
                .collect();
        }
        Vec::new()
    }
}

/// The names of models in an answer; what has another form is no list of models.
fn names(answer: &Value, (list, name): (&str, &str)) -> Vec<String> {
    let models = answer.pointer(list).and_then(Value::as_array);
    let name = |model: &Value| model.get(name).and_then(Value::as_str).map(str::to_owned);
    let names = models.into_iter().flatten().filter_map(name);
    names.filter(|name| models::parse_llm(&format!("x:{name}")).is_ok()).take(MOST_MODELS).collect()
}

/// Hosts, port and path of an address that can only be on this machine.
fn loopback(address: &str) -> Option<(Vec<IpAddr>, u16, String)> {
    let rest = address.strip_prefix("http://")?;
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    let hosts = match host {
        "localhost" => vec![IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)],
        host => vec![host.trim_start_matches('[').trim_end_matches(']').parse().ok()?],
    };
    // What stands in the path goes into a request as it is.
    let plain = path.bytes().all(|b| b.is_ascii_graphic());
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    (plain && hosts.iter().all(IpAddr::is_loopback)).then_some((hosts, port, path))
}

/// The JSON that a server answers. HTTP/1.0: the answer ends with the connection, and nothing is followed.
async fn get(mut stream: TcpStream, at: SocketAddr, path: &str) -> Option<Value> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {at}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer).await.ok()?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let status = std::str::from_utf8(&answer[..end]).ok()?.split_whitespace().nth(1)?;
    let body = &answer[end + 4..];
    if status == "200" { serde_json::from_slice(body).ok() } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::app::settings::Settings;
    use std::path::Path;
    use tokio::net::TcpListener;

    /// A server that gives one answer, and what it was asked.
    async fn serve(answer: String) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let n = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..n]).lines().next().unwrap().to_owned()
        });
        (port, asked)
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{body}")
    }

    fn server(settings: &str, name: &str) -> Option<Server> {
        let models = Models::new(&Settings::parse(settings).unwrap(), Path::new("/nonexistent"));
        models.providers().find(|p| p.config.name == name).and_then(Server::of)
    }

    #[test]
    fn only_this_machine_is_asked() {
        for (address, port) in [
            ("http://localhost:11434/v1", 11434),
            ("http://127.0.0.1:8080", 8080),
            ("http://127.9.9.9/v1/", 80),
            ("http://[::1]:1234/v1", 1234),
        ] {
            assert_eq!(loopback(address).unwrap().1, port, "{address}");
        }
        assert_eq!(loopback("http://localhost:1/a/v1/").unwrap().2, "/a/v1");
        for address in [
            "https://api.openai.com/v1",
            "http://example.com/v1",
            "http://10.0.0.1:8000/v1",
            "http://localhost.example.com/v1",
            "http://127.0.0.1@example.com/v1",
            "http://user@127.0.0.1/v1",
            "http://127.0.0.1:x/v1",
            "http://localhost:1/a\r\nX: y",
            "unix:/x",
        ] {
            assert_eq!(loopback(address), None, "{address}");
        }
        assert_eq!(server("", "anthropic"), None);
        assert_eq!(server("[providers.ollama]\nbase_url = 'http://192.168.0.7:11434/v1'\n", "ollama"), None);
    }

    #[test]
    fn the_usual_servers_have_their_usual_ports() {
        for (name, port, path) in [
            ("ollama", 11434, "/api/tags"),
            ("llamacpp", 8080, "/v1/models"),
            ("lmstudio", 1234, "/v1/models"),
            ("vllm", 8000, "/v1/models"),
        ] {
            let server = server("", name).unwrap();
            assert_eq!((server.port, &*server.path), (port, path), "{name}");
        }
    }

    #[tokio::test]
    async fn models_are_named_as_agents_name_them() {
        let (port, asked) = serve(ok(r#"{"data":[{"id":"qwen3-8b"},{"id":"x\u0007"},{"no":1},{"id":"b:c"}]}"#)).await;
        let lab = server(&format!("[providers.lab]\nbase_url = 'http://localhost:{port}/v1'\n"), "lab").unwrap();
        let found = lab.models().await;
        let how = format!("lab at 127.0.0.1:{port}");
        let of = |llm: &str| FoundModel { llm: llm.to_owned(), how: how.clone() };
        assert_eq!(found, [of("lab:qwen3-8b"), of("lab:b:c")]);
        assert_eq!(asked.await.unwrap(), "GET /v1/models HTTP/1.0");

        let (port, asked) = serve(ok(r#"{"models":[{"name":"llama3:latest"}]}"#)).await;
        let own = server(&format!("[providers.ollama]\nbase_url = 'http://127.0.0.1:{port}/v1'\n"), "ollama").unwrap();
        assert_eq!(own.models().await[0].llm, "ollama:llama3:latest");
        assert_eq!(asked.await.unwrap(), "GET /api/tags HTTP/1.0");
    }

    #[tokio::test]
    async fn what_is_no_model_server_is_passed_over() {
        for answer in [
            "HTTP/1.0 302 Found\r\nLocation: http://example.com/\r\n\r\n".to_owned(),
            "HTTP/1.1 404 Not Found\r\n\r\n{\"data\":[{\"id\":\"x\"}]}".to_owned(),
            ok("<html>"),
            ok("{\"data\": 7}"),
            "garbage".to_owned(),
        ] {
            let (port, _) = serve(answer.clone()).await;
            let lab = server(&format!("[providers.lab]\nbase_url = 'http://127.0.0.1:{port}'\n"), "lab").unwrap();
            assert_eq!(lab.models().await, [], "{answer}");
        }
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_holds_nobody_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let lab = server(&format!("[providers.lab]\nbase_url = 'http://127.0.0.1:{port}'\n"), "lab").unwrap();
        let begun = std::time::Instant::now();
        assert_eq!(lab.models().await, []);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
