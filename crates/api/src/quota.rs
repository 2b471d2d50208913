//! Quotas of accounts and their projects.

use std::collections::BTreeMap;

use base::Money;
use domain::project::Project;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Amounts of what quotas limit. As a quota, what is absent is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Amounts {
    /// Cards by the slug of their model.
    pub cards: BTreeMap<String, i64>,
    /// Cards of all models together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cards_total: Option<i64>,
    /// Instances that are not released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<i64>,
    /// Disk of all instances that are not released, GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_gib: Option<i64>,
    /// Spent on one day of the account's time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend_per_day: Option<Money>,
}

/// `GET /v1/accounts/{id}/quotas` and `GET /v1/accounts/{id}/projects/{project}/quotas`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quotas {
    /// What the account or project may have at most.
    pub quotas: Amounts,
    /// What it has now.
    pub used: Amounts,
}

/// `GET /v1/accounts/{id}/projects`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    /// By name.
    pub items: Vec<ProjectView>,
}

/// A project with its quotas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectView {
    /// Its name.
    pub project: Project,
    /// What it may have at most.
    pub quotas: Amounts,
    /// What it has now.
    pub used: Amounts,
}

/// `PUT /v1/accounts/{id}/quotas` (operator) and
/// `PUT /v1/accounts/{id}/projects/{project}/quotas`: every quota anew; what is absent
/// is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetQuotas {
    /// Cards by a name of their model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cards: BTreeMap<String, i64>,
    /// Cards of all models together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cards_total: Option<i64>,
    /// Instances that are not released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<i64>,
    /// Disk of all instances that are not released, GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_gib: Option<i64>,
    /// Spent on one day of the account's time zone: a decimal amount, or what the
    /// server shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub spend_per_day: Option<Money>,
}
