//! `GET /v1/whoami`

use api::session::{TokenLimits, WhoAmI};
use axum::Json;
use axum::extract::State;
use base::Error;
use store::{identities, mail_links, profiles};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::App;
use crate::views;

/// Who the token belongs to.
#[utoipa::path(get, path = "/v1/whoami", operation_id = "whoami", tag = "session", responses((status = 200, body = WhoAmI)))]
pub async fn whoami(State(app): State<App>, caller: Caller) -> ApiResult<Json<WhoAmI>> {
    let (profile, pending, providers) = {
        let mut db = app.store.read().await?;
        let profile = profiles::get(&mut db, &caller.user.id).await?.ok_or_else(|| Error::not_found("the user"))?;
        let pending = mail_links::pending(&mut db, &caller.user.id).await?;
        (profile, pending, identities::providers(&mut db, &caller.user.id).await?)
    };
    let limits = caller.token.limits.as_ref();
    let token = limits.map(|l| TokenLimits { scopes: Some(l.scopes.iter().map(ToString::to_string).collect()) });
    Ok(Json(WhoAmI {
        user: views::user(&profile, pending),
        accounts: views::memberships(&caller.memberships),
        providers,
        csrf: caller.csrf.clone(),
        token,
    }))
}
