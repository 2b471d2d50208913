//! The byte stream into an instance: frames over a WebSocket.

use base::{Cause, Error, Result};
use bytes::BytesMut;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::AUTHORIZATION;
use link::frame::FrameCodec;
use link::{Control, Frame, MAX_PAYLOAD, Open};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::codec::Decoder;

use crate::Client;
use crate::http::{broken_off, not_connected, not_ours, refusal};

/// Any byte stream: plain or encrypted.
trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

type Socket = WebSocketStream<Box<dyn Io>>;

/// An open stream. Either half can move to a task of its own.
pub struct Stream {
    sender: Sender,
    receiver: Receiver,
}

/// The half that sends.
pub struct Sender {
    sink: SplitSink<Socket, Message>,
    url: String,
}

/// The half that receives.
pub struct Receiver {
    stream: SplitStream<Socket>,
    buffer: BytesMut,
    url: String,
}

impl Client {
    /// Opens a stream into an instance and asks for `what`.
    ///
    /// Returns as soon as the request is under way; [`Control::Started`] or
    /// [`Control::Error`] is among the first frames that come back.
    ///
    /// # Errors
    /// The server's refusal (`not-found`, `wrong-state` …), or `unavailable`.
    pub async fn stream(&self, reference: &str, what: Open) -> Result<Stream> {
        let mut stream = self.connect_stream(reference).await?;
        stream.send(Frame::Control(Control::Open(what))).await?;
        Ok(stream)
    }

    async fn connect_stream(&self, reference: &str) -> Result<Stream> {
        let mut url = self.address(&["v1", "instances", reference, "stream"])?;
        let host = url.host_str().ok_or_else(|| Error::internal("address without a host"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().ok_or_else(|| Error::internal("address without a port"))?;
        let away = |error: std::io::Error| not_connected(self.url(), &error);
        let tcp = TcpStream::connect((host.as_str(), port)).await.map_err(away)?;
        tcp.set_nodelay(true).map_err(away)?;
        let io: Box<dyn Io> = match self.tls() {
            None => Box::new(tcp),
            Some(config) => {
                let name =
                    rustls::pki_types::ServerName::try_from(host).map_err(|e| not_ours(self.url()).context(e))?;
                Box::new(TlsConnector::from(config).connect(name, tcp).await.map_err(away)?)
            }
        };
        let scheme = if self.tls().is_some() { "wss" } else { "ws" };
        url.set_scheme(scheme).map_err(|()| Error::internal("scheme cannot be changed"))?;
        let mut request = url.as_str().into_client_request().map_err(Error::internal)?;
        if let Some(bearer) = self.bearer() {
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        }
        let socket = match tokio_tungstenite::client_async(request, io).await {
            Ok((socket, _)) => socket,
            Err(tungstenite::Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                return Err(refusal(self.url(), response.status(), body));
            }
            Err(error) => return Err(broken_off(self.url()).context(error)),
        };
        let (sink, stream) = socket.split();
        Ok(Stream {
            sender: Sender { sink, url: self.url().to_owned() },
            receiver: Receiver { stream, buffer: BytesMut::new(), url: self.url().to_owned() },
        })
    }
}

impl Stream {
    /// Sends one frame. Errors: `unavailable` when the connection is gone.
    pub async fn send(&mut self, frame: Frame) -> Result<()> {
        self.sender.send(frame).await
    }

    /// The next frame; `None` when the other side closed the stream.
    /// Errors: `unavailable` when the connection broke off.
    pub async fn recv(&mut self) -> Result<Option<Frame>> {
        self.receiver.recv().await
    }

    /// Waits until the command runs, the connection stands or the transfer begins.
    ///
    /// # Errors
    /// The refusal that came instead, or `unavailable` when the stream ended.
    pub async fn started(&mut self) -> Result<()> {
        loop {
            match self.recv().await? {
                Some(Frame::Control(Control::Started)) => return Ok(()),
                Some(Frame::Control(Control::Error { cause, message })) => return Err(refused(&cause, message)),
                Some(_) => {}
                None => return Err(broken_off(&self.receiver.url)),
            }
        }
    }

    /// The two halves.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

impl Sender {
    /// Sends one frame. Errors: `unavailable` when the connection is gone.
    pub async fn send(&mut self, frame: Frame) -> Result<()> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).map_err(Error::internal)?;
        self.sink.send(Message::binary(bytes)).await.map_err(|e| broken_off(&self.url).context(e))
    }

    /// Sends input of any length. Errors: `unavailable` when the connection is gone.
    pub async fn stdin(&mut self, data: &[u8]) -> Result<()> {
        for piece in data.chunks(MAX_PAYLOAD) {
            self.send(Frame::Stdin(piece.to_vec())).await?;
        }
        Ok(())
    }

    /// Says that no more input comes. Errors: `unavailable` when the connection is gone.
    pub async fn end_of_input(&mut self) -> Result<()> {
        self.send(Frame::Stdin(Vec::new())).await
    }

    /// Closes the stream; the other side ends what it runs.
    pub async fn close(mut self) {
        // Nothing is owed any more when the other side is gone already.
        drop(self.sink.close().await);
    }
}

impl Receiver {
    /// The next frame; `None` when the other side closed the stream.
    /// Errors: `unavailable` when the connection broke off.
    pub async fn recv(&mut self) -> Result<Option<Frame>> {
        loop {
            let frame = FrameCodec.decode(&mut self.buffer);
            if let Some(frame) = frame.map_err(|e| not_ours(&self.url).context(e))? {
                return Ok(Some(frame));
            }
            match self.stream.next().await {
                None => return Ok(None),
                Some(Ok(Message::Binary(bytes))) => self.buffer.extend_from_slice(&bytes),
                Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(tungstenite::Error::ConnectionClosed)) => return Ok(None),
                Some(Err(error)) => return Err(broken_off(&self.url).context(error)),
            }
        }
    }
}

/// The error that a [`Control::Error`] carries.
pub fn refused(cause: &str, message: String) -> Error {
    Error::new(cause.parse().unwrap_or(Cause::EngineFailed), message)
}
