//! `POST /v1/accounts`

use api::account::{CreateAccount, CreatedAccount};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{AccountId, Cause, Error, Money, UserId};
use domain::name::check_name;
use domain::rights::Role;
use futures_util::FutureExt;
use serde_json::json;
use store::accounts::{self, Account};
use store::users::{self, User};
use store::{Outcome, Tx, idempotency};

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::{Body, Repeat};
use crate::state::App;
use crate::trail::Note;
use crate::{password, views};

/// Makes an account and its first user with a one-time password, which is shown
/// only in this answer (a repeat with the same idempotency key does not show it again).
#[utoipa::path(post, path = "/v1/accounts", operation_id = "create_account", tag = "accounts", request_body = CreateAccount,
    params(("Idempotency-Key" = Option<String>, Header, description = "repeats of the same request give the same account")),
    responses((status = 201, body = CreatedAccount), (status = 403, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn create_account(
    State(app): State<App>,
    Operator(caller, _): Operator<does::MakeAccounts>,
    repeat: Repeat,
    Body(request): Body<CreateAccount>,
) -> ApiResult<(StatusCode, Json<CreatedAccount>)> {
    let name = check_name(&request.name)?;
    let user = request.user.as_deref().map_or_else(|| Ok(name.clone()), check_name)?;
    let time_zone = request.time_zone.clone().unwrap_or_else(|| "UTC".into());
    let now = app.now();
    now.in_zone(&time_zone)?;
    let key = repeat.key(&caller, "POST /v1/accounts", &request)?;
    let fresh = password::one_time();
    let hash = password::hash(&app, fresh.clone()).await?;
    let currency = app.book().currency.clone();
    let note = caller.note("create_account");
    let (account, new_user) = app
        .store
        .write({
            let user = user.clone();
            move |tx| {
                let (key, user, hash, note) = (key.clone(), user.clone(), hash.clone(), note.clone());
                let account = Account {
                    id: AccountId::new(now, tx.random()),
                    name: name.clone(),
                    currency: currency.clone(),
                    time_zone: time_zone.clone(),
                    balance: Money::ZERO,
                    held: Money::ZERO,
                    due_at: None,
                    rung: 0,
                    created_at: now,
                };
                async move { make(tx, key, account, &user, &hash, &note).await }.boxed()
            }
        })
        .await?;
    let password = new_user.then_some(fresh);
    Ok((StatusCode::CREATED, Json(CreatedAccount { account: views::account(account), user, password })))
}

/// The account, and whether its user is new.
async fn make(
    tx: &mut Tx<'_>,
    key: Option<idempotency::Key>,
    account: Account,
    user: &str,
    hash: &str,
    note: &Note,
) -> Outcome<(Account, bool)> {
    if let Some(before) = earlier(tx, key.as_ref()).await? {
        return Ok((before, false));
    }
    if !accounts::insert(tx, &account).await? {
        // The same request at the same moment may be the one that took the name.
        if let Some(before) = earlier(tx, key.as_ref()).await? {
            return Ok((before, false));
        }
        let what = format!("there is an account named `{}`", account.name.escape_debug());
        return Err(Error::new(Cause::AlreadyExists, what).hint("choose another name").into());
    }
    let now = account.created_at;
    let new = User { id: UserId::new(now, tx.random()), name: user.to_owned(), operator: None };
    let is_new = users::insert(tx, &new, hash, now).await?;
    let member = match is_new {
        true => new.id,
        false => users::by_name(tx, user).await?.map(|(u, _)| u.id).ok_or_else(|| Error::not_found("the user"))?,
    };
    users::join(tx, &account.id, &member, Role::Owner, now).await?;
    if let Some(key) = &key {
        idempotency::remember(tx, key, account.id.as_str(), now).await?;
    }
    let what = json!({ "name": account.name, "time_zone": account.time_zone, "owner": user });
    note.clone().to(&account.id).of(&account.id).became(what).write(tx, now).await?;
    Ok((account, is_new))
}

/// The account of the same request done before.
async fn earlier(tx: &mut Tx<'_>, key: Option<&idempotency::Key>) -> Outcome<Option<Account>> {
    let Some(key) = key else {
        return Ok(None);
    };
    match idempotency::earlier(tx, key).await? {
        Some(id) => accounts::get(tx, &id.parse()?).await,
        None => Ok(None),
    }
}
