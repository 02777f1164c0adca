//! Why a server is not trusted as its address asks.

/// Why a server is not trusted as its address asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// The server offers no encryption.
    NotOffered,
    /// None of the authorities that are trusted vouches for it.
    UnknownAuthority,
    /// Its certificate is that of another name.
    OtherName,
    /// Its certificate is not valid yet, or not any more.
    OutOfDate,
    /// The address has no name, only a number.
    Nameless,
    /// Anything else about the certificate or the protocol.
    Other,
}

impl Distrust {
    /// The next thing to type.
    pub fn hint(self) -> &'static str {
        match self {
            Self::NotOffered => {
                "set `ssl = on` at the server; over a Unix socket or a tunnel, leave `sslmode` out"
            }
            Self::UnknownAuthority => {
                "name the certificate of the authority that issued the server's, or the server's \
                 own: sslmode=verify-full&sslrootcert=FILE"
            }
            Self::OtherName => {
                "use a name that the certificate has, or issue one that has this name as its \
                 subjectAltName"
            }
            Self::OutOfDate => "renew the certificate of the server, or set this machine's clock",
            Self::Nameless => "give the name of the server too: host=NAME&hostaddr=ADDRESS",
            Self::Other => {
                "look at the certificate: openssl s_client -starttls postgres -connect HOST:5432"
            }
        }
    }
}

#[cfg(feature = "postgres")]
impl Distrust {
    /// Why a connection did not come about, if it is for want of trust.
    pub(crate) fn of(error: &postgres::Error) -> Option<Self> {
        let cause = std::error::Error::source(error)?;
        // The library has no kind for these two, only words.
        match cause.to_string().as_str() {
            "server does not support TLS" => return Some(Self::NotOffered),
            "no hostname provided for TLS handshake" => return Some(Self::Nameless),
            _ => {}
        }
        let cause: &std::io::Error = cause.downcast_ref()?;
        let cause: &rustls::Error = cause.get_ref()?.downcast_ref()?;
        Some(Self::of_handshake(cause))
    }

    fn of_handshake(error: &rustls::Error) -> Self {
        use rustls::CertificateError as Problem;
        let rustls::Error::InvalidCertificate(problem) = error else { return Self::Other };
        match problem {
            Problem::UnknownIssuer => Self::UnknownAuthority,
            Problem::NotValidForName | Problem::NotValidForNameContext { .. } => Self::OtherName,
            Problem::Expired
            | Problem::ExpiredContext { .. }
            | Problem::NotValidYet
            | Problem::NotValidYetContext { .. } => Self::OutOfDate,
            // It signs itself, and is not listed.
            Problem::Other(other)
                if matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity)) =>
            {
                Self::UnknownAuthority
            }
            _ => Self::Other,
        }
    }
}
