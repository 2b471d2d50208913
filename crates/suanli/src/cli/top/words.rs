//! Instances and cards with bars.

use api::instance::{DeviceUsage, UsageView};

use super::Seen;
use crate::cli::show::gpu_words;
use crate::output::{Cell, Output, Style, Table, clean};

/// A card this hot slows itself down soon.
const HOT_C: i64 = 83;
const HOTTEST_C: i64 = 100;

/// The whole view for a terminal of so many columns.
pub fn words(seen: &[Seen], out: &Output, columns: u16) -> String {
    if seen.is_empty() {
        return "nothing of yours runs; `suanli ls` shows what is at rest\n".into();
    }
    // Everything but the four bars takes about 64 columns.
    let bar = (usize::from(columns).saturating_sub(64) / 4).clamp(4, 16);
    let mut text = String::new();
    for (i, one) in seen.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        let view = &one.instance;
        let name = out.paint.text(Style::Bold, &clean(&view.name));
        text.push_str(&format!("{name} ({}) {}  {}", view.slug, view.state, clean(&gpu_words(view))));
        if view.isolation.as_deref() == Some("none") {
            text.push_str(&format!("  {}", out.paint.text(Style::Red, "isolation none")));
        }
        text.push('\n');
        match (&one.usage, &one.usage_error) {
            (Some(usage), _) => usage_words(&mut text, usage, out, bar),
            (None, why) => text.push_str(&format!("  {}\n", clean(why.as_deref().unwrap_or("not measured")))),
        }
    }
    text
}

fn usage_words(text: &mut String, usage: &UsageView, out: &Output, bar: usize) {
    let mut load = Table::new(&[]);
    load.row(vec![
        Cell::styled("  CPU", Style::Dim),
        bar_of(Some(usage.cpu_milli), usage.cpus * 1000, bar, i64::MAX),
        format!("{} of {} cores", tenths(usage.cpu_milli, 1000), usage.cpus).into(),
        Cell::styled("processes", Style::Dim),
        usage.processes.to_string().into(),
        Cell::styled("sessions", Style::Dim),
        usage.sessions.to_string().into(),
    ]);
    load.row(vec![
        Cell::styled("  memory", Style::Dim),
        bar_of(Some(usage.memory_used_mib), usage.memory_mib, bar, usage.memory_mib / 20 * 19),
        gib_of(usage.memory_used_mib, usage.memory_mib).into(),
    ]);
    text.push_str(&load.render(out.paint));
    text.push_str(&format!("  last active {}: {}\n", out.zone.show(usage.last_active_at), clean(&usage.activity)));
    if usage.devices.is_empty() {
        return;
    }
    let mut cards = Table::new(&["  CARD", "USE", ">", "MEMORY", ">", "POWER", ">", "TEMPERATURE", ">", ">CLOCK"]);
    for device in &usage.devices {
        cards.row(card(device, bar));
    }
    text.push_str(&cards.render(out.paint));
}

fn card(usage: &DeviceUsage, bar: usize) -> Vec<Cell> {
    let fake = if usage.device.fake { " fake" } else { "" };
    let mut row = vec![Cell::from(format!("  {}{fake}", usage.device.index))];
    let Some(sample) = &usage.sample else {
        row.push("not measured yet".into());
        return row;
    };
    if sample.lost {
        row.push(Cell::styled("lost: the card does not answer", Style::Red));
        return row;
    }
    let told = |value: Option<i64>, words: &dyn Fn(i64) -> String| value.map_or_else(|| "–".to_owned(), words);
    let watts = sample.power_mw.map(|mw| mw / 1000);
    let limit = usage.power_limit_w;
    let power = told(watts, &|w| match limit {
        Some(limit) => format!("{w} of {limit} W"),
        None => format!("{w} W"),
    });
    row.extend([
        bar_of(sample.gpu_util_pct, 100, bar, i64::MAX),
        told(sample.gpu_util_pct, &|v| format!("{v} %")).into(),
        bar_of(sample.memory_used_mib, usage.memory_mib, bar, usage.memory_mib / 20 * 19),
        told(sample.memory_used_mib, &|v| gib_of(v, usage.memory_mib)).into(),
        bar_of(watts.filter(|_| limit.is_some()), limit.unwrap_or(1), bar, i64::MAX),
        power.into(),
        bar_of(sample.temperature_c, HOTTEST_C, bar, HOT_C),
        told(sample.temperature_c, &|v| format!("{v} °C")).into(),
        told(sample.sm_clock_mhz, &|v| format!("{v} MHz")).into(),
    ]);
    row
}

/// A bar of `value` out of `full`, red from `alarm` on.
fn bar_of(value: Option<i64>, full: i64, cells: usize, alarm: i64) -> Cell {
    let Some(value) = value else { return "".into() };
    let cells_i = i64::try_from(cells).unwrap_or(i64::MAX);
    let filled = value.clamp(0, full.max(1)).saturating_mul(cells_i).saturating_add(full.max(1) / 2) / full.max(1);
    let filled = usize::try_from(filled).unwrap_or(0).min(cells);
    let style = if value >= alarm { Style::Red } else { Style::Green };
    Cell::styled(format!("{}{}", "█".repeat(filled), "░".repeat(cells - filled)), style)
}

fn gib_of(used_mib: i64, all_mib: i64) -> String {
    format!("{} of {} GiB", tenths(used_mib, 1024), tenths(all_mib, 1024))
}

/// `value / unit` with one decimal.
fn tenths(value: i64, unit: i64) -> String {
    let tenths = value.saturating_mul(10) / unit;
    format!("{}.{}", tenths / 10, (tenths % 10).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;

    fn text_of(cell: Cell) -> String {
        let mut table = Table::new(&[]);
        table.row(vec![cell, ".".into()]);
        table.render(Paint::fixed(false)).trim_end_matches(".\n").trim_end().to_owned()
    }

    #[test]
    fn bars_are_as_long_as_the_share() {
        assert_eq!(text_of(bar_of(Some(0), 100, 4, 90)), "░░░░");
        assert_eq!(text_of(bar_of(Some(50), 100, 4, 90)), "██░░");
        assert_eq!(text_of(bar_of(Some(250), 100, 4, 90)), "████");
        assert_eq!(text_of(bar_of(Some(5), 0, 4, 90)), "████");
        assert_eq!(text_of(bar_of(None, 100, 4, 90)), "");
    }

    #[test]
    fn amounts_have_one_decimal() {
        assert_eq!(gib_of(1536, 24_564), "1.5 of 23.9 GiB");
        assert_eq!(tenths(3_250, 1000), "3.2");
    }
}
