//! Users as operators see them.

use crate::session::Membership;
use crate::words::{IdentityState, UserState};
use base::{Timestamp, UserId};
use domain::rights::OperatorRole;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A user and how things stand with him.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UserRow {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// E-mail address, if he has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether the address was checked.
    pub email_verified: bool,
    /// `active`, `awaiting-email`, `awaiting-approval` or `disabled`.
    #[schema(value_type = UserState)]
    pub state: String,
    /// `admin`, `support`, `finance` or `auditor`; absent for who is no operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OperatorRole>)]
    pub operator_role: Option<String>,
    /// `none`, `pending`, `verified` or `refused`.
    #[schema(value_type = IdentityState)]
    pub identity: String,
    /// Whether he has a second factor.
    pub totp: bool,
    /// The accounts that he belongs to.
    pub accounts: Vec<Membership>,
    /// Since when.
    pub created_at: Timestamp,
    /// When he was last here, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
}

/// `GET /v1/users`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// Only those in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<UserState>, inline)]
    pub state: Option<String>,
    /// Only those whose name or address has this in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Entries of a page, 1 to 200; default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// `PUT /v1/users/{id}/role`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetOperatorRole {
    /// `admin`, `support`, `finance` or `auditor`; null: no operator.
    #[serde(default)]
    #[schema(value_type = Option<OperatorRole>)]
    pub operator_role: Option<String>,
}

/// A new password and its only showing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OneTimePassword {
    /// Whose.
    pub user: String,
    /// The password. Shown only here.
    pub password: String,
}
