//! `GET /v1/instances/{id}/why`

use api::instance::{Reason, Why};
use axum::Json;
use axum::extract::State;
use base::Cause;
use domain::instance::{Desired, State as Life};
use domain::rights::Action;
use store::accounts;
use store::instances::Instance;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Reference;
use crate::rules::sentences;
use crate::state::App;
use crate::{accounts as money, resolve};

/// Why it waits, stopped or failed, what comes next, and what would help.
#[utoipa::path(get, path = "/v1/instances/{id}/why", operation_id = "why", tag = "instances",
    params(("id" = String, Path, description = "id, slug or name")),
    responses((status = 200, body = Why), (status = 404, body = api::problem::Problem)))]
pub async fn why(State(app): State<App>, caller: Caller, Reference(id): Reference) -> ApiResult<Json<Why>> {
    let mut db = app.store.read().await?;
    let i = resolve::instance(&mut db, &caller, &id, Action::SeeInstances).await?;
    let mut next = Vec::new();
    if let Some(deadline) = i.deadline_at {
        next.push(format!("if it has not left this state by {deadline}, the operator is called"));
    }
    match i.desired {
        Desired::Stopped if !i.state.is_at_rest() => next.push("it comes to rest; its data are kept".into()),
        Desired::Released if i.state != Life::Released => next.push("it is removed with its data".into()),
        _ => {}
    }
    if i.state == Life::Running
        && i.desired == Desired::Running
        && let Some(account) = accounts::get(&mut db, &i.account).await?
    {
        next.extend(sentences(&i.rules, i.snoozed_until, &account.time_zone, &account.currency));
        if let Some(ends) = money::balance(&app, &mut db, &account).await?.money_ends_at {
            next.push(format!(
                "the account's money ends at {ends} if everything goes on; then it is stopped and its data kept"
            ));
        }
    }
    Ok(Json(Why {
        summary: summary(&i),
        reason: i.reason.clone().map(|r| Reason { code: r.cause, message: r.message, hint: r.hint }),
        suggestions: suggestions(&i),
        next,
        id: i.id,
        state: i.state,
    }))
}

fn summary(i: &Instance) -> String {
    let since = i.state_since;
    match (&i.reason, i.state) {
        (Some(reason), Life::Stopped | Life::Lost | Life::Failed | Life::Stopping) => {
            format!("{} since {since}: {}", i.state, reason.message)
        }
        (_, state) => format!("{state} since {since}: {}", state.row().meaning),
    }
}

fn suggestions(i: &Instance) -> Vec<String> {
    let mut help: Vec<String> = i.reason.iter().filter_map(|r| r.hint.clone()).collect();
    if i.reason.as_ref().is_some_and(|r| r.cause == Cause::Idle) {
        help.push("rent with a longer --stop-idle, or with `--stop-idle off`, if it was not idle for you".into());
    }
    if i.state == Life::Failed {
        help.push(format!("`suanli release {}` removes it; nothing of this start was billed", i.slug));
    }
    help
}
