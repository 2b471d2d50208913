//! From a rent request until a shell in the instance has answered.

use std::process::Stdio;
use std::time::{Duration, Instant};

use api::event::EventQuery;
use api::instance::{InstanceQuery, InstanceView, RentRequest, RulesRequest};
use base::{Cause, Error, Result};
use client::{Client, Key, refused};
use domain::instance::State;
use link::{Control, Frame, Open};
use tokio::process::Command;

use crate::figure::Figure;
use crate::sample::Sample;
use crate::server::{self, Server};
use crate::within::within;

/// Rents that count, and those before them that only warm caches.
const RUNS: usize = 50;
const WARM_UP: usize = 3;

/// How long one rent may take, its release included.
const ONE: Duration = Duration::from_secs(20);

/// Rents on a server of its own.
///
/// # Errors
/// Anything that went wrong: then there is no figure.
pub async fn figures() -> Result<Vec<Figure>> {
    server::during(None, measure).await
}

async fn measure(server: &Server) -> Result<Vec<Figure>> {
    let operator = server.operator().await?;
    let renter = server.renter(&operator, "bench").await?;
    let measured = within(runs(&renter.client)).await;
    // Instances outlive their server, so none may be left, whatever happened.
    release_all(&renter.client).await?;
    measured
}

#[derive(Default)]
struct Took {
    accepted: Vec<Duration>,
    ready: Vec<Duration>,
    shell: Vec<Duration>,
    bwrap: Vec<Duration>,
}

async fn runs(client: &Client) -> Result<Vec<Figure>> {
    let mut took = Took::default();
    for run in 0..WARM_UP + RUNS {
        let late = || Error::new(Cause::Unavailable, format!("a rent and its release took longer than {ONE:?}"));
        // Each goes first every other time.
        if run % 2 == 0 {
            took.bwrap.push(bwrap().await?);
        }
        tokio::time::timeout(ONE, rent(client, &mut took)).await.map_err(|_| late())??;
        if run % 2 == 1 {
            took.bwrap.push(bwrap().await?);
        }
    }
    let sample = |mut all: Vec<Duration>| Sample::new(all.split_off(WARM_UP));
    let (accepted, ready) = (sample(took.accepted), sample(took.ready));
    let (shell, bwrap) = (sample(took.shell), sample(took.bwrap));
    let peer = "bwrap … true";
    let p50 = Figure::new("rent.p50", shell.at(50), "ms", RUNS).beside(peer, bwrap.at(50)).note(format!(
        "from sending POST /v1/instances until `true` through the stream has ended; of this p50 {:.1} ms until accepted, \
         {:.1} ms until shown as running; sandbox, fake cards, SQLite; peer: bwrap --unshare-all as the same user",
        accepted.at(50),
        ready.at(50)
    ));
    let p95 = Figure::new("rent.p95", shell.at(95), "ms", RUNS).beside(peer, bwrap.at(95));
    let above = Figure::new("rent.above_bwrap.p50", shell.at(50) - bwrap.at(50), "ms", RUNS)
        .note("rent.p50 less its peer; aim: at most 150");
    Ok(vec![p50, p95, above])
}

async fn rent(client: &Client, took: &mut Took) -> Result<()> {
    let request = RentRequest {
        gpu: "RTX 4090".into(),
        // Less than the price includes: a small machine has to have it free.
        disk_gib: Some(2),
        rules: RulesRequest { idle: Some("off".into()), ..RulesRequest::default() },
        ..RentRequest::default()
    };
    let began = Instant::now();
    let made = client.rent(&request, &Key::fresh()).await?;
    let accepted = began.elapsed();
    reach(client, &made, State::Running).await?;
    let ready = began.elapsed();
    shell(client, &made).await?;
    took.shell.push(began.elapsed());
    took.accepted.push(accepted);
    took.ready.push(ready);
    let going = client.release(made.id.as_str()).await?;
    reach(client, &going, State::Released).await
}

/// Waits by the instance's events, as `suanli rent --wait` does.
async fn reach(client: &Client, from: &InstanceView, wanted: State) -> Result<()> {
    let id = from.id.as_str();
    let mut events = client.events(&EventQuery { after: None, subject: Some(id.to_owned()) }).await?;
    loop {
        let view = client.instance(id).await?;
        if view.state == wanted {
            return Ok(());
        }
        if view.state.is_at_rest() && wanted == State::Running {
            let why = view.reason.map(|reason| reason.message).unwrap_or_default();
            return Err(Error::new(Cause::Unavailable, format!("the instance came to rest as {}: {why}", view.state)));
        }
        events.next().await?;
    }
}

async fn shell(client: &Client, instance: &InstanceView) -> Result<()> {
    let what = Open::Exec { argv: vec!["true".into()], env: Default::default(), cwd: None, terminal: None };
    let mut stream = client.stream(instance.id.as_str(), what).await?;
    loop {
        match stream.recv().await? {
            Some(Frame::Control(Control::Exit { code: 0 })) => return Ok(()),
            Some(Frame::Control(Control::Exit { code })) => {
                return Err(Error::internal(format!("`true` ended with {code}")));
            }
            Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
            Some(_) => {}
            None => return Err(Error::new(Cause::Unavailable, "the stream ended before the command")),
        }
    }
}

async fn release_all(client: &Client) -> Result<()> {
    for left in client.all_instances(&InstanceQuery::default()).await? {
        let going = match left.state {
            State::Releasing => left,
            _ => client.release(left.id.as_str()).await?,
        };
        let late = |_| Error::new(Cause::Unavailable, format!("{} was not released within {ONE:?}", going.id));
        tokio::time::timeout(ONE, reach(client, &going, State::Released)).await.map_err(late)??;
    }
    Ok(())
}

/// What isolation alone costs: the same tool, every namespace, nothing around it.
async fn bwrap() -> Result<Duration> {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status().await.map_err(|e| {
        Error::new(Cause::HostIncomplete, format!("bwrap cannot be started: {e}")).hint("scripts/setup.sh run")
    })?;
    if !status.success() {
        return Err(Error::new(Cause::HostIncomplete, format!("bwrap --unshare-all ended with {status}")));
    }
    Ok(began.elapsed())
}
