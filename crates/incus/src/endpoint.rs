//! Where an Incus is, and how one connection to it is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::{Cause, Error, Result};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use url::Url;

use crate::tls;

/// A connection that is not made by then is not made.
const DIAL: Duration = Duration::from_secs(10);

/// Any byte stream: plain or encrypted.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// Where an Incus is.
#[derive(Clone)]
pub enum Endpoint {
    /// Its Unix socket on this machine. Whoever may open it may do everything.
    Unix(PathBuf),
    /// Its HTTPS address, where it trusts our certificate.
    Tls {
        /// Host name or address.
        host: String,
        /// Port, 8443 if nobody has changed it.
        port: u16,
        /// Our certificate, and the one certificate of theirs that is believed.
        config: Arc<rustls::ClientConfig>,
    },
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tls { host, port, .. } => write!(f, "https://{host}:{port}"),
        }
    }
}

impl Endpoint {
    /// The endpoint at `address`, `https://HOST[:8443]`. `identity`: PEM text with our
    /// certificate and its key; `pinned`: PEM text with the server's certificate.
    ///
    /// # Errors
    /// `invalid-request` for an address or PEM text that cannot be used.
    pub fn https(address: &str, identity: &[u8], pinned: &[u8]) -> Result<Self> {
        let bad = |why: &str| {
            Error::new(Cause::InvalidRequest, format!("`{}` is no address of an Incus: {why}", address.escape_debug()))
                .hint("write it like https://incus1.example.org:8443")
        };
        let url = Url::parse(address).map_err(|e| bad(&e.to_string()))?;
        if url.scheme() != "https" {
            return Err(bad("it must begin with https://"));
        }
        let host = url.host_str().ok_or_else(|| bad("the host is missing"))?.trim_matches(['[', ']']).to_owned();
        let config = tls::config(identity, pinned)?;
        Ok(Self::Tls { host, port: url.port().unwrap_or(8443), config })
    }

    /// One connection.
    pub(crate) async fn dial(&self) -> Result<Box<dyn Io>> {
        let dial = async {
            let io: Box<dyn Io> = match self {
                Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
                Self::Tls { host, port, config } => {
                    let tcp = TcpStream::connect((host.as_str(), *port)).await?;
                    tcp.set_nodelay(true)?;
                    let name = ServerName::try_from(host.clone()).map_err(std::io::Error::other)?;
                    Box::new(TlsConnector::from(config.clone()).connect(name, tcp).await?)
                }
            };
            Ok::<_, std::io::Error>(io)
        };
        match tokio::time::timeout(DIAL, dial).await {
            Ok(Ok(io)) => Ok(io),
            Ok(Err(error)) => Err(self.away(error)),
            Err(_) => Err(self.away("no answer in time")),
        }
    }

    /// It cannot be reached; nothing is known about what was asked of it.
    pub(crate) fn away(&self, context: impl std::fmt::Display) -> Error {
        Error::new(Cause::Unavailable, "Incus cannot be reached")
            .hint("it is tried again; if this stays, look whether its daemon runs")
            .context(format!("{self}: {context}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_is_not_there_is_unavailable() {
        let error = Endpoint::Unix("/nonexistent/unix.socket".into()).dial().await.err().unwrap();
        assert_eq!(error.cause(), Cause::Unavailable);
        assert!(error.context_text().unwrap().contains("/nonexistent/unix.socket"));
    }

    #[test]
    fn addresses_are_checked() {
        for bad in ["", "http://a", "https://", "unix:/a"] {
            let error = Endpoint::https(bad, b"", b"").unwrap_err();
            assert_eq!(error.cause(), Cause::InvalidRequest, "{bad}");
        }
    }
}
