//! Headers that tell browsers what a page of this site may do, and that answers of
//! the API are nobody else's.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName};
use axum::middleware::Next;
use axum::response::Response;

/// What the console may load: only what this site sends. `web/csp.mjs` has the same
/// words, under which the console is tried while it is built.
pub const CONSOLE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What any other answer may load: nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

const ALWAYS: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Adds them to every answer that does not say otherwise.
pub async fn layer(request: Request, next: Next) -> Response {
    let by_https = request.headers().get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in ALWAYS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if by_https {
        // Told by the proxy in front, so this site is reached that way.
        let year = HeaderValue::from_static("max-age=31536000");
        headers.entry(HeaderName::from_static("strict-transport-security")).or_insert(year);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_is_built_under_the_policy_that_is_sent() {
        let source = include_str!("../../../web/csp.mjs");
        let parts: Vec<_> =
            source.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\",")).collect();
        assert_eq!(parts.join("; "), CONSOLE_POLICY);
    }
}
