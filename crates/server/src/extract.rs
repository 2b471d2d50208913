//! Bodies and queries whose mistakes are told as problem documents.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use base::{Cause, Error};
use bytes::BytesMut;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use store::idempotency::Key;

use crate::auth::Caller;
use crate::error::ApiError;

/// Largest body of an ordinary request, bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// How much of a body that is too large is read all the same, bytes: a sender who
/// is still writing sees the answer only if somebody reads.
const MOST_THROWN_AWAY: usize = 32 * 1024 * 1024;

/// A body that is a JSON object.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let bytes = read(request.into_body()).await?;
        if !is_json {
            return Err(body_error("the header `Content-Type: application/json` is missing"));
        }
        // A list would be taken for the fields in their order.
        if bytes.iter().find(|b| !b.is_ascii_whitespace()).is_some_and(|b| *b != b'{') {
            return Err(body_error("it has to be a JSON object"));
        }
        if has_zero(&bytes) {
            return Err(body_error("a text has a zero byte in it"));
        }
        let body = axum::Json::<T>::from_bytes(&bytes).map_err(|r| body_error(&innermost(&r)))?;
        Ok(Self(body.0))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

async fn read(body: axum::body::Body) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let (mut kept, mut seen) = (BytesMut::new(), 0usize);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| body_error("it ended in the middle of its body"))?;
        seen = seen.saturating_add(piece.len());
        if seen <= MOST_BYTES {
            kept.extend_from_slice(&piece);
        } else if seen > MOST_THROWN_AWAY {
            break;
        }
    }
    if seen <= MOST_BYTES {
        return Ok(kept);
    }
    let error = Error::new(Cause::BodyTooLarge, "the request is larger than the server accepts");
    Err(error.hint(format!("send at most {} KiB", MOST_BYTES / 1024)).into())
}

/// Whether a text in this JSON holds U+0000, which not every database can keep.
fn has_zero(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        let escape = rest.get(at + 1..).unwrap_or_default();
        if escape.starts_with(b"u0000") {
            return true;
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

fn body_error(what: &str) -> ApiError {
    Error::new(Cause::InvalidRequest, format!("the request is not understood: {what}"))
        .hint("the fields of each request are described at /openapi.json")
        .into()
}

/// The last of a chain of errors: the one that says what is wrong with which field.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    without_values(&last.to_string())
}

/// A text that was of the wrong kind may be a secret: it is not repeated.
fn without_values(text: &str) -> String {
    let Some((before, rest)) = text.split_once("string \"") else {
        return text.to_owned();
    };
    match rest.rfind("\", expected") {
        Some(end) => format!("{before}text{}", rest.get(end + 1..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The query of a URL.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if parts.uri.query().is_some_and(|q| q.contains("%00")) {
            return Err(Error::new(Cause::InvalidRequest, "the query has a zero byte in it").into());
        }
        let query = Query::<T>::from_request_parts(parts, state).await.map_err(|r: QueryRejection| {
            Error::new(Cause::InvalidRequest, format!("the query is not understood: {}", innermost(&r)))
                .hint("the parameters of each request are described at /openapi.json")
        })?;
        Ok(Self(query.0))
    }
}

/// The name of an object in a path.
pub struct Reference(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Reference {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // What is no text, or has a zero byte, is the name of nothing.
        let found = Path::<String>::from_request_parts(parts, state).await.ok().filter(|p| !p.contains('\0'));
        found.map(|path| Self(path.0)).ok_or_else(|| Error::not_found("an object with this name").into())
    }
}

/// The names of two objects in a path, the second below the first.
pub struct References(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for References {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = Path::<(String, String)>::from_request_parts(parts, state).await.ok();
        let found = found.filter(|path| !path.0.0.contains('\0') && !path.0.1.contains('\0'));
        found.map(|path| Self(path.0.0, path.0.1)).ok_or_else(|| Error::not_found("an object with this name").into())
    }
}

/// What repeats a request: its `Idempotency-Key`, if it came with one.
pub struct Repeat(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Repeat {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Ok(Self(None));
        };
        let text = value.to_str().ok().filter(|t| !t.is_empty() && t.len() <= 100);
        let text = text.ok_or_else(|| {
            Error::new(Cause::InvalidRequest, "the header Idempotency-Key has to be 1 to 100 readable characters")
        })?;
        Ok(Self(Some(text.to_owned())))
    }
}

impl Repeat {
    /// The key of this caller for this request.
    ///
    /// # Errors
    /// `internal` when the body cannot be written as JSON.
    pub fn key<T: serde::Serialize>(self, caller: &Caller, what: &str, body: &T) -> Result<Option<Key>, ApiError> {
        let Some(key) = self.0 else {
            return Ok(None);
        };
        let body = serde_json::to_vec(body).map_err(Error::internal)?;
        let request = format!("{what} {}", hex::encode(Sha256::digest(&body)));
        Ok(Some(Key { user: caller.user.id.clone(), key, request }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_bytes_are_found_however_they_are_escaped() {
        for (json, zero) in [
            (r#"{"a":"\u0000"}"#, true),
            (r#"{"a":"x\\\u0000"}"#, true),
            (r#"{"a":"\\u0000"}"#, false),
            (r#"{"a":"\n\u0001"}"#, false),
            (r#"{"a":"\"#, false),
            ("{}", false),
        ] {
            assert_eq!(has_zero(json.as_bytes()), zero, "{json}");
        }
    }
}
