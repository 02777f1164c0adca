//! Whom a connection to a server trusts: what the server's certificate must be.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::security::{Mode, Security};
use crate::error::ArchiveError;
use drivelab_core::Invalid;

/// Makes encrypted connections as `security` asks for them.
pub(super) fn connector(security: &Security) -> Result<MakeRustlsConnect, ArchiveError> {
    let provider = Arc::new(ring::default_provider());
    let names = match security.mode {
        Mode::VerifyFull => Names::Checked,
        _ => Names::Any,
    };
    let trust = match &security.authorities {
        Some(file) => Trust::of(&authorities(file)?, names, &provider)
            .map_err(|why| certificates(file, &why))?,
        None if security.mode == Mode::VerifyFull => return system(),
        None => Trust::any(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the library's own provider has the library's own protocols")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Trusts the authorities that the system trusts.
fn system() -> Result<MakeRustlsConnect, ArchiveError> {
    // Some of them may be broken while others are of use.
    MakeRustlsConnect::with_native_certs().map(|(connector, _)| connector).map_err(|errors| {
        let why = errors.first().map_or_else(|| "it has none".to_owned(), ToString::to_string);
        certificates(Path::new("system"), &why)
    })
}

fn certificates(file: &Path, why: &impl ToString) -> ArchiveError {
    ArchiveError::Certificates { file: file.to_owned(), why: why.to_string() }
}

/// The certificates of a file.
fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, ArchiveError> {
    let read = CertificateDer::pem_file_iter(file);
    let read = read.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| match error {
        pem::Error::Io(error) => certificates(file, &error),
        other => certificates(file, &other),
    })?;
    // A file of keys has no certificates, and would vouch for nothing.
    if found.is_empty() {
        return Err(certificates(file, &"it has no certificate in PEM form"));
    }
    Ok(found)
}

/// The check of the name by which a server was addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Checked,
    Any,
}

/// The demands on a server's certificate.
#[derive(Debug)]
struct Trust {
    /// The authorities that may vouch for it; any server is trusted where there is none.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The same as they stand in the user's file.
    listed: Vec<CertificateDer<'static>>,
    names: Names,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    /// Trusts any server: the connection is encrypted, and no more.
    fn any(provider: &CryptoProvider) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        Self { chain: None, listed: Vec::new(), names: Names::Any, algorithms }
    }

    /// Trusts servers for which one of `listed` vouches.
    fn of(
        listed: &[CertificateDer<'static>],
        names: Names,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Invalid> {
        let mut roots = RootCertStore::empty();
        for certificate in listed {
            roots.add(certificate.clone()).map_err(Invalid::new)?;
        }
        let chain = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider))
            .build()
            .map_err(Invalid::new)?;
        let algorithms = provider.signature_verification_algorithms;
        Ok(Self { chain: Some(chain), listed: listed.to_vec(), names, algorithms })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let problem = match chain.verify_server_cert(certificate, between, name, status, now) {
            Err(Error::InvalidCertificate(problem)) => problem,
            other => return other,
        };
        // The last check: all others have passed.
        if is_other_name(&problem) && self.names == Names::Any {
            return Ok(ServerCertVerified::assertion());
        }
        if is_own_authority(&problem) && self.listed.contains(certificate) {
            if self.names == Names::Checked {
                let parsed = ParsedCertificate::try_from(certificate)?;
                rustls::client::verify_server_name(&parsed, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(problem))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    // Also of a server that is not known: a password's proof is bound to the certificate
    // (SCRAM-SHA-256-PLUS), which is worth nothing unless the server holds its key.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Returns true for a certificate that is in order, but another's.
fn is_other_name(problem: &CertificateError) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(problem, NotValidForName | NotValidForNameContext { .. })
}

/// Returns true if a server shows the certificate of an authority as its own. Most that sign
/// themselves do (`openssl req -x509` makes such); where the user lists the very certificate, it is
/// trusted. The library has checked its dates before it says so.
fn is_own_authority(problem: &CertificateError) -> bool {
    let CertificateError::Other(other) = problem else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

#[cfg(test)]
mod tests;
