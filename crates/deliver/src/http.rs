//! Requests to services that the operator has named: short, whole, and never
//! somewhere else than asked.

use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// How long such a service may take.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Largest answer that is read, bytes.
const LARGEST: usize = 1024 * 1024;

/// Asks other services. Cloning shares connections.
#[derive(Clone, Debug)]
pub struct Http(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Http {
    /// A client that trusts the machine's authorities.
    ///
    /// # Errors
    /// `host-incomplete` where there are none.
    pub fn new() -> Result<Self> {
        let tls = client::tls::config()?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(PATIENCE));
        let builder = HttpsConnectorBuilder::new().with_tls_config(Arc::unwrap_or_clone(tls));
        let connector = builder.https_or_http().enable_http1().wrap_connector(tcp);
        Ok(Self(Client::builder(TokioExecutor::new()).build(connector)))
    }

    /// Sends a request and reads the whole answer, whatever its status. Redirections
    /// are not followed: they would lead where the operator did not point.
    ///
    /// # Errors
    /// `unavailable` where the service does not answer in time or at all.
    pub async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let away = |why: String| {
            Error::new(Cause::Unavailable, format!("{host} does not answer as it should"))
                .hint("try again in a moment; the operator of this site can see more in its log")
                .context(why)
        };
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let whole = async {
            let answer = self.0.request(request).await.map_err(|e| away(chain(&e)))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, LARGEST).collect().await.map_err(|e| away(e.to_string()))?;
            Ok(Response::from_parts(head, body.to_bytes().to_vec()))
        };
        tokio::time::timeout(PATIENCE, whole).await.unwrap_or_else(|_| Err(away("it took too long".into())))
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

/// The text behind `%41`. What is no such escape stays.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_once() {
        for (text, plain) in [("a%40b", "a@b"), ("%2540", "%40"), ("100%", "100%"), ("%zz", "%zz"), ("%E4%BD%A0", "你")]
        {
            assert_eq!(percent_decoded(text), plain);
        }
    }
}
