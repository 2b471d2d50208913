//! Requests and answers over HTTP, with retry and one kind of error.

use std::sync::Arc;
use std::time::Duration;

use api::problem::Problem;
use base::{Cause, Error, Result};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::response::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Longer than anything that the server may take for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
/// Pauses before the second, third … try; a server that restarts is back by then.
const PAUSES: &[Duration] = &[Duration::from_millis(100), Duration::from_millis(300), Duration::from_millis(600)];
const AGENT: &str = concat!("suanli/", env!("CARGO_PKG_VERSION"));

type Plain = hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A server and who asks it. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    base: Url,
    bearer: Option<HeaderValue>,
    tls: Option<Arc<ClientConfig>>,
    http: Plain,
}

/// Makes a repeated request count once. One key belongs to one wish of the
/// user, however often it has to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key that nobody used before.
    pub fn fresh() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// The key as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One request before it is sent.
pub(crate) struct Call<'a> {
    pub method: Method,
    /// Parts of the path below `/v1`, not encoded yet.
    pub path: &'a [&'a str],
    /// Fields of the query as a JSON object; absent ones are left out.
    pub query: serde_json::Value,
    pub body: Option<Vec<u8>>,
    pub key: Option<&'a Key>,
}

impl<'a> Call<'a> {
    pub fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: serde_json::Value::Null, body: None, key: None }
    }

    pub fn query(mut self, query: &impl Serialize) -> Result<Self> {
        self.query = serde_json::to_value(query).map_err(Error::internal)?;
        Ok(self)
    }

    pub fn body(mut self, body: &impl Serialize) -> Result<Self> {
        self.body = Some(serde_json::to_vec(body).map_err(Error::internal)?);
        Ok(self)
    }

    pub fn key(mut self, key: &'a Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Whether sending it twice does the same as sending it once.
    fn repeatable(&self) -> bool {
        self.key.is_some() || self.method == Method::GET || self.method == Method::PUT
    }
}

enum Failure {
    /// Nothing reached the server.
    NotSent(Error),
    /// The server may have done it.
    Unknown(Error),
}

impl Client {
    /// A client of the server at `url` (`http://host:port` or `https://…`), with
    /// a bearer token where the caller is signed in.
    ///
    /// # Errors
    /// `invalid-request` for an address or token that cannot be used,
    /// `host-incomplete` when https is asked of a machine without trusted
    /// certificate authorities.
    pub fn new(url: &str, token: Option<&str>) -> Result<Self> {
        let base = parse_address(url)?;
        let bearer = token.map(bearer).transpose()?;
        let tls = (base.scheme() == "https").then(crate::tls::config).transpose()?;
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT));
        tcp.enforce_http(false);
        let builder = hyper_rustls::HttpsConnectorBuilder::new();
        let connector = match &tls {
            Some(config) => builder.with_tls_config((**config).clone()).https_only().enable_http1().wrap_connector(tcp),
            // No root is trusted here: the address is http and nothing redirects.
            None => builder.with_tls_config(no_tls()?).https_or_http().enable_http1().wrap_connector(tcp),
        };
        let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { inner: Arc::new(Inner { base, bearer, tls, http }) })
    }

    /// Address of the server, without a slash at the end.
    pub fn url(&self) -> &str {
        self.inner.base.as_str().trim_end_matches('/')
    }

    pub(crate) fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.inner.tls.clone()
    }

    pub(crate) fn bearer(&self) -> Option<&HeaderValue> {
        self.inner.bearer.as_ref()
    }

    /// Address of something below the server's own.
    ///
    /// # Errors
    /// `not-found` for a part that no object can be called, such as `..`: it would
    /// change which address is asked.
    pub(crate) fn address(&self, parts: &[&str]) -> Result<Url> {
        let mut url = self.inner.base.clone();
        if let Some(odd) = parts.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(
                Error::not_found(format!("`{odd}`")).hint("give an id, a slug or a name; `suanli ls` lists them")
            );
        }
        url.path_segments_mut().map_err(|()| Error::internal("address without a path"))?.pop_if_empty().extend(parts);
        Ok(url)
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T> {
        let body = self.bytes(call).await?;
        serde_json::from_slice(&body).map_err(|e| not_ours(self.url()).context(e))
    }

    /// Sends a request, again where that is safe, and collects the answer.
    pub(crate) async fn bytes(&self, call: Call<'_>) -> Result<Bytes> {
        let mut parts = vec!["v1"];
        parts.extend(call.path);
        let mut url = self.address(&parts)?;
        append_query(&mut url, &call.query);
        let mut pauses = PAUSES.iter();
        loop {
            let error = match self.once(&call, &url).await {
                Ok((head, body)) if head.status.is_success() => return Ok(body),
                Ok((head, body)) => return Err(refusal(self.url(), head.status, &body)),
                Err(Failure::Unknown(error)) if !call.repeatable() => return Err(error),
                Err(Failure::NotSent(error) | Failure::Unknown(error)) => error,
            };
            match pauses.next() {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(error),
            }
        }
    }

    async fn once(&self, call: &Call<'_>, url: &Url) -> Result<(Parts, Bytes), Failure> {
        let mut request =
            Request::builder().method(call.method.clone()).uri(url.as_str()).header(ACCEPT, "application/json");
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key.as_str());
        }
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = Full::new(Bytes::from(call.body.clone().unwrap_or_default()));
        let request = request.body(body).map_err(|e| Failure::NotSent(Error::internal(e)))?;
        let answer = async {
            let response = self.send(request).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LARGEST_ANSWER).collect().await;
            let body = body.map_err(|e| Failure::Unknown(broken_off(self.url()).context(e)))?;
            Ok((head, body.to_bytes()))
        };
        tokio::time::timeout(ANSWER_LIMIT, answer).await.unwrap_or_else(|_| {
            Err(Failure::Unknown(
                Error::new(Cause::Unavailable, format!("{} did not answer in time", self.url()))
                    .hint("try again; `suanli doctor` checks the server"),
            ))
        })
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if let Some(bearer) = self.bearer() {
            headers.insert(AUTHORIZATION, bearer.clone());
        }
        self.inner.http.request(request).await.map_err(|error| {
            if error.is_connect() {
                Failure::NotSent(not_connected(self.url(), &error))
            } else {
                Failure::Unknown(broken_off(self.url()).context(chain(&error)))
            }
        })
    }

    /// Opens an answer that never ends by itself. `last` is what was seen last.
    pub(crate) async fn open_events(&self, url: &Url, last: Option<i64>) -> Result<Incoming> {
        let mut request = Request::get(url.as_str()).header(ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        self.open(request.body(Full::default()).map_err(Error::internal)?).await
    }

    /// Opens an answer of lines of JSON, which may be large.
    pub(crate) async fn open_lines(&self, path: &[&str]) -> Result<Incoming> {
        let request = Request::get(self.address(path)?.as_str()).header(ACCEPT, "application/x-ndjson");
        self.open(request.body(Full::default()).map_err(Error::internal)?).await
    }

    /// Sends a request; its body can be read as it comes.
    async fn open(&self, request: Request<Full<Bytes>>) -> Result<Incoming> {
        let response = tokio::time::timeout(ANSWER_LIMIT, self.send(request)).await;
        let response = response.map_err(|_| unreachable(self.url()))?.map_err(|failure| match failure {
            Failure::NotSent(error) | Failure::Unknown(error) => error,
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await;
        Err(refusal(self.url(), status, &body.map(|b| b.to_bytes()).unwrap_or_default()))
    }

    /// Asks for `healthz` or `readyz`, outside `/v1`. Returns what the answer's
    /// head says besides.
    pub(crate) async fn probe(&self, name: &str) -> Result<http::HeaderMap> {
        let url = self.address(&[name])?;
        match self.once(&Call::new(Method::GET, &[]), &url).await {
            Ok((head, _)) if head.status.is_success() => Ok(head.headers),
            Ok((head, body)) => Err(refusal(self.url(), head.status, &body)),
            Err(Failure::NotSent(error) | Failure::Unknown(error)) => Err(error),
        }
    }
}

fn parse_address(text: &str) -> Result<Url> {
    let bad = |why: &str| {
        Error::new(Cause::InvalidRequest, format!("`{}` is not the address of a server: {why}", text.escape_debug()))
            .hint("write it like http://127.0.0.1:8080")
    };
    let url = Url::parse(text.trim()).map_err(|e| bad(&e.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("a user name does not belong in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it must end with the host, the port or a path"));
    }
    Ok(url)
}

fn bearer(token: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
        Error::new(Cause::Unauthenticated, "the token has characters that no token has")
            .hint("sign in again with `suanli login`")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn no_tls() -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}

pub(crate) fn append_query(url: &mut Url, query: &serde_json::Value) {
    for (name, value) in query.as_object().into_iter().flatten() {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => {
                url.query_pairs_mut().append_pair(name, text);
            }
            other => {
                url.query_pairs_mut().append_pair(name, &other.to_string());
            }
        }
    }
}

pub(crate) fn unreachable(url: &str) -> Error {
    Error::new(Cause::Unavailable, format!("{url} cannot be reached"))
        .hint("is the server running? `suanli serve` starts one here, `suanli login URL` changes the address")
}

/// Why there is no connection: nobody answers, or nobody who can be trusted.
pub(crate) fn not_connected(url: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut source = Some(error);
    while let Some(inner) = source {
        let wrapped = inner.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.is::<rustls::Error>() || wrapped.is_some_and(|w| w.is::<rustls::Error>()) {
            return Error::new(
                Cause::Unavailable,
                format!("{url} does not prove that it is this server: its certificate is not trusted here"),
            )
            .hint("check the address; for an authority of your own, name its PEM file in SSL_CERT_FILE")
            .context(chain(error));
        }
        source = inner.source();
    }
    unreachable(url).context(chain(error))
}

pub(crate) fn broken_off(url: &str) -> Error {
    Error::new(Cause::Unavailable, format!("the connection to {url} broke off"))
        .hint("the server may have done it or not: look with `suanli ls` or `suanli events`, then try again")
}

pub(crate) fn not_ours(url: &str) -> Error {
    Error::new(Cause::Unavailable, format!("{url} does not answer like a Suanli server of this version"))
        .hint("check the address, and that server and command line are of one version (`suanli --version`)")
}

/// The innermost reasons too: the outer one alone says only "client error".
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

/// The error behind an answer that is not a success.
pub(crate) fn refusal(url: &str, status: StatusCode, body: &[u8]) -> Error {
    if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
        return problem.into_error();
    }
    let cause = match status.as_u16() {
        401 => Cause::Unauthenticated,
        403 => Cause::Forbidden,
        413 => Cause::BodyTooLarge,
        429 => Cause::RateLimited,
        _ => return not_ours(url).context(status),
    };
    // A newer server may know causes that this client does not: its words still count.
    let said: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let detail =
        said.get("detail").and_then(|v| v.as_str()).map_or_else(|| format!("{url} answered {status}"), str::to_owned);
    let error = Error::new(cause, detail);
    match said.get("hint").and_then(|v| v.as_str()) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_and_never_change_the_address() {
        let client = Client::new("http://127.0.0.1:8080/", None).unwrap();
        let url = client.address(&["v1", "instances", "my box/../7?x#y", "stop"]).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:8080/v1/instances/my%20box%2F..%2F7%3Fx%23y/stop");
        for odd in ["", ".", ".."] {
            let error = client.address(&["v1", "instances", odd, "stop"]).unwrap_err();
            assert_eq!(error.cause(), Cause::NotFound);
        }
    }

    #[test]
    fn a_path_before_v1_is_kept() {
        let client = Client::new("http://gpu.example/cloud/", None).unwrap();
        assert_eq!(client.address(&["v1", "offers"]).unwrap().as_str(), "http://gpu.example/cloud/v1/offers");
        assert_eq!(client.url(), "http://gpu.example/cloud");
    }

    #[test]
    fn addresses_that_cannot_work_are_refused_with_a_hint() {
        for bad in ["", "127.0.0.1:8080", "ftp://host", "http://", "http://u:p@host", "http://host/?a=b"] {
            let error = Client::new(bad, None).err().unwrap_or_else(|| panic!("{bad} was taken"));
            assert_eq!(error.cause(), Cause::InvalidRequest, "{bad}");
            assert!(error.hint_text().is_some());
        }
    }

    #[test]
    fn queries_leave_out_what_is_absent() {
        let mut url = Url::parse("http://host/v1/offers").unwrap();
        append_query(&mut url, &serde_json::json!({"gpu": "RTX 4090", "count": 2, "plan": null}));
        assert_eq!(url.as_str(), "http://host/v1/offers?count=2&gpu=RTX+4090");
    }

    #[test]
    fn a_problem_keeps_its_cause_and_an_unknown_one_its_words() {
        let known =
            serde_json::to_vec(&Problem::of(&Error::new(Cause::NoCapacity, "taken").hint("wait"), None)).unwrap();
        let error = refusal("http://host", StatusCode::CONFLICT, &known);
        assert_eq!((error.cause(), error.message(), error.hint_text()), (Cause::NoCapacity, "taken", Some("wait")));
        let unknown = br#"{"code":"from-the-future","detail":"no more","hint":"rest"}"#;
        let error = refusal("http://host", StatusCode::FORBIDDEN, unknown);
        assert_eq!((error.cause(), error.message(), error.hint_text()), (Cause::Forbidden, "no more", Some("rest")));
        let error = refusal("http://host", StatusCode::BAD_GATEWAY, b"<html>");
        assert_eq!(error.cause(), Cause::Unavailable);
    }
}
