//! Databases, as the archive uses them: the same tables and the same text for each.

mod database;
mod sqlite;

#[cfg(feature = "postgres")]
mod copy;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod security;
#[cfg(feature = "postgres")]
mod trust;

use std::path::Path;

use crate::error::ArchiveError;

pub use database::{Patience, Stop, Wait};
pub(crate) use database::{Present, Row, Store, Value};
pub(crate) use sqlite::Sqlite;

/// Returns true for the address of a database of a server, false for a file.
pub fn is_server(location: &Path) -> bool {
    let location = location.to_string_lossy();
    ["postgres://", "postgresql://"].iter().any(|scheme| location.starts_with(scheme))
}

/// The options of an address that a message may show.
const SHOWN: [&str; 10] = [
    "user",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "sslmode",
    "sslrootcert",
    "connect_timeout",
    "application_name",
    "target_session_attrs",
];

/// The name of `location` in messages: without its password.
pub(crate) fn shown(location: &Path) -> std::path::PathBuf {
    if !is_server(location) {
        return location.to_owned();
    }
    let text = location.to_string_lossy();
    let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", ""));
    let rest = without_passwords(rest);
    // The last one: a password that was not encoded may hold what separates other parts.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (user.split([':', '/', '?']).next(), rest),
        None => (None, rest.as_str()),
    };
    let (host, options) = rest.split_once('?').unwrap_or((rest, ""));
    let address = match user {
        Some(user) => format!("{user}@{host}"),
        None => host.to_owned(),
    };
    let is_shown =
        |option: &&str| SHOWN.contains(&option.split_once('=').map_or(*option, |(key, _)| key));
    // An option of another name may be a secret of a later library.
    let open: Vec<&str> = options.split('&').filter(is_shown).collect();
    let mark = if open.is_empty() { "" } else { "?" };
    debug_assert!(open.iter().all(|option| !option.starts_with("password")));
    format!("{scheme}://{address}{mark}{}", open.join("&")).into()
}

/// An address without the options that are passwords: one may hold any character but `&`.
fn without_passwords(rest: &str) -> String {
    let (mut kept, mut is_cut) = (Vec::new(), false);
    for part in rest.split('&') {
        let key = part.rfind('?').map_or(0, |mark| mark + 1);
        // Of the first `?`, too: a password may hold another.
        let first = part.find('?').map_or(0, |mark| mark + 1);
        let secret = [first, key].into_iter().find(|at| part[*at..].starts_with("password="));
        match secret {
            Some(at) => {
                kept.extend(Some(&part[..at]).filter(|before| !before.is_empty()));
                is_cut = true;
            }
            None => kept.push(part),
        }
    }
    let kept = kept.join("&");
    let cut = kept.trim_end_matches('?');
    match cut.split_once(':') {
        // The rest of the address went with what looked like a password in it.
        Some((before, port)) if is_cut && !cut.contains('@') && !is_port(port) => before.to_owned(),
        _ if is_cut => cut.replace("?&", "?"),
        _ => kept,
    }
}

fn is_port(text: &str) -> bool {
    let end = text.find(['/', '?']).unwrap_or(text.len());
    text[..end].bytes().all(|byte| byte.is_ascii_digit())
}

/// Opens a database for reading and writing.
pub(crate) fn open(location: &Path, patience: Patience) -> Result<Box<dyn Store>, ArchiveError> {
    if is_server(location) {
        return connect(location, patience);
    }
    Ok(Box::new(Sqlite::open(location, patience.busy)?))
}

/// Opens a database without making or changing anything.
pub(crate) fn open_to_read(
    location: &Path,
    patience: Patience,
) -> Result<Box<dyn Store>, ArchiveError> {
    if is_server(location) {
        return connect(location, patience);
    }
    Ok(Box::new(Sqlite::open_to_read(location)?))
}

#[cfg(feature = "postgres")]
fn connect(location: &Path, patience: Patience) -> Result<Box<dyn Store>, ArchiveError> {
    Ok(Box::new(postgres::Postgres::connect(&location.to_string_lossy(), patience)?))
}

#[cfg(not(feature = "postgres"))]
fn connect(_: &Path, _: Patience) -> Result<Box<dyn Store>, ArchiveError> {
    Err(ArchiveError::NoServers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_a_password() {
        let check = |location: &str, expected: &str| {
            assert_eq!(shown(Path::new(location)), Path::new(expected), "{location}");
        };
        check("/data/runs.db", "/data/runs.db");
        check("postgres://lab:secret@db:5433/runs", "postgres://lab@db:5433/runs");
        check("postgresql://lab:a@b@db/runs?password=x", "postgresql://lab@db/runs");
        check(
            "postgres://lab:a?b@db/runs?sslmode=require",
            "postgres://lab@db/runs?sslmode=require",
        );
        check("postgres:///runs?user=lab&password=x@y", "postgres:///runs?user=lab");
        check("postgres:///runs?password=x@y&user=lab", "postgres:///runs?user=lab");
        check("postgres://db/runs?password=p@ss?w@rd", "postgres://db/runs");
        check("postgres://db:5433/runs?pass%77ord=secret", "postgres://db:5433/runs");
        check("postgres://lab:se?password=cret@db/runs", "postgres://lab");
        check(
            "postgres://lab:a@b@db/runs?sslmode=require&password=x@y:z",
            "postgres://lab@db/runs?sslmode=require",
        );
        check(
            "postgres:///runs?host=/run/p&password=x&user=lab",
            "postgres:///runs?host=/run/p&user=lab",
        );
    }
}
