//! Users of the site (operator).

pub mod list;
pub mod password;
pub mod role;
pub mod second_factor;
pub mod state;

use api::user::UserRow;
use base::{Cause, Error, Result};
use domain::rights::Action;
use sqlx::AnyConnection;
use store::users::{self, Person};

use crate::auth::Caller;
use crate::views;

/// The user that an id, a name or an address means.
async fn find(db: &mut AnyConnection, reference: &str) -> Result<Person> {
    let found = users::find(db, reference).await?;
    found.ok_or_else(|| {
        Error::not_found(format!("the user `{}`", reference.escape_debug())).hint("`suanli user ls` lists them")
    })
}

/// The user, if the caller may change how he signs in. Whoever could do that to an
/// operator could become one.
async fn find_below(db: &mut AnyConnection, caller: &Caller, reference: &str) -> Result<Person> {
    let found = find(db, reference).await?;
    if found.user.operator.is_some() {
        caller.operate(Action::ManageSite)?;
    }
    if found.user.id == caller.user.id {
        return Err(Error::new(Cause::WrongState, "an operator does not do this to himself")
            .hint("ask another operator, or change it among your own settings"));
    }
    Ok(found)
}

/// A user with his accounts.
async fn row(db: &mut AnyConnection, p: Person) -> Result<UserRow> {
    let accounts = views::memberships(&users::memberships(db, &p.user.id).await?);
    Ok(UserRow {
        id: p.user.id,
        name: p.user.name,
        email: p.email,
        email_verified: p.email_verified,
        state: p.state.as_str().to_owned(),
        operator_role: p.user.operator.map(|role| role.to_string()),
        identity: p.identity,
        totp: p.totp,
        accounts,
        created_at: p.created_at,
        last_seen_at: p.seen_at,
    })
}
