//! Which account a verb is about.

use base::{Cause, Error, Result};
use client::Client;

/// The named account, or the caller's only one.
///
/// # Errors
/// `not-found` for who has none, `ambiguous-name` for who has several.
pub async fn account(client: &Client, named: Option<String>) -> Result<String> {
    if let Some(named) = named {
        return Ok(named);
    }
    let mut mine = client.whoami().await?.accounts;
    match mine.len() {
        0 => Err(Error::new(Cause::NotFound, "you belong to no account")
            .hint("name one with --account, or let somebody invite you: `suanli member invite`")),
        1 => Ok(mine.swap_remove(0).id.to_string()),
        _ => {
            let names: Vec<_> = mine.iter().map(|m| m.name.as_str()).collect();
            Err(Error::new(Cause::AmbiguousName, format!("you have several accounts: {}", names.join(", ")))
                .hint("say which with --account"))
        }
    }
}
