//! Every request has an id that stands in the answer, in errors and in the log;
//! every answer says which server gave it.

use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::http::header::SERVER;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

/// Who answers; `suanli doctor` compares the version with its own.
const NAME: HeaderValue = HeaderValue::from_static(concat!("suanli/", env!("CARGO_PKG_VERSION")));

tokio::task_local! {
    static ID: String;
}

/// The id of the request that is being answered.
pub fn current() -> Option<String> {
    ID.try_with(Clone::clone).ok()
}

/// Gives the request an id and logs how it was answered.
pub async fn layer(request: Request, next: Next) -> Response {
    let id = format!("req-{:016x}", rand::random::<u64>());
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().map_or("unmatched", |p| p.as_str()).to_owned();
    let span = tracing::info_span!("request", %id, %method, path);
    let began = std::time::Instant::now();
    let answer = async {
        let mut response = next.run(request).await;
        let took_ms = began.elapsed().as_millis();
        tracing::debug!(status = response.status().as_u16(), took_ms, "answered");
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert("x-request-id", value);
        }
        response.headers_mut().insert(SERVER, NAME);
        response
    };
    ID.scope(id.clone(), answer.instrument(span)).await
}
