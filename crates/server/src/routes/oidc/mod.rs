//! Signing in at another place that the operator trusts.

pub mod callback;
pub mod start;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base::{Error, Result, UserId};
use serde::{Deserialize, Serialize};
use store::settings::{Provider, Settings};

use crate::oidc::Proof;
use crate::state::App;

/// Cookie that ties a sign-in to the browser in which it began: with another's
/// answer nobody can be made to sign in as him.
const COOKIE: &str = "suanli_oidc";

/// What is kept until the browser comes back.
#[derive(Serialize, Deserialize)]
struct Flow {
    proof: Proof,
    /// Where it goes on then.
    next: String,
    /// Who was signed in already.
    user: Option<UserId>,
    /// What he was invited by.
    invitation: Option<String>,
}

fn provider(settings: &Settings, id: &str) -> Result<Provider> {
    let found = settings.providers.iter().find(|p| p.id == id).cloned();
    found.ok_or_else(|| Error::not_found("this provider").hint("`GET /v1/site` lists those of this site"))
}

/// Where the provider sends the browser back.
fn back(app: &App, settings: &Settings, provider: &Provider) -> String {
    app.way.page(settings, &format!("/v1/oidc/{}/callback", provider.id))
}

fn cookie(value: &str, seconds: i64, secure: bool) -> Option<(HeaderName, HeaderValue)> {
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/v1/oidc; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    Some((axum::http::header::SET_COOKIE, HeaderValue::from_str(&text).ok()?))
}

fn sent_to(url: &str, cookies: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Response {
    let mut headers = HeaderMap::new();
    // An address that no header can hold was made by nobody here.
    let url = HeaderValue::from_str(url).unwrap_or(HeaderValue::from_static("/"));
    headers.insert(axum::http::header::LOCATION, url);
    headers.insert(axum::http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in cookies {
        headers.append(name, value);
    }
    (StatusCode::FOUND, headers).into_response()
}
