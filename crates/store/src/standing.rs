//! What tokens stand for at this moment, many at once: for streams that stay open
//! longer than a request.

use std::collections::BTreeMap;

use base::{Timestamp, TokenId};
use sqlx::AnyConnection;

use crate::Outcome;
use crate::row::{parsed, time};
use crate::users::{self, Member, User, UserState};

/// Whoever a token belongs to, as he is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The user.
    pub user: User,
    /// Whether he can be signed in.
    pub state: UserState,
    /// Until when the token is good.
    pub expires_at: Timestamp,
    /// His accounts by name, whatever the token is limited to.
    pub memberships: Vec<Member>,
}

/// Tokens that one statement asks for.
const AT_ONCE: usize = 16;

/// The tokens asked for, sessions and API tokens alike.
macro_rules! asked {
    () => {
        "(SELECT id, user_id, expires_at FROM tokens
            WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
          UNION ALL SELECT id, user_id, expires_at FROM api_tokens
            WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)) t"
    };
}

/// What these tokens stand for; one that is missing was taken back.
pub async fn of_tokens(db: &mut AnyConnection, ids: &[TokenId]) -> Outcome<BTreeMap<TokenId, Standing>> {
    let mut all = BTreeMap::new();
    for some in ids.chunks(AT_ONCE) {
        let place = |n: usize| some.get(n).map_or("", TokenId::as_str).to_owned();
        let mut rows = sqlx::query(concat!(
            "SELECT t.id AS token_id, t.expires_at AS expires_at, u.id AS id, u.name AS name, u.operator AS operator,
                u.operator_role AS operator_role, u.state AS state FROM ",
            asked!(),
            " JOIN users u ON u.id = t.user_id"
        ));
        for n in 0..AT_ONCE {
            rows = rows.bind(place(n));
        }
        for row in rows.fetch_all(&mut *db).await? {
            let standing = Standing {
                user: users::user(&row)?,
                state: parsed(&row, "state")?,
                expires_at: time(&row, "expires_at")?,
                memberships: Vec::new(),
            };
            all.insert(parsed(&row, "token_id")?, standing);
        }
        let mut rows = sqlx::query(concat!(
            "SELECT t.id AS token_id, a.id AS id, a.name AS name, a.currency AS currency, a.time_zone AS time_zone,
                m.role AS role FROM ",
            asked!(),
            " JOIN members m ON m.user_id = t.user_id JOIN accounts a ON a.id = m.account_id ORDER BY a.name"
        ));
        for n in 0..AT_ONCE {
            rows = rows.bind(place(n));
        }
        for row in rows.fetch_all(&mut *db).await? {
            let token: TokenId = parsed(&row, "token_id")?;
            if let Some(standing) = all.get_mut(&token) {
                standing.memberships.push(users::member(&row)?);
            }
        }
    }
    Ok(all)
}
