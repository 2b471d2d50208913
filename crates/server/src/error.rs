//! Errors on their way out: a problem document for the user, one line for the log.

use api::problem::{MEDIA_TYPE, Problem};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::{Cause, Error, Kind};

use crate::request_id;

/// The error of every route.
#[derive(Debug)]
pub struct ApiError(pub Error);

/// The result of every route.
pub type ApiResult<T> = Result<T, ApiError>;

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<store::Fault> for ApiError {
    fn from(fault: store::Fault) -> Self {
        Self(fault.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        answer(self.0, None)
    }
}

/// The problem document of an error; `status` where another one than its cause's says more.
pub(crate) fn answer(error: Error, status: Option<StatusCode>) -> Response {
    match error.cause().kind() {
        Kind::Internal => tracing::error!(%error, "internal error"),
        Kind::Unavailable => tracing::warn!(%error, "unavailable"),
        _ => tracing::debug!(%error, code = %error.cause(), "refused"),
    }
    let mut problem = Problem::of(&error, request_id::current());
    if let Some(status) = status {
        problem.status = status.as_u16();
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if error.cause() == Cause::Unauthenticated {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response.extensions_mut().insert(error.cause());
    if matches!(error.cause(), Cause::RateLimited | Cause::Unavailable) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Answer to a path that does not exist.
pub async fn no_such_path() -> ApiError {
    Error::not_found("this path").hint("the API is described at /openapi.json").into()
}

/// Answer to a method that a path does not have.
pub async fn no_such_method() -> Response {
    let error = Error::new(Cause::InvalidRequest, "this path does not take this method")
        .hint("the API is described at /openapi.json");
    answer(error, Some(StatusCode::METHOD_NOT_ALLOWED))
}

/// Answer when a handler broke: the request ends, the server goes on.
pub fn panicked(what: Box<dyn std::any::Any + Send>) -> Response {
    let text = what.downcast_ref::<String>().map(String::as_str).or_else(|| what.downcast_ref::<&str>().copied());
    ApiError(Error::internal(text.unwrap_or("a handler broke"))).into_response()
}
