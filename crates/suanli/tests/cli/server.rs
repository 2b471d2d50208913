//! A server that tells prepared answers and remembers what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use api::Page;
use api::instance::Reason;
use api::problem::Problem;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path as UrlPath, Request, State as Shared, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use base::{Cause, Error};
use domain::instance::State;

use super::{data, guest};

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    pub key: Option<String>,
    pub token: Option<String>,
    pub body: serde_json::Value,
}

/// What the server does; tests change it before they ask.
pub struct Plan {
    /// States that the instance goes through, one a look; the last one stays.
    pub states: VecDeque<State>,
    pub reason: Option<Reason>,
    /// Refuses whatever path contains the text.
    pub refuse: Option<(&'static str, Error)>,
    pub differences: Vec<&'static str>,
    pub asked: Vec<Asked>,
    /// Files of the instance.
    pub files: PathBuf,
    /// What streams were opened for, and what came in on them besides data.
    pub streams: Vec<String>,
}

pub struct Server {
    pub url: String,
    plan: Arc<Mutex<Plan>>,
    folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

type Plans = Shared<Arc<Mutex<Plan>>>;

impl Server {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("instance");
        std::fs::create_dir_all(&files).unwrap();
        let plan = Arc::new(Mutex::new(Plan {
            states: VecDeque::from([State::Running]),
            reason: None,
            refuse: None,
            differences: vec![],
            asked: vec![],
            files,
            streams: vec![],
        }));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = router(plan.clone());
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, plan, folder, _runtime: runtime }
    }

    pub fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap()
    }

    /// What was asked with this method and a path that contains the text.
    pub fn asked(&self, method: &str, path: &str) -> Vec<Asked> {
        self.plan().asked.iter().filter(|a| a.method == method && a.path.contains(path)).cloned().collect()
    }

    /// A folder of this test on "this machine".
    pub fn here(&self) -> &Path {
        self.folder.path()
    }

    /// The program, signed in to this server.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.env("SUANLI_URL", &self.url).env("SUANLI_TOKEN", "test-token");
        command
    }

    /// The program, not signed in.
    pub fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_suanli"));
        command
            .args(args)
            .env_remove("SUANLI_URL")
            .env_remove("SUANLI_TOKEN")
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("TZ", "Asia/Shanghai")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Starts the program and takes its output later.
    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// How the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in {self:?}"))
    }
}

/// Looks again and again until `done`, but not for ever.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never happened: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn router(plan: Arc<Mutex<Plan>>) -> Router {
    let view = get(|Shared(plan): Plans| async move { Json(look(&plan, true)) });
    let change = || post(|Shared(plan): Plans| async move { (StatusCode::ACCEPTED, Json(look(&plan, false))) });
    Router::new()
        .route("/healthz", get(|| async { ([(header::SERVER, "suanli/9.9.9")], "ok") }))
        .route("/readyz", get(|| async { "ok" }))
        .route("/v1/login", post(login))
        .route("/v1/logout", post(|| async { StatusCode::NO_CONTENT }))
        .route("/v1/logout-everywhere", post(|| async { StatusCode::NO_CONTENT }))
        .route("/v1/password", post(|| async { StatusCode::NO_CONTENT }))
        .route("/v1/totp", post(|| async { Json(data::totp()) }))
        .route("/v1/totp/confirm", post(|| async { Json(data::recovery_codes()) }))
        .route("/v1/totp/remove", post(|| async { StatusCode::NO_CONTENT }))
        .route("/v1/site/settings", get(|| async { Json(data::settings()) }).put(|| async { Json(data::settings()) }))
        .route("/v1/whoami", get(|| async { Json(data::me()) }))
        .route("/v1/offers", get(|| async { Json(data::offers()) }))
        .route("/v1/quotes", post(|| async { Json(data::quote()) }))
        .route(
            "/v1/instances",
            post(rent).get(|Shared(plan): Plans| async move {
                Json(Page { items: vec![look(&plan, false)], next_cursor: None })
            }),
        )
        .route("/v1/instances/{id}", view)
        .route("/v1/instances/{id}/stop", change())
        .route("/v1/instances/{id}/start", change())
        .route("/v1/instances/{id}/release", post(release))
        .route("/v1/instances/{id}/why", get(|| async { Json(data::why()) }))
        .route("/v1/instances/{id}/usage", get(|| async { Json(data::usage()) }))
        .route("/v1/instances/{id}/events", get(events))
        .route("/v1/instances/{id}/stream", get(stream))
        .route("/v1/events", get(live_events))
        .route("/v1/balance", get(|| async { Json(data::balance()) }))
        .route("/v1/bill", get(|| async { Json(data::bill()) }))
        .route(
            "/v1/accounts",
            get(|| async { Json(vec![data::account()]) })
                .post(|| async { (StatusCode::CREATED, Json(data::created())) }),
        )
        .route("/v1/accounts/{id}/projects", get(|| async { Json(data::projects()) }))
        .route(
            "/v1/accounts/{id}/projects/{project}/quotas",
            get(|| async { Json(data::quotas()) }).put(|| async { Json(data::quotas()) }),
        )
        .route("/v1/accounts/{id}/topups", post(|| async { (StatusCode::CREATED, Json(data::topped_up())) }))
        .route("/v1/nodes", get(|| async { Json(data::nodes()) }))
        .route("/v1/incidents", get(|| async { Json(data::incidents()) }))
        .route("/v1/incidents/{id}/close", post(|| async { Json(data::closed_incident()) }))
        .route(
            "/v1/audit",
            get(|Shared(plan): Plans| async move { Json(data::audit(&plan.lock().unwrap().differences)) }),
        )
        .fallback(|| async { problem(&Error::not_found("this path")) })
        .layer(middleware::from_fn_with_state(plan.clone(), remember))
        .with_state(plan)
}

fn problem(error: &Error) -> Response {
    let problem = Problem::of(error, None);
    (StatusCode::from_u16(problem.status).unwrap(), Json(problem)).into_response()
}

async fn remember(Shared(plan): Plans, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let text = |name: &str| head.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let asked = Asked {
        method: head.method.to_string(),
        path: head.uri.path_and_query().unwrap().to_string(),
        key: text("idempotency-key"),
        token: text("authorization"),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let refused = {
        let mut plan = plan.lock().unwrap();
        let refused = plan.refuse.as_ref().filter(|(path, _)| asked.path.contains(path)).map(|(_, e)| e.clone());
        plan.asked.push(asked);
        refused
    };
    match refused {
        Some(error) => problem(&error),
        None => next.run(Request::from_parts(head, body.into())).await,
    }
}

fn look(plan: &Mutex<Plan>, go_on: bool) -> api::instance::InstanceView {
    let mut plan = plan.lock().unwrap();
    if go_on && plan.states.len() > 1 {
        plan.states.pop_front();
    }
    let state = plan.states[0];
    let reason = plan.reason.clone().filter(|_| state.is_at_rest());
    data::instance(state, reason)
}

async fn rent(Shared(plan): Plans) -> Response {
    (StatusCode::ACCEPTED, Json(look(&plan, false))).into_response()
}

async fn release(Shared(plan): Plans) -> Response {
    plan.lock().unwrap().states = VecDeque::from([State::Releasing, State::Releasing, State::Released]);
    (StatusCode::ACCEPTED, Json(look(&plan, false))).into_response()
}

async fn login(Json(request): Json<api::session::LoginRequest>) -> Response {
    if request.password != " correct horse " {
        return problem(&Error::new(Cause::Unauthenticated, "user or password is wrong").hint("try again"));
    }
    if request.user == "two" && request.code.as_deref() != Some("123456") {
        return problem(&Error::new(Cause::SecondFactorNeeded, "this user has a second factor"));
    }
    let answer = api::session::LoginResponse {
        token: Some("fresh-token".into()),
        csrf: None,
        expires_at: data::at("20:00:00"),
        user: data::user(),
    };
    (StatusCode::CREATED, Json(answer)).into_response()
}

async fn events() -> Response {
    let items = vec![data::event(1, "requested"), data::event(2, "creating")];
    Json(Page { items, next_cursor: None }).into_response()
}

/// One event a connection, so that following needs to come back for the next.
async fn live_events(request: Request) -> Response {
    let last = request.headers().get("last-event-id").and_then(|v| v.to_str().ok()?.parse::<i64>().ok());
    let seq = last.unwrap_or(2) + 1;
    let event = serde_json::to_string(&data::event(seq, "live")).unwrap();
    let text = format!(": hello\n\nid: {seq}\nevent: state-changed\ndata: {event}\n\n");
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

async fn stream(Shared(plan): Plans, UrlPath(_id): UrlPath<String>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| guest::serve(socket, plan))
}
