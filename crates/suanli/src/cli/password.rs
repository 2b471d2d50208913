//! One's own password.

use api::session::ChangePassword;
use base::{Cause, Error, Result};
use clap::Args;
use serde_json::json;

use super::Outcome;
use crate::login_file;
use crate::output::Output;
use crate::terminal;

/// Change your password; you stay signed in here and nowhere else
#[derive(Debug, Args)]
pub struct Password {
    /// Read the old and the new password from two lines of standard input
    #[arg(long)]
    password_stdin: bool,
}

impl Password {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let request = self.ask().await?;
        client.change_password(&request).await?;
        out.result(&json!({ "changed": true }), |_| "the password is changed; other sessions have ended\n".into());
        Ok(0)
    }

    async fn ask(&self) -> Result<ChangePassword> {
        if self.password_stdin {
            let mut lines = std::io::stdin().lock();
            let old = terminal::read_line(&mut lines)?;
            return Ok(ChangePassword { old, new: terminal::read_line(&mut lines)? });
        }
        if !terminal::can_ask() {
            return Err(Error::new(Cause::InvalidRequest, "no password is given and there is no terminal to ask on")
                .hint("use --password-stdin and write the old and the new password on two lines"));
        }
        let old = terminal::ask_secret("old password: ".into()).await?;
        let new = terminal::ask_secret("new password (at least 10 characters): ".into()).await?;
        if terminal::ask_secret("new password again: ".into()).await? != new {
            return Err(Error::new(Cause::InvalidRequest, "the new password was not the same both times")
                .hint("nothing was changed; try again"));
        }
        Ok(ChangePassword { old, new })
    }
}
