//! Where the keys of the secrets come from, and the job that follows their rotation.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Result;
use store::Store;
use store::secrets::{Keyring, read_or_make, rewrite};

/// How often a key file is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// Where keys come from.
#[derive(Clone)]
pub enum KeySource {
    /// A file, which is made with a fresh key when it is missing.
    File(PathBuf),
    /// The keys themselves, as a file would have them.
    Text(String),
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text"),
        }
    }
}

impl KeySource {
    /// The keys, and the file if it was made just now.
    ///
    /// # Errors
    /// See [`read_or_make`] and [`Keyring::parse`].
    pub fn read(&self) -> Result<(Keyring, Option<&Path>)> {
        match self {
            Self::File(path) => read_or_make(path).map(|(keys, made)| (keys, made.then_some(path.as_path()))),
            Self::Text(text) => Ok((Keyring::parse(text)?, None)),
        }
    }
}

/// Seals anew what the first key has not sealed, now and whenever the key file
/// changes, until the future is dropped.
pub async fn run(store: Store, source: KeySource) {
    let mut mark = None;
    loop {
        if let Err(error) = everything(&store).await {
            tracing::error!(%error, "sealing secrets anew is tried again when the keys change or the server starts");
        }
        let KeySource::File(path) = &source else {
            return;
        };
        let before = mark.take().or_else(|| stamp(path));
        loop {
            tokio::time::sleep(LOOK).await;
            let now = stamp(path);
            if now.is_some() && now != before {
                mark = now;
                break;
            }
        }
        let taken = match read_or_make(path) {
            Ok((keys, _)) => store.clone().with_keys(keys).await.map(drop),
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => tracing::info!("the key file has changed: its keys are used from now on"),
            Err(error) => tracing::error!(%error, "the changed key file is not used"),
        }
    }
}

async fn everything(store: &Store) -> Result<()> {
    let (mut after, mut changed) = (String::new(), 0);
    loop {
        let progress = rewrite(store, &after).await?;
        changed += progress.changed;
        match progress.next {
            Some(next) => after = next,
            None => break,
        }
    }
    if changed > 0 {
        tracing::info!(rows = changed, "secrets were sealed anew with the first key");
    }
    Ok(())
}

fn stamp(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
}
