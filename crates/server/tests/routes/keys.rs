//! SSH public keys of users.

use serde_json::json;

use crate::db::{Db, both};
use crate::site::Site;
use crate::tokens::delete;

/// Keys of four kinds, made for these tests, with what OpenSSH prints of them.
const GOOD: &[(&str, &str, &str)] = &[
    (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxWpDLVzHSQbv5TOSV/hXD+MRB3NFoKRDnJTeR8ngiK me@laptop",
        "ssh-ed25519",
        "SHA256:dBWkvgQi6R5dfpo73oG39gUhICKcjkT9vEc/ebztYJQ",
    ),
    (
        "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBFSr5vY1uncsA2/GQMQ0Zalzc/neCHaVkyx2T1khmwdniouEaMCVTntp+s0f/SDAa/YD2j2IXPVg1vgH3s2teCg= me@laptop",
        "ecdsa-sha2-nistp256",
        "SHA256:p21VtH6Mp4WHHwChWvO50YBy338j1tDo9USqw9spPUs",
    ),
    (
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCn6t7R05SZxwRCNgsGrV5EnZ/GpdS0nVq2bbRD0C1E9UC9HTYEG+6+bnbXKfPF50t8Bpgd/0wiBJCkjDqMtRnLmvkH6udI9NfJqLyAWc/CEZhf/hSsF1DyAXQmTFhgU19SHywKQq3GjwnEu3cu7LXMZa5ihruI+/oQ6blmKhbIaHbvuw2i7pqd1JnVFg8/WQlraLHGROoP6RmzJ4+Pu0CMrUk3cibf5QH0zJni4avxltJCr8MJyeWklQilPNhbostrc9X7cid8ZJbrdWrvcolO+UQe9ziqkENaNY2gs+O1ApBEmC+h7BagiA6BEOUal5RptPq181bIq1Kk3Z1CBUV7 me@laptop",
        "ssh-rsa",
        "SHA256:ua1mrccfGgyEt/DT7LsgoH1sb8UK0tsAPwNmJ3YrjA0",
    ),
    (
        "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAILxWpDLVzHSQbv5TOSV/hXD+MRB3NFoKRDnJTeR8ngiKAAAABHNzaDo= yubi",
        "sk-ssh-ed25519@openssh.com",
        "SHA256:bjUl46K7YAC2J6eummRuQdOZdGMdWB+7ZSWMwiHlXII",
    ),
];

const SHORT_RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDcHcdLnkQMysRXKT8S1TtdxZIhBtW+yT7m42YAgMkOMMneoH7Vd3oYTBIu+9kNCw815pgJFK0GARMsyIGm1DeJUrB43tOwygeK0ysMcKdf/h9It8WlDkfFUT18UKHOaHIknqwzwguilv/JM5ShbaC0Gmusv5CkWAlZo4t15hSavQ== me@laptop";

const PRIVATE: &str =
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUhunter2\n-----END OPENSSH PRIVATE KEY-----";

async fn keys_are_added_shown_and_removed(db: &Db) {
    let site = Site::new(db).await;
    for (key, kind, fingerprint) in GOOD {
        let added = site.post(&site.alice, "/v1/keys", json!({ "key": format!("{key}\n") })).await.ok(201);
        assert_eq!((added["kind"].as_str(), added["fingerprint"].as_str()), (Some(*kind), Some(*fingerprint)));
        let remark = key.split(' ').nth(2).unwrap();
        assert_eq!(added["name"].as_str(), Some(remark));
    }
    let again = json!({ "name": "other", "key": GOOD[0].0 });
    site.post(&site.alice, "/v1/keys", again.clone()).await.says(409, "already-exists", &[GOOD[0].2]);
    // Somebody else may have the same key: he has only its public part.
    assert_eq!(site.post(&site.bob, "/v1/keys", again).await.ok(201)["name"], "other");
    let list = site.get(&site.alice, "/v1/keys").await.ok(200);
    let items = list["items"].as_array().unwrap();
    assert_eq!((items.len(), items[3]["kind"].as_str()), (4, Some("ssh-ed25519")));
    let path = format!("/v1/keys/{}", items[3]["id"].as_str().unwrap());
    delete(&site, &site.bob, &path).await.problem(404, "not-found");
    assert_eq!(delete(&site, &site.alice, &path).await.status, 204);
    delete(&site, &site.alice, &path).await.problem(404, "not-found");
    assert_eq!(site.get(&site.alice, "/v1/keys").await.ok(200)["items"].as_array().unwrap().len(), 3);
}

async fn what_is_no_safe_public_key_is_refused_and_never_repeated(db: &Db) {
    let site = Site::new(db).await;
    for (key, words) in [
        (PRIVATE, vec!["private key", "not kept", ".pub"]),
        (SHORT_RSA, vec!["1024 bits", "2048", "ssh-keygen"]),
        ("hunter2", vec!["not an SSH public key", ".pub"]),
        ("", vec!["not an SSH public key"]),
    ] {
        let answer = site.post(&site.alice, "/v1/keys", json!({ "key": key })).await;
        answer.says(422, "invalid-request", &words);
        assert!(!answer.text().contains("hunter2"));
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM ssh_keys").await, 0);
    assert_eq!(site.number("SELECT COUNT(*) FROM audit_log WHERE object LIKE '%hunter2%'").await, 0);
}

both!(keys_are_added_shown_and_removed, what_is_no_safe_public_key_is_refused_and_never_repeated);
