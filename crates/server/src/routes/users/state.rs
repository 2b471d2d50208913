//! `POST /v1/users/{id}/approve`, `/disable` and `/enable`

use api::user::UserRow;
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use futures_util::FutureExt;
use serde_json::json;
use store::users::{self, UserState};
use store::{Outcome, tokens};

use super::{find_below, row};
use crate::auth::{Caller, Operator, does};
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::letters::Post;
use crate::state::App;

/// Lets a user in who waits for it (operator).
#[utoipa::path(post, path = "/v1/users/{id}/approve", operation_id = "approve_user", tag = "users",
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 200, body = UserRow), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn approve_user(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageUsers>,
    Reference(id): Reference,
) -> ApiResult<Json<UserRow>> {
    let from = [UserState::AwaitingApproval, UserState::AwaitingEmail];
    change(&app, &caller, "approve_user", &id, &from, UserState::Active).await
}

/// Shuts a user out: his sessions and tokens end at once; what he rents goes on (operator).
#[utoipa::path(post, path = "/v1/users/{id}/disable", operation_id = "disable_user", tag = "users",
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 200, body = UserRow), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn disable_user(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageUsers>,
    Reference(id): Reference,
) -> ApiResult<Json<UserRow>> {
    let from = [UserState::Active, UserState::AwaitingApproval, UserState::AwaitingEmail];
    change(&app, &caller, "disable_user", &id, &from, UserState::Disabled).await
}

/// Lets a user in again who was shut out; he signs in anew (operator).
#[utoipa::path(post, path = "/v1/users/{id}/enable", operation_id = "enable_user", tag = "users",
    params(("id" = String, Path, description = "id, name or e-mail address of the user")),
    responses((status = 200, body = UserRow), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn enable_user(
    State(app): State<App>,
    Operator(caller, _): Operator<does::ManageUsers>,
    Reference(id): Reference,
) -> ApiResult<Json<UserRow>> {
    change(&app, &caller, "enable_user", &id, &[UserState::Disabled], UserState::Active).await
}

async fn change(
    app: &App,
    caller: &Caller,
    deed: &str,
    reference: &str,
    from: &[UserState],
    to: UserState,
) -> ApiResult<Json<UserRow>> {
    let person = find_below(&mut *app.store.read().await?, caller, reference).await?;
    let was = person.state;
    if !from.contains(&was) {
        return Err(Error::new(Cause::WrongState, format!("this user is {}", was.as_str())).into());
    }
    let (now, id) = (app.now(), person.user.id.clone());
    let post = Post::new(app, &app.settings().await?, now);
    let note = caller.note(deed).to(&id);
    let note = note.was(json!({ "state": was.as_str() })).became(json!({ "state": to.as_str() }));
    app.store
        .write(move |tx| {
            let (id, note, post) = (id.clone(), note.clone(), post.clone());
            async move {
                if !users::set_state(tx, &id, was, to).await? {
                    return Err(refusal());
                }
                if to == UserState::Disabled {
                    tokens::end_all(tx, &id, None).await?;
                    tokens::end_all_api(tx, &id).await?;
                }
                if was == UserState::AwaitingApproval {
                    post.decided(tx, &id, to == UserState::Active).await?;
                }
                note.write(tx, now).await?;
                Outcome::Ok(())
            }
            .boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let person = super::find(&mut db, person.user.id.as_str()).await?;
    Ok(Json(row(&mut db, person).await?))
}

fn refusal() -> store::Fault {
    Error::new(Cause::WrongState, "the user was changed at this moment, or is the site's last admin")
        .hint("look with `suanli user ls`, then try again")
        .into()
}
