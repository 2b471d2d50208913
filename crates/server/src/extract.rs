//! Bodies and queries whose mistakes are told as problem documents.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use base::{Cause, Error};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use store::idempotency::Key;

use crate::auth::Caller;
use crate::error::ApiError;

/// Largest body of an ordinary request, bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let body = axum::Json::<T>::from_request(request, state).await.map_err(body_error)?;
        Ok(Self(body.0))
    }
}

fn body_error(rejection: JsonRejection) -> ApiError {
    if rejection.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE {
        let error = Error::new(Cause::BodyTooLarge, "the request is larger than the server accepts");
        return error.hint(format!("send at most {} KiB", MOST_BYTES / 1024)).into();
    }
    let text = match rejection {
        JsonRejection::MissingJsonContentType(_) => "the header `Content-Type: application/json` is missing".to_owned(),
        other => innermost(&other),
    };
    Error::new(Cause::InvalidRequest, format!("the request is not understood: {text}"))
        .hint("the fields of each request are described at /openapi.json")
        .into()
}

/// The last of a chain of errors: the one that says what is wrong with which field.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// The query of a URL.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, state).await.map_err(|r: QueryRejection| {
            Error::new(Cause::InvalidRequest, format!("the query is not understood: {}", innermost(&r)))
                .hint("the parameters of each request are described at /openapi.json")
        })?;
        Ok(Self(query.0))
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
