//! The second factor: codes of an authenticator app, and codes to recover with.

use base::{Timestamp, UserId};
use store::{Outcome, Tx, totp};
use totp_rs::{Algorithm, TOTP};

use crate::auth::token_hash;
use crate::password;

/// Length of a step, seconds, as every app has it.
const STEP: u64 = 30;

/// Steps before and after the present one whose codes are good too, for clocks
/// that are not right.
const SKEW: i64 = 1;

/// Digits of a code.
const DIGITS: usize = 6;

/// Recovery codes that a user gets.
pub const RECOVERY_CODES: usize = 10;

/// A new shared secret, base 32: 160 random bits.
pub fn new_secret() -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bytes: [u8; 32] = rand::random();
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect()
}

/// What an app reads from a QR code.
pub fn uri(secret: &str, site: &str, user: &str) -> String {
    let (site, user) = (escaped(site), escaped(user));
    format!("otpauth://totp/{site}:{user}?secret={secret}&issuer={site}&algorithm=SHA1&digits={DIGITS}&period={STEP}")
}

fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Whether a text can be a code of an app, and is no recovery code.
pub fn is_code(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit())
}

/// A text as people type it, without what only makes it readable.
pub fn normal(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect::<String>().to_ascii_lowercase()
}

/// The step whose code this is, around `now`; `None`: it is none.
pub fn step(secret: &str, code: &str, now: Timestamp) -> Option<i64> {
    let key = totp_rs::Secret::Encoded(secret.to_owned()).to_bytes().ok()?;
    let totp = TOTP::new(Algorithm::SHA1, DIGITS, 0, STEP, key).ok()?;
    let present = now.micros().div_euclid(1_000_000 * i64::try_from(STEP).ok()?);
    let right = |step: &i64| {
        let at = u64::try_from(*step).ok().and_then(|step| step.checked_mul(STEP));
        at.is_some_and(|at| totp.check(code, at))
    };
    // The latest first: a step that is used up takes those before it along.
    (present - SKEW..=present + SKEW).rev().find(right)
}

/// Uses a code of a user up, whichever kind it is. `false`: it is wrong, or was used.
///
/// # Errors
/// The database's.
pub async fn spend(tx: &mut Tx<'_>, user: &UserId, code: &str, now: Timestamp) -> Outcome<bool> {
    let code = normal(code);
    if !is_code(&code) {
        return totp::use_recovery(tx, user, &token_hash(&code), now).await;
    }
    let Some(factor) = totp::get(tx, user).await?.filter(|factor| factor.since.is_some()) else {
        return Ok(false);
    };
    match step(&factor.secret, &code, now) {
        Some(step) => totp::use_step(tx, user, step).await,
        None => Ok(false),
    }
}

/// New recovery codes as people read them, and what is stored of them.
pub fn recovery_codes() -> (Vec<String>, Vec<String>) {
    let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| password::one_time()).collect();
    let hashes = codes.iter().map(|code| token_hash(&normal(code))).collect();
    (codes, hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the examples in RFC 6238, appendix B; their last six digits.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_micros(secs * 1_000_000)
    }

    #[test]
    fn codes_are_those_of_the_standard() {
        for (secs, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(step(SECRET, code, at(secs)), Some(secs / 30), "{secs}");
        }
    }

    #[test]
    fn a_clock_may_be_one_step_wrong_and_not_two() {
        let of = |secs| step(SECRET, "005924", at(secs));
        let right = 1_234_567_890 / 30;
        for secs in [1_234_567_890 - 30, 1_234_567_890, 1_234_567_890 + 30] {
            assert_eq!(of(secs), Some(right));
        }
        for secs in [1_234_567_890 - 60, 1_234_567_890 + 60] {
            assert_eq!(of(secs), None);
        }
        assert_eq!(step(SECRET, "005925", at(1_234_567_890)), None);
        assert_eq!(step("not base 32!", "005924", at(1_234_567_890)), None);
    }

    #[test]
    fn what_people_type_is_read_as_they_mean_it() {
        assert!(is_code(&normal(" 123 456 ")));
        for recovery in ["0123-4567-89ab-cdef", "1234567", "12345", "１２３４５６"] {
            assert!(!is_code(&normal(recovery)), "{recovery}");
        }
        assert_eq!(normal("AB12-cd34 "), "ab12cd34");
        let (codes, hashes) = recovery_codes();
        assert_eq!((codes.len(), hashes.len()), (10, 10));
        assert_eq!(hashes[3], token_hash(&normal(&codes[3].to_uppercase())));
    }

    #[test]
    fn secrets_differ_and_fit_an_app() {
        let (a, b) = (new_secret(), new_secret());
        assert_ne!(a, b);
        assert_eq!(a.len(), 32);
        assert!(totp_rs::Secret::Encoded(a).to_bytes().unwrap().len() == 20);
        let uri = uri("ABC", "GPU 云", "a&b");
        assert_eq!(
            uri,
            "otpauth://totp/GPU%20%E4%BA%91:a%26b?secret=ABC&issuer=GPU%20%E4%BA%91&algorithm=SHA1&digits=6&period=30"
        );
    }
}
