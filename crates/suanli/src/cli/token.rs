//! API tokens.

use api::token::{CreateToken, TokenView};
use clap::{Args, Subcommand};

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table, note};

/// API tokens: for programs, with some of your rights and an end
#[derive(Debug, Subcommand)]
pub enum Token {
    /// List your tokens, newest first
    Ls,
    /// Make a token and show it, this once
    ///
    /// A program uses it as SUANLI_TOKEN, or as `Authorization: Bearer`.
    Create(Create),
    /// Take a token back: it stops working at once
    Rm {
        /// Id of the token
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct Create {
    /// What it is for
    #[arg(long)]
    name: String,
    /// What it may be used for, with commas between: read, instances, money, members, operate
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
    scope: Vec<String>,
    /// Only this account [default: all of yours]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// For how many days, at most 365 [default: 90]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    days: Option<i64>,
}

impl Token {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Ls => {
                let tokens = client.tokens().await?;
                out.result(&tokens, |out| words(&tokens.items, out));
            }
            Self::Create(create) => {
                let request = CreateToken {
                    name: create.name,
                    scopes: create.scope,
                    account: create.account,
                    days: create.days,
                    ..CreateToken::default()
                };
                let made = client.create_token(&request).await?;
                out.result(&made, |out| {
                    note(&format!("{} works until {}", made.view.id, out.zone.show(made.view.expires_at)));
                    note("the token is shown only this once:");
                    format!("{}\n", made.token)
                });
            }
            Self::Rm { id } => {
                client.delete_token(&id).await?;
                out.result(&serde_json::json!({ "removed": id }), |_| format!("{id} works no more\n"));
            }
        }
        Ok(0)
    }
}

fn words(tokens: &[TokenView], out: &Output) -> String {
    if tokens.is_empty() {
        return "no tokens; `suanli token create` makes one\n".into();
    }
    let mut table = Table::new(&["ID", "NAME", "SCOPES", "ACCOUNT", "ENDS", "LAST USED"]);
    for token in tokens {
        table.row(vec![
            token.id.as_str().into(),
            token.name.as_str().into(),
            token.scopes.join(", ").into(),
            token.account.as_ref().map_or("all", |id| id.as_str()).into(),
            out.zone.show(token.expires_at).into(),
            token.last_used_at.map_or_else(|| "never".to_owned(), |at| out.zone.show(at)).into(),
        ]);
    }
    table.render(out.paint)
}
