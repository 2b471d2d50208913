//! Bills.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

pub use billing::bill::Bill;

/// Which bill, `GET /v1/bill`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct BillQuery {
    /// Which account; default is the caller's only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `YYYY-MM` in the account's time zone; default is the present month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month: Option<String>,
}

/// Which account, `GET /v1/balance`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct AccountQuery {
    /// Which account; default is the caller's only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}
