//! The console in the browser: files that are a part of this program.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error;
use crate::headers::CONSOLE_POLICY;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// Where the API and what belongs to it answers: no page of the console is there.
const API: [&str; 5] = ["v1/", "openapi.json", "healthz", "readyz", "metrics"];

/// What is told where the program was built without the console.
const ABSENT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Suanli</title>\
    <p>This program was built without its console. Build it with <code>make build</code>, or use the command line.</p>";

/// Answers every path that is none of the API's: a file of the console, or its
/// page, which finds out by itself what the path means.
pub async fn answer(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let asks = [Method::GET, Method::HEAD].contains(request.method());
    if !asks || API.iter().any(|api| path == api.trim_end_matches('/') || path.starts_with(api)) {
        return error::no_such_path().await.into_response();
    }
    if let Some(answer) = file(path, request.headers()) {
        return answer;
    }
    let wants_page =
        request.headers().get(ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|a| a.contains("text/html"));
    if path.starts_with("assets/") || !wants_page {
        return error::no_such_path().await.into_response();
    }
    let page = file("index.html", request.headers());
    page.unwrap_or_else(|| sent(Body::from(ABSENT), "text/html; charset=utf-8", "no-store", None))
}

/// A file, packed as small as the browser takes it.
fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    if path.is_empty() || path.ends_with(".br") || path.ends_with(".gz") || path == "manifest.json" {
        return None;
    }
    let plain = Files::get(path)?;
    let tag = format!("\"{}\"", hex::encode(plain.metadata.sha256_hash()));
    // Names of assets change with what is in them.
    let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        let mut answer = sent(Body::empty(), kind(path), keep, None);
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        return Some(answer);
    }
    let takes = headers.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let takes = |name: &str| takes.split(',').any(|one| one.split(';').next().map(str::trim) == Some(name));
    let packed = [("br", "br"), ("gzip", "gz")].into_iter().filter(|(name, _)| takes(name));
    let packed = packed.into_iter().find_map(|(name, end)| Some((name, Files::get(&format!("{path}.{end}"))?)));
    let mut answer = match packed {
        Some((name, file)) => sent(body(file), kind(path), keep, Some(name)),
        None => sent(body(plain), kind(path), keep, None),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(ETAG, tag);
    }
    Some(answer)
}

fn body(file: EmbeddedFile) -> Body {
    Body::from(file.data.into_owned())
}

fn sent(body: Body, kind: &'static str, keep: &'static str, packed: Option<&'static str>) -> Response {
    let mut answer = body.into_response();
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(packed) = packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(packed));
    }
    if kind.starts_with("text/html") {
        headers.insert("content-security-policy", HeaderValue::from_static(CONSOLE_POLICY));
    }
    answer
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(path: &str, accept: &str) -> Response {
        answer(Request::get(path).header(ACCEPT, accept).body(Body::empty()).unwrap()).await
    }

    #[tokio::test]
    async fn a_path_of_the_api_is_never_answered_with_a_page() {
        for path in ["/v1", "/v1/nothing", "/healthz/x", "/metrics", "/openapi.json"] {
            assert_eq!(ask(path, "text/html").await.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[tokio::test]
    async fn a_deep_link_gets_the_page_and_a_program_gets_none() {
        let page = ask("/instances/ins-1", "text/html,*/*").await;
        assert_eq!(page.status(), StatusCode::OK);
        assert_eq!(page.headers()["content-security-policy"], CONSOLE_POLICY);
        assert_eq!(ask("/instances/ins-1", "*/*").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(ask("/assets/nothing.js", "text/html").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(ask("/../Cargo.toml", "*/*").await.status(), StatusCode::NOT_FOUND);
        let post = Request::post("/market").header(ACCEPT, "text/html").body(Body::empty()).unwrap();
        assert_eq!(answer(post).await.status(), StatusCode::NOT_FOUND);
    }
}
