//! What the operator has set for the site (operator).

use api::site::{MailRequest, ProviderRequest, SettingsRequest, SettingsView};
use base::{Cause, Error, Result};
use clap::{Args, Subcommand};

use super::Outcome;
use crate::login_file;
use crate::output::{Output, Table};
use crate::terminal;

/// Keys that can be set, with what they take.
const KEYS: &str = "\
Keys:
  name               name of the site
  sign_up            closed, invitation or email
  approval           yes or no: whether an operator approves whom no operator has invited
  public_url         where browsers find the console
  identity_required  yes or no: whether only identified users may rent
  identity_url       service that checks identities; `` for none
  mail.url           smtps://user:password@host or smtp://…; `` for none
  mail.from          sender of mail
  oidc.ID            issuer client_id [client_secret [label]], separated by blanks; `` removes it";

/// Settings of the site: who may sign up, mail, sign-in elsewhere (operator)
#[derive(Debug, Subcommand)]
pub enum Site {
    /// Show what is set; secrets are never shown
    Show,
    /// Set one or more keys
    Set(Set),
}

#[derive(Debug, Args)]
#[command(after_help = KEYS)]
pub struct Set {
    /// Key and value, again and again; a value `-` is read from standard input, a line each
    #[arg(value_name = "KEY VALUE", required = true, num_args = 2.., allow_hyphen_values = true)]
    pairs: Vec<String>,
}

impl Site {
    pub async fn run(self, out: &Output) -> Outcome {
        let client = login_file::client()?;
        let settings = match self {
            Self::Show => client.site_settings().await?,
            Self::Set(set) => {
                let old = client.site_settings().await?;
                client.set_site_settings(&request(&set.pairs, &old)?).await?
            }
        };
        out.result(&settings, |out| words(&settings, out));
        Ok(0)
    }
}

fn request(pairs: &[String], old: &SettingsView) -> Result<SettingsRequest> {
    let mut request = SettingsRequest::default();
    let mut chunks = pairs.chunks_exact(2);
    for pair in &mut chunks {
        let [key, value] = pair else { continue };
        let value = if value == "-" { terminal::read_line(std::io::stdin().lock())? } else { value.clone() };
        set(&mut request, old, key, value)?;
    }
    match chunks.remainder() {
        [key, ..] => Err(Error::new(Cause::InvalidRequest, format!("`{key}` has no value")).hint("write KEY VALUE")),
        [] => Ok(request),
    }
}

fn set(request: &mut SettingsRequest, old: &SettingsView, key: &str, value: String) -> Result<()> {
    let mail = || MailRequest::default();
    match key {
        "name" => request.name = Some(value),
        "sign_up" => request.sign_up = Some(value),
        "approval" => request.approval = Some(yes(&value)?),
        "public_url" => request.public_url = Some(value),
        "identity_required" => request.identity_required = Some(yes(&value)?),
        "identity_url" => request.identity_url = Some(value),
        "mail.url" => request.mail.get_or_insert_with(mail).url = Some(value),
        "mail.from" => request.mail.get_or_insert_with(mail).from = Some(value),
        _ => match key.strip_prefix("oidc.") {
            Some(id) => provider(request, old, id, &value)?,
            None => {
                return Err(Error::new(Cause::InvalidRequest, format!("`{}` is no key", key.escape_debug()))
                    .hint("`suanli site set --help` lists the keys"));
            }
        },
    }
    Ok(())
}

fn yes(value: &str) -> Result<bool> {
    match value {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(Error::new(Cause::InvalidRequest, format!("`{}` is neither yes nor no", value.escape_debug()))
            .hint("write yes or no")),
    }
}

/// One provider changes, the others stay; their secrets are kept by the server.
fn provider(request: &mut SettingsRequest, old: &SettingsView, id: &str, value: &str) -> Result<()> {
    let all = request.providers.get_or_insert_with(|| {
        let kept = |p: &api::site::ProviderView| ProviderRequest {
            id: p.id.clone(),
            label: Some(p.label.clone()),
            issuer: p.issuer.clone(),
            client_id: p.client_id.clone(),
            client_secret: None,
        };
        old.providers.iter().map(kept).collect()
    });
    all.retain(|p| p.id != id);
    let mut words = value.split_whitespace();
    let Some(issuer) = words.next() else { return Ok(()) };
    let Some(client_id) = words.next() else {
        return Err(Error::new(
            Cause::InvalidRequest,
            format!("the provider `{}` has no client_id", id.escape_debug()),
        )
        .hint("write: issuer client_id [client_secret [label]]"));
    };
    let client_secret = words.next().map(str::to_owned);
    let label: Vec<&str> = words.collect();
    let label = Some(label.join(" ")).filter(|label| !label.is_empty());
    let (id, issuer, client_id) = (id.to_owned(), issuer.to_owned(), client_id.to_owned());
    all.push(ProviderRequest { id, label, issuer, client_id, client_secret });
    Ok(())
}

fn words(s: &SettingsView, out: &Output) -> String {
    let kept = |set: bool| if set { "set (not shown)" } else { "not set" };
    let switch = |on: bool| if on { "yes" } else { "no" };
    let mut facts = Table::new(&[]);
    facts.fact("name", s.name.as_str());
    facts.fact("sign_up", s.sign_up.as_str());
    facts.fact("approval", switch(s.approval));
    facts.fact("public_url", if s.public_url.is_empty() { "not set" } else { s.public_url.as_str() });
    facts.fact("identity_required", switch(s.identity_required));
    facts.fact("identity_url", kept(s.identity_url.set));
    facts.fact("mail.url", s.mail.server.as_deref().unwrap_or("not set"));
    facts.fact("mail.from", s.mail.from.as_deref().unwrap_or("not set"));
    for p in &s.providers {
        let what = format!("{} at {} as {}, secret {}", p.label, p.issuer, p.client_id, kept(p.client_secret.set));
        facts.fact(&format!("oidc.{}", p.id), what);
    }
    facts.render(out.paint)
}
