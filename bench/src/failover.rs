//! How long the work stands still when one of two servers is killed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::{Cause, Error, NodeId, Result, Span, Timestamp};
use control::{Clock, SystemClock};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use store::Store;
use store::lease::LEASE;

use crate::claims::{Claims, known_as};
use crate::database::Fresh;
use crate::figure::Figure;
use crate::load::{Connection, Target};
use crate::renter::{Renter, all_go_on};
use crate::rows::{self, Owner};
use crate::sample::Sample;
use crate::server::{self, Person, Server};
use crate::within::limited;

/// Kills that found something in the hands of the server; others do not count for `held`.
const ROUNDS: usize = 15;
/// Kills at most.
const MOST: usize = 40;

/// Milliseconds that a server lives after it is ready.
const LIFE: std::ops::Range<u64> = 300..2_500;

/// How often it is looked whether work goes on.
const LOOK: Duration = Duration::from_millis(2);

/// How long a survivor may take for everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the whole case may take.
const ALL: Duration = Duration::from_secs(600);

/// Renters at each of the two servers: together they have a card each.
const RENTERS: usize = 4;

/// What they rent; the simulated machine has another model.
const GPU: &str = "RTX 4090";

/// Accounts with segments that end, and how often one does.
const ACCOUNTS: usize = 8;
const TRICKLE: Duration = Duration::from_millis(25);

/// Environment variable with the seed of another run, to kill at the same moments.
const SEED: &str = "SUANLI_BENCH_SEED";

/// Two servers on PostgreSQL.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    let database = Fresh::postgres().await?;
    let url = database.url();
    let done =
        server::during_two(&known_as(&url, "bench"), async |first, second| with(first, second, &url).await).await;
    database.remove().await?;
    done
}

async fn with(first: &mut Server, second: &Server, url: &str) -> Result<Vec<Figure>> {
    let operator = first.operator().await?;
    let mut people = Vec::new();
    for n in 0..2 * RENTERS {
        people.push(first.renter(&operator, &format!("renter-{n}")).await?);
    }
    let mut renters = Vec::new();
    for (n, person) in people.iter().enumerate() {
        let (one, other) = (person.client.clone(), second.client(person)?);
        let clients = if n % 2 == 0 { vec![one, other] } else { vec![other] };
        renters.push(Renter::patient(format!("r{n}"), GPU, clients).await?);
    }
    let payer = first.renter(&operator, "payer").await?;
    let measured = limited(ALL, measure(first, second, url, &payer, &mut renters)).await;
    // Instances outlive their server, so none may be left, whatever happened.
    for renter in &renters {
        renter.leave().await?;
    }
    let measured = measured?;
    for renter in &renters {
        renter.check().await?;
    }
    server::audited(&second.client(&operator)?).await?;
    Ok(tell(measured, renters.iter().map(|renter| renter.made().len()).sum()))
}

/// What the kills showed.
struct Measured {
    seed: u64,
    next: Vec<Duration>,
    /// How long one look for steps took.
    looks: Vec<Duration>,
    held: Vec<Duration>,
    claims: i64,
}

async fn measure(
    first: &mut Server,
    second: &Server,
    url: &str,
    payer: &Person,
    renters: &mut [Renter],
) -> Result<Measured> {
    let clock = SystemClock::start();
    let store = store::open(url).await?;
    let pool = ending(&store, payer, clock.now()).await?;
    let mut claims = Claims::watch(url).await?;
    let over = AtomicBool::new(false);
    let kills = async {
        let done = kill_often(first, second, url, &mut claims).await;
        over.store(true, Ordering::Relaxed);
        done
    };
    let segments = trickle(&store, &pool, clock.now(), &over);
    let ((), (), measured) = tokio::try_join!(all_go_on(renters, &over), segments, kills)?;
    claims.close().await?;
    Ok(measured)
}

async fn kill_often(first: &mut Server, second: &Server, url: &str, claims: &mut Claims) -> Result<Measured> {
    let seed = match std::env::var(SEED) {
        Ok(text) => text.parse().map_err(|_| Error::new(Cause::InvalidRequest, format!("{SEED} is not a number")))?,
        Err(_) => rand::random::<u32>().into(),
    };
    eprintln!("    seed {seed}; the same kills again: {SEED}={seed}");
    let mut moments = StdRng::seed_from_u64(seed);
    let agent = first.agent()?;
    first.kill()?;
    let mut steps = Steps::of(second).await?;
    let mut measured = Measured { seed, next: Vec::new(), looks: Vec::new(), held: Vec::new(), claims: 0 };
    while measured.held.len() < ROUNDS {
        if measured.next.len() == MOST {
            return Err(Error::internal(format!("{MOST} kills, and only {} found work", measured.held.len())));
        }
        // Each life under a name of its own: what an earlier one left must be gone anyway.
        let who = format!("life{}", measured.next.len());
        first.start_again(&known_as(url, &who)).await?;
        tokio::time::sleep(Duration::from_millis(moments.random_range(LIFE))).await;
        let at = first.kill()?;
        let ((next, look), (held, count)) = tokio::try_join!(steps.next(at), let_go(claims, &who, at))?;
        eprintln!(
            "    kill {}: next step after {:.1} ms, {count} held for {:.1} ms",
            measured.next.len() + 1,
            next.as_secs_f64() * 1e3,
            held.as_secs_f64() * 1e3
        );
        measured.next.push(next);
        measured.looks.push(look);
        if count > 0 {
            measured.held.push(held);
            measured.claims += count;
        }
        if !Path::new(&format!("/proc/{agent}")).exists() {
            return Err(Error::internal("the agent did not outlive its server"));
        }
    }
    Ok(measured)
}

/// Waits until nothing is in the hands of the dead any more. Returns when that was,
/// and how much it had been.
async fn let_go(claims: &mut Claims, who: &str, since: Instant) -> Result<(Duration, i64)> {
    let mut most = 0;
    loop {
        let left = claims.of(who).await?;
        let took = since.elapsed();
        most = most.max(left);
        if left == 0 {
            return Ok((took, most));
        }
        if took > PATIENCE {
            return Err(Error::new(Cause::Unavailable, format!("{left} objects were still held after {took:?}")));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Steps that one server counts.
struct Steps {
    metrics: Connection,
}

impl Steps {
    async fn of(server: &Server) -> Result<Self> {
        let target = Target { address: server.address(), path: "/metrics", token: None };
        Ok(Self { metrics: Connection::open(&target).await? })
    }

    async fn count(&mut self) -> Result<u64> {
        let text = self.metrics.read().await?;
        Ok(steps(&String::from_utf8_lossy(&text)))
    }

    /// How long after `since` one more step was seen than at the first look, and how
    /// long that look took.
    async fn next(&mut self, since: Instant) -> Result<(Duration, Duration)> {
        let began = Instant::now();
        let before = self.count().await?;
        let look = began.elapsed();
        loop {
            if self.count().await? > before {
                return Ok((since.elapsed(), look));
            }
            if since.elapsed() > PATIENCE {
                return Err(Error::new(Cause::Unavailable, format!("no step was done within {PATIENCE:?}")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The sum of all kinds and states in the text of the metrics.
fn steps(metrics: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with("suanli_controller_steps_total{"));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

type Resting = (Owner, base::InstanceId, NodeId);

/// Instances at rest, each of an account of its own, whose closed segments can be put into the store.
async fn ending(store: &Store, payer: &Person, now: Timestamp) -> Result<Vec<Resting>> {
    let node = rows::machines(store, 1, now).await?.remove(0);
    let owner = rows::owner_of(&payer.client).await?;
    let mut pool = Vec::with_capacity(ACCOUNTS);
    for n in 0..ACCOUNTS {
        let owner = rows::another(store, &owner, n, now).await?;
        let id = rows::resting(store, &owner, now).await?;
        pool.push((owner, id, node.clone()));
    }
    Ok(pool)
}

/// Closes one more segment at a time, each before the earlier ones of its instance.
async fn trickle(store: &Store, pool: &[Resting], now: Timestamp, over: &AtomicBool) -> Result<()> {
    let mut tick = tokio::time::interval(TRICKLE);
    let mut before = now;
    while !over.load(Ordering::Relaxed) {
        for one in pool {
            tick.tick().await;
            rows::closed(store, std::slice::from_ref(one), 1, before).await?;
        }
        before = before.before(Span::from_secs(60));
    }
    Ok(())
}

fn tell(measured: Measured, rents: usize) -> Vec<Figure> {
    let Measured { seed, next, looks, held, claims } = measured;
    let kills = next.len();
    let note = format!(
        "two servers on PostgreSQL, one killed {kills} times at random (seed {seed}) while {} renters took and gave back \
         cards ({rents} rents) and a segment ended every {} ms",
        2 * RENTERS,
        TRICKLE.as_millis()
    );
    let (next, looks, held) = (Sample::new(next), Sample::new(looks), Sample::new(held));
    let next_at = |percent| {
        let figure = Figure::new(format!("failover.next_step.p{percent}"), next.at(percent), "ms", next.len());
        figure.beside("one look", looks.at(percent))
    };
    let held_at = |percent| Figure::new(format!("failover.held.p{percent}"), held.at(percent), "ms", held.len());
    vec![
        next_at(50).note(format!("from the kill to the next step that the other server shows at /metrics, two looks at least; {note}")),
        next_at(95),
        held_at(50).note(format!(
            "from the kill until somebody else, or a newer wish, had taken over all that the dead one had claimed, {claims} \
             objects in the {} kills that found any; a claim lasts {} s (store::lease::LEASE) and is looked for every 0.5 s",
            held.len(),
            LEASE.secs()
        )),
        held_at(95),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_all_kinds_are_added_up() {
        let text = "# TYPE suanli_controller_steps counter\n\
                    suanli_controller_steps_total{kind=\"accounts\",state=\"guard\"} 40\n\
                    suanli_controller_step_microseconds_total{kind=\"accounts\",state=\"guard\"} 900\n\
                    suanli_controller_steps_total{kind=\"instances\",state=\"running\"} 2\n# EOF\n";
        assert_eq!(steps(text), 42);
    }
}
