//! Who we are to an Incus, and which Incus we believe.
//!
//! Incus makes its own certificate, which no authority has signed: exactly the one
//! that was shown when the zone was added counts, whatever name it carries.

use std::sync::Arc;

use base::{Cause, Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

fn bad(what: &str, context: impl std::fmt::Display) -> Error {
    Error::new(Cause::InvalidRequest, format!("{what} is not understood"))
        .hint("give a PEM file, as Incus keeps it beside its socket (server.crt, cluster.crt)")
        .context(context)
}

/// A configuration that shows `identity` and believes `pinned`.
pub fn config(identity: &[u8], pinned: &[u8]) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned = CertificateDer::from_pem_slice(pinned).map_err(|e| bad("the certificate of Incus", e))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(identity).flatten().collect();
    if certificates.is_empty() {
        return Err(bad("our own certificate", "no certificate in the text"));
    }
    let key = PrivateKeyDer::from_pem_slice(identity).map_err(|e| bad("our own key", e))?;
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { certificate: pinned, provider }))
        .with_client_auth_cert(certificates, key)
        .map_err(|e| bad("our own certificate", e))?;
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.certificate.as_ref() {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("another certificate than the one that this zone was added with".into()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
