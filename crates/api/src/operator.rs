//! What the operator sees and does.

use base::{IncidentId, NodeId, Timestamp};
use domain::device::DeviceSample;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A machine with its cards.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Id.
    pub id: NodeId,
    /// Name.
    pub name: String,
    /// `ready`, `lost` (its agent is out of touch), `cordoned`.
    pub state: String,
    /// How it keeps instances apart.
    pub isolation: String,
    /// Whether its cards are not real.
    pub fake: bool,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Up to when its evidence reaches.
    pub proven_until: Timestamp,
    /// When its agent was last heard.
    pub seen_at: Timestamp,
    /// What the host cannot do.
    pub notices: Vec<String>,
    /// Its cards.
    pub devices: Vec<NodeDevice>,
}

/// A card of a node.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeDevice {
    /// Position on the node.
    pub index: i64,
    /// The vendor's own id.
    pub uuid: String,
    /// The vendor's name for it.
    pub name: String,
    /// Slug of its GPU model; absent when the catalogue does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// `ok` or `lost`.
    pub state: String,
    /// Whether it is not a real card.
    pub fake: bool,
    /// Slug of the instance that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// How it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<DeviceSample>,
}

/// A list that needs no pages.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Nodes {
    /// The nodes by name.
    pub nodes: Vec<NodeView>,
}

/// The price book in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PricesView {
    /// Its version.
    pub version: String,
    /// Since when.
    pub loaded_at: Timestamp,
    /// The TOML text.
    pub text: String,
    /// Warnings of the linter.
    pub warnings: Vec<Finding>,
}

/// A price book to check or to load.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceBookText {
    /// The TOML text.
    pub text: String,
}

/// What the linter says of a price book.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LintView {
    /// Why it cannot be loaded; empty when it can.
    pub errors: Vec<Finding>,
    /// What looks wrong.
    pub warnings: Vec<Finding>,
}

/// One thing that the linter found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Which entry.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `GET /v1/audit`: the books recomputed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditReport {
    /// When.
    pub at: Timestamp,
    /// Accounts whose balance was recomputed.
    pub accounts: i64,
    /// Segments whose charge was recomputed.
    pub segments: i64,
    /// Postings read.
    pub postings: i64,
    /// What differs; the books are right only when this is empty.
    pub differences: Vec<String>,
}

/// A missed deadline or a broken law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IncidentView {
    /// Id.
    pub id: IncidentId,
    /// What kind.
    pub kind: String,
    /// Id of the object.
    pub subject: String,
    /// When it began.
    pub opened_at: Timestamp,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Who should act.
    pub owner: String,
    /// What to do.
    pub action: String,
    /// In a sentence.
    pub detail: String,
}

/// `GET /v1/incidents`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Incidents {
    /// Open ones first.
    pub incidents: Vec<IncidentView>,
}

/// `POST /v1/incidents/{id}/close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CloseIncident {
    /// What was found and done, for those who read the events later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
