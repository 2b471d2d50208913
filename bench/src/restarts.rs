//! Confirmed rents while PostgreSQL is restarted again and again, beside the same
//! without.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::Result;
use control::{Clock, SystemClock};

use crate::cluster::{self, Cluster};
use crate::figure::Figure;
use crate::renter::{Renter, all_go_on};
use crate::rows;
use crate::server::{self, Person, Server};
use crate::within::limited;

/// How long rents are counted, with and without restarts.
const WINDOW: Duration = Duration::from_secs(40);

/// How often PostgreSQL is restarted, for the first time after half of it.
const EVERY: Duration = Duration::from_secs(10);

/// Renters, each with one wish after the other.
const RENTERS: usize = 8;

/// How long the whole case may take.
const ALL: Duration = Duration::from_secs(240);

/// On a cluster of its own.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    cluster::during(async |cluster| {
        let url = cluster.url();
        server::during(Some(&url), async |server| with(server, cluster, &url).await).await
    })
    .await
}

async fn with(server: &Server, cluster: &mut Cluster, url: &str) -> Result<Vec<Figure>> {
    let operator = server.operator().await?;
    rows::machines(&store::open(url).await?, 1, SystemClock::start().now()).await?;
    let mut renters = Vec::new();
    for n in 0..RENTERS {
        let Person { client, .. } = server.renter(&operator, &format!("renter-{n}")).await?;
        renters.push(Renter::hasty(format!("r{n}"), rows::first_model(), vec![client]));
    }
    let measured = limited(ALL, measure(&mut renters, cluster)).await;
    // Instances outlive their server, so none may be left, whatever happened.
    for renter in &renters {
        renter.leave().await?;
    }
    let measured = measured?;
    for renter in &renters {
        renter.check().await?;
    }
    server::audited(&operator.client).await?;
    Ok(vec![tell(&measured)])
}

struct Measured {
    /// Confirmed rents in a window.
    undisturbed: usize,
    disturbed: usize,
    /// How long PostgreSQL was away each time.
    away: Vec<Duration>,
}

async fn measure(renters: &mut [Renter], cluster: &mut Cluster) -> Result<Measured> {
    let (undisturbed, ()) = window(renters, async |()| Ok(())).await?;
    // What the first window left to do must not burden the second.
    for renter in &*renters {
        renter.leave().await?;
    }
    let (disturbed, away) = window(renters, async |()| restart(cluster).await).await?;
    Ok(Measured { undisturbed, disturbed, away })
}

/// Has all of them rent for one window while something else happens. Returns how
/// many rents were confirmed in it.
async fn window<T>(renters: &mut [Renter], beside: impl AsyncFnOnce(()) -> Result<T>) -> Result<(usize, T)> {
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let clock = async {
        tokio::time::sleep(WINDOW).await;
        over.store(true, Ordering::Relaxed);
        Ok(())
    };
    let ((), (), value) = tokio::try_join!(all_go_on(renters, &over), clock, beside(()))?;
    let within = |at: Instant| at >= began && at - began < WINDOW;
    let confirmed = renters.iter().flat_map(Renter::made).filter(|made| within(made.at)).count();
    Ok((confirmed, value))
}

async fn restart(cluster: &mut Cluster) -> Result<Vec<Duration>> {
    let first = tokio::time::Instant::now() + EVERY / 2;
    let mut tick = tokio::time::interval_at(first, EVERY);
    let mut away = Vec::new();
    for _ in 0..WINDOW.as_secs() / EVERY.as_secs() {
        tick.tick().await;
        let took = cluster.restart().await?;
        eprintln!("    restart {}: away for {:.0} ms", away.len() + 1, took.as_secs_f64() * 1e3);
        away.push(took);
    }
    Ok(away)
}

fn tell(measured: &Measured) -> Figure {
    let rate = |confirmed: usize| confirmed as f64 / WINDOW.as_secs_f64();
    let away = measured.away.iter().sum::<Duration>().as_secs_f64() * 1e3 / measured.away.len().max(1) as f64;
    Figure::new("restarts.creates", rate(measured.disturbed), "1/s", measured.away.len())
        .beside("undisturbed", rate(measured.undisturbed))
        .note(format!(
            "confirmed POST /v1/instances of {RENTERS} renters for a model that only a simulated machine has, each \
             released at once; {} s each, with PostgreSQL restarted fast every {} s, away for {away:.0} ms on average; afterwards each of {} \
             and {} confirmed rents existed exactly once and the books were right; fsync=off, on the same cores",
            WINDOW.as_secs(),
            EVERY.as_secs(),
            measured.undisturbed,
            measured.disturbed
        ))
}
