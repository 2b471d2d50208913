//! Attempts to sign in: few from one address as one user, and few from one
//! address as anybody. A user is never refused for what other addresses tried.

use std::time::Instant;

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
