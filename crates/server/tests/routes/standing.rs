//! Streams that are open end with the right to them, whoever takes it away.

use std::sync::Arc;
use std::time::Duration;

use base::{AccountId, Span};
use control::SystemClock;
use domain::rights::Role;
use futures_util::SinkExt;
use serde_json::{Value, json};
use server::App;
use tokio::io::AsyncReadExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::db::{Db, both, write};
use crate::events::{Reader, record};
use crate::members::member;
use crate::site::{Person, Site, request, sequencer};
use crate::stream::{Socket, connect, next, rest};
use crate::tokens::{delete, token};

/// Another session of the same user.
async fn elsewhere(site: &Site, who: &Person) -> Person {
    let (user, now) = (who.id.clone(), site.app.now());
    let token = server::auth::new_token();
    let (hash, ends) = (server::auth::token_hash(&token), now.after(Span::from_hours(1)));
    write!(site.app.store, |tx, user, hash| {
        let id = base::TokenId::new(now, tx.random());
        store::tokens::insert(tx, &user, &crate::site::session(id, now, ends), &hash).await
    })
    .unwrap();
    Person { id: who.id.clone(), token }
}

async fn send(site: &Site, by: &Person, method: &str, path: &str, body: Value) {
    let body = Some(&body).filter(|body| !body.is_null());
    let answer = site.send(request(method, path, Some(by), body, &[])).await;
    assert!(answer.status < 300, "{path}: {}", answer.text());
}

/// However a session or token ends, its event stream does too; others go on.
async fn an_event_stream_ends_with_its_session(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let mut bob = Reader::open(&site, &site.bob, "", None).await;
    let mia = member(&site, "mia", &site.alpha, Role::Member).await;
    let open = async |by: &Person| Reader::open(&site, by, "", None).await;

    let one = elsewhere(&site, &mia).await;
    let (stays, ends) = (open(&mia).await, open(&one).await);
    send(&site, &one, "POST", "/v1/logout", Value::Null).await;
    ends.end().await;

    let two = elsewhere(&site, &mia).await;
    let ends = open(&two).await;
    let list = site.get(&mia, "/v1/sessions").await.ok(200);
    let id = list["items"].as_array().unwrap().iter().find(|s| s["current"] == false).unwrap()["id"].clone();
    send(&site, &mia, "DELETE", &format!("/v1/sessions/{}", id.as_str().unwrap()), Value::Null).await;
    ends.end().await;

    let program = token(&site, &mia, json!({ "name": "ci", "scopes": ["read"] })).await;
    let ends = open(&program).await;
    let id = site.get(&mia, "/v1/tokens").await.ok(200)["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(delete(&site, &mia, &format!("/v1/tokens/{id}")).await.status, 204);
    ends.end().await;

    let program = token(&site, &mia, json!({ "name": "ci", "scopes": ["read"] })).await;
    let ends = open(&program).await;
    send(&site, &site.operator, "POST", "/v1/users/mia/disable", Value::Null).await;
    ends.end().await;
    stays.end().await;

    record(&site.app, Some(&site.beta), "x", json!("still there")).await;
    assert_eq!(bob.next().await["data"], "still there");
}

/// Whether a reader of both accounts is shown an event of `alpha` before the next of `beta`.
async fn sees_alpha(site: &Site, reader: &mut Reader) -> bool {
    let mark = json!(site.app.now());
    record(&site.app, Some(&site.alpha), "x", json!("alpha")).await;
    record(&site.app, Some(&site.beta), "x", mark.clone()).await;
    let mut seen = false;
    loop {
        let data = reader.next().await["data"].clone();
        if data == mark {
            return seen;
        }
        seen |= data == "alpha";
    }
}

/// Whoever leaves an account sees nothing more of it, and goes on with the rest;
/// whoever joins one needs no new stream.
async fn an_event_stream_shows_what_its_reader_may_see_now(db: &Db) {
    let site = Site::new(db).await;
    sequencer(&db.store);
    let mia = member(&site, "mia", &site.alpha, Role::Member).await;
    let join = async |account: &AccountId| {
        let (account, user, now) = (account.clone(), mia.id.clone(), site.app.now());
        write!(db.store, |tx, account, user| store::users::join(tx, &account, &user, Role::Viewer, now).await).unwrap();
    };
    join(&site.beta).await;
    let program = token(&site, &mia, json!({ "name": "x", "scopes": ["read"], "account": "beta" })).await;
    let mut reader = Reader::open(&site, &mia, "", None).await;
    let mut limited = Reader::open(&site, &program, "", None).await;
    let all = async {
        assert!(sees_alpha(&site, &mut reader).await);
        assert_eq!(delete(&site, &site.alice, "/v1/accounts/alpha/members/mia").await.status, 204);
        while sees_alpha(&site, &mut reader).await {}
        assert!(!sees_alpha(&site, &mut reader).await);
        join(&site.alpha).await;
        while !sees_alpha(&site, &mut reader).await {}
        assert!(!sees_alpha(&site, &mut limited).await, "the token is for the other account");
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("it is known soon");
}

async fn closed(mut socket: Socket) {
    match next(&mut socket).await {
        Some(Ok(Message::Close(Some(frame)))) => {
            assert_eq!(frame.code, CloseCode::Policy);
            assert!(frame.reason.contains("signed out"), "{}", frame.reason);
        }
        other => panic!("{other:?}"),
    }
}

/// A terminal does not outlive the right to use the instance.
async fn a_stream_into_an_instance_ends_with_the_right_to_it(db: &Db) {
    let site = Site::new(db).await;
    site.running("job", Span::from_secs(60)).await;
    let mut stays = connect(&site, &site.alice, "job").await.unwrap();
    let mut inside = site.reach.end().await;
    for (n, what) in ["logout", "remove", "role", "disable", "password"].into_iter().enumerate() {
        let name = format!("mia-{n}");
        let mia = member(&site, &name, &site.alpha, Role::Member).await;
        let socket = connect(&site, &mia, "job").await.unwrap();
        let mut end = site.reach.end().await;
        let member = format!("/v1/accounts/alpha/members/{name}");
        match what {
            "logout" => send(&site, &mia, "POST", "/v1/logout-everywhere", json!({})).await,
            "remove" => send(&site, &site.alice, "DELETE", &member, Value::Null).await,
            "role" => send(&site, &site.alice, "PUT", &member, json!({ "role": "viewer" })).await,
            "disable" => send(&site, &site.operator, "POST", &format!("/v1/users/{name}/disable"), Value::Null).await,
            _ => send(&site, &site.operator, "POST", &format!("/v1/users/{name}/password"), Value::Null).await,
        }
        closed(socket).await;
        assert_eq!(rest(&mut end).await, b"", "{what}: the helper inside is told");
    }
    stays.send(Message::binary(&b"here"[..])).await.unwrap();
    let mut got = [0; 4];
    inside.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"here");
}

/// A session may be ended at another server than the one that has its streams.
async fn a_stream_ends_at_every_server(db: &Db) {
    let site = Site::new(db).await;
    let store = db.other().await;
    let clock = Arc::new(SystemClock::start());
    let other = App::new(store, clock, site.reach.clone(), Arc::default(), (*site.app.book()).clone());
    let router = server::router(other);
    let mia = member(&site, "mia", &site.alpha, Role::Member).await;
    let reader = Reader::open_at(&router, &mia, "", None).await;
    send(&site, &mia, "POST", "/v1/logout", Value::Null).await;
    reader.end().await;
}

both!(
    an_event_stream_ends_with_its_session,
    an_event_stream_shows_what_its_reader_may_see_now,
    a_stream_into_an_instance_ends_with_the_right_to_it,
    a_stream_ends_at_every_server,
);
