use super::*;
use crate::segment::charge_until;
use base::Cause;
use proptest::prelude::*;

fn t(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn segment(n: u128, from: &str, to: Option<&str>, rate: &str) -> BillSegment {
    let (from, to, rate) = (t(from), to.map(t), rate.parse::<Rate>().unwrap());
    BillSegment {
        id: SegmentId::new(from, n),
        item: Item::Device,
        from,
        to,
        rate,
        price_version: "00ff".into(),
        serials: vec!["1320".into()],
        posted_before: Money::ZERO,
        posted: to.map_or(Money::ZERO, |to| charge_until(from, rate, to).unwrap()),
        proven_until: None,
        evidence: Some("a shell answered".into()),
        ended: None,
    }
}

fn instance(n: u128, segments: Vec<BillSegment>) -> BillInstance {
    BillInstance {
        id: InstanceId::new(Timestamp::EPOCH, n),
        name: format!("train-{n}"),
        project: None,
        gpu: "A100 PCIe 40G".into(),
        count: 1,
        plan: Plan::OnDemand,
        fake: false,
        segments,
        lost: Vec::new(),
    }
}

fn input(instances: Vec<BillInstance>) -> BillInput {
    BillInput {
        account: AccountId::new(Timestamp::EPOCH, 1),
        zone: "Asia/Shanghai".into(),
        currency: "CNY".into(),
        month: "2026-03".into(),
        as_of: t("2026-03-15T00:00:00Z"),
        instances,
        entries: Vec::new(),
    }
}

fn bill(instances: Vec<BillInstance>) -> Bill {
    Bill::new(input(instances)).unwrap()
}

#[test]
fn example_01_as_a_bill() {
    let b = bill(vec![instance(1, vec![segment(1, "2026-03-01T10:00:00Z", Some("2026-03-01T11:23:45Z"), "3.20")])]);
    let line = &b.groups[0].lines[0];
    assert_eq!((line.amount, line.exact), (money("4.47"), money("4.466666")));
    assert_eq!((line.billed, line.so_far), (Span::from_secs(5_025), false));
    assert_eq!((b.lines_total, b.rounding, b.total), (money("4.47"), money("-0.003334"), money("4.466666")));
    assert_eq!((b.total_rounded, b.posted, b.so_far), (money("4.47"), money("4.466666"), Money::ZERO));
    assert_eq!(line.explain.arithmetic, "3.20 × 5025000 ms ÷ 3600000, rounded down = 4.466666");
}

#[test]
fn example_08_as_a_bill_shows_the_lost_half_hour() {
    let mut i = instance(
        1,
        vec![
            segment(2, "2026-03-01T10:50:00Z", Some("2026-03-01T11:00:00Z"), "3.20"),
            segment(1, "2026-03-01T10:00:00Z", Some("2026-03-01T10:20:00Z"), "3.20"),
        ],
    );
    i.lost = vec![LostTime {
        from: t("2026-03-01T10:20:00Z"),
        to: Some(t("2026-03-01T10:50:00Z")),
        why: "the node was out of reach".into(),
    }];
    let b = bill(vec![i]);
    let amounts: Vec<_> = b.groups[0].lines.iter().map(|l| l.amount.to_string()).collect();
    assert_eq!(amounts, ["1.07", "0.53"], "oldest first");
    assert_eq!((b.groups[0].amount, b.total, b.total_rounded), (money("1.60"), money("1.599999"), money("1.60")));
    let text = render_text(&b, false);
    assert!(
        text.contains("not billed  2026-03-01 18:20:00 – 2026-03-01 18:50:00  the node was out of reach"),
        "{text}"
    );
}

#[test]
fn many_small_lines_still_add_up_to_the_ledger() {
    let segments = (0..9)
        .map(|n| segment(n, &format!("2026-03-01T0{n}:00:00Z"), Some(&format!("2026-03-01T0{n}:00:09Z")), "2.00"));
    let b = bill(vec![instance(1, segments.collect())]);
    assert_eq!(b.lines_total, money("0.09"), "nine lines of 0.005 rounded up");
    assert_eq!((b.total, b.rounding), (money("0.045"), money("-0.045")));
}

#[test]
fn an_open_segment_counts_as_far_as_it_is_proven() {
    let mut open = segment(1, "2026-03-14T22:00:00Z", None, "3.00");
    open.posted = money("1.00");
    open.proven_until = Some(t("2026-03-14T23:30:00Z"));
    let b = bill(vec![instance(1, vec![open])]);
    let line = &b.groups[0].lines[0];
    assert_eq!((line.to, line.so_far, line.billed), (None, true, Span::from_secs(5_400)));
    assert_eq!((b.total, b.posted, b.so_far), (money("4.50"), money("1.00"), money("3.50")));
    let text = render_text(&b, false);
    assert!(text.contains("– now  1h30m at 3.00/h  so far"), "{text}");
    assert!(text.contains("of this not posted yet, so far at 2026-03-15 08:00:00"), "{text}");
}

#[test]
fn an_open_segment_that_is_wholly_posted_can_still_grow() {
    let mut open = segment(1, "2026-03-14T22:00:00Z", None, "3.00");
    open.posted = money("4.50");
    open.proven_until = Some(t("2026-03-14T23:30:00Z"));
    let b = bill(vec![instance(1, vec![open.clone()])]);
    assert_eq!((b.total, b.so_far, b.groups[0].lines[0].so_far), (money("4.50"), Money::ZERO, true));
    open.to = Some(t("2026-03-14T23:30:00Z"));
    assert!(!bill(vec![instance(1, vec![open])]).groups[0].lines[0].so_far);
}

#[test]
fn a_ledger_that_differs_from_the_arithmetic_shows() {
    let mut wrong = segment(1, "2026-03-01T10:00:00Z", Some("2026-03-01T11:00:00Z"), "3.00");
    wrong.posted = money("2.99");
    let b = bill(vec![instance(1, vec![wrong])]);
    let line = &b.groups[0].lines[0];
    assert_eq!(line.exact, money("2.99"), "a bill shows the ledger");
    assert_eq!(
        line.explain.arithmetic,
        "3.00 × 3600000 ms ÷ 3600000, rounded down = 3.00; the ledger has 2.99 for this month"
    );
}

#[test]
fn a_segment_across_months_is_on_both_bills_and_adds_up() {
    // Midnight of 1 March in Shanghai is 16:00 UTC of 28 February.
    let whole = segment(1, "2026-02-28T15:30:00Z", Some("2026-02-28T17:00:01Z"), "1.00");
    let (total, month_end) = (whole.posted, t("2026-02-28T16:00:00Z"));
    let before = charge_until(whole.from, whole.rate, month_end).unwrap();
    let february = BillSegment { posted: before, ..whole.clone() };
    let march = BillSegment { posted_before: before, posted: total.minus(before).unwrap(), ..whole };
    let feb = Bill::new(BillInput { month: "2026-02".into(), ..input(vec![instance(1, vec![february])]) }).unwrap();
    let mar = bill(vec![instance(1, vec![march])]);
    assert_eq!(feb.total.plus(mar.total).unwrap(), total);
    let (f, m) = (&feb.groups[0].lines[0], &mar.groups[0].lines[0]);
    assert_eq!((f.to, m.from), (Some(month_end), month_end));
    assert_eq!((f.billed, m.billed), (Span::from_secs(1_800), Span::from_secs(3_601)));
    assert!(m.explain.arithmetic.contains(", less 0.50 of earlier months = 1.000277"), "{}", m.explain.arithmetic);
}

#[test]
fn an_open_segment_stops_at_the_end_of_a_past_month() {
    let mut open = segment(1, "2026-03-31T15:00:00Z", None, "1.00");
    open.proven_until = Some(t("2026-04-02T00:00:00Z"));
    let b = bill(vec![instance(1, vec![open.clone()])]);
    assert_eq!(b.total, money("1.00"), "one hour to midnight in Shanghai");
    assert_eq!(b.groups[0].lines[0].billed, Span::from_hours(1));
    open.posted_before = money("1.00");
    let april = Bill::new(BillInput { month: "2026-04".into(), ..input(vec![instance(1, vec![open])]) }).unwrap();
    assert_eq!(april.total, money("32.00"));
}

#[test]
fn a_disk_inside_the_allowance_is_a_line_of_nothing() {
    let mut disk = segment(1, "2026-03-01T12:00:00Z", Some("2026-03-02T12:00:00Z"), "0");
    disk.item = Item::Disk;
    let b = bill(vec![instance(1, vec![disk])]);
    assert_eq!((b.groups[0].lines.len(), b.total, b.rounding), (1, Money::ZERO, Money::ZERO));
    let text = render_text(&b, false);
    assert!(
        text.contains("disk  2026-03-01 20:00:00 – 2026-03-02 20:00:00  1d at 0.00/h  inside the free allowance"),
        "{text}"
    );
}

#[test]
fn what_lies_outside_the_month_is_not_on_the_bill() {
    let old = segment(1, "2026-01-01T00:00:00Z", Some("2026-01-02T00:00:00Z"), "1.00");
    let new = segment(2, "2026-04-05T00:00:00Z", Some("2026-04-06T00:00:00Z"), "1.00");
    let quiet = |s: BillSegment| BillSegment { posted: Money::ZERO, ..s };
    let b = bill(vec![instance(1, vec![quiet(old.clone()), quiet(new)])]);
    assert_eq!((b.groups.len(), b.total), (0, Money::ZERO));
    assert!(render_text(&b, true).contains("Nothing was used in this month."));
    let late = bill(vec![instance(1, vec![old])]);
    assert_eq!(late.total, money("24.00"), "posted in this month for an older segment, so it must be on this bill");
}

#[test]
fn the_whole_text_with_its_explanation() {
    let mut i = instance(7, vec![segment(1, "2026-03-01T10:00:00Z", Some("2026-03-01T11:23:45Z"), "3.20")]);
    i.segments[0].ended = Some("stopped by the renter".into());
    i.fake = true;
    let mut input = input(vec![i]);
    input.entries = vec![BillEntry { at: t("2026-03-01T09:00:00Z"), what: "top-up".into(), amount: money("100") }];
    let b = Bill::new(input).unwrap();
    let want = format!(
        "Bill 2026-03 of {}, CNY, times in Asia/Shanghai\n\
         \n\
         train-7 ({})  1 × A100 PCIe 40G  [fake cards]\n\
         {:<95}4.47\n\
         {:6}cards 1320\n\
         {:6}segment {}, prices 00ff\n\
         {:6}3.20 × 5025000 ms ÷ 3600000, rounded down = 4.466666\n\
         {:6}ready: a shell answered\n\
         {:6}ended: stopped by the renter\n\
         {:<95}4.47\n\
         \n\
         {:<95}4.47\n\
         {:<94}-0.003334\n\
         {:<95}4.466666\n\
         {:<95}4.47\n\
         \n\
         Paid in, credited and paid back (not part of the total)\n\
         {:<93}100.00\n",
        b.account,
        b.groups[0].instance,
        "  on-demand  2026-03-01 18:00:00 – 2026-03-01 19:23:45  1h23m45s at 3.20/h",
        "",
        "",
        b.groups[0].lines[0].explain.segment,
        "",
        "",
        "",
        "  this instance",
        "lines",
        "rounding (lines are rounded to 0.01)",
        "total",
        "total, rounded",
        "  2026-03-01 17:00:00  top-up",
    );
    assert_eq!(render_text(&b, true), want);
    assert!(!render_text(&b, false).contains("segment "));
}

#[test]
fn what_each_project_cost_adds_up_to_the_total() {
    let of = |n, project: Option<&str>| BillInstance {
        project: project.map(|name| name.parse().unwrap()),
        ..instance(n, vec![segment(n, "2026-03-01T10:00:00Z", Some("2026-03-01T11:23:45Z"), "3.20")])
    };
    let b = bill(vec![of(1, Some("vision")), of(2, None), of(3, Some("vision")), of(4, Some("speech"))]);
    let text = render_projects(&b);
    let rows: Vec<_> = text.lines().skip(2).map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let want = [
        "without a project 1 instance 4.466666",
        "speech 1 instance 4.466666",
        "vision 2 instances 8.933332",
        "total 17.866664",
    ];
    assert_eq!(rows, want);
    assert!(render_text(&b, false).contains("1 × A100 PCIe 40G  project vision\n"));
    assert!(render_projects(&bill(vec![])).contains("Nothing was used in this month."));
}

#[test]
fn a_bill_survives_json_and_bad_months_are_refused() {
    let b = bill(vec![instance(1, vec![segment(1, "2026-03-01T10:00:00Z", Some("2026-03-01T11:23:45Z"), "3.20")])]);
    let json = serde_json::to_value(&b).unwrap();
    assert_eq!(json["total"]["amount"], "4.466666");
    assert_eq!(json["groups"][0]["lines"][0]["amount"]["micros"], 4_470_000);
    assert_eq!(serde_json::from_value::<Bill>(json).unwrap(), b);
    for (month, zone) in [("2026-13", "UTC"), ("march", "UTC"), ("2026-03", "Mars/Base")] {
        let bad = BillInput { month: month.into(), zone: zone.into(), ..input(Vec::new()) };
        assert_eq!(Bill::new(bad).unwrap_err().cause(), Cause::InvalidRequest);
    }
}

proptest! {
    /// Whatever is posted and open: lines plus rounding are the total, and the
    /// total is the ledger's plus what is not posted yet.
    #[test]
    fn the_total_is_always_the_ledgers(
        parts in proptest::collection::vec((0..40i64 * 86_400, 0..500_000i64, 0..50_000_000i64, any::<bool>()), 0..20),
        projects in proptest::collection::vec(0..4usize, 20),
    ) {
        let start = t("2026-02-25T00:00:00Z");
        let segments: Vec<BillSegment> = parts.iter().enumerate().map(|(n, (begin, length, rate, open))| {
            let from = start.after(Span::from_secs(*begin));
            let end = from.after(Span::from_secs(*length));
            let mut s = segment(n as u128, "2026-03-01T00:00:00Z", None, "0");
            s.id = SegmentId::new(from, n as u128);
            s.from = from;
            s.rate = Rate::from_micros_per_hour(*rate);
            let (month_from, month_to) = month_bounds("2026-03", "Asia/Shanghai").unwrap();
            let until = |t: Timestamp| charge_until(from, s.rate, t.min(end)).unwrap();
            s.posted_before = until(month_from);
            if *open {
                s.proven_until = Some(end);
            } else {
                s.to = Some(end);
                s.posted = until(month_to).minus(s.posted_before).unwrap();
            }
            s
        }).collect();
        let ledger = Money::sum(segments.iter().map(|s| s.posted)).unwrap();
        // One instance for each segment, in one of three projects or in none.
        let names = [None, Some("a"), Some("b"), Some("c")];
        let instances = segments.iter().zip(&projects).enumerate().map(|(n, (s, project))| BillInstance {
            project: names[*project].map(|name| name.parse().unwrap()),
            ..instance(n as u128, vec![s.clone()])
        });
        let divided = bill(instances.collect());
        let b = bill(vec![instance(1, segments.clone())]);
        prop_assert_eq!(divided.total, b.total);
        for b in [&b, &divided] {
            prop_assert_eq!(Money::sum(b.projects.iter().map(|p| p.total)).unwrap(), b.total);
            let counted: i64 = b.projects.iter().map(|p| p.instances).sum();
            prop_assert_eq!(usize::try_from(counted).unwrap(), b.groups.len());
            let _ = render_projects(b);
        }
        for one in &divided.projects {
            let of_it = divided.groups.iter().filter(|g| g.project == one.project).flat_map(|g| &g.lines);
            prop_assert_eq!(Money::sum(of_it.map(|l| l.exact)).unwrap(), one.total);
        }
        let lines = Money::sum(b.groups.iter().flat_map(|g| &g.lines).map(|l| l.amount)).unwrap();
        prop_assert_eq!(lines, b.lines_total);
        prop_assert_eq!(lines.plus(b.rounding).unwrap(), b.total);
        prop_assert_eq!(b.posted, ledger);
        prop_assert_eq!(b.posted.plus(b.so_far).unwrap(), b.total);
        let exact = Money::sum(b.groups.iter().flat_map(|g| &g.lines).map(|l| l.exact)).unwrap();
        prop_assert_eq!(exact, b.total);
        let half_cents = i64::try_from(b.groups.iter().map(|g| g.lines.len()).sum::<usize>()).unwrap() * 5_000;
        prop_assert!(b.rounding.micros().abs() <= half_cents);
        let _ = render_text(&b, true);
    }
}
