//! One run of the program.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::host;

/// No verb of a test takes longer.
const LONGEST: Duration = Duration::from_secs(120);

/// A run that is under way; ended with the test at the latest.
#[derive(Debug)]
pub struct Job {
    child: Child,
    words: String,
    out: PathBuf,
    err: PathBuf,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Exit status; 128 and the signal's number where one ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// What was run.
    pub words: String,
}

impl Job {
    /// Starts a command; its output goes to files in `folder`, to be read at any time.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(mut command: Command, folder: &Path) -> Self {
        static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (out, err) = (folder.join(format!("{number}.out")), folder.join(format!("{number}.err")));
        let open = |path: &Path| std::fs::File::create(path).expect("a file for the output");
        let words = format!("{command:?}");
        let child = command.stdout(open(&out)).stderr(open(&err)).spawn().unwrap_or_else(|e| panic!("{words}: {e}"));
        Self { child, words, out, err }
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process number")
    }

    /// What it has printed so far.
    pub fn out(&self) -> String {
        read(&self.out)
    }

    /// What it has told so far.
    pub fn err(&self) -> String {
        read(&self.err)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        host::signal(self.pid(), signal);
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its standard input, where it was given a pipe.
    pub fn input(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It takes longer than two minutes.
    pub fn finish(mut self) -> Ran {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("the state of a child") {
                Some(status) => break status,
                None => assert!(
                    begun.elapsed() < LONGEST,
                    "{} does not end; so far:\n{}{}",
                    self.words,
                    self.out(),
                    self.err()
                ),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Ran { code: code(status), out: self.out(), err: self.err(), words: self.words.clone() }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.runs() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|number| 128 + number)).unwrap_or(-1)
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

impl Ran {
    /// This result, if the run went well.
    ///
    /// # Panics
    /// It did not.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n--- out\n{}\n--- err\n{}", self.words, self.out, self.err);
        self
    }

    /// Its output as JSON.
    ///
    /// # Panics
    /// It is something else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{}: {e} in the output\n{}\n{}", self.words, self.out, self.err))
    }

    /// The cause in its `--json` error object.
    ///
    /// # Panics
    /// There is no such object, or it lacks a message.
    pub fn cause(&self) -> String {
        let error = &self.json()["error"];
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()), "no message in {}", self.out);
        error["code"].as_str().unwrap_or_else(|| panic!("no cause in {}", self.out)).to_owned()
    }
}
