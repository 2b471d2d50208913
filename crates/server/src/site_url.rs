//! Where this site is reached, for links that people open.

use axum::extract::FromRequestParts;
use axum::http::header::HOST;
use axum::http::request::Parts;

use crate::error::ApiError;
use crate::state::App;

/// Address of the site without a slash at the end, as its operator has set it, or
/// as the request came.
pub struct SiteUrl(pub String);

impl FromRequestParts<App> for SiteUrl {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let set = app.settings().await?.public_url;
        let set = set.trim_end_matches('/');
        Ok(Self(if set.is_empty() { of_request(parts) } else { set.to_owned() }))
    }
}

fn of_request(parts: &Parts) -> String {
    let text = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok());
    let host = text(HOST.as_str()).filter(|host| !host.is_empty()).unwrap_or("localhost");
    let https = text("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
    format!("{}://{host}", if https { "https" } else { "http" })
}
