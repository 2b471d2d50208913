//! Times as people read them, always with the zone that they are in.

use std::path::Path;

use base::Timestamp;

/// An IANA time zone for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(String);

impl Zone {
    /// The zone of this machine, or UTC where it cannot be told.
    pub fn local() -> Self {
        let found = std::env::var("TZ").ok().map(|tz| tz.trim_start_matches(':').to_owned()).or_else(zone_of_machine);
        Self::named(found.as_deref().unwrap_or("UTC"))
    }

    /// The zone of this name, or UTC where it is not one.
    pub fn named(name: &str) -> Self {
        let known = !name.is_empty() && Timestamp::EPOCH.in_zone(name).is_ok();
        let is_utc =
            matches!(name, "Etc/UTC" | "Etc/UCT" | "Etc/Universal" | "Etc/Zulu" | "UCT" | "Universal" | "Zulu");
        Self(if known && !is_utc { name } else { "UTC" }.to_owned())
    }

    /// `2026-03-01 18:00:05 Asia/Shanghai`.
    pub fn show(&self, at: Timestamp) -> String {
        match at.in_zone(&self.0) {
            Ok(text) => format!("{text} {}", self.0),
            Err(_) => at.to_string(),
        }
    }
}

fn zone_of_machine() -> Option<String> {
    let target = std::fs::read_link("/etc/localtime").ok();
    let linked = target.as_deref().and_then(Path::to_str).and_then(|path| path.split_once("zoneinfo/"));
    match linked {
        Some((_, name)) => Some(name.to_owned()),
        None => std::fs::read_to_string("/etc/timezone").ok().map(|text| text.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_their_zone() {
        let at: Timestamp = "2026-03-01T10:00:05Z".parse().unwrap();
        assert_eq!(Zone::named("Asia/Shanghai").show(at), "2026-03-01 18:00:05 Asia/Shanghai");
        assert_eq!(Zone::named("UTC").show(at), "2026-03-01 10:00:05 UTC");
        assert_eq!(Zone::named("Etc/UTC"), Zone::named("UTC"));
        assert_eq!(Zone::named("../../etc/passwd").show(at), "2026-03-01 10:00:05 UTC");
    }
}
