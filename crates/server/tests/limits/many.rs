//! Thousands of connections of which nobody makes use.

use server::listen;
use server::observed::Open;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::db::Db;
use crate::raw::{Raw, request};
use crate::served::{Served, generous, within};
use crate::site::Site;

/// Half of them have asked once, half are in the middle of their head. `make soak`
/// does the same with ten thousand.
const CONNECTIONS: usize = 2_000;

/// What one of them may cost, both ends of it together, bytes.
const EACH: usize = 32 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_connections_take_bounded_memory_and_nobody_is_kept_waiting() {
    let room = listen::raise_open_files().unwrap();
    assert!(room >= 2 * CONNECTIONS, "this system allows too few open files: {room}");
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let served = Served::new(&site, generous()).await;
    let healthz = request("GET", "/healthz", None, None, &[]);
    // What is made once and kept does not count.
    for _ in 0..50 {
        assert_eq!(Raw::connect(served.address).await.ask(&healthz).await.status, 200);
    }
    served.until_open(Open::Connections, 0).await;
    let before = resident();
    let mut held = Vec::with_capacity(CONNECTIONS);
    for n in 0..CONNECTIONS {
        let mut stream = within(TcpStream::connect(served.address)).await.unwrap();
        if n % 2 == 0 {
            let mut raw = Raw::over(stream);
            assert_eq!(raw.ask(&healthz).await.status, 200);
            stream = raw.stream;
        } else {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: te").await.unwrap();
        }
        held.push(stream);
    }
    served.until_open(Open::Connections, i64::try_from(CONNECTIONS).unwrap()).await;
    let grown = resident().saturating_sub(before);
    assert!(grown <= CONNECTIONS * EACH, "{} bytes for each connection", grown / CONNECTIONS);
    // Somebody who does want something is answered among them.
    let whoami = request("GET", "/v1/whoami", Some(&site.alice), None, &[]);
    assert_eq!(Raw::connect(served.address).await.ask(&whoami).await.status, 200);
    drop(held);
    served.until_open(Open::Connections, 0).await;
    served.end().await;
    db.end().await;
}

/// Memory of this process that is really there, bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}
