//! `POST /v1/accounts/{id}/topups`

use api::account::{TopUp, ToppedUp};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{AccountId, Cause, Error, Money, PostingId, Result};
use billing::ledger::Posting;
use futures_util::FutureExt;
use serde_json::json;
use store::idempotency::{self, Key};
use store::{Outcome, Tx, accounts, events, postings};

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::{Body, Reference, Repeat};
use crate::resolve;
use crate::state::App;
use crate::trail::Note;

/// Most that one top-up adds. More is a slip of the hand, and would bring the
/// sums over all accounts near the end of what can be counted.
const MOST: Money = Money::from_micros(1_000_000_000_000_000);

/// Enters money that a customer paid outside (operator).
#[utoipa::path(post, path = "/v1/accounts/{id}/topups", operation_id = "top_up", tag = "accounts", request_body = TopUp,
    params(("id" = String, Path, description = "id or name of the account"),
        ("Idempotency-Key" = Option<String>, Header, description = "repeats of the same request post once")),
    responses((status = 201, body = ToppedUp), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn top_up(
    State(app): State<App>,
    Operator(caller, _): Operator<does::TopUp>,
    Reference(id): Reference,
    repeat: Repeat,
    Body(request): Body<TopUp>,
) -> ApiResult<(StatusCode, Json<ToppedUp>)> {
    let account = {
        let mut db = app.store.read().await?;
        resolve::known_account(&mut db, &caller, Some(&id)).await?
    };
    let amount = amount(&request.amount)?;
    let key = repeat.key(&caller, &format!("POST /v1/accounts/{}/topups", account.id), &request)?;
    let (now, note) = (app.now(), request.note.clone());
    let trail = caller.note("top_up").to(&account.id).of(&account.id);
    let done = app
        .store
        .write(move |tx| {
            let (account, key, note, trail) = (account.id.clone(), key.clone(), note.clone(), trail.clone());
            async move { post(tx, account, amount, key, note, &trail, now).await }.boxed()
        })
        .await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// An amount that can be added at once.
///
/// # Errors
/// `invalid-amount`.
pub(crate) fn amount(text: &str) -> Result<Money> {
    let amount: Money = text.parse()?;
    if !amount.is_positive() {
        return Err(Error::new(Cause::InvalidAmount, format!("a top-up of {amount} adds nothing"))
            .hint("the amount must be more than zero; corrections are postings of their own"));
    }
    if amount > MOST {
        return Err(Error::new(Cause::InvalidAmount, format!("{amount} is more than one top-up may be"))
            .hint(format!("add at most {MOST} at once")));
    }
    Ok(amount)
}

async fn post(
    tx: &mut Tx<'_>,
    account: AccountId,
    amount: Money,
    key: Option<Key>,
    note: Option<String>,
    trail: &Note,
    now: base::Timestamp,
) -> Outcome<ToppedUp> {
    let before = match &key {
        Some(key) => idempotency::earlier(tx, key).await?,
        None => None,
    };
    let posting = match before {
        Some(id) => id.parse::<PostingId>()?,
        None => {
            let row = accounts::get(tx, &account).await?.ok_or_else(|| Error::not_found("the account"))?;
            // A balance that cannot be counted any more must be refused before it is written.
            let after = row.balance.plus(amount)?;
            trail
                .clone()
                .was(json!({ "balance": row.balance }))
                .became(json!({ "balance": after, "amount": amount, "note": note }))
                .write(tx, now)
                .await?;
            let cause = format!("top-up:{:032x}", tx.random());
            let posting = Posting::top_up(account.clone(), "manual", amount, cause, now)?;
            let id = postings::post(tx, &posting, &account, note.as_deref()).await?;
            let id = id.ok_or_else(|| Error::internal("a random cause was used before"))?;
            accounts::nudge(tx, &account, now).await?;
            let data = json!({ "amount": amount });
            events::record(tx, now, Some(&account), account.as_str(), "topped-up", &format!("{amount} added"), &data)
                .await?;
            if let Some(key) = &key {
                idempotency::remember(tx, key, id.as_str(), now).await?;
            }
            id
        }
    };
    let row = accounts::get(tx, &account).await?.ok_or_else(|| Error::not_found("the account"))?;
    Ok(ToppedUp { posting, amount, balance: row.balance })
}
