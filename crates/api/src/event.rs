//! Things that happened.

use base::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Id of the event.
    pub id: EventId,
    /// Position in the event stream.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Id of the object.
    pub subject: String,
    /// What, kebab-case: `state-changed`, `stop-accepted`, `money-forecast` …
    pub kind: String,
    /// In a sentence.
    pub message: String,
    /// Machine-readable details.
    pub data: serde_json::Value,
}

/// Where to begin in the event stream `GET /v1/events`, or in an instance's events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only events after this position. The header `Last-Event-ID` does the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Only events of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}
