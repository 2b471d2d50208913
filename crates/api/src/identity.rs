//! Who somebody really is, as the operator's own service finds out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::words::IdentityState;

/// `GET` and `POST /v1/identity`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityView {
    /// `none`, `pending`, `verified` or `refused`.
    #[schema(value_type = IdentityState)]
    pub state: String,
    /// What was said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where to go on, where the service has asked for that; only in the answer of a check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// `POST /v1/identity`: what the operator's service asks for. It is handed on and
/// not kept.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct IdentityRequest(pub BTreeMap<String, Value>);
