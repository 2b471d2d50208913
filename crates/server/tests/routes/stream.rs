//! The WebSocket into an instance: bytes unchanged, ends told, nothing for strangers.

use std::time::Duration;

use base::Span;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::db::{Db, both};
use crate::site::{Person, Site, request};

pub type Socket = WebSocketStream<TcpStream>;

pub async fn connect(site: &Site, by: &Person, reference: &str) -> Result<Socket, Error> {
    let address = site.listen().await;
    let mut request = format!("ws://{address}/v1/instances/{reference}/stream").into_client_request().unwrap();
    let token = format!("Bearer {}", by.token);
    request.headers_mut().insert("authorization", token.parse().unwrap());
    let tcp = TcpStream::connect(address).await.unwrap();
    tokio_tungstenite::client_async(request, tcp).await.map(|(socket, _)| socket)
}

/// Alice's end and the instance's end of a fresh stream.
async fn open(site: &Site) -> (Socket, DuplexStream) {
    site.running("job", Span::from_secs(60)).await;
    let socket = connect(site, &site.alice, "job").await.unwrap();
    (socket, site.reach.end().await)
}

pub async fn next(socket: &mut Socket) -> Option<Result<Message, Error>> {
    tokio::time::timeout(Duration::from_secs(30), socket.next()).await.expect("something comes")
}

/// The end of what comes out of the caller's side.
pub async fn rest(end: &mut DuplexStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    tokio::time::timeout(Duration::from_secs(30), end.read_to_end(&mut bytes)).await.expect("it ends").unwrap();
    bytes
}

/// Bytes that no copy could leave out unnoticed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(step).collect()
}

async fn bytes_pass_unchanged_both_ways(db: &Db) {
    let site = Site::new(db).await;
    let (socket, end) = open(&site).await;
    let (mut sink, mut source) = socket.split();
    let (mut from_caller, mut to_caller) = tokio::io::split(end);
    let (inward, outward) = (noise(1, 3 * link::MAX_PAYLOAD + 7), noise(2, 1_000_003));
    let send = async {
        for piece in inward.chunks(link::MAX_PAYLOAD) {
            sink.send(Message::binary(piece.to_vec())).await.unwrap();
        }
        sink.send(Message::text("not for the instance")).await.unwrap();
        sink.send(Message::binary(vec![])).await.unwrap();
    };
    let receive = async {
        let mut got = Vec::new();
        while got.len() < outward.len() {
            match source.next().await.unwrap().unwrap() {
                Message::Binary(piece) => got.extend_from_slice(&piece),
                other => panic!("{other:?}"),
            }
        }
        got
    };
    let read = async {
        let mut got = vec![0; inward.len()];
        from_caller.read_exact(&mut got).await.unwrap();
        got
    };
    let all = async { tokio::join!(send, receive, read, to_caller.write_all(&outward)) };
    let ((), received, read, written) = tokio::time::timeout(Duration::from_secs(60), all).await.expect("it flows");
    written.unwrap();
    assert!(received == outward && read == inward);
}

/// What the instance said last arrives before the end, whatever the caller was
/// sending that nobody reads any more.
async fn the_instances_end_is_told_after_its_last_byte(db: &Db) {
    let site = Site::new(db).await;
    let (mut socket, mut end) = open(&site).await;
    for _ in 0..4 {
        socket.send(Message::binary(noise(3, link::MAX_PAYLOAD))).await.unwrap();
    }
    let said = noise(4, 60_000);
    end.write_all(&said).await.unwrap();
    drop(end);
    let mut heard = Vec::new();
    loop {
        match next(&mut socket).await {
            Some(Ok(Message::Binary(piece))) => heard.extend_from_slice(&piece),
            Some(Ok(Message::Close(_))) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(heard == said);
    assert!(next(&mut socket).await.is_none_or(|m| matches!(m, Err(Error::ConnectionClosed))));
}

async fn the_callers_end_is_told_to_the_instance(db: &Db) {
    let site = Site::new(db).await;
    let (mut socket, mut end) = open(&site).await;
    socket.send(Message::binary(&b"bye"[..])).await.unwrap();
    socket.close(None).await.unwrap();
    assert_eq!(rest(&mut end).await, b"bye");
    assert!(matches!(next(&mut socket).await, Some(Ok(Message::Close(_)))), "the close is answered");
    // Neither does one who vanishes leave something running.
    let socket = connect(&site, &site.alice, "job").await.unwrap();
    let mut end = site.reach.end().await;
    drop(socket);
    assert_eq!(rest(&mut end).await, b"");
}

async fn a_message_larger_than_a_frame_is_refused(db: &Db) {
    let site = Site::new(db).await;
    let (mut socket, mut end) = open(&site).await;
    socket.send(Message::binary(noise(5, link::MAX_PAYLOAD + 1024))).await.unwrap();
    let mut fits = vec![0; link::MAX_PAYLOAD + 1024];
    end.read_exact(&mut fits).await.unwrap();
    // The server may have hung up before all of it was sent.
    let _ = socket.send(Message::binary(noise(6, link::MAX_PAYLOAD + 1025))).await;
    assert_eq!(rest(&mut end).await, b"", "nothing of it arrives");
    match next(&mut socket).await {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(frame.code, CloseCode::Size),
        other => panic!("{other:?}"),
    }
}

async fn an_instance_that_does_not_run_says_why(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let refused = async || match connect(&site, &site.alice, "job").await {
        Err(Error::Http(response)) => {
            let problem: Value = serde_json::from_slice(response.body().as_ref().unwrap()).unwrap();
            (response.status().as_u16(), problem)
        }
        other => panic!("{:?}", other.map(drop)),
    };
    let (status, problem) = refused().await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("wrong-state")));
    assert_eq!(problem["detail"], "the instance is requested");
    site.run(&id, Span::from_secs(60)).await;
    site.post(&site.alice, "/v1/instances/job/stop", serde_json::json!({})).await.ok(202);
    site.state(&id, domain::instance::State::Stopped, "stopped").await;
    let (status, problem) = refused().await;
    assert_eq!(status, 409);
    assert_eq!(problem["detail"], "the instance is stopped: stopped by alice");
    assert!(problem["hint"].as_str().unwrap().contains("suanli start"));
}

async fn strangers_and_plain_requests_open_nothing(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    for reference in [id.as_str(), "job", "nope"] {
        match connect(&site, &site.bob, reference).await {
            Err(Error::Http(response)) => assert_eq!(response.status(), 404, "{reference}"),
            other => panic!("{:?}", other.map(drop)),
        }
    }
    let plain = site.send(request("GET", "/v1/instances/job/stream", Some(&site.alice), None, &[])).await;
    plain.says(422, "invalid-request", &["WebSocket", "suanli ssh"]);
    assert!(site.reach.ends.lock().await.try_recv().is_err(), "no way was opened");
}

both!(
    bytes_pass_unchanged_both_ways,
    the_instances_end_is_told_after_its_last_byte,
    the_callers_end_is_told_to_the_instance,
    a_message_larger_than_a_frame_is_refused,
    an_instance_that_does_not_run_says_why,
    strangers_and_plain_requests_open_nothing,
);
