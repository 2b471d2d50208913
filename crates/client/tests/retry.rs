//! What is sent again when no answer came, and what never is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use api::account::TopUp;
use base::Cause;
use suanli_client::{Client, Key};

const POSTED: &str = r#"{"posting":"pst-01kjma0fm00000000000000001","amount":"5.00","balance":"7.00"}"#;

/// Cuts the first `cuts` connections off after the request came, then answers.
fn server(cuts: usize) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    std::thread::spawn(move || {
        for (count, connection) in listener.incoming().enumerate() {
            let mut connection = connection.unwrap();
            log.lock().unwrap().push(read_request(&mut connection));
            if count >= cuts {
                let head = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nconnection: close\r\n";
                write!(connection, "{head}content-length: {}\r\n\r\n{POSTED}", POSTED.len()).unwrap();
            }
        }
    });
    (url, seen)
}

fn read_request(connection: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = connection.read(&mut buffer).unwrap();
        text.extend_from_slice(&buffer[..count]);
        let whole = String::from_utf8_lossy(&text).into_owned();
        // The bodies here are small JSON objects.
        if count == 0 || whole.ends_with('}') {
            return whole;
        }
    }
}

fn top_up() -> TopUp {
    TopUp { amount: "5".into(), note: None }
}

#[tokio::test]
async fn a_wish_with_a_key_is_sent_again_with_the_same_key() {
    let (url, seen) = server(2);
    let key = Key::fresh();
    let client = Client::new(&url, Some("t")).unwrap();
    let posted = client.top_up("lab", &top_up(), &key).await.unwrap();
    assert_eq!(posted.balance.to_string(), "7.00");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 3);
    for request in seen.iter() {
        assert!(request.starts_with("POST /v1/accounts/lab/topups HTTP/1.1\r\n"));
        assert!(request.contains(&format!("idempotency-key: {}\r\n", key.as_str())), "{request}");
        assert!(request.contains("authorization: Bearer t\r\n"));
    }
}

#[tokio::test]
async fn a_wish_without_a_key_is_sent_once() {
    let (url, seen) = server(1);
    let error = Client::new(&url, None).unwrap().stop("box").await.unwrap_err();
    assert_eq!(error.cause(), Cause::Unavailable);
    assert!(error.hint_text().unwrap().contains("may have done it or not"));
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn trying_again_ends() {
    let (url, seen) = server(usize::MAX);
    let error = Client::new(&url, None).unwrap().top_up("lab", &top_up(), &Key::fresh()).await.unwrap_err();
    assert_eq!(error.cause(), Cause::Unavailable);
    assert_eq!(seen.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn an_answer_of_something_else_is_not_taken_for_ours() {
    let (url, _) = server(0);
    let error = Client::new(&url, None).unwrap().rent(&Default::default(), &Key::fresh()).await.unwrap_err();
    assert_eq!(error.cause(), Cause::Unavailable);
    assert!(error.message().contains("does not answer like a Suanli server"));
}
