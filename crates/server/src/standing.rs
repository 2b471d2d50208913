//! Streams that stay open end when whoever opened them is signed out, and show no
//! more than he may see now.
//!
//! One task of the process asks for everybody who has a stream open at once, after
//! a write of this process and otherwise twice a second for those of other servers.
//! So whoever ends a session need not know of streams, and no stream asks by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::{Result, TokenId};
use domain::rights::OperatorRole;
use store::standing::{self, Standing};
use store::users::{Member, UserState};
use tokio::sync::watch;

use crate::auth::Caller;
use crate::state::App;

/// How soon after a look the next one may follow, however much is written.
const PAUSE: Duration = Duration::from_millis(100);

/// How long what another server has written may go unnoticed.
const LOOK_AGAIN: Duration = Duration::from_millis(400);

/// What somebody may do; `None` when he is not signed in any more.
type Rights = Option<(Option<OperatorRole>, Vec<Member>)>;

/// Everybody who has a stream open.
#[derive(Debug, Default)]
pub struct Present {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    tokens: BTreeMap<TokenId, Entry>,
    /// Whether the task runs that looks.
    looking: bool,
}

#[derive(Debug)]
struct Entry {
    streams: usize,
    rights: watch::Sender<Rights>,
}

impl Present {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller whose stream is open.
#[derive(Debug)]
pub struct Watched {
    present: Arc<Present>,
    caller: Caller,
    rights: watch::Receiver<Rights>,
}

impl Watched {
    /// Watches a caller as long as the value lives.
    pub fn new(app: &App, caller: Caller) -> Self {
        let present = app.present.clone();
        let rights = {
            let mut open = present.open();
            let begin = || {
                let rights = Some((caller.user.operator, caller.memberships.clone()));
                Entry { streams: 0, rights: watch::Sender::new(rights) }
            };
            let entry = open.tokens.entry(caller.token.id.clone()).or_insert_with(begin);
            entry.streams += 1;
            let mut rights = entry.rights.subscribe();
            // What the task believes counts: from there it tells every change.
            rights.mark_changed();
            if !open.looking {
                open.looking = true;
                tokio::spawn(look_on(app.clone()));
            }
            rights
        };
        Self { present, caller, rights }
    }

    /// Who he is now; `None` when he is signed out.
    pub fn caller(&mut self) -> Option<&Caller> {
        let (operator, mut memberships) = self.rights.borrow_and_update().clone()?;
        if let Some(only) = self.caller.token.limits.as_ref().and_then(|l| l.account.as_ref()) {
            memberships.retain(|m| m.account == *only);
        }
        self.caller.user.operator = operator;
        self.caller.memberships = memberships;
        Some(&self.caller)
    }

    /// Whether something has changed since [`Self::caller`] was asked.
    pub fn has_changed(&self) -> bool {
        self.rights.has_changed().unwrap_or(false)
    }

    /// Waits until something changes.
    pub async fn changed(&mut self) {
        if self.rights.changed().await.is_err() {
            // Its other end lives as long as this.
            std::future::pending().await
        }
    }

    /// Waits until he is signed out or may not any more.
    pub async fn until_not(&mut self, may: impl Fn(&Caller) -> bool) {
        while self.caller().is_some_and(&may) {
            self.changed().await;
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut open = self.present.open();
        let Some(entry) = open.tokens.get_mut(&self.caller.token.id) else { return };
        entry.streams -= 1;
        if entry.streams == 0 {
            open.tokens.remove(&self.caller.token.id);
        }
    }
}

async fn look_on(app: App) {
    let mut written = app.store.watch();
    loop {
        let ids: Vec<_> = {
            let mut open = app.present.open();
            if open.tokens.is_empty() {
                open.looking = false;
                return;
            }
            open.tokens.keys().cloned().collect()
        };
        written.mark_unchanged();
        if let Err(error) = look(&app, &ids).await {
            tracing::warn!(%error, "it is not known whether everybody who has a stream open may keep it");
        }
        tokio::time::sleep(PAUSE).await;
        let _ = tokio::time::timeout(LOOK_AGAIN, written.changed()).await;
    }
}

async fn look(app: &App, ids: &[TokenId]) -> Result<()> {
    let mut found = {
        let mut db = app.store.read().await?;
        standing::of_tokens(&mut db, ids).await?
    };
    let now = app.now();
    let open = app.present.open();
    for id in ids {
        let good = |s: &Standing| s.state == UserState::Active && s.expires_at > now;
        let rights = found.remove(id).filter(good).map(|s| (s.user.operator, s.memberships));
        if let Some(entry) = open.tokens.get(id) {
            entry.rights.send_if_modified(|old| {
                let news = *old != rights;
                *old = rights;
                news
            });
        }
    }
    Ok(())
}
