//! The first start: an operator with a one-time password.

use base::{Result, UserId};
use domain::rights::OperatorRole;
use futures_util::FutureExt;
use store::users::{self, User};

use crate::password;
use crate::state::App;

/// Name of the first operator.
pub const OPERATOR: &str = "operator";

/// Makes the first operator if the site has none; his password, shown only here.
///
/// # Errors
/// The database's.
pub async fn operator(app: &App) -> Result<Option<String>> {
    {
        let mut db = app.store.read().await?;
        if users::any_operator(&mut db).await? {
            return Ok(None);
        }
    }
    let password = password::one_time();
    let hash = password::hash(app, password.clone()).await?;
    let now = app.now();
    let made = app
        .store
        .write(move |tx| {
            let hash = hash.clone();
            async move {
                let user = User {
                    id: UserId::new(now, tx.random()),
                    name: OPERATOR.into(),
                    operator: Some(OperatorRole::Admin),
                };
                users::insert(tx, &user, &hash, now).await
            }
            .boxed()
        })
        .await?;
    Ok(made.then_some(password))
}
