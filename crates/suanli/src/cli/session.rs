//! Where one is signed in.

use api::session::SessionView;
use clap::Subcommand;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table};

/// Where you are signed in: browsers and command lines
#[derive(Debug, Subcommand)]
pub enum Session {
    /// List your sessions, newest first
    Ls,
    /// Sign out there; what it has open ends at once
    Rm {
        /// Id of the session
        id: String,
    },
}

impl Session {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Ls => {
                let sessions = client.sessions().await?;
                out.result(&sessions, |out| words(&sessions.items, out));
            }
            Self::Rm { id } => {
                client.end_session(&id).await?;
                out.result(&serde_json::json!({ "ended": id }), |_| {
                    format!("{} is signed out\n", crate::output::clean(&id))
                });
            }
        }
        Ok(0)
    }
}

fn words(sessions: &[SessionView], out: &Output) -> String {
    let mut table = Table::new(&["ID", "KIND", "SINCE", "LAST USED", "FROM", "PROGRAM"]);
    for session in sessions {
        let here = if session.current { " (this one)" } else { "" };
        table.row(vec![
            format!("{}{here}", session.id).into(),
            session.kind.as_str().into(),
            out.zone.show(session.created_at).into(),
            session.last_used_at.map_or_else(|| "never".to_owned(), |at| out.zone.show(at)).into(),
            session.address.as_deref().unwrap_or("").into(),
            session.agent.as_deref().unwrap_or("").into(),
        ]);
    }
    table.render(out.paint)
}
