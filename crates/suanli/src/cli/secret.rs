//! The keys that seal secrets in the database.

use std::path::PathBuf;

use base::{Cause, Error};
use clap::{Args, Subcommand};
use store::secrets;

use super::Outcome;
use crate::output::{Output, Table};
use crate::serve::place::Place;
use crate::serve::secret_key;

/// Keys that seal secrets in the database: list, rotate, forget; on the server's machine
#[derive(Debug, Subcommand)]
pub enum Secret {
    /// List which keys have sealed how many values
    Ls(Ls),
    /// Put a fresh key in front of the key file; the server then seals everything with it
    Rotate(Rotate),
    /// Take a key out of the key file, once no value needs it
    Forget(Forget),
}

#[derive(Debug, Args)]
pub struct Ls {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
pub struct Rotate {
    /// The key file; default as for `suanli serve`
    #[arg(long, value_name = "FILE", env = secret_key::FILE)]
    secret_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Forget {
    /// Id of the key, as `suanli secret ls` shows it
    id: String,
    /// The key file; default as for `suanli serve`
    #[arg(long, value_name = "FILE", env = secret_key::FILE)]
    secret_key: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Secret {
    pub async fn run(self, out: &Output) -> Outcome {
        match self {
            Self::Ls(verb) => {
                let used = secrets::used_at(&verb.place.url()?).await?;
                out.result(&used, |out| {
                    let mut table = Table::new(&["KEY", ">VALUES"]);
                    for (id, count) in &used {
                        let id = if id.is_empty() { "none (plain)" } else { id };
                        table.row(vec![id.into(), count.to_string().into()]);
                    }
                    table.render(out.paint)
                });
            }
            Self::Rotate(verb) => {
                let file = secret_key::path(verb.secret_key.as_deref())?;
                let id = secrets::add_key(&file)?;
                out.result(&serde_json::json!({ "key": id, "file": file }), |_| {
                    format!(
                        "{} begins with the new key {id}; a running server uses it in a few seconds and seals everything anew.\n\
                         Keep a new copy of the file. `suanli secret ls` shows when the old key is not needed any more.\n",
                        file.display()
                    )
                });
            }
            Self::Forget(verb) => {
                let used = secrets::used_at(&verb.place.url()?).await?;
                if let Some(count) = used.get(&verb.id) {
                    return Err(Error::new(
                        Cause::WrongState,
                        format!("{count} values still need the key {}", verb.id),
                    )
                    .hint("let the server run until `suanli secret ls` does not show it any more")
                    .into());
                }
                let file = secret_key::path(verb.secret_key.as_deref())?;
                secrets::forget_key(&file, &verb.id)?;
                out.result(&serde_json::json!({ "forgotten": verb.id, "file": file }), |_| {
                    format!("{} has no key {} any more; older backups still need it\n", file.display(), verb.id)
                });
            }
        }
        Ok(0)
    }
}
