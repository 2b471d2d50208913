//! Many requests to one address, and how long each took.
//!
//! At a fixed rate the clock decides when a request is due, not the answers
//! before it, and its time runs from that moment: a server that stalls is
//! charged for every request that had to wait meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Cause, Error, Result};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::sample::Sample;

/// What is asked for, again and again.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server.
    pub address: SocketAddr,
    /// The path.
    pub path: &'static str,
    /// Who asks.
    pub token: Option<String>,
}

/// Connections that take due requests. While all of them wait for an answer, due
/// requests queue up before them and their time runs.
const CONNECTIONS: usize = 64;

/// One open connection to a target.
pub struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    target: Target,
}

impl Connection {
    /// Opens it.
    ///
    /// # Errors
    /// Nobody answers there.
    pub async fn open(target: &Target) -> Result<Self> {
        let stream = TcpStream::connect(target.address).await.map_err(Error::internal)?;
        stream.set_nodelay(true).map_err(Error::internal)?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(Error::internal)?;
        tokio::spawn(async move {
            // Its end shows at the sender's next request.
            drop(driver.await);
        });
        Ok(Self { sender, target: target.clone() })
    }

    async fn ask(&mut self) -> Result<()> {
        self.read().await.map(drop)
    }

    /// Asks once and reads the whole answer.
    ///
    /// # Errors
    /// The connection ended, or the answer is no success.
    pub async fn read(&mut self) -> Result<Bytes> {
        let mut request = Request::get(self.target.path).header("host", "bench");
        if let Some(token) = &self.target.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Empty::new()).map_err(Error::internal)?;
        self.sender.ready().await.map_err(Error::internal)?;
        let answer = self.sender.send_request(request).await.map_err(Error::internal)?;
        if answer.status() != StatusCode::OK {
            let what = format!("{} was answered with {}", self.target.path, answer.status());
            return Err(Error::new(Cause::Unavailable, what));
        }
        answer.into_body().collect().await.map(|body| body.to_bytes()).map_err(Error::internal)
    }
}

/// Asks `rate` times a second for `lasting`; each time runs from the moment when
/// the request was due until its answer was read.
///
/// # Errors
/// Any request that was not answered with success: then there is no figure.
pub async fn at_rate(target: &Target, rate: u32, lasting: Duration) -> Result<Sample> {
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(target).await?);
    }
    let (due, waiting) = mpsc::unbounded_channel::<Instant>();
    let waiting = Arc::new(Mutex::new(waiting));
    // A thread of its own: the runtime's timer counts whole milliseconds only.
    let pace = std::thread::spawn(move || pace(rate, lasting, &due));
    let mut asking = JoinSet::new();
    for mut connection in connections {
        let waiting = waiting.clone();
        asking.spawn(async move {
            let mut took = Vec::new();
            loop {
                let next = waiting.lock().await.recv().await;
                let Some(since) = next else {
                    return Ok::<_, Error>(took);
                };
                connection.ask().await?;
                took.push(since.elapsed());
            }
        });
    }
    let mut all = Vec::new();
    while let Some(done) = asking.join_next().await {
        all.extend(done.map_err(Error::internal)??);
    }
    pace.join().map_err(|_| Error::internal("the pacing thread ended early"))?;
    Ok(Sample::new(all))
}

fn pace(rate: u32, lasting: Duration, due: &mpsc::UnboundedSender<Instant>) {
    let began = Instant::now();
    let mut n = 0;
    loop {
        let after = Duration::from_secs(1) * n / rate;
        if after >= lasting {
            return;
        }
        let moment = began + after;
        std::thread::sleep(moment.saturating_duration_since(Instant::now()));
        if due.send(moment).is_err() {
            return;
        }
        n += 1;
    }
}

/// Asks over `connections` at the same time, each as soon as it has its answer,
/// for `lasting`. Returns answers a second.
///
/// # Errors
/// Any request that was not answered with success.
pub async fn as_fast_as_possible(target: &Target, connections: usize, lasting: Duration) -> Result<f64> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Connection::open(target).await?);
    }
    let began = Instant::now();
    let mut asking = JoinSet::new();
    for mut connection in opened {
        asking.spawn(async move {
            let mut answers = 0_u32;
            while began.elapsed() < lasting {
                connection.ask().await?;
                answers += 1;
            }
            Ok::<_, Error>(answers)
        });
    }
    let mut answers = 0;
    while let Some(done) = asking.join_next().await {
        answers += done.map_err(Error::internal)??;
    }
    Ok(f64::from(answers) / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A server of one connection after the other's requests: `answer` to each.
    async fn serve(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut seen = Vec::new();
                    while stream.read_buf(&mut seen).await.is_ok_and(|n| n > 0) {
                        while let Some(end) = seen.windows(4).position(|w| w == b"\r\n\r\n") {
                            seen.drain(..end + 4);
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                });
            }
        });
        address
    }

    fn target(address: SocketAddr) -> Target {
        Target { address, path: "/", token: Some("secret".into()) }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_due_request_is_asked_and_counted() {
        let address = serve("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        let sample = at_rate(&target(address), 200, Duration::from_millis(500)).await.unwrap();
        assert_eq!(sample.len(), 100);
        assert!(as_fast_as_possible(&target(address), 4, Duration::from_millis(100)).await.unwrap() > 0.0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_refusal_is_no_figure() {
        let address = serve("HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n").await;
        assert!(at_rate(&target(address), 100, Duration::from_millis(100)).await.is_err());
        assert!(as_fast_as_possible(&target(address), 2, Duration::from_millis(50)).await.is_err());
    }
}
