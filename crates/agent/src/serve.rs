//! The socket on which the agent answers.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use axum::Router;
use base::{Cause, Error, Result};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};

use crate::files;

/// Bytes under way in one stream, and in one connection: enough for a fast disk.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const FRAME: u32 = 256 << 10;

/// The socket; removed when dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The users that may connect.
    allowed: Vec<u32>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The next start replaces a socket that stayed.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Socket {
    /// Binds the socket for `owner`. It shows at its path only once its owner and
    /// mode are right, so nobody else can ever connect.
    ///
    /// # Errors
    /// `already-exists` when an agent answers there; `engine-failed` for the rest.
    pub fn bind(path: &Path, owner: Option<(u32, u32)>) -> Result<Self> {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(Error::new(Cause::AlreadyExists, "an agent answers on this socket already")
                .hint("stop it first, or give this one another socket")
                .context(path.display()));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let temporary = Path::new(&name);
        let _ = std::fs::remove_file(temporary);
        let bind = || {
            let listener = UnixListener::bind(temporary)?;
            std::fs::set_permissions(temporary, std::fs::Permissions::from_mode(0o600))?;
            if let Some((uid, gid)) = owner {
                chown(temporary, Some(uid), Some(gid))?;
            }
            std::fs::rename(temporary, path)?;
            Ok(listener)
        };
        let listener = bind().map_err(|e: std::io::Error| files::error("open the socket", path, &e))?;
        let mut allowed = vec![0, rustix::process::geteuid().as_raw()];
        allowed.extend(owner.map(|(uid, _)| uid));
        Ok(Self { listener, path: path.to_owned(), allowed })
    }

    /// Answers until the task is dropped.
    pub async fn serve(&self, router: Router) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => match stream.peer_cred() {
                    Ok(peer) if self.allowed.contains(&peer.uid()) => {
                        tokio::spawn(connection(stream, router.clone()));
                    }
                    peer => tracing::warn!(?peer, "a stranger was turned away from the socket"),
                },
                Err(error) => {
                    tracing::error!(%error, "a connection could not be accepted");
                    // Out of descriptors, most likely: trying at once would only burn time.
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn connection(stream: UnixStream, router: Router) {
    let service = TowerToHyperService::new(router);
    let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_concurrent_streams(10_000)
        .max_send_buf_size(1 << 20)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let socket = Socket::bind(&path, None).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Socket::bind(&path, None).unwrap_err().cause(), Cause::AlreadyExists);
        drop(socket);
        assert!(!path.exists());
    }
}
