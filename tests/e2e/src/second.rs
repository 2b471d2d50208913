//! Another server of a site: the same database and the same agent, a folder and an
//! address of its own.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::{Job, Person, Site, host, soon};

/// The running server. It ends with its site at the latest.
#[derive(Debug)]
pub struct Second {
    /// Where it answers.
    pub url: String,
    job: Job,
    home: PathBuf,
}

impl Site {
    /// Starts a second server of this site.
    ///
    /// # Panics
    /// It does not start.
    pub fn second(&self) -> Second {
        let socket = self.data().join("agent.sock").to_string_lossy().into_owned();
        let mut command = self.serve("127.0.0.1:0", &self.path("second"));
        command.args(["--agent-socket", &socket]);
        let mut job = Job::start(command, &self.operator.home);
        let url = soon("the second server answers", || {
            assert!(job.runs(), "the second server ended at once:\n{}{}", job.out(), job.err());
            job.out().lines().find_map(|line| line.strip_prefix("suanli answers at ").map(str::to_owned))
        });
        Second { url, job, home: self.path("at-the-second") }
    }
}

impl Second {
    /// Somebody who is signed in already, as he uses this server.
    pub fn for_person(&self, person: &Person) -> Person {
        person.moved_to(&self.url, &self.home.join(&person.name))
    }

    /// Stops it from doing anything, in the middle of whatever it does.
    pub fn freeze(&self) {
        self.job.signal(Signal::STOP);
        soon("it is frozen", || host::frozen(self.job.pid()).then_some(()));
    }

    /// Lets it go on.
    pub fn wake(&self) {
        self.job.signal(Signal::CONT);
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the second server said\n{}", self.job.err());
        }
    }
}
