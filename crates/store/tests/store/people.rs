//! Users, tokens, accounts, members and price books.

use base::{Span, TokenId, UserId};
use store::users::{Member, User};
use store::{accounts, prices, users};

use crate::db::{Db, both, write};
use crate::fixture::{T0, account, at, site};

async fn names_are_unique_and_found(db: &Db) {
    let site = site(&db.store, 1, "5").await;
    let again = User { id: UserId::new(T0, 9), name: "renter".into(), operator: true };
    assert!(!write!(db.store, |tx, again| users::insert(tx, &again, "other", T0).await).unwrap());
    let twin = account(9, "renter");
    assert!(!write!(db.store, |tx, twin| accounts::insert(tx, &twin).await).unwrap());
    let mut read = db.store.read().await.unwrap();
    let (user, hash) = users::by_name(&mut read, "renter").await.unwrap().unwrap();
    assert_eq!((user.id.clone(), user.operator, hash.as_str()), (site.user.clone(), false, "hash"));
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
        users::join(tx, &second.id, &user, "viewer").await?;
        users::join(tx, &payer, &user, "billing").await
    })
    .unwrap();
    let mut read = db.store.read().await.unwrap();
    assert_eq!(users::by_name(&mut read, "renter").await.unwrap().unwrap().1, "fresh");
    let member = |account: &base::AccountId, name: &str, role: &str| Member {
        account: account.clone(),
        account_name: name.into(),
        role: role.into(),
    };
    let want = [member(&site.account, "renter", "billing"), member(&second.id, "zeta", "viewer")];
    assert_eq!(users::memberships(&mut read, &site.user).await.unwrap(), want);
}

async fn a_token_leads_to_its_user_until_it_is_taken_back(db: &Db) {
    let site = site(&db.store, 1, "0").await;
    let owner = site.user.clone();
    let until = T0.after(Span::from_hours(5));
    write!(db.store, |tx, owner| {
        users::insert_token(tx, &TokenId::new(T0, 3), &owner, "abc", "laptop", T0, until).await
    })
    .unwrap();
    let found = {
        let mut read = db.store.read().await.unwrap();
        assert!(users::by_token(&mut read, "abd").await.unwrap().is_none());
        users::by_token(&mut read, "abc").await.unwrap().unwrap()
    };
    assert_eq!((found.0.id, found.1), (site.user.clone(), until));
    write!(db.store, |tx| users::delete_token(tx, "abc").await).unwrap();
    let mut read = db.store.read().await.unwrap();
    assert!(users::by_token(&mut read, "abc").await.unwrap().is_none());
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
    the_book_loaded_last_is_in_force,
}
