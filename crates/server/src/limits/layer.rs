//! What every request has to pass: not too often, and not for too long.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error, UserId};
use http_body::{Frame, SizeHint};

use super::{Guard, Origin, Peer, TooMany};
use crate::observed::Limit;
use crate::state::App;
use crate::{auth, error};

/// What takes longer the longer a site exists. Only operators may ask for it.
const LONG: &[&str] = &["/v1/audit"];

/// Refuses whoever asks too often, and answers for what takes too long.
///
/// The time ends with the head of the answer, so that streams of events and
/// WebSockets, which begin at once and never end by themselves, are not cut.
pub async fn layer(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let origin = Origin::of(peer, request.headers(), app.guard.limits.behind_proxy);
    if let Err((limit, refused)) = app.guard.request(origin, request.headers()) {
        app.observed.limited(limit);
        return refused.into_response();
    }
    request.extensions_mut().insert(origin);
    let waits = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| Body::new(Watched { body, waits: waits.clone() }));
    let route = request.extensions().get::<MatchedPath>();
    if route.is_some_and(|path| LONG.contains(&path.as_str())) {
        return next.run(request).await;
    }
    let limit = app.guard.limits.answer;
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            app.observed.limited(Limit::Time);
            let mut answer = too_slow(limit, waits.load(Ordering::Relaxed));
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            answer
        }
    }
}

fn too_slow(limit: Duration, by_caller: bool) -> Response {
    if by_caller {
        let error = Error::new(Cause::InvalidRequest, format!("the request's body did not arrive within {limit:?}"))
            .hint("send the whole body at once");
        return error::answer(error, Some(StatusCode::REQUEST_TIMEOUT));
    }
    let error = Error::new(Cause::Unavailable, format!("the server could not answer within {limit:?}"))
        .hint("it may have been done or not: repeat it in a moment with the same idempotency key");
    error::answer(error, None)
}

impl Guard {
    /// Counts a request of a signed-in user, whatever token he sends.
    ///
    /// # Errors
    /// There were too many.
    pub(crate) fn user(&self, user: &UserId) -> Result<(), TooMany> {
        let taken = self.users.take(self.name(user), Instant::now());
        taken.map_err(|wait| TooMany::new("too many requests of this user", wait))
    }

    fn request(&self, origin: Origin, headers: &HeaderMap) -> Result<(), (Limit, TooMany)> {
        let now = Instant::now();
        if origin.0.is_some() {
            let taken = self.addresses.take(self.name(origin), now);
            taken.map_err(|wait| (Limit::Address, TooMany::new("too many requests from this address", wait)))?;
        }
        let token = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if let Some(token) = token.or_else(|| auth::cookie(headers).map(str::as_bytes)) {
            let taken = self.tokens.take(self.name(token), now);
            taken.map_err(|wait| (Limit::Token, TooMany::new("too many requests with this token", wait)))?;
        }
        Ok(())
    }
}

/// A body that remembers whether it is its sender who is waited for.
struct Watched {
    body: Body,
    waits: Arc<AtomicBool>,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.waits.store(polled.is_pending(), Ordering::Relaxed);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
