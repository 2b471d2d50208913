//! Jobs: `suanli run`, and start commands.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use e2e::{Person, Site, eventually, soon};
use rustix::process::Signal;

const RUN: [&str; 6] = ["run", "--gpu", "T4", "--disk", "1", "--"];

fn job<'a>(command: &[&'a str]) -> Vec<&'a str> {
    [&RUN, command].concat()
}

/// The one instance that is there; none is an error only when it never comes.
fn only_one(renter: &Person) -> String {
    soon("the instance is there", || renter.slugs().pop())
}

#[test]
fn a_job_ends_with_the_status_of_its_command_and_leaves_nothing() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    for (line, code) in [
        ("echo fine", 0),
        ("echo fine; exit 7", 7),
        ("echo fine; no-such-program", 127),
        ("echo fine; kill -TERM $$", 143),
        ("echo fine; kill -KILL $$", 137),
    ] {
        let ran = renter.run(&job(&["sh", "-c", line]));
        assert_eq!((ran.code, ran.out.as_str()), (code, "fine\n"), "{ran:?}");
        assert!(ran.err.contains("cost: "), "{ran:?}");
        site.assert_nothing_left();
    }
    assert_eq!(renter.slugs().len(), 5, "each job had an instance of its own");
    assert_eq!(site.free("T4"), 1);
    site.audit();
}

#[test]
fn a_jobs_output_is_there_before_its_end() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let mut run =
        renter.start(&job(&["sh", "-c", "echo first; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo last"]));
    eventually("the first line is there", || run.out() == "first\n");
    assert!(run.runs());
    renter.inside(&only_one(&renter), "touch /tmp/go");
    assert_eq!(run.finish().ok().out, "first\nlast\n");
    site.assert_nothing_left();
}

#[test]
fn a_job_that_is_interrupted_releases_its_instance() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let run = renter.start(&job(&["sh", "-c", "echo begun; exec sleep 1000"]));
        eventually("the command runs", || run.out() == "begun\n");
        run.signal(signal);
        let ended = run.finish();
        assert_eq!(ended.code, code, "{ended:?}");
        site.assert_nothing_left();
    }
    // Before the command has even begun.
    let run = renter.start(&job(&["sleep", "1000"]));
    soon("a third instance is asked for", || (renter.slugs().len() == 3).then_some(()));
    run.signal(Signal::INT);
    let ended = run.finish();
    assert_eq!(ended.code, 130, "{ended:?}");
    site.assert_nothing_left();
    assert_eq!(site.free("T4"), 1);
    site.audit();
}

#[test]
fn a_job_whose_command_cannot_start_releases_its_instance() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let ran = renter.run(&job(&["/no/such/program"]));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("/no/such/program"), "it names the program: {ran:?}");
    site.assert_nothing_left();
    let refused = renter.run(&["run", "--gpu", "T4", "--disk", "1", "--count", "2", "--", "true"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert_eq!(renter.slugs().len(), 1, "what is refused is not rented");
    site.audit();
}

#[test]
fn start_commands_see_their_environment_and_their_end_is_told() {
    let site = Site::start();
    let renter = site.renter("alpha", "100");
    let line = "echo \"$GREETING from $SUANLI_GPU\" > /workspace/said; exit 9";
    let id = renter.rent("T4", &["--env", "GREETING=hello = you", "--on-start", line]);
    let view = soon("the start command ended", || Some(renter.show(&id)).filter(|v| !v["on_start_exit"].is_null()));
    assert_eq!(view["on_start_exit"], 9, "{view}");
    assert_eq!(view["state"], "running", "its end does not end the instance");
    assert_eq!(renter.inside(&id, "cat /workspace/said; echo $GREETING"), "hello = you from t4-16g\nhello = you");
    let told = renter.events(&id, "command-ended");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["data"]["exit"], 9);
    // The next run has a start command of its own.
    renter.ok(&["stop", &id, "--wait"]);
    renter.ok(&["start", &id, "--wait"]);
    assert_eq!(renter.inside(&id, "cat /workspace/said"), "hello = you from t4-16g");
    eventually("the second end is told", || renter.events(&id, "command-ended").len() == 2);
    renter.ok(&["release", &id, "--yes", "--wait"]);
    site.assert_nothing_left();
}
