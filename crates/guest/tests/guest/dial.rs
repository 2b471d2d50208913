//! Connections to local ports.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use link::{Control, Frame, Open};

use crate::support::Guest;

/// Listens on a free port and serves the first connection.
fn server(address: &str, serve: impl FnOnce(TcpStream) + Send + 'static) -> Option<u16> {
    let listener = TcpListener::bind((address, 0)).ok()?;
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || serve(listener.accept().unwrap().0));
    Some(port)
}

fn echo(mut stream: TcpStream) {
    let mut copy = stream.try_clone().unwrap();
    std::io::copy(&mut stream, &mut copy).unwrap();
    copy.write_all(b" - the end").unwrap();
}

#[test]
fn both_directions_end_one_after_the_other() {
    let guest = Guest::start(&[]);
    let port = server("127.0.0.1", echo).unwrap();
    let mut caller = guest.open(Open::Dial { port });
    caller.input(b"hello");
    caller.wait_for("hello");
    // Only now does the program know that no more will come, and answers that.
    caller.end_input();
    let mut rest = Vec::new();
    loop {
        match caller.receive() {
            Some(Frame::Stdout(data)) if data.is_empty() => break,
            Some(Frame::Stdout(data)) => rest.extend(data),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(rest, b" - the end");
    assert_eq!(caller.receive(), Some(Frame::Control(Control::Exit { code: 0 })));
    assert_eq!(caller.receive(), None);
}

#[test]
fn the_program_may_end_first() {
    let guest = Guest::start(&[]);
    let port = server("127.0.0.1", |mut stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"late words");
    });
    let mut caller = guest.open(Open::Dial { port: port.unwrap() });
    assert_eq!(caller.receive(), Some(Frame::Control(Control::Started)));
    assert_eq!(caller.receive(), Some(Frame::Stdout(Vec::new())));
    caller.input(b"late words");
    caller.end_input();
    assert_eq!(caller.outcome().code(), 0);
}

#[test]
fn much_data_goes_both_ways_at_once() {
    const SIZE: usize = 20_000_000;
    let guest = Guest::start(&[]);
    let port = server("127.0.0.1", echo).unwrap();
    let mut caller = guest.open(Open::Dial { port });
    let mut sender = crate::support::Caller(caller.0.try_clone().unwrap());
    let data: Vec<u8> = (0..SIZE).map(|n| (n % 251) as u8).collect();
    let sent = data.clone();
    let sending = std::thread::spawn(move || {
        sender.input(&sent);
        sender.end_input();
    });
    let outcome = caller.outcome();
    sending.join().unwrap();
    assert!(outcome.stdout[..SIZE] == data[..]);
    assert_eq!(&outcome.stdout[SIZE..], b" - the end");
    assert_eq!(outcome.code(), 0);
}

#[test]
fn the_newer_loopback_is_tried_too() {
    let guest = Guest::start(&[]);
    // Where the machine has no IPv6, there is nothing that could be tried.
    let Some(port) = server("::1", echo) else { return };
    let mut caller = guest.open(Open::Dial { port });
    caller.input(b"six");
    caller.end_input();
    assert_eq!(caller.outcome().out(), "six - the end");
}

#[test]
fn nobody_there_is_said_plainly() {
    let guest = Guest::start(&[]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let outcome = guest.open(Open::Dial { port }).outcome();
    let message = format!("nothing listens on port {port} inside the instance yet");
    assert_eq!(outcome.error(), ("unavailable", message.as_str()));
    assert!(!outcome.started);
    assert_eq!(guest.open(Open::Dial { port: 0 }).outcome().error().0, "invalid-request");
}

#[test]
fn the_connection_ends_when_the_caller_goes_away() {
    let guest = Guest::start(&[]);
    let (tell, told) = std::sync::mpsc::channel();
    let port = server("127.0.0.1", move |mut stream| {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        tell.send(all).unwrap();
    });
    let mut caller = guest.open(Open::Dial { port: port.unwrap() });
    assert_eq!(caller.receive(), Some(Frame::Control(Control::Started)));
    drop(caller);
    let all = told.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
    assert!(all.is_empty());
}
