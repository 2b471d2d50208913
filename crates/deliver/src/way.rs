//! Where mail goes: to a mail server, or into a folder.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base::{Cause, Error, Result, Timestamp};
use store::outbox::{self, Claimed};
use store::settings::Settings;
use store::{Outcome, Tx};

use crate::letters::{Language, Letter};
use crate::smtp::{self, Failure};

/// Sender of mail in a folder where none is set.
const NOBODY: &str = "suanli@localhost.localdomain";

/// How this server sends mail.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Every mail becomes a file here instead of being sent.
    pub folder: Option<PathBuf>,
    /// Where browsers find the site if its settings do not say, without a slash at the end.
    pub address: String,
}

impl Way {
    /// Whether mail would leave.
    pub fn is_open(&self, settings: &Settings) -> bool {
        self.folder.is_some() || settings.mail.is_some()
    }

    /// A page of the console, for people far away.
    pub fn page(&self, settings: &Settings, path: &str) -> String {
        let site = if settings.public_url.is_empty() { &self.address } else { &settings.public_url };
        format!("{}{path}", site.trim_end_matches('/'))
    }

    /// Writes a mail into the outbox, in the transaction of what it tells of.
    /// Nothing where no mail leaves.
    ///
    /// # Errors
    /// The database's.
    pub async fn write(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        to: &str,
        language: Option<&str>,
        letter: &Letter,
        now: Timestamp,
    ) -> Outcome<()> {
        if self.is_open(settings) {
            let written = letter.write(settings.site_name(), Language::of(language));
            outbox::put(tx, to, &written, now).await?;
        }
        Ok(())
    }

    /// Sends a message.
    pub(crate) async fn send(&self, settings: &Settings, message: &Claimed) -> Result<(), Failure> {
        let from = settings.mail.as_ref().map_or(NOBODY, |mail| mail.from.as_str());
        match (&self.folder, &settings.mail) {
            (Some(folder), _) => {
                let whole = smtp::message(message, from)?.formatted();
                let path = folder.join(format!("{}.eml", message.id));
                Ok(keep(&path, &whole)?)
            }
            (None, Some(mail)) => smtp::send(mail, message).await,
            (None, None) => Err(Failure { why: "no mail server is set".into(), hopeless: false }),
        }
    }
}

/// Puts a file there whole or not at all, for its owner alone: a link in it opens a door.
fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension("part");
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| {
        Error::new(Cause::Unavailable, format!("{} cannot be written: {e}", path.display()))
            .hint("name another folder with --mail-folder")
    })
}
