//! Incidents (operator).

use api::operator::{CloseIncident, IncidentView};
use clap::Subcommand;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Style, clean};

/// Missed deadlines and broken laws (operator)
#[derive(Debug, Subcommand)]
pub enum Incident {
    /// List incidents, open ones first
    Ls,
    /// Close an incident by hand; most close by themselves when their reason is gone
    Close {
        /// Id of the incident
        id: String,
        /// What was found and done; it is kept with the events
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

impl Incident {
    pub async fn run(self, out: &Output) -> Outcome {
        match self {
            Self::Ls => {
                let incidents = login_file::client()?.incidents().await?;
                out.result(&incidents, |out| words(&incidents.incidents, out));
            }
            Self::Close { id, note } => {
                let closed = login_file::client()?.close_incident(&id, &CloseIncident { note }).await?;
                out.result(&closed, |out| one(&closed, out));
            }
        }
        Ok(0)
    }
}

fn words(incidents: &[IncidentView], out: &Output) -> String {
    if incidents.is_empty() {
        return "no incidents\n".into();
    }
    incidents.iter().map(|incident| one(incident, out)).collect()
}

fn one(incident: &IncidentView, out: &Output) -> String {
    let (state, style) = match incident.closed_at {
        None => ("open".to_owned(), Style::Red),
        Some(at) => (format!("over since {}", out.zone.show(at)), Style::Dim),
    };
    format!(
        "{}  {}  {}  since {}  {}\n    {}\n    {}: {}\n",
        out.paint.text(style, &state),
        clean(&incident.kind),
        clean(&incident.subject),
        out.zone.show(incident.opened_at),
        incident.id,
        clean(&incident.detail),
        clean(&incident.owner),
        clean(&incident.action),
    )
}
