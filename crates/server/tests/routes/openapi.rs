//! The document at `/openapi.json`: whole, checked in, and matched by the client.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::db::Db;
use crate::site::Site;

/// Routes that programs other than ours read.
const NO_CLIENT: &[&str] = &["metrics", "oidc_start", "oidc_callback"];

/// Calls of the client that are not operations of their own.
const BESIDE: &[&str] = &["server_version", "all_instances", "all_instance_events"];

pub fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(|(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

#[tokio::test]
async fn the_document_is_the_one_that_is_checked_in() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    insta::assert_snapshot!("openapi.json", serde_json::to_string_pretty(site.document()).unwrap());
}

#[test]
fn the_words_that_are_told_are_those_that_are_kept() {
    use api::words;
    fn same<T: Copy>(told: &[&str], kept: &[T], word: fn(T) -> &'static str) {
        assert_eq!(told, kept.iter().map(|one| word(*one)).collect::<Vec<_>>());
    }
    use store::settings::SignUp;
    same(words::UserState::ALL, store::users::UserState::ALL, store::users::UserState::as_str);
    same(words::IdentityState::ALL, store::profiles::Identity::ALL, store::profiles::Identity::as_str);
    same(words::SessionKind::ALL, store::tokens::SessionKind::ALL, store::tokens::SessionKind::as_str);
    same(words::ActorKind::ALL, store::audit_log::ActorKind::ALL, store::audit_log::ActorKind::as_str);
    same(words::Ended::ALL, store::audit_log::Ended::ALL, store::audit_log::Ended::as_str);
    same(words::SignUpRule::ALL, &[SignUp::Closed, SignUp::Invitation, SignUp::Email], SignUp::as_str);
}

#[tokio::test]
async fn every_operation_is_told_whole() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(site.document()) {
        let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no operationId"));
        assert!(names.insert(name), "{name} twice");
        assert!(operation["summary"].is_string() || operation["description"].is_string(), "{name} says nothing");
        let none = vec![];
        let told: BTreeSet<&str> = operation["parameters"]
            .as_array()
            .unwrap_or(&none)
            .iter()
            .inspect(|p| assert!(p["description"].is_string(), "{name}: {p} is not described"))
            .filter(|p| p["in"] == "path")
            .map(|p| p["name"].as_str().unwrap())
            .collect();
        let in_path: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(told, in_path, "{name}");
        let answers = operation["responses"].as_object().unwrap();
        let public = operation["security"].is_array();
        assert_eq!(answers.contains_key("401"), !public || name == "login", "{name}");
        assert!(!in_path.is_empty() <= answers.contains_key("404"), "{name}");
        if operation["requestBody"].is_object() {
            assert!(answers.contains_key("413") && answers.contains_key("422"), "{name}");
        }
        for (status, answer) in answers {
            let content = answer["content"].as_object();
            if status.as_str() >= "400" {
                let problem = &answer["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(problem, "#/components/schemas/Problem", "{name} {status}");
                assert_eq!(content.map(|c| c.len()), Some(1), "{name} {status}");
            } else {
                assert!(content.is_some() || ["101", "204", "302"].contains(&status.as_str()), "{name} {status}");
            }
        }
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    fn check(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let found = document.pointer(reference.strip_prefix('#').unwrap());
                    assert!(found.is_some(), "{reference} leads nowhere");
                }
                fields.values().for_each(|v| check(document, v));
            }
            Value::Array(items) => items.iter().for_each(|v| check(document, v)),
            _ => {}
        }
    }
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    check(site.document(), site.document());
}

#[tokio::test]
async fn every_operation_has_a_function_in_the_client_and_the_other_way_round() {
    let db = Db::sqlite().await;
    let site = Site::new(&db).await;
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../client/src")).unwrap();
    let source: Vec<String> = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    // Functions of `impl Client` take `&self`; those of streams take `&mut self` or `self`.
    let functions: BTreeSet<&str> = source
        .iter()
        .flat_map(|text| text.split("pub async fn ").skip(1))
        .filter(|rest| rest.split(')').next().is_some_and(|head| head.contains("(&self")))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    let names: BTreeSet<&str> =
        operations(site.document()).map(|(_, _, operation)| operation["operationId"].as_str().unwrap()).collect();
    for name in &names {
        assert!(functions.contains(name) || NO_CLIENT.contains(name), "the client has no function `{name}`");
    }
    for function in functions {
        assert!(names.contains(function) || BESIDE.contains(&function), "`{function}` calls no operation");
    }
}
