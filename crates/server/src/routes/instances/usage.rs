//! `GET /v1/instances/{id}/usage`

use api::instance::{DeviceUsage, UsageView};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use domain::instance::State as Life;
use domain::rights::Action;
use store::allocations;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::state::App;
use crate::{resolve, views};

/// What an instance and its cards do now.
#[utoipa::path(get, path = "/v1/instances/{id}/usage", operation_id = "usage", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 200, body = UsageView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 503, body = api::problem::Problem)))]
pub async fn usage(State(app): State<App>, caller: Caller, Reference(id): Reference) -> ApiResult<Json<UsageView>> {
    let (i, devices) = {
        let mut db = app.store.read().await?;
        let i = resolve::instance(&mut db, &caller, &id, Action::SeeInstances).await?;
        let devices = allocations::held_by(&mut db, &i.id).await?;
        (i, devices)
    };
    let (Life::Running, Some(node)) = (i.state, &i.node) else {
        return Err(Error::new(Cause::WrongState, format!("the instance is {}, so it uses nothing", i.state))
            .hint("only a running instance has something to show")
            .into());
    };
    let stats = app.reach.stats(node, &i.id).await?;
    let cards = devices.into_iter().map(|facts| DeviceUsage {
        sample: stats.devices.iter().find(|s| s.uuid == facts.uuid).cloned().or_else(|| app.reach.sample(&facts.uuid)),
        memory_mib: facts.memory_mib,
        power_limit_w: facts.power_limit_w,
        device: views::device(facts),
    });
    Ok(Json(UsageView {
        devices: cards.collect(),
        at: stats.at,
        cpu_milli: stats.cpu_milli,
        cpus: i.cpus,
        memory_used_mib: stats.memory_used_mib,
        memory_mib: i.memory_mib,
        processes: stats.processes,
        sessions: stats.sessions,
        last_active_at: stats.last_active_at,
        activity: stats.activity,
    }))
}
