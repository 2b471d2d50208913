//! Every route of the server on one screen.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::routes::{accounts, events, incidents, instances, money, nodes, offers, prices, session, site};
use crate::state::App;
use crate::{error, limits, observed, openapi, request_id};

/// The routes of the API and their description.
pub fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(session::login::login))
        .routes(routes!(session::logout::logout))
        .routes(routes!(session::whoami::whoami))
        .routes(routes!(offers::list::offers))
        .routes(routes!(offers::gpus::gpus))
        .routes(routes!(offers::quote::quote))
        .routes(routes!(instances::rent::rent, instances::list::instances))
        .routes(routes!(instances::show::instance))
        .routes(routes!(instances::stop::stop))
        .routes(routes!(instances::start::start))
        .routes(routes!(instances::release::release))
        .routes(routes!(instances::why::why))
        .routes(routes!(instances::usage::usage))
        .routes(routes!(instances::events::instance_events))
        .routes(routes!(instances::stream::stream))
        .routes(routes!(events::follow::events))
        .routes(routes!(money::balance::balance))
        .routes(routes!(money::bill::bill))
        .routes(routes!(accounts::create::create_account, accounts::list::accounts))
        .routes(routes!(accounts::topup::top_up))
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
pub fn router(app: App) -> Router {
    let (routes, mut document) = api().split_for_parts();
    openapi::complete(&mut document);
    let json = document.to_pretty_json().unwrap_or_default();
    routes
        .route("/openapi.json", get(async move || ([("content-type", "application/json")], json.clone())))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn_with_state(app.clone(), limits::layer))
        .layer(from_fn_with_state(app.clone(), observed::layer))
        .layer(from_fn(request_id::layer))
        .with_state(app)
}
