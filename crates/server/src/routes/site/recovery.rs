//! `GET /v1/recovery`, `POST /v1/recovery/accept`

use api::recovery::{AcceptRecovery, RecoveryAccepted, RecoveryInstance, RecoveryNode, RecoveryView};
use axum::Json;
use axum::extract::State;
use futures_util::FutureExt;
use store::recovery::{self, Difference, Found, Report};

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::state::App;

/// Whether the site is in recovery after a restore, and how books and machines differ (operator).
#[utoipa::path(get, path = "/v1/recovery", operation_id = "recovery", tag = "site",
    responses((status = 200, body = RecoveryView), (status = 403, body = api::problem::Problem)))]
pub async fn recovery(State(app): State<App>, _: Operator<does::SeeSite>) -> ApiResult<Json<RecoveryView>> {
    let report = app.store.snapshot(|db| recovery::report(db).boxed()).await?;
    Ok(Json(report.map_or_else(none, view)))
}

/// Ends recovery, if what was seen is still so (operator). Newer generations are
/// adopted, nothing is removed.
#[utoipa::path(post, path = "/v1/recovery/accept", operation_id = "accept_recovery", tag = "site", request_body = AcceptRecovery,
    responses((status = 200, body = RecoveryAccepted), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn accept_recovery(
    State(app): State<App>,
    Operator(caller, _): Operator<does::Backup>,
    Body(request): Body<AcceptRecovery>,
) -> ApiResult<Json<RecoveryAccepted>> {
    let (now, note) = (app.now(), caller.note("accept_recovery").became(&request));
    let done = app
        .store
        .write(move |tx| {
            let (seen, note) = (request.seen.clone(), note.clone());
            async move {
                let done = recovery::accept(tx, &seen, now).await?;
                note.write(tx, now).await?;
                Ok(done)
            }
            .boxed()
        })
        .await?;
    tracing::info!(user = %caller.user.name, ?done, "recovery was accepted");
    let recovery::Accepted { adopted, lost, unknown, silent } = done;
    Ok(Json(RecoveryAccepted { adopted, lost, unknown, silent }))
}

fn none() -> RecoveryView {
    RecoveryView { recovering: false, since: None, made_at: None, digest: None, nodes: vec![] }
}

fn view(report: Report) -> RecoveryView {
    let nodes = report.nodes.into_iter().map(|node| RecoveryNode {
        id: node.node,
        name: node.name,
        heard: node.heard,
        instances: node.instances.into_iter().map(instance).collect(),
    });
    RecoveryView {
        recovering: true,
        since: Some(report.since),
        made_at: Some(report.made_at),
        digest: Some(report.digest),
        nodes: nodes.collect(),
    }
}

fn instance(found: Found) -> RecoveryInstance {
    let difference = match found.difference {
        Difference::Same => "same",
        Difference::Missing => "missing",
        Difference::Newer => "newer",
        Difference::Unknown => "unknown",
    };
    RecoveryInstance {
        id: found.id,
        slug: found.slug,
        difference: difference.into(),
        state: found.state,
        books: found.books,
        machine: found.machine,
        running: found.running,
    }
}
