//! One request and its answer.

use std::sync::Arc;
use std::time::Duration;

use base::{Error, Result};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, HOST, HeaderName, IF_MATCH};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::endpoint::{Endpoint, Io};
use crate::fault;

/// Longest answer that is not a file, bytes: a thousand instances with their state.
const ANSWER: usize = 64 << 20;
/// Anything that takes longer is an operation, which is waited for otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// An Incus, seen through one project. Cheap to clone.
///
/// Every request has a connection of its own. On a Unix socket that costs some
/// microseconds, and nothing has to be found out about connections that went stale
/// while nobody used them.
#[derive(Clone, Debug)]
pub struct Incus(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    project: String,
}

/// Every answer of Incus. One that took long to come has begun as a success and may
/// still carry an error.
#[derive(Deserialize)]
struct Envelope<T> {
    metadata: Option<T>,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_code: u16,
}

/// An answer, with what stands around its body.
pub(crate) struct Answer {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// What the answer carries.
    pub fn metadata<T: DeserializeOwned>(&self) -> Result<T> {
        let envelope: Envelope<T> = serde_json::from_slice(&self.body).map_err(strange)?;
        if !envelope.error.is_empty() {
            return Err(fault::of(envelope.error_code, &envelope.error));
        }
        envelope.metadata.ok_or_else(|| strange("the answer is empty"))
    }

    /// Whether it is a success after all.
    pub fn check(&self) -> Result<()> {
        let envelope: Envelope<serde_json::Value> = serde_json::from_slice(&self.body).map_err(strange)?;
        if envelope.error.is_empty() { Ok(()) } else { Err(fault::of(envelope.error_code, &envelope.error)) }
    }

    /// Path of the operation that was begun, if one was.
    pub fn operation(&self) -> Option<String> {
        let envelope: Envelope<serde_json::Value> = serde_json::from_slice(&self.body).ok()?;
        (!envelope.operation.is_empty()).then_some(envelope.operation)
    }

    /// Version of what was read, for a change that must not overtake another.
    pub fn etag(&self) -> Option<String> {
        self.headers.get(ETAG)?.to_str().ok().map(str::to_owned)
    }
}

/// An answer that this client does not understand.
pub(crate) fn strange(context: impl std::fmt::Display) -> Error {
    Error::new(base::Cause::EngineFailed, "Incus answered something that is not understood")
        .hint("Incus 6.0 and later are supported; `suanli doctor` shows the version")
        .context(context)
}

/// A request before it is sent.
pub(crate) struct Ask<'a> {
    pub method: Method,
    /// Parts of the path below `/1.0`, not encoded yet.
    pub path: &'a [&'a str],
    pub query: Vec<(&'a str, String)>,
    pub headers: Vec<(HeaderName, String)>,
    pub body: Bytes,
}

impl<'a> Ask<'a> {
    pub fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: Bytes::new() }
    }

    pub fn get(path: &'a [&'a str]) -> Self {
        Self::new(Method::GET, path)
    }

    pub fn query(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub fn json(mut self, body: &impl serde::Serialize) -> Result<Self> {
        self.body = Bytes::from(serde_json::to_vec(body).map_err(Error::internal)?);
        self.headers.push((CONTENT_TYPE, "application/json".into()));
        Ok(self)
    }

    pub fn if_match(mut self, etag: Option<&str>) -> Self {
        self.headers.extend(etag.map(|etag| (IF_MATCH, etag.to_owned())));
        self
    }
}

impl Incus {
    /// The Incus at an endpoint, in `project`.
    pub fn new(endpoint: Endpoint, project: &str) -> Self {
        Self(Arc::new(Shared { endpoint, project: project.to_owned() }))
    }

    /// The same Incus in another project.
    #[must_use]
    pub fn in_project(&self, project: &str) -> Self {
        Self::new(self.0.endpoint.clone(), project)
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    /// The project that it is seen through.
    pub fn project(&self) -> &str {
        &self.0.project
    }

    /// Path and query of a request.
    pub(crate) fn target(&self, path: &[&str], query: &[(&str, String)]) -> Result<String> {
        let mut url = url::Url::parse("http://incus/1.0").map_err(Error::internal)?;
        url.path_segments_mut().map_err(|()| Error::internal("no path"))?.extend(path);
        url.query_pairs_mut()
            .append_pair("project", &self.0.project)
            .extend_pairs(query.iter().map(|(n, v)| (*n, v.as_str())));
        Ok(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        })
    }

    /// Sends a request and takes the whole answer.
    ///
    /// # Errors
    /// `unavailable` when Incus cannot be reached or the answer broke off, else what
    /// [`fault::refused`] makes of the refusal.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Answer> {
        self.ask_within(ask, LIMIT).await
    }

    pub(crate) async fn ask_within(&self, ask: Ask<'_>, limit: Duration) -> Result<Answer> {
        let target = self.target(ask.path, &ask.query)?;
        let away = |e: &dyn std::fmt::Display| self.0.endpoint.away(format!("{} {target}: {e}", ask.method));
        let work = async {
            let mut request = Request::builder().method(ask.method.clone()).uri(&target).header(HOST, "incus");
            for (name, value) in &ask.headers {
                request = request.header(name, value);
            }
            let request = request.body(Full::new(ask.body.clone())).map_err(Error::internal)?;
            let io = TokioIo::new(self.0.endpoint.dial().await?);
            let (mut sender, connection) = http1::handshake(io).await.map_err(|e| away(&e))?;
            let driver = tokio::spawn(connection);
            let response = sender.send_request(request).await.map_err(|e| away(&e))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, ANSWER).collect().await.map_err(|e| away(&e))?.to_bytes();
            driver.abort();
            if parts.status.is_success() {
                return Ok(Answer { headers: parts.headers, body });
            }
            Err(fault::refused(parts.status.as_u16(), &body).context(format!("{} {target}", ask.method)))
        };
        tokio::time::timeout(limit, work).await.map_err(|_| away(&"no answer in time"))?
    }

    /// Reads one thing.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T> {
        self.ask(Ask::get(path)).await?.metadata()
    }

    /// Opens a WebSocket.
    pub(crate) async fn socket(&self, path: &[&str], query: &[(&str, String)]) -> Result<WebSocketStream<Box<dyn Io>>> {
        let target = self.target(path, query)?;
        let request = format!("ws://incus{target}").into_client_request().map_err(Error::internal)?;
        let io = self.0.endpoint.dial().await?;
        match tokio_tungstenite::client_async(request, io).await {
            Ok((socket, _)) => Ok(socket),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                let status = response.status();
                let body = response.body().as_deref().unwrap_or_default();
                Err(fault::refused(status.as_u16(), body).context(target))
            }
            Err(error) => Err(self.0.endpoint.away(format!("{target}: {error}"))),
        }
    }
}
