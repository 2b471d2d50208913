//! Every route of the server on one screen.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::routes::{
    accounts, audit_log, events, identity, incidents, instances, invitations, keys, mail, members, money, nodes,
    offers, oidc, password, prices, projects, quotas, session, signup, site, tokens, totp, users,
};
use crate::state::App;
use crate::{console, error, headers, limits, observed, openapi, request_id, trail};

/// The routes of the API and their description.
pub fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(session::login::login))
        .routes(routes!(session::logout::logout))
        .routes(routes!(session::whoami::whoami))
        .routes(routes!(session::list::sessions))
        .routes(routes!(session::end::end_session))
        .routes(routes!(session::logout_everywhere::logout_everywhere))
        .routes(routes!(signup::create::sign_up))
        .routes(routes!(signup::preview::invitation_preview))
        .routes(routes!(mail::verify::verify_email))
        .routes(routes!(mail::resend::resend_email))
        .routes(routes!(password::change::change_password))
        .routes(routes!(password::forgot::forgot_password))
        .routes(routes!(password::reset::reset_password))
        .routes(routes!(totp::prepare::prepare_totp))
        .routes(routes!(totp::confirm::confirm_totp))
        .routes(routes!(totp::remove::remove_totp))
        .routes(routes!(identity::show::identity, identity::check::check_identity))
        .routes(routes!(oidc::start::oidc_start))
        .routes(routes!(oidc::callback::oidc_callback))
        .routes(routes!(site::show::site))
        .routes(routes!(site::settings::site_settings, site::settings::set_site_settings))
        .routes(routes!(offers::list::offers))
        .routes(routes!(offers::gpus::gpus))
        .routes(routes!(offers::quote::quote))
        .routes(routes!(instances::rent::rent, instances::list::instances))
        .routes(routes!(instances::show::instance))
        .routes(routes!(instances::stop::stop))
        .routes(routes!(instances::start::start))
        .routes(routes!(instances::release::release))
        .routes(routes!(instances::rules::set_rules))
        .routes(routes!(instances::why::why))
        .routes(routes!(instances::usage::usage))
        .routes(routes!(instances::events::instance_events))
        .routes(routes!(instances::stream::stream))
        .routes(routes!(events::follow::events))
        .routes(routes!(money::balance::balance))
        .routes(routes!(money::bill::bill))
        .routes(routes!(accounts::create::create_account, accounts::list::accounts))
        .routes(routes!(accounts::topup::top_up))
        .routes(routes!(tokens::list::tokens, tokens::create::create_token))
        .routes(routes!(tokens::delete::delete_token))
        .routes(routes!(keys::list::keys, keys::add::add_key))
        .routes(routes!(keys::delete::delete_key))
        .routes(routes!(members::list::members))
        .routes(routes!(members::role::set_member_role, members::remove::remove_member))
        .routes(routes!(invitations::invite_member::invite_member))
        .routes(routes!(invitations::list::invitations, invitations::invite_user::invite_user))
        .routes(routes!(invitations::accept::accept_invitation))
        .routes(routes!(invitations::revoke::revoke_invitation))
        .routes(routes!(quotas::show::quotas, quotas::set::set_quotas))
        .routes(routes!(projects::list::projects))
        .routes(routes!(projects::quotas::project_quotas, projects::set_quotas::set_project_quotas))
        .routes(routes!(users::list::users))
        .routes(routes!(users::state::approve_user))
        .routes(routes!(users::state::disable_user))
        .routes(routes!(users::state::enable_user))
        .routes(routes!(users::role::set_operator_role))
        .routes(routes!(users::password::give_password))
        .routes(routes!(users::second_factor::remove_second_factor))
        .routes(routes!(audit_log::list::audit_log))
        .routes(routes!(audit_log::export::export_audit_log))
        .routes(routes!(audit_log::check::check_audit_log))
        .routes(routes!(audit_log::retention::audit_log_retention, audit_log::retention::set_audit_log_retention))
        .routes(routes!(prices::show::prices, prices::load::load_prices))
        .routes(routes!(prices::lint::lint_prices))
        .routes(routes!(nodes::list::nodes))
        .routes(routes!(site::audit::audit))
        .routes(routes!(incidents::list::incidents))
        .routes(routes!(incidents::close::close_incident))
        .routes(routes!(site::backup::backup))
        .routes(routes!(site::recovery::recovery))
        .routes(routes!(site::recovery::accept_recovery))
        .routes(routes!(site::health::healthz))
        .routes(routes!(site::health::readyz))
        .routes(routes!(site::metrics::metrics))
}

/// The whole server.
pub fn router(mut app: App) -> Router {
    let (routes, mut document) = api().split_for_parts();
    openapi::complete(&mut document);
    let json = document.to_pretty_json().unwrap_or_default();
    app.actions = Arc::new(trail::names(&serde_json::to_value(&document).unwrap_or_default()));
    routes
        .route("/openapi.json", get(async move || ([("content-type", "application/json")], json.clone())))
        .fallback(console::answer)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(from_fn_with_state(app.clone(), trail::layer))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn_with_state(app.clone(), limits::layer))
        .layer(from_fn_with_state(app.clone(), observed::layer))
        .layer(from_fn(headers::layer))
        .layer(from_fn(request_id::layer))
        .with_state(app)
}
