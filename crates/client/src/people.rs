//! Tokens, keys, members, invitations, users, quotas and the audit log: one
//! function for each operation. `user` is an id, a name or an e-mail address.

use api::Page;
use api::audit_log::{AuditCheck, AuditEntry, AuditQuery, Retention};
use api::member::{AcceptInvitation, InvitationView, InviteMember, InviteUser, Invited, MemberView, Members, SetRole};
use api::quota::{Projects, Quotas, SetQuotas};
use api::session::Membership;
use api::token::{AddKey, CreateToken, CreatedToken, KeyView, TokenView};
use api::user::{OneTimePassword, SetOperatorRole, UserQuery, UserRow};
use base::{Cause, Error, Result};
use http::Method;
use http_body_util::BodyExt;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::Client;
use crate::http::{Call, broken_off};

impl Client {
    /// The caller's API tokens, newest first.
    pub async fn tokens(&self) -> Result<Page<TokenView>> {
        self.json(Call::new(Method::GET, &["tokens"])).await
    }

    /// Makes an API token; the answer holds its secret.
    pub async fn create_token(&self, request: &CreateToken) -> Result<CreatedToken> {
        self.json(Call::new(Method::POST, &["tokens"]).body(request)?).await
    }

    /// Takes an API token back.
    pub async fn delete_token(&self, id: &str) -> Result<()> {
        self.bytes(Call::new(Method::DELETE, &["tokens", id])).await.map(drop)
    }

    /// The caller's SSH public keys, newest first.
    pub async fn keys(&self) -> Result<Page<KeyView>> {
        self.json(Call::new(Method::GET, &["keys"])).await
    }

    /// Adds an SSH public key.
    pub async fn add_key(&self, request: &AddKey) -> Result<KeyView> {
        self.json(Call::new(Method::POST, &["keys"]).body(request)?).await
    }

    /// Removes an SSH public key.
    pub async fn delete_key(&self, id: &str) -> Result<()> {
        self.bytes(Call::new(Method::DELETE, &["keys", id])).await.map(drop)
    }

    /// Who belongs to an account, and who is invited into it.
    pub async fn members(&self, account: &str) -> Result<Members> {
        self.json(Call::new(Method::GET, &["accounts", account, "members"])).await
    }

    /// Gives a member another role.
    pub async fn set_member_role(&self, account: &str, user: &str, request: &SetRole) -> Result<MemberView> {
        self.json(Call::new(Method::PUT, &["accounts", account, "members", user]).body(request)?).await
    }

    /// Takes a member out of an account.
    pub async fn remove_member(&self, account: &str, user: &str) -> Result<()> {
        self.bytes(Call::new(Method::DELETE, &["accounts", account, "members", user])).await.map(drop)
    }

    /// Invites somebody into an account; the answer holds the link.
    pub async fn invite_member(&self, account: &str, request: &InviteMember) -> Result<Invited> {
        self.json(Call::new(Method::POST, &["accounts", account, "invitations"]).body(request)?).await
    }

    /// Invites somebody to sign up with an account of his own (operator).
    pub async fn invite_user(&self, request: &InviteUser) -> Result<Invited> {
        self.json(Call::new(Method::POST, &["invitations"]).body(request)?).await
    }

    /// Open invitations to sign up (operator).
    pub async fn invitations(&self) -> Result<Page<InvitationView>> {
        self.json(Call::new(Method::GET, &["invitations"])).await
    }

    /// Takes an invitation back.
    pub async fn revoke_invitation(&self, id: &str) -> Result<()> {
        self.bytes(Call::new(Method::DELETE, &["invitations", id])).await.map(drop)
    }

    /// Accepts an invitation into an account.
    pub async fn accept_invitation(&self, request: &AcceptInvitation) -> Result<Membership> {
        self.json(Call::new(Method::POST, &["invitations", "accept"]).body(request)?).await
    }

    /// What an account may have at most, and what it has now.
    pub async fn quotas(&self, account: &str) -> Result<Quotas> {
        self.json(Call::new(Method::GET, &["accounts", account, "quotas"])).await
    }

    /// Sets every quota of an account anew (operator).
    pub async fn set_quotas(&self, account: &str, request: &SetQuotas) -> Result<Quotas> {
        self.json(Call::new(Method::PUT, &["accounts", account, "quotas"]).body(request)?).await
    }

    /// Projects of an account, with what they may have at most and have now.
    pub async fn projects(&self, account: &str) -> Result<Projects> {
        self.json(Call::new(Method::GET, &["accounts", account, "projects"])).await
    }

    /// What a project may have at most, and what it has now.
    pub async fn project_quotas(&self, account: &str, project: &str) -> Result<Quotas> {
        self.json(Call::new(Method::GET, &["accounts", account, "projects", project, "quotas"])).await
    }

    /// Sets every quota of a project anew.
    pub async fn set_project_quotas(&self, account: &str, project: &str, request: &SetQuotas) -> Result<Quotas> {
        let path = ["accounts", account, "projects", project, "quotas"];
        self.json(Call::new(Method::PUT, &path).body(request)?).await
    }

    /// One page of the users, newest first (operator).
    pub async fn users(&self, query: &UserQuery) -> Result<Page<UserRow>> {
        self.json(Call::new(Method::GET, &["users"]).query(query)?).await
    }

    /// Lets a user in who waits for it (operator).
    pub async fn approve_user(&self, user: &str) -> Result<UserRow> {
        self.json(Call::new(Method::POST, &["users", user, "approve"])).await
    }

    /// Shuts a user out (operator).
    pub async fn disable_user(&self, user: &str) -> Result<UserRow> {
        self.json(Call::new(Method::POST, &["users", user, "disable"])).await
    }

    /// Lets a user in again (operator).
    pub async fn enable_user(&self, user: &str) -> Result<UserRow> {
        self.json(Call::new(Method::POST, &["users", user, "enable"])).await
    }

    /// What a user is to the site from now on (operator).
    pub async fn set_operator_role(&self, user: &str, request: &SetOperatorRole) -> Result<UserRow> {
        self.json(Call::new(Method::PUT, &["users", user, "role"]).body(request)?).await
    }

    /// Gives a user a new one-time password (operator).
    pub async fn give_password(&self, user: &str) -> Result<OneTimePassword> {
        self.json(Call::new(Method::POST, &["users", user, "password"])).await
    }

    /// Removes the second factor of a user who has lost it (operator).
    pub async fn remove_second_factor(&self, user: &str) -> Result<()> {
        self.bytes(Call::new(Method::POST, &["users", user, "totp", "remove"])).await.map(drop)
    }

    /// One page of the audit log, newest first (operator).
    pub async fn audit_log(&self, query: &AuditQuery) -> Result<Page<AuditEntry>> {
        self.json(Call::new(Method::GET, &["audit-log"]).query(query)?).await
    }

    /// Whether the whole audit log is intact (operator).
    pub async fn check_audit_log(&self) -> Result<AuditCheck> {
        self.json(Call::new(Method::GET, &["audit-log", "check"])).await
    }

    /// For how long entries of the audit log are kept (operator).
    pub async fn audit_log_retention(&self) -> Result<Retention> {
        self.json(Call::new(Method::GET, &["audit-log", "retention"])).await
    }

    /// Keeps entries of the audit log for so long from now on (operator).
    pub async fn set_audit_log_retention(&self, request: &Retention) -> Result<Retention> {
        self.json(Call::new(Method::PUT, &["audit-log", "retention"]).body(request)?).await
    }

    /// Writes the whole audit log to `to` as lines of JSON (operator); how many those
    /// were. Errors also where it broke off: what was written by then is not whole.
    pub async fn export_audit_log(&self, to: &mut (impl AsyncWrite + Unpin)) -> Result<u64> {
        let mut body = self.open_lines(&["v1", "audit-log", "export"]).await?;
        let mut lines = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| broken_off(self.url()).context(e))?;
            if let Ok(data) = frame.into_data() {
                lines += data.iter().filter(|byte| **byte == b'\n').count() as u64;
                to.write_all(&data).await.map_err(cannot_write)?;
            }
        }
        to.flush().await.map_err(cannot_write)?;
        Ok(lines)
    }
}

fn cannot_write(error: std::io::Error) -> Error {
    Error::new(Cause::InvalidRequest, format!("the audit log cannot be written: {error}"))
        .hint("choose another place with enough room")
}
