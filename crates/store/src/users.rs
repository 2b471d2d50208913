//! Users and the accounts that they belong to.

use base::{AccountId, Timestamp, UserId};
use domain::rights::{OperatorRole, Role};
use sqlx::{AnyConnection, Row};

use crate::row::{parsed, parsed_opt, time, time_opt};
use crate::words::words;
use crate::{Outcome, Tx};

/// Who signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Id.
    pub id: UserId,
    /// Unique name.
    pub name: String,
    /// What this user is to the whole site, if anything.
    pub operator: Option<OperatorRole>,
}

words! {
    /// Whether a user can be signed in.
    UserState {
        /// He can.
        Active = "active",
        /// His address has to be checked first.
        AwaitingEmail = "awaiting-email",
        /// An operator has to approve him first.
        AwaitingApproval = "awaiting-approval",
        /// An operator has shut him out.
        Disabled = "disabled",
    }
}

/// A user's place in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub account: AccountId,
    /// Its name.
    pub account_name: String,
    /// The role.
    pub role: Role,
    /// Currency of the account.
    pub currency: String,
    /// IANA time zone of the account.
    pub time_zone: String,
}

pub(crate) fn user(row: &sqlx::any::AnyRow) -> Outcome<User> {
    // A server that knows no roles sets only the flag.
    let all = (row.try_get::<i64, _>("operator")? == 1).then_some(OperatorRole::Admin);
    Ok(User { id: parsed(row, "id")?, name: row.try_get("name")?, operator: parsed_opt(row, "operator_role")?.or(all) })
}

/// The flag that a server goes by which knows no roles.
fn flag(role: Option<OperatorRole>) -> i64 {
    i64::from(role == Some(OperatorRole::Admin))
}

/// Adds a user. `false`: the name is taken.
pub async fn insert(tx: &mut Tx<'_>, user: &User, password_hash: &str, now: Timestamp) -> Outcome<bool> {
    let done = sqlx::query(
        "INSERT INTO users (id, name, password_hash, operator, operator_role, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING",
    )
    .bind(user.id.as_str())
    .bind(user.name.as_str())
    .bind(password_hash)
    .bind(flag(user.operator))
    .bind(user.operator.map(OperatorRole::as_str))
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether there is any operator yet.
pub async fn any_operator(db: &mut AnyConnection) -> Outcome<bool> {
    let row = sqlx::query("SELECT COUNT(*) AS n FROM users WHERE operator = 1").fetch_one(db).await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// The user of that name and his password hash.
pub async fn by_name(db: &mut AnyConnection, name: &str) -> Outcome<Option<(User, String)>> {
    let row = sqlx::query("SELECT id, name, operator, operator_role, password_hash FROM users WHERE name = $1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    row.map(|row| Ok((user(&row)?, row.try_get("password_hash")?))).transpose()
}

/// The user with this id.
pub async fn get(db: &mut AnyConnection, id: &UserId) -> Outcome<Option<User>> {
    let row = sqlx::query("SELECT id, name, operator, operator_role FROM users WHERE id = $1")
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(user).transpose()
}

/// What a user is to the site from now on. `false`: he is the last admin who can
/// be signed in, and stays it.
pub async fn set_operator(tx: &mut Tx<'_>, id: &UserId, role: Option<OperatorRole>) -> Outcome<bool> {
    admins_in_turn(tx).await?;
    let done = sqlx::query(
        "UPDATE users SET operator = $2, operator_role = $3
         WHERE id = $1 AND ($2 = 1 OR operator = 0 OR state <> 'active' OR EXISTS (SELECT 1 FROM users o
            WHERE o.operator = 1 AND o.state = 'active' AND o.id <> $1))",
    )
    .bind(id.as_str())
    .bind(flag(role))
    .bind(role.map(OperatorRole::as_str))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Two admins who take each other's place at one moment must not both succeed: on
/// PostgreSQL each would see the other still there.
async fn admins_in_turn(tx: &mut Tx<'_>) -> Outcome<()> {
    sqlx::query("UPDATE users SET operator = operator WHERE operator = 1").execute(&mut **tx).await?;
    Ok(())
}

/// Moves a user, who is `was` until now, to another state. `false`: he is not
/// that any more, or he is the last admin who can be signed in.
pub async fn set_state(tx: &mut Tx<'_>, id: &UserId, was: UserState, state: UserState) -> Outcome<bool> {
    admins_in_turn(tx).await?;
    let done = sqlx::query(
        "UPDATE users SET state = $3
         WHERE id = $1 AND state = $2 AND ($3 = 'active' OR operator = 0 OR EXISTS (SELECT 1 FROM users o
            WHERE o.operator = 1 AND o.state = 'active' AND o.id <> $1))",
    )
    .bind(id.as_str())
    .bind(was.as_str())
    .bind(state.as_str())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A user as operators see him.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user.
    pub user: User,
    /// His e-mail address.
    pub email: Option<String>,
    /// Whether it was checked.
    pub email_verified: bool,
    /// Whether he can be signed in.
    pub state: UserState,
    /// Whether he is identified: `none`, `pending`, `verified` or `refused`.
    pub identity: String,
    /// Whether he has a second factor.
    pub totp: bool,
    /// Since when.
    pub created_at: Timestamp,
    /// When he was last here, to the minute.
    pub seen_at: Option<Timestamp>,
}

macro_rules! person {
    () => {
        "SELECT id, name, operator, operator_role, email, email_verified_at, state, identity, totp_since, created_at, \
         seen_at FROM users "
    };
}

fn person(row: &sqlx::any::AnyRow) -> Outcome<Person> {
    Ok(Person {
        user: user(row)?,
        email: row.try_get("email")?,
        email_verified: time_opt(row, "email_verified_at")?.is_some(),
        state: parsed(row, "state")?,
        identity: row.try_get("identity")?,
        totp: time_opt(row, "totp_since")?.is_some(),
        created_at: time(row, "created_at")?,
        seen_at: time_opt(row, "seen_at")?,
    })
}

/// The user of that id, name or e-mail address.
pub async fn find(db: &mut AnyConnection, reference: &str) -> Outcome<Option<Person>> {
    let row = sqlx::query(concat!(person!(), "WHERE id = $1 OR name = $1 OR email = $2"))
        .bind(reference)
        .bind(reference.to_lowercase())
        .fetch_all(db)
        .await?;
    let mut found = row.iter().map(person).collect::<Outcome<Vec<_>>>()?;
    // Somebody's name may look like another one's id or address.
    let rank = |p: &Person| (p.user.id.as_str() != reference, p.user.name != reference);
    found.sort_by_key(rank);
    Ok(found.into_iter().next())
}

/// Which users are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those in this state.
    pub state: Option<UserState>,
    /// Only those whose name or address has this in it.
    pub text: Option<String>,
}

/// Users older than `before`, newest first.
pub async fn list(
    db: &mut AnyConnection,
    filter: &Filter,
    before: Option<&UserId>,
    limit: i64,
) -> Outcome<Vec<Person>> {
    let text = filter.text.as_deref().unwrap_or_default().to_lowercase();
    let text = text.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    let rows = sqlx::query(concat!(
        person!(),
        "WHERE ($1 = '' OR state = $1) AND ($2 = '' OR id < $2)
            AND (LOWER(name) LIKE $3 ESCAPE '!' OR email LIKE $3 ESCAPE '!') ORDER BY id DESC LIMIT $4"
    ))
    .bind(filter.state.map_or("", UserState::as_str))
    .bind(before.map_or("", UserId::as_str))
    .bind(format!("%{text}%"))
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter().map(person).collect()
}

/// Replaces a password.
pub async fn set_password(tx: &mut Tx<'_>, id: &UserId, password_hash: &str) -> Outcome<()> {
    sqlx::query("UPDATE users SET password_hash = $1 WHERE id = $2")
        .bind(password_hash)
        .bind(id.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Puts a user into an account; an existing membership gets the new role.
pub async fn join(tx: &mut Tx<'_>, account: &AccountId, user: &UserId, role: Role, now: Timestamp) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO members (account_id, user_id, role, since) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, user_id) DO UPDATE SET role = excluded.role",
    )
    .bind(account.as_str())
    .bind(user.as_str())
    .bind(role.as_str())
    .bind(now.micros())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The accounts that a user belongs to, by name.
pub async fn memberships(db: &mut AnyConnection, user: &UserId) -> Outcome<Vec<Member>> {
    let rows = sqlx::query(
        "SELECT a.id AS id, a.name AS name, a.currency AS currency, a.time_zone AS time_zone, m.role AS role
         FROM members m JOIN accounts a ON a.id = m.account_id WHERE m.user_id = $1 ORDER BY a.name",
    )
    .bind(user.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(member).collect()
}

pub(crate) fn member(row: &sqlx::any::AnyRow) -> Outcome<Member> {
    Ok(Member {
        account: parsed(row, "id")?,
        account_name: row.try_get("name")?,
        role: parsed(row, "role")?,
        currency: row.try_get("currency")?,
        time_zone: row.try_get("time_zone")?,
    })
}
