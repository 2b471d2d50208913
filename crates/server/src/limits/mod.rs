//! What one caller may take of the server, so that nobody can take it from the others.
//!
//! Connections are counted in [`crate::listen`]; requests are counted here, per
//! token and per address, in buckets of bounded number. Headers such as
//! `X-Forwarded-For` are honoured only where the operator said that the peers on
//! loopback are his proxy: otherwise anybody could write whatever address he likes.

mod bucket;
mod layer;
mod login;

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use base::{Cause, Error};

use crate::error::ApiError;
use bucket::Buckets;
pub use layer::layer;

/// How often something may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How long it takes until one more may be done; zero: no limit.
    pub every: Duration,
    /// How many may be done at once after a rest; at least one.
    pub burst: u32,
}

impl Rate {
    /// No limit.
    pub const NONE: Self = Self { every: Duration::ZERO, burst: 1 };

    /// `n` a second and ten seconds' worth at once; zero: no limit.
    pub fn per_second(n: u32) -> Self {
        match n {
            0 => Self::NONE,
            n => Self { every: Duration::from_secs(1) / n, burst: n.saturating_mul(10) },
        }
    }
}

/// The limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections in total. Fewer where the system allows fewer open files.
    pub connections: usize,
    /// Open connections from one address that is not loopback.
    pub connections_per_address: usize,
    /// How long a request's head may take to arrive, and how long a connection may rest between requests.
    pub head: Duration,
    /// How long an ordinary request may take, from its head to the head of its answer.
    pub answer: Duration,
    /// How long a socket may take nothing of what is sent to it.
    pub stalled: Duration,
    /// Requests with one token.
    pub per_token: Rate,
    /// Requests of one user with all his tokens together.
    pub per_user: Rate,
    /// Requests from one address that is not loopback.
    pub per_address: Rate,
    /// Attempts to sign in as one user from one address; a success gives all back.
    pub logins: Rate,
    /// Attempts to sign in as anybody from one address that is not loopback.
    pub logins_per_address: Rate,
    /// Sign-ups, requests for mail and uses of mailed links from one address that is
    /// not loopback.
    pub signups_per_address: Rate,
    /// Guesses at the second factor of one user, from wherever they come.
    pub codes: Rate,
    /// Whether the peers on loopback are the operator's reverse proxy, whose
    /// `X-Forwarded-For` says who calls.
    pub behind_proxy: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 12_000,
            connections_per_address: 1_000,
            head: Duration::from_secs(30),
            answer: Duration::from_secs(30),
            stalled: Duration::from_secs(30),
            per_token: Rate::per_second(100),
            per_user: Rate::per_second(200),
            per_address: Rate::per_second(300),
            logins: Rate { every: Duration::from_secs(6), burst: 10 },
            logins_per_address: Rate { every: Duration::from_secs(1), burst: 60 },
            signups_per_address: Rate { every: Duration::from_secs(30), burst: 20 },
            codes: Rate { every: Duration::from_secs(30), burst: 20 },
            behind_proxy: false,
        }
    }
}

/// The other end of the connection that a request came on.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Who calls, as far as addresses tell; `None`: a program or a proxy on this
/// machine, or a request that came on no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin(pub Option<IpAddr>);

impl Origin {
    /// Who is behind a request.
    pub fn of(peer: Option<Peer>, headers: &HeaderMap, behind_proxy: bool) -> Self {
        let outside = |ip: IpAddr| Self((!ip.is_loopback()).then(|| group(ip)));
        match peer {
            // Only the last entry was written by the proxy; those before it are the caller's own words.
            Some(Peer(ip)) if behind_proxy && ip.is_loopback() => {
                let last = headers.get_all("x-forwarded-for").iter().next_back();
                let last = last.and_then(|v| v.to_str().ok()).and_then(|v| v.rsplit(',').next());
                last.and_then(|text| text.trim().parse().ok()).map_or(Self(None), outside)
            }
            Some(Peer(ip)) => outside(ip),
            None => Self(None),
        }
    }
}

/// What counts as one address: of IPv6 the half that names a customer's network,
/// for the other half is his to choose.
pub(crate) fn group(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// Counts requests against [`Limits`].
#[derive(Debug)]
pub struct Guard {
    pub(crate) limits: Limits,
    names: RandomState,
    tokens: Buckets,
    users: Buckets,
    addresses: Buckets,
    logins: Buckets,
    logins_by_address: Buckets,
    signups_by_address: Buckets,
    codes: Buckets,
}

impl Guard {
    /// Nobody has asked for anything yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            names: RandomState::new(),
            tokens: Buckets::new(limits.per_token),
            users: Buckets::new(limits.per_user),
            addresses: Buckets::new(limits.per_address),
            logins: Buckets::new(limits.logins),
            logins_by_address: Buckets::new(limits.logins_per_address),
            signups_by_address: Buckets::new(limits.signups_per_address),
            codes: Buckets::new(limits.codes),
            limits,
        }
    }

    fn name<T: std::hash::Hash>(&self, of: T) -> u64 {
        self.names.hash_one(of)
    }
}

/// A refusal for having asked too often.
#[derive(Debug)]
pub struct TooMany {
    error: Error,
    wait: Duration,
}

impl TooMany {
    fn new(what: &str, wait: Duration) -> Self {
        let seconds = whole_seconds(wait);
        let hint = format!("wait {seconds} s, then try again; ask less often");
        Self { error: Error::new(Cause::RateLimited, what).hint(hint), wait }
    }
}

/// Rounded up, for `Retry-After`: a caller who waits that long is not refused again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl IntoResponse for TooMany {
    fn into_response(self) -> Response {
        let mut response = ApiError(self.error).into_response();
        let seconds = axum::http::HeaderValue::from(whole_seconds(self.wait).max(1));
        response.headers_mut().insert(axum::http::header::RETRY_AFTER, seconds);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(peer: &str, forwarded: &[&str], behind_proxy: bool) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        Origin::of(Some(Peer(peer.parse().unwrap())), &headers, behind_proxy).0.map(|ip| ip.to_string())
    }

    #[test]
    fn forwarded_headers_count_only_from_a_declared_proxy_and_only_its_own_entry() {
        assert_eq!(origin("203.0.113.9", &["198.51.100.1"], false).as_deref(), Some("203.0.113.9"));
        assert_eq!(origin("203.0.113.9", &["198.51.100.1"], true).as_deref(), Some("203.0.113.9"));
        assert_eq!(origin("127.0.0.1", &["198.51.100.1"], false), None);
        assert_eq!(origin("127.0.0.1", &["10.9.9.9, 198.51.100.1"], true).as_deref(), Some("198.51.100.1"));
        assert_eq!(origin("::1", &["10.9.9.9", "198.51.100.2"], true).as_deref(), Some("198.51.100.2"));
        assert_eq!(origin("127.0.0.1", &["nonsense"], true), None);
        assert_eq!(origin("127.0.0.1", &[], true), None);
    }

    #[test]
    fn one_network_of_version_six_is_one_address() {
        let two = origin("2001:db8:1:2:3:4:5:6", &[], false);
        assert_eq!(two, origin("2001:db8:1:2:ffff::1", &[], false));
        assert_ne!(two, origin("2001:db8:1:3:3:4:5:6", &[], false));
        assert_eq!(origin("::ffff:203.0.113.9", &[], false).as_deref(), Some("203.0.113.9"));
    }

    #[test]
    fn a_refusal_says_truly_how_long_to_wait() {
        for (wait, told) in [(1, "1"), (999, "1"), (1000, "1"), (1001, "2"), (59_500, "60")] {
            let answer = TooMany::new("too many", Duration::from_millis(wait)).into_response();
            assert_eq!(answer.status(), 429);
            assert_eq!(answer.headers()["retry-after"], told);
        }
    }
}
