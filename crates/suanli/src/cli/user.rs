//! Users of the site (operator).

use api::member::InviteUser;
use api::user::{SetOperatorRole, UserQuery, UserRow};
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Outcome, member};
use crate::login_file;
use crate::output::{Cell, Output, Style, Table, json, print};

/// Users of the site (operator)
///
/// USER is an id, a name or an e-mail address.
#[derive(Debug, Subcommand)]
pub enum User {
    /// List users, newest first
    Ls {
        /// Only those in this state: active, awaiting-email, awaiting-approval or disabled
        #[arg(long)]
        state: Option<String>,
        /// Only those whose name or address has this in it
        text: Option<String>,
    },
    /// Make a link by which somebody signs up with an account of his own
    Invite(Invite),
    /// Let a user in who waits for it
    Approve {
        /// Who
        user: String,
    },
    /// Shut a user out: sessions and tokens end at once, what he rents goes on
    Disable {
        /// Who
        user: String,
    },
    /// Let a user in again who was shut out
    Enable {
        /// Who
        user: String,
    },
    /// Make a user an operator, another one, or none
    Role {
        /// Who
        user: String,
        /// admin, support, finance, auditor or none
        role: String,
    },
    /// Give a user a new one-time password; his sessions end
    Password {
        /// Who
        user: String,
    },
    /// Remove the second factor of a user who has lost it
    RemoveTotp {
        /// Who
        user: String,
    },
}

#[derive(Debug, Args)]
pub struct Invite {
    /// For whom; without it, for whoever has the link
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// For how many days, at most 90 [default: 7]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    days: Option<i64>,
    /// Name of the account of his own [default: made from his user name]
    #[arg(long, value_name = "NAME")]
    account_name: Option<String>,
    /// What is in it at the beginning [default: nothing]
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    credit: Option<String>,
}

impl User {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let changed = match self {
            Self::Ls { state, text } => {
                let mut query = UserQuery { state, q: text, limit: Some(200), cursor: None };
                let mut all = Vec::new();
                loop {
                    let page = client.users(&query).await?;
                    all.extend(page.items);
                    match page.next_cursor {
                        Some(cursor) if query.cursor.as_ref() != Some(&cursor) => query.cursor = Some(cursor),
                        _ => break,
                    }
                }
                if out.json {
                    json(&json!({ "items": all }))
                } else {
                    print(&words(&all, out))
                }
                return Ok(0);
            }
            Self::Invite(invite) => {
                let request = InviteUser {
                    email: invite.email,
                    days: invite.days,
                    account_name: invite.account_name,
                    credit: invite.credit,
                };
                let invited = client.invite_user(&request).await?;
                out.result(&invited, |out| member::link(&invited, out));
                return Ok(0);
            }
            Self::Password { user } => {
                let given = client.give_password(&user).await?;
                out.result(&given, |out| {
                    let mut facts = Table::new(&[]);
                    facts.fact("user", given.user.as_str());
                    facts.fact("password", format!("{} (shown only this once)", given.password));
                    facts.render(out.paint)
                });
                return Ok(0);
            }
            Self::RemoveTotp { user } => {
                client.remove_second_factor(&user).await?;
                out.result(&json!({ "user": user }), |_| "the second factor is removed\n".into());
                return Ok(0);
            }
            Self::Approve { user } => client.approve_user(&user).await?,
            Self::Disable { user } => client.disable_user(&user).await?,
            Self::Enable { user } => client.enable_user(&user).await?,
            Self::Role { user, role } => {
                let operator_role = (role != "none").then_some(role);
                client.set_operator_role(&user, &SetOperatorRole { operator_role }).await?
            }
        };
        out.result(&changed, |out| words(std::slice::from_ref(&changed), out));
        Ok(0)
    }
}

fn words(users: &[UserRow], out: &Output) -> String {
    if users.is_empty() {
        return "no such users\n".into();
    }
    let mut table = Table::new(&["ID", "NAME", "E-MAIL", "STATE", "OPERATOR", "ACCOUNTS", "LAST SEEN"]);
    for user in users {
        let style = match user.state.as_str() {
            "active" => Style::Green,
            "disabled" => Style::Dim,
            _ => Style::Yellow,
        };
        let accounts: Vec<_> = user.accounts.iter().map(|a| format!("{} ({})", a.name, a.role)).collect();
        table.row(vec![
            user.id.as_str().into(),
            user.name.as_str().into(),
            user.email.as_deref().unwrap_or("").into(),
            Cell::styled(user.state.as_str(), style),
            user.operator_role.as_deref().unwrap_or("").into(),
            accounts.join(", ").into(),
            user.last_seen_at.map_or_else(|| "never".to_owned(), |at| out.zone.show(at)).into(),
        ]);
    }
    table.render(out.paint)
}
