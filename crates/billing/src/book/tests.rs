use super::*;
use proptest::prelude::*;

const HEAD: &str = "name = \"b\"\ncurrency = \"CNY\"\ndated = \"2026-01-01\"\n";

fn check(body: &str) -> Lint {
    lint(&format!("{HEAD}{body}"), Catalogue::builtin(), None)
}

/// `line: path: message | hint` of the only error.
fn only(body: &str) -> String {
    let lint = check(body);
    assert_eq!(lint.errors.len(), 1, "{:?}", lint.errors);
    format!("{} | {}", lint.errors[0], lint.errors[0].hint)
}

fn row(rest: &str) -> String {
    format!("[[model]]\ngpu = \"T4\"\non_demand = \"0.80\"\n{rest}\n")
}

#[test]
fn the_demonstration_book_has_no_errors_and_exactly_the_two_known_warnings() {
    let found = lint(DEMO, Catalogue::builtin(), None);
    assert_eq!(found.errors, []);
    let warnings: Vec<_> = found.warnings.iter().map(|w| (w.path.as_str(), w.message.as_str())).collect();
    assert_eq!(
        warnings,
        [
            (
                "a100-pcie-40g.month",
                "A100 PCIe 40G: a month costs 4500.00, 720 h on demand cost 2304.00: nobody should buy it"
            ),
            (
                "rtx-4090-24g.month",
                "RTX 4090 24G: a month costs 1450.00, 720 h on demand cost 1296.00: nobody should buy it"
            ),
        ]
    );
}

#[test]
fn the_demonstration_book_prices_every_card_of_the_fake_fleets() {
    let book = PriceBook::demonstration().unwrap();
    for (slug, rate, made_up) in [
        ("rtx-4090-24g", "1.80", false),
        ("rtx-3090-24g", "1.50", false),
        ("a100-pcie-40g", "3.20", false),
        ("a100-sxm4-40g", "3.40", true),
        ("a100-sxm4-80g", "4.80", true),
        ("h100-sxm5-80g", "8.50", false),
        ("l40s-48g", "2.90", true),
        ("t4-16g", "0.80", true),
    ] {
        let price = book.model(slug).unwrap();
        assert_eq!((price.on_demand.unwrap().to_string().as_str(), price.demonstration), (rate, made_up), "{slug}");
    }
    assert_eq!(book.spot_discount, Share::percent(60));
    assert_eq!(book.rail8_surcharge, Share::percent(30));
    assert_eq!(book.year_pack_bonus, Share::percent(15));
    assert_eq!(book.model("mi300x-192g").unwrap_err().cause(), Cause::NoPrice);
}

#[test]
fn a_small_book_is_read_whole() {
    let body =
        format!("hold_share = \"50%\"\n[storage]\nfree_gib = 7\nvolume_gib = \"0.001\"\n{}", row("year = \"99\""));
    let (book, warnings) = PriceBook::parse(&format!("{HEAD}{body}"), Catalogue::builtin()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((book.hold_share, book.storage.free_gib), (Share::percent(50), 7));
    assert_eq!(book.storage.volume_gib.micros_per_hour(), 1_000);
    let t4 = book.model("t4-16g").unwrap();
    assert_eq!((t4.year, t4.includes), (Some("99".parse().unwrap()), Resources::PER_DEVICE));
    let json = serde_json::to_string(&book).unwrap();
    assert_eq!(serde_json::from_str::<PriceBook>(&json).unwrap(), book);
}

#[test]
fn errors_say_where_what_and_how() {
    for (body, want) in [
        (
            row("on_demnad = \"1\""),
            "line 7: model[0].on_demnad: `on_demnad` is not a known key | did you mean `on_demand`?",
        ),
        (row("month = \"-1\""), "line 7: model[0].month: -1 is below nothing | prices and shares cannot be negative"),
        (
            row("month = 1450.5"),
            "line 7: model[0].month: must be text, not float | put it in quotes: amounts are decimal text so that no digit is lost",
        ),
        (
            row("month = 1450"),
            "line 7: model[0].month: must be text, not integer | put it in quotes: amounts are decimal text so that no digit is lost",
        ),
        (
            row("month = \"1,450\""),
            "line 7: model[0].month: `1,450` is not an amount of money | write it like 12 or 12.50, with at most six decimals and no currency sign",
        ),
        (
            row("spot = \"0.81\""),
            "line 7: model[0].spot: spot 0.81 is above on-demand 0.80 | lower it, or leave it out",
        ),
        (
            row("spot_discount = \"-10%\""),
            "line 7: model[0].spot_discount: -10% puts spot above on-demand | a discount is written without a minus sign, for example 60%",
        ),
        (
            row("spot_discount = \"101%\""),
            "line 7: model[0].spot_discount: 101% is more than the whole price | use 0% to 100%",
        ),
        (
            row("spot = \"0.2\"\nspot_discount = \"1%\""),
            "line 7: model[0].spot: spot and spot_discount exclude each other | keep one of the two",
        ),
        (
            row("includes = { cpus = 1.5 }"),
            "line 7: model[0].includes.cpus: is not a possible number | write a whole number from 1 to 1024",
        ),
        (
            row("includes = { cpu = 2 }"),
            "line 7: model[0].includes.cpu: `cpu` is not a known key | did you mean `cpus`?",
        ),
        (row("demonstration = \"yes\""), "line 7: model[0].demonstration: is not true or false | write true"),
        (
            format!("{}{}", row(""), row("").replace("T4", "Tesla T4")),
            "line 8: model[1].gpu: t4-16g is there twice, first in line 4 | keep one of the two",
        ),
        (
            row("").replace("T4", "RTX 4091"),
            "line 5: model[0].gpu: no card is known as `RTX 4091` | did you mean RTX 4090 24G or RTX 4090 48G?",
        ),
        (
            row("").replace("T4", "A100 40G"),
            "line 5: model[0].gpu: `A100 40G` fits several cards: A100 PCIe 40G, A100 SXM4 40G | name one of them; a price for several needs a row each",
        ),
        ("[[model]]\ngpu = \"T4\"\n".to_owned(), "line 4: model[0]: has no price | add on_demand, month or year"),
        ("[[model]]\non_demand = \"1\"\n".to_owned(), "line 4: model[0].gpu: is missing | add it"),
        (
            "[[model]]\ngpu = \"T4\"\nmonth = \"1\"\nspot = \"1\"\n".to_owned(),
            "line 7: model[0].spot: there is no on-demand price | add on_demand, or leave spot out",
        ),
        (String::new(), "model: the book has no prices | add a [[model]] with gpu and on_demand"),
        (format!("hold_share = \"101%\"\n{}", row("")), "line 4: hold_share: 101% is out of range | use 0% to 100%"),
        (format!("storage = 3\n{}", row("")), "line 4: storage: is not a table | write key = value pairs in it"),
        (format!("tier = 3\n{}", row("")), "line 4: tier: is not a list of tables | write each one under [[tier]]"),
        (
            format!("{}[[tier]]\nabove = \"10\"\n", row("")),
            "line 8: tier[0].discount: is missing | a bracket needs `above` and `discount`",
        ),
    ] {
        assert_eq!(only(&body), want);
    }
}

#[test]
fn only_a_dearer_prepaid_price_draws_a_warning() {
    let warned = |rest: &str| check(&row(rest)).warnings.len();
    assert_eq!(warned("month = \"576\""), 0, "exactly 720 h at 0.80");
    assert_eq!(warned("month = \"576.000001\""), 1);
    assert_eq!(warned("year = \"7008\""), 0, "exactly 8760 h at 0.80");
    assert_eq!(warned("year = \"7008.01\""), 1);
}

#[test]
fn a_bracket_rounds_half_up() {
    let tiers = vec![Tier { above: Money::ZERO, discount: Share::percent(5) }];
    let book = PriceBook { tiers, ..PriceBook::demonstration().unwrap() };
    let cost = |micros| book.after_tiers(Money::ZERO, Money::from_micros(micros)).unwrap().micros();
    assert_eq!([cost(9), cost(10), cost(30), cost(31)], [9, 10, 29, 29], "8.55, 9.5, 28.5, 29.45");
}

#[test]
fn brackets_must_ascend() {
    let tiers = |a: &str, b: &str| {
        format!(
            "{}[[tier]]\nabove = \"{a}\"\ndiscount = \"5%\"\n[[tier]]\nabove = \"{b}\"\ndiscount = \"10%\"\n",
            row("")
        )
    };
    assert_eq!(check(&tiers("10000", "50000")), Lint::default());
    for (a, b) in [("50000", "10000"), ("10000", "10000")] {
        assert!(only(&tiers(a, b)).contains("does not come after the bracket before it | sort the brackets"));
    }
    let dearer = check(&tiers("10000", "50000").replace("10%", "4%"));
    assert_eq!(dearer.errors, []);
    assert_eq!(
        dearer.warnings[0].message,
        "the bracket above 50000.00 gives 4%, less than the 5% of the smaller one above 10000.00"
    );
}

#[test]
fn the_head_is_checked_too() {
    let found = lint(&format!("currency = \"yuan\"\ndated = \"March\"\n{}", row("")), Catalogue::builtin(), None);
    let found: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["line 1: name: is missing", "line 1: currency: is not a currency code", "line 2: dated: is not a day"]
    );
    let broken = lint("name = ", Catalogue::builtin(), None);
    assert_eq!(broken.errors[0].line, Some(1));
    let error = PriceBook::parse("name = 1\n", Catalogue::builtin()).unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidPriceBook);
    assert!(error.message().ends_with("(and 1 more)"), "{}", error.message());
    assert!(error.hint_text().is_some());
}

#[test]
fn a_price_far_from_the_book_before_is_shown() {
    let book = |price: &str| {
        PriceBook::parse(&format!("{HEAD}{}", row("").replace("0.80", price)), Catalogue::builtin()).unwrap().0
    };
    let against = |now: &str, before: &str| {
        let text = format!("{HEAD}{}", row("").replace("0.80", now));
        lint(&text, Catalogue::builtin(), Some(&book(before))).warnings.len()
    };
    assert_eq!(against("0.80", "0.80"), 0);
    assert_eq!(against("2.40", "0.80"), 0, "three times is not far");
    assert_eq!(against("2.41", "0.80"), 1);
    assert_eq!(against("0.26", "0.80"), 1);
    assert_eq!(against("8", "0.80"), 1);
}

#[test]
fn the_version_follows_content_only() {
    let version = |text: &str| PriceBook::parse(text, Catalogue::builtin()).unwrap().0.version;
    let a = version(&format!("{HEAD}{}", row("")));
    assert_eq!(a.len(), 16);
    assert_eq!(a, version(&format!("# comment\n{HEAD}\n{}", row("").replace("T4", "tesla t4").replace("0.80", "0.8"))));
    for other in
        [row("").replace("0.80", "0.81"), row("note = \"n\""), row("month = \"1\""), row("demonstration = true")]
    {
        assert_ne!(a, version(&format!("{HEAD}{other}")), "{other}");
    }
    assert_ne!(a, version(&format!("{HEAD}extra_cpu = \"1\"\n{}", row(""))));
}

fn any_line() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("gpu"),
        Just("on_demand"),
        Just("month"),
        Just("spot"),
        Just("spot_discount"),
        Just("includes"),
        Just("tier"),
        Just("model"),
        Just("storage"),
        Just("dated"),
        Just("currency"),
        Just("above"),
        Just("free_gib"),
    ];
    let value = prop_oneof![
        Just("\"T4\"".to_owned()),
        Just("\"1.80\"".to_owned()),
        Just("\"60%\"".to_owned()),
        Just("1e400".to_owned()),
        Just("0xffffffffffffffffffff".to_owned()),
        Just("nan".to_owned()),
        Just("[]".to_owned()),
        Just("[1,{}]".to_owned()),
        Just("{cpus=1}".to_owned()),
        Just("2026-01-01".to_owned()),
        Just("\"9223372036854.775807\"".to_owned()),
        "\"\\PC{0,9}\"",
    ];
    prop_oneof![
        3 => (key, value).prop_map(|(k, v)| format!("{k} = {v}")),
        1 => prop_oneof![Just("[[model]]"), Just("[[tier]]"), Just("[storage]"), Just("[model]"), Just("[[model.includes]]")].prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn lint_never_panics_on_any_text(text in any::<String>()) {
        let found = lint(&text, Catalogue::builtin(), None);
        prop_assert_eq!(PriceBook::parse(&text, Catalogue::builtin()).is_ok(), found.errors.is_empty());
    }

    #[test]
    fn lint_never_panics_on_toml_like_text(lines in proptest::collection::vec(any_line(), 0..25), cut in 0..DEMO.len()) {
        let cut = (0..=cut).rev().find(|i| DEMO.is_char_boundary(*i)).unwrap_or(0);
        for text in [lines.join("\n"), format!("{}{}", &DEMO[..cut], lines.join("\n"))] {
            let found = lint(&text, Catalogue::builtin(), PriceBook::demonstration().ok().as_ref());
            let parsed = PriceBook::parse(&text, Catalogue::builtin());
            prop_assert_eq!(parsed.is_ok(), found.errors.is_empty());
            let lines = text.lines().count().max(1) + 1;
            prop_assert!(found.errors.iter().all(|e| e.line.is_none_or(|l| l >= 1 && l <= lines)));
        }
    }

    #[test]
    fn tiers_split_a_month_the_same_in_any_steps(parts in proptest::collection::vec(0..30_000_000_000i64, 1..20)) {
        let tier = |above: i64, percent: i64| Tier { above: Money::from_micros(above * 1_000_000), discount: Share::percent(percent) };
        let book = PriceBook { tiers: vec![tier(10_000, 5), tier(50_000, 10)], ..PriceBook::demonstration().unwrap() };
        let (mut before, mut paid) = (Money::ZERO, Money::ZERO);
        for part in parts {
            let part = Money::from_micros(part);
            let cost = book.after_tiers(before, part).unwrap();
            prop_assert!(cost <= part && cost >= Money::ZERO);
            paid = paid.plus(cost).unwrap();
            before = before.plus(part).unwrap();
        }
        prop_assert_eq!(paid, book.after_tiers(Money::ZERO, before).unwrap());
    }
}
