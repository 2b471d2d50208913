//! Two renters on one machine: neither sees, reaches or touches the other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::{Person, Site, text};

/// Two renters, each with one instance on the same machine.
fn neighbours(site: &Site) -> [(Person, String); 2] {
    let [one, two] = ["alpha", "beta"].map(|name| site.renter(name, "100"));
    let (first, second) = (one.rent("RTX 4090", &["--name", "box"]), two.rent("RTX 4090", &["--name", "box"]));
    [(one, first), (two, second)]
}

#[test]
fn neighbours_see_nothing_of_each_other_on_the_machine() {
    let site = Site::start();
    let [(one, first), (two, second)] = neighbours(&site);
    one.inside(
        &first,
        "echo secret | tee ~/mine /workspace/mine /tmp/mine /dev/shm/mine; chmod -R a+rX ~ /workspace /tmp/mine",
    );
    one.inside(&first, "sleep 7341 >/dev/null 2>&1 & echo");

    // Files: wherever the other one may look, the secret is not.
    let found = two.inside(
        &second,
        "find / -name mine -not -path '/proc/*' 2>/dev/null; grep -rsl secret ~ /workspace /tmp /dev/shm; echo end",
    );
    assert_eq!(found, "end");
    assert_eq!(one.inside(&first, "cat /tmp/mine"), "secret");
    // Processes: none of another's, not the machine's either.
    let processes = two.inside(&second, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    assert!(!processes.contains("7341"), "{processes}");
    assert!(!processes.contains("serve") && !processes.contains("agent"), "{processes}");
    let refused = two.run(&["exec", &second, "--", "sh", "-c", &format!("kill -9 {}", site.first_process(&first))]);
    assert_ne!(refused.code, 0, "a number of the machine means nothing inside");
    // Cards: one each, and not the same.
    let cards = |person: &Person, id: &str| person.inside(id, "ls /dev | grep -E '^nvidia[0-9]+$'");
    let (a, b) = (cards(&one, &first), cards(&two, &second));
    assert_eq!((a.lines().count(), b.lines().count()), (1, 1), "{a} {b}");
    let uuid = |person: &Person, id: &str| text(&person.show(id)["devices"][0]["uuid"]);
    assert_ne!(uuid(&one, &first), uuid(&two, &second));
    let numbers = |person: &Person, id: &str| person.inside(id, "stat -c %t:%T /dev/nvidia[0-9]*");
    assert_ne!(numbers(&one, &first), numbers(&two, &second));
    // Users: each has one of its own on the machine, so even what leaks is closed.
    let owner = |id: &str| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", site.first_process(id))).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap().trim().to_owned()
    };
    assert_ne!(owner(&first), owner(&second));
    // Networks: another's address does not answer, and neither does the machine's server.
    let port = site.url.rsplit_once(':').unwrap().1;
    let reach =
        format!("timeout 2 bash -c 'echo > /dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo reached || echo closed");
    assert_eq!(two.inside(&second, &reach), "closed");
    assert_eq!(one.inside(&first, "kill -0 1 && echo lives"), "lives");
}

#[test]
fn a_stranger_can_neither_see_nor_use_an_instance() {
    let site = Site::start();
    let [(one, first), (two, second)] = neighbours(&site);
    let slug = text(&one.show(&first)["slug"]);
    let local = site.path("local");
    std::fs::write(&local, "x").unwrap();
    let local = local.to_string_lossy().into_owned();
    for reference in [first.as_str(), slug.as_str()] {
        let there = format!("{reference}:/tmp/x");
        let verbs: [&[&str]; 11] = [
            &["show", reference],
            &["events", reference],
            &["why", reference],
            &["top", reference, "--once"],
            &["exec", reference, "--", "true"],
            &["ssh", reference, "--", "true"],
            &["cp", &local, &there],
            &["cp", &there, "/dev/null"],
            &["stop", reference],
            &["start", reference],
            &["release", reference, "--yes"],
        ];
        for verb in verbs {
            let ran = two.run(verb);
            assert_eq!(ran.code, 4, "{ran:?}");
            assert!(!format!("{}{}", ran.out, ran.err).contains("alpha"), "it tells about a stranger: {ran:?}");
        }
    }
    // A name that both use means one's own.
    assert_eq!(text(&two.show("box")["id"]), second);
    let list = two.ok(&["ls", "--all", "--json"]);
    assert!(list.contains(&second) && !list.contains(&first), "{list}");
    // Another's account, for money or for rent.
    for verb in [["bill", "--account"], ["balance", "--account"], ["ls", "--account"]] {
        assert_eq!(two.run(&[&verb[..], &[&one.account]].concat()).code, 4, "{verb:?}");
    }
    let refused = two.run(&["rent", "--gpu", "T4", "--disk", "1", "--account", &one.account]);
    assert_eq!(refused.code, 4, "{refused:?}");
    // What is for the operator.
    for verb in [
        &["account", "ls"][..],
        &["account", "create", "x"],
        &["account", "topup", &two.account, "5"],
        &["node", "ls"],
        &["audit"],
        &["incident", "ls"],
    ] {
        assert_eq!(two.run(verb).code, 5, "{verb:?}");
    }
    assert_eq!(one.state(&first), "running");
    assert_eq!(one.inside(&first, "ls -A /tmp"), "");
}
