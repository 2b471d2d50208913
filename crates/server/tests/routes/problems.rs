//! Every refusal is a problem document that says what to do and nothing of the inside.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::site::{CARD, Site, request};

async fn paths_and_methods_that_do_not_exist(db: &Db) {
    let site = Site::new(db).await;
    for path in ["/", "/v1", "/v1/nope", "/v1/instances/a/b/c", "/v1/whoami/", "/v2/whoami"] {
        let answer = site.get(&site.alice, path).await;
        answer.says(404, "not-found", &["this path does not exist", "/openapi.json"]);
        assert!(answer.header("server").starts_with("suanli/"));
    }
    for (method, path) in [("DELETE", "/v1/whoami"), ("GET", "/v1/login"), ("PATCH", "/v1/instances")] {
        let answer = site.send(request(method, path, Some(&site.alice), None, &[])).await;
        answer.says(405, "invalid-request", &["does not take this method"]);
        assert!(!answer.header("allow").is_empty(), "{method} {path}");
    }
}

fn raw(site: &Site, kind: Option<&str>, body: impl Into<Body>) -> Request<Body> {
    let token = format!("Bearer {}", site.alice.token);
    let request = Request::post("/v1/quotes").header("authorization", token);
    let request = kind.into_iter().fold(request, |r, kind| r.header("content-type", kind));
    request.body(body.into()).unwrap()
}

async fn bodies_that_are_not_understood(db: &Db) {
    let site = Site::new(db).await;
    let json = Some("application/json");
    for (body, words) in [
        ("", vec!["EOF"]),
        ("{", vec!["EOF", "line 1"]),
        ("[]", vec!["JSON object"]),
        (r#"["RTX 4090",1]"#, vec!["JSON object"]),
        ("null", vec!["JSON object"]),
        (r#"{"gpu":"RTX 4090","colour":"red"}"#, vec!["colour", "unknown field"]),
        (r#"{"gpu":"RTX 4090","rules":{"idel":"5m"}}"#, vec!["idel", "idle"]),
        (r#"{"gpu":4090}"#, vec!["gpu", "string"]),
        (r#"{"gpu":"RTX 4090","count":"two"}"#, vec!["count", "i64"]),
        (r#"{"gpu":"RTX 4090","count":1.5}"#, vec!["count"]),
        (r#"{"gpu":"RTX 4090","count":99999999999999999999}"#, vec!["count"]),
        (r#"{"gpu":"RTX 4090","env":{"A":1}}"#, vec!["env.A"]),
        (r#"{"gpu":"RTX 4090"} trailing"#, vec!["trailing"]),
        ("{\"gpu\":\"RTX\u{0}4090\"}", vec!["control character"]),
    ] {
        let answer = site.send(raw(&site, json, body)).await;
        answer.says(422, "invalid-request", &words);
        assert!(answer.problem(422, "invalid-request")["hint"].as_str().unwrap().contains("/openapi.json"));
    }
    let good = json!({ "gpu": CARD }).to_string();
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        site.send(raw(&site, kind, good.clone())).await.says(422, "invalid-request", &["Content-Type"]);
    }
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        site.send(raw(&site, Some(kind), good.clone())).await.ok(200);
    }
    let latin = b"{\"gpu\":\"RTX \xff\"}".to_vec();
    site.send(raw(&site, json, latin)).await.problem(422, "invalid-request");
}

async fn queries_that_are_not_understood(db: &Db) {
    let site = Site::new(db).await;
    for (path, word) in [
        ("/v1/offers?colour=red", "colour"),
        ("/v1/offers?count=two", "invalid digit"),
        ("/v1/instances?limit=x", "invalid digit"),
        ("/v1/instances?all=perhaps", "true"),
        ("/v1/events?after=x", "invalid digit"),
        ("/v1/events?befor=1", "befor"),
        ("/v1/bill?year=2026", "year"),
        ("/v1/balance?account=alpha&month=2026-01", "month"),
    ] {
        site.get(&site.alice, path).await.says(422, "invalid-request", &[word, "/openapi.json"]);
    }
}

/// No text that can be sent makes the server blame itself.
async fn zero_bytes_and_broken_text_are_the_senders_fault(db: &Db) {
    let site = Site::new(db).await;
    for path in ["/v1/instances/%00", "/v1/instances/a%00b/why", "/v1/instances/%FF", "/v1/instances/%C3%28"] {
        site.get(&site.alice, path).await.problem(404, "not-found");
    }
    for path in ["/v1/balance?account=%00", "/v1/events?subject=%00", "/v1/offers?gpu=%00", "/v1/bill?month=%00"] {
        site.get(&site.alice, path).await.problem(422, "invalid-request");
    }
    let zero = "a\0b";
    for (path, body) in [
        ("/v1/login", json!({ "user": zero, "password": "x" })),
        ("/v1/quotes", json!({ "gpu": zero })),
        ("/v1/instances", json!({ "gpu": CARD, "account": zero })),
        ("/v1/instances", json!({ "gpu": CARD, "env": { "A": zero } })),
        ("/v1/accounts", json!({ "name": "x", "user": zero })),
        ("/v1/accounts/alpha/topups", json!({ "amount": "1", "note": zero })),
        ("/v1/prices/lint", json!({ "text": zero })),
    ] {
        site.post(&site.operator, path, body).await.problem(422, "invalid-request");
    }
    for key in ["", "ключ", &"k".repeat(101)] {
        let body = json!({ "gpu": CARD });
        let request = request("POST", "/v1/instances", Some(&site.alice), Some(&body), &[("idempotency-key", key)]);
        site.send(request).await.says(422, "invalid-request", &["Idempotency-Key"]);
    }
}

/// Reads one HTTP/1.1 answer: its status and its body.
async fn read_answer(stream: &mut TcpStream) -> (u16, Value) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    assert!(!head.contains("connection: close"), "{head}");
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_slice(&body).unwrap())
}

/// The sender reads the refusal although he was still writing, and goes on.
async fn a_body_that_is_too_large_costs_only_itself(db: &Db) {
    let site = Site::new(db).await;
    let mut stream = TcpStream::connect(site.listen().await).await.unwrap();
    let head = |method: &str, path: &str, length: usize| {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            site.alice.token
        )
    };
    for length in [10 * 1024 * 1024, 1024 * 1024 + 1] {
        stream.write_all(head("POST", "/v1/quotes", length).as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; length]).await.unwrap();
        let (status, problem) = read_answer(&mut stream).await;
        assert_eq!((status, problem["code"].as_str()), (413, Some("body-too-large")), "{problem}");
        assert!(problem["hint"].as_str().unwrap().contains("1024 KiB"));
    }
    stream.write_all(head("GET", "/v1/whoami", 0).as_bytes()).await.unwrap();
    let (status, whoami) = read_answer(&mut stream).await;
    assert_eq!((status, whoami["user"]["name"].as_str()), (200, Some("alice")));
}

async fn a_body_of_exactly_the_limit_is_read(db: &Db) {
    let site = Site::new(db).await;
    let mut body = json!({ "gpu": CARD }).to_string().into_bytes();
    body.resize(1024 * 1024, b' ');
    site.send(raw(&site, Some("application/json"), body.clone())).await.ok(200);
    body.push(b' ');
    site.send(raw(&site, Some("application/json"), body)).await.says(413, "body-too-large", &["at most 1024 KiB"]);
}

/// When the database breaks, the log knows why and the user learns that it was us.
async fn nothing_of_the_inside_gets_out(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let whole: Vec<(&str, String)> = [
        ("GET", "/v1/instances".to_owned()),
        ("GET", format!("/v1/instances/{id}")),
        ("POST", format!("/v1/instances/{id}/stop")),
        ("GET", "/v1/incidents".to_owned()),
        ("GET", "/v1/audit".to_owned()),
        ("GET", "/v1/nodes".to_owned()),
        ("GET", "/v1/prices".to_owned()),
        ("GET", "/metrics".to_owned()),
    ]
    .into();
    for table in ["incidents", "price_books", "instances"] {
        let sql = format!("ALTER TABLE {table} RENAME TO hidden_{table}");
        write!(db.store, |tx, sql| {
            sqlx::query(sqlx::AssertSqlSafe(sql.as_str())).execute(&mut **tx).await?;
            Ok(())
        })
        .unwrap();
    }
    let mut broken = 0;
    for (method, path) in &whole {
        for by in [&site.alice, &site.operator] {
            let answer = site.send(request(method, path, Some(by), None, &[])).await;
            // What needs none of these tables goes on.
            if ![200, 403].contains(&answer.status) {
                check_plain(&answer);
                broken += 1;
            }
        }
    }
    assert!(broken >= 8, "{broken}");
    site.post(&site.alice, "/v1/instances", json!({ "gpu": CARD })).await.problem(500, "internal");
}

fn check_plain(answer: &Answer) {
    let problem = answer.problem(500, "internal");
    assert_eq!(problem["detail"], "something went wrong on the server");
    let text = answer.text().to_lowercase();
    for inside in ["select", "table", "relation", "sql", "hidden_", "no such", "column", "/src/", "panicked"] {
        assert!(!text.contains(inside), "`{inside}` in {text}");
    }
}

both!(
    paths_and_methods_that_do_not_exist,
    bodies_that_are_not_understood,
    queries_that_are_not_understood,
    zero_bytes_and_broken_text_are_the_senders_fault,
    a_body_that_is_too_large_costs_only_itself,
    a_body_of_exactly_the_limit_is_read,
    nothing_of_the_inside_gets_out,
);
