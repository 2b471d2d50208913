//! One's own second factor.

use api::totp::{RecoveryCodes, TotpConfirm, TotpRemove};
use base::{Cause, Error, Result};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Outcome;
use crate::login_file;
use crate::output::{Output, print};
use crate::terminal;

/// Second factor: codes of an authenticator app, asked for when you sign in
#[derive(Debug, Subcommand)]
pub enum Totp {
    /// Make a secret for an app, and have its first code confirmed
    Enable,
    /// Confirm the app's first code, where `enable` could not ask for it
    Confirm(Confirm),
    /// Take the second factor away
    Disable(Disable),
}

#[derive(Debug, Args)]
pub struct Confirm {
    /// What the app shows now
    code: String,
}

#[derive(Debug, Args)]
pub struct Disable {
    /// What the app shows now, or a recovery code; asked for on a terminal when it is not given
    #[arg(long)]
    code: Option<String>,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
}

impl Totp {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Enable => {
                let prepared = client.prepare_totp().await?;
                if out.json || !terminal::can_ask() {
                    out.result(&prepared, |_| {
                        format!(
                            "secret for the app: {}\n{}\nthen: suanli totp confirm CODE\n",
                            prepared.secret, prepared.uri
                        )
                    });
                    return Ok(0);
                }
                print(&format!(
                    "Type this secret into your authenticator app: {}\n{}\n",
                    prepared.secret, prepared.uri
                ));
                let code = terminal::ask("code that the app shows: ")?;
                let codes = client.confirm_totp(&TotpConfirm { code }).await?;
                told(out, &codes);
            }
            Self::Confirm(confirm) => {
                let codes = client.confirm_totp(&TotpConfirm { code: confirm.code }).await?;
                told(out, &codes);
            }
            Self::Disable(disable) => {
                client.remove_totp(&disable.ask().await?).await?;
                out.result(&json!({ "totp": false }), |_| "the second factor is gone\n".into());
            }
        }
        Ok(0)
    }
}

fn told(out: &Output, codes: &RecoveryCodes) {
    out.result(codes, |_| {
        format!(
            "the second factor counts from now on\nrecovery codes, each good once, shown only now:\n  {}\n",
            codes.recovery_codes.join("\n  ")
        )
    });
}

impl Disable {
    async fn ask(self) -> Result<TotpRemove> {
        let missing = |what: &str, flag: &str| {
            Error::new(Cause::InvalidRequest, format!("no {what} is given and there is no terminal to ask on"))
                .hint(format!("use {flag}"))
        };
        let password = match self.password_stdin {
            true => terminal::read_line(std::io::stdin().lock())?,
            false if terminal::can_ask() => terminal::ask_secret("password: ".into()).await?,
            false => return Err(missing("password", "--password-stdin")),
        };
        let code = match self.code {
            Some(code) => code,
            None if terminal::can_ask() => terminal::ask("code, or recovery code: ")?,
            None => return Err(missing("code", "--code CODE")),
        };
        Ok(TotpRemove { password, code })
    }
}
