//! The token inside an instance: with it, what runs there sees and stops its own
//! instance and nothing else. A new one for every start.

use base::{InstanceId, Span, Timestamp, TokenId};
use domain::rights::Scope;
use sha2::{Digest, Sha256};
use sqlx::AnyConnection;
use sqlx::Row;

use crate::instances::Instance;
use crate::secrets::{self, HANDOVER};
use crate::tokens::{self, ApiToken, Limits};
use crate::{Outcome, Tx};

/// It ends with its instance, or with the next start; this is only a bound.
const LASTS: Span = Span::from_hours(24 * 3_650);

/// Makes the token of a new run; the one of the run before ends. It has at most the
/// rights of whom the instance was made by.
pub(crate) async fn renew(tx: &mut Tx<'_>, i: &Instance, now: Timestamp) -> Outcome<()> {
    end(tx, &i.id).await?;
    // The store's source is seeded by the system and cannot be foretold; only a
    // simulation gives it a seed.
    let secret = format!("suanli_{:032x}{:032x}", tx.random(), tx.random());
    let id = TokenId::new(now, tx.random());
    let token = ApiToken {
        id: id.clone(),
        name: "inside".to_owned(),
        limits: Limits {
            scopes: vec![Scope::Read, Scope::Instances],
            account: Some(i.account.clone()),
            instance: Some(i.id.clone()),
        },
        created_at: now,
        expires_at: now.after(LASTS),
        used_at: None,
    };
    tokens::insert_api(tx, &i.created_by, &token, &hex::encode(Sha256::digest(secret.as_bytes()))).await?;
    let sealed = tx.sealed(HANDOVER, id.as_str(), &secret)?;
    sqlx::query("UPDATE api_tokens SET handover = $2 WHERE id = $1")
        .bind(id.as_str())
        .bind(sealed)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Ends the token of an instance.
pub(crate) async fn end(tx: &mut Tx<'_>, instance: &InstanceId) -> Outcome<()> {
    sqlx::query("DELETE FROM api_tokens WHERE instance_id = $1").bind(instance.as_str()).execute(&mut **tx).await?;
    Ok(())
}

/// The secret that has to be handed over. `None`: it was, or an older server began this run.
pub async fn to_hand_over(db: &mut AnyConnection, instance: &InstanceId) -> Outcome<Option<String>> {
    let row = sqlx::query("SELECT id, handover FROM api_tokens WHERE instance_id = $1 AND handover IS NOT NULL")
        .bind(instance.as_str())
        .fetch_optional(db)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let id: String = row.try_get("id")?;
    Ok(Some(secrets::open(HANDOVER, &id, row.try_get("handover")?)?))
}

/// Forgets the secret, because its instance has it now.
pub async fn handed_over(tx: &mut Tx<'_>, instance: &InstanceId) -> Outcome<()> {
    sqlx::query("UPDATE api_tokens SET handover = NULL WHERE instance_id = $1")
        .bind(instance.as_str())
        .execute(&mut **tx)
        .await?;
    Ok(())
}
