//! Signing in at a real OpenID provider, which runs on loopback as long as the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use deliver::http::Http;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::answer::Answer;
use crate::db::{Db, both};
use crate::mailbox::{SITE, set, stranger};
use crate::site::{Person, Site, request};

const PASSWORD: &str = "correct horse battery";

/// The provider's packages, installed once into the build's own folder.
async fn packages(source: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = std::fs::read(source.join("package-lock.json")).unwrap();
    let name = &server::auth::token_hash(&String::from_utf8(lock).unwrap())[..16];
    let done = folder.join(format!("oidc-provider-{name}"));
    if !done.exists() {
        let part = tempfile::tempdir_in(folder).unwrap();
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(file), part.path().join(file)).unwrap();
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(part.path());
        let npm = npm.output().await.expect("npm: scripts/setup.sh build installs it");
        assert!(npm.status.success(), "{}", String::from_utf8_lossy(&npm.stderr));
        // Tests run at the same time: whoever is later finds it done.
        if let Err(error) = std::fs::rename(part.path(), &done) {
            assert!(done.exists(), "{error}");
        }
    }
    done
}

struct Provider {
    issuer: String,
    http: Http,
    /// Ends with this value: its input closes.
    _node: Child,
    /// Its output stays open: a program that writes to nobody dies of it.
    _lines: Lines<BufReader<ChildStdout>>,
}

/// What a browser keeps.
#[derive(Clone, Default)]
struct Browser(Vec<(String, String)>);

impl Browser {
    fn keep(&mut self, headers: &http::HeaderMap) {
        for line in headers.get_all("set-cookie") {
            let (pair, rest) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.0.retain(|(known, _)| known != name);
            if !rest.contains("Max-Age=0") {
                self.0.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    fn cookies(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    async fn get(&mut self, site: &Site, path: &str) -> Answer {
        let answer = site.send(request("GET", path, None, None, &[("cookie", &self.cookies())])).await;
        self.keep(&answer.headers);
        answer
    }

    async fn whoami(&mut self, site: &Site) -> Value {
        self.get(site, "/v1/whoami").await.ok(200)
    }
}

impl Provider {
    async fn start() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc-provider");
        let packages = packages(&source).await;
        let mut node = Command::new("node")
            .arg(source.join("provider.mjs"))
            .arg(format!("{SITE}/v1/oidc/lab/callback"))
            .arg(packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(node.stdout.take().unwrap()).lines();
        let issuer = lines.next_line().await.unwrap().expect("the provider begins");
        Self { issuer, http: Http::new().unwrap(), _node: node, _lines: lines }
    }

    /// The site with this provider.
    async fn site(&self, db: &Db, sign_up: &str, secret: &str) -> Site {
        let mut site = Site::new(db).await;
        let way = deliver::Way { folder: Some(std::env::temp_dir()), address: String::new() };
        site.app = site.app.clone().with_way(way);
        site.router = server::router(site.app.clone());
        let lab = json!({ "id": "lab", "label": "Lab", "issuer": self.issuer, "client_id": "suanli", "client_secret": secret });
        set(&site, json!({ "providers": [lab], "public_url": SITE, "sign_up": sign_up })).await;
        site
    }

    /// Signs in there as somebody: where the browser is sent back to, on this site.
    async fn visit(&self, url: &str, who: &str) -> String {
        let mut browser = Browser::default();
        let mut next = format!("{url}&login_hint={who}");
        for _ in 0..8 {
            let get = http::Request::get(&next).header("cookie", browser.cookies()).body(vec![]).unwrap();
            let answer = self.http.send(get).await.unwrap();
            assert!(answer.status().is_redirection(), "{next}: {}", String::from_utf8_lossy(answer.body()));
            browser.keep(answer.headers());
            next = answer.headers()["location"].to_str().unwrap().to_owned();
            if let Some(path) = next.strip_prefix(SITE) {
                return path.to_owned();
            }
            if next.starts_with('/') {
                next = format!("{}{next}", self.issuer);
            }
        }
        panic!("the provider never sends the browser back");
    }

    /// How often it was asked who it is, and for its keys.
    async fn counts(&self, path: &str) -> (i64, i64) {
        let get = http::Request::get(format!("{}{path}", self.issuer)).body(vec![]).unwrap();
        let counts: Value = serde_json::from_slice(self.http.send(get).await.unwrap().body()).unwrap();
        (counts["discovery"].as_i64().unwrap(), counts["keys"].as_i64().unwrap())
    }

    /// The whole way; where the browser is at its end.
    async fn sign_in(&self, site: &Site, browser: &mut Browser, who: &str, start: &str) -> String {
        let begun = browser.get(site, start).await;
        assert_eq!(begun.status, 302, "{}", begun.text());
        let back = self.visit(begun.header("location"), who).await;
        let done = browser.get(site, &back).await;
        assert_eq!(done.status, 302, "{}", done.text());
        done.header("location").to_owned()
    }
}

const START: &str = "/v1/oidc/lab/start";

async fn a_newcomer_signs_up_and_is_known_from_then_on(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "email", "hush-oidc").await;
    let mut browser = Browser::default();
    let start = "/v1/oidc/lab/start?next=/instances%3Ftab%3Dall";
    assert_eq!(provider.sign_in(&site, &mut browser, "bo", start).await, "/instances?tab=all");
    let me = browser.whoami(&site).await;
    // Bob of the site has another name; `bo` was free.
    assert_eq!((&me["user"]["name"], &me["user"]["email"]), (&json!("bo"), &json!("bo@example.org")));
    assert_eq!((&me["user"]["email_verified"], &me["accounts"][0]["name"]), (&json!(true), &json!("bo")));
    let mut other = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut other, "bo", START).await, "/");
    assert_eq!(other.whoami(&site).await["user"]["id"], me["user"]["id"]);
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE email = 'bo@example.org'").await, 1);
    // A name that somebody has is not given twice.
    let mut third = Browser::default();
    provider.sign_in(&site, &mut third, "alice", START).await;
    assert_eq!(third.whoami(&site).await["user"]["name"], "alice-2");
    // He has no password, so nobody signs in with one.
    for guess in ["no password", ""] {
        stranger(&site, "/v1/login", json!({ "user": "bo", "password": guess })).await.problem(401, "unauthenticated");
    }
    let shut = request("POST", "/v1/users/bo/disable", Some(&site.operator), None, &[]);
    assert!(site.send(shut).await.status < 300);
    assert_eq!(provider.sign_in(&site, &mut other, "bo", START).await, "/sign-in?error=user-disabled");
}

/// A user with the address `wei@example.org` and a password.
async fn wei(site: &Site) {
    site.post(&site.operator, "/v1/accounts", json!({ "name": "wei" })).await.ok(201);
    let hash = server::password::hash(&site.app, PASSWORD.into()).await.unwrap();
    let mut db = site.app.store.read().await.unwrap();
    let sql =
        "UPDATE users SET email = 'wei@example.org', email_verified_at = 1, password_hash = $1 WHERE name = 'wei'";
    sqlx::query(sql).bind(hash).execute(&mut *db).await.unwrap();
}

async fn nobody_takes_a_user_over_by_his_address(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "email", "hush-oidc").await;
    wei(&site).await;
    let mut browser = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut browser, "wei", START).await, "/sign-in?error=already-exists");
    site.send(request("GET", "/v1/whoami", None, None, &[("cookie", &browser.cookies())]))
        .await
        .problem(401, "unauthenticated");
    // One that is not proven is nobody's address.
    let mut liar = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut liar, "liar", START).await, "/");
    let me = liar.whoami(&site).await;
    assert_eq!((&me["user"]["name"], me["user"].get("email")), (&json!("liar"), None));
    // Signed in, he connects the two himself.
    let body = json!({ "user": "wei", "password": PASSWORD, "cookie": true });
    let login = site.send(request("POST", "/v1/login", None, Some(&body), &[])).await;
    browser.keep(&login.headers);
    assert_eq!(browser.whoami(&site).await["providers"], json!([]));
    assert_eq!(provider.sign_in(&site, &mut browser, "wei", START).await, "/");
    let me = browser.whoami(&site).await;
    assert_eq!((&me["user"]["name"], &me["providers"]), (&json!("wei"), &json!(["lab"])));
    let mut fresh = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut fresh, "wei", START).await, "/");
    assert_eq!(fresh.whoami(&site).await["user"]["name"], "wei");
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log WHERE action = 'link_identity'").await, 2);
}

async fn a_sign_in_belongs_to_the_browser_that_began_it(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "email", "hush-oidc").await;
    let mut victim = Browser::default();
    let mut attacker = Browser::default();
    let begun = attacker.get(&site, START).await;
    let back = provider.visit(begun.header("location"), "mallory").await;
    // Sent to somebody else, who would then work in the attacker's account.
    let foreign = victim.get(&site, &back).await;
    assert_eq!(foreign.header("location"), "/sign-in?error=csrf-missing");
    assert!(victim.0.is_empty());
    assert_eq!(attacker.get(&site, &back).await.header("location"), "/");
    // Once is enough.
    let mut again = Browser::default();
    again.keep(&begun.headers);
    assert_eq!(again.get(&site, &back).await.header("location"), "/sign-in?error=csrf-missing");
    // The code of one sign-in does not fit another: its verifier and nonce differ.
    let (mut one, mut two) = (Browser::default(), Browser::default());
    let (first, second) = (one.get(&site, START).await, two.get(&site, START).await);
    let (first, second) =
        (provider.visit(first.header("location"), "a").await, provider.visit(second.header("location"), "b").await);
    let part = |path: &str, name: &str| {
        let (_, query) = path.split_once('?').unwrap();
        query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap().to_owned()
    };
    let mixed = format!("/v1/oidc/lab/callback?code={}&state={}", part(&second, "code"), part(&first, "state"));
    assert_eq!(one.get(&site, &mixed).await.header("location"), "/sign-in?error=unauthenticated");
    let refused = format!("/v1/oidc/lab/callback?error=access_denied&state={}", part(&second, "state"));
    assert_eq!(two.get(&site, &refused).await.header("location"), "/sign-in?error=unauthenticated");
    for path in ["/v1/oidc/other/start", "/v1/oidc/other/callback?code=x&state=y"] {
        victim.get(&site, path).await.problem(404, "not-found");
    }
}

async fn newcomers_come_by_the_rule_of_the_site(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "invitation", "hush-oidc").await;
    let mut browser = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut browser, "bo", START).await, "/sign-in?error=sign-up-closed");
    let invited = site.post(&site.operator, "/v1/invitations", json!({ "credit": "5" })).await.ok(201);
    let secret = invited["secret"].as_str().unwrap();
    let start = format!("{START}?invitation={secret}");
    assert_eq!(provider.sign_in(&site, &mut browser, "bo", &start).await, "/");
    let me = browser.whoami(&site).await;
    let account = me["accounts"][0]["id"].as_str().unwrap();
    let balance = browser.get(&site, &format!("/v1/balance?account={account}")).await.ok(200);
    assert_eq!(balance["available"]["amount"], "5.00");
    assert_eq!(provider.sign_in(&site, &mut Browser::default(), "li", &start).await, "/sign-in?error=not-found");
    set(&site, json!({ "sign_up": "email", "approval": true })).await;
    for _ in 0..2 {
        let end = provider.sign_in(&site, &mut Browser::default(), "li", START).await;
        assert_eq!(end, "/sign-in?error=awaiting-approval");
    }
    let approve = request("POST", "/v1/users/li/approve", Some(&site.operator), None, &[]);
    assert!(site.send(approve).await.status < 300);
    assert_eq!(provider.sign_in(&site, &mut Browser::default(), "li", START).await, "/");
}

/// What it says of itself is kept for a while; other keys are found all the same.
async fn a_provider_is_not_asked_who_it_is_each_time(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "email", "hush-oidc").await;
    for who in ["bo", "li", "bo"] {
        assert_eq!(provider.sign_in(&site, &mut Browser::default(), who, START).await, "/");
        assert_eq!(provider.counts("/counts").await, (1, 1), "{who}");
    }
    provider.counts("/rotate").await;
    for who in ["bo", "li"] {
        assert_eq!(provider.sign_in(&site, &mut Browser::default(), who, START).await, "/");
        assert_eq!(provider.counts("/counts").await, (2, 2), "{who}");
    }
}

async fn a_provider_that_is_wrong_or_away_signs_nobody_in(db: &Db) {
    let provider = Provider::start().await;
    let site = provider.site(db, "email", "another secret").await;
    let mut browser = Browser::default();
    assert_eq!(provider.sign_in(&site, &mut browser, "bo", START).await, "/sign-in?error=unauthenticated");
    // One that calls itself otherwise than it is reached.
    let other = provider.issuer.replace("127.0.0.1", "localhost");
    for issuer in [other.as_str(), "http://127.0.0.1:1"] {
        let lab = json!({ "id": "lab", "issuer": issuer, "client_id": "suanli" });
        set(&site, json!({ "providers": [lab] })).await;
        assert_eq!(browser.get(&site, START).await.header("location"), "/sign-in?error=unavailable");
    }
    let nobody = Person { id: site.alice.id.clone(), token: "suanli_0".into() };
    site.get(&nobody, "/v1/whoami").await.problem(401, "unauthenticated");
    assert_eq!(site.number("SELECT COUNT(*) FROM identities").await, 0);
}

both!(
    a_newcomer_signs_up_and_is_known_from_then_on,
    nobody_takes_a_user_over_by_his_address,
    a_sign_in_belongs_to_the_browser_that_began_it,
    newcomers_come_by_the_rule_of_the_site,
    a_provider_is_not_asked_who_it_is_each_time,
    a_provider_that_is_wrong_or_away_signs_nobody_in,
);
