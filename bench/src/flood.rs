//! A flood of attempts to sign in, beside people who look at offers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base::{Error, Result};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::figure::Figure;
use crate::load::{Target, at_rate};
use crate::sample::Sample;
use crate::server::{self, Server};
use crate::within::within;

/// Requests for offers, a second.
const RATE: u32 = 200;

/// Quiet and flooded slices in turn.
const SLICE: Duration = Duration::from_secs(5);
const SLICES: usize = 3;

/// Who attack at the same time, each as soon as he has his answer.
const ATTACKERS: usize = 32;

/// Names that they try: a few users who exist or not, as a guesser would.
const NAMES: u32 = 8;

/// What the flood costs the others, and how many attempts are refused.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    server::during(None, async |server| within(measure(server)).await).await
}

async fn measure(server: &Server) -> Result<Vec<Figure>> {
    let operator = server.operator().await?;
    let renter = server.renter(&operator, "bench").await?;
    let offers = Target { address: server.address(), path: "/v1/offers", token: Some(renter.token) };
    let (mut quiet, mut flooded, mut refused) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..SLICES {
        quiet.push(at_rate(&offers, RATE, SLICE).await?);
        let (sample, in_slice) = during_flood(server.address(), at_rate(&offers, RATE, SLICE)).await?;
        flooded.push(sample);
        refused += in_slice;
    }
    let (quiet, flooded) = (Sample::together(quiet), Sample::together(flooded));
    let slices = f64::from(u32::try_from(SLICES).unwrap_or(u32::MAX));
    Ok(vec![
        Figure::new("flood.refused", refused / slices, "1/s", SLICES)
            .note(format!("attempts to sign in that were refused, {ATTACKERS} connections guessing at {NAMES} users")),
        Figure::new("flood.offers.p99", flooded.at(99), "ms", flooded.len()).beside("quiet", quiet.at(99)).note(
            format!("GET /v1/offers at {RATE}/s during the flood; attackers, others and the server share the cores"),
        ),
    ])
}

/// Does `work` while attackers guess; how many a second were refused.
async fn during_flood<T>(address: SocketAddr, work: impl Future<Output = Result<T>>) -> Result<(T, f64)> {
    static GO: AtomicBool = AtomicBool::new(true);
    static REFUSED: AtomicU32 = AtomicU32::new(0);
    GO.store(true, Ordering::Relaxed);
    REFUSED.store(0, Ordering::Relaxed);
    let began = Instant::now();
    let mut attackers = JoinSet::new();
    for n in 0..ATTACKERS {
        attackers.spawn(async move {
            while GO.load(Ordering::Relaxed) {
                // An attacker who is cut off comes again.
                let _ = attack(address, u32::try_from(n).unwrap_or(0) % NAMES, &GO, &REFUSED).await;
            }
        });
    }
    let done = work.await;
    GO.store(false, Ordering::Relaxed);
    let took = began.elapsed().as_secs_f64();
    let refused = f64::from(REFUSED.load(Ordering::Relaxed));
    attackers.shutdown().await;
    Ok((done?, refused / took))
}

async fn attack(address: SocketAddr, user: u32, go: &AtomicBool, refused: &AtomicU32) -> Result<()> {
    let stream = TcpStream::connect(address).await.map_err(Error::internal)?;
    let (mut sender, driver) = handshake(TokioIo::new(stream)).await.map_err(Error::internal)?;
    tokio::spawn(async move { drop(driver.await) });
    while go.load(Ordering::Relaxed) {
        let body = format!("{{\"user\":\"guessed-{user}\",\"password\":\"not the password\"}}");
        let request = Request::post("/v1/login").header("host", "bench").header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body))).map_err(Error::internal)?;
        sender.ready().await.map_err(Error::internal)?;
        let answer = sender.send_request(request).await.map_err(Error::internal)?;
        if [StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS].contains(&answer.status()) {
            refused.fetch_add(1, Ordering::Relaxed);
        }
        answer.into_body().collect().await.map_err(Error::internal)?;
    }
    Ok(())
}
