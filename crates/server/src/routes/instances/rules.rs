//! `PUT /v1/instances/{id}/rules`

use api::instance::{InstanceView, RulesChange};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error, InstanceId, Result, Span, Timestamp};
use domain::instance::State as Life;
use domain::rights::Action;
use futures_util::FutureExt;
use serde_json::json;
use store::instances;
use store::{Outcome, Tx, accounts, intents};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::state::App;
use crate::trail::Note;
use crate::{resolve, rules, views};

/// Changes when an instance stops by itself, also while it runs. What is not named
/// stays; a rule that would stop it at this very moment is refused.
#[utoipa::path(put, path = "/v1/instances/{id}/rules", operation_id = "set_rules", tag = "instances", request_body = RulesChange,
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 200, body = InstanceView), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 409, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn set_rules(
    State(app): State<App>,
    caller: Caller,
    Reference(id): Reference,
    Body(request): Body<RulesChange>,
) -> ApiResult<Json<InstanceView>> {
    let found = {
        let mut db = app.store.read().await?;
        resolve::instance(&mut db, &caller, &id, Action::ChangeInstances).await?
    };
    let plan = Plan {
        id: found.id.clone(),
        request,
        by: caller.user.name.clone(),
        note: caller.note("set_rules").to(&found.id).of(&found.account),
        now: app.now(),
    };
    app.store
        .write(move |tx| {
            let plan = plan.clone();
            async move { change(tx, plan).await }.boxed()
        })
        .await?;
    let mut db = app.store.read().await?;
    let after = instances::get(&mut db, &found.id).await?.ok_or_else(|| Error::not_found("the instance"))?;
    Ok(Json(views::instance(&app, &mut db, after).await?))
}

#[derive(Clone)]
struct Plan {
    id: InstanceId,
    request: RulesChange,
    by: String,
    note: Note,
    now: Timestamp,
}

async fn change(tx: &mut Tx<'_>, plan: Plan) -> Outcome<()> {
    let Plan { id, request, by, note, now } = plan;
    let i = intents::hold_rules(tx, &id).await?;
    let account = accounts::get(tx, &i.account).await?.ok_or_else(|| Error::not_found("the account"))?;
    let rules = rules::changed(&request, i.rules, &account.time_zone, now)?;
    let snoozed = rules::snoozed(&request, i.snoozed_until, now)?;
    if request.snooze.is_some() && i.state.is_at_rest() {
        return Err(Error::new(Cause::WrongState, format!("the instance is {}: there is nothing to snooze", i.state))
            .hint("a start begins without a snooze")
            .into());
    }
    if i.state == Life::Running {
        if let (Some(_), Some(after), Some(ready)) = (&request.after, rules.after, i.ready_at) {
            not_over(ready.after(after).since(now) > Span::ZERO, "it has run for longer than that")?;
        }
        if let (Some(_), Some(budget)) = (&request.budget, rules.budget) {
            let cost = views::cost_so_far(tx, &i).await?;
            not_over(budget > cost, &format!("it has cost {cost} {} already", account.currency))?;
        }
    }
    let shown = |rules, until| json!({ "rules": rules::view(rules, until) });
    let note = note.was(shown(&i.rules, i.snoozed_until)).became(shown(&rules, snoozed));
    intents::set_rules(tx, &i, &rules, snoozed, &by, now).await?;
    note.write(tx, now).await
}

/// A slip of the hand must not end a run.
fn not_over(fine: bool, what: &str) -> Result<()> {
    if fine {
        return Ok(());
    }
    Err(Error::new(Cause::InvalidRequest, format!("{what}: this rule would stop it at once"))
        .hint("choose more, or stop it with `suanli stop`"))
}
