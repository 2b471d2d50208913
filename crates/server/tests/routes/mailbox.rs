//! A site whose mail becomes files, and what is in them.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use control::Clock;
use deliver::Way;
use serde_json::{Value, json};
use server::App;

use crate::answer::Answer;
use crate::db::Db;
use crate::site::{Site, request};

pub const SITE: &str = "https://gpu.example";

pub struct Mailbox {
    folder: tempfile::TempDir,
}

pub struct Mail {
    pub to: String,
    pub subject: String,
    pub text: String,
}

impl Mail {
    /// The secret of the link to this page.
    pub fn secret(&self, page: &str) -> String {
        let link = format!("{SITE}{page}#");
        let (_, rest) = self.text.split_once(&link).unwrap_or_else(|| panic!("no {link} in {}", self.text));
        rest.split_whitespace().next().unwrap().to_owned()
    }
}

/// A site that writes mail into a folder.
pub async fn site_with_mail(db: &Db) -> (Site, Mailbox) {
    let mut site = Site::new(db).await;
    let mailbox = Mailbox { folder: tempfile::tempdir().unwrap() };
    site.app = site.app.clone().with_way(mailbox.way());
    site.router = server::router(site.app.clone());
    set(&site, json!({ "public_url": SITE })).await;
    (site, mailbox)
}

/// Sets what the operator can set.
pub async fn set(site: &Site, what: Value) -> Value {
    site.put(&site.operator, "/v1/site/settings", what).await.ok(200)
}

impl Mailbox {
    pub fn way(&self) -> Way {
        Way { folder: Some(self.folder.path().to_owned()), address: "http://127.0.0.1:1".into() }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = std::fs::read_dir(self.folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Sends what is in the outbox and takes what came, oldest first.
    pub async fn take(&self, app: &App) -> Vec<Mail> {
        let clock = app.clock.clone();
        let now: deliver::worker::Now = Arc::new(move || clock.now());
        while deliver::worker::round(&app.store, &self.way(), &now).await.unwrap() > 0 {}
        let read = |path: PathBuf| {
            let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
            std::fs::remove_file(path).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let header = |name: &str| {
                let line = head.lines().find_map(|l| l.strip_prefix(name));
                line.unwrap_or_default().to_owned()
            };
            assert!(!head.contains("quoted-printable"), "{head}");
            let body = match header("Content-Transfer-Encoding: ").as_str() {
                // What is not English.
                "base64" => String::from_utf8(STANDARD.decode(body.replace("\r\n", "")).unwrap()).unwrap(),
                _ => body.to_owned(),
            };
            Mail { to: header("To: "), subject: header("Subject: "), text: body.replace("\r\n", "\n") }
        };
        self.files().into_iter().map(read).collect()
    }
}

/// A request of nobody who is signed in.
pub async fn stranger(site: &Site, path: &str, body: Value) -> Answer {
    site.send(request("POST", path, None, Some(&body), &[])).await
}
