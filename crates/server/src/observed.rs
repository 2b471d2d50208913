//! What this process counts of itself: requests, connections, readers, refusals.
//! Never by instance or by caller: that grows without bound.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::state::App;

/// What refused or ended something because it was too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Too many requests with one token.
    Token,
    /// Too many requests of one user.
    User,
    /// Too many requests from one address.
    Address,
    /// Too many attempts to sign in.
    Login,
    /// Too many sign-ups and mails from one address.
    SignUp,
    /// Too many guesses at a second factor.
    Code,
    /// A request that took too long.
    Time,
    /// Too many connections in total.
    Connections,
    /// Too many connections from one address.
    ConnectionsOfAddress,
    /// A socket that took nothing of what was sent to it.
    Stalled,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 10] = [
        Self::Token,
        Self::User,
        Self::Address,
        Self::Login,
        Self::SignUp,
        Self::Code,
        Self::Time,
        Self::Connections,
        Self::ConnectionsOfAddress,
        Self::Stalled,
    ];

    /// The word for it in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::User => "user",
            Self::Address => "address",
            Self::Login => "login",
            Self::SignUp => "sign-up",
            Self::Code => "code",
            Self::Time => "time",
            Self::Connections => "connections",
            Self::ConnectionsOfAddress => "connections-of-address",
            Self::Stalled => "stalled",
        }
    }
}

/// What is open now and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Connections.
    Connections,
    /// Readers of `/v1/events`.
    Readers,
    /// Streams into instances.
    Streams,
}

/// Requests by method, pattern of the path, and status: how many, and how long they took together.
pub type Requests = BTreeMap<(&'static str, String, u16), (u64, Duration)>;

/// The counts since the process began.
#[derive(Debug, Default)]
pub struct Observed {
    requests: Mutex<Requests>,
    limited: [AtomicU64; Limit::ALL.len()],
    open: [AtomicI64; 3],
}

impl Observed {
    /// A limit was reached.
    pub fn limited(&self, limit: Limit) {
        if let Some(count) = self.limited.get(limit as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often a limit was reached.
    pub fn times_limited(&self, limit: Limit) -> u64 {
        self.limited.get(limit as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// How many are open now.
    pub fn open(&self, what: Open) -> i64 {
        self.open.get(what as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Counts one as open until the answer is dropped.
    pub fn opened(self: &Arc<Self>, what: Open) -> Counted {
        self.step(what, 1);
        Counted { observed: self.clone(), what }
    }

    fn step(&self, what: Open, by: i64) {
        if let Some(count) = self.open.get(what as usize) {
            count.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// A request was answered.
    pub fn request(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = requests.entry((method, route.to_owned(), status)).or_default();
        entry.0 += 1;
        entry.1 += took;
    }

    /// A copy of the counts of requests.
    pub fn requests(&self) -> Requests {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Something open that is counted.
#[derive(Debug)]
pub struct Counted {
    observed: Arc<Observed>,
    what: Open,
}

impl Counted {
    /// A limit ended what is counted here.
    pub fn limited(&self, limit: Limit) {
        self.observed.limited(limit);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.observed.step(self.what, -1);
    }
}

/// Counts every request by the pattern of its route.
pub async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let began = Instant::now();
    let answer = next.run(request).await;
    let route = route.as_ref().map_or("unmatched", |path| path.as_str());
    app.observed.request(method, route, answer.status().as_u16(), began.elapsed());
    answer
}

/// A caller may invent methods without end; they are counted as one.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_counted_until_it_ends() {
        let observed = Arc::new(Observed::default());
        let one = observed.opened(Open::Readers);
        let two = observed.opened(Open::Readers);
        assert_eq!((observed.open(Open::Readers), observed.open(Open::Streams)), (2, 0));
        drop(one);
        assert_eq!(observed.open(Open::Readers), 1);
        drop(two);
        assert_eq!(observed.open(Open::Readers), 0);
    }

    #[test]
    fn each_limit_has_a_count_of_its_own() {
        let observed = Observed::default();
        for (n, limit) in Limit::ALL.into_iter().enumerate() {
            for _ in 0..=n {
                observed.limited(limit);
            }
        }
        let counts = Limit::ALL.map(|limit| observed.times_limited(limit));
        assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
}
