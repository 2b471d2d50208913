//! An account's money as its owner sees it.

use api::account::Balance;
use base::{Money, Result};
use sqlx::AnyConnection;
use store::accounts::Account;
use store::segments;

use crate::state::App;

/// What is in an account, what runs on it, and when that ends.
///
/// # Errors
/// The database's.
pub async fn balance(app: &App, db: &mut AnyConnection, account: &Account) -> Result<Balance> {
    let unsettled = segments::unsettled_of(db, &account.id).await?;
    let standing = control::account::standing(account.balance, &unsettled, app.now())?;
    Ok(Balance {
        account: account.id.clone(),
        name: account.name.clone(),
        currency: account.currency.clone(),
        available: standing.left,
        posted: account.balance,
        unposted: standing.used,
        held: account.held,
        burn: standing.burn,
        money_ends_at: standing.ends,
    })
}

/// What an account could still promise to a start.
///
/// # Errors
/// Amounts out of range.
pub fn free(balance: &Balance) -> Result<Money> {
    balance.available.minus(balance.held)
}
