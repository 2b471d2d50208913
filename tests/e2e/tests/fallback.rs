//! A host without bubblewrap and a user without root: plain processes, on
//! loopback only, and said to be so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]

use std::os::unix::fs::{chown, symlink};
use std::process::Command;

use e2e::{Folder, Job, Person, eventually, is_root, pids_with, processes_of, soon, suanli, text};
use rustix::process::Signal;

/// A user of nobody's; each test has another one, so that what is left shows.
fn user(folder: &Folder) -> u32 {
    90_000_000 + std::process::id() % 1_000_000 * 8 + folder.number() % 8
}

/// A PATH on which there is neither bubblewrap nor sudo.
fn path_without_helpers(folder: &Folder) -> String {
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["sh", "sleep", "cat", "ls", "id", "true", "env", "hostname", "ldconfig"] {
        let from = ["/bin", "/usr/bin", "/sbin", "/usr/sbin"].iter().map(|place| format!("{place}/{name}"));
        if let Some(from) = from.into_iter().find(|path| std::path::Path::new(path).exists()) {
            symlink(from, bin.join(name)).unwrap();
        }
    }
    bin.to_string_lossy().into_owned()
}

/// The server as an ordinary user, in a folder of his.
fn serve(folder: &Folder, person: &Person, listen: &str) -> Job {
    assert!(is_root(), "this test needs root to become somebody without rights");
    let data = folder.path().join("data");
    let id = user(folder);
    for place in [&data, &folder.path().join("keys")] {
        std::fs::create_dir(place).unwrap();
        chown(place, Some(id), Some(id)).unwrap();
    }
    // The build folder may be closed to that user.
    let program = folder.path().join("suanli");
    std::fs::copy(suanli(), &program).unwrap();
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().find(|path| std::path::Path::new(path).exists());
    let mut command = Command::new(setpriv.expect("setpriv (util-linux) is missing"));
    let id = id.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs"]).arg(&program);
    command.args(["serve", "--listen", listen, "--network", "closed", "--node-name", "plain"]);
    command.args(["--fake-gpus", "mixed-lab", "--allow-no-isolation", "--data"]).arg(&data);
    person.dress(&mut command);
    command.env("PATH", path_without_helpers(folder)).env("HOME", &data).current_dir("/");
    command.env("SUANLI_SECRET_KEY_FILE", folder.path().join("keys/secret.key"));
    Job::start(command, &person.home)
}

/// Ends by force what a failed test leaves.
struct Sweep(u32);

impl Drop for Sweep {
    fn drop(&mut self) {
        for pid in processes_of(self.0..self.0 + 1) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }
}

#[test]
fn without_isolation_it_works_on_loopback_and_says_so() {
    let folder = Folder::new();
    let _sweep = Sweep(user(&folder));
    let operator = Person::new("operator", folder.path().join("operator"));
    let mut job = serve(&folder, &operator, "127.0.0.1:0");
    let url = soon("the server answers", || {
        assert!(job.runs(), "it ended: {}{}", job.out(), job.err());
        job.out().lines().find_map(|line| line.strip_prefix("suanli answers at ").map(str::to_owned))
    });
    eventually("the notice is shown", || job.err().contains("NO ISOLATION"));
    let told = std::fs::read_to_string(folder.path().join("data/first-login.txt")).unwrap();
    operator.sign_in(&url, told.lines().find_map(|line| line.strip_prefix("password ")).unwrap());
    assert_eq!(operator.json(&["node", "ls"])["nodes"][0]["isolation"], "none");
    let made = operator.json(&["account", "create", "alpha"]);
    operator.ok(&["account", "topup", &text(&made["account"]["id"]), "100"]);
    let renter = Person::new("alpha", folder.path().join("alpha"));
    renter.sign_in(&url, &text(&made["password"]));
    assert_eq!(renter.json(&["offers"])["offers"][0]["isolation"], "none");

    let id = renter.rent("T4", &[]);
    let view = renter.show(&id);
    assert_eq!(view["isolation"], "none");
    assert!(view["notices"].to_string().contains("NO ISOLATION"), "{view}");
    assert!(renter.ok(&["show", &id]).contains("NO ISOLATION"));
    assert_eq!(renter.inside(&id, "id -u"), user(&folder).to_string());
    assert_eq!(renter.run(&["exec", &id, "--", "sh", "-c", "exit 7"]).code, 7);
    renter.inside(&id, "sleep 7342 >/dev/null 2>&1 & echo");
    assert_eq!(pids_with(&["sleep", "7342"]).len(), 1);
    renter.ok(&["stop", &id, "--wait"]);
    assert_eq!(pids_with(&["sleep", "7342"]), Vec::<i32>::new(), "nothing of it runs after a stop");
    renter.ok(&["start", &id, "--wait"]);
    renter.ok(&["release", &id, "--yes", "--wait"]);
    operator.ok(&["audit"]);
    job.signal(Signal::TERM);
    assert_eq!(job.finish().code, 0);
    eventually("nothing of it runs", || processes_of(user(&folder)..user(&folder) + 1).is_empty());
}

#[test]
fn without_isolation_it_refuses_every_other_address() {
    let folder = Folder::new();
    let _sweep = Sweep(user(&folder));
    let operator = Person::new("operator", folder.path().join("operator"));
    let ended = serve(&folder, &operator, "0.0.0.0:0").finish();
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("not-offered") && ended.err.contains("127.0.0.1"), "{ended:?}");
    assert!(!ended.out.contains("answers"), "{ended:?}");
    eventually("nothing of it runs", || processes_of(user(&folder)..user(&folder) + 1).is_empty());
}
