//! The security that the address of a server asks for: `sslmode` and `sslrootcert`.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::SslMode;

use crate::error::ArchiveError;

/// The proof that a connection to a server must give; the words are those of libpq.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing is encrypted.
    Disable,
    /// Encrypted where the server offers it.
    #[default]
    Prefer,
    /// Encrypted, with any server.
    Require,
    /// Encrypted, and an authority that the user names vouches for the server.
    VerifyCa,
    /// The same, and the server has the name that the address has.
    VerifyFull,
}

const MODES: [(&str, Mode); 5] = [
    ("disable", Mode::Disable),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

/// The security that the address of a server asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Security {
    pub(super) mode: Mode,
    /// A file with certificates of authorities; those of the system where there is none.
    pub(super) authorities: Option<PathBuf>,
}

/// Reads the address of a server: what the library knows of it, and the rest.
pub(super) fn read(address: &str) -> Result<(Config, Security), ArchiveError> {
    let (plain, asked) = split(address)?;
    let security = Security::of(&asked)?;
    let mut config: Config =
        plain.parse().map_err(|error: postgres::Error| ArchiveError::Address(because(&error)))?;
    config.ssl_mode(match security.mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    });
    Ok((config, security))
}

/// An error of the library with its cause, which alone says which option it means.
fn because(error: &postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The values of the two options that the library does not know, or not all of.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    mode: Option<String>,
    authorities: Option<String>,
}

/// Takes the two options out of an address.
fn split(address: &str) -> Result<(String, Asked), ArchiveError> {
    // A password may hold a question mark.
    let after_user = address.find('@').map_or(0, |at| at + 1);
    let Some(mark) = address[after_user..].find('?').map(|mark| after_user + mark) else {
        return Ok((address.to_owned(), Asked::default()));
    };
    let (mut asked, mut others) = (Asked::default(), Vec::new());
    for option in address[mark + 1..].split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let option = match name {
            "sslmode" => &mut asked.mode,
            "sslrootcert" => &mut asked.authorities,
            _ => {
                others.push(option);
                continue;
            }
        };
        // Twice is refused: programs differ in which of the two counts.
        let value = percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| ArchiveError::Address(format!("`{name}` is not valid UTF-8")))?;
        if option.replace(value.into_owned()).is_some() {
            return Err(ArchiveError::Address(format!("`{name}` is given twice")));
        }
    }
    let plain = &address[..mark];
    debug_assert!(!plain[after_user..].contains('?'), "the first mark behind the user");
    let plain = if others.iter().all(|option| option.is_empty()) {
        plain.to_owned()
    } else {
        format!("{plain}?{}", others.join("&"))
    };
    Ok((plain, asked))
}

fn refuse(why: &str) -> Result<Security, ArchiveError> {
    Err(ArchiveError::Address(why.to_owned()))
}

impl Security {
    fn of(asked: &Asked) -> Result<Self, ArchiveError> {
        let mode = asked.mode.as_deref().map(mode).transpose()?.unwrap_or_default();
        // `system` is libpq's word for the authorities of the system.
        let is_system = asked.authorities.as_deref() == Some("system");
        let authorities = asked.authorities.as_ref().filter(|_| !is_system).map(PathBuf::from);
        if asked.authorities.as_deref() == Some("") {
            return refuse("`sslrootcert` names no file");
        }
        match mode {
            // A server that offers no encryption would never show its certificate.
            Mode::Disable | Mode::Prefer if asked.authorities.is_some() => {
                refuse("`sslrootcert` has no effect without `sslmode=verify-full`")
            }
            Mode::Require | Mode::VerifyCa if is_system => {
                refuse("`sslrootcert=system` is for `sslmode=verify-full` alone")
            }
            Mode::VerifyCa if authorities.is_none() => {
                refuse("`sslmode=verify-ca` needs `sslrootcert=FILE`")
            }
            // As in libpq.
            Mode::Require if authorities.is_some() => {
                Ok(Self { mode: Mode::VerifyCa, authorities })
            }
            _ => Ok(Self { mode, authorities }),
        }
    }
}

fn mode(word: &str) -> Result<Mode, ArchiveError> {
    MODES.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode).ok_or_else(|| {
        let known = MODES.map(|(word, _)| word).join(", ");
        ArchiveError::Address(format!("`sslmode={word}` is not one of {known}"))
    })
}

#[cfg(test)]
mod tests {
    use drivelab_core::Invalid;

    use super::*;

    fn security(options: &str) -> Result<Security, Invalid> {
        let address = format!("postgres://lab@db.example/runs{options}");
        read(&address).map(|(_, security)| security).map_err(Invalid::new)
    }

    #[test]
    fn each_mode_is_what_it_says() {
        let check = |options: &str, mode, authorities: Option<&str>| {
            let authorities = authorities.map(PathBuf::from);
            assert_eq!(security(options), Ok(Security { mode, authorities }), "{options}");
        };
        check("", Mode::Prefer, None);
        check("?sslmode=disable", Mode::Disable, None);
        check("?connect_timeout=3&sslmode=require", Mode::Require, None);
        check("?sslmode=verify-full&sslrootcert=system", Mode::VerifyFull, None);
        check(
            "?sslrootcert=/etc/ca%20%26.pem&sslmode=verify-ca",
            Mode::VerifyCa,
            Some("/etc/ca &.pem"),
        );
        check("?sslmode=require&sslrootcert=ca.pem", Mode::VerifyCa, Some("ca.pem"));
    }

    #[test]
    fn nothing_weaker_than_asked_for_is_accepted() {
        let check = |options: &str, expected: &str| {
            let found = security(options).unwrap_err();
            assert!(found.0.contains(expected), "{options}: {found}");
        };
        check("?sslmode=Require", "`sslmode=Require` is not one of disable, prefer");
        check("?sslmode=allow", "not one of");
        check("?sslmode", "not one of");
        check("?sslmode=require&sslmode=disable", "`sslmode` is given twice");
        check("?sslrootcert=ca.pem", "`sslmode=verify-full`");
        check("?sslrootcert=&sslmode=verify-full", "names no file");
        check("?sslmode=disable&sslrootcert=ca.pem", "no effect");
        check("?sslmode=verify-ca", "needs `sslrootcert=FILE`");
        check("?sslmode=require&sslrootcert=system", "alone");
        check("?sslmode=%ff", "not valid UTF-8");
        check("?sslcert=me.pem", "sslcert");
    }

    #[test]
    fn the_rest_of_an_address_stays() {
        let check = |address: &str, expected: &str| {
            assert_eq!(split(address).unwrap().0, expected, "{address}");
        };
        check("postgres://lab@db/runs", "postgres://lab@db/runs");
        check("postgres://lab@db/runs?sslmode=require", "postgres://lab@db/runs");
        check("postgres://lab:a?sslmode=x@db/runs", "postgres://lab:a?sslmode=x@db/runs");
        check(
            "postgres:///runs?host=%2Frun&sslmode=disable&user=lab",
            "postgres:///runs?host=%2Frun&user=lab",
        );
    }
}
