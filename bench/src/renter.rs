//! Somebody who rents one card after the other, also while servers or their
//! database are away, and who knows afterwards what was confirmed to him.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use api::event::EventQuery;
use api::instance::{InstanceQuery, RentRequest, RulesRequest};
use base::{Cause, Error, InstanceId, Result};
use client::{Client, EventStream, Key};
use domain::instance::{Desired, State};
use futures_util::future::try_join_all;

/// How long he tries to get one wish through, and waits for one state.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long he waits before he tries again.
const AGAIN: Duration = Duration::from_millis(20);

/// How often he looks whether everything is gone.
const GONE: Duration = Duration::from_millis(100);

/// The renter.
pub struct Renter {
    /// Servers of one site, the one that he prefers first.
    clients: Vec<Client>,
    name: String,
    gpu: String,
    /// Where he hears of his instances, if he waits for them.
    events: Option<EventStream>,
    made: Vec<Made>,
}

/// A rent that was confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The name that only this rent has.
    pub name: String,
    /// What the server calls it.
    pub id: InstanceId,
    /// When it was confirmed.
    pub at: Instant,
}

impl Renter {
    /// Somebody who asks `clients` in turn until one of them answers, and releases each
    /// instance as soon as it is confirmed. His account must be new: he counts all that
    /// is in it.
    pub fn hasty(name: String, gpu: &str, clients: Vec<Client>) -> Self {
        Self { clients, name, gpu: gpu.to_owned(), events: None, made: Vec::new() }
    }

    /// The same, but he waits until each instance runs and, released, is gone: he has
    /// one at most. He hears of that from the last of `clients`.
    ///
    /// # Errors
    /// The server's.
    pub async fn patient(name: String, gpu: &str, clients: Vec<Client>) -> Result<Self> {
        let follow = clients.last().ok_or_else(|| Error::internal("a renter without a server"))?;
        // From the beginning: without a position, what happens while the stream breaks would be lost.
        let events = follow.events(&EventQuery { after: Some(0), subject: None }).await?;
        Ok(Self { events: Some(events), ..Self::hasty(name, gpu, clients) })
    }

    /// What was confirmed to him.
    pub fn made(&self) -> &[Made] {
        &self.made
    }

    /// Rents and releases until `over`. Returns only when his last release is confirmed.
    ///
    /// # Errors
    /// A refusal other than that the server is away, an instance that fails, or one wish that takes too long.
    pub async fn go_on(&mut self, over: &AtomicBool) -> Result<()> {
        while !over.load(Ordering::Relaxed) {
            self.once().await?;
        }
        Ok(())
    }

    async fn once(&mut self) -> Result<()> {
        let name = format!("{}-{}", self.name, self.made.len());
        let request = RentRequest {
            gpu: self.gpu.clone(),
            name: Some(name.clone()),
            // Less than the price includes: a small machine has to have it free.
            disk_gib: Some(1),
            rules: RulesRequest { idle: Some("off".into()), ..RulesRequest::default() },
            ..RentRequest::default()
        };
        let key = Key::fresh();
        let id = ask(&self.clients, async |client| Ok(client.rent(&request, &key).await?.id)).await?;
        self.made.push(Made { name, id: id.clone(), at: Instant::now() });
        self.reach(&id, State::Running).await?;
        ask(&self.clients, async |client| release(client, &id).await).await?;
        self.reach(&id, State::Released).await
    }

    async fn reach(&mut self, id: &InstanceId, wanted: State) -> Result<()> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let seen = async {
            loop {
                let event = events.next().await?;
                let to = event.data.get("to").filter(|_| event.subject == id.as_str() && event.kind == "state-changed");
                let Some(to) = to else { continue };
                let now: State = serde_json::from_value(to.clone()).map_err(Error::internal)?;
                if now == wanted {
                    return Ok(());
                }
                if now.is_at_rest() && wanted == State::Running {
                    return Err(Error::new(
                        Cause::Unavailable,
                        format!("{id} came to rest as {now}: {}", event.message),
                    ));
                }
            }
        };
        let late = |_| Error::new(Cause::Unavailable, format!("{id} was not {wanted} within {PATIENCE:?}"));
        tokio::time::timeout(PATIENCE, seen).await.map_err(late)?
    }

    /// Gives back whatever he has, and waits until it is gone.
    ///
    /// # Errors
    /// The server's, or that it takes too long.
    pub async fn leave(&self) -> Result<()> {
        let began = Instant::now();
        let query = InstanceQuery::default();
        loop {
            let left = ask(&self.clients, async |client| client.all_instances(&query).await).await?;
            let Some(first) = left.first() else { return Ok(()) };
            if began.elapsed() > PATIENCE {
                let what = format!("{} and {} others were not released within {PATIENCE:?}", first.id, left.len() - 1);
                return Err(Error::new(Cause::Unavailable, what));
            }
            for one in left.iter().filter(|view| view.desired != Desired::Released) {
                ask(&self.clients, async |client| release(client, &one.id).await).await?;
            }
            tokio::time::sleep(GONE).await;
        }
    }

    /// Makes sure that everything that was confirmed exists once, and nothing else.
    ///
    /// # Errors
    /// It does not; the server's.
    pub async fn check(&self) -> Result<()> {
        let query = InstanceQuery { all: Some(true), ..InstanceQuery::default() };
        let all = ask(&self.clients, async |client| client.all_instances(&query).await).await?;
        compare(&self.made, &all.into_iter().map(|view| (view.name, view.id)).collect::<Vec<_>>())
    }
}

/// Releases it, unless an earlier try that was not answered has done so.
async fn release(client: &Client, id: &InstanceId) -> Result<()> {
    match client.release(id.as_str()).await {
        Err(error) if error.cause() == Cause::WrongState => {
            let view = client.instance(id.as_str()).await?;
            if view.state == State::Released { Ok(()) } else { Err(error) }
        }
        done => done.map(drop),
    }
}

/// Asks one server after the other until one answers.
async fn ask<T>(clients: &[Client], what: impl AsyncFn(&Client) -> Result<T>) -> Result<T> {
    let began = Instant::now();
    for client in clients.iter().cycle() {
        match what(client).await {
            Err(error) if error.cause() == Cause::Unavailable && began.elapsed() < PATIENCE => {
                tokio::time::sleep(AGAIN).await;
            }
            done => return done,
        }
    }
    Err(Error::internal("a renter without a server"))
}

fn compare(made: &[Made], found: &[(String, InstanceId)]) -> Result<()> {
    let mut left: BTreeMap<&str, Vec<&InstanceId>> = BTreeMap::new();
    for (name, id) in found {
        left.entry(name).or_default().push(id);
    }
    for one in made {
        let ids = left.remove(one.name.as_str()).unwrap_or_default();
        if ids != [&one.id] {
            let what = format!("{} was confirmed as {}; the server has {ids:?} of this name", one.name, one.id);
            return Err(Error::internal(what));
        }
    }
    match left.keys().next() {
        None => Ok(()),
        Some(name) => Err(Error::internal(format!("{name} exists, but was never confirmed"))),
    }
}

/// Has all of them rent, each for himself, until `over`.
///
/// # Errors
/// The first that one of them meets.
pub async fn all_go_on(renters: &mut [Renter], over: &AtomicBool) -> Result<()> {
    try_join_all(renters.iter_mut().map(|renter| renter.go_on(over))).await.map(drop)
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::*;

    fn id(n: u128) -> InstanceId {
        InstanceId::new(Timestamp::from_micros(1_700_000_000_000_000), n)
    }

    fn made(name: &str, n: u128) -> Made {
        Made { name: name.into(), id: id(n), at: Instant::now() }
    }

    #[test]
    fn what_was_confirmed_exists_once_and_nothing_else_does() {
        let confirmed = [made("a-0", 1), made("a-1", 2)];
        let one = ("a-0".to_owned(), id(1));
        let two = ("a-1".to_owned(), id(2));
        assert!(compare(&confirmed, &[two.clone(), one.clone()]).is_ok());
        let wrong = [
            vec![one.clone()],
            vec![one.clone(), two.clone(), ("a-1".to_owned(), id(3))],
            vec![one.clone(), ("a-1".to_owned(), id(3))],
            vec![one, two, ("a-2".to_owned(), id(3))],
        ];
        for found in wrong {
            assert!(compare(&confirmed, &found).is_err(), "{found:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_passed_over_and_a_refusal_is_final() {
        let clients = ["http://127.0.0.1:1", "http://127.0.0.1:2"].map(|url| Client::new(url, None).unwrap());
        let away = || Error::new(Cause::Unavailable, "away");
        let answered =
            ask(&clients, async |client| if client.url().ends_with(":1") { Err(away()) } else { Ok(7) }).await;
        assert_eq!(answered.unwrap(), 7);
        let refused: Result<()> = ask(&clients, async |_| Err(Error::new(Cause::NoCapacity, "none"))).await;
        assert_eq!(refused.unwrap_err().cause(), Cause::NoCapacity);
    }
}
