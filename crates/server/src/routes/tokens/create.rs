//! `POST /v1/tokens`

use api::token::{CreateToken, CreatedToken};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{Cause, Error, Result, Span, Timestamp, TokenId};
use domain::name::check_name;
use domain::rights::Scope;
use futures_util::FutureExt;
use serde_json::json;
use store::tokens::{self, ApiToken, Limits};

use super::list::view;
use crate::auth::{InPerson, new_token, token_hash};
use crate::error::ApiResult;
use crate::extract::Body;
use crate::resolve;
use crate::state::App;

/// How many a user may have.
const MOST: i64 = 100;
/// How long one lasts that says nothing, and at most, days.
const USUAL_DAYS: i64 = 90;
const MOST_DAYS: i64 = 365;

/// Makes an API token: for a program, with some of the caller's rights and an end.
/// Its secret is shown only in this answer.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "create_token", tag = "tokens", request_body = CreateToken,
    responses((status = 201, body = CreatedToken), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem)))]
pub async fn create_token(
    State(app): State<App>,
    InPerson(caller): InPerson,
    Body(request): Body<CreateToken>,
) -> ApiResult<(StatusCode, Json<CreatedToken>)> {
    let (now, owner) = (app.now(), caller.user.id.clone());
    let name = check_name(&request.name)?;
    let scopes = scopes(&request.scopes)?;
    let expires_at = end(&request, now)?;
    let account = match &request.account {
        Some(named) => {
            let mut db = app.store.read().await?;
            let found = resolve::known_account(&mut db, &caller, Some(named)).await?;
            // An operator sees every account, but has rights only in his own.
            if caller.role(&found.id).is_none() {
                return Err(Error::new(Cause::Forbidden, "you do not belong to this account").into());
            }
            Some(found.id)
        }
        None => None,
    };
    let secret = new_token();
    let (hash, note) = (token_hash(&secret), caller.note("create_token"));
    let limits = Limits { scopes, account, instance: None };
    let made = app
        .store
        .write(move |tx| {
            let (owner, hash, mut note) = (owner.clone(), hash.clone(), note.clone());
            let (name, limits) = (name.clone(), limits.clone());
            async move {
                if tokens::count_api(tx, &owner).await? >= MOST {
                    return Err(Error::new(Cause::WrongState, format!("you have {MOST} tokens already"))
                        .hint("delete one that is not needed: `suanli token ls`")
                        .into());
                }
                let id = TokenId::new(now, tx.random());
                let token = ApiToken { id, name, limits, created_at: now, expires_at, used_at: None };
                tokens::insert_api(tx, &owner, &token, &hash).await?;
                if let Some(account) = &token.limits.account {
                    note = note.of(account);
                }
                let what = json!({ "name": token.name, "scopes": token.limits.scopes, "expires_at": token.expires_at });
                note.to(&token.id).became(what).write(tx, now).await?;
                Ok(token)
            }
            .boxed()
        })
        .await?;
    Ok((StatusCode::CREATED, Json(CreatedToken { view: view(made), token: secret })))
}

fn scopes(words: &[String]) -> Result<Vec<Scope>> {
    let mut scopes = words.iter().map(|word| word.parse()).collect::<Result<Vec<Scope>>>()?;
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        let all: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        return Err(Error::new(Cause::InvalidRequest, "a token without a scope can do nothing")
            .hint(format!("choose from {}", all.join(", "))));
    }
    Ok(scopes)
}

fn end(request: &CreateToken, now: Timestamp) -> Result<Timestamp> {
    let latest = now.after(Span::from_hours(24 * MOST_DAYS));
    let end = match (request.expires_at, request.days) {
        (Some(_), Some(_)) => None,
        (Some(at), None) => Some(at).filter(|at| *at > now && *at <= latest),
        (None, days) => Some(days.unwrap_or(USUAL_DAYS))
            .filter(|days| (1..=MOST_DAYS).contains(days))
            .map(|days| now.after(Span::from_hours(24 * days))),
    };
    end.ok_or_else(|| {
        Error::new(Cause::InvalidRequest, "this is no end that a token can have")
            .hint(format!("give `expires_at` in the future or `days`, not both; at most {MOST_DAYS} days"))
    })
}
