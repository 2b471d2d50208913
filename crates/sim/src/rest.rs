//! Letting the site do what it does by itself, and bringing it to a point of rest.

use base::{Span, Timestamp};
use store::lease::{self, Kind, LEASE};

use crate::laws::Broken;
use crate::wire::lock;
use crate::world::{Drove, GO, World};

/// Longest time that passes at once while the site lives.
const HOP: Span = Span::from_hours(1);

/// Moments of a life at which something is done before it is cut short: what is
/// due every second for days would take for ever.
const MOMENTS: usize = 60;

/// After this long everything that was begun has come to an end by itself.
const REST: Span = Span::from_secs(400);

impl World {
    /// Every machine is heard and whatever is due is stepped, at each moment at
    /// which something becomes due, by each server in turn.
    pub async fn live(&mut self, span: Span) -> Result<(), Broken> {
        let until = self.now().after(span);
        let before = self.standings().await?;
        for moment in 0..MOMENTS {
            self.moment(moment).await?;
            if moment == 0 {
                continue;
            }
            let next = self.next().await?.unwrap_or(until).min(self.now().after(HOP)).min(until);
            if next >= until {
                break;
            }
            self.clock.set(next);
        }
        self.spent_within(&before, self.now()).await?;
        self.clock.set(until);
        self.moment(0).await?;
        self.moment(1).await
    }

    /// One server hears everything and steps everything that is due.
    async fn moment(&mut self, n: usize) -> Result<(), Broken> {
        let server = n % self.servers.len();
        for node in 0..self.machines.len() {
            self.hear(server, node, GO).await?;
        }
        for _ in 0..1_000 {
            // As the loops of a server do it: segments in one transaction, if that is possible.
            let mut any = self.settle(server, GO).await? == Drove::Ended;
            for kind in Kind::ALL {
                any |= self.step(server, kind, GO).await? == Drove::Ended;
            }
            if !any {
                self.number(server, GO).await?;
                return Ok(());
            }
        }
        Err(Broken::new("nothing is due again and again at one moment", String::new()))
    }

    /// The next moment after now at which anything becomes due.
    async fn next(&self) -> Result<Option<Timestamp>, Broken> {
        let now = self.now();
        let mut next: Option<Timestamp> = None;
        let mut db = self.store.read().await?;
        for kind in Kind::ALL {
            let queue = lease::queue(&mut db, kind, now).await?;
            // What is due already hangs on a lease of somebody who is held or dead.
            let leased = (queue.due > 0).then(|| now.after(LEASE).after(Span::from_millis(1)));
            next = next.into_iter().chain(leased.or(queue.next_due)).min();
        }
        Ok(next.map(|at| Timestamp::from_micros((at.micros() + 999) / 1_000 * 1_000)))
    }

    /// Everything is repaired, everybody goes on, and what was begun comes to an end.
    pub async fn rest(&mut self) -> Result<(), Broken> {
        let now = self.now();
        for machine in &self.machines {
            lock(machine).repair(now);
        }
        self.let_go().await?;
        // A wall clock that agrees again, and proofs that reach over everything late.
        self.clock.advance(Span::from_secs(6));
        self.live(REST).await?;
        self.at_rest().await
    }
}
