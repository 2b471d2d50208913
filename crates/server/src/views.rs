//! Rows of the store as the API shows them.

use std::collections::BTreeMap;

use api::account::AccountView;
use api::event::EventView;
use api::instance::{DeviceView, InstanceView, Reason};
use api::session::UserView;
use base::{Money, NodeId, Result};
use domain::device::DeviceFacts;
use sqlx::AnyConnection;
use store::accounts::Account;
use store::events::Event;
use store::instances::Instance;
use store::profiles::Profile;
use store::{accounts, allocations, nodes, segments};

use crate::rules;
use crate::state::App;

/// A user as he sees himself; `pending` is an address that he has not proven yet.
pub fn user(p: &Profile, pending: Option<String>) -> UserView {
    UserView {
        id: p.user.id.clone(),
        name: p.user.name.clone(),
        email_verified: p.email.is_some() && p.email_verified_at.is_some(),
        email: p.email.clone().or(pending),
        operator: p.user.operator.is_some(),
        operator_role: p.user.operator.map(|role| role.to_string()),
        totp: p.totp_since.is_some(),
        identity: p.identity.as_str().to_owned(),
    }
}

/// An account.
pub fn account(a: Account) -> AccountView {
    AccountView {
        id: a.id,
        name: a.name,
        currency: a.currency,
        time_zone: a.time_zone,
        balance: a.balance,
        created_at: a.created_at,
    }
}

/// An event.
pub fn event(e: Event) -> EventView {
    EventView { id: e.id, seq: e.seq, at: e.at, subject: e.subject, kind: e.kind, message: e.message, data: e.data }
}

/// A device of an instance.
pub fn device(d: DeviceFacts) -> DeviceView {
    DeviceView { index: d.index, uuid: d.uuid, serial: d.serial, name: d.name, fake: d.fake }
}

/// What the time of an instance has cost so far: what is posted, and what is
/// proven of the rest.
///
/// # Errors
/// The database's.
pub async fn cost_so_far(db: &mut AnyConnection, instance: &Instance) -> Result<Money> {
    let mut watermarks: BTreeMap<NodeId, base::Timestamp> = BTreeMap::new();
    let mut cost = Money::ZERO;
    for s in segments::of_instance(db, &instance.id).await? {
        cost = cost.plus(s.posted)?;
        if s.to.is_some() && s.due_at.is_none() {
            continue;
        }
        if !watermarks.contains_key(&s.node) {
            let node = nodes::get(db, &s.node).await?;
            watermarks.insert(s.node.clone(), node.map_or(s.from, |n| n.proven_until));
        }
        let proven = watermarks.get(&s.node).copied().unwrap_or(s.from);
        let until = s.to.map_or(proven, |to| to.min(proven)).max(s.from);
        cost = cost.plus(billing::segment::due(s.from, s.rate, until, s.posted)?)?;
    }
    Ok(cost)
}

/// An instance, with everything that its page shows.
///
/// # Errors
/// The database's.
pub async fn instance(app: &App, db: &mut AnyConnection, i: Instance) -> Result<InstanceView> {
    let cost_so_far = cost_so_far(db, &i).await?;
    let devices = allocations::held_by(db, &i.id).await?;
    let on_a_node = i.state.row().holds_cards && !devices.is_empty();
    let node = match &i.node {
        Some(id) if on_a_node => nodes::get(db, id).await?,
        _ => None,
    };
    let account = accounts::get(db, &i.account).await?;
    let (zone, currency) = account.map_or_else(Default::default, |a| (a.time_zone, a.currency));
    let gpu_name = app.catalogue.get(&i.gpu).map_or_else(|| i.gpu.clone(), |m| m.name.clone());
    Ok(InstanceView {
        gpu_name,
        cost_so_far,
        rules: rules::sentences(&i.rules, i.snoozed_until, &zone, &currency),
        stop_rules: rules::view(&i.rules, i.snoozed_until),
        devices: devices.into_iter().map(device).collect(),
        node: node.as_ref().map(|n| n.name.clone()),
        isolation: node.map(|n| n.isolation),
        reason: i.reason.clone().map(|r| Reason { code: r.cause, message: r.message, hint: r.hint }),
        id: i.id,
        slug: i.slug,
        name: i.name,
        project: i.project,
        account: i.account,
        state: i.state,
        desired: i.desired,
        state_since: i.state_since,
        deadline_at: i.deadline_at,
        gpu: i.gpu,
        count: i.count,
        cpus: i.cpus,
        memory_gib: i.memory_mib / 1024,
        disk_gib: i.disk_mib / 1024,
        plan: i.plan.to_string(),
        rate: i.rate,
        price_version: i.price_version,
        notices: i.notices,
        on_start: i.on_start,
        on_start_exit: i.on_start_exit,
        created_at: i.created_at,
        ready_at: i.ready_at,
    })
}

/// An incident as the operator sees it.
pub fn incident(i: store::incidents::Incident) -> api::operator::IncidentView {
    api::operator::IncidentView {
        id: i.id,
        kind: i.kind,
        subject: i.subject,
        opened_at: i.opened_at,
        closed_at: i.closed_at,
        owner: i.owner,
        action: i.action,
        detail: i.detail,
    }
}

/// An invitation as those see it who may take it back.
pub fn invitation(i: store::invitations::Invitation) -> api::member::InvitationView {
    api::member::InvitationView {
        id: i.id,
        account: i.account,
        role: i.role.to_string(),
        email: i.email,
        account_name: i.account_name,
        credit: i.credit,
        by: i.by,
        created_at: i.created_at,
        expires_at: i.expires_at,
    }
}

/// A place in an account.
pub fn membership(m: &store::users::Member) -> api::session::Membership {
    api::session::Membership {
        id: m.account.clone(),
        name: m.account_name.clone(),
        role: m.role.to_string(),
        currency: m.currency.clone(),
        time_zone: m.time_zone.clone(),
    }
}

/// Places in accounts.
pub fn memberships(members: &[store::users::Member]) -> Vec<api::session::Membership> {
    members.iter().map(membership).collect()
}
