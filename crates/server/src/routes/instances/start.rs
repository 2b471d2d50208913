//! `POST /v1/instances/{id}/start`

use api::instance::{InstanceView, StartRequest};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error};
use billing::{QuoteRequest, quote};
use domain::instance::{Desired, may_ask};
use domain::rights::Action;
use futures_util::FutureExt;
use serde_json::json;
use store::instances::Instance;
use store::intents::{self, Restart};

use super::accepted;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::rent::{check_stock, model};
use crate::resolve;
use crate::state::App;

/// Starts an instance at rest again, with its data, at the price of today.
#[utoipa::path(post, path = "/v1/instances/{id}/start", operation_id = "start", tag = "instances", request_body = StartRequest,
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 202, body = InstanceView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn start(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
    Body(request): Body<StartRequest>,
) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let found = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id, Action::Rent).await?
    };
    may_ask(found.state, found.desired, Desired::Running)?;
    let note = caller.note("start").to(&found.id).of(&found.account);
    let note = note.was(json!({ "gpu": found.gpu, "count": found.count, "rate": found.rate }));
    let (id, restart, now) = (found.id.clone(), restart(&app, found, &request).await?, app.now());
    let i = &restart.instance;
    let note = note.became(json!({ "gpu": i.gpu, "count": i.count, "rate": i.rate }));
    app.store
        .write({
            let id = id.clone();
            move |tx| {
                let (id, restart, note) = (id.clone(), restart.clone(), note.clone());
                async move {
                    intents::start(tx, &id, &restart, now).await?;
                    note.write(tx, now).await
                }
                .boxed()
            }
        })
        .await?;
    accepted(&app, &id).await
}

/// The instance as it will be: what was asked for before, unless the cards change.
async fn restart(app: &App, mut i: Instance, request: &StartRequest) -> ApiResult<Restart> {
    if request.count == Some(0) {
        return Err(Error::new(Cause::NotOffered, "a start without a card is not offered yet")
            .hint("start it with one card to reach its data")
            .into());
    }
    let gpu = match &request.gpu {
        Some(name) => model(app, name).await?.slug.clone(),
        None => i.gpu.clone(),
    };
    let count = request.count.unwrap_or(i.count);
    let same = gpu == i.gpu && count == i.count;
    let wanted = QuoteRequest {
        plan: i.plan,
        cpus: same.then_some(i.cpus),
        memory_gib: same.then_some(i.memory_mib / 1024),
        disk_gib: same.then_some(i.disk_mib / 1024),
        ..QuoteRequest::new(gpu, count)
    };
    let quote = quote(&app.book(), app.catalogue, &wanted)?;
    check_stock(app, &quote, None).await?;
    i.gpu = quote.model;
    i.count = quote.count;
    i.cpus = quote.cpus;
    i.memory_mib = quote.memory_gib * 1024;
    i.disk_mib = quote.disk_gib * 1024;
    i.rate = quote.rate;
    i.price_version = quote.price_version;
    i.rules = i.rules.without_past(app.now());
    Ok(Restart { instance: i, hold: quote.hold })
}
