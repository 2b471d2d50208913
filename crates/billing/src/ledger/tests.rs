use super::*;
use proptest::prelude::*;

fn account(n: u128) -> AccountId {
    AccountId::new(Timestamp::EPOCH, n)
}

fn charge(amount: i64) -> Posting {
    Posting {
        debit: Book::Balance(account(1)),
        credit: Book::Revenue("device".into()),
        amount: Money::from_micros(amount),
        kind: PostingKind::Charge,
        cause: "charge:seg-1:5".into(),
        at: Timestamp::EPOCH,
        segment: Some(SegmentId::new(Timestamp::EPOCH, 7)),
        price_version: Some("0123456789abcdef".into()),
    }
}

#[test]
fn books_have_the_names_of_the_rule_book() {
    let a = account(1);
    for (book, text) in [
        (Book::Cash("manual".into()), "cash:manual".to_owned()),
        (Book::Balance(a.clone()), format!("customer:{a}:balance")),
        (Book::Credit(a.clone()), format!("customer:{a}:credit")),
        (Book::Prepaid(a.clone()), format!("customer:{a}:prepaid")),
        (Book::Receivable(a.clone()), format!("customer:{a}:receivable")),
        (Book::Revenue("device".into()), "revenue:device".to_owned()),
        (Book::Promotion, "promotion".to_owned()),
        (Book::Adjustment, "adjustment".to_owned()),
        (Book::Refunds, "refunds".to_owned()),
        (Book::Expired, "expired".to_owned()),
        (Book::Rounding, "rounding".to_owned()),
    ] {
        assert_eq!(book.to_string(), text);
        assert_eq!(text.parse::<Book>().unwrap(), book);
        assert_eq!(serde_json::to_value(&book).unwrap(), text.as_str());
    }
}

#[test]
fn other_texts_are_no_books() {
    for bad in
        ["", "cash", "cash:", "cash:A", "cash:a:b", "customer:me:balance", "revenue:a b", "Promotion", "rounding:x"]
    {
        assert_eq!(bad.parse::<Book>().unwrap_err().cause(), Cause::InvalidRequest, "{bad}");
    }
    assert!(format!("customer:{}:debt", account(1)).parse::<Book>().is_err());
}

#[test]
fn a_top_up_grows_the_balance_and_a_charge_shrinks_it() {
    let top_up =
        Posting::top_up(account(1), "manual", Money::from_micros(900), "t:1".into(), Timestamp::EPOCH).unwrap();
    let balance = Book::Balance(account(1));
    assert_eq!(effect(&top_up, &balance), 900);
    assert_eq!(effect(&top_up, &Book::Cash("manual".into())), -900);
    assert_eq!(effect(&charge(400), &balance), -400);
    assert_eq!(effect(&charge(400), &Book::Revenue("device".into())), 400);
    assert_eq!(effect(&charge(400), &Book::Balance(account(2))), 0);
    let sums = sums([&top_up, &charge(400)]);
    assert_eq!(sums[&balance], 500);
    assert_eq!(sums.values().sum::<i128>(), 0);
}

#[test]
fn impossible_postings_are_refused() {
    assert!(charge(1).checked().is_ok());
    for amount in [0, -1, i64::MIN] {
        assert_eq!(charge(amount).checked().unwrap_err().cause(), Cause::InvalidAmount);
    }
    let wrong = [
        Posting { credit: Book::Balance(account(1)), ..charge(1) },
        Posting { credit: Book::Revenue("a:b".into()), ..charge(1) },
        Posting { cause: " ".into(), ..charge(1) },
        Posting { cause: "x".repeat(201), ..charge(1) },
        Posting { segment: None, ..charge(1) },
    ];
    for posting in wrong {
        assert_eq!(posting.clone().checked().unwrap_err().cause(), Cause::Internal, "{posting:?}");
    }
}

#[test]
fn kinds_come_back_and_match_json() {
    for kind in PostingKind::ALL {
        assert_eq!(kind.to_string().parse::<PostingKind>().unwrap(), kind);
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

proptest! {
    #[test]
    fn all_books_sum_to_zero(
        entries in proptest::collection::vec((0..6usize, 0..6usize, 1..=i64::MAX), 0..60),
    ) {
        let books = [
            Book::Cash("manual".into()), Book::Balance(account(1)), Book::Balance(account(2)),
            Book::Credit(account(1)), Book::Revenue("device".into()), Book::Promotion,
        ];
        let postings: Vec<Posting> = entries.iter().enumerate()
            .filter_map(|(i, (d, c, amount))| {
                let posting = Posting { debit: books[*d].clone(), credit: books[*c].clone(), cause: format!("c{i}"), ..charge(*amount) };
                posting.checked().ok()
            })
            .collect();
        prop_assert_eq!(postings.len(), entries.iter().filter(|(d, c, _)| d != c).count());
        let sums = sums(&postings);
        prop_assert_eq!(sums.values().sum::<i128>(), 0);
        for (book, sum) in sums {
            prop_assert_eq!(postings.iter().map(|p| i128::from(effect(p, &book))).sum::<i128>(), sum);
        }
    }
}
