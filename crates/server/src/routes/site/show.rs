//! `GET /v1/site`

use api::site::{ProviderLink, SiteView};
use axum::Json;
use axum::extract::State;

use crate::error::ApiResult;
use crate::state::App;
use crate::stock;

/// What everybody may know of this site, also before signing in.
#[utoipa::path(get, path = "/v1/site", operation_id = "site", tag = "site", security(()),
    responses((status = 200, body = SiteView)))]
pub async fn site(State(app): State<App>) -> ApiResult<Json<SiteView>> {
    let s = app.settings().await?;
    let fake = stock::offers(&app).await?.offers.iter().any(|offer| offer.fake);
    let mail = app.way.is_open(&s);
    let link = |p: &store::settings::Provider| ProviderLink { id: p.id.clone(), label: p.label.clone() };
    Ok(Json(SiteView {
        name: s.site_name().to_owned(),
        sign_up: s.sign_up.as_str().to_owned(),
        approval: s.approval,
        providers: s.providers.iter().map(link).collect(),
        currency: app.book().currency.clone(),
        identity_required: s.identity_required,
        mail,
        fake,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}
