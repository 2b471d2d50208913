//! SSH public keys.

use std::io::Read;
use std::path::PathBuf;

use api::token::{AddKey, KeyView};
use base::{Cause, Error};
use clap::Subcommand;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table};

/// SSH public keys
#[derive(Debug, Subcommand)]
pub enum Key {
    /// List your keys, newest first
    Ls,
    /// Add a public key
    Add {
        /// The file that ends in .pub; - reads standard input
        file: PathBuf,
        /// What you call it [default: the remark in the file]
        #[arg(long)]
        name: Option<String>,
    },
    /// Remove a key
    Rm {
        /// Id of the key
        id: String,
    },
}

/// Most that is read of a file: whatever is longer is no public key.
const MOST_BYTES: u64 = 64 * 1024;

impl Key {
    pub async fn run(self, out: &Output) -> Outcome {
        match self {
            Self::Ls => {
                let keys = login_file::client()?.keys().await?;
                out.result(&keys, |out| words(&keys.items, out));
            }
            Self::Add { file, name } => {
                let key = read(&file)?;
                let added = login_file::client()?.add_key(&AddKey { name, key }).await?;
                out.result(&added, |_| format!("added {} ({})\n", added.fingerprint, added.id));
            }
            Self::Rm { id } => {
                login_file::client()?.delete_key(&id).await?;
                out.result(&serde_json::json!({ "removed": id }), |_| format!("{id} is removed\n"));
            }
        }
        Ok(0)
    }
}

fn read(file: &std::path::Path) -> Result<String, Error> {
    let mut text = String::new();
    let done = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
    };
    done.map_err(|e| {
        Error::new(Cause::InvalidRequest, format!("{} cannot be read: {e}", file.display()))
            .hint("name the file that ends in .pub")
    })?;
    if text.contains("PRIVATE KEY") || text.starts_with("PuTTY-User-Key-File") {
        // It must not even leave this machine.
        return Err(Error::new(Cause::InvalidRequest, format!("{} is a private key: it was not sent", file.display()))
            .hint("name the file beside it that ends in .pub"));
    }
    Ok(text)
}

fn words(keys: &[KeyView], out: &Output) -> String {
    if keys.is_empty() {
        return "no keys; `suanli key add FILE` adds one\n".into();
    }
    let mut table = Table::new(&["ID", "NAME", "KIND", "FINGERPRINT", "ADDED"]);
    for key in keys {
        table.row(vec![
            key.id.as_str().into(),
            key.name.as_str().into(),
            key.kind.as_str().into(),
            key.fingerprint.as_str().into(),
            out.zone.show(key.created_at).into(),
        ]);
    }
    table.render(out.paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_does_not_leave_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id_ed25519");
        for text in ["-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", "PuTTY-User-Key-File-3: ssh-ed25519\n"] {
            std::fs::write(&file, text).unwrap();
            let error = read(&file).unwrap_err();
            assert!(error.message().contains("private key") && error.hint_text().unwrap().contains(".pub"));
        }
        std::fs::write(&file, "ssh-ed25519 AAAA me\n").unwrap();
        assert_eq!(read(&file).unwrap(), "ssh-ed25519 AAAA me\n");
    }
}
