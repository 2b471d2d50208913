//! `POST /v1/instances`

use api::instance::{InstanceView, RentRequest};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base::{InstanceId, Slug};
use domain::instance::{Desired, State as Life};
use domain::rights::Action;
use futures_util::FutureExt;
use serde_json::json;
use store::accounts::Account;
use store::idempotency::Key;
use store::instances::Instance;
use store::intents::{self, Rented};

use super::accepted;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, Repeat};
use crate::rent::{Wish, wish};
use crate::resolve;
use crate::state::App;

/// Rents: the price is frozen, its first hour is held, and the instance is on its way.
#[utoipa::path(post, path = "/v1/instances", operation_id = "rent", tag = "instances", request_body = RentRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "repeats of the same request give the same instance")),
    responses((status = 202, body = InstanceView), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn rent(
    State(app): State<App>,
    caller: Caller,
    repeat: Repeat,
    Body(request): Body<RentRequest>,
) -> ApiResult<(StatusCode, Json<InstanceView>)> {
    let account = {
        let mut db = app.store.read().await?;
        resolve::account(&mut db, &caller, request.account.as_deref(), Action::Rent).await?
    };
    let key = repeat.key(&caller, "POST /v1/instances", &request)?;
    if let Some(id) = earlier(&app, key.as_ref()).await? {
        return accepted(&app, &id).await;
    }
    match new(&app, &caller, &account, request, key.clone()).await {
        Ok(made) => accepted(&app, &made).await,
        // The same request at the same moment may have taken what this one was refused.
        Err(refusal) => match earlier(&app, key.as_ref()).await? {
            Some(id) => accepted(&app, &id).await,
            None => Err(refusal),
        },
    }
}

async fn new(
    app: &App,
    caller: &Caller,
    account: &Account,
    request: RentRequest,
    key: Option<Key>,
) -> ApiResult<InstanceId> {
    crate::identity::required(app, &caller.user.id).await?;
    let now = app.now();
    let wish = wish(app, &request, &account.time_zone, now).await?;
    let hold = wish.quote.hold;
    let note = caller.note("rent").of(&account.id);
    let (account, caller) = (account.id.clone(), caller.user.id.clone());
    let made = app
        .store
        .write(move |tx| {
            let (key, account, caller) = (key.clone(), account.clone(), caller.clone());
            let (request, wish, note) = (request.clone(), wish.clone(), note.clone());
            async move {
                let id = InstanceId::new(now, tx.random());
                let new = instance(id, Slug::new(tx.random()), account, caller, request, wish, now);
                match intents::rent(tx, &new, hold, key.as_ref(), now).await? {
                    Rented::New => {
                        let what = json!({ "gpu": new.gpu, "count": new.count, "rate": new.rate, "name": new.name,
                            "project": new.project });
                        note.to(&new.id).became(what).write(tx, now).await?;
                        Ok(new.id)
                    }
                    Rented::Before(id) => Ok(id.parse()?),
                }
            }
            .boxed()
        })
        .await?;
    Ok(made)
}

/// The instance of the same request done before. A repeat is answered before
/// anything is checked again: stock may be gone meanwhile.
async fn earlier(app: &App, key: Option<&Key>) -> ApiResult<Option<InstanceId>> {
    let Some(key) = key else {
        return Ok(None);
    };
    let mut db = app.store.read().await?;
    let id = store::idempotency::earlier(&mut db, key).await?;
    Ok(id.map(|id| id.parse()).transpose()?)
}

fn instance(
    id: InstanceId,
    slug: Slug,
    account: base::AccountId,
    created_by: base::UserId,
    request: RentRequest,
    wish: Wish,
    now: base::Timestamp,
) -> Instance {
    let quote = wish.quote;
    Instance {
        name: wish.name.unwrap_or_else(|| slug.to_string()),
        id,
        slug,
        account,
        created_by,
        project: wish.project,
        desired: Desired::Running,
        state: Life::Requested,
        state_since: now,
        deadline_at: Life::Requested.row().deadline.map(|d| now.after(d)),
        due_at: Some(now),
        wishes: 0,
        generation: 1,
        node: None,
        gpu: quote.model,
        count: quote.count,
        cpus: quote.cpus,
        memory_mib: quote.memory_gib * 1024,
        disk_mib: quote.disk_gib * 1024,
        plan: quote.plan,
        rate: quote.rate,
        price_version: quote.price_version,
        env: request.env,
        on_start: request.on_start,
        on_start_exit: None,
        rules: wish.rules,
        snoozed_until: None,
        reason: None,
        notices: vec![],
        ready_at: None,
        created_at: now,
        released_at: None,
    }
}
