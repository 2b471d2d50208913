//! Who may do what, for every route that the OpenAPI document lists: a route
//! without a case here fails.

use axum::http::Request;
use base::{Span, TokenId};
use serde_json::{Value, json};
use server::auth::token_hash;
use store::tokens;

use crate::answer::Answer;
use crate::db::{Db, both, write};
use crate::openapi::operations;
use crate::site::{CARD, Person, Site, request, session};

/// Where a request names what it is about.
enum About {
    /// Nothing that anybody could own.
    Nothing,
    /// An instance in the path.
    Instance,
    /// An account in the query.
    Query,
    /// An account in the body.
    Body,
    /// An account in the path.
    Account,
}

enum Case {
    /// Anybody.
    Public,
    /// Whoever is signed in, about this.
    Member(About, Value),
    /// The operator alone.
    Operator(Value),
}

/// The case of an operation. Add one for each new route, and say truly who may.
fn case(operation: &str) -> Case {
    use About::{Account, Body, Instance, Nothing, Query};
    let none = Value::Null;
    match operation {
        "healthz" | "readyz" | "metrics" | "login" | "site" | "sign_up" | "invitation_preview" | "verify_email"
        | "forgot_password" | "reset_password" | "oidc_start" | "oidc_callback" => Case::Public,
        "sessions" | "end_session" | "resend_email" | "prepare_totp" | "identity" => Case::Member(Nothing, none),
        "logout_everywhere" | "check_identity" => Case::Member(Nothing, json!({})),
        "change_password" => Case::Member(Nothing, json!({ "old": "one", "new": "two" })),
        "confirm_totp" => Case::Member(Nothing, json!({ "code": "123456" })),
        "remove_totp" => Case::Member(Nothing, json!({ "password": "one", "code": "123456" })),
        "site_settings" => Case::Operator(none),
        "set_site_settings" => Case::Operator(json!({ "name": "Lab" })),
        "logout" | "whoami" | "offers" | "gpus" | "prices" | "events" => Case::Member(Nothing, none),
        "quote" | "rent" => Case::Member(Body, json!({ "gpu": CARD })),
        "instances" | "balance" | "bill" => Case::Member(Query, none),
        "instance" | "stop" | "release" | "why" | "usage" | "instance_events" | "stream" => {
            Case::Member(Instance, none)
        }
        "start" => Case::Member(Instance, json!({})),
        "set_rules" => Case::Member(Instance, json!({ "idle": "1h" })),
        "tokens" | "delete_token" | "keys" | "delete_key" | "revoke_invitation" => Case::Member(Nothing, none),
        "create_token" => Case::Member(Nothing, json!({ "name": "ci", "scopes": ["read"] })),
        "add_key" => Case::Member(Nothing, json!({ "key": "ssh-ed25519 AAAA" })),
        "accept_invitation" => Case::Member(Nothing, json!({ "secret": "inv_" })),
        "members" | "quotas" | "projects" | "project_quotas" | "remove_member" => Case::Member(Account, none),
        "set_member_role" | "invite_member" => Case::Member(Account, json!({ "role": "viewer" })),
        "set_project_quotas" => Case::Member(Account, json!({})),
        "set_quotas" | "invite_user" | "set_audit_log_retention" => Case::Operator(json!({})),
        "set_operator_role" => Case::Operator(json!({ "operator_role": "auditor" })),
        "invitations"
        | "users"
        | "approve_user"
        | "disable_user"
        | "enable_user"
        | "give_password"
        | "remove_second_factor"
        | "audit_log"
        | "export_audit_log"
        | "check_audit_log"
        | "audit_log_retention" => Case::Operator(none),
        "create_account" => Case::Operator(json!({ "name": "gamma" })),
        "top_up" => Case::Operator(json!({ "amount": "1" })),
        "load_prices" | "lint_prices" => Case::Operator(json!({ "text": billing::book::DEMO })),
        "close_incident" => Case::Operator(json!({})),
        "accounts" | "nodes" | "audit" | "incidents" | "backup" | "recovery" => Case::Operator(none),
        "accept_recovery" => Case::Operator(json!({})),
        other => panic!("`{other}` has no case: who may call it?"),
    }
}

struct Route {
    name: String,
    method: String,
    path: String,
    case: Case,
}

fn routes(document: &Value) -> Vec<Route> {
    let route = |(path, method, operation): (&str, &str, &Value)| {
        let name = operation["operationId"].as_str().unwrap().to_owned();
        Route { case: case(&name), method: method.to_uppercase(), path: path.to_owned(), name }
    };
    operations(document).map(route).collect()
}

impl Route {
    /// A request by somebody about `reference`.
    async fn ask(&self, site: &Site, by: Option<&Person>, reference: &str) -> Answer {
        let mut path = self.path.replace("{id}", reference).replace("{user}", "alice").replace("{project}", "vision");
        let mut body = match &self.case {
            Case::Public => Value::Null,
            Case::Member(_, body) | Case::Operator(body) => body.clone(),
        };
        match &self.case {
            Case::Member(About::Query, _) => path = format!("{path}?account={reference}"),
            Case::Member(About::Body, _) => body["account"] = reference.into(),
            _ => {}
        }
        site.send(request(&self.method, &path, by, Some(&body).filter(|b| !b.is_null()), &[])).await
    }
}

/// Without a token, with one that never was, and with one that has expired.
async fn strangers_are_sent_away(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let garbage = Person { id: site.alice.id.clone(), token: format!("suanli_{:064x}", 7) };
    let old = Person { id: site.alice.id.clone(), token: server::auth::new_token() };
    let (owner, hash, now) = (site.alice.id.clone(), token_hash(&old.token), site.app.now());
    write!(db.store, |tx, owner, hash| {
        tokens::insert(tx, &owner, &session(TokenId::new(now, tx.random()), now, now), &hash).await
    })
    .unwrap();
    let mut asked = 0;
    for route in routes(site.document()) {
        if matches!(route.case, Case::Public) {
            continue;
        }
        for (by, why) in [
            (None, "this needs a bearer token"),
            (Some(&garbage), "the token is not valid"),
            (Some(&old), "the token has expired"),
        ] {
            let answer = route.ask(&site, by, id.as_str()).await;
            let problem = answer.problem(401, "unauthenticated");
            assert_eq!(problem["detail"], why, "{}", route.name);
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{}", route.name);
            asked += 1;
        }
        // Nor does a stranger learn how a right request would look.
        let nonsense = Request::builder().method(route.method.as_str()).uri(route.path.replace("{id}", "x"));
        let nonsense = nonsense.header("content-type", "application/json").body("{".into()).unwrap();
        site.send(nonsense).await.problem(401, "unauthenticated");
    }
    assert!(asked > 60, "{asked}");
    for odd in ["", "Bearer", "Bearer ", "Basic abc", "bearer\tx", "Bearer suanli_"] {
        let odd = Request::get("/v1/whoami").header("authorization", odd).body("".into()).unwrap();
        site.send(odd).await.problem(401, "unauthenticated");
    }
}

/// What belongs to another account looks exactly like what does not exist.
async fn members_of_other_accounts_learn_nothing(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let slug = site.row(&id).await.slug.to_string();
    let mut asked = 0;
    for route in routes(site.document()) {
        let (real, missing) = match &route.case {
            Case::Member(About::Instance, _) => {
                (vec![id.as_str(), slug.as_str(), "job"], "ins-00000000000000000000000000")
            }
            Case::Member(About::Query | About::Body | About::Account, _) => {
                (vec![site.alpha.as_str(), "alpha"], "acc-00000000000000000000000000")
            }
            _ => continue,
        };
        let nothing = route.ask(&site, Some(&site.bob), missing).await;
        let nothing_there = nothing.problem(404, "not-found");
        for reference in real {
            let mut refused = route.ask(&site, Some(&site.bob), reference).await.problem(404, "not-found");
            refused["request_id"] = nothing_there["request_id"].clone();
            let detail = refused["detail"].as_str().unwrap().replace(reference, missing);
            assert!(detail.contains(missing), "{detail}");
            refused["detail"] = detail.into();
            assert_eq!(refused, nothing_there, "{}", route.name);
            asked += 1;
        }
    }
    assert!(asked >= 34, "{asked}");
    let row = site.row(&id).await;
    assert_eq!((row.state.as_str(), row.desired.as_str()), ("running", "running"));
    assert_eq!(site.number("SELECT COUNT(*) FROM instances").await, 1);
}

async fn lists_hold_only_what_is_ones_own(db: &Db) {
    let site = Site::new(db).await;
    let id = site.running("job", Span::from_secs(60)).await;
    let list = |answer: Answer| answer.ok(200)["items"].as_array().unwrap().len();
    assert_eq!(list(site.get(&site.alice, "/v1/instances").await), 1);
    assert_eq!(list(site.get(&site.bob, "/v1/instances?all=true").await), 0);
    assert_eq!(site.get(&site.bob, "/v1/balance").await.ok(200)["name"], "beta");
    let whoami = site.get(&site.bob, "/v1/whoami").await.ok(200);
    assert_eq!(whoami["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(whoami["accounts"][0]["name"], "beta");
    // The operator sees what is anybody's, by name.
    assert_eq!(list(site.get(&site.operator, "/v1/instances?account=alpha").await), 1);
    assert_eq!(site.get(&site.operator, &format!("/v1/instances/{id}")).await.ok(200)["name"], "job");
}

/// However many instances of strangers have the name, one's own is found by it.
async fn names_of_strangers_do_not_hide_ones_own(db: &Db) {
    let site = Site::new(db).await;
    let mine = site.rented("train").await;
    let (like, beta, by) = (mine.clone(), site.beta.clone(), site.bob.id.clone());
    write!(db.store, |tx, like, beta, by| {
        for n in 0..250 {
            sqlx::query(
                "INSERT INTO instances (id, slug, account_id, created_by, name, desired, state, state_since, generation,
                    gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, rules, notices, created_at)
                 SELECT $2, $3, $4, $5, name, desired, state, state_since, generation,
                    gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, rules, notices, created_at
                 FROM instances WHERE id = $1",
            )
            .bind(like.as_str())
            .bind(format!("ins-zzzzzzzzzzzzzzzzzzzzzz{n:04}"))
            .bind(format!("z{n:09}"))
            .bind(beta.as_str())
            .bind(by.as_str())
            .execute(&mut **tx)
            .await?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(site.get(&site.alice, "/v1/instances/train").await.ok(200)["id"], mine.as_str());
    site.get(&site.bob, "/v1/instances/train").await.says(422, "ambiguous-name", &["train", "use the id"]);
}

async fn the_operators_routes_are_his_alone(db: &Db) {
    let site = Site::new(db).await;
    let mut asked = 0;
    for route in routes(site.document()) {
        if !matches!(route.case, Case::Operator(_)) {
            continue;
        }
        // Whether the account exists must not show either.
        for account in ["alpha", "beta", "nobody"] {
            route.ask(&site, Some(&site.alice), account).await.problem(403, "forbidden");
            asked += 1;
        }
        let answer = route.ask(&site, Some(&site.operator), "alpha").await;
        assert!(![401, 403].contains(&answer.status) && answer.status < 500, "{}: {}", route.name, answer.text());
    }
    assert!(asked >= 24, "{asked}");
    assert_eq!(site.number("SELECT COUNT(*) FROM accounts").await, 3);
}

async fn public_routes_need_no_token(db: &Db) {
    let site = Site::new(db).await;
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(site.send(request("GET", path, None, None, &[])).await.status, 200, "{path}");
    }
}

both!(
    strangers_are_sent_away,
    members_of_other_accounts_learn_nothing,
    lists_hold_only_what_is_ones_own,
    names_of_strangers_do_not_hide_ones_own,
    the_operators_routes_are_his_alone,
    public_routes_need_no_token,
);
