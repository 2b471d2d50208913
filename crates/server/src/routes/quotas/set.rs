//! `PUT /v1/accounts/{id}/quotas`

use std::collections::BTreeMap;

use api::quota::{Quotas, SetQuotas};
use axum::Json;
use axum::extract::State;
use base::{AccountId, Cause, Error, Money, Result};
use domain::project::Project;
use futures_util::FutureExt;
use serde_json::{Value, json};
use store::quotas::{self, Amounts};

use super::show::both;
use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::state::App;
use crate::trail::Note;
use crate::{rent, resolve};

/// Most models that have a quota of their own.
const MOST_MODELS: usize = 200;

/// Sets every quota of an account anew; what is left out is not limited. What runs
/// goes on: only the next rent or start is refused (operator).
#[utoipa::path(put, path = "/v1/accounts/{id}/quotas", operation_id = "set_quotas", tag = "accounts", request_body = SetQuotas,
    params(("id" = String, Path, description = "id or name of the account")),
    responses((status = 200, body = Quotas), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem)))]
pub async fn set_quotas(
    State(app): State<App>,
    Operator(caller, _): Operator<does::SetQuotas>,
    Reference(id): Reference,
    Body(request): Body<SetQuotas>,
) -> ApiResult<Json<Quotas>> {
    let account = {
        let mut db = app.store.read().await?;
        resolve::known_account(&mut db, &caller, Some(&id)).await?.id
    };
    let note = caller.note("set_quotas").to(&account).of(&account);
    replace(&app, account, None, request, note).await
}

/// Replaces every quota of an account or of one of its projects.
pub(in crate::routes) async fn replace(
    app: &App,
    account: AccountId,
    project: Option<Project>,
    request: SetQuotas,
    note: Note,
) -> ApiResult<Json<Quotas>> {
    let (wanted, now) = (wanted(app, request).await?, app.now());
    app.store
        .write({
            let (account, project) = (account.clone(), project.clone());
            move |tx| {
                let (account, project, wanted, note) = (account.clone(), project.clone(), wanted.clone(), note.clone());
                async move {
                    let was = told(&quotas::of(tx, &account, project.as_ref()).await?);
                    quotas::set(tx, &account, project.as_ref(), &wanted).await?;
                    note.was(was).became(told(&wanted)).write(tx, now).await
                }
                .boxed()
            }
        })
        .await?;
    Ok(Json(both(&mut *app.store.read().await?, &account, project.as_ref(), now).await?))
}

async fn wanted(app: &App, request: SetQuotas) -> Result<Amounts> {
    if request.cards.len() > MOST_MODELS {
        return Err(Error::new(
            Cause::InvalidRequest,
            format!("at most {MOST_MODELS} models have a quota of their own"),
        ));
    }
    let counts = [request.cards_total, request.instances, request.storage_gib];
    let negative = counts.into_iter().flatten().chain(request.cards.values().copied()).any(|n| n < 0)
        || request.spend_per_day.is_some_and(|most| most < Money::ZERO);
    if negative {
        return Err(Error::new(Cause::InvalidCount, "a quota is zero or more").hint("leave it out for no limit"));
    }
    let mut cards = BTreeMap::new();
    for (name, most) in request.cards {
        cards.insert(rent::model(app, &name).await?.slug.clone(), most);
    }
    Ok(Amounts {
        cards,
        cards_total: request.cards_total,
        instances: request.instances,
        storage_gib: request.storage_gib,
        spend_per_day: request.spend_per_day,
    })
}

fn told(a: &Amounts) -> Value {
    json!({ "cards": a.cards, "cards_total": a.cards_total, "instances": a.instances,
        "storage_gib": a.storage_gib, "spend_per_day": a.spend_per_day })
}
