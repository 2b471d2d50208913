//! Which certificates are trusted: those of the machine.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Cause, Error, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Where the common distributions keep the bundle of trusted authorities.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS configuration for `https` and `wss`, with the machine's trusted
/// authorities; `SSL_CERT_FILE` names another bundle.
///
/// # Errors
/// `host-incomplete` when no trusted authority can be read.
pub fn config() -> Result<Arc<ClientConfig>> {
    let chosen = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let bundle = chosen.or_else(|| BUNDLES.iter().map(PathBuf::from).find(|path| path.exists()));
    let mut roots = RootCertStore::empty();
    if let Some(path) = &bundle {
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| no_roots().context(e))?;
        roots.add_parsable_certificates(certificates.flatten());
    }
    if roots.is_empty() {
        return Err(no_roots());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn no_roots() -> Error {
    Error::new(
        Cause::HostIncomplete,
        "this machine has no list of trusted certificate authorities, so https cannot be checked",
    )
    .hint("install the package ca-certificates, or name a PEM file in SSL_CERT_FILE")
}
