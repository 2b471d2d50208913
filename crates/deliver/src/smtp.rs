//! Mail by SMTP.

use std::time::Duration;

use base::{Cause, Error, Result};
use lettre::message::header::{ContentTransferEncoding, ContentType};
use lettre::message::{Body, Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use store::outbox::Claimed;
use store::settings::Mail;
use url::Url;

/// How long a mail server may take for a command.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a message did not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In words, for the operator.
    pub why: String,
    /// Its address is refused for good.
    pub hopeless: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { why: error.to_string(), hopeless: false }
    }
}

/// Makes sure that the settings can be used.
///
/// # Errors
/// `invalid-request` saying what is wrong.
pub fn check(mail: &Mail) -> Result<()> {
    sender(&mail.from)?;
    address(&mail.url).map(drop)
}

/// Whether a text is an address that mail can be sent to.
pub fn is_address(text: &str) -> bool {
    text.len() <= 254
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
        && text.parse::<lettre::Address>().is_ok()
}

fn sender(from: &str) -> Result<Mailbox> {
    from.parse().map_err(|_| {
        Error::new(
            Cause::InvalidRequest,
            format!("`{}` is not an address that mail can come from", from.escape_debug()),
        )
        .hint("write it like gpu@example.org or GPU cloud <gpu@example.org>")
    })
}

fn address(text: &str) -> Result<Url> {
    // The text is not repeated: a password is in it.
    let bad = |why: &str| {
        Error::new(Cause::InvalidRequest, format!("the address of the mail server is not understood: {why}"))
            .hint("write it like smtps://user:password@mail.example.org or smtp://mail.example.org:587?tls=required")
    };
    let url = Url::parse(text).map_err(|e| bad(&e.to_string()))?;
    if !matches!(url.scheme(), "smtp" | "smtps") {
        return Err(bad("it must begin with smtp:// or smtps://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("it names no host"));
    }
    let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
    match tls.as_deref() {
        None | Some("required" | "none") => Ok(url),
        _ => Err(bad("`tls` is `required` or `none`")),
    }
}

/// The whole message as it is sent.
///
/// # Errors
/// An address that cannot be used.
pub fn message(message: &Claimed, from: &str) -> Result<Message, Failure> {
    let to: Mailbox = message
        .recipient
        .parse()
        .map_err(|_| Failure { why: "the address of the recipient is none".into(), hopeless: true })?;
    let from = sender(from)?;
    let domain = from.email.domain().to_owned();
    let built = Message::builder()
        .from(from)
        .to(to)
        .subject(message.letter.subject.as_str())
        .message_id(Some(format!("<{}@{domain}>", message.id)))
        // No machine shall answer this.
        .header(AutoSubmitted)
        .header(ContentType::TEXT_PLAIN)
        .body(body(message.letter.text.clone()));
    built.map_err(|e| Failure { why: e.to_string(), hopeless: false })
}

/// Longest line of a mail that no server breaks.
const LONGEST_LINE: usize = 900;

/// Plain text as it is where that can be sent, so that links stay whole also for
/// who looks at the file.
fn body(text: String) -> Body {
    if !text.is_ascii() || text.lines().any(|line| line.len() > LONGEST_LINE) {
        return Body::new(text);
    }
    let lines = text.replace("\r\n", "\n").replace('\n', "\r\n");
    Body::dangerous_pre_encoded(lines.into_bytes(), ContentTransferEncoding::SevenBit)
}

#[derive(Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> std::result::Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

/// Sends a message.
///
/// # Errors
/// Why it did not leave.
pub async fn send(mail: &Mail, claimed: &Claimed) -> Result<(), Failure> {
    let whole = message(claimed, &mail.from)?;
    let transport = transport(mail)?;
    match transport.send(whole).await {
        Ok(_) => Ok(()),
        Err(error) => {
            // 5.1.x means that the mailbox is not there. Whatever else is refused may be a
            // mistake in the settings, which the operator has to hear of.
            let why = told(&error);
            let hopeless = error.is_permanent() && why.contains("5.1.");
            Err(Failure { why, hopeless })
        }
    }
}

fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        source = inner.source();
    }
    text.chars().take(500).collect()
}

fn transport(mail: &Mail) -> Result<AsyncSmtpTransport<Tokio1Executor>> {
    let url = address(&mail.url)?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let plain = url.query_pairs().any(|(name, value)| name == "tls" && value == "none");
    let (tls, port) = match (url.scheme(), plain) {
        ("smtps", _) => (Tls::Wrapper(parameters(&host)?), 465),
        // Passwords and links must not be read on the way unless the operator says that there is no way.
        (_, false) => (Tls::Required(parameters(&host)?), 587),
        (_, true) => (Tls::None, 25),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .port(url.port().unwrap_or(port))
        .tls(tls)
        .hello_name(hello(&mail.from))
        .timeout(Some(PATIENCE));
    if !url.username().is_empty() {
        let part = |text: &str| crate::http::percent_decoded(text);
        builder = builder.credentials(Credentials::new(part(url.username()), part(url.password().unwrap_or_default())));
    }
    Ok(builder.build())
}

/// How this site introduces itself: by the domain that its mail comes from.
fn hello(from: &str) -> ClientId {
    match sender(from) {
        Ok(mailbox) => ClientId::Domain(mailbox.email.domain().to_owned()),
        Err(_) => ClientId::default(),
    }
}

/// Trusts the machine's authorities, or those in `SSL_CERT_FILE`.
fn parameters(host: &str) -> Result<TlsParameters> {
    TlsParameters::new_rustls(host.to_owned()).map_err(|e| {
        Error::new(Cause::HostIncomplete, "this machine has no list of trusted certificate authorities for mail")
            .hint("install the package ca-certificates, or name a PEM file in SSL_CERT_FILE")
            .context(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(url: &str, from: &str) -> Mail {
        Mail { url: url.into(), from: from.into() }
    }

    #[test]
    fn settings_that_cannot_work_are_refused_without_their_password() {
        for (url, from) in [
            ("http://mail.example", "a@b.example"),
            ("smtp://", "a@b.example"),
            ("smtp://mail.example?tls=maybe", "a@b.example"),
            ("smtps://u:s3cret-pw@mail.example", "nobody"),
            ("smtps://u:s3cret-pw@mail.example:99999", "a@b.example"),
        ] {
            let error = check(&mail(url, from)).unwrap_err();
            assert_eq!(error.cause(), Cause::InvalidRequest, "{url}");
            assert!(!error.to_string().contains("s3cret-pw") && error.hint_text().is_some());
        }
        for url in ["smtp://mail.example", "smtps://u:p%40ss@mail.example:465", "smtp://[::1]:25?tls=none"] {
            check(&mail(url, "GPU <gpu@example.org>")).unwrap();
        }
    }

    #[test]
    fn addresses_are_told_from_other_texts() {
        for good in ["a@b.example", "a.b+c@xn--fiq228c.example", "wei@例子.example"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b\r\nBcc: c@d", "a b@c.example", &format!("{}@b.example", "a".repeat(260))]
        {
            assert!(!is_address(bad), "{bad:?}");
        }
    }
}
