//! One instance: finding it, what may be asked of it in each state, and why it is as it is.

use base::{InstanceId, Span};
use domain::device::DeviceSample;
use domain::instance::{LIFE_CYCLE, State};
use engine::Stats;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::site::{CARD, Site, machine};

async fn it_is_found_by_id_slug_and_name(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("模型 训练").await;
    let slug = site.row(&id).await.slug;
    for reference in [id.as_str(), slug.as_str(), "%E6%A8%A1%E5%9E%8B%20%E8%AE%AD%E7%BB%83"] {
        assert_eq!(site.get(&site.alice, &format!("/v1/instances/{reference}")).await.ok(200)["id"], id.as_str());
    }
    for missing in ["nope", "ins-00000000000000000000000000", "%E6%A8%A1", "%25", "' OR '1'='1"] {
        let path = format!("/v1/instances/{}", missing.replace(' ', "%20"));
        site.get(&site.alice, &path).await.says(404, "not-found", &["does not exist", "suanli ls --all"]);
    }
}

async fn an_ambiguous_name_lists_its_candidates(db: &Db) {
    let site = Site::new(db).await;
    let (first, second) = (site.rented("job").await, site.rented("job").await);
    for verb in ["", "/why", "/usage", "/events"] {
        let answer = site.get(&site.alice, &format!("/v1/instances/job{verb}")).await;
        answer.says(422, "ambiguous-name", &[first.as_str(), second.as_str(), "use the id or the slug"]);
    }
    for verb in ["stop", "release", "start"] {
        let answer = site.post(&site.alice, &format!("/v1/instances/job/{verb}"), json!({})).await;
        answer.problem(422, "ambiguous-name");
    }
    // Of a released one and a living one the living is meant; of released ones alone, they are.
    site.state(&first, State::Released, "released").await;
    assert_eq!(site.get(&site.alice, "/v1/instances/job").await.ok(200)["id"], second.as_str());
    site.state(&second, State::Released, "released").await;
    site.get(&site.alice, "/v1/instances/job").await.problem(422, "ambiguous-name");
    // A name that looks like another's slug does not hide that one.
    let slug = site.row(&second).await.slug.to_string();
    site.rented(&slug).await;
    assert_eq!(site.get(&site.alice, &format!("/v1/instances/{slug}")).await.ok(200)["id"], second.as_str());
}

async fn ask(site: &Site, id: &InstanceId, verb: &str) -> Answer {
    site.post(&site.alice, &format!("/v1/instances/{id}/{verb}"), json!({})).await
}

/// In each state exactly what the life cycle allows.
async fn each_state_takes_what_it_can(db: &Db) {
    let site = Site::new(db).await;
    use State::*;
    let id = site.rented("job").await;
    for row in LIFE_CYCLE {
        let state = row.state;
        for verb in ["stop", "start", "release"] {
            let desired = match state {
                Stopping | Stopped | Lost | Failed => "stopped",
                Releasing | Released => "released",
                _ => "running",
            };
            site.state(&id, state, desired).await;
            let allowed = match verb {
                "stop" => matches!(state, Requested | Creating | Starting | Running),
                "start" => matches!(state, Stopped | Lost | Failed),
                _ => state != Released,
            };
            let before = site.row(&id).await;
            if verb == "start" && allowed {
                // The hold of an instance at rest was given back when it came to rest.
                let mut conn = db.store.read().await.unwrap();
                sqlx::query("DELETE FROM holds").execute(&mut *conn).await.unwrap();
            }
            let answer = ask(&site, &id, verb).await;
            let after = site.row(&id).await;
            if allowed {
                let want = match verb {
                    "stop" => "stopped",
                    "start" => "running",
                    _ => "released",
                };
                assert_eq!(answer.ok(202)["desired"], want, "{verb} in {state}");
                assert!(after.wishes > before.wishes && after.due_at.is_some(), "{verb} in {state}");
            } else {
                answer.says(409, "wrong-state", &[]);
                assert_eq!(after, before, "{verb} in {state}");
            }
        }
    }
}

async fn a_second_wish_is_answered_truly(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    ask(&site, &id, "stop").await.ok(202);
    ask(&site, &id, "stop").await.says(409, "wrong-state", &["is being stopped already"]);
    ask(&site, &id, "start").await.says(409, "wrong-state", &["is running, so it cannot be started"]);
    ask(&site, &id, "release").await.ok(202);
    ask(&site, &id, "stop").await.says(409, "wrong-state", &["is being released already"]);
    ask(&site, &id, "release").await.ok(202);
    site.state(&id, State::Stopped, "released").await;
    ask(&site, &id, "start").await.says(409, "wrong-state", &["is being released"]);
    site.state(&id, State::Released, "released").await;
    ask(&site, &id, "release").await.says(409, "wrong-state", &["released already"]);
}

async fn a_stop_ends_the_meter_and_says_who(db: &Db) {
    let site = Site::new(db).await;
    let (mine, theirs) =
        (site.running("mine", Span::from_secs(60)).await, site.running("theirs", Span::from_secs(60)).await);
    let stopped = ask(&site, &mine, "stop").await.ok(202);
    assert_eq!(stopped["reason"]["code"], "by-renter");
    assert_eq!(stopped["reason"]["message"], "stopped by alice");
    assert!(stopped["reason"]["hint"].as_str().unwrap().contains("data are kept"));
    let by = site.post(&site.operator, &format!("/v1/instances/{theirs}/stop"), json!({})).await.ok(202);
    assert_eq!(by["reason"]["code"], "by-operator");
    assert_eq!(site.number("SELECT COUNT(*) FROM segments WHERE to_at IS NULL").await, 0);
    assert_eq!(site.number("SELECT COUNT(*) FROM segments WHERE closed_by = 'by-operator'").await, 1);
}

/// A release promises nothing about data: they go.
async fn a_release_does_not_say_that_data_are_kept(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let released = ask(&site, &id, "release").await.ok(202);
    assert_eq!(released["reason"]["message"], "released by alice");
    assert!(released["reason"].get("hint").is_none(), "{released}");
    let why = site.get(&site.alice, &format!("/v1/instances/{id}/why")).await;
    assert!(!why.text().contains("kept"), "{}", why.text());
    assert_eq!(site.number("SELECT COUNT(*) FROM segments WHERE to_at IS NULL").await, 0);
}

async fn stopped(site: &Site, name: &str) -> InstanceId {
    let id = site.running(name, Span::from_secs(60)).await;
    ask(site, &id, "stop").await.ok(202);
    site.state(&id, State::Stopped, "stopped").await;
    let (gone, now) = (id.clone(), site.app.now());
    crate::db::write!(site.app.store, |tx, gone| {
        store::allocations::give_back(tx, &gone, now).await?;
        store::accounts::unhold(tx, &gone).await
    })
    .unwrap();
    id
}

async fn a_start_takes_what_is_asked_at_the_price_of_today(db: &Db) {
    let site = Site::new(db).await;
    machine(&site.app, "node-b", "container", "a100-pcie-40g", 10..12).await;
    let id = stopped(&site, "job").await;
    let start = async |body: Value| site.post(&site.alice, &format!("/v1/instances/{id}/start"), body).await;
    start(json!({ "count": 0 })).await.says(422, "not-offered", &["without a card"]);
    start(json!({ "count": -1 })).await.problem(422, "invalid-count");
    start(json!({ "count": 5 })).await.problem(409, "more-than-exist");
    start(json!({ "gpu": "RTX 4091" })).await.says(422, "unknown-gpu", &["RTX 4090 24G"]);
    start(json!({ "gpus": 1 })).await.says(422, "invalid-request", &["gpus"]);
    let before = site.row(&id).await;
    assert_eq!(before.state, State::Stopped);
    let dearer = billing::book::DEMO.replace("on_demand = \"1.80\"", "on_demand = \"1.90\"");
    site.put(&site.operator, "/v1/prices", json!({ "text": dearer })).await.ok(200);
    let started = start(json!({ "count": 2 })).await.ok(202);
    assert_eq!((started["count"].as_i64(), started["rate"]["micros"].as_i64()), (Some(2), Some(3_800_000)));
    assert_eq!((started["state"].as_str(), started["desired"].as_str()), (Some("requested"), Some("running")));
    assert!(started.get("reason").is_none());
    assert_ne!(started["price_version"], before.price_version.as_str());
    assert_eq!(site.row(&id).await.generation, before.generation + 1);
    let other = stopped(&site, "other").await;
    let body = json!({ "gpu": "A100 40G" });
    let moved = site.post(&site.alice, &format!("/v1/instances/{other}/start"), body).await.ok(202);
    assert_eq!((moved["gpu"].as_str(), moved["rate"]["micros"].as_i64()), (Some("a100-pcie-40g"), Some(3_200_000)));
}

async fn why_says_what_is_and_what_helps(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let why = async || site.get(&site.alice, &format!("/v1/instances/{id}/why")).await.ok(200);
    for row in LIFE_CYCLE {
        site.state(&id, row.state, "running").await;
        let said = why().await;
        assert_eq!(said["state"], row.state.as_str());
        assert!(said["summary"].as_str().unwrap().starts_with(row.state.as_str()), "{said}");
        assert!(said["summary"].as_str().unwrap().contains(row.meaning), "{said}");
    }
    let reason =
        json!({ "rest": "stopped", "cause": "idle", "message": "no activity for 2h", "hint": "start it again" });
    let mut conn = db.store.read().await.unwrap();
    let sql = "UPDATE instances SET reason = $1, deadline_at = NULL";
    sqlx::query(sql).bind(reason.to_string()).execute(&mut *conn).await.unwrap();
    drop(conn);
    for state in [State::Stopped, State::Stopping, State::Lost, State::Failed] {
        site.state(&id, state, "stopped").await;
        let said = why().await;
        assert!(said["summary"].as_str().unwrap().contains("no activity for 2h"), "{said}");
        assert_eq!(said["reason"]["code"], "idle");
        let help = said["suggestions"].to_string();
        assert!(help.contains("start it again") && help.contains("--stop-idle off"), "{help}");
        assert_eq!(help.contains("suanli release"), state == State::Failed, "{help}");
    }
    let running = site.running("other", Span::from_secs(60)).await;
    let said = site.get(&site.alice, &format!("/v1/instances/{running}/why")).await.ok(200);
    let next = said["next"].to_string();
    assert!(next.contains("stops after 2h without activity") && next.contains("money ends at"), "{next}");
}

async fn usage_is_of_running_instances(db: &Db) {
    let site = Site::new(db).await;
    let id = site.rented("job").await;
    let usage = || site.get(&site.alice, "/v1/instances/job/usage");
    usage().await.says(409, "wrong-state", &["requested", "only a running instance"]);
    site.run(&id, Span::from_secs(60)).await;
    let away = usage().await;
    away.says(503, "unavailable", &["does not answer"]);
    assert_eq!(away.header("retry-after"), "1");
    let now = site.app.now();
    *site.reach.stats.lock().unwrap() = Some(Stats {
        at: now,
        cpu_used: Span::from_secs(5),
        cpu_milli: 1_500,
        memory_used_mib: 700,
        processes: 3,
        sessions: 1,
        last_active_at: now,
        activity: "a terminal".into(),
        devices: vec![DeviceSample {
            uuid: "GPU-fake-0".into(),
            at: now,
            gpu_util_pct: Some(93),
            memory_used_mib: Some(20_000),
            power_mw: None,
            sm_clock_mhz: None,
            temperature_c: None,
            lost: false,
        }],
    });
    let used = usage().await.ok(200);
    assert_eq!((used["cpu_milli"].as_i64(), used["cpus"].as_i64()), (Some(1_500), Some(8)));
    assert_eq!(used["devices"].as_array().unwrap().len(), 1);
    assert_eq!(used["devices"][0]["uuid"], "GPU-fake-0");
    assert_eq!(used["devices"][0]["sample"]["gpu_util_pct"], 93);
}

async fn a_view_shows_cards_node_and_proven_cost(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_hours(2)).await;
    let shown = site.get(&site.alice, "/v1/instances/job").await.ok(200);
    assert_eq!(shown["cost_so_far"]["amount"], "0.00", "nothing is proven yet");
    assert_eq!((shown["node"].as_str(), shown["isolation"].as_str()), (Some("node-a"), Some("container")));
    assert_eq!(shown["devices"][0]["uuid"], "GPU-fake-0");
    let from = site.row(&id).await.ready_at.unwrap();
    site.proven(from.after(Span::from_hours(1))).await;
    let shown = site.get(&site.alice, "/v1/instances/job").await.ok(200);
    assert_eq!(shown["cost_so_far"]["amount"], "1.80");
    assert_eq!(shown["gpu"], CARD);
}

/// What is named changes, also while it runs; what would stop it at once is refused.
async fn rules_change_while_it_runs(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(3_600)).await;
    site.proven(site.app.now()).await;
    let set = async |body: Value| site.put(&site.alice, "/v1/instances/job/rules", body).await;
    let view = set(json!({ "idle": "30m", "at": "2099-01-01T00:00:00Z" })).await.ok(200);
    assert_eq!(view["stop_rules"], json!({ "idle": "30m", "at": "2099-01-01T00:00:00Z" }));
    assert!(view["rules"][0].as_str().unwrap().contains("30m"), "{}", view["rules"]);
    let view = set(json!({ "at": "off", "after": "8h", "budget": "50", "snooze": "2h" })).await.ok(200);
    let rules = &view["stop_rules"];
    assert_eq!((&rules["idle"], &rules["after"], rules.get("at")), (&json!("30m"), &json!("8h"), None));
    assert_eq!(rules["budget"]["amount"], "50.00");
    assert!(rules["snoozed_until"].as_str().unwrap() > site.app.now().to_string().as_str());
    assert!(view["rules"].as_array().unwrap().last().unwrap().as_str().unwrap().contains("snoozed"));
    // Its controller looks at once.
    let row = site.row(&id).await;
    assert!(row.due_at.is_some_and(|at| at <= site.app.now()), "{row:?}");
    assert_eq!((row.state.as_str(), row.generation), ("running", 1));
    for (body, cause, words) in [
        (json!({}), "invalid-request", "no rule is named"),
        (json!({ "after": "59m" }), "invalid-request", "would stop it at once"),
        (json!({ "budget": "0.01" }), "invalid-request", "has cost"),
        (json!({ "idle": "1s" }), "invalid-request", "too short"),
        (json!({ "snooze": "30d" }), "invalid-request", "cannot be snoozed"),
        (json!({ "budget": "-1" }), "invalid-amount", "budget"),
    ] {
        set(body).await.says(422, cause, &[words]);
    }
    let events = site.get(&site.alice, "/v1/instances/job/events").await.ok(200).to_string();
    assert_eq!(events.matches("rules-changed").count(), 0, "events are numbered by the controllers");
    assert_eq!(site.number("SELECT COUNT(*) FROM events WHERE kind = 'rules-changed'").await, 2);
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log WHERE action = 'set_rules' AND result = 'done'").await, 2);
    // At rest the rules are those of the next start; there is nothing to snooze.
    site.state(&id, State::Stopped, "stopped").await;
    set(json!({ "snooze": "1h" })).await.says(409, "wrong-state", &["nothing to snooze"]);
    assert_eq!(set(json!({ "after": "5m" })).await.ok(200)["stop_rules"]["after"], "5m");
    site.state(&id, State::Released, "released").await;
    set(json!({ "after": "5m" })).await.problem(409, "wrong-state");
}

both!(
    rules_change_while_it_runs,
    it_is_found_by_id_slug_and_name,
    an_ambiguous_name_lists_its_candidates,
    each_state_takes_what_it_can,
    a_second_wish_is_answered_truly,
    a_stop_ends_the_meter_and_says_who,
    a_release_does_not_say_that_data_are_kept,
    a_start_takes_what_is_asked_at_the_price_of_today,
    why_says_what_is_and_what_helps,
    usage_is_of_running_instances,
    a_view_shows_cards_node_and_proven_cost,
);
