//! Instances: asking for one, seeing it, saying what it should become.

use std::collections::BTreeMap;

use base::{AccountId, Cause, InstanceId, Money, Rate, Slug, Timestamp};
use domain::device::DeviceSample;
use domain::instance::{Desired, State};
use domain::project::Project;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `POST /v1/instances` and `POST /v1/quotes`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RentRequest {
    /// GPU model, by any of its names.
    pub gpu: String,
    /// Cards on one machine; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Default `on-demand`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// `container`, `vm` or `node`; default is what the site has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// CPU cores; default is what the price includes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<i64>,
    /// Memory, GiB; default is what the price includes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gib: Option<i64>,
    /// Disk, GiB; default is what the price includes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_gib: Option<i64>,
    /// The renter's own name for it; anything readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is a part of: a name of 1 to 64 characters, with quotas and a total on
    /// the bill of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Account that pays; default is the caller's only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Environment of everything started inside.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Shell command started once the instance is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_start: Option<String>,
    /// When it stops by itself.
    pub rules: RulesRequest,
}

/// Stop rules as people write them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RulesRequest {
    /// Stop after so long without activity: `30m`, or `off`. Default 2 h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    /// Stop so long after it became ready: `8h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Stop at a time: `22:00` in the account's time zone, or RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Stop when it has cost so much: a decimal amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
}

/// `PUT /v1/instances/{id}/rules`. What is missing stays; `off` switches a rule off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RulesChange {
    /// Stop after so long without activity: `30m`, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    /// Stop so long after it became ready: `8h`, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Stop at a time: `22:00` in the account's time zone, or RFC 3339, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Stop when it has cost so much: a decimal amount, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// For so long from now on no rule stops it but the budget: `2h`, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snooze: Option<String>,
}

/// Stop rules as they are; one that is missing is switched off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StopRules {
    /// Stops after so long without activity, such as `30m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    /// Stops so long after it became ready, such as `8h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Stops at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Stops when it has cost so much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Money>,
    /// Until then only the budget stops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
}

/// An instance as its owner sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InstanceView {
    /// Id.
    pub id: InstanceId,
    /// Public DNS-safe name.
    pub slug: Slug,
    /// The renter's own name.
    pub name: String,
    /// What it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
    /// Who pays.
    pub account: AccountId,
    /// Where it is in its life cycle.
    pub state: State,
    /// What its owner wants.
    pub desired: Desired,
    /// Since when it is in this state.
    pub state_since: Timestamp,
    /// When this state must have been left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// Why it stopped, failed or was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Slug of the GPU model.
    pub gpu: String,
    /// Its name.
    pub gpu_name: String,
    /// Number of cards.
    pub count: i64,
    /// Its cards, while it holds them.
    pub devices: Vec<DeviceView>,
    /// Machine that it is on, while it is on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How it is kept apart from others: `container`, `vm`, `node` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, GiB.
    pub memory_gib: i64,
    /// Disk, GiB.
    pub disk_gib: i64,
    /// How it is paid.
    pub plan: String,
    /// Its frozen rate an hour.
    pub rate: Rate,
    /// Version of the price book that the rate is from.
    pub price_version: String,
    /// What it has cost so far, proven time only.
    pub cost_so_far: Money,
    /// Stop rules, in sentences.
    pub rules: Vec<String>,
    /// The same rules, for programs.
    pub stop_rules: StopRules,
    /// What its owner should know, such as a limit that the host cannot set.
    pub notices: Vec<String>,
    /// Command started at ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_start: Option<String>,
    /// Exit status of that command, once it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_start_exit: Option<i64>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When the present run was proven ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Timestamp>,
}

/// One true cause and its explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    /// Machine-readable.
    pub code: Cause,
    /// For people.
    pub message: String,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A card of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceView {
    /// Position on its node.
    pub index: i64,
    /// The vendor's own id.
    pub uuid: String,
    /// Serial number, where the vendor tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The vendor's name for it.
    pub name: String,
    /// Whether it is not a real card.
    pub fake: bool,
}

/// Filters of `GET /v1/instances`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct InstanceQuery {
    /// Only this account; default is every account of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Only what is a part of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Released ones too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// From a page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many, 1 to 200; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// `POST /v1/instances/{id}/start`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartRequest {
    /// Another GPU model than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Another number of cards than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

/// Current use of an instance, `GET /v1/instances/{id}/usage`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// When it was read.
    pub at: Timestamp,
    /// CPU in use, thousandths of a core.
    pub cpu_milli: i64,
    /// CPU cores that it may use.
    pub cpus: i64,
    /// Memory in use, MiB.
    pub memory_used_mib: i64,
    /// Memory that it may use, MiB.
    pub memory_mib: i64,
    /// Processes and threads.
    pub processes: i64,
    /// Open terminals, commands and connections.
    pub sessions: i64,
    /// The last moment at which something went on.
    pub last_active_at: Timestamp,
    /// What that was, and what is measured now.
    pub activity: String,
    /// Its cards.
    pub devices: Vec<DeviceUsage>,
}

/// Current use of one card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeviceUsage {
    /// Which card.
    #[serde(flatten)]
    pub device: DeviceView,
    /// Its memory, MiB.
    pub memory_mib: i64,
    /// Its enforced power limit, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<i64>,
    /// How it does; absent when the node has not told yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<DeviceSample>,
}

/// `GET /v1/instances/{id}/why`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The instance.
    pub id: InstanceId,
    /// Where it is.
    pub state: State,
    /// In one sentence.
    pub summary: String,
    /// The cause, when it waits, stopped, failed or was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What happens next by itself, and when.
    pub next: Vec<String>,
    /// What the renter can do.
    pub suggestions: Vec<String>,
}
