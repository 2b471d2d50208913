//! `GET /v1/events`

use std::convert::Infallible;
use std::time::Duration;

use api::event::EventQuery;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use base::{Cause, Error};
use domain::rights::Action;
use futures_util::stream::{self, Stream};
use futures_util::{FutureExt, StreamExt};
use store::events::{after, last};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Params;
use crate::observed::Open;
use crate::standing::Watched;
use crate::state::App;
use crate::views;

/// Events that are read at once.
const BATCH: i64 = 200;

/// How long another server's events may go unnoticed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Follows what happens to everything the caller may see, as server-sent events.
/// It begins after `after` or `Last-Event-ID`, or with what happens from now on.
#[utoipa::path(get, path = "/v1/events", operation_id = "events", tag = "events", params(EventQuery),
    responses((status = 200, description = "server-sent events: `id` is the position, `data` an EventView", content_type = "text/event-stream", body = String), (status = 403, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Params(query): Params<EventQuery>,
) -> ApiResult<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    caller.in_scope(Action::SeeInstances)?;
    let resumed = headers.get("last-event-id").map(|v| v.to_str().ok().and_then(|v| v.parse().ok()));
    if resumed == Some(None) {
        // To begin from now on instead would lose what happened meanwhile.
        return Err(Error::new(Cause::InvalidRequest, "the header Last-Event-ID is not a position of this stream")
            .hint("send the `id` of the last event that was read, or leave it out")
            .into());
    }
    let from = match resumed.flatten().or(query.after) {
        Some(after) => after,
        None => {
            let mut db = app.store.read().await?;
            last(&mut db).await?
        }
    };
    let counted = app.observed.opened(Open::Readers);
    let (written, watched) = (app.store.watch(), Watched::new(&app, caller));
    let start = (app, watched, query.subject, from, written, Vec::new().into_iter());
    let events = stream::unfold(start, |(app, mut watched, subject, mut from, mut written, mut ready)| async move {
        loop {
            if watched.has_changed() {
                // Read anew: what was his to see when it was read may not be any more.
                ready = Vec::new().into_iter();
            }
            // Signed out: the stream ends.
            let audience = watched.caller()?.audience();
            if let Some(event) = ready.next() {
                let event: store::events::Event = event;
                from = event.seq;
                let wire = Event::default().id(event.seq.to_string()).event(event.kind.clone());
                // A view is plain data: it always has a JSON form.
                let wire = wire.json_data(views::event(event)).unwrap_or_default();
                return Some((Ok(wire), (app, watched, subject, from, written, ready)));
            }
            written.mark_unchanged();
            let about = subject.clone();
            // As of one moment: what is read account by account at different ones could pass over an event between.
            let found = app
                .store
                .snapshot(move |db| async move { after(db, &audience, about.as_deref(), from, BATCH).await }.boxed())
                .await;
            match found {
                Ok(found) if !found.is_empty() => ready = found.into_iter(),
                Ok(_) => {
                    // A write of this process, or the time after which those of others are looked for.
                    tokio::select! {
                        _ = tokio::time::timeout(LOOK_AGAIN, written.changed()) => {}
                        () = watched.changed() => {}
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the event stream ends; its reader resumes where it was");
                    return None;
                }
            }
        }
    });
    // Moved into the stream, so that it ends with it.
    let events = events.inspect(move |_| {
        let _ = &counted;
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}
