//! A mail server that keeps what it is sent, and refuses what a test tells it to.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Default)]
pub struct Sink {
    pub kept: Arc<Mutex<Vec<Kept>>>,
    /// What it says to recipients, one for each that comes; then `250 ok`.
    pub says: Arc<Mutex<Vec<&'static str>>>,
    pub port: u16,
}

#[derive(Clone, Debug)]
pub struct Kept {
    pub hello: String,
    pub from: String,
    pub to: String,
    pub data: String,
    pub login: Option<String>,
}

impl Sink {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sink = Self { port: listener.local_addr().unwrap().port(), ..Self::default() };
        let server = sink.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let server = server.clone();
                // A client that goes away in the middle is no trouble of the test.
                tokio::spawn(async move { server.talk(stream).await });
            }
        });
        sink
    }

    async fn talk(&self, stream: TcpStream) -> std::io::Result<()> {
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let mut now =
            Kept { hello: String::new(), from: String::new(), to: String::new(), data: String::new(), login: None };
        write.write_all(b"220 sink\r\n").await?;
        while let Some(line) = lines.next_line().await? {
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let answer = match verb.to_ascii_uppercase().as_str() {
                "EHLO" => {
                    now.hello = rest.to_owned();
                    "250-sink\r\n250-AUTH PLAIN\r\n250 8BITMIME".to_owned()
                }
                "AUTH" => {
                    now.login = Some(rest.to_owned());
                    "235 welcome".to_owned()
                }
                "MAIL" => {
                    now.from = rest.to_owned();
                    "250 ok".to_owned()
                }
                "RCPT" => {
                    now.to = rest.to_owned();
                    let mut says = self.says.lock().unwrap();
                    if says.is_empty() { "250 ok".to_owned() } else { says.remove(0).to_owned() }
                }
                "DATA" => {
                    write.write_all(b"354 go on\r\n").await?;
                    while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                        now.data.push_str(&line);
                        now.data.push('\n');
                    }
                    self.kept.lock().unwrap().push(now.clone());
                    "250 kept".to_owned()
                }
                "QUIT" => "221 bye".to_owned(),
                _ => "250 ok".to_owned(),
            };
            write.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
        Ok(())
    }
}
