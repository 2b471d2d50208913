//! The console in a real browser, against a real server on PostgreSQL. The stories
//! themselves are in `web/e2e`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use e2e::{Database, Folder, Job, Person, Site, Wanted, eventually};

/// A site on PostgreSQL; the database outlives it.
struct Console {
    site: Site,
    _database: Database,
}

impl Console {
    fn start() -> Self {
        let folder = Folder::new();
        let database = Database::new(&folder);
        let site = Site::in_folder(folder, Wanted { database: Some(database.url()), ..Wanted::default() });
        Self { site, _database: database }
    }

    /// Begins a story; people are handed over as `NAME_NAME` and `NAME_PASSWORD`.
    fn tell(&self, story: &str, people: &[(&str, &Person)]) -> Job {
        let mut command = Command::new("node");
        command.args(["e2e/run.mjs", story]);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web"));
        command.env("CONSOLE_URL", &self.site.url).env("OPERATOR_PASSWORD", self.site.first_password());
        for (name, person) in people {
            command.env(format!("{name}_NAME"), &person.name).env(format!("{name}_PASSWORD"), person.password());
        }
        command.stdin(Stdio::piped());
        Job::start(command, &self.site.operator.home)
    }

    /// Tells a story to its end, which must be a good one.
    fn told(&self, story: &str, people: &[(&str, &Person)]) -> String {
        let ran = self.tell(story, people).finish().ok();
        self.site.audit();
        ran.out
    }
}

#[test]
fn an_invitation_leads_to_a_shell_in_a_few_clicks() {
    let console = Console::start();
    let out = console.told("invited", &[]);
    assert!(out.contains("from the invitation to a shell:"), "{out}");
    print!("{out}");
}

#[test]
fn a_rule_stops_it_and_the_bill_says_so() {
    let console = Console::start();
    let renter = console.site.renter("alpha", "100");
    console.told("rule", &[("USER", &renter)]);
}

#[test]
fn a_second_factor_is_asked_for_and_no_code_opens_twice() {
    let console = Console::start();
    let renter = console.site.renter("alpha", "100");
    console.told("factor", &[("USER", &renter)]);
}

#[test]
fn a_strangers_deep_link_leads_nowhere() {
    let console = Console::start();
    let (renter, stranger) = (console.site.renter("alpha", "100"), console.site.renter("beta", "100"));
    console.told("stranger", &[("USER", &renter), ("OTHER", &stranger)]);
}

#[test]
fn two_viewers_see_each_others_changes() {
    let console = Console::start();
    let renter = console.site.renter("alpha", "100");
    console.told("viewers", &[("USER", &renter)]);
}

#[test]
fn a_page_survives_a_restart_of_the_server() {
    let console = Console::start();
    let renter = console.site.renter("alpha", "100");
    let mut job = console.tell("restart", &[("USER", &renter)]);
    let mut input = job.input().unwrap();
    for wish in ["kill the server", "start the server"] {
        eventually(wish, || {
            assert!(job.runs() || job.out().contains(wish), "{}{}", job.out(), job.err());
            job.out().contains(wish)
        });
        if wish.starts_with("kill") {
            console.site.kill_server()
        } else {
            console.site.restart()
        }
        input.write_all(b"done\n").unwrap();
    }
    job.finish().ok();
}
