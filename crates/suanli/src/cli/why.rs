//! Why an instance is where it is.

use clap::Args;

use super::Outcome;
use super::ls::state_cell;
use crate::output::{Output, Table};
use crate::{inside, login_file};

/// Tell why an instance waits, stopped or failed, and what would help
#[derive(Debug, Args)]
pub struct Why {
    /// Id, slug or name of the instance; inside of one it may be left out
    #[arg(required = inside::must_name())]
    id: Option<String>,
}

impl Why {
    pub async fn run(self, out: &Output) -> Outcome {
        let why = login_file::client()?.why(&inside::named_or_own(self.id)?).await?;
        out.result(&why, |out| words(&why, out));
        Ok(0)
    }
}

fn words(why: &api::instance::Why, out: &Output) -> String {
    let mut facts = Table::new(&[]);
    facts.fact("instance", why.id.as_str());
    facts.fact("state", state_cell(why.state));
    facts.fact("why", why.summary.as_str());
    if let Some(reason) = &why.reason {
        // The sentence of the reason is in the summary, its hint among the suggestions.
        facts.fact("cause", reason.code.code());
    }
    for next in &why.next {
        facts.fact("next", next.as_str());
    }
    for suggestion in &why.suggestions {
        facts.fact("you can", suggestion.as_str());
    }
    facts.render(out.paint)
}
