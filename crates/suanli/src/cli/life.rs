//! Stopping, starting and releasing.

use api::instance::{InstanceView, StartRequest};
use base::{Cause, Error};
use clap::Args;

use super::watch::{Goal, Watch};
use super::{Failure, Outcome, rent};
use crate::output::{Output, clean};
use crate::{inside, login_file, terminal};

/// Stop an instance; its data stay, its cards are given back
#[derive(Debug, Args)]
pub struct Stop {
    /// Id, slug or name of the instance; inside of one it may be left out
    #[arg(required = inside::must_name())]
    id: Option<String>,
    /// Keep the cards while it is stopped (not offered yet)
    #[arg(long)]
    hold: bool,
    /// Wait until it is stopped
    #[arg(long)]
    wait: bool,
}

/// Start an instance that is stopped, lost or failed
///
/// Waits until cards are allocated, or with --wait until it can be used.
#[derive(Debug, Args)]
pub struct Start {
    /// Id, slug or name of the instance
    id: String,
    /// Another GPU model than before
    #[arg(long, value_name = "MODEL")]
    gpu: Option<String>,
    /// Another number of cards than before
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    count: Option<i64>,
    /// Wait until the instance can be used
    #[arg(long)]
    wait: bool,
}

/// Release an instance for good; its data are removed
#[derive(Debug, Args)]
pub struct Release {
    /// Id, slug or name of the instance
    id: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Wait until everything is removed
    #[arg(long)]
    wait: bool,
}

impl Stop {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        if self.hold {
            return Err(Error::new(Cause::NotOffered, "stopping with the cards kept is not offered yet")
                .hint("stop without --hold: the data stay, the cards go back to stock")
                .into());
        }
        let mut view = client.stop(&inside::named_or_own(self.id)?).await?;
        if self.wait {
            view = Watch::new(&client, &view).until(Goal::Stopped).await?;
        }
        told(&view, out, "its data stay");
        Ok(0)
    }
}

impl Start {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let request = StartRequest { gpu: self.gpu, count: self.count };
        let view = client.start(&self.id, &request).await?;
        let goal = if self.wait { Goal::Running } else { Goal::Allocated };
        let view = Watch::new(&client, &view).until(goal).await?;
        rent::finish(&view, out)
    }
}

impl Release {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let mut reference = self.id;
        if !self.yes && terminal::can_ask() {
            let view = client.instance(&reference).await?;
            let question = format!("All data in {} ({}) will be removed. Release it?", clean(&view.name), view.id);
            if !terminal::confirm(&question)? {
                let error =
                    Error::new(Cause::ByRenter, "nothing was released").hint("add --yes to release without a question");
                return Err(Failure::refused(error));
            }
            // What the user agreed to, even when the name means another one by now.
            reference = view.id.to_string();
        }
        let mut view = client.release(&reference).await?;
        if self.wait {
            view = Watch::new(&client, &view).until(Goal::Released).await?;
        }
        told(&view, out, "its data are removed");
        Ok(0)
    }
}

fn told(view: &InstanceView, out: &Output, then: &str) {
    out.result(view, |_| format!("{} is {}; {then}\n", view.id, view.state));
}
