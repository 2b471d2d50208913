//! `GET /v1/instances`

use api::Page;
use api::instance::{InstanceQuery, InstanceView};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error, InstanceId};
use domain::project::Project;
use domain::rights::Action;
use store::instances;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;
use crate::{resolve, views};

/// The caller's instances, newest first.
#[utoipa::path(get, path = "/v1/instances", operation_id = "instances", tag = "instances", params(InstanceQuery),
    responses((status = 200, body = Page<InstanceView>), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn instances(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<InstanceQuery>,
) -> ApiResult<Json<Page<InstanceView>>> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Error::new(Cause::InvalidRequest, "a page has 1 to 200 entries").into());
    }
    let before: Option<InstanceId> = query.cursor.as_deref().map(str::parse).transpose()?;
    let project: Option<Project> = query.project.as_deref().map(str::parse).transpose()?;
    let mut db = app.store.read().await?;
    let accounts = match &query.account {
        Some(named) => vec![resolve::account(&mut db, &caller, Some(named), Action::SeeInstances).await?.id],
        None => {
            caller.in_scope(Action::SeeInstances)?;
            caller.memberships.iter().map(|m| m.account.clone()).collect()
        }
    };
    let mut found = Vec::new();
    for account in &accounts {
        let all = query.all.unwrap_or(false);
        found.extend(instances::list(&mut db, account, project.as_ref(), all, before.as_ref(), limit + 1).await?);
    }
    found.sort_by(|a, b| b.id.cmp(&a.id));
    let most = usize::try_from(limit).unwrap_or(0);
    let more = found.len() > most;
    found.truncate(most);
    let next_cursor = found.last().filter(|_| more).map(|i| i.id.to_string());
    let mut items = Vec::with_capacity(found.len());
    for instance in found {
        items.push(views::instance(&app, &mut db, instance).await?);
    }
    Ok(Json(Page { items, next_cursor }))
}
