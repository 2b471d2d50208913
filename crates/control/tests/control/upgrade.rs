//! Instances that an older server left running are driven on by this one.

use std::sync::Arc;

use base::Span;
use control::Control;
use control::node::Watch;
use control::testing::{SimClock, SimEngine};
use domain::instance::State;
use engine::{Engine, InstanceRef, InstanceSpec};
use sqlx::{AnyConnection, Connection};
use store::{accounts, audit, instances};

use crate::world::{Machine, TEN, World, card, clock, money};

/// The machine as it was beside the older server: two instances run since ten.
async fn machine(clock: &Arc<SimClock>, running: &[instances::Instance]) -> SimEngine {
    let engine = SimEngine::new(clock.clone(), "node-0", (0..4).map(card).collect());
    for i in running {
        let instance = InstanceRef { id: i.id.clone(), slug: i.slug.clone(), generation: i.generation };
        let n = if i.rate.to_string() == "3.60" { 0 } else { 2 };
        let spec = InstanceSpec {
            instance: instance.clone(),
            devices: vec![format!("GPU-{n}")],
            cpus: i.cpus,
            memory_mib: i.memory_mib,
            disk_mib: i.disk_mib,
            max_processes: 4_096,
            env: i.env.clone(),
            on_start: i.on_start.clone(),
            token: None,
        };
        engine.create(&spec).await.unwrap();
        engine.start(&instance).await.unwrap();
    }
    engine
}

#[tokio::test]
async fn a_site_of_schema_0001_is_driven_on() {
    let mut w = World::new(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("old.db").display());
    sqlx::any::install_default_drivers();
    let mut raw = AnyConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
    for sql in [
        include_str!("../../../store/tests/store/schema-0001/site.sql"),
        include_str!("../../../store/tests/store/schema-0001/sqlite.sql"),
    ] {
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    }
    raw.close().await.unwrap();

    w.store = store::open(&url).await.unwrap();
    let mut db = w.store.read().await.unwrap();
    let account = accounts::list(&mut db).await.unwrap().remove(0);
    let all = instances::list(&mut db, &account.id, None, true, None, 10).await.unwrap();
    drop(db);
    w.account = account.id.clone();
    w.paid_in = money("1000000");
    let running: Vec<_> = all.iter().filter(|i| i.state == State::Running).cloned().collect();
    assert_eq!(running.len(), 2);
    w.clock = Arc::new(SimClock::at(TEN));
    let engine = Arc::new(machine(&w.clock, &running).await);
    w.clock.set(clock("10:13:00"));
    w.control = Control::new(w.store.clone(), w.clock.clone());
    let id = control::node::register(&w.control, engine.clone()).await.unwrap();
    let watch = Watch::new(w.control.clone(), engine.clone(), id.clone());
    w.machines.push(Machine { id, engine, watch });

    w.run_for(Span::from_secs(60)).await;
    let find = |rate: &str| running.iter().find(|i| i.rate.to_string() == rate).unwrap().id.clone();
    let (runs, stops) = (find("3.60"), find("2.40"));
    assert_eq!(w.state(&runs).await, State::Running);
    assert_eq!(w.state(&stops).await, State::Stopped, "its stop was accepted by the older server");
    // 10 minutes at 1.80 by the older server, 13 at 2.40 by this one.
    assert_eq!(w.charged().await, money("0.82"));
    w.stop(&runs).await;
    w.run_for(Span::from_secs(60)).await;
    assert_eq!(w.state(&runs).await, State::Stopped);
    // 14 minutes at 3.60.
    assert_eq!(w.charged().await, money("1.66"));
    assert_eq!(w.held_cards().await, 0);
    let report = w.store.snapshot(|db| Box::pin(audit::run(db))).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}
