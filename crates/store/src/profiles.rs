//! What is known of a user as a person: how he proves himself, whether he may
//! come in, and where mail reaches him.

use base::{Timestamp, UserId};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, time_opt};
use crate::users::{User, UserState, user};
use crate::words::words;
use crate::{Fault, Outcome, Tx};

words! {
    /// Whether it is known who somebody is.
    Identity {
        /// It is not.
        None = "none",
        /// It is being found out.
        Pending = "pending",
        /// It is.
        Verified = "verified",
        /// It was looked at and not believed.
        Refused = "refused",
    }
}

/// A user as a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The user.
    pub user: User,
    /// Whether he may come in.
    pub state: UserState,
    /// His address, which he has proven; in lower case.
    pub email: Option<String>,
    /// When he proved it.
    pub email_verified_at: Option<Timestamp>,
    /// Since when a second factor is asked of him.
    pub totp_since: Option<Timestamp>,
    /// Whether it is known who he is.
    pub identity: Identity,
    /// What was said about that.
    pub identity_note: Option<String>,
    /// The language of mail to him, such as `zh`.
    pub language: Option<String>,
}

macro_rules! columns {
    () => {
        "id, name, operator, operator_role, state, email, email_verified_at, totp_since, identity, identity_note, \
         language"
    };
}

fn profile(row: &AnyRow) -> Outcome<Profile> {
    Ok(Profile {
        user: user(row)?,
        state: parsed(row, "state")?,
        email: row.try_get("email")?,
        email_verified_at: time_opt(row, "email_verified_at")?,
        totp_since: time_opt(row, "totp_since")?,
        identity: parsed(row, "identity")?,
        identity_note: row.try_get("identity_note")?,
        language: row.try_get("language")?,
    })
}

/// One user.
pub async fn get(db: &mut AnyConnection, id: &UserId) -> Outcome<Option<Profile>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM users WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(profile).transpose()
}

/// The user with that name, or else with that address, and his password hash.
pub async fn find(db: &mut AnyConnection, name_or_email: &str) -> Outcome<Option<(Profile, String)>> {
    let row = sqlx::query(concat!(
        "SELECT password_hash, ",
        columns!(),
        " FROM users WHERE name = $1 OR email = $2 ORDER BY CASE WHEN name = $1 THEN 0 ELSE 1 END LIMIT 1"
    ))
    .bind(name_or_email)
    .bind(name_or_email.trim().to_lowercase())
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((profile(&row)?, row.try_get("password_hash")?))).transpose()
}

/// The user with this address.
pub async fn by_email(db: &mut AnyConnection, email: &str) -> Outcome<Option<Profile>> {
    let row = sqlx::query(concat!("SELECT ", columns!(), " FROM users WHERE email = $1"))
        .bind(email)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(profile).transpose()
}

/// The password hash of a user.
pub async fn password_hash(db: &mut AnyConnection, id: &UserId) -> Outcome<Option<String>> {
    let row = sqlx::query("SELECT password_hash FROM users WHERE id = $1").bind(id.as_str()).fetch_optional(db).await?;
    row.map(|row| Ok(row.try_get("password_hash")?)).transpose()
}

/// Somebody who signs up.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Id.
    pub id: UserId,
    /// Unique name.
    pub name: String,
    /// What is stored of his password.
    pub password_hash: String,
    /// Whether he may come in at once.
    pub state: UserState,
    /// The language of mail to him.
    pub language: Option<String>,
}

/// Adds a user who signs up. `false`: the name is taken.
pub async fn insert(tx: &mut Tx<'_>, new: &NewUser, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO users (id, name, password_hash, operator, state, language, created_at)
         VALUES ($1, $2, $3, 0, $4, $5, $6) ON CONFLICT (name) DO NOTHING",
    )
    .bind(new.id.as_str())
    .bind(new.name.as_str())
    .bind(new.password_hash.as_str())
    .bind(new.state.as_str())
    .bind(new.language.as_deref())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes users who never proved their address since `before`, so that nobody
/// can keep names for nothing; how many.
pub async fn forget_unproven(tx: &mut Tx<'_>, before: Timestamp) -> Outcome<u64> {
    sqlx::query(
        "DELETE FROM mail_links WHERE user_id IN (SELECT id FROM users WHERE state = 'awaiting-email'
            AND created_at < $1 AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = users.id))",
    )
    .bind(before.micros())
    .execute(&mut **tx)
    .await?;
    let done = sqlx::query(
        "DELETE FROM users WHERE state = 'awaiting-email' AND created_at < $1
            AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = users.id)",
    )
    .bind(before.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Says that an address is this user's, as he has proven. `false`: it is another's.
pub async fn set_email(tx: &mut Tx<'_>, id: &UserId, email: &str, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "UPDATE users SET email = $2, email_verified_at = $3
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users u WHERE u.email = $2 AND u.id <> $1)",
    )
    .bind(id.as_str())
    .bind(email)
    .bind(now.micros())
    .execute(&mut **tx)
    .await;
    match done {
        Ok(done) => Ok(done.rows_affected() == 1),
        // Somebody else has proven it at this moment: looked at again, that is seen.
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            Err(Fault::Again(base::Error::internal("an address was proven twice at once")))
        }
        Err(error) => Err(error.into()),
    }
}

/// The result of a look at who somebody is.
pub async fn set_identity(
    tx: &mut Tx<'_>,
    id: &UserId,
    identity: Identity,
    note: Option<&str>,
    now: Timestamp,
) -> Outcome<()> {
    sqlx::query("UPDATE users SET identity = $2, identity_note = $3, identity_at = $4 WHERE id = $1")
        .bind(id.as_str())
        .bind(identity.as_str())
        .bind(note)
        .bind(now.micros())
        .execute(&mut **tx)
        .await?;
    Ok(())
}
