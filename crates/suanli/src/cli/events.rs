//! What happened.

use api::Page;
use api::event::{EventQuery, EventView};
use api::instance::InstanceQuery;
use clap::Args;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Style, clean, json, json_line, note, print};

/// Show what happened to an instance, or to all of yours
#[derive(Debug, Args)]
pub struct Events {
    /// Id, slug or name of the instance [default: all of yours]
    id: Option<String>,
    /// Go on showing events as they happen; with --json one object a line
    #[arg(long, short)]
    follow: bool,
}

impl Events {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let subject = match &self.id {
            // The stream filters by id alone.
            Some(id) => Some(client.instance(id).await?.id.to_string()),
            None => None,
        };
        let subjects = match &subject {
            Some(subject) => vec![subject.clone()],
            None => {
                let query = InstanceQuery { all: Some(true), ..InstanceQuery::default() };
                client.all_instances(&query).await?.into_iter().map(|view| view.id.to_string()).collect()
            }
        };
        let mut items = Vec::new();
        for subject in subjects {
            items.extend(client.all_instance_events(&subject).await?);
        }
        items.sort_by_key(|event| event.seq);
        if !self.follow {
            if out.json {
                json(&Page { items, next_cursor: None });
            } else if items.is_empty() {
                print("no events\n");
            } else {
                items.iter().for_each(|event| show(event, out));
            }
            return Ok(0);
        }
        items.iter().for_each(|event| show(event, out));
        let after = Some(items.last().map_or(0, |event| event.seq)).filter(|seq| *seq > 0);
        let mut stream = client.events(&EventQuery { after, subject }).await?;
        if items.is_empty() && !out.json {
            note("waiting for events; Ctrl-C ends");
        }
        loop {
            show(&stream.next().await?, out);
        }
    }
}

fn show(event: &EventView, out: &Output) {
    if out.json {
        json_line(event);
    } else {
        print(&format!(
            "{}  {}  {}  {}\n",
            out.zone.show(event.at),
            clean(&event.subject),
            out.paint.text(Style::Bold, &clean(&event.kind)),
            clean(&event.message)
        ));
    }
}
