//! Instances: the row, reading it, and moving it on under a lease.

use std::collections::BTreeMap;

use base::{AccountId, Cause, Error, InstanceId, NodeId, Rate, Slug, Timestamp, UserId};
use billing::Plan;
use domain::instance::{Desired, State};
use domain::project::Project;
use domain::rules::Rules;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::lease::Lease;
use crate::row::{json, json_opt, parsed, parsed_opt, rate, time, time_opt, to_json};
use crate::{Outcome, Tx, secrets};

/// A rented machine as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Id.
    pub id: InstanceId,
    /// Public name.
    pub slug: Slug,
    /// Who pays.
    pub account: AccountId,
    /// Who asked for it.
    pub created_by: UserId,
    /// The renter's own name.
    pub name: String,
    /// What it is a part of.
    pub project: Option<Project>,
    /// What its owner wants.
    pub desired: Desired,
    /// Where it is.
    pub state: State,
    /// Since when.
    pub state_since: Timestamp,
    /// When the state must have been left.
    pub deadline_at: Option<Timestamp>,
    /// When the controller looks again.
    pub due_at: Option<Timestamp>,
    /// Counts wishes from outside.
    pub wishes: i64,
    /// Counts placements.
    pub generation: i64,
    /// Where it is, or was last (its data are there).
    pub node: Option<NodeId>,
    /// Slug of the GPU model.
    pub gpu: String,
    /// Number of cards.
    pub count: i64,
    /// CPU cores.
    pub cpus: i64,
    /// Memory, MiB.
    pub memory_mib: i64,
    /// Disk, MiB.
    pub disk_mib: i64,
    /// How it is paid.
    pub plan: Plan,
    /// Frozen rate.
    pub rate: Rate,
    /// Price book of the rate.
    pub price_version: String,
    /// Environment of everything inside.
    pub env: BTreeMap<String, String>,
    /// Command started at ready.
    pub on_start: Option<String>,
    /// Its exit status.
    pub on_start_exit: Option<i64>,
    /// Stop rules.
    pub rules: Rules,
    /// Until when only the budget stops this run.
    pub snoozed_until: Option<Timestamp>,
    /// Why it stops or rests, and where it comes to rest.
    pub reason: Option<Reason>,
    /// What its owner should know.
    pub notices: Vec<String>,
    /// When the present run was proven ready.
    pub ready_at: Option<Timestamp>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was gone.
    pub released_at: Option<Timestamp>,
}

/// Why an instance stops or rests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The state of rest that it leads to.
    pub rest: State,
    /// Machine-readable cause.
    pub cause: Cause,
    /// For people.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

impl Reason {
    /// The reason that an error gives for coming to rest as `rest`.
    pub fn of(error: &Error, rest: State) -> Self {
        Self {
            rest,
            cause: error.cause(),
            message: error.message().to_owned(),
            hint: error.hint_text().map(str::to_owned),
        }
    }
}

/// By name: a column that a newer server adds must not change what a prepared
/// statement of this one returns.
macro_rules! columns {
    () => {
        "id, slug, account_id, created_by, name, desired, state, state_since, deadline_at, due_at, \
         wishes, generation, node_id, gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, \
          on_start_exit, rules, snoozed_until, reason, notices, ready_at, created_at, released_at, env, on_start, \
          project"
    };
}

fn instance(row: &AnyRow) -> Outcome<Instance> {
    Ok(Instance {
        id: parsed(row, "id")?,
        slug: parsed(row, "slug")?,
        account: parsed(row, "account_id")?,
        created_by: parsed(row, "created_by")?,
        name: row.try_get("name")?,
        project: parsed_opt(row, "project")?,
        desired: parsed(row, "desired")?,
        state: parsed(row, "state")?,
        state_since: time(row, "state_since")?,
        deadline_at: time_opt(row, "deadline_at")?,
        due_at: time_opt(row, "due_at")?,
        wishes: row.try_get("wishes")?,
        generation: row.try_get("generation")?,
        node: parsed_opt(row, "node_id")?,
        gpu: row.try_get("gpu")?,
        count: row.try_get("count")?,
        cpus: row.try_get("cpus")?,
        memory_mib: row.try_get("memory_mib")?,
        disk_mib: row.try_get("disk_mib")?,
        plan: parsed(row, "plan")?,
        rate: rate(row, "rate")?,
        price_version: row.try_get("price_version")?,
        env: env(row)?,
        on_start: on_start(row)?,
        on_start_exit: row.try_get("on_start_exit")?,
        rules: json(row, "rules")?,
        snoozed_until: time_opt(row, "snoozed_until")?,
        reason: json_opt(row, "reason")?,
        notices: json(row, "notices")?,
        ready_at: time_opt(row, "ready_at")?,
        created_at: time(row, "created_at")?,
        released_at: time_opt(row, "released_at")?,
    })
}

fn env(row: &AnyRow) -> Outcome<BTreeMap<String, String>> {
    let id: String = row.try_get("id")?;
    let text = secrets::open(secrets::ENV, &id, row.try_get("env")?)?;
    // The value itself must not get into an error.
    serde_json::from_str(&text).map_err(|_| Error::internal("an environment in the store is not JSON").into())
}

fn on_start(row: &AnyRow) -> Outcome<Option<String>> {
    let text: Option<String> = row.try_get("on_start")?;
    let id: String = row.try_get("id")?;
    Ok(text.map(|text| secrets::open(secrets::ON_START, &id, text)).transpose()?)
}

/// Adds an instance.
pub(crate) async fn insert(tx: &mut Tx<'_>, i: &Instance) -> Outcome<()> {
    let (mut env, mut on_start) = (to_json(&i.env)?, i.on_start.clone());
    if let Some(keys) = tx.keys() {
        env = keys.seal(secrets::ENV, i.id.as_str(), &env)?;
        on_start = on_start.map(|text| keys.seal(secrets::ON_START, i.id.as_str(), &text)).transpose()?;
    }
    sqlx::query(
        "INSERT INTO instances (id, slug, account_id, created_by, name, desired, state, state_since, deadline_at,
            due_at, generation, gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, on_start,
            rules, notices, created_at, project)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
            $22, $23, $24, $25)",
    )
    .bind(i.id.as_str())
    .bind(i.slug.as_str())
    .bind(i.account.as_str())
    .bind(i.created_by.as_str())
    .bind(i.name.as_str())
    .bind(i.desired.as_str())
    .bind(i.state.as_str())
    .bind(i.state_since.micros())
    .bind(i.deadline_at.map(Timestamp::micros))
    .bind(i.due_at.map(Timestamp::micros))
    .bind(i.generation)
    .bind(i.gpu.as_str())
    .bind(i.count)
    .bind(i.cpus)
    .bind(i.memory_mib)
    .bind(i.disk_mib)
    .bind(i.plan.as_str())
    .bind(i.rate.micros_per_hour())
    .bind(i.price_version.as_str())
    .bind(env)
    .bind(on_start)
    .bind(to_json(&i.rules)?)
    .bind(to_json(&i.notices)?)
    .bind(i.created_at.micros())
    .bind(i.project.as_ref().map(Project::as_str))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// One instance.
pub async fn get(db: &mut AnyConnection, id: &InstanceId) -> Outcome<Option<Instance>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM instances WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(instance).transpose()
}

/// Instances that `reference` (id, slug or name) may mean. Names of released
/// instances count only when no other fits.
pub async fn find(db: &mut AnyConnection, reference: &str) -> Outcome<Vec<Instance>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM instances WHERE id = $1 OR slug = $1 OR name = $1 ORDER BY id DESC LIMIT 200"
    ))
    .bind(reference)
    .fetch_all(db)
    .await?;
    rows.iter().map(instance).collect()
}

/// As [`find`], among those of one account.
pub async fn find_of(db: &mut AnyConnection, account: &AccountId, reference: &str) -> Outcome<Vec<Instance>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM instances WHERE account_id = $1 AND (id = $2 OR slug = $2 OR name = $2)
         ORDER BY id DESC LIMIT 200"
    ))
    .bind(account.as_str())
    .bind(reference)
    .fetch_all(db)
    .await?;
    rows.iter().map(instance).collect()
}

/// Instances of an account, or of one of its projects, newest first, older than `before`.
pub async fn list(
    db: &mut AnyConnection,
    account: &AccountId,
    project: Option<&Project>,
    all: bool,
    before: Option<&InstanceId>,
    limit: i64,
) -> Outcome<Vec<Instance>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM instances WHERE account_id = $1 AND ($2 = 1 OR state <> 'released') AND ($3 = '' OR id < $3)
            AND ($5 = '' OR project = $5)
         ORDER BY id DESC LIMIT $4"
    ))
    .bind(account.as_str())
    .bind(i64::from(all))
    .bind(before.map_or("", InstanceId::as_str))
    .bind(limit)
    .bind(project.map_or("", Project::as_str))
    .fetch_all(db)
    .await?;
    rows.iter().map(instance).collect()
}

/// The instance as it is now, locked for the rest of the transaction; `None`
/// when the lease is lost, so whatever was done under it must be dropped.
pub async fn lock(tx: &mut Tx<'_>, lease: &Lease) -> Outcome<Option<Instance>> {
    let row = sqlx::query(concat!(
        "UPDATE instances SET lease_until = lease_until WHERE id = $1 AND lease_token = $2 RETURNING ",
        columns!()
    ))
    .bind(lease.id.as_str())
    .bind(lease.token.as_str())
    .fetch_optional(&mut **tx)
    .await?;
    row.as_ref().map(instance).transpose()
}

/// Writes what the controller owns and gives the lease back. `seen` is the
/// number of wishes that the step knew: if more came since, it is due at once.
pub async fn save(tx: &mut Tx<'_>, lease: &Lease, i: &Instance, seen: i64, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE instances SET desired = $3, state = $4, state_since = $5, deadline_at = $6,
            due_at = CASE WHEN wishes = $7 THEN $8 ELSE $9 END,
            node_id = $10, reason = $11, notices = $12, ready_at = $13, released_at = $14,
            lease_token = NULL, lease_until = 0
         WHERE id = $1 AND lease_token = $2 AND generation = $15",
    )
    .bind(lease.id.as_str())
    .bind(lease.token.as_str())
    .bind(i.desired.as_str())
    .bind(i.state.as_str())
    .bind(i.state_since.micros())
    .bind(i.deadline_at.map(Timestamp::micros))
    .bind(seen)
    .bind(i.due_at.map(Timestamp::micros))
    .bind(now.micros())
    .bind(i.node.as_ref().map(NodeId::as_str))
    .bind(i.reason.as_ref().map(to_json).transpose()?)
    .bind(to_json(&i.notices)?)
    .bind(i.ready_at.map(Timestamp::micros))
    .bind(i.released_at.map(Timestamp::micros))
    .bind(i.generation)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes the controller look at an instance at once.
pub async fn nudge(tx: &mut Tx<'_>, id: &InstanceId, now: Timestamp) -> Outcome<()> {
    sqlx::query("UPDATE instances SET wishes = wishes + 1, due_at = $2 WHERE id = $1")
        .bind(id.as_str())
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// How many instances there are in each state, for the metrics.
pub async fn count_by_state(db: &mut AnyConnection) -> Outcome<BTreeMap<State, i64>> {
    let rows = sqlx::query("SELECT state, COUNT(*) AS n FROM instances GROUP BY state").fetch_all(db).await?;
    rows.iter().map(|row| Ok((parsed(row, "state")?, row.try_get("n")?))).collect()
}

/// Instances that are said to run on a node.
pub async fn running_on(db: &mut AnyConnection, node: &NodeId) -> Outcome<Vec<Instance>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM instances WHERE node_id = $1 AND state = 'running' ORDER BY id"
    ))
    .bind(node.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(instance).collect()
}

/// Evidence says that this run of an instance is over. `false`: that was known.
pub async fn lose(tx: &mut Tx<'_>, id: &InstanceId, generation: i64, reason: &Reason, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE instances SET desired = 'stopped', reason = $3, wishes = wishes + 1, due_at = $4
         WHERE id = $1 AND generation = $2 AND desired = 'running' AND state IN ('creating', 'starting', 'running')",
    )
    .bind(id.as_str())
    .bind(generation)
    .bind(to_json(reason)?)
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The start command of this run ended. The account when that is news.
pub async fn command_ended(tx: &mut Tx<'_>, id: &InstanceId, generation: i64, exit: i64) -> Outcome<Option<AccountId>> {
    let row = sqlx::query(
        "UPDATE instances SET on_start_exit = $3 WHERE id = $1 AND generation = $2 AND on_start_exit IS NULL
         RETURNING account_id",
    )
    .bind(id.as_str())
    .bind(generation)
    .bind(exit)
    .fetch_optional(&mut **tx)
    .await?;
    row.map(|row| parsed(&row, "account_id")).transpose()
}
