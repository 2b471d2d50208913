//! Files of instances, without anything in the image.

use base::Result;
use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderMap, Method};

use crate::transport::{Ask, Incus, strange};

/// What a path in an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file with its content.
    File(Bytes),
    /// A folder with the names in it.
    Folder(Vec<String>),
    /// A link and where it points.
    Link(String),
}

impl Incus {
    /// Writes a file as user and group 0 of the instance, replacing what is there.
    /// `mode`: its rights.
    ///
    /// # Errors
    /// `not-found` for the instance or the folder, `disk-full`, `unavailable`.
    pub async fn push(&self, instance: &str, path: &str, content: Bytes, mode: u32) -> Result<()> {
        let to = ["instances", instance, "files"];
        let mut ask = Ask::new(Method::POST, &to).query("path", path);
        ask.body = content;
        ask.headers = head(&[("type", "file".into()), ("mode", format!("0{mode:o}")), ("write", "overwrite".into())]);
        self.ask(ask).await.map(drop)
    }

    /// Makes a folder as user and group 0 of the instance; one that is there is fine.
    ///
    /// # Errors
    /// As [`Incus::push`].
    pub async fn make_folder(&self, instance: &str, path: &str, mode: u32) -> Result<()> {
        let to = ["instances", instance, "files"];
        let mut ask = Ask::new(Method::POST, &to).query("path", path);
        ask.headers = head(&[("type", "directory".into()), ("mode", format!("0{mode:o}"))]);
        self.ask(ask).await.map(drop)
    }

    /// Reads a file, folder or link.
    ///
    /// # Errors
    /// `not-found`, `unavailable`.
    pub async fn pull(&self, instance: &str, path: &str) -> Result<FileKind> {
        let answer = self.ask(Ask::get(&["instances", instance, "files"]).query("path", path)).await?;
        let kind = value(&answer.headers, "type").unwrap_or("file");
        Ok(match kind {
            "directory" => FileKind::Folder(answer.metadata()?),
            "symlink" => {
                FileKind::Link(String::from_utf8(answer.body.to_vec()).map_err(strange)?.trim_end().to_owned())
            }
            _ => FileKind::File(answer.body),
        })
    }
}

fn head(fields: &[(&str, String)]) -> Vec<(HeaderName, String)> {
    let own = [("uid", "0".to_owned()), ("gid", "0".to_owned())];
    let named =
        |(name, value): &(&str, String)| Some((HeaderName::try_from(format!("x-incus-{name}")).ok()?, value.clone()));
    own.iter().chain(fields).filter_map(named).collect()
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(format!("x-incus-{name}"))?.to_str().ok()
}
