//! Passwords: argon2id, checked off the async threads and few at a time.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base::{Error, Result};

use crate::state::App;

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

/// Whether a password is the stored one. An unknown user costs the same time.
///
/// # Errors
/// `internal` when hashing fails.
pub async fn matches(app: &App, password: String, stored: Option<String>) -> Result<bool> {
    let Some(stored) = stored else {
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
