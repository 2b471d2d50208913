//! What the operator sets for the site.

use serde_json::json;
use store::secrets::Keyring;

use crate::db::{Db, both};
use crate::mailbox::set;
use crate::site::{Site, request};

const URL: &str = "smtps://gpu:hush-mail@mail.example";

async fn secrets_are_kept_and_never_told(db: &Db) {
    let keys = Keyring::parse(&Keyring::generate().unwrap()).unwrap();
    let store = db.store.clone().with_keys(keys).await.unwrap();
    let site = Site::new(db).await;
    let provider = json!({ "id": "lab", "label": "Lab", "issuer": "https://id.example", "client_id": "suanli",
        "client_secret": "hush-oidc" });
    let told = set(
        &site,
        json!({ "providers": [provider], "mail": { "url": URL, "from": "gpu@site.example" },
            "identity_url": "https://check.example/?key=hush-check", "identity_required": true }),
    )
    .await;
    assert_eq!(
        told["mail"],
        json!({ "url": { "set": true }, "server": "smtps://gpu@mail.example", "from": "gpu@site.example" })
    );
    assert_eq!(told["providers"][0]["client_secret"], json!({ "set": true }));
    assert_eq!(told["identity_url"], json!({ "set": true }));
    let seen = site.get(&site.operator, "/v1/site/settings").await;
    assert_eq!(seen.ok(200), told);
    let public = site.send(request("GET", "/v1/site", None, None, &[])).await;
    assert_eq!(public.ok(200)["providers"], json!([{ "id": "lab", "label": "Lab" }]));
    let mut raw = store.read().await.unwrap();
    let sealed: String =
        sqlx::query_scalar("SELECT value FROM site WHERE key = 'settings'").fetch_one(&mut *raw).await.unwrap();
    let log: Vec<String> = sqlx::query_scalar("SELECT was || became FROM audit_log WHERE action = 'set_site_settings'")
        .fetch_all(&mut *raw)
        .await
        .unwrap();
    drop(raw);
    assert!(sealed.starts_with("enc:"), "{sealed}");
    assert!(log[0].contains("mail.example"), "{log:?}");
    for text in [seen.text(), public.text(), &log[0]] {
        assert!(!text.contains("hush"), "{text}");
    }
    let kept = site.app.settings().await.unwrap();
    assert_eq!(kept.mail.unwrap().url, URL);
    // What a request does not name stays, secrets too.
    set(&site, json!({ "name": "Other" })).await;
    let kept = site.app.settings().await.unwrap();
    assert_eq!((kept.name.as_str(), kept.providers[0].client_secret.as_deref()), ("Other", Some("hush-oidc")));
    set(&site, json!({ "mail": { "url": "" }, "providers": [], "identity_url": "" })).await;
    let kept = site.app.settings().await.unwrap();
    assert_eq!((kept.mail, kept.providers.len(), kept.identity_url), (None, 0, None));
}

async fn what_cannot_be_changes_nothing(db: &Db) {
    let site = Site::new(db).await;
    for (bad, words) in [
        (json!({ "name": "Lab", "sign_up": "anyone" }), "closed, invitation, email"),
        (json!({ "name": "Lab", "sign_up": "email" }), "without mail"),
        (json!({ "name": "Lab", "mail": { "url": "smtp://mail.example" } }), "sender"),
        (json!({ "name": "Lab", "unknown": 1 }), "unknown field"),
    ] {
        site.put(&site.operator, "/v1/site/settings", bad).await.says(422, "invalid-request", &[words]);
    }
    assert_eq!(site.get(&site.operator, "/v1/site/settings").await.ok(200)["name"], "Suanli");
    assert_eq!(site.number("SELECT COUNT(*) FROM site WHERE key = 'settings'").await, 0);
}

both!(secrets_are_kept_and_never_told, what_cannot_be_changes_nothing);
