//! `POST /v1/incidents/{id}/close`

use api::operator::{CloseIncident, IncidentView};
use axum::Json;
use axum::extract::State;
use base::{Error, IncidentId, Result};
use futures_util::FutureExt;
use serde_json::json;
use store::incidents;

use crate::auth::{Operator, does};
use crate::error::ApiResult;
use crate::extract::{Body, Reference};
use crate::state::App;
use crate::views;

/// Longest note, characters.
const LONGEST: usize = 1_000;

/// Closes an incident by hand, with a note for those who read the events later
/// (operator). One that is closed already stays as it is.
#[utoipa::path(post, path = "/v1/incidents/{id}/close", operation_id = "close_incident", tag = "site", request_body = CloseIncident,
    params(("id" = String, Path, description = "id of the incident")),
    responses((status = 200, body = IncidentView), (status = 403, body = api::problem::Problem), (status = 404, body = api::problem::Problem), (status = 422, body = api::problem::Problem)))]
pub async fn close_incident(
    State(app): State<App>,
    Operator(caller, _): Operator<does::CloseIncidents>,
    Reference(id): Reference,
    Body(request): Body<CloseIncident>,
) -> ApiResult<Json<IncidentView>> {
    let not_found = || Error::not_found("this incident").hint("`suanli incident ls` lists them");
    let id: IncidentId = id.parse().map_err(|_| not_found())?;
    let note = request.note.as_deref().map(note).transpose()?;
    let trail = caller.note("close_incident").to(&id).became(json!({ "note": note }));
    let (now, by, wanted) = (app.now(), caller.user.name, id.clone());
    let closed = app
        .store
        .write(move |tx| {
            let (id, by, note, trail) = (wanted.clone(), by.clone(), note.clone(), trail.clone());
            async move {
                let closed = incidents::close_by_hand(tx, now, &id, &by, note.as_deref()).await?;
                if closed.is_some() {
                    trail.write(tx, now).await?;
                }
                Ok(closed)
            }
            .boxed()
        })
        .await?;
    let incident = match closed {
        Some(closed) => Some(closed),
        None => incidents::get(&mut *app.store.read().await?, &id).await?,
    };
    Ok(Json(views::incident(incident.ok_or_else(not_found)?)))
}

/// A note without what only looks like an end of it.
fn note(text: &str) -> Result<String> {
    let text = text.trim();
    if text.chars().count() > LONGEST || text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(Error::new(base::Cause::InvalidRequest, "the note is too long or has control characters in it")
            .hint(format!("write at most {LONGEST} readable characters")));
    }
    Ok(text.to_owned())
}
