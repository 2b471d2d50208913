//! `GET /v1/whoami`

use api::session::{Membership, UserView, WhoAmI};
use axum::Json;

use crate::auth::Caller;

/// Who the token belongs to.
#[utoipa::path(get, path = "/v1/whoami", operation_id = "whoami", tag = "session", responses((status = 200, body = WhoAmI)))]
pub async fn whoami(caller: Caller) -> Json<WhoAmI> {
    let user = UserView { id: caller.user.id, name: caller.user.name, operator: caller.user.operator };
    let accounts = caller.memberships.into_iter();
    let accounts = accounts.map(|m| Membership { id: m.account, name: m.account_name, role: m.role }).collect();
    Json(WhoAmI { user, accounts })
}
