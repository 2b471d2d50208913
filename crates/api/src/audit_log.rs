//! Who did what.

use base::{AccountId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::words::{ActorKind, Ended};

/// Who acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorView {
    /// `user`, `token`, `instance`, `system` or `stranger`.
    #[schema(value_type = ActorKind)]
    pub kind: String,
    /// Id of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// His name at that moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Its number, from 1 without a gap.
    pub seq: i64,
    /// Id.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: ActorView,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What, in the words of the API.
    pub action: String,
    /// To what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Whose that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// `done`, `refused` or `failed`.
    #[schema(value_type = Ended)]
    pub result: String,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What changed, as it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What changed, as it is since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// SHA-256 over the hash before it and this entry, hex.
    pub hash: String,
}

/// `GET /v1/audit-log`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Id or name of who acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What was done, such as `rent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// To what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Entries of a page, 1 to 200; default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// `GET /v1/audit-log/check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditCheck {
    /// Entries that are there.
    pub entries: i64,
    /// Whether every one follows from the one before.
    pub intact: bool,
    /// Number of the first one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<i64>,
}

/// `GET` and `PUT /v1/audit-log/retention`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// For how many days entries are kept, 1 to 36500; null: for ever.
    #[serde(default)]
    pub days: Option<i64>,
}
