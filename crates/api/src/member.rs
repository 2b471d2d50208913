//! Members of accounts, and invitations.

use base::{AccountId, InvitationId, Money, Timestamp, UserId};
use domain::rights::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A user by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Who {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// E-mail address, if he has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A member of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    /// Who.
    pub user: Who,
    /// `owner`, `admin`, `member`, `billing` or `viewer`.
    #[schema(value_type = Role)]
    pub role: String,
    /// Since when; absent for members from before that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// An invitation that can still be accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvitationView {
    /// Id.
    pub id: InvitationId,
    /// Into this account; absent: to sign up with an account of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// As what.
    #[schema(value_type = Role)]
    pub role: String,
    /// For whom; absent: for whoever has the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Name of the account of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// What is in it at the beginning.
    pub credit: Money,
    /// Name of who invites.
    pub by: String,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}

/// `GET /v1/accounts/{id}/members`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Members {
    /// Who belongs to it, by name.
    pub items: Vec<MemberView>,
    /// Who is invited, newest first.
    pub invitations: Vec<InvitationView>,
}

/// `POST /v1/accounts/{id}/invitations`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InviteMember {
    /// For whom; absent: for whoever has the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// `owner`, `admin`, `member`, `billing` or `viewer`.
    #[schema(value_type = Role)]
    pub role: String,
    /// For how many days, 1 to 90; default 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<i64>,
}

/// `POST /v1/invitations` (operator).
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InviteUser {
    /// For whom; absent: for whoever has the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// For how many days, 1 to 90; default 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<i64>,
    /// Name of the account of his own; default: made from the user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// What is in it at the beginning, a decimal amount; default nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<String>,
}

/// A new invitation and the only showing of its link.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Invited {
    /// Id.
    pub id: InvitationId,
    /// Where the invited person goes. Whoever has it can accept.
    pub link: String,
    /// The secret part of the link, for `suanli member accept`.
    pub secret: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// `POST /v1/invitations/accept`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptInvitation {
    /// The secret part of the link.
    pub secret: String,
}

/// `PUT /v1/accounts/{id}/members/{user}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRole {
    /// `owner`, `admin`, `member`, `billing` or `viewer`.
    #[schema(value_type = Role)]
    pub role: String,
}
