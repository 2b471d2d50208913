//! The books recomputed (operator).

use base::{Cause, Error};
use clap::Args;

use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{Output, Style, clean, error_object, json, print};

/// Recompute the books; exit status 0 only when nothing differs (operator)
#[derive(Debug, Args)]
pub struct Audit {}

impl Audit {
    pub async fn run(self, out: &Output) -> Outcome {
        let report = login_file::client()?.audit().await?;
        let count = report.differences.len();
        let error = (count > 0).then(|| {
            Error::new(Cause::Internal, format!("the books differ in {count} places"))
                .hint("nothing was changed; keep the data folder and report this")
        });
        if out.json {
            let mut value = serde_json::to_value(&report).map_err(Error::internal)?;
            if let Some(error) = &error {
                value["error"] = error_object(error);
            }
            json(&value);
        } else {
            let mut text = format!(
                "recomputed {} accounts, {} segments, {} postings at {}\n",
                report.accounts,
                report.segments,
                report.postings,
                out.zone.show(report.at)
            );
            for difference in &report.differences {
                text.push_str(&format!("{} {}\n", out.paint.text(Style::Red, "differs:"), clean(difference)));
            }
            if count == 0 {
                text.push_str(&out.paint.text(Style::Green, "nothing differs"));
                text.push('\n');
            }
            print(&text);
        }
        match error {
            None => Ok(0),
            Some(error) if out.json => Err(Failure::shown(error)),
            Some(error) => Err(Failure::refused(error)),
        }
    }
}
