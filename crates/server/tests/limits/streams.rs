//! Streams into instances whose ends do not listen.

use std::time::Duration;

use base::Span;
use futures_util::{SinkExt, StreamExt};
use server::limits::Limits;
use server::observed::{Limit, Open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::db::Db;
use crate::served::{PATIENCE, Served, generous, within};
use crate::site::Site;

/// All that may be on the way in one direction, bytes: the buffers of two sockets
/// of one machine, and ours, which are smaller.
const MOST_ON_THE_WAY: usize = 16 * 1024 * 1024;

async fn open(site: &Site, served: &Served) -> WebSocketStream<TcpStream> {
    let id = site.running("job", Span::from_secs(60)).await;
    let mut request = format!("ws://{}/v1/instances/{id}/stream", served.address).into_client_request().unwrap();
    let bearer = format!("Bearer {}", site.alice.token);
    request.headers_mut().insert("authorization", bearer.parse().unwrap());
    let tcp = TcpStream::connect(served.address).await.unwrap();
    let (socket, _) = within(tokio_tungstenite::client_async(request, tcp)).await.unwrap();
    socket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_does_not_read_is_cut_off_and_little_is_kept_for_him() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { stalled: Duration::from_millis(500), ..generous() }).await;
    let socket = open(&site, &served).await;
    let mut inside = within(site.reach.end()).await;
    served.until_open(Open::Streams, 1).await;
    let piece = vec![7; 64 * 1024];
    let mut taken = 0;
    // It ends only because the server drops the stream.
    within(async {
        while let Ok(n) = inside.write(&piece).await
            && n > 0
        {
            taken += n;
            assert!(taken < MOST_ON_THE_WAY, "{taken} bytes were taken from inside, and nobody read");
        }
    })
    .await;
    assert!(taken >= piece.len());
    served.until_open(Open::Streams, 0).await;
    served.until_open(Open::Connections, 0).await;
    assert_eq!(served.observed.times_limited(Limit::Stalled), 1);
    drop(socket);
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_does_not_listen_makes_its_caller_wait() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, generous()).await;
    let (mut say, _hear) = open(&site, &served).await.split();
    let mut inside = within(site.reach.end()).await;
    let piece = bytes::Bytes::from(vec![7; 64 * 1024]);
    let mut sent = 0;
    // As much as is taken without anybody reading inside.
    while let Ok(said) = tokio::time::timeout(Duration::from_secs(1), say.send(Message::Binary(piece.clone()))).await {
        said.unwrap();
        sent += piece.len();
        assert!(sent < MOST_ON_THE_WAY, "{sent} bytes were taken, and nobody read");
    }
    // Everything that was taken arrives once somebody listens, and the rest can be said.
    let mut buffer = vec![0; 64 * 1024];
    let mut heard = 0;
    while heard < sent {
        let n = within(inside.read(&mut buffer)).await.unwrap();
        assert!(n > 0 && buffer[..n].iter().all(|b| *b == 7));
        heard += n;
    }
    drop(say);
    served.end_without_waiting();
    db.end().await;
}

/// Nothing flows in either direction, so only asking can tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_vanished_is_found_out_although_the_instance_does_not_listen() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { stalled: Duration::from_millis(200), ..generous() }).await;
    let mut socket = open(&site, &served).await;
    let mut inside = within(site.reach.end()).await;
    // Two pieces fill what is between the server and the instance, and a third waits there.
    for _ in 0..3 {
        socket.send(Message::Binary(vec![7; 64 * 1024].into())).await.unwrap();
    }
    served.until_open(Open::Streams, 1).await;
    drop(socket);
    served.until_open(Open::Streams, 0).await;
    let mut rest = Vec::new();
    within(inside.read_to_end(&mut rest)).await.unwrap();
    assert!(!rest.is_empty());
    served.end().await;
    db.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_in_which_nobody_speaks_stays_open() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, Limits { stalled: Duration::from_millis(50), ..generous() }).await;
    let mut socket = open(&site, &served).await;
    let mut inside = within(site.reach.end()).await;
    let mut asked = 0;
    while asked < 10 {
        let message = within(socket.next()).await.unwrap().unwrap();
        assert!(message.is_ping(), "{message:?}");
        asked += 1;
    }
    inside.write_all(b"word").await.unwrap();
    let said = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Message::Binary(said) = socket.next().await.unwrap().unwrap() {
                return said;
            }
        }
    });
    assert_eq!(said.await.unwrap(), b"word".as_slice());
    drop(inside);
    within(async { while socket.next().await.is_some_and(|m| m.is_ok()) {} }).await;
    drop(socket);
    served.until_open(Open::Streams, 0).await;
    served.end().await;
    db.end().await;
}
