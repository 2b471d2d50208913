//! The whole matrix: every operation × every role in the account × every operator
//! role × a stranger × every scope of a token, against the one table of rights.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use base::{InstanceId, InvitationId, Money, Span, TokenId};
use domain::rights::{Action, OperatorRole, Role, Scope};
use serde_json::{Value, json};
use server::auth::{new_token, token_hash};
use store::invitations::{self, Invitation};
use store::tokens::{self, ApiToken, Limits};
use tower::ServiceExt;

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::members::{member, operator};
use crate::openapi::operations;
use crate::site::{CARD, Person, Site, person, request};

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    /// Anybody.
    Public,
    /// Whoever is signed in, with any token.
    Signed,
    /// Whoever signed in himself.
    Person,
    /// Whoever is signed in, about what is his, with a token that has the scope.
    Own(Action),
    /// By the role in the account, or as an operator.
    Account(Action),
    /// As an operator.
    Site(Action),
}

/// The line of an operation: who, the `{id}` of its path, and a body.
struct Line {
    who: Who,
    id: String,
    query: String,
    body: Value,
}

/// What lines are about.
struct About {
    instance: InstanceId,
    invitation: InvitationId,
    victim: String,
}

/// Add a line for each new operation, and say truly who may.
fn line(operation: &str, about: &About) -> Line {
    use Action::{
        AuditBooks, Backup, ChangeInstances, CheckPrices, CloseIncidents, LoadPrices, MakeAccounts, ManageMembers,
        ManageSite, ManageUsers, ReadAuditLog, Rent, SeeInstances, SeeMembers, SeeMoney, SeeSite, SetProjectQuotas,
        SetQuotas, TopUp, UseInstances,
    };
    use Who::{Account, Own, Person, Public, Signed, Site};
    let none = Value::Null;
    let nothing = "00000000000000000000000000";
    let (who, id, body) = match operation {
        "healthz" | "readyz" | "metrics" | "site" | "invitation_preview" | "oidc_start" | "oidc_callback" => {
            (Public, String::new(), none)
        }
        "login" | "sign_up" | "verify_email" | "forgot_password" | "reset_password" => {
            (Public, String::new(), json!({}))
        }
        "logout" | "whoami" | "offers" | "gpus" | "prices" => (Signed, String::new(), none),
        "sessions" | "tokens" | "keys" | "identity" | "prepare_totp" | "resend_email" => (Person, String::new(), none),
        "end_session" | "delete_token" => (Person, format!("tok-{nothing}"), none),
        "delete_key" => (Person, format!("key-{nothing}"), none),
        "logout_everywhere" | "check_identity" => (Person, String::new(), json!({})),
        "change_password" => (Person, String::new(), json!({ "old": "one", "new": "two" })),
        "confirm_totp" => (Person, String::new(), json!({ "code": "123456" })),
        "remove_totp" => (Person, String::new(), json!({ "password": "one", "code": "123456" })),
        "create_token" => (Person, String::new(), json!({ "name": "ci", "scopes": ["read"] })),
        "add_key" => (Person, String::new(), json!({ "key": "ssh-ed25519 AAAA" })),
        "accept_invitation" => (Person, String::new(), json!({ "secret": "inv_" })),
        "events" => (Own(SeeInstances), String::new(), none),
        "instances" => (Account(SeeInstances), "alpha".into(), none),
        "balance" | "bill" => (Account(SeeMoney), "alpha".into(), none),
        "quote" | "rent" => (Account(Rent), String::new(), json!({ "gpu": CARD, "account": "alpha" })),
        "instance" | "why" | "usage" | "instance_events" => (Account(SeeInstances), about.instance.to_string(), none),
        "stop" | "release" => (Account(ChangeInstances), about.instance.to_string(), none),
        "set_rules" => (Account(ChangeInstances), about.instance.to_string(), json!({ "idle": "1h" })),
        "start" => (Account(Rent), about.instance.to_string(), json!({})),
        "stream" => (Account(UseInstances), about.instance.to_string(), none),
        "members" | "quotas" | "projects" | "project_quotas" => (Account(SeeMembers), "alpha".into(), none),
        "set_project_quotas" => (Account(SetProjectQuotas), "alpha".into(), json!({})),
        "invite_member" | "set_member_role" => (Account(ManageMembers), "alpha".into(), json!({ "role": "viewer" })),
        "remove_member" => (Account(ManageMembers), "alpha".into(), none),
        "revoke_invitation" => (Account(ManageMembers), about.invitation.to_string(), none),
        "accounts" | "nodes" | "incidents" | "recovery" | "users" | "invitations" => {
            (Site(SeeSite), String::new(), none)
        }
        "create_account" => (Site(MakeAccounts), String::new(), json!({ "name": "gamma" })),
        "invite_user" => (Site(MakeAccounts), String::new(), json!({})),
        "top_up" => (Site(TopUp), "alpha".into(), json!({ "amount": "1" })),
        "set_quotas" => (Site(SetQuotas), "alpha".into(), json!({})),
        "approve_user" | "disable_user" | "enable_user" | "give_password" | "remove_second_factor" => {
            (Site(ManageUsers), about.victim.clone(), none)
        }
        "set_operator_role" => (Site(ManageSite), about.victim.clone(), json!({ "operator_role": null })),
        "site_settings" => (Site(ManageSite), String::new(), none),
        "set_site_settings" => (Site(ManageSite), String::new(), json!({ "name": "Lab" })),
        "load_prices" => (Site(LoadPrices), String::new(), json!({ "text": billing::book::DEMO })),
        "lint_prices" => (Site(CheckPrices), String::new(), json!({ "text": billing::book::DEMO })),
        "close_incident" => (Site(CloseIncidents), format!("inc-{nothing}"), json!({})),
        "audit" => (Site(AuditBooks), String::new(), none),
        "audit_log" | "export_audit_log" | "check_audit_log" | "audit_log_retention" => {
            (Site(ReadAuditLog), String::new(), none)
        }
        "set_audit_log_retention" => (Site(ManageSite), String::new(), json!({ "days": null })),
        "backup" => (Site(Backup), String::new(), none),
        "accept_recovery" => (Site(Backup), String::new(), json!({})),
        other => panic!("`{other}` has no line: who may call it?"),
    };
    let query = match operation {
        "instances" | "balance" | "bill" => format!("?account={id}"),
        _ => String::new(),
    };
    Line { who, id, query, body }
}

/// What somebody learns by asking.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Learns {
    /// He may, whatever else is wrong.
    Allowed,
    /// That he may not.
    Forbidden,
    /// Not even that there is such a thing.
    Nothing,
}

/// How refusals for want of a right begin.
const FORBIDDEN: &[&str] = &[
    "your role in this account is",
    "an operator does not",
    "only an operator of this site",
    "the operator role",
    "this token does not have the scope",
    "an API token may not",
    "the token inside an instance",
];

async fn learns(site: &Site, request: Request<Body>) -> Learns {
    let response = site.router.clone().oneshot(request).await.unwrap();
    if response.status().as_u16() < 400 {
        // Some answers never end.
        return Learns::Allowed;
    }
    let answer = Answer::read(response).await;
    assert!(answer.status < 500, "{}", answer.text());
    let problem: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert_ne!(detail, "the token is not valid");
    match answer.status {
        403 if FORBIDDEN.iter().any(|begin| detail.starts_with(begin)) => Learns::Forbidden,
        404 if ["the account", "the instance", "this invitation"].iter().any(|begin| detail.starts_with(begin)) => {
            Learns::Nothing
        }
        _ => Learns::Allowed,
    }
}

struct Route {
    name: String,
    method: String,
    path: String,
}

fn routes(site: &Site) -> Vec<Route> {
    let route = |(path, method, operation): (&str, &str, &Value)| Route {
        name: operation["operationId"].as_str().unwrap().to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
    };
    operations(site.document()).map(route).collect()
}

impl Route {
    fn request(&self, line: &Line, victim: &str, by: Option<&Person>) -> Request<Body> {
        let path = self.path.replace("{id}", &line.id).replace("{user}", victim).replace("{project}", "vision");
        let path = path.replace("{secret}", "inv_x").replace("{provider}", "none") + &line.query;
        request(&self.method, &path, by, Some(&line.body).filter(|body| !body.is_null()), &[])
    }
}

async fn about(site: &Site, name: &str, instance: &InstanceId) -> About {
    let victim = format!("victim-{name}");
    member(site, &victim, &site.alpha, Role::Viewer).await;
    let now = site.app.now();
    let invitation = Invitation {
        id: InvitationId::new(now, rand::random()),
        account: Some(site.alpha.clone()),
        into: None,
        role: Role::Viewer,
        email: None,
        account_name: None,
        credit: Money::ZERO,
        created_by: site.alice.id.clone(),
        by: String::new(),
        created_at: now,
        expires_at: now.after(Span::from_hours(1)),
        used_at: None,
        revoked_at: None,
    };
    let hash = name.to_owned();
    write!(site.app.store, |tx, invitation, hash| invitations::insert(tx, &invitation, &hash).await).unwrap();
    About { instance: instance.clone(), invitation: invitation.id, victim }
}

async fn roles_are_what_the_table_says(db: &Db) {
    let site = Site::new(db).await;
    let instance = site.rented("job").await;
    let mut asked = 0;
    for route in routes(&site) {
        let about = about(&site, &route.name, &instance).await;
        let line = line(&route.name, &about);
        // New ones for each operation: some of them end the caller's session.
        let mut actors = Vec::new();
        for role in Role::ALL {
            let one = member(&site, &format!("{role}-{}", route.name), &site.alpha, *role).await;
            actors.push((one, Some(*role), None));
        }
        for role in OperatorRole::ALL {
            actors.push((operator(&site, &format!("op-{role}-{}", route.name), *role).await, None, Some(*role)));
        }
        let stranger = person(&site.app, &format!("stranger-{}", route.name), false).await;
        crate::site::account(&site.app, &format!("elsewhere-{}", route.name), &[&stranger]).await;
        actors.push((stranger, None, None));
        for (actor, role, operates) in &actors {
            let expected = match line.who {
                Who::Public | Who::Signed | Who::Person | Who::Own(_) => Learns::Allowed,
                Who::Account(action) => {
                    let right = action.right();
                    let may =
                        role.is_some_and(|r| right.allows(r)) || operates.is_some_and(|r| right.allows_operator(r));
                    match (may, role.is_some() || operates.is_some()) {
                        (true, _) => Learns::Allowed,
                        (false, true) => Learns::Forbidden,
                        (false, false) => Learns::Nothing,
                    }
                }
                Who::Site(action) if operates.is_some_and(|r| action.right().allows_operator(r)) => Learns::Allowed,
                Who::Site(_) => Learns::Forbidden,
            };
            if line.who == Who::Person || line.who == Who::Public {
                let found = learns(&site, route.request(&line, &about.victim, Some(actor))).await;
                assert_ne!(found, Learns::Forbidden, "{} {role:?} {operates:?}", route.name);
            } else {
                let found = learns(&site, route.request(&line, &about.victim, Some(actor))).await;
                assert_eq!(found, expected, "{} {role:?} {operates:?}", route.name);
            }
            asked += 1;
        }
    }
    assert!(asked > 600, "{asked}");
}

/// A token of `owner` with limits, which he could not make himself in every case.
async fn limited(site: &Site, owner: &Person, limits: Limits) -> Person {
    let (secret, now, user) = (new_token(), site.app.now(), owner.id.clone());
    let hash = token_hash(&secret);
    write!(site.app.store, |tx, user, limits, hash| {
        let token = ApiToken {
            id: TokenId::new(now, tx.random()),
            name: "test".into(),
            limits,
            created_at: now,
            expires_at: now.after(Span::from_hours(1)),
            used_at: None,
        };
        tokens::insert_api(tx, &user, &token, &hash).await
    })
    .unwrap();
    Person { id: owner.id.clone(), token: secret }
}

async fn scopes_are_what_the_table_says(db: &Db) {
    let site = Site::new(db).await;
    let instance = site.rented("job").await;
    let mut asked = 0;
    for route in routes(&site) {
        let about = about(&site, &route.name, &instance).await;
        let line = line(&route.name, &about);
        for scope in Scope::ALL {
            let limits = Limits { scopes: vec![*scope], account: None, instance: None };
            let only_alpha = Limits { account: Some(site.alpha.clone()), ..limits.clone() };
            let owner = limited(&site, &site.alice, limits.clone()).await;
            let owner_here = limited(&site, &site.alice, only_alpha.clone()).await;
            let chief = limited(&site, &site.operator, limits).await;
            // What is limited to an account has none of its owner's rights over the site.
            let chief_here = limited(&site, &site.operator, only_alpha).await;
            for (by, owns, operates) in
                [(&owner, true, false), (&owner_here, true, false), (&chief, false, true), (&chief_here, false, false)]
            {
                let fits = |action: Action| action.right().scope == *scope;
                let expected = match line.who {
                    Who::Public => continue,
                    Who::Signed => Learns::Allowed,
                    Who::Person => Learns::Forbidden,
                    Who::Own(action) if fits(action) => Learns::Allowed,
                    Who::Own(_) => Learns::Forbidden,
                    Who::Account(action) if owns => {
                        if fits(action) {
                            Learns::Allowed
                        } else {
                            Learns::Forbidden
                        }
                    }
                    Who::Account(action) if operates => {
                        let may = action.right().allows_operator(OperatorRole::Admin);
                        if may && fits(action) { Learns::Allowed } else { Learns::Forbidden }
                    }
                    Who::Account(_) => Learns::Nothing,
                    Who::Site(action) if operates && fits(action) => Learns::Allowed,
                    Who::Site(_) => Learns::Forbidden,
                };
                let found = learns(&site, route.request(&line, &about.victim, Some(by))).await;
                assert_eq!(found, expected, "{} {scope} owns: {owns} operates: {operates}", route.name);
                asked += 1;
            }
        }
    }
    assert!(asked > 1_000, "{asked}");
}

/// The token inside an instance sees and stops that instance, and nothing else, whoever made it.
async fn the_token_inside_an_instance_can_only_see_and_stop_it(db: &Db) {
    let site = Site::new(db).await;
    let own = site.rented("own").await;
    let other = site.rented("other").await;
    let operators = site.number("SELECT COUNT(*) FROM users WHERE operator = 1").await;
    assert_eq!(operators, 1);
    let (alpha, user, now) = (site.alpha.clone(), site.operator.id.clone(), site.app.now());
    write!(db.store, |tx, alpha, user| store::users::join(tx, &alpha, &user, Role::Owner, now).await).unwrap();
    let mut open = BTreeSet::new();
    for owner in [&site.alice, &site.operator] {
        let limits =
            Limits { scopes: Scope::ALL.to_vec(), account: Some(site.alpha.clone()), instance: Some(own.clone()) };
        let inside = limited(&site, owner, limits).await;
        for route in routes(&site) {
            let about = about(&site, &format!("{}-{}", route.name, owner.id), &own).await;
            let line = line(&route.name, &about);
            if line.who == Who::Public {
                continue;
            }
            match learns(&site, route.request(&line, &about.victim, Some(&inside))).await {
                Learns::Allowed => drop(open.insert(route.name.clone())),
                Learns::Forbidden | Learns::Nothing => {}
            }
            if matches!(line.who, Who::Account(_)) && line.id == own.as_str() {
                let line = Line { id: other.to_string(), ..line };
                let found = learns(&site, route.request(&line, &about.victim, Some(&inside))).await;
                assert_ne!(found, Learns::Allowed, "{} of another instance", route.name);
            }
        }
    }
    assert_eq!(open, ["instance", "stop", "usage", "why"].map(str::to_owned).into());
    assert_eq!(site.row(&other).await.desired.as_str(), "running");
    assert_eq!(site.row(&own).await.desired.as_str(), "stopped");
}

both!(
    roles_are_what_the_table_says,
    scopes_are_what_the_table_says,
    the_token_inside_an_instance_can_only_see_and_stop_it,
);
