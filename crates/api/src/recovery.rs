//! What an operator sees and accepts after a restore.

use base::{InstanceId, NodeId, Slug, Timestamp};
use domain::instance::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/recovery`: books and machines compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecoveryView {
    /// Whether the site is in recovery; `false`: nothing else is told.
    pub recovering: bool,
    /// When the backup was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When the backup was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<Timestamp>,
    /// What an acceptance has to name: it changes with everything that the machines say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The machines by name.
    pub nodes: Vec<RecoveryNode>,
}

/// A machine and its instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecoveryNode {
    /// Id.
    pub id: NodeId,
    /// Name.
    pub name: String,
    /// Whether it was heard since the restore; `false`: nothing is known of what it has.
    pub heard: bool,
    /// Instances of the books and those that are there, by id.
    pub instances: Vec<RecoveryInstance>,
}

/// An instance from both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecoveryInstance {
    /// Id.
    pub id: InstanceId,
    /// Public name; absent when the books do not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// `same`: in the books and there. `missing`: in the books, not there. `newer`:
    /// there, placed again after the backup. `unknown`: there, not in the books.
    pub difference: String,
    /// Its state in the books.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Its generation in the books.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub books: Option<i64>,
    /// Its generation on the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<i64>,
    /// Whether it runs there.
    pub running: bool,
}

/// `POST /v1/recovery/accept`
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptRecovery {
    /// The digest of the report that was looked at.
    pub seen: String,
}

/// What acceptance did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecoveryAccepted {
    /// Newer generations that the books have adopted.
    pub adopted: i64,
    /// Instances that the books had running and no machine has.
    pub lost: i64,
    /// Instances that the books do not know; an incident each, nothing was removed.
    pub unknown: i64,
    /// Machines that were not heard; what they have is settled when they come back.
    pub silent: i64,
}
