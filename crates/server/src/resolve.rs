//! From what people write to what is meant, and only if it is theirs.

use base::{AccountId, Cause, Error, Result};
use domain::instance::State;
use domain::rights::Action;
use sqlx::AnyConnection;
use store::accounts::{self, Account};
use store::instances::{self, Instance};

use crate::auth::Caller;

/// The account in which the caller wants to do something: the named one, or his
/// only one.
///
/// # Errors
/// `not-found` for one that is not his (strangers learn nothing), `ambiguous-name`
/// when he has several and named none, `forbidden` where his role does not allow it.
pub async fn account(db: &mut AnyConnection, caller: &Caller, named: Option<&str>, action: Action) -> Result<Account> {
    let found = known_account(db, caller, named).await?;
    caller.may(action, &found.id)?;
    Ok(found)
}

/// The account that a request names, whatever is wanted with it.
///
/// # Errors
/// As [`account`], but for `forbidden`.
pub async fn known_account(db: &mut AnyConnection, caller: &Caller, named: Option<&str>) -> Result<Account> {
    let id: AccountId = match named {
        Some(reference) => {
            let found = accounts::find(db, reference).await?;
            let found = found.filter(|a| caller.knows(&a.id));
            return found.ok_or_else(|| Error::not_found(format!("the account `{}`", reference.escape_debug())));
        }
        None => match caller.memberships.as_slice() {
            [only] => only.account.clone(),
            [] => {
                return Err(Error::new(Cause::NotFound, "you belong to no account")
                    .hint("an operator makes one with `suanli account create NAME`, or name one with --account"));
            }
            several => {
                let names: Vec<_> = several.iter().map(|m| m.account_name.as_str()).collect();
                return Err(Error::new(
                    Cause::AmbiguousName,
                    format!("you have several accounts: {}", names.join(", ")),
                )
                .hint("say which with --account"));
            }
        },
    };
    accounts::get(db, &id).await?.ok_or_else(|| Error::not_found("the account"))
}

/// The instance that an id, a slug or a name means among those that the caller may
/// see, to do something with it.
///
/// # Errors
/// `not-found`, `ambiguous-name` with the candidates, or `forbidden` where his role
/// does not allow it.
pub async fn instance(db: &mut AnyConnection, caller: &Caller, reference: &str, action: Action) -> Result<Instance> {
    let found = known_instance(db, caller, reference).await?;
    caller.may(action, &found.account)?;
    Ok(found)
}

async fn known_instance(db: &mut AnyConnection, caller: &Caller, reference: &str) -> Result<Instance> {
    let missing = || {
        Error::not_found(format!("the instance `{}`", reference.escape_debug())).hint("`suanli ls --all` lists yours")
    };
    let mut found = Vec::new();
    if caller.operator().is_some() {
        found = instances::find(db, reference).await?;
    } else {
        // By account, so that however many strangers use the same name, one's own is found.
        for member in &caller.memberships {
            found.extend(instances::find_of(db, &member.account, reference).await?);
        }
    }
    found.retain(|i| caller.knows(&i.account));
    if let Some(only) = caller.token.limits.as_ref().and_then(|l| l.instance.as_ref()) {
        found.retain(|i| i.id == *only);
    }
    let exact = found.iter().position(|i| i.id.as_str() == reference || i.slug.as_str() == reference);
    if let Some(place) = exact {
        return Ok(found.swap_remove(place));
    }
    if found.iter().any(|i| i.state != State::Released) {
        found.retain(|i| i.state != State::Released);
    }
    if found.len() > 1 {
        let ids: Vec<_> = found.iter().take(5).map(|i| i.id.as_str()).collect();
        return Err(Error::new(
            Cause::AmbiguousName,
            format!("`{}` is the name of {} instances: {}", reference.escape_debug(), found.len(), ids.join(", ")),
        )
        .hint("use the id or the slug"));
    }
    found.pop().ok_or_else(missing)
}
