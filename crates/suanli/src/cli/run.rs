//! A job: rent, run, release.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use api::bill::AccountQuery;
use api::instance::InstanceView;
use base::{Cause, Error, Result};
use clap::Args;
use client::{Client, Key};
use domain::instance::State;
use link::Open;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::rent::Wish;
use super::watch::{Goal, Watch};
use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{error, money, note};
use crate::session::{Tie, tie};

/// Rent an instance, run a command in it, release it
///
/// Ends with the command's exit status. The instance is released on failure and
/// on Ctrl-C too.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    wish: Wish,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Run {
    pub async fn run(self) -> Outcome {
        let client = login_file::client()?;
        // Before the request: from then on nothing may leave the instance behind.
        let mut stops = Stops::listen()?;
        let asked = client.rent(&self.wish.request(), &Key::fresh()).await?;
        let done = tokio::select! {
            done = work(&client, &asked, self.command) => done,
            number = stops.next() => Ok(128 + number),
        };
        if let Err(failure) = &done {
            error(&failure.error, false);
        }
        note(&format!("releasing {}", asked.id));
        let released = tokio::select! {
            released = release(&client, &asked) => released,
            number = stops.next() => {
                note(&format!("left while {} was being released; `suanli show {}` tells how it went", asked.slug, asked.id));
                return Ok(128 + number);
            }
        };
        let view = released?;
        tell_cost(&client, &view).await;
        done.map_err(|failure| Failure { shown: true, ..failure })
    }
}

async fn work(client: &Client, asked: &InstanceView, command: Vec<String>) -> Outcome {
    let view = Watch::new(client, asked).until(Goal::Running).await?;
    if view.devices.iter().any(|device| device.fake) {
        note("its cards are fake");
    }
    let open = Open::Exec { argv: command, env: BTreeMap::new(), cwd: None, terminal: None };
    let stream = client.stream(view.id.as_str(), open).await?;
    let input = !std::io::stdin().is_terminal();
    Ok(tie(stream, Tie { terminal: false, input, signals: false }).await?)
}

async fn release(client: &Client, asked: &InstanceView) -> Result<InstanceView> {
    let still = |error: Error| {
        let message = format!("{} may still be rented and may still cost money: {}", asked.id, error.message());
        Error::new(Cause::Unavailable, message).hint(format!("release it with `suanli release {}`", asked.id))
    };
    let view = match client.release(asked.id.as_str()).await {
        Ok(view) => view,
        Err(refused) => match client.instance(asked.id.as_str()).await {
            Ok(view) if matches!(view.state, State::Releasing | State::Released) => view,
            _ => return Err(still(refused)),
        },
    };
    Watch::new(client, &view).until(Goal::Released).await.map_err(|failure| still(failure.error))
}

async fn tell_cost(client: &Client, view: &InstanceView) {
    let query = AccountQuery { account: Some(view.account.to_string()) };
    let balance = client.balance(&query).await.ok();
    let currency = balance.as_ref().map_or("", |balance| balance.currency.as_str());
    note(&format!("cost: {}", money(view.cost_so_far, currency)));
}

/// The signals that end a job early.
struct Stops(Vec<(u8, Signal)>);

impl Stops {
    fn listen() -> Result<Self> {
        let failed = |e: std::io::Error| Error::new(Cause::Internal, "signals cannot be received").context(e);
        let mut all = Vec::new();
        for (number, kind) in [(1, SignalKind::hangup()), (2, SignalKind::interrupt()), (15, SignalKind::terminate())] {
            all.push((number, signal(kind).map_err(failed)?));
        }
        Ok(Self(all))
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        let waits: Vec<_> = self
            .0
            .iter_mut()
            .map(|(number, signal)| {
                let number = *number;
                Box::pin(async move {
                    match signal.recv().await {
                        Some(()) => number,
                        None => std::future::pending().await,
                    }
                })
            })
            .collect();
        futures_util::future::select_all(waits).await.0
    }
}
