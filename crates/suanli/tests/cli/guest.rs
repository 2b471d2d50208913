//! The inside of the test server's instance: commands that only these tests know.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::extract::ws::{Message, WebSocket};
use link::{Control, Frame, MAX_PAYLOAD, Open};

use super::server::Plan;

struct Line {
    socket: WebSocket,
    buffer: Vec<u8>,
}

impl Line {
    async fn recv(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, taken)) = Frame::decode(&self.buffer).unwrap() {
                self.buffer.drain(..taken);
                return Some(frame);
            }
            match self.socket.recv().await?.ok()? {
                Message::Binary(bytes) => self.buffer.extend_from_slice(&bytes),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Bytes are cut in the middle of frames, as a network may do.
    async fn send(&mut self, frame: Frame) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).unwrap();
        for piece in bytes.chunks(bytes.len() / 2 + 1) {
            if self.socket.send(Message::Binary(piece.to_vec().into())).await.is_err() {
                return;
            }
        }
    }

    async fn out(&mut self, text: &str) {
        self.send(Frame::Stdout(text.as_bytes().to_vec())).await;
    }

    async fn exit(&mut self, code: i32) {
        self.send(Frame::Control(Control::Exit { code })).await;
    }
}

pub async fn serve(socket: WebSocket, plan: Arc<Mutex<Plan>>) {
    let mut line = Line { socket, buffer: Vec::new() };
    answer(&mut line, plan).await;
    // Closing with input unread may take back what was sent just before.
    if line.socket.send(Message::Close(None)).await.is_ok() {
        while let Some(Ok(_)) = line.socket.recv().await {}
    }
}

async fn answer(line: &mut Line, plan: Arc<Mutex<Plan>>) {
    let Some(Frame::Control(Control::Open(open))) = line.recv().await else { return };
    let files = {
        let mut plan = plan.lock().unwrap();
        plan.streams.push(format!("{open:?}"));
        plan.files.clone()
    };
    match open {
        Open::Exec { argv, env, terminal, .. } => {
            if argv.first().is_some_and(|program| program == "missing") {
                let message = "there is no program `missing`".to_owned();
                line.send(Frame::Control(Control::Error { cause: "not-found".into(), message })).await;
                return;
            }
            line.send(Frame::Control(Control::Started)).await;
            if let Some(size) = terminal {
                line.out(&format!("size {}x{}\r\n", size.rows, size.cols)).await;
                terminal_loop(line, &plan).await;
                return;
            }
            let words: Vec<&str> = argv.iter().map(String::as_str).collect();
            command(line, &words, &env, &files, &plan).await;
        }
        Open::Put { path } => {
            line.send(Frame::Control(Control::Started)).await;
            let mut archive = Vec::new();
            while let Some(Frame::Stdin(data)) = line.recv().await {
                if data.is_empty() {
                    tar::Archive::new(archive.as_slice()).unpack(inside(&files, &path)).unwrap();
                    line.exit(0).await;
                    return;
                }
                archive.extend(data);
            }
        }
        Open::Get { path } => {
            let at = inside(&files, &path);
            if !at.exists() {
                let message = format!("{path} does not exist");
                line.send(Frame::Control(Control::Error { cause: "not-found".into(), message })).await;
                return;
            }
            line.send(Frame::Control(Control::Started)).await;
            let mut builder = tar::Builder::new(Vec::new());
            let name = at.file_name().unwrap();
            if at.is_dir() {
                builder.append_dir_all(name, &at).unwrap();
            } else {
                builder.append_path_with_name(&at, name).unwrap();
            }
            for piece in builder.into_inner().unwrap().chunks(MAX_PAYLOAD) {
                line.send(Frame::Stdout(piece.to_vec())).await;
            }
            line.exit(0).await;
        }
        other => panic!("{other:?} is not expected"),
    }
}

fn inside(files: &Path, path: &str) -> PathBuf {
    files.join(path.trim_start_matches('/'))
}

async fn command(
    line: &mut Line,
    words: &[&str],
    env: &std::collections::BTreeMap<String, String>,
    files: &Path,
    plan: &Mutex<Plan>,
) {
    match words {
        ["cat"] => {
            while let Some(Frame::Stdin(data)) = line.recv().await {
                if data.is_empty() {
                    line.exit(0).await;
                    return;
                }
                line.send(Frame::Stdout(data)).await;
            }
        }
        ["both", code] => {
            line.out("to out\n").await;
            line.send(Frame::Stderr(b"to err\n".to_vec())).await;
            line.exit(code.parse().unwrap()).await;
        }
        ["env"] => {
            for (name, value) in env {
                line.out(&format!("{name}={value}\n")).await;
            }
            line.exit(0).await;
        }
        ["/bin/sh", "-c", r#"test -d "$1""#, "sh", path] => {
            let found = inside(files, path).is_dir();
            line.exit(i32::from(!found)).await;
        }
        ["/bin/sh", "-c", script] => {
            line.out(&format!("shell: {script}\n")).await;
            line.exit(0).await;
        }
        ["wait"] => {
            line.out("waiting\n").await;
            while let Some(frame) = line.recv().await {
                if let Frame::Control(control) = frame {
                    plan.lock().unwrap().streams.push(format!("{control:?}"));
                    if let Control::Signal { number } = control {
                        line.exit(128 + number).await;
                        return;
                    }
                }
            }
            plan.lock().unwrap().streams.push("closed".into());
        }
        ["cut"] => line.out("half a").await,
        other => panic!("{other:?} is not expected"),
    }
}

/// Echoes in angle brackets, so that an echo of the local terminal looks different.
async fn terminal_loop(line: &mut Line, plan: &Mutex<Plan>) {
    while let Some(frame) = line.recv().await {
        match frame {
            Frame::Stdin(data) if data == b"q" => {
                line.exit(7).await;
                return;
            }
            Frame::Stdin(data) => line.out(&format!("<{}>", data.escape_ascii())).await,
            Frame::Control(Control::Resize(size)) => {
                line.out(&format!("resized {}x{}\r\n", size.rows, size.cols)).await
            }
            other => panic!("{other:?} is not expected"),
        }
    }
    plan.lock().unwrap().streams.push("closed".into());
}
