//! The tests' own arithmetic, apart from the program's.

use serde_json::Value;

use crate::{Person, Site, at, soon};

/// Micro-units of an amount in JSON, checked against its decimal text.
///
/// # Panics
/// It is no amount, or its two forms differ.
pub fn micros(value: &Value) -> i64 {
    let micros = value["micros"].as_i64().unwrap_or_else(|| panic!("{value} is no amount"));
    let amount = value["amount"].as_str().unwrap_or_else(|| panic!("{value} has no decimal text"));
    let (sign, digits) = amount.strip_prefix('-').map_or((1, amount), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number = |text: &str| text.parse::<i64>().unwrap_or_else(|e| panic!("{amount}: {e}"));
    assert_eq!(sign * (number(whole) * 1_000_000 + number(&format!("{fraction:0<6}"))), micros, "{value}");
    micros
}

/// What a stretch of time costs at a rate an hour: whole milliseconds, rounded down.
pub fn charge(rate: i64, from_us: i64, to_us: i64) -> i64 {
    let charge = i128::from(rate) * i128::from((to_us - from_us) / 1_000) / 3_600_000;
    i64::try_from(charge).expect("a charge that fits")
}

/// The one stretch of an instance that became ready once and whose stop was
/// accepted once.
///
/// # Panics
/// It was another number of times.
pub fn stretch(renter: &Person, id: &str) -> (i64, i64, i64) {
    let ready = renter.events(id, "ready");
    assert_eq!(ready.len(), 1, "it became ready once: {ready:?}\n{}", renter.ok(&["events", id]));
    let stops = renter.events(id, "stop-accepted");
    assert_eq!(stops.len(), 1, "its stop was accepted once: {stops:?}");
    let from = at(&ready[0]["data"]["ready_at"]).micros();
    (micros(&renter.show(id)["rate"]), from, at(&stops[0]["at"]).micros())
}

/// Checks a renter's bill of this month against stretches of `(rate in micros an
/// hour, from, to)` that the test knows from events: their sum is the bill's
/// total, all of it posted, the balance is what was paid in less the total, and
/// the operator's audit finds the same.
///
/// # Panics
/// Anything differs.
pub fn assert_bill_is_right(site: &Site, renter: &Person, paid_in: i64, stretches: &[(i64, i64, i64)]) -> Value {
    let own: i64 = stretches.iter().map(|(rate, from, to)| charge(*rate, *from, *to)).sum();
    // Posted when the evidence reaches the end of the last stretch.
    let bill = soon("everything is posted", || {
        Some(renter.json(&["bill"])).filter(|bill| micros(&bill["so_far"]) == 0 && micros(&bill["posted"]) >= own)
    });
    let mut lines: Vec<(i64, i64, i64)> = Vec::new();
    for line in bill["groups"].as_array().expect("groups").iter().flat_map(|g| g["lines"].as_array().expect("lines")) {
        let line_at = |field: &str| at(&line[field]).micros();
        let (from, to, rate) = (line_at("from"), line_at("to"), micros(&line["rate"]));
        assert_eq!(micros(&line["exact"]), charge(rate, from, to), "{line}");
        assert_eq!(line["billed"].as_i64(), Some(to - from), "{line}");
        lines.push((rate, from, to));
    }
    let mut expected = stretches.to_vec();
    lines.sort_by_key(|line| line.1);
    expected.sort_by_key(|line| line.1);
    assert_eq!(lines, expected, "the lines of the bill are not the stretches that the events tell");
    assert_eq!(micros(&bill["total"]), own, "{bill}");
    assert_eq!(micros(&bill["posted"]), own, "{bill}");
    let rounding = micros(&bill["total"]) - micros(&bill["lines_total"]);
    assert_eq!(micros(&bill["rounding"]), rounding, "{bill}");
    assert_eq!(micros(&bill["entries_total"]), paid_in, "{bill}");
    let balance = renter.json(&["balance"]);
    assert_eq!(micros(&balance["posted"]), paid_in - own, "{balance}");
    site.audit();
    bill
}
