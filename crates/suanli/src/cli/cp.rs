//! Copying to and from an instance.

use std::path::{Path, PathBuf};

use base::{Cause, Error, Result};
use clap::Args;
use serde_json::json;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, bytes, note};
use crate::transfer::{Carried, Progress, Target, get, is_folder, put};

/// Copy a file or folder to or from an instance; one side is ID:PATH
#[derive(Debug, Args)]
pub struct Cp {
    /// Copy folders with everything in them
    #[arg(short, long)]
    recursive: bool,
    /// What to copy: PATH or ID:PATH
    #[arg(value_name = "SRC")]
    source: String,
    /// Where to: ID:PATH or PATH; a relative path there begins in the home directory
    #[arg(value_name = "DST")]
    target: String,
}

/// One side of a copy.
#[derive(Debug, PartialEq, Eq)]
enum Side<'a> {
    Here(&'a Path),
    There { id: &'a str, path: &'a str },
}

impl<'a> Side<'a> {
    /// `ID:PATH` unless a slash comes before the colon, as in `./a:b`.
    fn read(text: &'a str) -> Self {
        match text.split_once(':') {
            // The shell leaves this tilde alone, and relative paths begin there anyway.
            Some((id, path)) if !id.is_empty() && !id.contains('/') => {
                Self::There { id, path: path.strip_prefix("~/").unwrap_or(path) }
            }
            _ => Self::Here(Path::new(text)),
        }
    }
}

impl Cp {
    pub async fn run(self, out: &Output) -> Outcome {
        let carried = match (Side::read(&self.source), Side::read(&self.target)) {
            (Side::Here(source), Side::There { id, path }) => self.put(source, id, path).await?,
            (Side::There { id, path }, Side::Here(target)) => self.get(id, path, target).await?,
            (Side::Here(_), Side::Here(_)) => {
                note(
                    "error: one of SRC and DST must be ID:PATH\n\nUsage: suanli cp [-r] SRC ID:DST, or suanli cp [-r] ID:SRC DST",
                );
                return Ok(2);
            }
            (Side::There { .. }, Side::There { .. }) => {
                let error = Error::new(Cause::NotOffered, "copying from one instance to another is not offered");
                return Err(error.hint("copy to this machine first").into());
            }
        };
        if out.json {
            crate::output::json(&json!({ "files": carried.files, "bytes": carried.bytes }));
        } else if crate::output::stderr_is_terminal() {
            let files = if carried.files == 1 { "1 file".to_owned() } else { format!("{} files", carried.files) };
            note(&format!("{files}, {}", bytes(carried.bytes)));
        }
        Ok(0)
    }

    async fn put(&self, source: &Path, id: &str, path: &str) -> Result<Carried> {
        let about = std::fs::metadata(source).map_err(|e| {
            let cause = if e.kind() == std::io::ErrorKind::NotFound { Cause::NotFound } else { Cause::InvalidRequest };
            Error::new(cause, format!("{} cannot be read: {e}", source.display())).hint("give a path of this machine")
        })?;
        if about.is_dir() && !self.recursive {
            return Err(folder_needs_leave(&source.display().to_string()));
        }
        let client = login_file::client()?;
        let there = path.trim_end_matches('/');
        let into = match there {
            "" | "." | ".." | "~" => true,
            _ if path.ends_with('/') && !about.is_dir() => true,
            _ => is_folder(&client, id, there).await?,
        };
        let own = own_name(source)?;
        let (below, name) = if into { (folder_there(path), own) } else { split_there(there) };
        put(&client, id, source, &below, &name, Progress::new(&self.source)).await
    }

    async fn get(&self, id: &str, path: &str, target: &Path) -> Result<Carried> {
        if path.trim_end_matches('/').is_empty() {
            return Err(Error::new(Cause::InvalidRequest, "nothing is named after the colon")
                .hint("write ID:PATH, such as my-box:/workspace"));
        }
        let into = target.is_dir();
        if !into && target.to_str().is_some_and(|text| text.ends_with('/')) && !self.recursive {
            return Err(Error::new(Cause::NotFound, format!("the folder {} does not exist", target.display()))
                .hint("make it first, or leave the slash off"));
        }
        if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
            return Err(Error::new(Cause::NotFound, format!("the folder {} does not exist", parent.display()))
                .hint("make it first"));
        }
        let target = Target { path: target.to_owned(), into, recursive: self.recursive };
        get(&login_file::client()?, id, path, target, Progress::new(&self.source)).await
    }
}

/// What `source` is called, also when it is written as `.` or `..`.
fn own_name(source: &Path) -> Result<String> {
    let whole: PathBuf;
    let name = match source.file_name() {
        Some(name) => Some(name),
        None => {
            whole = source.canonicalize().unwrap_or_default();
            whole.file_name()
        }
    };
    name.and_then(|name| name.to_str()).map(str::to_owned).ok_or_else(|| {
        Error::new(Cause::InvalidName, format!("{} has no name that can be sent", source.display()))
            .hint("names must be valid UTF-8; name the target too")
    })
}

/// A folder there as the stream takes it; empty means the home directory.
fn folder_there(path: &str) -> String {
    match path {
        "" | "~" => ".".to_owned(),
        _ => path.to_owned(),
    }
}

/// The folder that a target lies in, and its name.
fn split_there(path: &str) -> (String, String) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/".to_owned(), name.to_owned()),
        Some((folder, name)) => (folder.to_owned(), name.to_owned()),
        None => (".".to_owned(), path.to_owned()),
    }
}

fn folder_needs_leave(name: &str) -> Error {
    Error::new(Cause::NotOffered, format!("{name} is a folder")).hint("add -r to copy folders")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_told_apart() {
        assert_eq!(Side::read("box:/a/b"), Side::There { id: "box", path: "/a/b" });
        assert_eq!(Side::read("box:"), Side::There { id: "box", path: "" });
        assert_eq!(Side::read("box:~/a"), Side::There { id: "box", path: "a" });
        assert_eq!(Side::read("./a:b"), Side::Here(Path::new("./a:b")));
        assert_eq!(Side::read("/tmp/a:b"), Side::Here(Path::new("/tmp/a:b")));
        assert_eq!(Side::read(":x"), Side::Here(Path::new(":x")));
        assert_eq!(Side::read("plain"), Side::Here(Path::new("plain")));
    }

    #[test]
    fn targets_split_into_folder_and_name() {
        assert_eq!(split_there("/workspace/train.py"), ("/workspace".into(), "train.py".into()));
        assert_eq!(split_there("/train.py"), ("/".into(), "train.py".into()));
        assert_eq!(split_there("train.py"), (".".into(), "train.py".into()));
    }

    #[test]
    fn a_source_has_a_name_even_when_it_is_a_dot() {
        assert_eq!(own_name(Path::new("a/b.txt")).unwrap(), "b.txt");
        assert_eq!(own_name(Path::new("a/b/")).unwrap(), "b");
        let here = std::env::current_dir().unwrap();
        assert_eq!(own_name(Path::new(".")).unwrap(), here.file_name().unwrap().to_str().unwrap());
    }
}
