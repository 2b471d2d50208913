//! `GET /v1/users`

use api::Page;
use api::user::{UserQuery, UserRow};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error, UserId};
use store::users::{self, Filter, UserState};

use super::row;
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;

const STATES: &[UserState] =
    &[UserState::Active, UserState::AwaitingEmail, UserState::AwaitingApproval, UserState::Disabled];

/// Users, newest first (operator).
#[utoipa::path(get, path = "/v1/users", operation_id = "users", tag = "users", params(UserQuery),
    responses((status = 200, body = Page<UserRow>), (status = 403, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn users(
    State(app): State<App>,
    _: Operator<does::SeeSite>,
    Params(query): Params<UserQuery>,
) -> ApiResult<Json<Page<UserRow>>> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Error::new(Cause::InvalidRequest, "a page has 1 to 200 entries").into());
    }
    let state = query.state.as_deref().map(|word| {
        STATES.iter().find(|state| state.as_str() == word).copied().ok_or_else(|| {
            let all: Vec<_> = STATES.iter().map(|state| state.as_str()).collect();
            Error::new(Cause::InvalidRequest, format!("`{}` is no state of a user", word.escape_debug()))
                .hint(format!("choose from {}", all.join(", ")))
        })
    });
    let filter = Filter { state: state.transpose()?, text: query.q };
    let before: Option<UserId> = query.cursor.as_deref().map(str::parse).transpose()?;
    let mut db = app.store.read().await?;
    let mut found = users::list(&mut db, &filter, before.as_ref(), limit + 1).await?;
    let most = usize::try_from(limit).unwrap_or(0);
    let more = found.len() > most;
    found.truncate(most);
    let next_cursor = found.last().filter(|_| more).map(|p| p.user.id.to_string());
    let mut items = Vec::with_capacity(found.len());
    for person in found {
        items.push(row(&mut db, person).await?);
    }
    Ok(Json(Page { items, next_cursor }))
}
