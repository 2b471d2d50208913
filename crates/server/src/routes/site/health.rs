//! `GET /healthz` and `GET /readyz`

use axum::extract::State;
use base::{Cause, Error, Span};
use store::lease::{Kind, queue};

use crate::error::ApiResult;
use crate::state::App;

/// How late the oldest due item may be before this server calls itself not ready.
const LATEST: Span = Span::from_secs(60);

/// The process answers.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz", tag = "site", security(()), responses((status = 200, body = String)))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// The database answers, and the controllers keep up.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "site", security(()),
    responses((status = 200, body = String), (status = 503, body = api::problem::Problem)))]
pub async fn readyz(State(app): State<App>) -> ApiResult<&'static str> {
    let mut db = app.store.read().await?;
    // Nothing moves there until the operator accepts it, so nothing is behind either.
    if store::recovery::current(&mut db).await?.is_some() {
        return Ok("ready, in recovery\n");
    }
    for kind in Kind::ALL {
        let now = app.now();
        let oldest = queue(&mut db, kind, now).await?.next_due;
        if let Some(late) = oldest.map(|due| now.since(due)).filter(|late| *late > LATEST) {
            let what = format!("the controllers of {} are {late} behind", kind.as_str());
            return Err(Error::new(Cause::Unavailable, what).hint("look at the server's log").into());
        }
    }
    // Missing a deadline opens an incident at that moment; where none came, the controllers only look alive.
    let untold = store::health::late_untold(&mut db, app.now().before(LATEST)).await?;
    if untold > 0 {
        let what = format!("{untold} instances have missed their deadline, and no incident was opened for them");
        return Err(Error::new(Cause::Unavailable, what).hint("look at the server's log").into());
    }
    Ok("ready\n")
}
