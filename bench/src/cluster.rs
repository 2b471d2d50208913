//! A private PostgreSQL that this program may restart. That of the whole run is not
//! ours to end.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use base::{Cause, Error, Result};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Where distributions keep the server programs, in a folder for each version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// How long a start may take, and an end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether it answers.
const LOOK: Duration = Duration::from_millis(10);

/// Ports that are tried: below the range that the kernel hands to outgoing
/// connections, which could take ours while it restarts.
const PORTS: std::ops::Range<u16> = 10_000..30_000;
const TRIES: usize = 5;

/// The running cluster.
pub struct Cluster {
    place: Place,
    port: u16,
    server: Child,
}

/// Its files, and the programs that work on them.
struct Place {
    folder: TempDir,
    bin: PathBuf,
    /// Who runs it: PostgreSQL refuses to be root.
    user: Option<(u32, u32)>,
    password: String,
}

/// Starts a cluster, has something measured on it, and ends it whatever happened.
///
/// # Errors
/// Those of the measurement, else of start and end.
pub async fn during<T>(measure: impl AsyncFnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    let mut cluster = Cluster::start().await?;
    let measured = measure(&mut cluster).await;
    let stopped = cluster.stop().await;
    let value = measured?;
    stopped.map(|()| value)
}

impl Cluster {
    async fn start() -> Result<Self> {
        let place = Place::new().await?;
        for _ in 0..TRIES {
            let port = rand::random_range(PORTS);
            let mut server = place.server(port)?;
            if place.answers(port, &mut server).await? {
                return Ok(Self { place, port, server });
            }
        }
        Err(place.failed("PostgreSQL did not start"))
    }

    /// Its address: of the database that every cluster has.
    pub fn url(&self) -> String {
        format!("postgres://suanli:{}@127.0.0.1:{}/postgres", self.place.password, self.port)
    }

    /// Restarts it as `pg_ctl restart -m fast` does: sessions end, what was committed
    /// stays. Returns how long nobody answered.
    ///
    /// # Errors
    /// It does not end, or does not come back.
    pub async fn restart(&mut self) -> Result<Duration> {
        let began = Instant::now();
        end(&mut self.server).await?;
        self.server = self.place.server(self.port)?;
        if self.place.answers(self.port, &mut self.server).await? {
            return Ok(began.elapsed());
        }
        Err(self.place.failed("PostgreSQL did not come back"))
    }

    async fn stop(mut self) -> Result<()> {
        let ended = end(&mut self.server).await;
        self.place.folder.close().map_err(Error::internal)?;
        ended
    }
}

impl Place {
    async fn new() -> Result<Self> {
        // Not TMPDIR: the database may run as another user, who must be able to get there.
        let folder = tempfile::Builder::new().prefix("suanli-bench-postgres.").tempdir_in("/tmp");
        let folder = folder.map_err(Error::internal)?;
        let user = if rustix::process::geteuid().is_root() { Some(owner()?) } else { None };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).map_err(Error::internal)?;
        }
        let place = Self { folder, bin: programs()?, user, password: format!("{:032x}", rand::random::<u128>()) };
        place.init().await?;
        Ok(place)
    }

    /// A password even on loopback: other users of the machine can reach the port.
    async fn init(&self) -> Result<()> {
        let file = self.folder.path().join("password");
        std::fs::write(&file, &self.password).map_err(Error::internal)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).map_err(Error::internal)?;
        let mut command = self.command("initdb")?;
        command.arg("-D").arg(self.data()).arg("--pwfile").arg(&file).args(["-U", "suanli"]);
        command.args(["--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync"]);
        let status = status(&mut command).await?;
        std::fs::remove_file(&file).map_err(Error::internal)?;
        if status.success() { Ok(()) } else { Err(self.failed("initdb failed")) }
    }

    fn server(&self, port: u16) -> Result<Child> {
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data()).arg("-p").arg(port.to_string()).arg("-k").arg(self.folder.path());
        for setting in [
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "synchronous_commit=off",
            "full_page_writes=off",
            "max_connections=200",
        ] {
            command.arg("-c").arg(setting);
        }
        command.spawn().map_err(missing)
    }

    /// Whether our own server answers on this port; `false`: it has ended.
    async fn answers(&self, port: u16, server: &mut Child) -> Result<bool> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if server.try_wait().map_err(Error::internal)?.is_some() {
                return Ok(false);
            }
            // The socket lies in our folder, so whoever answers on it is ours.
            let mut command = self.command("pg_isready")?;
            command.arg("-q").arg("-h").arg(self.folder.path()).arg("-p").arg(port.to_string());
            if status(&mut command).await?.success() {
                return Ok(true);
            }
            tokio::time::sleep(LOOK).await;
        }
        end(server).await.map(|()| false)
    }

    /// A program of PostgreSQL as its user, ended with this one.
    fn command(&self, program: &str) -> Result<Command> {
        let log = std::fs::File::options().append(true).create(true).open(self.log()).map_err(Error::internal)?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if let Some((uid, gid)) = self.user {
            command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--clear-groups"]);
        }
        command.arg(self.bin.join(program)).current_dir("/");
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(Error::internal)?).stderr(log);
        // A group of its own: Ctrl-C ends the servers on it first.
        command.process_group(0);
        Ok(command)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn failed(&self, what: &str) -> Error {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        Error::new(Cause::HostIncomplete, what).hint("scripts/setup.sh bench").context(log)
    }
}

async fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().await.map_err(missing)
}

fn missing(error: std::io::Error) -> Error {
    Error::new(Cause::HostIncomplete, format!("PostgreSQL cannot be started: {error}"))
        .hint("setpriv is in the package util-linux")
}

/// Asks for a fast shutdown and waits for it.
async fn end(server: &mut Child) -> Result<()> {
    if let Some(pid) = server.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        // One that ended meanwhile cannot be told, and need not be.
        let _ = kill_process(pid, Signal::INT);
    }
    let ended = tokio::time::timeout(PATIENCE, server.wait()).await;
    if ended.is_err() {
        drop(server.start_kill());
        return Err(Error::internal(format!("PostgreSQL did not end within {PATIENCE:?} and was killed")));
    }
    Ok(())
}

/// The folder with the newest server programs.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let found = versions.filter(|version| version.path().join("bin/postgres").is_file());
    let number = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = found.map(|version| version.path()).max_by_key(|path| number(path));
    newest.map(|version| version.join("bin")).ok_or_else(|| {
        Error::new(Cause::HostIncomplete, "PostgreSQL's server programs are missing").hint("scripts/setup.sh bench")
    })
}

/// User and group of `postgres`, else of `nobody`.
fn owner() -> Result<(u32, u32)> {
    let text = std::fs::read_to_string("/etc/passwd").map_err(Error::internal)?;
    ["postgres", "nobody"]
        .iter()
        .find_map(|name| entry(&text, name))
        .ok_or_else(|| Error::new(Cause::HostIncomplete, "this host has no user postgres or nobody to run PostgreSQL"))
}

fn entry(passwd: &str, name: &str) -> Option<(u32, u32)> {
    passwd.lines().find_map(|line| match line.split(':').collect::<Vec<_>>().as_slice() {
        [user, _, uid, gid, ..] if *user == name => Some((uid.parse().ok()?, gid.parse().ok()?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_his_whole_name() {
        let text = "root:x:0:0::/root:/bin/sh\npost:x:5:6::/:/\npostgres:x:103:104::/:/\n";
        assert_eq!(entry(text, "postgres"), Some((103, 104)));
        assert_eq!(entry(text, "nobody"), None);
    }
}
