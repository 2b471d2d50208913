//! Who did what (operator).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use api::audit_log::{AuditEntry, AuditQuery, Retention};
use base::{Cause, Error, Timestamp};
use clap::Args;
use client::Client;

use super::{Failure, Outcome};
use crate::login_file;
use crate::output::{Cell, Output, Style, Table, json, print};

/// Show who did what, newest first (operator)
///
/// With --export the whole log is written to a file as lines of JSON; with --check
/// it is shown whether it is intact, and the exit status is 0 only then.
#[derive(Debug, Args)]
pub struct AuditLog {
    /// Only what this user did (id or name)
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Only this, such as rent or login
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to this (id)
    #[arg(long, value_name = "ID")]
    object: Option<String>,
    /// Only since then, such as 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// At most so many entries
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Write the whole log into this file; one of that name is replaced
    #[arg(long, value_name = "FILE", conflicts_with_all = ["actor", "action", "object", "since", "check"])]
    export: Option<PathBuf>,
    /// Go along the whole chain of entries
    #[arg(long, conflicts_with_all = ["actor", "action", "object", "since"])]
    check: bool,
    /// Keep entries for so many days from now on, or `ever`
    #[arg(long, value_name = "N|ever", conflicts_with_all = ["actor", "action", "object", "since", "check", "export"], allow_negative_numbers = true)]
    keep_days: Option<String>,
}

impl AuditLog {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        if let Some(file) = &self.export {
            let lines = export(&client, file).await?;
            out.result(&serde_json::json!({ "file": file, "entries": lines }), |_| {
                format!("{} holds {lines} entries\n", file.display())
            });
            return Ok(0);
        }
        if let Some(keep) = &self.keep_days {
            return retain(&client, keep, out).await;
        }
        if self.check {
            return check(&client, out).await;
        }
        let entries = self.entries(&client).await?;
        if out.json {
            json(&serde_json::json!({ "items": entries }));
        } else {
            print(&words(&entries, out));
        }
        Ok(0)
    }

    async fn entries(self, client: &Client) -> Result<Vec<AuditEntry>, Error> {
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut query = AuditQuery {
            actor: self.actor,
            action: self.action,
            object: self.object,
            from: self.since,
            limit: Some(i64::from(self.limit.min(200))),
            ..AuditQuery::default()
        };
        let mut all = Vec::new();
        loop {
            let page = client.audit_log(&query).await?;
            all.extend(page.items);
            match page.next_cursor {
                Some(cursor) if all.len() < most && query.cursor.as_ref() != Some(&cursor) => {
                    query.cursor = Some(cursor);
                }
                _ => break,
            }
        }
        all.truncate(most);
        Ok(all)
    }
}

async fn retain(client: &Client, keep: &str, out: &Output) -> Outcome {
    let days = match keep {
        "ever" => None,
        days => Some(days.parse().map_err(|_| {
            Error::new(Cause::InvalidCount, format!("`{}` is no number of days", keep.escape_debug()))
                .hint("write a number, or `ever`")
        })?),
    };
    let kept = client.set_audit_log_retention(&Retention { days }).await?;
    out.result(&kept, |_| match kept.days {
        Some(days) => format!("entries are kept for {days} days\n"),
        None => "entries are kept for ever\n".into(),
    });
    Ok(0)
}

async fn check(client: &Client, out: &Output) -> Outcome {
    let checked = client.check_audit_log().await?;
    let broken = (!checked.intact).then(|| {
        let at = checked.broken_at.map_or_else(|| "at an unknown place".to_owned(), |seq| format!("at entry {seq}"));
        Error::new(Cause::Internal, format!("the audit log is broken {at}"))
            .hint("somebody changed or removed entries in the database: keep it as it is, and look at the backups")
    });
    match broken {
        None => {
            out.result(&checked, |_| format!("{} entries, each follows from the one before\n", checked.entries));
            Ok(0)
        }
        Some(error) if out.json => {
            json(&checked);
            Err(Failure::shown(error))
        }
        Some(error) => Err(Failure::refused(error)),
    }
}

async fn export(client: &Client, file: &Path) -> Result<u64, Error> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    // Made anew: one that was left behind may be open to others.
    drop(std::fs::remove_file(&part));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let mut to = tokio::fs::File::from_std(made.map_err(|e| cannot(&part, &e))?);
    let done = client.export_audit_log(&mut to).await;
    let lines = match done {
        Ok(lines) => to.sync_all().await.and_then(|()| std::fs::rename(&part, file)).map(|()| lines),
        Err(error) => {
            // What is not whole is worth nothing.
            drop(std::fs::remove_file(&part));
            return Err(error);
        }
    };
    let lines = lines.map_err(|e| cannot(file, &e))?;
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| cannot(file, &e))?;
    Ok(lines)
}

fn cannot(file: &Path, error: &std::io::Error) -> Error {
    Error::new(Cause::InvalidRequest, format!("{} cannot be written: {error}", file.display()))
        .hint("choose another place with enough room")
}

fn words(entries: &[AuditEntry], out: &Output) -> String {
    if entries.is_empty() {
        return "no such entries\n".into();
    }
    let mut table = Table::new(&[">NO", "WHEN", "WHO", "FROM", "WHAT", "TO", "RESULT"]);
    for entry in entries {
        let style = match entry.result.as_str() {
            "done" => Style::Plain,
            "refused" => Style::Yellow,
            _ => Style::Red,
        };
        let who = entry.actor.name.as_deref().unwrap_or("");
        let who = match entry.actor.kind.as_str() {
            "user" => who.to_owned(),
            kind => format!("{who} ({kind})").trim().to_owned(),
        };
        let result = entry.code.as_ref().map_or_else(|| entry.result.clone(), |c| format!("{}: {c}", entry.result));
        table.row(vec![
            entry.seq.to_string().into(),
            out.zone.show(entry.at).into(),
            who.into(),
            entry.address.as_deref().unwrap_or("").into(),
            entry.action.as_str().into(),
            entry.object.as_deref().unwrap_or("").into(),
            Cell::styled(result, style),
        ]);
    }
    table.render(out.paint)
}
