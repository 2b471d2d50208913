//! Signing in and out.

use std::path::PathBuf;

use api::session::LoginRequest;
use base::{Cause, Error, Result};
use clap::Args;
use client::Client;
use serde_json::json;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table, note};
use crate::terminal;

/// Sign in to a server and save the login
#[derive(Debug, Args)]
pub struct Login {
    /// Address of the server, such as http://127.0.0.1:8080
    url: String,
    /// Name of the user; asked for on a terminal when it is not given
    #[arg(long)]
    user: Option<String>,
    /// Read the password from standard input
    #[arg(long, conflicts_with = "password_file")]
    password_stdin: bool,
    /// Read the password from the first line of this file
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Forget the saved login
#[derive(Debug, Args)]
pub struct Logout {}

/// Show who is signed in, and to which accounts he belongs
#[derive(Debug, Args)]
pub struct WhoAmI {}

impl Login {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = Client::new(&self.url, None)?;
        let user = match &self.user {
            Some(user) => user.clone(),
            None if terminal::can_ask() => terminal::ask("user: ")?,
            None => return Err(Error::new(Cause::InvalidRequest, "no user is named").hint("add --user NAME").into()),
        };
        let password = self.password(&user).await?;
        let answer = client.login(&LoginRequest { user, password, name: None }).await?;
        let login =
            login_file::Login { url: client.url().to_owned(), token: answer.token, user: answer.user.name.clone() };
        login_file::write(&login_file::path()?, &login)?;
        let told = json!({ "url": login.url, "user": answer.user, "expires_at": answer.expires_at });
        out.result(&told, |out| {
            format!("signed in to {} as {} until {}\n", login.url, login.user, out.zone.show(answer.expires_at))
        });
        Ok(0)
    }

    async fn password(&self, user: &str) -> Result<String> {
        if self.password_stdin {
            return terminal::read_line(std::io::stdin().lock());
        }
        if let Some(path) = &self.password_file {
            let text = std::fs::read_to_string(path).map_err(|e| {
                Error::new(Cause::InvalidRequest, format!("{} cannot be read: {e}", path.display()))
                    .hint("name a file whose first line is the password")
            })?;
            return terminal::read_line(text.as_bytes());
        }
        if terminal::can_ask() {
            return terminal::ask_secret(format!("password of {user}: ")).await;
        }
        Err(Error::new(Cause::InvalidRequest, "no password is given and there is no terminal to ask on")
            .hint("use --password-stdin or --password-file FILE"))
    }
}

impl Logout {
    pub fn run(self, out: &Output) -> Outcome {
        let removed = login_file::remove(&login_file::path()?)?;
        out.result(&json!({ "removed": removed }), |_| {
            if removed { "the saved login is removed\n".into() } else { "there was no saved login\n".into() }
        });
        if std::env::var_os("SUANLI_TOKEN").is_some() {
            note("SUANLI_TOKEN is still set and is still used");
        }
        Ok(0)
    }
}

impl WhoAmI {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let me = client.whoami().await?;
        out.result(&me, |out| {
            let mut facts = Table::new(&[]);
            facts.fact("user", format!("{} ({})", me.user.name, me.user.id));
            facts.fact("server", client.url());
            facts.fact("operator", if me.user.operator { "yes" } else { "no" });
            for account in &me.accounts {
                facts.fact("account", format!("{} ({}), {}", account.name, account.id, account.role));
            }
            facts.render(out.paint)
        });
        Ok(0)
    }
}
