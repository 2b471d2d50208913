//! A live view of instances and their cards.

mod screen;
mod words;

use std::time::Duration;

use api::instance::{InstanceQuery, InstanceView, UsageView};
use base::{Cause, Error, Result, Span};
use clap::Args;
use client::Client;
use domain::instance::State;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::Outcome;
use crate::output::{Output, json_line, print};
use crate::{login_file, terminal};
use screen::Screen;

/// Show what instances and their cards do, live
///
/// q or Ctrl-C ends. Without an ID: all of your running instances.
#[derive(Debug, Args)]
pub struct Top {
    /// Id, slug or name of the instance [default: all of yours that run]
    id: Option<String>,
    /// Show it once and end
    #[arg(long)]
    once: bool,
    /// How often to look again
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Span,
}

/// One look, as JSON shows it.
#[derive(Serialize)]
struct Look {
    instances: Vec<Seen>,
}

/// One instance at one moment.
#[derive(Serialize)]
pub struct Seen {
    #[serde(flatten)]
    instance: InstanceView,
    /// Absent where it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_error: Option<String>,
}

impl Top {
    pub async fn run(self, out: &Output) -> Outcome {
        let pause = pause_of(self.interval)?;
        let client = login_file::client()?;
        let first = look(&client, self.id.as_deref()).await?;
        if self.once {
            show(&first, out, false);
            return Ok(0);
        }
        let live = !out.json && terminal::is_interactive();
        let mut screen = live.then(Screen::open).transpose()?;
        let failed = |e: std::io::Error| Error::new(Cause::Internal, "signals cannot be received").context(e);
        let mut interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut ends = signal(SignalKind::terminate()).map_err(failed)?;
        let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
        let mut now = first;
        loop {
            match &screen {
                Some(screen) => screen.draw(&words::words(&now.instances, out, terminal::size().cols)),
                None => show(&now, out, true),
            }
            let quit = async {
                match &mut screen {
                    Some(screen) => screen.quit().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => now = look(&client, self.id.as_deref()).await?,
                _ = resized.recv() => {}
                () = quit => return Ok(0),
                _ = interrupts.recv() => return Ok(if live { 0 } else { 130 }),
                _ = ends.recv() => return Ok(143),
            }
        }
    }
}

fn pause_of(interval: Span) -> Result<Duration> {
    if interval < Span::from_millis(100) {
        return Err(Error::new(Cause::InvalidRequest, "the interval is shorter than 100ms").hint("use --interval 1s"));
    }
    Ok(Duration::from_micros(interval.micros().unsigned_abs()))
}

async fn look(client: &Client, reference: Option<&str>) -> Result<Look> {
    let Some(reference) = reference else {
        let all = client.all_instances(&InstanceQuery::default()).await?;
        let running = all.into_iter().filter(|view| view.state == State::Running);
        let seen = running.map(|instance| async {
            match client.usage(instance.id.as_str()).await {
                Ok(usage) => Seen { instance, usage: Some(usage), usage_error: None },
                Err(error) => Seen { instance, usage: None, usage_error: Some(error.message().to_owned()) },
            }
        });
        return Ok(Look { instances: futures_util::future::join_all(seen).await });
    };
    let instance = client.instance(reference).await?;
    let usage = client.usage(instance.id.as_str()).await?;
    Ok(Look { instances: vec![Seen { instance, usage: Some(usage), usage_error: None }] })
}

fn show(look: &Look, out: &Output, repeated: bool) {
    if out.json {
        json_line(look);
    } else {
        let columns = if terminal::is_interactive() { terminal::size().cols } else { 120 };
        let text = words::words(&look.instances, out, columns);
        print(&if repeated { format!("{text}\n") } else { text });
    }
}
