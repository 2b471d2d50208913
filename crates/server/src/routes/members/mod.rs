//! Members of an account.

pub mod list;
pub mod remove;
pub mod role;

use base::{AccountId, Cause, Error, Result};
use sqlx::AnyConnection;
use store::members::{self, Belongs};

/// The member of an account that an id, a name or an address means.
async fn find(db: &mut AnyConnection, account: &AccountId, reference: &str) -> Result<Belongs> {
    let missing =
        || Error::not_found(format!("the member `{}`", reference.escape_debug())).hint("`suanli member ls` lists them");
    let mut all = members::of(db, account).await?;
    let by = |fits: &dyn Fn(&Belongs) -> bool| all.iter().position(fits);
    let place = by(&|m| m.user.as_str() == reference)
        .or_else(|| by(&|m| m.name == reference))
        .or_else(|| by(&|m| m.email.as_deref() == Some(reference.to_lowercase().as_str())));
    Ok(all.swap_remove(place.ok_or_else(missing)?))
}

/// Why a change of a member was not done.
fn refusal(changed: members::Changed) -> Result<()> {
    match changed {
        members::Changed::Done => Ok(()),
        members::Changed::NotThere => {
            Err(Error::new(Cause::Unavailable, "the member was changed at this very moment").hint("look and try again"))
        }
        members::Changed::LastOwner => Err(Error::new(Cause::WrongState, "an account keeps its last owner")
            .hint("make somebody else an owner first: `suanli member role USER owner`")),
    }
}
