//! Members of an account and invitations into it.

use api::member::{AcceptInvitation, InviteMember, Invited, Members, SetRole};
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Outcome, whose};
use crate::login_file;
use crate::output::{Output, Table, note};

/// Members of an account: list, invite, change
///
/// Roles: owner, admin (everything but owners), member (rents and uses), billing
/// and viewer (look). USER is an id, a name or an e-mail address.
#[derive(Debug, Subcommand)]
pub enum Member {
    /// List members and open invitations
    Ls {
        #[command(flatten)]
        of: Of,
    },
    /// Make a link by which somebody joins the account
    Invite(Invite),
    /// Give a member another role
    Role {
        /// Who
        user: String,
        /// owner, admin, member, billing or viewer
        role: String,
        #[command(flatten)]
        of: Of,
    },
    /// Take a member out of the account, or leave it; or take an invitation back
    Rm {
        /// Who, or the id of an invitation
        user: String,
        #[command(flatten)]
        of: Of,
    },
    /// Accept an invitation into an account
    Accept {
        /// The link, or the part of it that begins with inv_
        link: String,
    },
}

#[derive(Debug, Args)]
pub struct Of {
    /// Which account [default: your only one]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

#[derive(Debug, Args)]
pub struct Invite {
    /// owner, admin, member, billing or viewer
    #[arg(long, default_value = "member")]
    role: String,
    /// For whom; without it, for whoever has the link
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// For how many days, at most 90 [default: 7]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    days: Option<i64>,
    #[command(flatten)]
    of: Of,
}

impl Member {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        match self {
            Self::Ls { of } => {
                let account = whose::account(&client, of.account).await?;
                let members = client.members(&account).await?;
                out.result(&members, |out| words(&members, out));
            }
            Self::Invite(invite) => {
                let account = whose::account(&client, invite.of.account).await?;
                let request = InviteMember { email: invite.email, role: invite.role, days: invite.days };
                let invited = client.invite_member(&account, &request).await?;
                out.result(&invited, |out| link(&invited, out));
            }
            Self::Role { user, role, of } => {
                let account = whose::account(&client, of.account).await?;
                let member = client.set_member_role(&account, &user, &SetRole { role }).await?;
                out.result(&member, |_| format!("{} is {} now\n", member.user.name, member.role));
            }
            Self::Rm { user, of } => {
                if user.starts_with("inv-") {
                    client.revoke_invitation(&user).await?;
                } else {
                    let account = whose::account(&client, of.account).await?;
                    client.remove_member(&account, &user).await?;
                }
                out.result(&json!({ "removed": user }), |_| format!("{} is removed\n", crate::output::clean(&user)));
            }
            Self::Accept { link } => {
                let secret = link.rsplit('#').next().unwrap_or_default().to_owned();
                let joined = client.accept_invitation(&AcceptInvitation { secret }).await?;
                out.result(&joined, |_| format!("you are {} of {} ({})\n", joined.role, joined.name, joined.id));
            }
        }
        Ok(0)
    }
}

/// A new invitation: the link alone, for scripts.
pub fn link(invited: &Invited, out: &Output) -> String {
    note(&format!("{} can be accepted once, until {}", invited.id, out.zone.show(invited.expires_at)));
    note("the link is shown only this once:");
    format!("{}\n", invited.link)
}

fn words(members: &Members, out: &Output) -> String {
    let mut table = Table::new(&["ID", "NAME", "E-MAIL", "ROLE", "SINCE"]);
    for member in &members.items {
        table.row(vec![
            member.user.id.as_str().into(),
            member.user.name.as_str().into(),
            member.user.email.as_deref().unwrap_or("").into(),
            member.role.as_str().into(),
            member.since.map(|at| out.zone.show(at)).unwrap_or_default().into(),
        ]);
    }
    let mut text = table.render(out.paint);
    if !members.invitations.is_empty() {
        let mut table = Table::new(&["INVITATION", "FOR", "ROLE", "BY", "ENDS"]);
        for invitation in &members.invitations {
            table.row(vec![
                invitation.id.as_str().into(),
                invitation.email.as_deref().unwrap_or("whoever has the link").into(),
                invitation.role.as_str().into(),
                invitation.by.as_str().into(),
                out.zone.show(invitation.expires_at).into(),
            ]);
        }
        text.push('\n');
        text.push_str(&table.render(out.paint));
    }
    text
}
