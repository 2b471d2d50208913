//! One rent from the first start to the bill, as a person goes through it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::io::Write;
use std::process::{Command, Stdio};

use e2e::{Database, Folder, Job, Person, Site, Wanted, assert_bill_is_right, at, eventually, micros, soon, text};
use rustix::process::Signal;

/// Uses one core until it is ended.
const BUSY: &str = "while :; do :; done";

#[test]
fn the_whole_loop_on_sqlite() {
    the_loop(&Site::start());
}

#[test]
fn the_whole_loop_on_postgres() {
    let folder = Folder::new();
    let database = Database::new(&folder);
    let wanted = Wanted { database: Some(database.url()), ..Wanted::default() };
    the_loop(&Site::in_folder(folder, wanted));
}

fn the_loop(site: &Site) {
    let me = site.operator.json(&["whoami"]);
    assert_eq!(me["user"]["operator"], true, "{me}");
    let renter = site.renter("alpha", "100");
    let before = renter.json(&["offers"]);
    let offer = before["offers"].as_array().unwrap().iter().find(|o| o["gpu"] == "rtx-4090-24g").unwrap().clone();
    assert_eq!((offer["free"].as_i64(), offer["fake"].as_bool()), (Some(2), Some(true)), "{offer}");
    let quote = renter.json(&["quote", "--gpu", "RTX 4090", "--disk", "1", "--cpus", "1"]);
    let rate = micros(&offer["on_demand"]);
    assert_eq!(micros(&quote["quote"]["rate"]), rate, "{quote}");

    let id = renter.rent("RTX 4090", &["--name", "first box", "--stop-idle", "off", "--cpus", "1"]);
    let view = renter.show(&id);
    assert_eq!(micros(&view["rate"]), rate, "the price that was quoted is the price that is frozen");
    assert_eq!(view["isolation"], "container");
    assert_eq!(site.free("RTX 4090"), 1);
    let slug = text(&view["slug"]);

    commands(&renter, &id, &slug);
    a_terminal(&renter, &slug);
    files(site, &renter, &id);
    load(&renter, &id);

    renter.inside(&id, "echo kept > ~/note; echo kept > /workspace/note; echo gone > /tmp/note");
    renter.ok(&["stop", "first box", "--wait"]);
    assert_eq!(renter.state(&id), "stopped");
    assert_eq!(site.free("RTX 4090"), 2, "the card went back");
    let refused = renter.run(&["exec", &id, "--", "true"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    renter.ok(&["start", &id, "--wait"]);
    assert_eq!(text(&renter.show(&id)["slug"]), slug);
    assert_eq!(renter.inside(&id, "cat ~/note /workspace/note; ls /tmp"), "kept\nkept");
    renter.ok(&["release", &id, "--yes", "--wait"]);
    assert_eq!(renter.state(&id), "released");
    assert_eq!(site.free("RTX 4090"), 2);
    site.assert_nothing_left();

    let starts: Vec<i64> = renter.events(&id, "ready").iter().map(|e| at(&e["data"]["ready_at"]).micros()).collect();
    let mut ends: Vec<i64> = renter.events(&id, "stop-accepted").iter().map(|e| at(&e["at"]).micros()).collect();
    ends.extend(renter.events(&id, "release-accepted").iter().map(|e| at(&e["at"]).micros()));
    assert_eq!((starts.len(), ends.len()), (2, 2));
    let stretches: Vec<_> = starts.into_iter().zip(ends).map(|(from, to)| (rate, from, to)).collect();
    let bill = assert_bill_is_right(site, &renter, 100_000_000, &stretches);
    assert!(micros(&bill["total"]) > 0, "{bill}");
    explained(&renter, &bill);
    assert_eq!(site.audit()["segments"], 2);
}

/// Output, input, status and environment of commands.
fn commands(renter: &Person, id: &str, slug: &str) {
    assert_eq!(renter.inside(id, "id -u; hostname"), format!("1000\n{slug}"));
    for (line, code) in [("exit 0", 0), ("exit 7", 7), ("no-such-program", 127), ("kill -9 $$", 137)] {
        assert_eq!(renter.run(&["exec", slug, "--", "sh", "-c", line]).code, code, "{line}");
    }
    let apart = renter.run(&["exec", id, "-e", "A=b c", "--", "sh", "-c", "echo \"$A\"; echo wrong >&2"]).ok();
    assert_eq!((apart.out.as_str(), apart.err.as_str()), ("b c\n", "wrong\n"));
    let mut command = renter.command(&["exec", id, "--", "sort"]);
    command.stdin(Stdio::piped());
    let mut job = Job::start(command, &renter.home);
    job.input().unwrap().write_all(b"b\na\n").unwrap();
    assert_eq!(job.finish().ok().out, "a\nb\n");
    assert_eq!(renter.ok(&["ssh", slug, "--", "echo", "$HOME"]), "/home/renter\n");
}

/// A shell on a real terminal, which `script` makes.
fn a_terminal(renter: &Person, slug: &str) {
    let program = e2e::suanli().to_string_lossy().into_owned();
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c", &format!("'{program}' ssh {slug}"), "/dev/null"]);
    renter.dress(&mut command);
    command.stdin(Stdio::piped()).env("TERM", "dumb");
    let mut job = Job::start(command, &renter.home);
    let mut keys = job.input().unwrap();
    // The answers differ from what is typed, as a terminal echoes that.
    keys.write_all(b"test -t 0 && echo on-a-$((1+1))-terminal; cat\n").unwrap();
    eventually("the shell has a terminal", || job.out().contains("on-a-2-terminal"));
    // Ctrl-C is for the program there, not for the command line here.
    keys.write_all(b"\x03").unwrap();
    // What is typed before the prompt is back is thrown away by the terminal itself.
    eventually("the prompt is back", || job.out().rsplit_once("^C").is_some_and(|(_, after)| after.contains("$ ")));
    keys.write_all(b"echo still-$((2+2))-here; exit 5\n").unwrap();
    eventually("the shell outlives Ctrl-C", || job.out().contains("still-4-here"));
    let ended = job.finish();
    assert_eq!(ended.code, 5, "{ended:?}");
}

/// Files and folders, there and back.
fn files(site: &Site, renter: &Person, id: &str) {
    let here = site.path("tree");
    std::fs::create_dir_all(here.join("deep/empty")).unwrap();
    let data: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(here.join("deep/data"), &data).unwrap();
    std::fs::write(here.join("run me"), "#!/bin/sh\necho ran\n").unwrap();
    std::os::unix::fs::symlink("deep/data", here.join("link")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(here.join("run me"), mode).unwrap();
    let path = |name: &str| site.path(name).to_string_lossy().into_owned();

    let refused = renter.run(&["cp", &path("tree"), &format!("{id}:/workspace/")]);
    assert_eq!(refused.code, 3, "a folder needs -r: {refused:?}");
    renter.ok(&["cp", "-r", &path("tree"), &format!("{id}:/workspace/")]);
    assert_eq!(
        renter.inside(id, "/workspace/tree/run\\ me; readlink /workspace/tree/link; ls /workspace/tree/deep"),
        "ran\ndeep/data\ndata\nempty"
    );
    renter.ok(&["cp", &path("tree/deep/data"), &format!("{id}:copy")]);
    renter.inside(id, "cmp ~/copy /workspace/tree/deep/data");
    renter.ok(&["cp", "-r", &format!("{id}:/workspace/tree"), &path("back")]);
    let same = Command::new("diff").args(["-r", "--no-dereference", &path("tree"), &path("back")]).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    renter.ok(&["cp", &format!("{id}:copy"), &path("single")]);
    assert_eq!(std::fs::read(path("single")).unwrap(), data);
    let missing = renter.run(&["--json", "cp", &format!("{id}:/workspace/none"), &path("none")]);
    assert_eq!((missing.code, missing.cause().as_str()), (4, "not-found"));
}

/// A program that works shows on the card, and its end shows too.
fn load(renter: &Person, id: &str) {
    let busy = renter.start(&["exec", id, "--", "sh", "-c", BUSY]);
    let usage = || renter.json(&["top", id, "--once"])["instances"][0]["usage"].clone();
    let utilisation = |u: &serde_json::Value| u["devices"][0]["sample"]["gpu_util_pct"].as_i64().unwrap_or(0);
    // Where others keep the machine busy the program does not get its whole core;
    // then the card shows the share that it got.
    let seen = soon("the card is as busy as the program", || {
        let (seen, cpu) = (usage(), |u: &serde_json::Value| u["cpu_milli"].as_i64().unwrap_or(0));
        let enough = if cpu(&seen) >= 700 { 50 } else { 5.max(cpu(&seen) / 20) };
        Some(seen).filter(|u| cpu(u) >= 100 && utilisation(u) > enough)
    });
    assert!(seen["sessions"].as_i64() >= Some(1), "{seen}");
    busy.signal(Signal::INT);
    assert_eq!(busy.finish().code, 130);
    soon("the card is quiet again", || Some(usage()).filter(|u| utilisation(u) == 0));
}

/// The bill for people tells the same as the one for programs.
fn explained(renter: &Person, bill: &serde_json::Value) {
    let text = renter.ok(&["bill", "--explain"]);
    for line in bill["groups"][0]["lines"].as_array().unwrap() {
        for part in ["arithmetic", "evidence", "segment", "ended"] {
            let part = line["explain"][part].as_str().unwrap();
            assert!(text.contains(part), "`{part}` is missing in\n{text}");
        }
    }
    let total = bill["total"]["amount"].as_str().unwrap();
    assert!(text.lines().any(|line| line.starts_with("total ") && line.ends_with(total)), "no {total} in\n{text}");
}
