//! The worked examples of the billing rules, by their numbers.

use base::{AccountId, Money, Rate, SegmentId, Span, Timestamp};
use domain::catalogue::Catalogue;
use domain::rules::{Rules, RunFacts, Verdict};

use crate::book::{PriceBook, Tier};
use crate::ledger::{Book, Posting, PostingKind, effect, sums};
use crate::plan::spot_run;
use crate::quote::{QuoteRequest, price, quote};
use crate::segment::{billable, charge_until, due};
use crate::{Plan, Share, guard, subscription};

fn t(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn book() -> PriceBook {
    PriceBook::demonstration().unwrap()
}

#[test]
fn example_01_an_a100_for_5025_seconds() {
    let q = quote(&book(), Catalogue::builtin(), &QuoteRequest::new("a100-pcie-40g", 1)).unwrap();
    assert_eq!(q.rate, rate("3.20"));
    let (ready, stop) = (t("2026-03-01T10:00:00.000Z"), t("2026-03-01T11:23:45.000Z"));
    assert_eq!(stop.since(ready).millis(), 5_025_000);
    let charge = charge_until(ready, q.rate, stop).unwrap();
    assert_eq!(charge.micros(), 4_466_666);
    assert_eq!(charge.rounded_to_cents(), money("4.47"));
}

#[test]
fn example_02_the_same_every_7_seconds_and_after_three_crashes() {
    let (ready, stop, rate) = (t("2026-03-01T10:00:00Z"), t("2026-03-01T11:23:45Z"), rate("3.20"));
    let account = AccountId::new(ready, 1);
    let mut ledger: Vec<Posting> = Vec::new();
    let mut settle = |until: Timestamp| {
        let posted = Money::sum(ledger.iter().map(|p| p.amount)).unwrap();
        let amount = due(ready, rate, until, posted).unwrap();
        let posting = Posting {
            debit: Book::Balance(account.clone()),
            credit: Book::Revenue("device".into()),
            amount,
            kind: PostingKind::Charge,
            cause: format!("charge:{until}"),
            at: until,
            segment: Some(SegmentId::new(ready, 1)),
            price_version: None,
        };
        if let Ok(posting) = posting.checked() {
            ledger.push(posting);
        }
    };
    let mut until = ready;
    for step in 0.. {
        settle(until);
        if [100, 333, 600].contains(&step) {
            // A crash: the restarted process first settles again with older facts.
            settle(until.before(Span::from_secs(60)));
            settle(until);
        }
        if until >= stop {
            break;
        }
        until = until.after(Span::from_secs(7)).min(stop);
    }
    assert!(ledger.len() > 700, "{} postings", ledger.len());
    let spent: i64 = ledger.iter().map(|p| effect(p, &Book::Balance(account.clone()))).sum();
    assert_eq!(spent, -4_466_666);
    assert_eq!(sums(&ledger).values().sum::<i128>(), 0);
}

#[test]
fn example_03_a_4090_on_spot_for_10_hours() {
    let request = QuoteRequest { plan: Plan::Spot, ..QuoteRequest::new("rtx-4090-24g", 1) };
    let q = price(&book(), Catalogue::builtin(), &request).unwrap();
    assert_eq!(q.rate.micros_per_hour(), 720_000);
    assert_eq!(q.rate.charge(10 * 3_600_000).unwrap(), money("7.20"));
}

#[test]
fn example_04_eight_h100_with_eight_rails() {
    let request = QuoteRequest { rails: 8, ..QuoteRequest::new("h100-sxm5-80g", 8) };
    let q = quote(&book(), Catalogue::builtin(), &request).unwrap();
    assert_eq!(q.per_hour, money("88.40"));
}

/// A 4090 at 1.50/h for 8 hours on each of 30 days; stopped in between.
#[test]
fn example_05_eight_hours_a_day_stopped_in_between() {
    let mut book = book();
    book.models.get_mut("rtx-4090-24g").unwrap().on_demand = Some(rate("1.50"));
    let q = quote(&book, Catalogue::builtin(), &QuoteRequest::new("rtx-4090-24g", 1)).unwrap();
    assert_eq!(q.stopped_rate, Rate::ZERO, "the disk is inside the allowance");
    let start = t("2026-04-01T01:00:00Z");
    let total = Money::sum((0..30).flat_map(|day| {
        let ready = start.after(Span::from_hours(24 * day));
        let stop = ready.after(Span::from_hours(8));
        let next = ready.after(Span::from_hours(24));
        [charge_until(ready, q.rate, stop).unwrap(), charge_until(stop, q.stopped_rate, next).unwrap()]
    }));
    assert_eq!(total.unwrap(), money("360.00"));
}

/// The same without stopping, and with the default idle rule of 2 hours.
#[test]
fn example_06_without_stopping_and_with_the_idle_rule() {
    let (start, rate) = (t("2026-04-01T01:00:00Z"), rate("1.50"));
    assert_eq!(charge_until(start, rate, start.after(Span::from_hours(720))).unwrap(), money("1080.00"));

    let total = Money::sum((0..30).map(|day| {
        let ready_at = start.after(Span::from_hours(24 * day));
        let facts = RunFacts {
            ready_at,
            last_active_at: ready_at.after(Span::from_hours(8)),
            rate,
            spent_before: Money::ZERO,
            segment_from: Some(ready_at),
            snoozed_until: None,
        };
        let stop = Rules::default().next_check(&facts).unwrap();
        assert!(matches!(Rules::default().verdict(stop, &facts), Verdict::Stop { cause: base::Cause::Idle, .. }));
        charge_until(ready_at, rate, stop).unwrap()
    }));
    assert_eq!(total.unwrap(), money("450.00"));
}

#[test]
fn example_07_spot_preempted_before_and_after_10_minutes() {
    let rate = Rate::from_micros_per_hour(720_000);
    assert_eq!(spot_run(rate, Span::from_millis(599_999), true).unwrap(), Money::ZERO);
    assert_eq!(spot_run(rate, Span::from_millis(600_000), true).unwrap(), money("0.12"));
    assert_eq!(spot_run(rate, Span::from_millis(599_999), false).unwrap().micros(), 119_999, "a stop by the renter");
}

#[test]
fn example_08_half_an_hour_of_a_lost_node_is_not_billed() {
    let at = |clock: &str| t(&format!("2026-03-01T{clock}:00Z"));
    let parts = billable(at("10:00"), at("11:00"), &[(at("10:20"), at("10:50"))]);
    assert_eq!(parts, [(at("10:00"), at("10:20")), (at("10:50"), at("11:00"))]);
    let billed: i64 = parts.iter().map(|(from, to)| to.since(*from).millis()).sum();
    assert_eq!(billed, 30 * 60_000);
    let charges: Vec<Money> = parts.iter().map(|(from, to)| charge_until(*from, rate("3.20"), *to).unwrap()).collect();
    // Each segment is rounded down by itself: 1.066666 + 0.533333.
    let total = Money::sum(charges).unwrap();
    assert_eq!(total.micros(), 1_599_999);
    assert_eq!(total.rounded_to_cents(), money("1.60"));
}

#[test]
fn example_09_a_month_from_the_31st_of_january() {
    let shanghai = |text: &str| t(&format!("{text}+08:00"));
    let end = |from: &str| subscription::ends_at(shanghai(from), 1, "Asia/Shanghai").unwrap();
    assert_eq!(end("2026-01-31T15:00:00"), shanghai("2026-02-28T15:00:00"));
    assert_eq!(end("2028-01-31T15:00:00"), shanghai("2028-02-29T15:00:00"));
}

#[test]
fn example_10_a_subscription_ended_after_100_hours() {
    let bought = t("2026-03-01T00:00:00Z");
    let ended = bought.after(Span::from_hours(100));
    assert_eq!(subscription::refund(money("1450"), bought, rate("1.80"), ended).unwrap(), money("1270.00"));
}

#[test]
fn example_12_a_yearly_pack_with_its_bonus() {
    let (paid, account, at) = (money("1000.00"), AccountId::new(Timestamp::EPOCH, 1), Timestamp::EPOCH);
    let to_draw = book().year_pack_bonus.on_top().of_money(paid).unwrap();
    assert_eq!(to_draw, money("1150.00"));
    let posting = |debit: Book, amount: Money, kind, cause: &str| {
        let credit = Book::Prepaid(account.clone());
        let posting =
            Posting { debit, credit, amount, kind, cause: cause.into(), at, segment: None, price_version: None };
        posting.checked().unwrap()
    };
    let bought = posting(Book::Cash("manual".into()), paid, PostingKind::Purchase, "pack:1");
    let bonus = posting(Book::Promotion, to_draw.minus(paid).unwrap(), PostingKind::Grant, "pack:1:bonus");
    let sums = sums([&bought, &bonus]);
    assert_eq!(sums[&Book::Prepaid(account)], 1_150_000_000);
    assert_eq!(sums[&Book::Cash("manual".into())], -1_000_000_000);
    assert_eq!(sums.values().sum::<i128>(), 0);
}

#[test]
fn example_13_a_month_of_60000_in_brackets() {
    let tier = |above: &str, discount| Tier { above: money(above), discount: Share::percent(discount) };
    let book = PriceBook { tiers: vec![tier("0", 0), tier("10000", 5), tier("50000", 10)], ..book() };
    assert_eq!(book.after_tiers(Money::ZERO, money("60000")).unwrap(), money("57000.00"));
    let first = book.after_tiers(Money::ZERO, money("45000")).unwrap();
    let second = book.after_tiers(money("45000"), money("15000")).unwrap();
    assert_eq!((first, second), (money("43250.00"), money("13750.00")), "a boundary inside a charge splits it");
}

#[test]
fn example_14_ten_units_at_four_an_hour_end_at_half_past_two() {
    let (midnight, burn, balance) = (t("2026-03-01T00:00:00Z"), rate("4.00"), money("10.00"));
    let ends = guard::money_ends(balance, burn, midnight).unwrap();
    assert_eq!(ends, t("2026-03-01T02:30:00Z"));
    let spent = |until| charge_until(midnight, burn, until).unwrap();
    assert_eq!(spent(ends), balance);
    for reaction in [Span::ZERO, Span::from_millis(1), Span::from_secs(2), Span::from_secs(600)] {
        let below = spent(ends.after(reaction)).minus(balance).unwrap();
        assert!(below <= guard::overdraft_bound(burn, reaction).unwrap());
    }
}
