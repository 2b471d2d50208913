//! What the operator sets: shown without its secrets, and checked before it counts.

use api::site::{MailRequest, MailView, ProviderRequest, ProviderView, Secret, SettingsRequest, SettingsView};
use base::{Cause, Error, Result};
use domain::name::check_name;
use store::settings::{Mail, Provider, Settings, SignUp};
use url::Url;

/// Providers at most.
const MOST: usize = 20;

/// The settings without their secrets.
pub fn view(s: &Settings) -> SettingsView {
    let provider = |p: &Provider| ProviderView {
        id: p.id.clone(),
        label: p.label.clone(),
        issuer: p.issuer.clone(),
        client_id: p.client_id.clone(),
        client_secret: Secret { set: p.client_secret.is_some() },
    };
    SettingsView {
        name: s.site_name().to_owned(),
        sign_up: s.sign_up.as_str().to_owned(),
        approval: s.approval,
        public_url: s.public_url.clone(),
        identity_required: s.identity_required,
        identity_url: Secret { set: s.identity_url.is_some() },
        providers: s.providers.iter().map(provider).collect(),
        mail: MailView {
            url: Secret { set: s.mail.is_some() },
            server: s.mail.as_ref().and_then(|mail| without_password(&mail.url)),
            from: s.mail.as_ref().map(|mail| mail.from.clone()),
        },
    }
}

fn without_password(url: &str) -> Option<String> {
    let mut url = Url::parse(url).ok()?;
    url.set_password(None).ok()?;
    Some(url.to_string())
}

/// The settings with what a request changes of them. `folder`: mail leaves this
/// server even where no mail server is set.
///
/// # Errors
/// `invalid-request` naming what cannot be.
pub fn changed(mut s: Settings, request: SettingsRequest, folder: bool) -> Result<Settings> {
    if let Some(name) = request.name {
        s.name = if name.trim().is_empty() { String::new() } else { check_name(&name)? };
    }
    if let Some(word) = request.sign_up {
        s.sign_up = sign_up(&word)?;
    }
    s.approval = request.approval.unwrap_or(s.approval);
    s.identity_required = request.identity_required.unwrap_or(s.identity_required);
    if let Some(text) = request.public_url {
        s.public_url = if text.is_empty() { text } else { web(&text, "public_url")?.trim_end_matches('/').to_owned() };
    }
    if let Some(text) = request.identity_url {
        s.identity_url = if text.is_empty() { None } else { Some(web(&text, "identity_url")?) };
    }
    if let Some(wanted) = request.providers {
        s.providers = providers(&s.providers, wanted)?;
    }
    if let Some(wanted) = request.mail {
        s.mail = mail(s.mail, wanted)?;
    }
    if s.sign_up == SignUp::Email && s.mail.is_none() && !folder {
        return Err(Error::new(Cause::InvalidRequest, "without mail nobody can sign up by e-mail")
            .hint("set the mail server first: `suanli site set mail.url` and `suanli site set mail.from`"));
    }
    Ok(s)
}

fn sign_up(word: &str) -> Result<SignUp> {
    let all = [SignUp::Closed, SignUp::Invitation, SignUp::Email];
    all.into_iter().find(|one| one.as_str() == word).ok_or_else(|| {
        Error::new(Cause::InvalidRequest, format!("`{}` is no way to sign up", word.escape_debug()))
            .hint("choose from closed, invitation, email")
    })
}

/// An address of the web. The text is not repeated: there may be a key in it.
fn web(text: &str, what: &str) -> Result<String> {
    let url = Url::parse(text).ok().filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
    url.filter(|u| u.fragment().is_none()).map(|_| text.to_owned()).ok_or_else(|| {
        Error::new(Cause::InvalidRequest, format!("`{what}` is no address of the web"))
            .hint("write it like https://gpu.example.org")
    })
}

fn providers(old: &[Provider], wanted: Vec<ProviderRequest>) -> Result<Vec<Provider>> {
    let bad = |what: String| Error::new(Cause::InvalidRequest, what);
    if wanted.len() > MOST {
        return Err(bad(format!("there can be at most {MOST} providers")));
    }
    let mut new: Vec<Provider> = Vec::new();
    for p in wanted {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if p.id.is_empty() || p.id.len() > 40 || !p.id.chars().all(fine) {
            return Err(bad(format!("`{}` is no id for a provider", p.id.escape_debug()))
                .hint("use small letters, digits and `-`"));
        }
        if new.iter().any(|other| other.id == p.id) {
            return Err(bad(format!("the provider `{}` is there twice", p.id)));
        }
        if p.client_id.is_empty() {
            return Err(bad(format!("the provider `{}` has no client_id", p.id)));
        }
        let kept = old.iter().find(|o| o.id == p.id).and_then(|o| o.client_secret.clone());
        new.push(Provider {
            label: p.label.as_deref().map_or_else(|| Ok(p.id.clone()), check_name)?,
            issuer: web(&p.issuer, "issuer")?,
            client_id: p.client_id,
            client_secret: p.client_secret.map_or(kept, |secret| Some(secret).filter(|s| !s.is_empty())),
            id: p.id,
        });
    }
    Ok(new)
}

fn mail(old: Option<Mail>, wanted: MailRequest) -> Result<Option<Mail>> {
    if wanted.url.as_deref() == Some("") {
        return Ok(None);
    }
    let (url, from) = old.map(|mail| (mail.url, mail.from)).unzip();
    let (url, from) = (wanted.url.or(url), wanted.from.or(from));
    let (Some(url), Some(from)) = (url, from) else {
        return Err(Error::new(Cause::InvalidRequest, "mail needs both a server (`url`) and a sender (`from`)")
            .hint("set both at once, such as `suanli site set mail.url URL mail.from ADDRESS`"));
    };
    let mail = Mail { url, from };
    deliver::smtp::check(&mail)?;
    Ok(Some(mail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: &str, secret: Option<&str>) -> ProviderRequest {
        ProviderRequest {
            id: id.into(),
            label: None,
            issuer: "https://id.example".into(),
            client_id: "suanli".into(),
            client_secret: secret.map(str::to_owned),
        }
    }

    fn with(providers: Vec<ProviderRequest>) -> SettingsRequest {
        SettingsRequest { providers: Some(providers), ..SettingsRequest::default() }
    }

    #[test]
    fn secrets_are_kept_until_they_are_replaced_and_never_shown() {
        let s = changed(Settings::default(), with(vec![provider("lab", Some("hush-1"))]), false).unwrap();
        let s = changed(s, with(vec![provider("lab", None), provider("other", None)]), false).unwrap();
        assert_eq!(s.providers[0].client_secret.as_deref(), Some("hush-1"));
        let mail = MailRequest { url: Some("smtps://u:hush-2@mail.example".into()), from: Some("a@b.example".into()) };
        let s = changed(s, SettingsRequest { mail: Some(mail), ..SettingsRequest::default() }, false).unwrap();
        let shown = serde_json::to_string(&view(&s)).unwrap();
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("smtps://u@mail.example"), "{shown}");
        let s = changed(s, with(vec![provider("lab", Some(""))]), false).unwrap();
        assert_eq!((s.providers.len(), s.providers[0].client_secret.as_deref()), (1, None));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let text = |text: &str| Some(text.to_owned());
        let none = SettingsRequest::default;
        for request in [
            SettingsRequest { sign_up: text("anyone"), ..none() },
            SettingsRequest { sign_up: text("email"), ..none() },
            SettingsRequest { public_url: text("gpu.example"), ..none() },
            SettingsRequest { identity_url: text("file:///etc/passwd"), ..none() },
            SettingsRequest { mail: Some(MailRequest { url: text("smtp://m.example"), from: None }), ..none() },
            with(vec![provider("A", None)]),
            with(vec![provider("a", None), provider("a", None)]),
        ] {
            let shown = format!("{request:?}");
            assert_eq!(
                changed(Settings::default(), request, false).unwrap_err().cause(),
                Cause::InvalidRequest,
                "{shown}"
            );
        }
        let url = SettingsRequest { public_url: text("https://gpu.example/"), ..none() };
        assert_eq!(changed(Settings::default(), url, false).unwrap().public_url, "https://gpu.example");
    }
}
