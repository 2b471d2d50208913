//! A reader of `/v1/events` who does not read.

use std::time::Duration;

use base::Span;
use server::limits::Limits;
use server::observed::{Limit, Open};
use store::events;

use crate::db::{Db, both, write};
use crate::raw::{Raw, request};
use crate::served::{Served, generous};
use crate::site::Site;

/// More than all buffers between two sockets of one machine hold.
const EVENTS: i64 = 3_000;
const BYTES: usize = 8 * 1024;

async fn a_reader_who_does_not_read_is_cut_off_and_resumes_without_loss(db: &Db) {
    let site = Site::new(db).await;
    let stalled = Duration::from_millis(500);
    let served = Served::new(&site, Limits { stalled, ..generous() }).await;
    let (now, account) = (site.app.now(), site.alpha.clone());
    write!(db.store, |tx, account| {
        let data = serde_json::json!({ "filling": "x".repeat(BYTES) });
        for n in 0..EVENTS {
            let at = now.after(Span::from_millis(n));
            events::record(tx, at, Some(&account), account.as_str(), "filling", &n.to_string(), &data).await?;
        }
        events::sequence(tx).await
    })
    .unwrap();
    let all = site.number("SELECT MAX(seq) FROM events").await;

    let mut reader = Raw::small(served.address).await;
    reader.send(&request("GET", "/v1/events?after=0", Some(&site.alice), None, &[])).await;
    assert!(reader.head().await.starts_with("HTTP/1.1 200"));
    served.until_limited(Limit::Stalled, 1).await;
    served.until_open(Open::Readers, 0).await;
    served.until_open(Open::Connections, 0).await;

    // What had been sent is still there; it is far from everything.
    let mut seen: Vec<i64> = Vec::new();
    let first = ids(&reader.rest().await);
    assert!(!first.is_empty() && first.len() < usize::try_from(EVENTS).unwrap(), "{}", first.len());
    seen.extend(&first);
    let last = seen.last().unwrap().to_string();
    let mut reader = Raw::connect(served.address).await;
    reader.send(&request("GET", "/v1/events", Some(&site.alice), None, &[("last-event-id", &last)])).await;
    assert!(reader.head().await.starts_with("HTTP/1.1 200"));
    served.until_open(Open::Readers, 1).await;
    let mut text = reader.read_already();
    while ids(&text).last() != Some(&all) {
        // Only the last events can be in the middle of a piece: the rest need not be read again.
        let whole = ids(&text);
        if whole.len() > 1 {
            seen.extend(&whole);
            let end = text.windows(2).rposition(|w| w == b"\n\n").unwrap();
            text.drain(..end + 2);
        }
        text.extend(reader.piece().await.expect("the stream goes on"));
    }
    seen.extend(ids(&text));
    let mut conn = db.store.read().await.unwrap();
    let wanted: Vec<i64> = sqlx::query_scalar("SELECT seq FROM events WHERE account_id = $1 ORDER BY seq")
        .bind(site.alpha.as_str())
        .fetch_all(&mut *conn)
        .await
        .unwrap();
    assert_eq!(seen, wanted, "each once, in order");
    drop((conn, reader));
    served.until_open(Open::Readers, 0).await;
    assert_eq!(served.observed.times_limited(Limit::Stalled), 1, "who reads is not cut off");
    served.end().await;
}

/// Positions of the events that are in a piece of a stream as a whole.
fn ids(stream: &[u8]) -> Vec<i64> {
    let text = String::from_utf8_lossy(stream);
    let end = text.rfind("\n\n").map_or(0, |at| at + 2);
    text[..end].lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

#[test]
fn an_event_that_is_cut_in_the_middle_does_not_count() {
    assert_eq!(ids(b"id: 1\ndata: {}\n\nid: 2\ndata: {"), vec![1]);
    assert_eq!(ids(b"id: 1\ndata: {}\n\nid: 2\ndata: {}\n\n"), vec![1, 2]);
}

both!(a_reader_who_does_not_read_is_cut_off_and_resumes_without_loss);
