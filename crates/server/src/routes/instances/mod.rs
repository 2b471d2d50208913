//! Instances.

pub mod events;
pub mod list;
pub mod release;
pub mod rent;
pub mod rules;
pub mod show;
pub mod start;
pub mod stop;
pub mod stream;
pub mod usage;
pub mod why;

use api::instance::InstanceView;
use axum::Json;
use axum::http::StatusCode;
use base::{Error, InstanceId};
use store::instances;

use crate::error::ApiResult;
use crate::state::App;
use crate::views;

/// The answer to an accepted wish: 202 and the instance as it is now.
async fn accepted(app: &App, id: &InstanceId) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let mut db = app.store.read().await?;
    let after = instances::get(&mut db, id).await?.ok_or_else(|| Error::not_found("the instance"))?;
    Ok((StatusCode::ACCEPTED, Json(views::instance(app, &mut db, after).await?)))
}
