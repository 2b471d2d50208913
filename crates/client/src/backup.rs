//! A backup taken over HTTP, and whether it is whole.

use base::{Cause, Error, Result, Timestamp};
use http_body_util::BodyExt;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::Client;

/// What a whole backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Taken {
    /// The moment that it shows.
    pub made_at: Timestamp,
    /// Version of the server.
    pub server: String,
    /// Last migration of the database.
    pub schema: i64,
    /// Rows by table.
    pub rows: BTreeMap<String, i64>,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of everything before its last line, hex.
    pub sha256: String,
}

#[derive(Deserialize)]
struct Header {
    suanli_backup: i64,
    schema: i64,
    server: String,
    made_at: Timestamp,
}

#[derive(Deserialize)]
struct End {
    rows: BTreeMap<String, i64>,
    sha256: String,
}

#[derive(Deserialize)]
struct Last {
    end: End,
}

impl Client {
    /// Writes a backup of the site to `to` as it arrives (operator), and checks its
    /// last line.
    ///
    /// # Errors
    /// The server's refusal; `unavailable` when it broke off or is not whole. What
    /// was written by then is worth nothing.
    pub async fn backup(&self, to: &mut (impl AsyncWrite + Unpin)) -> Result<Taken> {
        let mut body = self.open_lines(&["v1", "backup"]).await?;
        let mut check = Check::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| not_whole("it broke off").context(e))?;
            if let Ok(data) = frame.into_data() {
                check.add(&data)?;
                to.write_all(&data).await.map_err(cannot_write)?;
            }
        }
        to.flush().await.map_err(cannot_write)?;
        check.end()
    }
}

fn cannot_write(error: std::io::Error) -> Error {
    Error::new(Cause::InvalidRequest, format!("the backup cannot be written: {error}"))
        .hint("choose another place with enough room")
}

fn not_whole(why: &str) -> Error {
    Error::new(Cause::Unavailable, format!("the backup is not whole: {why}")).hint("take it again")
}

/// Looks at a backup as it goes by.
#[derive(Default)]
struct Check {
    hash: Sha256,
    line: Vec<u8>,
    bytes: u64,
    header: Option<Header>,
    end: Option<End>,
}

impl Check {
    fn add(&mut self, data: &[u8]) -> Result<()> {
        self.bytes += data.len() as u64;
        for piece in data.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.line_done()?;
                self.line.clear();
            }
        }
        Ok(())
    }

    fn line_done(&mut self) -> Result<()> {
        if self.end.is_some() {
            return Err(not_whole("something follows its last line"));
        }
        if self.header.is_none() {
            let header: Header = serde_json::from_slice(&self.line).map_err(|_| not_whole("it has no first line"))?;
            if header.suanli_backup != 1 {
                return Err(Error::new(Cause::HostIncomplete, "the backup has a form that this suanli does not know")
                    .hint("use the suanli of the server's version"));
            }
            self.header = Some(header);
        } else if self.line.starts_with(b"{\"end\"") {
            let last: Last = serde_json::from_slice(&self.line).map_err(|_| not_whole("its last line is damaged"))?;
            self.end = Some(last.end);
            return Ok(());
        }
        self.hash.update(&self.line);
        Ok(())
    }

    fn end(self) -> Result<Taken> {
        let (Some(header), Some(end)) = (self.header, self.end) else {
            return Err(not_whole("its last line is missing"));
        };
        if !self.line.is_empty() {
            return Err(not_whole("something follows its last line"));
        }
        let sha256 = self.hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        if sha256 != end.sha256 {
            return Err(not_whole("its checksum is another"));
        }
        let Header { made_at, server, schema, .. } = header;
        Ok(Taken { made_at, server, schema, rows: end.rows, bytes: self.bytes, sha256 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Vec<u8> {
        let mut text = String::from(
            "{\"suanli_backup\":1,\"schema\":2,\"server\":\"0.1.0\",\"made_at\":\"2026-03-01T10:00:00Z\"}\n\
             {\"table\":\"a\",\"columns\":[\"id\"]}\n[\"x\"]\n",
        );
        let digest = Sha256::digest(text.as_bytes());
        let hex = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        text.push_str(&format!("{{\"end\":{{\"rows\":{{\"a\":1}},\"sha256\":\"{hex}\"}}}}\n"));
        text.into_bytes()
    }

    fn read(data: &[u8], at_once: usize) -> Result<Taken> {
        let mut check = Check::default();
        data.chunks(at_once).try_for_each(|piece| check.add(piece))?;
        check.end()
    }

    #[test]
    fn a_whole_backup_is_whole_however_it_arrives() {
        for at_once in [1, 7, 64, 4096] {
            let taken = read(&whole(), at_once).unwrap();
            assert_eq!((taken.schema, taken.rows["a"], taken.bytes), (2, 1, whole().len() as u64));
        }
    }

    #[test]
    fn what_is_cut_off_anywhere_is_not_whole() {
        let data = whole();
        for length in 0..data.len() {
            assert!(read(&data[..length], 100).is_err(), "{length}");
        }
    }

    #[test]
    fn a_changed_byte_shows() {
        let mut data = whole();
        let at = data.windows(3).position(|w| w == b"\"x\"").unwrap() + 1;
        data[at] = b'y';
        assert!(read(&data, 100).unwrap_err().message().contains("checksum"));
        let more = [whole(), b"[\"z\"]\n".to_vec()].concat();
        assert!(read(&more, 100).is_err());
        let more = [whole(), b"rest".to_vec()].concat();
        assert!(read(&more, 100).is_err());
    }
}
