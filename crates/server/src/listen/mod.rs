//! The server on its sockets: who may connect, for how long a connection may say
//! nothing, take nothing or rest, and how it ends in order.
//!
//! Only HTTP/1.1 (and the WebSockets that grow out of it) is spoken: it has
//! nothing with which one connection can ask for a hundred things at once.

mod slots;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use base::{Error, Result};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::limits::{Limits, Peer};
use crate::observed::{Limit, Observed, Open};
use slots::Slots;
use socket::Socket;

/// Files that the process needs besides its connections: databases, agents, logs.
const OTHER_FILES: u64 = 512;

/// Largest head of a request, and most that is read ahead of one, bytes.
const BUFFER: usize = 64 * 1024;

/// Connections beyond the limit that are told so at the same time; further ones are just closed.
const TOLD_AT_ONCE: usize = 64;

/// How long telling somebody so may take.
const TELLING: Duration = Duration::from_secs(1);

/// Lets the process open as many files as the system allows, and returns how many
/// connections that leaves room for.
///
/// # Errors
/// The system does not allow to raise the limit up to its own bound.
pub fn raise_open_files() -> Result<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised)
            .map_err(|e| Error::internal(e).context("raising the limit of open files"))?;
    }
    let files = limit.maximum.unwrap_or(u64::MAX);
    Ok(usize::try_from(files.saturating_sub(OTHER_FILES).max(files / 2)).unwrap_or(usize::MAX))
}

/// Answers on `listener` until `ending` says `true`, then until the last request
/// is answered. Event streams and WebSockets never end by themselves: whoever
/// calls this gives it a time and drops it.
///
/// # Errors
/// None at present: trouble with one connection ends that one.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    observed: Arc<Observed>,
    mut ending: watch::Receiver<bool>,
) -> Result<()> {
    let slots = Slots::new(limits.connections, limits.connections_per_address);
    let telling = Arc::new(Semaphore::new(TOLD_AT_ONCE));
    let mut connections = JoinSet::new();
    let ended = ending.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            () = async { drop(ending.wait_for(|e| *e).await) } => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        match slots.take(address.ip()) {
            Ok(slot) => {
                let socket = Socket::new(stream, limits.stalled, slot, observed.opened(Open::Connections));
                connections.spawn(carry(socket, address, router.clone(), limits.head, ended.clone()));
            }
            Err(limit) => {
                observed.limited(limit);
                // Nobody is told when many have to be: the connection is closed at once.
                if let Ok(permit) = telling.clone().try_acquire_owned() {
                    tokio::spawn(async move {
                        let _ = tokio::time::timeout(TELLING, tell(stream, limit)).await;
                        drop(permit);
                    });
                }
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// A connection that failed before it was accepted concerns its peer alone; being
/// out of files or memory does not pass by asking again at once.
async fn wait_after(error: &std::io::Error) {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "no connection can be accepted; trying again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn carry(socket: Socket, address: SocketAddr, router: Router, head: Duration, mut ending: watch::Receiver<bool>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(address.ip()));
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    tokio::pin!(connection);
    let done = tokio::select! {
        done = connection.as_mut() => Some(done),
        () = async { drop(ending.wait_for(|e| *e).await) } => None,
    };
    let done = match done {
        Some(done) => done,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = done {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Answers without having read anything.
async fn tell(mut stream: TcpStream, limit: Limit) {
    let (status, code, detail) = match limit {
        Limit::ConnectionsOfAddress => {
            ("429 Too Many Requests", "rate-limited", "too many connections are open from this address")
        }
        _ => ("503 Service Unavailable", "unavailable", "the server has as many connections as it takes"),
    };
    let number = status.split(' ').next().unwrap_or_default();
    let title = code.replace('-', " ");
    let body = format!(
        "{{\"type\":\"urn:suanli:{code}\",\"title\":\"{title}\",\"status\":{number},\"detail\":\"{detail}\",\
         \"code\":\"{code}\",\"hint\":\"close connections that are not needed, and try again in a moment\"}}"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\ncontent-length: {}\r\nretry-after: 5\r\nconnection: close\r\n\r\n{body}",
        api::problem::MEDIA_TYPE,
        body.len(),
    );
    if stream.write_all(answer.as_bytes()).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    // Closing while the request is still arriving would take the answer away from its reader.
    let mut thrown_away = [0; 4096];
    while stream.read(&mut thrown_away).await.is_ok_and(|n| n > 0) {}
}
