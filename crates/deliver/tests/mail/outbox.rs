//! From the outbox to a mail server: once, again after trouble, and never where
//! that is hopeless.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::{Span, Timestamp};
use deliver::worker::{Now, round};
use deliver::{Letter, Way};
use store::settings::{Mail, Settings};
use store::{Store, incidents, outbox, settings};

use crate::db::{Db, both, write};
use crate::sink::Sink;

const T0: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// A clock that a test moves.
#[derive(Clone)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(T0.micros())))
    }

    fn pass(&self, span: Span) {
        self.0.fetch_add(span.micros(), Ordering::SeqCst);
    }

    fn now(&self) -> Now {
        let clock = self.0.clone();
        Arc::new(move || Timestamp::from_micros(clock.load(Ordering::SeqCst)))
    }
}

/// Settings that send to a sink, and a letter in the outbox.
async fn mail(store: &Store, url: String, to: &str, language: &str) -> Settings {
    let mail = Some(Mail { url, from: "GPU 云 <gpu@site.example>".into() });
    let set = Settings { mail, name: "Lab".into(), public_url: "https://gpu.example".into(), ..Settings::default() };
    let (way, to, language) = (Way::default(), to.to_owned(), language.to_owned());
    write!(store, |tx, set, way, to, language| {
        settings::set(tx, &set).await?;
        let letter = Letter::Reset { user: "wei".into(), link: way.page(&set, "/reset#secret") };
        way.write(tx, &set, &to, Some(&language), &letter, T0).await
    })
    .unwrap();
    set
}

fn plain(sink: &Sink) -> String {
    format!("smtp://us%40er:p%3Aw@127.0.0.1:{}?tls=none", sink.port)
}

async fn text(store: &Store, sql: &'static str) -> Option<String> {
    sqlx::query_scalar(sql).fetch_one(&mut *store.read().await.unwrap()).await.unwrap()
}

async fn number(store: &Store, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&mut *store.read().await.unwrap()).await.unwrap()
}

async fn a_mail_leaves_once_and_is_forgotten(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, plain(&sink), "wei@example.org", "en").await;
    assert!(text(&db.store, "SELECT data FROM outbox").await.is_some());
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 0);
    let kept = sink.kept.lock().unwrap().clone();
    assert_eq!(kept.len(), 1);
    let mail = &kept[0];
    assert_eq!((mail.from.as_str(), mail.to.as_str()), ("FROM:<gpu@site.example>", "TO:<wei@example.org>"));
    assert_eq!(mail.hello, "site.example");
    // \0us@er\0p:w
    assert_eq!(mail.login.as_deref(), Some("PLAIN AHVzQGVyAHA6dw=="));
    for part in
        ["Subject: Lab: set a new password", "Auto-Submitted: auto-generated", "\nhttps://gpu.example/reset#secret\n"]
    {
        assert!(mail.data.contains(part), "{part}: {}", mail.data);
    }
    assert!(mail.data.contains("Message-ID: <msg-") && mail.data.contains("Date: "));
    assert_eq!(text(&db.store, "SELECT data FROM outbox").await, None);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NOT NULL AND tries = 1").await, 1);
}

async fn mail_in_chinese_is_mail_too(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, plain(&sink), "wei@example.org", "zh-CN").await;
    round(&db.store, &Way::default(), &clock.now()).await.unwrap();
    let kept = sink.kept.lock().unwrap().clone();
    assert!(kept[0].data.contains("charset=utf-8") && kept[0].data.contains("=?utf-8?"), "{}", kept[0].data);
}

async fn what_is_refused_for_now_is_tried_again_later(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, plain(&sink), "wei@example.org", "en").await;
    *sink.says.lock().unwrap() = vec!["451 4.7.1 come back later", "550 5.7.1 relaying denied"];
    let mut tries = 0;
    // Each pause is as long as the last one and as long again.
    for wait in [20, 40] {
        assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
        tries += 1;
        assert_eq!(number(&db.store, "SELECT tries FROM outbox").await, tries);
        clock.pass(Span::from_secs(wait - 1));
        assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 0);
        clock.pass(Span::from_secs(1));
    }
    let error = text(&db.store, "SELECT error FROM outbox").await.unwrap();
    assert!(error.contains("relaying denied"), "{error}");
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
    assert_eq!(sink.kept.lock().unwrap().len(), 1);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM incidents").await, 0);
}

async fn an_address_that_does_not_exist_is_given_up_without_alarm(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, plain(&sink), "nobody@example.org", "en").await;
    *sink.says.lock().unwrap() = vec!["550 5.1.1 no such user"];
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM outbox WHERE due_at IS NULL AND data IS NULL").await, 1);
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM incidents").await, 0);
}

async fn after_three_days_the_operator_hears_of_it_until_mail_leaves_again(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, "smtp://127.0.0.1:1?tls=none".into(), "wei@example.org", "en").await;
    let mut rounds = 0;
    while number(&db.store, "SELECT COUNT(*) FROM outbox WHERE due_at IS NOT NULL").await == 1 {
        round(&db.store, &Way::default(), &clock.now()).await.unwrap();
        clock.pass(Span::from_hours(2));
        rounds += 1;
    }
    assert!((30..50).contains(&rounds), "{rounds}");
    let open = incidents::list(&mut db.store.read().await.unwrap(), 10).await.unwrap();
    assert_eq!((open.len(), open[0].kind.as_str(), open[0].closed_at), (1, "mail-not-sent", None));
    assert!(open[0].action.contains("suanli site show"));
    assert_eq!(text(&db.store, "SELECT data FROM outbox").await, None, "what could open a door is forgotten");
    mail(&db.store, plain(&sink), "wei@example.org", "en").await;
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
    let open = incidents::list(&mut db.store.read().await.unwrap(), 10).await.unwrap();
    assert!(open[0].closed_at.is_some());
}

/// A server that took a message and froze: another one sends it, and the result of
/// the first does not count any more.
async fn a_message_of_who_froze_is_sent_by_another(db: &Db) {
    let (sink, clock) = (Sink::start().await, Clock::new());
    mail(&db.store, plain(&sink), "wei@example.org", "en").await;
    let frozen = write!(db.store, |tx| outbox::claim(tx, T0, 4).await).unwrap();
    assert_eq!(frozen.len(), 1);
    assert_eq!(write!(db.store, |tx| outbox::claim(tx, T0, 4).await).unwrap(), []);
    // The lease is measured with the database's own clock where servers share one.
    let mut raw = db.store.read().await.unwrap();
    sqlx::query("UPDATE outbox SET lease_until = 0").execute(&mut *raw).await.unwrap();
    drop(raw);
    assert_eq!(round(&db.store, &Way::default(), &clock.now()).await.unwrap(), 1);
    let late = frozen[0].clone();
    assert!(!write!(db.store, |tx, late| outbox::sent(tx, &late, T0).await).unwrap());
    let late = frozen[0].clone();
    write!(db.store, |tx, late| outbox::failed(tx, &late, "late", false, T0).await).unwrap();
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM outbox WHERE due_at IS NULL AND error IS NULL").await, 1);
}

async fn without_a_way_no_mail_is_written(db: &Db) {
    let (way, set) = (Way::default(), Settings::default());
    assert!(!way.is_open(&set));
    write!(db.store, |tx, way, set| {
        let letter = Letter::Verify { user: "wei".into(), link: "x".into() };
        way.write(tx, &set, "wei@example.org", None, &letter, T0).await
    })
    .unwrap();
    assert_eq!(number(&db.store, "SELECT COUNT(*) FROM outbox").await, 0);
}

both!(
    a_mail_leaves_once_and_is_forgotten,
    mail_in_chinese_is_mail_too,
    what_is_refused_for_now_is_tried_again_later,
    an_address_that_does_not_exist_is_given_up_without_alarm,
    after_three_days_the_operator_hears_of_it_until_mail_leaves_again,
    a_message_of_who_froze_is_sent_by_another,
    without_a_way_no_mail_is_written,
);
