//! Signing in and out.

use std::path::PathBuf;

use api::session::{LoginRequest, LogoutEverywhere};
use base::{Cause, Error, Result};
use clap::Args;
use client::Client;
use serde_json::json;

use super::Outcome;
use crate::output::{Output, Table, note};
use crate::terminal;
use crate::{inside, login_file};

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
    /// Code of your authenticator app, or a recovery code; asked for on a terminal when it is needed
    #[arg(long)]
    code: Option<String>,
}

/// Take the saved login's token back and forget it
#[derive(Debug, Args)]
pub struct Logout {
    /// Sign out everywhere: every session ends, also those in browsers
    #[arg(long)]
    everywhere: bool,
    /// Take API tokens back too
    #[arg(long, requires = "everywhere")]
    tokens: bool,
}

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
        let mut request = LoginRequest { user, password, code: self.code.clone(), ..LoginRequest::default() };
        let answer = match client.login(&request).await {
            Err(error) if error.cause() == Cause::SecondFactorNeeded && terminal::can_ask() => {
                request.code = Some(terminal::ask("code of your authenticator app, or a recovery code: ")?);
                client.login(&request).await?
            }
            Err(error) if error.cause() == Cause::SecondFactorNeeded => {
                return Err(error
                    .hint("add --code CODE: what your authenticator app shows, or a recovery code")
                    .into());
            }
            answer => answer?,
        };
        let token = answer.token.ok_or_else(|| Error::internal("the server gave no token"))?;
        let login = login_file::Login { url: client.url().to_owned(), token, user: answer.user.name.clone() };
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
    async fn revoke(&self, client: &Client) -> Result<()> {
        match self.everywhere {
            true => client.logout_everywhere(&LogoutEverywhere { tokens: self.tokens }).await,
            false => client.logout().await,
        }
    }

    pub async fn run(self, out: &Output) -> Outcome {
        let path = login_file::path()?;
        let saved = login_file::read(&path);
        // Forgotten here in any case, even where the file is damaged or the server away.
        let removed = login_file::remove(&path)?;
        let revoked = match saved {
            Ok(Some(login)) => self.revoke(&Client::new(&login.url, Some(&login.token))?).await.map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        out.result(&json!({ "removed": removed, "revoked": revoked.as_ref().is_ok_and(|yes| *yes) }), |_| {
            if removed { "the saved login is removed\n".into() } else { "there was no saved login\n".into() }
        });
        // A token that the server does not know any more needs no taking back.
        if let Err(error) = revoked.or_else(|e| if e.cause() == Cause::Unauthenticated { Ok(true) } else { Err(e) }) {
            note(&format!("its token could not be taken back and works until it runs out: {}", error.message()));
        }
        if std::env::var_os("SUANLI_TOKEN").is_some() {
            note("SUANLI_TOKEN is still set and is still used");
        }
        Ok(0)
    }
}

impl WhoAmI {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let me = match (client.whoami().await, inside::find()) {
            // The token inside an instance is nobody: it does not even know whose it is.
            (Err(error), Some(inside)) if error.cause() == Cause::Forbidden => {
                let view = client.instance(&inside.instance).await?;
                out.result(&json!({ "instance": view }), |out| {
                    let mut facts = Table::new(&[]);
                    facts.fact("instance", format!("{} ({}), this one", view.name, view.id));
                    facts.fact("server", client.url());
                    facts.fact("may", "see and stop itself, nothing else");
                    facts.render(out.paint)
                });
                return Ok(0);
            }
            (me, _) => me?,
        };
        out.result(&me, |out| {
            let mut facts = Table::new(&[]);
            facts.fact("user", format!("{} ({})", me.user.name, me.user.id));
            facts.fact("server", client.url());
            facts.fact("operator", me.user.operator_role.as_deref().unwrap_or("no"));
            if let Some(scopes) = me.token.as_ref().and_then(|t| t.scopes.as_ref()) {
                facts.fact("token for", scopes.join(", "));
            }
            for account in &me.accounts {
                facts.fact("account", format!("{} ({}), {}", account.name, account.id, account.role));
            }
            facts.render(out.paint)
        });
        Ok(0)
    }
}
