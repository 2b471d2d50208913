//! Passwords: argon2id, checked off the async threads and few at a time.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base::{Cause, Error, Result};

use crate::state::App;

/// What is stored of users who have no password: they sign in elsewhere.
pub const NONE: &str = "no password";

/// Shortest and longest password, characters. The longest is long enough for any
/// sentence, and short enough to be hashed.
const LENGTH: std::ops::RangeInclusive<usize> = 10..=1000;

/// What is tried first by everybody who guesses, of those that are long enough.
const COMMON: &[&str] = &[
    "0123456789",
    "0987654321",
    "1111111111",
    "1122334455",
    "123123123123",
    "1234512345",
    "123456123456",
    "1234567890",
    "12345678900",
    "12345678910",
    "123456789a",
    "1q2w3e4r5t",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "9876543210",
    "a123456789",
    "aa12345678",
    "aaaaaaaaaa",
    "abc1234567",
    "abcd123456",
    "abcdefghij",
    "administrator",
    "asdfghjkl1",
    "asdfghjkl;",
    "baseball123",
    "changeme123",
    "football123",
    "helloworld",
    "iloveyou12",
    "iloveyou123",
    "letmein123",
    "monkey12345",
    "p@ssw0rd123",
    "password01",
    "password10",
    "password11",
    "password12",
    "password123",
    "password1234",
    "password12345",
    "passw0rd123",
    "princess123",
    "q1w2e3r4t5",
    "qazwsxedcr",
    "qwer123456",
    "qwerty1234",
    "qwerty12345",
    "qwerty123456",
    "qwertyuiop",
    "qwertyuiop123",
    "sunshine123",
    "superman123",
    "trustno1trustno1",
    "welcome123",
    "welcome1234",
    "woaini1314",
    "woaini520",
    "woaini5201314",
    "zaq12wsxcde3",
    "zxcvbnm123",
    "zxcvbnm1234",
];

/// Makes sure that a password is not one of the first guesses. `own` is what
/// everybody knows of its user: his name, his address.
///
/// # Errors
/// `weak-password` saying what is wrong with it.
pub fn check(password: &str, own: &[&str]) -> Result<()> {
    let weak =
        |why: String| Err(Error::new(Cause::WeakPassword, why).hint("several words in a row are easy to keep in mind"));
    let count = password.chars().count();
    if !LENGTH.contains(&count) {
        return weak(format!("a password has {} to {} characters", LENGTH.start(), LENGTH.end()));
    }
    let small = password.to_lowercase();
    let mut different = small.chars().collect::<Vec<_>>();
    different.sort_unstable();
    different.dedup();
    if COMMON.contains(&small.as_str()) || different.len() < 4 {
        return weak("this password is one of the first that anybody tries".into());
    }
    let own = own.iter().map(|text| text.to_lowercase());
    let own = own.flat_map(|text| [text.split('@').next().unwrap_or_default().to_owned(), text]);
    if own
        .filter(|text| text.chars().count() >= 4)
        .any(|text| small == text || small.strip_prefix(&text).is_some_and(is_tail))
    {
        return weak("this password is the user's own name or address".into());
    }
    Ok(())
}

/// What people add to a word to make a password of it.
fn is_tail(rest: &str) -> bool {
    rest.chars().count() <= 4 && rest.chars().all(|c| c.is_ascii_digit() || c.is_ascii_punctuation())
}

/// A readable one-time password: 80 random bits.
pub fn one_time() -> String {
    let text = base::id::id_body(base::Timestamp::EPOCH, rand::random());
    let tail = &text[text.len() - 16..];
    let groups: Vec<&str> = (0..4).filter_map(|i| tail.get(i * 4..i * 4 + 4)).collect();
    groups.join("-")
}

/// What is stored of a password.
///
/// # Errors
/// `internal` when hashing fails.
pub async fn hash(app: &App, password: String) -> Result<String> {
    let _turn = app.hashing.acquire().await.map_err(Error::internal)?;
    let hashed = tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|h| h.to_string())
    });
    hashed.await.map_err(Error::internal)?.map_err(Error::internal)
}

/// Whether a password is the stored one. An unknown user, and one who has none,
/// cost the same time.
///
/// # Errors
/// `internal` when hashing fails.
pub async fn matches(app: &App, password: String, stored: Option<String>) -> Result<bool> {
    let Some(stored) = stored.filter(|stored| stored != NONE) else {
        hash(app, password).await?;
        return Ok(false);
    };
    let _turn = app.hashing.acquire().await.map_err(Error::internal)?;
    let checked = tokio::task::spawn_blocking(move || {
        let parsed = PasswordHash::new(&stored).map_err(Error::internal)?;
        Ok(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
    });
    checked.await.map_err(Error::internal)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_guesses_are_refused() {
        let own = ["weiwei", "zhang.wei@example.org"];
        for bad in [
            "",
            "short",
            "九个字不够的密码",
            "1234567890",
            "PassWord123",
            "aaaaaaaaaaaaaaa",
            "ababababab",
            "weiwei2026",
            "WeiWei!!!!",
            "zhang.wei@example.org",
            "zhang.wei1",
            &"x".repeat(1001),
        ] {
            assert_eq!(check(bad, &own).unwrap_err().cause(), Cause::WeakPassword, "{bad}");
        }
        for good in ["correct horse", "weiwei likes trains", "一二三四五六七八九十", "k8sWt!pq0Z", "2026weiwei-gpu"]
        {
            check(good, &own).unwrap_or_else(|e| panic!("{good}: {e}"));
        }
    }

    #[test]
    fn the_list_holds_only_what_the_length_lets_through() {
        assert!(COMMON.iter().filter(|p| LENGTH.contains(&p.chars().count())).count() > 50);
        assert!(COMMON.iter().all(|p| *p == p.to_lowercase()));
    }
}
