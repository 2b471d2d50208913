//! What people do leaves a trail: deeds are written in their own transactions, and
//! refusals by a layer around every route.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use base::{AccountId, Cause, Kind, Timestamp};
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;
use store::audit_log::{self, Actor, Deed, Ended};
use store::{Outcome, Tx};

use crate::auth::Caller;
use crate::state::App;

tokio::task_local! {
    static ACTOR: Arc<Mutex<Option<Actor>>>;
}

/// Says who acts in the request that is being answered.
pub(crate) fn is(actor: &Actor) {
    // Outside of a request there is nobody to refuse.
    let _ = ACTOR.try_with(|cell| *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(actor.clone()));
}

/// An entry that is about to be written.
#[derive(Clone, Debug)]
pub struct Note {
    actor: Actor,
    deed: Deed,
}

impl Note {
    /// Somebody does something, in the words of the API.
    pub fn new(actor: Actor, action: &str) -> Self {
        let deed = Deed {
            action: action.to_owned(),
            object: None,
            account: None,
            ended: Ended::Done,
            code: None,
            was: None,
            became: None,
        };
        Self { actor, deed }
    }

    /// To what.
    #[must_use]
    pub fn to(mut self, object: impl ToString) -> Self {
        self.deed.object = Some(object.to_string());
        self
    }

    /// Whose that is.
    #[must_use]
    pub fn of(mut self, account: &AccountId) -> Self {
        self.deed.account = Some(account.clone());
        self
    }

    /// What it was before. Never a secret.
    #[must_use]
    pub fn was(mut self, value: impl Serialize) -> Self {
        self.deed.was = serde_json::to_value(value).ok();
        self
    }

    /// What it is since. Never a secret.
    #[must_use]
    pub fn became(mut self, value: impl Serialize) -> Self {
        self.deed.became = serde_json::to_value(value).ok();
        self
    }

    /// That it was not allowed.
    #[must_use]
    pub fn refused(mut self, cause: Cause) -> Self {
        (self.deed.ended, self.deed.code) = (Ended::Refused, Some(cause));
        self
    }

    /// Writes it with the deed itself.
    ///
    /// # Errors
    /// The database's.
    pub async fn write(&self, tx: &mut Tx<'_>, now: Timestamp) -> Outcome<()> {
        audit_log::record(tx, now, &self.actor, &self.deed).await
    }
}

impl Caller {
    /// He does something, in the words of the API.
    pub fn note(&self, action: &str) -> Note {
        Note::new(self.actor.clone(), action)
    }
}

/// Names of the operations that change something, by method and path.
pub(crate) fn names(document: &Value) -> BTreeMap<(String, String), String> {
    let mut names = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            if let Some(name) = operation["operationId"].as_str() {
                names.insert((method.to_uppercase(), path.clone()), name.to_owned());
            }
        }
    }
    names
}

/// Writes down what somebody who was signed in was refused.
pub async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return next.run(request).await;
    }
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let cell = Arc::new(Mutex::new(None));
    let answer = ACTOR.scope(cell.clone(), next.run(request)).await;
    let refused = answer.extensions().get::<Cause>().copied().filter(|cause| *cause != Cause::RateLimited);
    let actor = cell.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(cause), Some(actor), Some(route)) = (refused, actor, route) {
        let action = app.actions.get(&(method.clone(), route)).cloned().unwrap_or(method);
        let broke = [Kind::Internal, Kind::Unavailable].contains(&cause.kind());
        let ended = if broke { Ended::Failed } else { Ended::Refused };
        let deed =
            Deed { action, object: Some(path), account: None, ended, code: Some(cause), was: None, became: None };
        let now = app.now();
        let written = app.store.write(move |tx| {
            let (actor, deed) = (actor.clone(), deed.clone());
            async move { audit_log::record(tx, now, &actor, &deed).await }.boxed()
        });
        // The refusal stands, whether it can be written down or not.
        if let Err(error) = written.await {
            tracing::warn!(%error, "a refusal could not be written to the audit log");
        }
    }
    answer
}
