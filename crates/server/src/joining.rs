//! How somebody who comes gets an account: by an invitation into one, or one of his own.

use base::{AccountId, Cause, Error, Money, Timestamp};
use billing::ledger::Posting;
use domain::rights::Role;
use serde_json::json;
use store::accounts::{self, Account};
use store::invitations::{self, Invitation};
use store::users::{self, User};
use store::{Outcome, Tx, events, members, postings};

/// Names that are tried before a random one.
const TRIES: u32 = 50;

/// What an account of one's own begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Its name, if nobody has that yet.
    pub name: String,
    /// Its currency.
    pub currency: String,
    /// IANA time zone of its months.
    pub time_zone: String,
}

/// The time zone of who speaks a language, where he did not say his own.
pub fn time_zone(language: Option<&str>) -> &'static str {
    match deliver::Language::of(language) {
        deliver::Language::Chinese => "Asia/Shanghai",
        deliver::Language::English => "UTC",
    }
}

/// Makes an account of a user's own, under a name like the wanted one.
///
/// # Errors
/// The database's.
pub async fn own_account(tx: &mut Tx<'_>, user: &User, wanted: &Beginning, now: Timestamp) -> Outcome<AccountId> {
    let mut account = Account {
        id: AccountId::new(now, tx.random()),
        name: wanted.name.clone(),
        currency: wanted.currency.clone(),
        time_zone: wanted.time_zone.clone(),
        balance: Money::ZERO,
        held: Money::ZERO,
        due_at: None,
        rung: 0,
        created_at: now,
    };
    let mut n = 1;
    while !accounts::insert(tx, &account).await? {
        n += 1;
        account.name = match n {
            ..=TRIES => format!("{}-{n}", wanted.name),
            _ => format!("{}-{:08x}", wanted.name, tx.random() & 0xffff_ffff),
        };
    }
    users::join(tx, &account.id, &user.id, Role::Owner, now).await?;
    Ok(account.id)
}

/// Accepts an invitation for a user; the account that he is in since.
///
/// # Errors
/// `not-found` where it is not open any more, `already-exists` where he is in that
/// account, or the database's.
pub async fn accept(
    tx: &mut Tx<'_>,
    invitation: &Invitation,
    user: &User,
    own: &Beginning,
    now: Timestamp,
) -> Outcome<AccountId> {
    if !invitations::use_up(tx, &invitation.id, &user.id, now).await? {
        return Err(not_open().into());
    }
    let Some(account) = &invitation.account else {
        let name = invitation.account_name.clone().unwrap_or_else(|| own.name.clone());
        let account = own_account(tx, user, &Beginning { name, ..own.clone() }, now).await?;
        credit(tx, invitation, &account, now).await?;
        return Ok(account);
    };
    if !members::add(tx, account, &user.id, invitation.role, now).await? {
        return Err(Error::new(Cause::AlreadyExists, "you belong to this account already").into());
    }
    tell_joined(tx, user, invitation, account, now).await?;
    Ok(account.clone())
}

/// Tells an account that somebody has joined it.
///
/// # Errors
/// The database's.
pub async fn tell_joined(
    tx: &mut Tx<'_>,
    user: &User,
    invitation: &Invitation,
    account: &AccountId,
    now: Timestamp,
) -> Outcome<()> {
    let data = json!({ "user": user.id, "role": invitation.role, "by": invitation.by });
    let message = format!("{} has joined as {}", user.name, invitation.role);
    events::record(tx, now, Some(account), account.as_str(), "member-joined", &message, &data).await
}

/// Posts what an invitation brings along, once.
async fn credit(tx: &mut Tx<'_>, invitation: &Invitation, account: &AccountId, now: Timestamp) -> Outcome<()> {
    let amount = invitation.credit;
    if !amount.is_positive() {
        return Ok(());
    }
    let cause = format!("invitation:{}", invitation.id);
    let posting = Posting::top_up(account.clone(), "invitation", amount, cause, now)?;
    postings::post(tx, &posting, account, Some("with the invitation")).await?;
    accounts::nudge(tx, account, now).await?;
    let data = json!({ "amount": amount, "invitation": invitation.id });
    events::record(tx, now, Some(account), account.as_str(), "topped-up", &format!("{amount} added"), &data).await
}

/// The answer to an invitation that is not good, or never was.
pub fn not_open() -> Error {
    Error::new(Cause::NotFound, "this invitation is not open: it was used, taken back, or has run out")
        .hint("ask whoever invited you for another one")
}
