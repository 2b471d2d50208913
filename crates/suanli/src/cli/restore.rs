//! A backup restored into an empty place, without a server.

use std::path::PathBuf;

use base::{Cause, Error, Timestamp};
use clap::Args;

use super::Outcome;
use crate::output::Output;
use crate::serve::place::Place;

/// Restore a backup into an empty place, before the server is started there
///
/// Everything is restored or nothing. The site begins in recovery: `suanli recovery
/// show` tells how books and machines differ, `suanli recovery accept` goes on.
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

impl Restore {
    pub async fn run(self, out: &Output) -> Outcome {
        let folder = self.place.folder()?;
        // Only what this restore has made is taken away again when it fails.
        let made = folder.as_ref().filter(|folder| !folder.exists());
        if let Some(folder) = made {
            std::fs::create_dir_all(folder).map_err(|e| {
                Error::new(Cause::InvalidRequest, format!("the folder {} cannot be made: {e}", folder.display()))
                    .hint("choose another with --data")
            })?;
        }
        let done = store::backup::restore(&self.place.url()?, &self.file, now()).await;
        if let (Err(_), Some(folder)) = (&done, made) {
            drop(std::fs::remove_dir(folder));
        }
        let done = done?;
        let result = serde_json::json!({
            "made_at": done.header.made_at, "server": done.header.server, "schema": done.header.schema,
            "rows": done.rows, "keys": done.keys,
        });
        out.result(&result, |out| {
            let rows: i64 = done.rows.values().sum();
            let keys = match done.keys.as_slice() {
                [] => "it has no sealed secrets".to_owned(),
                keys => format!("its secrets need the key {}: bring that key file", keys.join(", ")),
            };
            format!(
                "restored {rows} rows, the site as it was at {}\n{keys}\n\
                 start the server there, then look with `suanli recovery show`\n",
                out.zone.show(done.header.made_at)
            )
        });
        Ok(0)
    }
}

#[allow(clippy::disallowed_methods, reason = "a command line has no clock but the machine's")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
