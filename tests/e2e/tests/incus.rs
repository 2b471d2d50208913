//! Rentals on a real Incus: from the offer to the bill, and whatever breaks meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::incus::Member;
use e2e::{Person, Site, Wanted, assert_bill_is_right, at, eventually, micros};

/// Stretches of use as the events tell them, at the instance's rate.
fn stretches(renter: &Person, id: &str) -> Vec<(i64, i64, i64)> {
    let rate = micros(&renter.show(id)["rate"]);
    let from = renter.events(id, "ready").iter().map(|e| at(&e["data"]["ready_at"]).micros()).collect::<Vec<_>>();
    let mut to: Vec<i64> = renter.events(id, "stop-accepted").iter().map(|e| at(&e["at"]).micros()).collect();
    to.extend(renter.events(id, "release-accepted").iter().map(|e| at(&e["at"]).micros()));
    to.truncate(from.len());
    from.into_iter().zip(to).map(|(from, to)| (rate, from, to)).collect()
}

#[test]
fn incus_is_rented_from_the_offer_to_the_bill() {
    let member = Member::of_run(0);
    let site = Site::with(Wanted { incus: Some(member.clone()), ..Wanted::default() });
    let renter = site.renter("alpha", "100");
    let id = renter.rent("RTX 4090", &["--name", "whole machine", "--stop-idle", "off", "--env", "WORD=a secret"]);
    assert_eq!(renter.show(&id)["isolation"], "container");
    let inside = "id -u; basename $(readlink /proc/1/exe); echo $WORD; ls /dev | grep -c '^nvidia[0-9]'";
    assert_eq!(renter.inside(&id, inside), "0\nsystemd\na secret\n1");
    assert_eq!(renter.inside(&id, "test -s /opt/suanli/run/token && echo there"), "there");
    renter.inside(&id, "echo kept > /workspace/note; echo kept > /usr/local/bin/tool");
    assert_eq!(member.containers(), format!("{id}-g1,RUNNING"));

    renter.ok(&["stop", &id, "--wait"]);
    assert_eq!(member.containers(), format!("{id}-g1,STOPPED"), "the environment stays");
    renter.ok(&["start", &id, "--wait"]);
    assert_eq!(renter.inside(&id, "cat /workspace/note /usr/local/bin/tool"), "kept\nkept");
    assert_eq!(member.containers(), format!("{id}-g2,RUNNING"));
    renter.ok(&["release", &id, "--yes", "--wait"]);
    assert_eq!(member.containers(), "");
    let bill = assert_bill_is_right(&site, &renter, 100_000_000, &stretches(&renter, &id));
    assert!(micros(&bill["total"]) > 0);
    site.audit();
}

#[test]
fn incus_and_the_server_may_die_under_a_running_instance_and_the_bill_is_right() {
    let member = Member::of_run(2);
    let site = Site::with(Wanted { incus: Some(member.clone()), ..Wanted::default() });
    let renter = site.renter("alpha", "100");
    let id = renter.rent("RTX 4090", &["--stop-idle", "off"]);
    member.daemon("kill");
    assert_eq!(renter.inside(&id, "echo here"), "here");
    site.kill_server();
    site.kill_agent();
    site.restart();
    assert_eq!(renter.state(&id), "running");
    assert_eq!(renter.inside(&id, "echo still"), "still");
    // The wish counts when it is accepted; it is carried out when Incus is back.
    renter.ok(&["stop", &id]);
    member.daemon("start");
    renter.wait_for(&id, "stopped");
    assert_eq!(member.containers(), format!("{id}-g1,STOPPED"));
    renter.ok(&["release", &id, "--yes", "--wait"]);
    eventually("nothing is left", || member.containers().is_empty());
    assert_bill_is_right(&site, &renter, 100_000_000, &stretches(&renter, &id));
    site.audit();
}
