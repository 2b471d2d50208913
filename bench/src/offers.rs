//! Offers of a large fleet, asked for at a fixed rate while stock changes.

use std::time::Duration;

use base::{DeviceId, Error, InstanceId, Result};
use control::{Clock, SystemClock};
use futures_util::FutureExt;
use store::{Store, allocations};

use crate::database::{Engine, Fresh};
use crate::figure::Figure;
use crate::host;
use crate::load::{Target, as_fast_as_possible, at_rate};
use crate::rows;
use crate::sample::Sample;
use crate::server::{self, Server};
use crate::within::within;

/// Size of the fleet, machines.
const MACHINES: usize = 1250;

/// Requests a second.
const RATE: u32 = 500;

/// Seconds at that rate: slices of ours and of the peer in turn.
const SLICE: Duration = Duration::from_secs(5);
const SLICES: usize = 4;

/// Seconds as fast as possible, and over how many connections.
const FAST: Duration = Duration::from_secs(4);
const CONNECTIONS: usize = 32;

/// How often stock changes.
const CHANGE: Duration = Duration::from_millis(100);

/// Offers on both databases.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    let mut figures = with(Engine::Sqlite, None).await?;
    let database = Fresh::postgres().await?;
    let done = with(Engine::Postgres, Some(&database.url())).await;
    database.remove().await?;
    figures.extend(done?);
    Ok(figures)
}

async fn with(engine: Engine, url: Option<&str>) -> Result<Vec<Figure>> {
    server::during(url, async |server| within(measure(server, engine, url)).await).await
}

async fn measure(server: &Server, engine: Engine, url: Option<&str>) -> Result<Vec<Figure>> {
    let clock = SystemClock::start();
    let operator = server.operator().await?;
    let renter = server.renter(&operator, "bench").await?;
    let store = store::open(&url.map_or_else(|| server.sqlite(), str::to_owned)).await?;
    rows::machines(&store, MACHINES, clock.now()).await?;
    let owner = rows::owner_of(&renter.client).await?;
    let holder = rows::resting(&store, &owner, clock.now()).await?;
    let devices: Vec<_> = rows::free(&store).await?.into_iter().map(|free| free.device).collect();
    let offers = Target { address: server.address(), path: "/v1/offers", token: Some(renter.token) };
    let health = Target { path: "/healthz", token: None, ..offers.clone() };
    let measured = tokio::select! {
        done = in_turn(&offers, &health) => done?,
        failed = change(&store, &clock, &devices, &holder) => return Err(failed),
    };
    Ok(tell(engine, &measured))
}

struct Measured {
    offers: Sample,
    health: Sample,
    most_offers: f64,
    most_health: f64,
}

async fn in_turn(offers: &Target, health: &Target) -> Result<Measured> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SLICES {
        ours.push(at_rate(offers, RATE, SLICE).await?);
        theirs.push(at_rate(health, RATE, SLICE).await?);
    }
    let most_offers = as_fast_as_possible(offers, CONNECTIONS, FAST).await?;
    let most_health = as_fast_as_possible(health, CONNECTIONS, FAST).await?;
    Ok(Measured { offers: Sample::together(ours), health: Sample::together(theirs), most_offers, most_health })
}

/// Gives one card away and takes it back, another one each time, for ever.
async fn change(store: &Store, clock: &SystemClock, devices: &[DeviceId], holder: &InstanceId) -> Error {
    let mut tick = tokio::time::interval(CHANGE);
    for device in devices.iter().cycle() {
        tick.tick().await;
        let (device, holder, now) = (device.clone(), holder.clone(), clock.now());
        let done = store.write(move |tx| {
            let (device, holder) = (device.clone(), holder.clone());
            async move {
                allocations::give_back(tx, &holder, now).await?;
                allocations::take(tx, &device, &holder, 1, now).await
            }
            .boxed()
        });
        if let Err(error) = done.await {
            return error;
        }
    }
    Error::internal("the fleet has no card")
}

fn tell(engine: Engine, m: &Measured) -> Vec<Figure> {
    let kind = engine.as_str();
    let shared = if host::cores() > 2 { "" } else { ", which the load generator shares" };
    let note = format!(
        "{MACHINES} machines of {} cards, {RATE} requests/s by the clock for {} s, one allocation changed every {} ms; \
         server on 2 cores{shared}; {kind}: {}",
        rows::CARDS,
        SLICE.as_secs() * u64::try_from(SLICES).unwrap_or(0),
        CHANGE.as_millis(),
        engine.note()
    );
    let peer = "/healthz";
    let (offers, health) = (&m.offers, &m.health);
    let at = |percent| Figure::new(format!("offers.{kind}.p{percent}"), offers.at(percent), "ms", offers.len());
    vec![
        at(50).beside(peer, health.at(50)),
        at(99).beside(peer, health.at(99)).note(format!("{note}; aim: below 10 ms")),
        Figure::new(format!("offers.{kind}.most"), m.most_offers, "1/s", 1)
            .beside(peer, m.most_health)
            .note(format!("{CONNECTIONS} connections, each as soon as it has its answer, for {} s", FAST.as_secs())),
    ]
}
