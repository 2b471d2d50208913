//! Accounts and their money.

use base::{AccountId, Money, PostingId, Rate, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/accounts` (operator).
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CreateAccount {
    /// Name of the account.
    pub name: String,
    /// Name of its first user, made with a one-time password; default is the account's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// IANA time zone of its months; default UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// A new account and the only showing of its first user's password.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedAccount {
    /// The account.
    pub account: AccountView,
    /// Name of its first user.
    pub user: String,
    /// One-time password of a new user; absent when the user existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// An account as the operator sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AccountView {
    /// Id.
    pub id: AccountId,
    /// Name.
    pub name: String,
    /// Currency of all its amounts.
    pub currency: String,
    /// IANA time zone of its months.
    pub time_zone: String,
    /// What is in it: posted money only.
    pub balance: Money,
    /// When it was made.
    pub created_at: Timestamp,
}

/// `POST /v1/accounts/{id}/topups` (operator).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// A positive decimal amount.
    pub amount: String,
    /// What the operator wants to remember about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A top-up that was posted.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ToppedUp {
    /// Its entry in the ledger.
    pub posting: PostingId,
    /// What was added.
    pub amount: Money,
    /// What is in the account now.
    pub balance: Money,
}

/// `GET /v1/balance`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Balance {
    /// The account.
    pub account: AccountId,
    /// Its name.
    pub name: String,
    /// Currency of every amount.
    pub currency: String,
    /// Posted money minus what has been used and proven but is not posted yet.
    pub available: Money,
    /// Posted money.
    pub posted: Money,
    /// Used and proven, posted when its segment closes.
    pub unposted: Money,
    /// Promised to running instances: they may use it up to their end.
    pub held: Money,
    /// What runs now costs so much an hour.
    pub burn: Rate,
    /// When the money ends if nothing changes; absent when nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money_ends_at: Option<Timestamp>,
}
