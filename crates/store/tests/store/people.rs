//! Users, tokens, accounts, members and price books.

use base::{Span, Timestamp, TokenId, UserId};
use domain::rights::{OperatorRole, Role, Scope};
use store::tokens::{ApiToken, Limits, Session, SessionKind};
use store::users::{Member, User, UserState};
use store::{accounts, prices, tokens, users};

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, at, number, site};

async fn names_are_unique_and_found(db: &Db) {
    let site = site(&db.store, 1, "5").await;
    let again = User { id: UserId::new(T0, 9), name: "renter".into(), operator: Some(OperatorRole::Support) };
    assert!(!write!(db.store, |tx, again| users::insert(tx, &again, "other", T0).await).unwrap());
    let twin = account(9, "renter");
    assert!(!write!(db.store, |tx, twin| accounts::insert(tx, &twin).await).unwrap());
    let mut read = db.store.read().await.unwrap();
    let (user, hash) = users::by_name(&mut read, "renter").await.unwrap().unwrap();
    assert_eq!((user.id.clone(), user.operator, hash.as_str()), (site.user.clone(), None, "hash"));
    assert!(users::by_name(&mut read, "nobody").await.unwrap().is_none());
    assert!(!users::any_operator(&mut read).await.unwrap());
    let by_id = accounts::find(&mut read, site.account.as_str()).await.unwrap().unwrap();
    let by_name = accounts::find(&mut read, "renter").await.unwrap().unwrap();
    assert_eq!(by_id, by_name);
    assert_eq!(by_id.balance.to_string(), "5.00");
    assert!(accounts::find(&mut read, "nobody").await.unwrap().is_none());
    assert_eq!(accounts::list(&mut read).await.unwrap(), [by_id]);
}

async fn passwords_and_roles_are_replaced(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let second = account(2, "zeta");
    let (user, payer) = (site.user.clone(), site.account.clone());
    write!(db.store, |tx, user, payer, second| {
        users::set_password(tx, &user, "fresh").await?;
        assert!(accounts::insert(tx, &second).await?);
        users::join(tx, &second.id, &user, Role::Viewer, T0).await?;
        users::join(tx, &payer, &user, Role::Billing, T0).await
    })
    .unwrap();
    let mut read = db.store.read().await.unwrap();
    assert_eq!(users::by_name(&mut read, "renter").await.unwrap().unwrap().1, "fresh");
    let member = |account: &base::AccountId, name: &str, role: Role| Member {
        account: account.clone(),
        account_name: name.into(),
        role,
        currency: "CNY".into(),
        time_zone: "Asia/Shanghai".into(),
    };
    let want = [member(&site.account, "renter", Role::Billing), member(&second.id, "zeta", Role::Viewer)];
    assert_eq!(users::memberships(&mut read, &site.user).await.unwrap(), want);
}

async fn a_token_leads_to_its_user_until_it_is_taken_back(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let owner = site.user.clone();
    let until = T0.after(Span::from_hours(5));
    let laptop = session(3, until);
    write!(db.store, |tx, owner, laptop| tokens::insert(tx, &owner, &laptop, "abc").await).unwrap();
    let found = {
        let mut read = db.store.read().await.unwrap();
        assert!(tokens::by_hash(&mut read, "abd").await.unwrap().is_none());
        tokens::by_hash(&mut read, "abc").await.unwrap().unwrap()
    };
    assert_eq!((&found.user.id, found.expires_at, &found.limits), (&site.user, until, &None));
    assert_eq!((found.session, found.state), (Some(SessionKind::Login), UserState::Active));
    write!(db.store, |tx, laptop| tokens::used(tx, &laptop.id, at(60)).await).unwrap();
    let mut seen = laptop.clone();
    seen.used_at = Some(at(60));
    assert_eq!(tokens::sessions(&mut db.store.read().await.unwrap(), &owner).await.unwrap(), [seen]);
    let stranger = UserId::new(T0, 77);
    assert!(!write!(db.store, |tx, stranger, laptop| tokens::end(tx, &stranger, &laptop.id).await).unwrap());
    assert!(write!(db.store, |tx, owner, laptop| tokens::end(tx, &owner, &laptop.id).await).unwrap());
    assert!(tokens::by_hash(&mut db.store.read().await.unwrap(), "abc").await.unwrap().is_none());
}

fn session(n: u128, expires_at: Timestamp) -> Session {
    Session {
        id: TokenId::new(T0, n),
        kind: SessionKind::Login,
        name: "laptop".into(),
        created_at: T0,
        expires_at,
        used_at: None,
        address: Some("203.0.113.7".into()),
        agent: None,
    }
}

/// A session for whoever needs one.
pub async fn laptop(tx: &mut store::Tx<'_>, id: &TokenId, owner: &UserId, until: Timestamp) -> store::Outcome<()> {
    let session = Session { id: id.clone(), ..session(0, until) };
    tokens::insert(tx, owner, &session, "hash-of-a-token").await
}

async fn signing_out_everywhere_leaves_the_named_session_and_programs(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let owner = site.user.clone();
    let until = at(9_000);
    let limits = Limits { scopes: vec![Scope::Read], account: Some(site.account.clone()), instance: None };
    let token = ApiToken {
        id: TokenId::new(T0, 9),
        name: "ci".into(),
        limits: limits.clone(),
        created_at: T0,
        expires_at: until,
        used_at: None,
    };
    write!(db.store, |tx, owner, token| {
        for n in 1..4 {
            tokens::insert(tx, &owner, &session(n, until), &format!("hash-{n}")).await?;
        }
        tokens::insert_api(tx, &owner, &token, "hash-api").await
    })
    .unwrap();
    let kept = TokenId::new(T0, 2);
    assert_eq!(write!(db.store, |tx, owner, kept| tokens::end_all(tx, &owner, Some(&kept)).await).unwrap(), 2);
    let mut read = db.store.read().await.unwrap();
    assert_eq!(tokens::sessions(&mut read, &owner).await.unwrap().len(), 1);
    assert_eq!(tokens::api_tokens(&mut read, &owner).await.unwrap(), std::slice::from_ref(&token));
    let found = tokens::by_hash(&mut read, "hash-api").await.unwrap().unwrap();
    assert_eq!((found.session, found.limits), (None, Some(limits)));
    drop(read);
    assert!(write!(db.store, |tx, owner, token| tokens::delete_api(tx, &owner, &token.id).await).unwrap());
    assert!(tokens::by_hash(&mut db.store.read().await.unwrap(), "hash-api").await.unwrap().is_none());
}

/// A server that knows no roles goes by the flag: only those who may do everything have it.
async fn an_operator_role_below_admin_is_no_operator_to_an_older_server(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let user = site.user.clone();
    let chief = User { id: UserId::new(T0, 8), name: "chief".into(), operator: Some(OperatorRole::Admin) };
    assert!(write!(db.store, |tx, chief| users::insert(tx, &chief, "hash", T0).await).unwrap());
    for (role, flag) in [(Some(OperatorRole::Admin), 2), (Some(OperatorRole::Auditor), 1), (None, 1)] {
        assert!(write!(db.store, |tx, user| users::set_operator(tx, &user, role).await).unwrap());
        assert_eq!(users::get(&mut db.store.read().await.unwrap(), &user).await.unwrap().unwrap().operator, role);
        assert_eq!(number(&db.store, "SELECT COUNT(*) FROM users WHERE operator = 1").await, flag);
    }
    write!(db.store, |tx| {
        sqlx::query("UPDATE users SET operator = 1, operator_role = NULL").execute(&mut **tx).await?;
        Ok(())
    })
    .unwrap();
    let found = users::get(&mut db.store.read().await.unwrap(), &user).await.unwrap().unwrap();
    assert_eq!(found.operator, Some(OperatorRole::Admin), "whom an older server has made");
}

async fn the_book_loaded_last_is_in_force(db: &Db) {
    site(&db.store, 1, "0").await;
    write!(db.store, |tx| prices::load(tx, "v2", "dearer", at(10)).await).unwrap();
    let current = || async {
        let mut read = db.store.read().await.unwrap();
        prices::current(&mut read).await.unwrap().unwrap()
    };
    let now = current().await;
    assert_eq!((now.version.as_str(), now.text.as_str(), now.loaded_at), ("v2", "dearer", at(10)));
    write!(db.store, |tx| prices::load(tx, "v1", "text", at(20)).await).unwrap();
    assert_eq!(current().await.version, "v1");
}

both! {
    names_are_unique_and_found,
    passwords_and_roles_are_replaced,
    a_token_leads_to_its_user_until_it_is_taken_back,
    signing_out_everywhere_leaves_the_named_session_and_programs,
    an_operator_role_below_admin_is_no_operator_to_an_older_server,
    the_book_loaded_last_is_in_force,
}
