//! `GET /v1/audit-log`

use api::Page;
use api::audit_log::{ActorView, AuditEntry, AuditQuery};
use axum::Json;
use axum::extract::State;
use base::{Cause, Error};
use store::audit_log::{self, Entry, Filter};

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::Params;
use crate::state::App;

/// Who did what to what, from where and with what result, newest first (operator).
#[utoipa::path(get, path = "/v1/audit-log", operation_id = "audit_log", tag = "audit-log", params(AuditQuery),
    responses((status = 200, body = Page<AuditEntry>), (status = 403, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn audit_log(
    State(app): State<App>,
    _: Operator<does::ReadAuditLog>,
    Params(query): Params<AuditQuery>,
) -> ApiResult<Json<Page<AuditEntry>>> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Error::new(Cause::InvalidRequest, "a page has 1 to 200 entries").into());
    }
    let before = query.cursor.as_deref().map_or(Ok(i64::MAX), |cursor| {
        cursor.parse().map_err(|_| Error::new(Cause::InvalidRequest, "this is no cursor of the audit log"))
    })?;
    let filter =
        Filter { actor: query.actor, action: query.action, object: query.object, from: query.from, to: query.to };
    let mut db = app.store.read().await?;
    let mut found = audit_log::list(&mut db, &filter, before, limit + 1).await?;
    let most = usize::try_from(limit).unwrap_or(0);
    let more = found.len() > most;
    found.truncate(most);
    let next_cursor = found.last().filter(|_| more).and_then(|e| e.seq).map(|seq| seq.to_string());
    Ok(Json(Page { items: found.into_iter().map(view).collect(), next_cursor }))
}

/// An entry that has its place in the chain.
pub(super) fn view(e: Entry) -> AuditEntry {
    AuditEntry {
        seq: e.seq.unwrap_or_default(),
        id: e.id.to_string(),
        at: e.at,
        actor: ActorView { kind: e.actor.kind.as_str().to_owned(), id: e.actor.id, name: e.actor.name },
        address: e.actor.address,
        action: e.deed.action,
        object: e.deed.object,
        account: e.deed.account,
        result: e.deed.ended.as_str().to_owned(),
        code: e.deed.code.map(|cause| cause.code().to_owned()),
        before: e.deed.was,
        after: e.deed.became,
        request_id: e.actor.request,
        hash: e.hash.unwrap_or_default(),
    }
}
