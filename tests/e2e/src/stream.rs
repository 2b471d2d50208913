//! Somebody who reads the event stream of a server as it comes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::Person;

/// A reader of `GET /v1/events` from the very first event on; he reads until the
/// server ends.
#[derive(Debug)]
pub struct Follower(Arc<Mutex<Vec<i64>>>);

impl Follower {
    /// Begins to read at the server `url`.
    ///
    /// # Panics
    /// The server does not take the request.
    pub fn of(person: &Person, url: &str) -> Self {
        let address = url.strip_prefix("http://").expect("an address").to_owned();
        let mut stream = TcpStream::connect(&address).expect("a connection");
        let token = person.token();
        write!(
            stream,
            "GET /v1/events?after=0 HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
        )
        .expect("a request");
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next().expect("an answer").expect("an answer");
        assert!(status.contains(" 200 "), "{status}");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        std::thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                if let Some(id) = line.strip_prefix("id:") {
                    into.lock().expect("the list").push(id.trim().parse().expect("a position"));
                }
            }
        });
        Self(seen)
    }

    /// Positions of the events that he has read, in the order in which they came.
    ///
    /// # Panics
    /// His thread has panicked.
    pub fn seen(&self) -> Vec<i64> {
        self.0.lock().expect("the list").clone()
    }
}
