//! HTTP by hand, so that a test can send half of it, or read none of it.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::served::within;
use crate::site::Person;

pub struct Raw {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Heard {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Heard {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    #[track_caller]
    pub fn refusal(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{} {}", self.head, String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!((&problem["code"], &problem["status"]), (&code.into(), &status.into()), "{problem}");
        assert!(problem["hint"].is_string(), "{problem}");
        problem
    }

    /// What `Retry-After` says, seconds.
    #[track_caller]
    pub fn wait(&self) -> u64 {
        self.header("retry-after").unwrap_or_else(|| panic!("no Retry-After in {}", self.head)).parse().unwrap()
    }
}

/// A request with a body of JSON, if it has one.
pub fn request(
    method: &str,
    path: &str,
    by: Option<&Person>,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
    if let Some(person) = by {
        text.push_str(&format!("authorization: Bearer {}\r\n", person.token));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = body.map(Value::to_string).unwrap_or_default();
    if !body.is_empty() {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    text + "\r\n" + &body
}

impl Raw {
    pub async fn connect(address: SocketAddr) -> Self {
        Self { stream: within(TcpStream::connect(address)).await.unwrap(), buffer: Vec::new() }
    }

    pub fn over(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// One whose own system keeps little for it.
    pub async fn small(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        Self { stream: within(socket.connect(address)).await.unwrap(), buffer: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        within(self.stream.write_all(text.as_bytes())).await.unwrap();
    }

    pub async fn ask(&mut self, request: &str) -> Heard {
        self.send(request).await;
        self.hear().await
    }

    /// Reads up to the end of a head; what came after it stays for later.
    pub async fn head(&mut self) -> String {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8(self.buffer.drain(..at + 4).collect()).unwrap();
                return head;
            }
            assert!(self.more().await > 0, "the connection ended in {:?}", String::from_utf8_lossy(&self.buffer));
        }
    }

    /// Reads one answer.
    pub async fn hear(&mut self) -> Heard {
        let head = self.head().await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut heard = Heard { status, head, body: Vec::new() };
        let length: usize = heard.header("content-length").unwrap_or("0").parse().unwrap();
        while self.buffer.len() < length {
            assert!(self.more().await > 0, "the connection ended in the middle of a body");
        }
        heard.body = self.buffer.drain(..length).collect();
        heard
    }

    /// Reads until the server closes; what came.
    pub async fn rest(mut self) -> Vec<u8> {
        while self.more().await > 0 {}
        self.buffer
    }

    async fn more(&mut self) -> usize {
        let mut piece = vec![0; 64 * 1024];
        // A connection that is reset has ended too.
        let n = within(self.stream.read(&mut piece)).await.unwrap_or(0);
        self.buffer.extend_from_slice(&piece[..n]);
        n
    }

    /// Takes what has been read already.
    pub fn read_already(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// Reads one more piece; `None` at the end.
    pub async fn piece(&mut self) -> Option<Vec<u8>> {
        (self.more().await > 0).then(|| self.read_already())
    }
}
