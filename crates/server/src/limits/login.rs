//! Attempts to sign in: few from one address as one user, and few from one
//! address as anybody. A user is never refused for what other addresses tried, but
//! for one thing: codes of his second factor are guessed only by who has his
//! password, and have so few digits that many addresses together must not try them
//! all. His recovery codes stay good meanwhile, and a new password ends the guessing.

use std::time::Instant;

use base::UserId;

use super::{Guard, Origin, TooMany};

impl Guard {
    /// Counts an attempt to sign in as `user`, before its password is looked at:
    /// attempts at the same moment must not all pass.
    ///
    /// # Errors
    /// There were too many.
    pub fn login(&self, origin: Origin, user: &str) -> Result<(), TooMany> {
        let now = Instant::now();
        let refused = |wait| TooMany::new("too many attempts to sign in", wait);
        if origin.0.is_some() {
            self.logins_by_address.take(self.name(origin), now).map_err(refused)?;
        }
        self.logins.take(self.name((origin, user)), now).map_err(refused)
    }

    /// Counts what strangers may do that costs the site or others something: to sign
    /// up, to have mail sent, to use a link up.
    ///
    /// # Errors
    /// There were too many.
    pub fn stranger(&self, origin: Origin) -> Result<(), TooMany> {
        if origin.0.is_none() {
            // All who come through a proxy that was not declared would be shut out together.
            return Ok(());
        }
        let taken = self.signups_by_address.take(self.name(origin), Instant::now());
        taken.map_err(|wait| TooMany::new("too many of these requests from this address", wait))
    }

    /// Counts a guess at the second factor of a user whose password was right.
    ///
    /// # Errors
    /// There were too many.
    pub fn code(&self, user: &UserId) -> Result<(), TooMany> {
        let taken = self.codes.take(self.name(("code", user)), Instant::now());
        taken.map_err(|wait| TooMany::new("too many codes were tried; a recovery code still works", wait))
    }

    /// Counts a check of who a user is.
    ///
    /// # Errors
    /// There were too many.
    pub fn identity(&self, user: &UserId) -> Result<(), TooMany> {
        let taken = self.codes.take(self.name(("identity", user)), Instant::now());
        taken.map_err(|wait| TooMany::new("too many checks of this user", wait))
    }

    /// The code was right: those before it were slips of the hand.
    pub fn code_was_right(&self, user: &UserId) {
        self.codes.refill(self.name(("code", user)));
    }

    /// The password was right: attempts before it were slips of the hand.
    pub fn logged_in(&self, origin: Origin, user: &str) {
        self.logins.refill(self.name((origin, user)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::limits::{Limits, Rate};

    fn guard(logins: u32, by_address: u32) -> Guard {
        let day = Duration::from_secs(86_400);
        Guard::new(Limits {
            logins: Rate { every: day, burst: logins },
            logins_per_address: Rate { every: day, burst: by_address },
            ..Limits::default()
        })
    }

    fn at(last: u8) -> Origin {
        Origin(Some([203, 0, 113, last].into()))
    }

    #[test]
    fn who_guesses_from_one_address_is_refused_and_the_user_elsewhere_is_not() {
        let guard = guard(3, 100);
        assert!((0..3).all(|_| guard.login(at(1), "alice").is_ok()));
        assert!(guard.login(at(1), "alice").is_err());
        assert!(guard.login(at(1), "bob").is_ok());
        assert!(guard.login(at(2), "alice").is_ok());
        assert!(guard.login(Origin(None), "alice").is_ok());
    }

    #[test]
    fn one_address_cannot_try_everybody() {
        let guard = guard(3, 5);
        assert_eq!((0..20).filter(|n| guard.login(at(1), &format!("user-{n}")).is_ok()).count(), 5);
        assert!(guard.login(at(2), "user-1").is_ok());
        // All who come through a proxy that was not declared would be locked out together.
        assert_eq!((0..20).filter(|n| guard.login(Origin(None), &format!("user-{n}")).is_ok()).count(), 20);
    }

    #[test]
    fn strangers_are_counted_by_address_and_codes_by_user() {
        let day = Duration::from_secs(86_400);
        let two = Rate { every: day, burst: 2 };
        let guard = Guard::new(Limits { signups_per_address: two, codes: two, ..Limits::default() });
        assert_eq!((0..9).filter(|_| guard.stranger(at(1)).is_ok()).count(), 2);
        assert!(guard.stranger(at(2)).is_ok());
        assert_eq!((0..9).filter(|_| guard.stranger(Origin(None)).is_ok()).count(), 9);
        let (wei, ann) = (UserId::new(base::Timestamp::EPOCH, 1), UserId::new(base::Timestamp::EPOCH, 2));
        assert_eq!((0..9).filter(|_| guard.code(&wei).is_ok()).count(), 2);
        assert!(guard.code(&ann).is_ok());
        guard.code_was_right(&wei);
        assert!(guard.code(&wei).is_ok());
    }

    #[test]
    fn a_right_password_gives_the_attempts_back() {
        let guard = guard(3, 100);
        for _ in 0..10 {
            guard.login(at(1), "alice").unwrap();
            guard.logged_in(at(1), "alice");
        }
        assert!((0..3).all(|_| guard.login(at(1), "alice").is_ok()));
        assert!(guard.login(at(1), "alice").is_err());
    }
}
