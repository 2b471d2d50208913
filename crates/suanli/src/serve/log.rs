//! What the server and the agent write down for the operator.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output;

/// Logs to standard error; `RUST_LOG` chooses what, `SUANLI_LOG=json` the form.
pub fn logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,hyper=warn"));
    let done = if std::env::var("SUANLI_LOG").is_ok_and(|form| form == "json") {
        json(filter, std::io::stderr).try_init()
    } else {
        let words = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let words = words.with_ansi(output::stderr_is_terminal()).with_target(false).compact();
        words.finish().try_init()
    };
    // Set up before: a test, or a verb inside a verb.
    drop(done);
}

/// One JSON object a line: `span` has the request, with its id.
fn json<W>(filter: EnvFilter, writer: W) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .json()
        .with_current_span(true)
        .with_span_list(false)
        .finish()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::http::Request;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use serde_json::Value;
    use server::error::ApiError;
    use tower::ServiceExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn each_line_is_one_json_object_that_names_its_request() {
        let written = Written::default();
        let writer = written.clone();
        let filter = EnvFilter::new("suanli_server=debug");
        let _guard = tracing::subscriber::set_default(json(filter, move || writer.clone()));
        let broken = || async { ApiError(base::Error::internal("line one\nline \"two\"")) };
        let router = axum::Router::new().route("/things/{id}", get(broken)).layer(from_fn(server::request_id::layer));
        let request = || Request::get("/things/7").body(Body::empty()).unwrap();
        let mut asked = Vec::new();
        for _ in 0..2 {
            let answer = router.clone().oneshot(request()).await.unwrap();
            asked.push(answer.headers()["x-request-id"].to_str().unwrap().to_owned());
        }
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // For each request the error, then how it was answered.
        assert_eq!(lines.len(), 4, "{text}");
        for (n, line) in lines.iter().enumerate() {
            assert_eq!(line["span"]["id"], asked[n / 2].as_str(), "{line}");
            assert_eq!((&line["span"]["method"], &line["span"]["path"]), (&"GET".into(), &"/things/{id}".into()));
            assert!(line["timestamp"].is_string() && line["target"].is_string(), "{line}");
        }
        assert_eq!(lines[0]["level"], "ERROR");
        assert!(lines[0]["fields"]["error"].as_str().unwrap().contains("line one\nline \"two\""), "{text}");
        assert_eq!((&lines[1]["level"], &lines[1]["fields"]["status"]), (&"DEBUG".into(), &500.into()));
    }
}
