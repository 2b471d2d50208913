//! After a restore: what differs, and going on (operator).

use api::recovery::{AcceptRecovery, RecoveryInstance, RecoveryView};
use clap::Subcommand;

use super::Outcome;
use crate::login_file;
use crate::output::{Cell, Output, Style, Table, clean};

/// A site restored from a backup: how it differs from its machines, and going on (operator)
#[derive(Debug, Subcommand)]
pub enum Recovery {
    /// Show how the books and the machines differ
    Show,
    /// Accept what was shown: work goes on, nothing is removed
    Accept {
        /// The digest that `suanli recovery show` printed
        seen: String,
    },
}

impl Recovery {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Show => {
                let view = client.recovery().await?;
                out.result(&view, |out| words(&view, out));
            }
            Self::Accept { seen } => {
                let done = client.accept_recovery(&AcceptRecovery { seen }).await?;
                out.result(&done, |_| {
                    format!(
                        "accepted: {} newer adopted, {} lost, {} unknown (see `suanli incident ls`), {} machines not heard yet\n",
                        done.adopted, done.lost, done.unknown, done.silent
                    )
                });
            }
        }
        Ok(0)
    }
}

fn words(view: &RecoveryView, out: &Output) -> String {
    let (Some(since), Some(made_at), Some(digest)) = (view.since, view.made_at, &view.digest) else {
        return "the site is not in recovery\n".into();
    };
    let mut text =
        format!("in recovery since {}: the books are those of {}\n\n", out.zone.show(since), out.zone.show(made_at));
    for node in &view.nodes {
        text.push_str(&out.paint.text(Style::Bold, &clean(&node.name)));
        text.push_str(if node.heard { "\n" } else { " — not heard since the restore\n" });
        let mut table = Table::new(&["INSTANCE", "FOUND", "STATE IN THE BOOKS", ">BOOKS", ">MACHINE", "RUNS THERE"]);
        for instance in &node.instances {
            table.row(row(instance));
        }
        text.push_str(&table.render(out.paint));
        text.push('\n');
    }
    text.push_str(&format!(
        "Nothing is started, stopped or removed until you accept this:\n  suanli recovery accept {digest}\n"
    ));
    text
}

fn row(instance: &RecoveryInstance) -> Vec<Cell> {
    let style = if instance.difference == "same" { Style::Green } else { Style::Red };
    let number = |n: Option<i64>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
    vec![
        instance.slug.as_ref().map_or(instance.id.as_str(), |slug| slug.as_str()).into(),
        Cell::styled(clean(&instance.difference), style),
        instance.state.map_or_else(|| "–".to_owned(), |state| state.to_string()).into(),
        number(instance.books).into(),
        number(instance.machine).into(),
        if instance.running { "yes" } else { "no" }.into(),
    ]
}
