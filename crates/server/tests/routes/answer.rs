//! An answer of the server, and what every refusal has to look like.

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Answer {
    pub async fn read(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self { status: head.status.as_u16(), headers: head.headers, bytes }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The problem of a refusal, after its form was checked.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.bytes).unwrap();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["type"], format!("urn:suanli:{code}"));
        assert_eq!(problem["title"], code.replace('-', " "));
        assert!(problem["detail"].as_str().is_some_and(|d| !d.is_empty()), "{problem}");
        let id = problem["request_id"].as_str().unwrap();
        assert!(id.starts_with("req-"), "{problem}");
        assert_eq!(id, self.header("x-request-id"));
        problem
    }

    /// As [`Self::problem`]; the detail and the hint together have to say all of `words`.
    #[track_caller]
    pub fn says(&self, status: u16, code: &str, words: &[&str]) {
        let problem = self.problem(status, code);
        let said = format!("{} | {}", problem["detail"].as_str().unwrap(), problem["hint"].as_str().unwrap_or(""));
        for word in words {
            assert!(said.contains(word), "`{word}` is not in: {said}");
        }
    }
}
