//! The double-entry ledger: books, postings and what they do.
//!
//! A posting moves its amount out of `debit` into `credit`. So a credit makes a
//! book grow and a debit makes it shrink, for every book alike: a customer's
//! balance is positive when he has money with us, revenue is positive when we
//! earned it, and a cash book, from which top-ups come, is negative by the money
//! that we hold. All books together are always zero.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base::{AccountId, Cause, Error, Money, Result, SegmentId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One book of the ledger. Its text form (`customer:acc-…:balance`) is stable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Book {
    /// Money at a payment provider.
    Cash(String),
    /// Paid-in money of an account.
    Balance(AccountId),
    /// Granted money of an account: vouchers, goodwill.
    Credit(AccountId),
    /// Prepaid and not yet earned: packs, subscriptions, reservations.
    Prepaid(AccountId),
    /// Owed by an account: storage kept during retention.
    Receivable(AccountId),
    /// Earned, by kind: `device`, `disk`.
    Revenue(String),
    /// What bonuses and vouchers cost us.
    Promotion,
    /// What our own faults cost us.
    Adjustment,
    /// Paid back.
    Refunds,
    /// Granted money that expired.
    Expired,
    /// Parts of a micro-unit.
    Rounding,
}

/// A provider's or revenue kind's name: short, lower case, no colon.
fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cash(provider) => write!(f, "cash:{provider}"),
            Self::Balance(account) => write!(f, "customer:{account}:balance"),
            Self::Credit(account) => write!(f, "customer:{account}:credit"),
            Self::Prepaid(account) => write!(f, "customer:{account}:prepaid"),
            Self::Receivable(account) => write!(f, "customer:{account}:receivable"),
            Self::Revenue(kind) => write!(f, "revenue:{kind}"),
            Self::Promotion => f.write_str("promotion"),
            Self::Adjustment => f.write_str("adjustment"),
            Self::Refunds => f.write_str("refunds"),
            Self::Expired => f.write_str("expired"),
            Self::Rounding => f.write_str("rounding"),
        }
    }
}

impl FromStr for Book {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let bad =
            || Error::new(Cause::InvalidRequest, format!("`{}` is not a book of the ledger", text.escape_debug()));
        let word = |w: &str| if is_word(w) { Ok(w.to_owned()) } else { Err(bad()) };
        let parts: Vec<&str> = text.split(':').collect();
        Ok(match parts.as_slice() {
            ["cash", provider] => Self::Cash(word(provider)?),
            ["revenue", kind] => Self::Revenue(word(kind)?),
            ["customer", account, which] => {
                let account = account.parse().map_err(|_| bad())?;
                match *which {
                    "balance" => Self::Balance(account),
                    "credit" => Self::Credit(account),
                    "prepaid" => Self::Prepaid(account),
                    "receivable" => Self::Receivable(account),
                    _ => return Err(bad()),
                }
            }
            ["promotion"] => Self::Promotion,
            ["adjustment"] => Self::Adjustment,
            ["refunds"] => Self::Refunds,
            ["expired"] => Self::Expired,
            ["rounding"] => Self::Rounding,
            _ => return Err(bad()),
        })
    }
}

impl TryFrom<String> for Book {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Book> for String {
    fn from(book: Book) -> Self {
        book.to_string()
    }
}

impl utoipa::PartialSchema for Book {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::schema::Type::String).into()
    }
}
impl ToSchema for Book {}

/// What a posting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PostingKind {
    /// A customer paid in.
    TopUp,
    /// A segment's time.
    Charge,
    /// A bonus, voucher or goodwill.
    Grant,
    /// A correction of our fault.
    Adjustment,
    /// Money back.
    Refund,
    /// A pack, subscription or reservation was bought.
    Purchase,
    /// Granted money expired.
    Expiry,
}

impl PostingKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::TopUp, Self::Charge, Self::Grant, Self::Adjustment, Self::Refund, Self::Purchase, Self::Expiry];

    /// The word for it in JSON and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TopUp => "top-up",
            Self::Charge => "charge",
            Self::Grant => "grant",
            Self::Adjustment => "adjustment",
            Self::Refund => "refund",
            Self::Purchase => "purchase",
            Self::Expiry => "expiry",
        }
    }
}

impl fmt::Display for PostingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PostingKind {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == text).ok_or_else(|| {
            Error::new(Cause::InvalidRequest, format!("`{}` is not a kind of posting", text.escape_debug()))
        })
    }
}

/// One entry: `amount` out of `debit` into `credit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Posting {
    /// The book that shrinks.
    pub debit: Book,
    /// The book that grows.
    pub credit: Book,
    /// How much; more than nothing.
    pub amount: Money,
    /// What for.
    pub kind: PostingKind,
    /// Unique in the whole ledger: the same event posted again has the same
    /// cause and is refused.
    pub cause: String,
    /// When it happened.
    pub at: Timestamp,
    /// The segment that it pays for.
    pub segment: Option<SegmentId>,
    /// Version of the price book behind the amount.
    pub price_version: Option<String>,
}

impl Posting {
    /// The posting, if it may enter the ledger.
    ///
    /// # Errors
    /// `invalid-amount` for an amount of nothing or less; `internal` for one
    /// book on both sides, an impossible book name, an empty cause, or a charge
    /// without a segment – mistakes of ours, not of the user.
    pub fn checked(self) -> Result<Self> {
        if !self.amount.is_positive() {
            return Err(Error::new(Cause::InvalidAmount, format!("{} cannot be posted", self.amount))
                .hint("the amount must be more than nothing"));
        }
        let wrong = |what: &str| Err(Error::internal(format!("posting `{}` {what}", self.cause)));
        if self.debit == self.credit {
            return wrong("has the same book on both sides");
        }
        for book in [&self.debit, &self.credit] {
            if book.to_string().parse::<Book>().is_err() {
                return wrong("names an impossible book");
            }
        }
        if self.cause.trim().is_empty() || self.cause.chars().count() > 200 {
            return wrong("has no cause or one that is too long");
        }
        if self.kind == PostingKind::Charge && self.segment.is_none() {
            return wrong("charges for no segment");
        }
        Ok(self)
    }

    /// A top-up: from the provider's cash into the account's balance.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn top_up(account: AccountId, provider: &str, amount: Money, cause: String, at: Timestamp) -> Result<Self> {
        let (debit, credit) = (Book::Cash(provider.to_owned()), Book::Balance(account));
        let kind = PostingKind::TopUp;
        Self { debit, credit, amount, kind, cause, at, segment: None, price_version: None }.checked()
    }
}

/// What a posting does to a book, micro-units: it grows by a credit and shrinks
/// by a debit; other books stay.
pub fn effect(posting: &Posting, book: &Book) -> i64 {
    let amount = posting.amount.micros();
    let mut sum = 0;
    if posting.credit == *book {
        sum += amount;
    }
    if posting.debit == *book {
        sum -= amount;
    }
    sum
}

/// Every book's content, micro-units.
pub fn sums<'a>(postings: impl IntoIterator<Item = &'a Posting>) -> BTreeMap<Book, i128> {
    let mut sums = BTreeMap::new();
    for posting in postings {
        for book in [&posting.debit, &posting.credit] {
            *sums.entry(book.clone()).or_insert(0i128) += i128::from(effect(posting, book));
        }
    }
    sums
}

#[cfg(test)]
mod tests;
