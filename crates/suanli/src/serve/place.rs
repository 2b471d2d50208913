//! Where a server keeps its database, for verbs that work while it does not run.

use std::path::PathBuf;

use base::Result;
use clap::Args;

use super::{host, unprivileged};

/// The database, as `suanli serve` finds it.
#[derive(Clone, Debug, Args)]
pub struct Place {
    /// Data folder of the server
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    data: Option<PathBuf>,
    /// postgres://… instead of SQLite in the data folder
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl Place {
    /// The data folder, if the database is in one.
    ///
    /// # Errors
    /// No home.
    pub fn folder(&self) -> Result<Option<PathBuf>> {
        match (&self.database, &self.data) {
            (Some(_), _) => Ok(None),
            (None, Some(data)) => Ok(Some(data.clone())),
            (None, None) if unprivileged::is_root() => Ok(Some(PathBuf::from("/var/lib/suanli/server"))),
            (None, None) => Ok(Some(host::data_home()?.join("suanli"))),
        }
    }

    /// The address of the database.
    ///
    /// # Errors
    /// No home.
    pub fn url(&self) -> Result<String> {
        match (&self.database, self.folder()?) {
            (Some(url), _) => Ok(url.clone()),
            (None, folder) => Ok(format!("sqlite://{}", folder.unwrap_or_default().join("suanli.db").display())),
        }
    }
}
