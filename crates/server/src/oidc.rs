//! Talking to OIDC providers: where somebody is sent to sign in, and who he is when
//! he comes back. Discovery, PKCE, state, nonce and the provider's keys are looked
//! at by the library; this is how it is used.

use base::{Cause, Error, Result, Span};
use futures_util::future::BoxFuture;
use http::{Request, Response};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreUserInfoClaims,
};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    TokenResponse,
};
use serde::{Deserialize, Serialize};
use store::settings::Provider;

use crate::state::App;

type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// An answer that is on its way.
type Answered = BoxFuture<'static, Result<Response<Vec<u8>>>>;

/// Signatures that count: those whose keys the provider publishes. One with the
/// client's secret, or none at all, does not.
const SIGNATURES: [CoreJwsSigningAlgorithm; 6] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
];

/// How long what a provider says of itself is taken as true: its addresses, and its
/// keys. A signature with a key that is not among them makes it asked once more.
pub const KNOWN_FOR: Span = Span::from_secs(600);

/// A sign-in that begins.
pub struct Begun {
    /// Where the browser is sent.
    pub url: String,
    /// What comes back with it, and is in a cookie of that browser.
    pub state: String,
    /// What has to be known then.
    pub proof: Proof,
}

/// What ties the answer of a provider to the question.
#[derive(Clone, Serialize, Deserialize)]
pub struct Proof {
    nonce: String,
    verifier: String,
}

/// Who somebody is, by the word of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The provider's own word for him.
    pub subject: String,
    /// His address, if the provider says that it is his.
    pub email: Option<String>,
    /// What he may be called.
    pub name: Option<String>,
}

fn away(provider: &Provider, why: impl std::fmt::Display) -> Error {
    Error::new(Cause::Unavailable, format!("{} does not answer as it should", provider.label))
        .hint("try again in a moment, or sign in with a password")
        .context(why)
}

fn refused(provider: &Provider, why: impl std::fmt::Display) -> Error {
    Error::new(Cause::Unauthenticated, format!("what {} says of this sign-in is not proven", provider.label))
        .hint("sign in once more")
        .context(why)
}

/// Begins a sign-in at a provider that sends the browser back to `back`.
///
/// # Errors
/// `unavailable` where the provider does not answer as it should.
pub async fn begin(app: &App, provider: &Provider, back: &str) -> Result<Begun> {
    let client = client(app, provider, back, Asked::IfUnknown).await?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (url, state, nonce) = client
        .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
        .add_scope(Scope::new("email".into()))
        .add_scope(Scope::new("profile".into()))
        .set_pkce_challenge(challenge)
        .url();
    let proof = Proof { nonce: nonce.secret().clone(), verifier: verifier.secret().clone() };
    Ok(Begun { url: url.to_string(), state: state.secret().clone(), proof })
}

/// Finds out who came back from a provider.
///
/// # Errors
/// `unauthenticated` where it is not proven, `unavailable` where the provider does
/// not answer.
pub async fn finish(app: &App, provider: &Provider, back: &str, code: String, proof: Proof) -> Result<Who> {
    let mut client = client(app, provider, back, Asked::IfUnknown).await?;
    let http = sender(app)?;
    let tokens = client
        .exchange_code(AuthorizationCode::new(code))
        .map_err(|e| away(provider, e))?
        .set_pkce_verifier(PkceCodeVerifier::new(proof.verifier))
        .request_async(&http)
        .await
        .map_err(|e| refused(provider, chain(&e)))?;
    let id = tokens.id_token().ok_or_else(|| refused(provider, "there is no id token"))?;
    let nonce = Nonce::new(proof.nonce);
    let claims = id.claims(&client.id_token_verifier().set_allowed_algs(SIGNATURES), &nonce);
    let claims = match claims {
        Err(ClaimsVerificationError::SignatureVerification(why)) => {
            tracing::info!(provider = provider.id, %why, "its keys are asked for once more");
            client = self::client(app, provider, back, Asked::Anyway).await?;
            id.claims(&client.id_token_verifier().set_allowed_algs(SIGNATURES), &nonce)
        }
        claims => claims,
    };
    let claims = claims.map_err(|e| refused(provider, chain(&e)))?;
    let subject = claims.subject().clone();
    let mut email = claims.email().map(|e| e.to_string()).filter(|_| claims.email_verified() == Some(true));
    let mut name = claims.preferred_username().map(|n| n.to_string());
    // Many providers tell no more than the subject there.
    if let Some(request) = (email.is_none() || name.is_none())
        .then(|| client.user_info(tokens.access_token().clone(), Some(subject.clone())))
        .and_then(std::result::Result::ok)
    {
        let more: CoreUserInfoClaims = request.request_async(&http).await.map_err(|e| away(provider, chain(&e)))?;
        email = email.or(more.email().map(|e| e.to_string()).filter(|_| more.email_verified() == Some(true)));
        name = name.or(more.preferred_username().map(|n| n.to_string()));
    }
    let email = email.and_then(|email| crate::letters::address(&email).ok());
    Ok(Who { subject: subject.to_string(), email, name })
}

/// Whether a provider is asked who it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    IfUnknown,
    Anyway,
}

async fn client(app: &App, provider: &Provider, back: &str, asked: Asked) -> Result<Client> {
    let issuer = IssuerUrl::new(provider.issuer.clone()).map_err(|e| away(provider, e))?;
    let known = app.providers.get(&provider.issuer, app.now()).filter(|_| asked == Asked::IfUnknown);
    let found = match known {
        Some(known) => known,
        None => {
            let found = CoreProviderMetadata::discover_async(issuer, &sender(app)?).await;
            let found = found.map_err(|e| away(provider, chain(&e)))?;
            app.providers.keep(&provider.issuer, found.clone(), app.now());
            found
        }
    };
    let (id, secret) = (provider.client_id.clone(), provider.client_secret.clone());
    let client = CoreClient::from_provider_metadata(found, ClientId::new(id), secret.map(ClientSecret::new));
    Ok(client.set_redirect_uri(RedirectUrl::new(back.to_owned()).map_err(|e| away(provider, e))?))
}

/// How the library asks: by the one client that also does not follow redirections.
fn sender(app: &App) -> Result<impl Fn(Request<Vec<u8>>) -> Answered> {
    let http = app.http()?;
    Ok(move |request| {
        let http = http.clone();
        Box::pin(async move { http.send(request).await }) as Answered
    })
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

/// A place of this site to go on at; whatever else a text means becomes its first page.
pub fn next(text: Option<&str>) -> String {
    let fine = |text: &&str| {
        text.starts_with('/')
            && !text.starts_with("//")
            && text.len() <= 2000
            && text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    };
    text.filter(fine).unwrap_or("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for good in ["/", "/market", "/instances/ins-1?tab=log#x", "/a//b"] {
            assert_eq!(next(Some(good)), good);
        }
        for bad in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "market", "/a b", "/\r\nX: y", "/\t/e"]
        {
            assert_eq!(next(Some(bad)), "/", "{bad:?}");
        }
        assert_eq!(next(None), "/");
    }
}
