use super::*;
use proptest::prelude::*;

fn book() -> PriceBook {
    PriceBook::demonstration().unwrap()
}

fn ask(request: QuoteRequest) -> Result<Quote> {
    price(&book(), Catalogue::builtin(), &request)
}

fn amount(rate: Rate) -> String {
    rate.to_string()
}

#[test]
fn a_plain_quote_is_count_times_list() {
    let q = quote(&book(), Catalogue::builtin(), &QuoteRequest::new("rtx-4090-24g", 2)).unwrap();
    assert_eq!((q.name.as_str(), q.count, q.cpus, q.memory_gib, q.disk_gib), ("RTX 4090 24G", 2, 16, 64, 100));
    assert_eq!(amount(q.rate), "3.60");
    assert_eq!(q.lines, [QuoteLine { what: "2 × RTX 4090 24G at 1.80 per hour".into(), rate: q.rate }]);
    assert_eq!(
        [q.per_hour, q.per_day, q.per_month, q.hold].map(|m| m.to_string()),
        ["3.60", "86.40", "2592.00", "3.60"]
    );
    assert_eq!((q.held_rate, q.disk_rate), (q.rate, Rate::ZERO));
    assert_eq!(q.price_version, book().version);
    assert!(!q.demonstration);
}

#[test]
fn more_cpu_memory_and_disk_cost_more_and_less_costs_the_same() {
    let request = QuoteRequest {
        cpus: Some(10),
        memory_gib: Some(42),
        disk_gib: Some(150),
        ..QuoteRequest::new("rtx-4090-24g", 1)
    };
    let q = ask(request.clone()).unwrap();
    assert_eq!(amount(q.rate), "1.98", "1.80 + 2 × 0.04 + 10 × 0.01");
    assert_eq!(q.lines[1].what, "2 CPU cores beyond the 8 included, 0.04 each");
    assert_eq!(q.lines[2].what, "10 GiB of memory beyond the 32 included, 0.01 each");
    assert_eq!(amount(q.disk_rate), "0.05", "100 GiB beyond the 50 included");
    assert_eq!(amount(q.stopped_rate), "0.05", "100 GiB beyond the 50 that are free");
    let crowded = ask(QuoteRequest { free_gib_used: 30, ..request.clone() }).unwrap();
    assert_eq!(amount(crowded.stopped_rate), "0.065", "30 GiB of the free 50 are used elsewhere");
    let less = ask(QuoteRequest { cpus: Some(1), memory_gib: Some(1), disk_gib: Some(1), ..request }).unwrap();
    assert_eq!((amount(less.rate), less.disk_rate, less.stopped_rate), ("1.80".into(), Rate::ZERO, Rate::ZERO));
}

#[test]
fn spot_and_rails_show_what_each_adds() {
    let request = QuoteRequest { plan: Plan::Spot, rails: 8, ..QuoteRequest::new("h100-sxm5-80g", 8) };
    let q = ask(request).unwrap();
    assert_eq!(amount(q.rate), "35.36", "68.00 × 0.4 × 1.3");
    let steps: Vec<_> = q.lines.iter().map(|l| (l.what.as_str(), l.rate.to_string())).collect();
    assert_eq!(
        steps,
        [
            ("8 × H100 SXM5 80G at 8.50 per hour", "68.00".to_owned()),
            ("spot: -60%", "-40.80".to_owned()),
            ("8 rails: +30%", "8.16".to_owned()),
        ]
    );
    assert_eq!(q.hold.to_string(), "5.893333", "ten minutes");
}

#[test]
fn a_book_may_fix_spot_and_the_share_for_holding() {
    let text = "name='b'\ncurrency='CNY'\ndated='2026-01-01'\nhold_share='25%'\n\
        [[model]]\ngpu='T4'\non_demand='0.80'\nspot='0.30'\n[[model]]\ngpu='L4'\non_demand='1'\nspot_discount='10%'\n";
    let (book, warnings) = PriceBook::parse(text, Catalogue::builtin()).unwrap();
    assert_eq!(warnings, []);
    let spot = |slug: &str| {
        let request = QuoteRequest { plan: Plan::Spot, ..QuoteRequest::new(slug, 2) };
        price(&book, Catalogue::builtin(), &request).unwrap()
    };
    assert_eq!(amount(spot("t4-16g").rate), "0.60");
    assert_eq!(amount(spot("l4-24g").rate), "1.80");
    let held = price(&book, Catalogue::builtin(), &QuoteRequest::new("t4-16g", 1)).unwrap().held_rate;
    assert_eq!(amount(held), "0.20");
}

#[test]
fn without_a_card_only_extras_are_paid() {
    let request = QuoteRequest { disk_gib: Some(90), ..QuoteRequest::new("rtx-4090-24g", 0) };
    let q = quote_without_card(&book(), Catalogue::builtin(), &request).unwrap();
    assert_eq!((q.count, q.cpus, q.memory_gib, amount(q.rate)), (0, 1, 2, "0.06".into()));
    let what: Vec<_> = q.lines.iter().map(|l| l.what.as_str()).collect();
    assert_eq!(what, ["1 CPU cores, 0.04 each", "2 GiB of memory, 0.01 each"]);
    assert_eq!(
        (amount(q.disk_rate), amount(q.stopped_rate)),
        ("0.02".into(), "0.02".into()),
        "40 GiB beyond the free 50"
    );
}

#[test]
fn refusals_name_their_cause() {
    let cause = |r: QuoteRequest| quote(&book(), Catalogue::builtin(), &r).unwrap_err().cause();
    let one = QuoteRequest::new("rtx-4090-24g", 1);
    assert_eq!(cause(QuoteRequest { count: 0, ..one.clone() }), Cause::InvalidCount);
    assert_eq!(cause(QuoteRequest { count: -3, ..one.clone() }), Cause::InvalidCount);
    assert_eq!(cause(QuoteRequest { count: 1_000_000, ..one.clone() }), Cause::MoreThanExist);
    assert_eq!(cause(QuoteRequest { rails: 5, ..one.clone() }), Cause::InvalidRequest);
    assert_eq!(cause(QuoteRequest { memory_gib: Some(0), ..one.clone() }), Cause::InvalidRequest);
    assert_eq!(cause(QuoteRequest { cpus: Some(i64::MAX), ..one.clone() }), Cause::InvalidRequest);
    assert_eq!(cause(QuoteRequest { model: "rtx-9999".into(), ..one.clone() }), Cause::UnknownGpu);
    assert_eq!(cause(QuoteRequest { model: "mi300x-192g".into(), ..one.clone() }), Cause::NoPrice);
    assert_eq!(
        cause(QuoteRequest { model: "a10-24g".into(), ..one.clone() }),
        Cause::NoPrice,
        "sold by the month only"
    );
    for plan in [Plan::Spot, Plan::Month, Plan::Year] {
        let error = quote(&book(), Catalogue::builtin(), &QuoteRequest { plan, ..one.clone() }).unwrap_err();
        assert_eq!(error.cause(), Cause::NotOffered);
        assert!(error.hint_text().unwrap().contains("on-demand"));
    }
    assert_eq!(ask(QuoteRequest { plan: Plan::Month, ..one }).unwrap_err().cause(), Cause::NotOffered);
}

#[test]
fn a_quote_survives_json() {
    let q = ask(QuoteRequest::new("t4-16g", 1)).unwrap();
    assert!(q.demonstration);
    let json = serde_json::to_value(&q).unwrap();
    assert_eq!(json["rate"]["amount"], "0.80");
    assert_eq!(json["rate"]["micros"], 800_000);
    assert_eq!(json["plan"], "on-demand");
    assert_eq!(serde_json::from_value::<Quote>(json).unwrap(), q);
    let request: QuoteRequest = serde_json::from_str(r#"{"model":"t4-16g","count":1}"#).unwrap();
    assert_eq!(request, QuoteRequest::new("t4-16g", 1));
}

proptest! {
    #[test]
    fn more_cards_never_cost_less(
        i in 0..12usize, count in 1..64i64, spot in any::<bool>(), eight in any::<bool>(),
        discount in 0..=100i64, list in 0..1_000_000_000i64,
    ) {
        let mut book = book();
        let slugs: Vec<String> = book.models.keys().cloned().collect();
        let slug = &slugs[i % slugs.len()];
        let entry = book.models.get_mut(slug).unwrap();
        entry.on_demand = Some(Rate::from_micros_per_hour(list));
        book.spot_discount = Share::percent(discount);
        let at = |count: i64, plan: Plan| {
            let request = QuoteRequest { plan, rails: if eight { 8 } else { 4 }, ..QuoteRequest::new(slug, count) };
            price(&book, Catalogue::builtin(), &request).unwrap()
        };
        let plan = if spot { Plan::Spot } else { Plan::OnDemand };
        let (few, many) = (at(count, plan), at(count + 1 - count / 64, plan));
        prop_assert!(few.rate <= many.rate && few.hold <= many.hold && few.per_month <= many.per_month);
        prop_assert!(at(count, Plan::Spot).rate <= at(count, Plan::OnDemand).rate);
        let sum = few.lines.iter().try_fold(Rate::ZERO, |s, l| s.plus(l.rate)).unwrap();
        prop_assert_eq!(sum, few.rate);
        let exact = i128::from(list) * i128::from(count)
            * i128::from(if spot { 100 - discount } else { 100 }) * if eight { 13 } else { 10 };
        prop_assert_eq!(i128::from(few.rate.micros_per_hour()), (exact + 500).div_euclid(1_000));
    }

    #[test]
    fn no_request_breaks_a_quote(
        count in any::<i64>(), rails in any::<i64>(), cpus in any::<Option<i64>>(),
        memory_gib in any::<Option<i64>>(), disk_gib in any::<Option<i64>>(), free_gib_used in any::<i64>(),
        model in "\\PC{0,30}",
    ) {
        for model in [model, "rtx-4090-24g".to_owned()] {
            let request = QuoteRequest { model, count, plan: Plan::OnDemand, rails, cpus, memory_gib, disk_gib, free_gib_used };
            let _ = ask(request);
        }
    }
}
