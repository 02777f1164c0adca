//! Certificates that openssl made: an authority, one that it issued to `db.example`, and one of
//! `db.example` that signs itself. All begin in November 2026 and end in autumn 2036.

use std::time::Duration;

use super::*;

/// In 2030.
const VALID: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_900_000_000));
/// In 2040.
const LATER: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(2_210_000_000));

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    authorities(&file(name)).unwrap().remove(0)
}

/// Who is trusted, what the server shows, its name and the date; whether it is accepted.
#[track_caller]
fn check(trusted: (&str, Names), shown: &str, name: &str, now: UnixTime, expected: &str) {
    let provider = Arc::new(ring::default_provider());
    let trust = Trust::of(&[certificate(trusted.0)], trusted.1, &provider).unwrap();
    let name = ServerName::try_from(name).unwrap();
    let found = match trust.verify_server_cert(&certificate(shown), &[], &name, &[], now) {
        Ok(_) => "trusted".to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(found.contains(expected), "{found}");
}

#[test]
fn an_authority_vouches_for_a_server_by_its_name() {
    let full = ("authority.pem", Names::Checked);
    check(full, "issued.pem", "db.example", VALID, "trusted");
    check(full, "issued.pem", "other.example", VALID, "not valid for name");
    check(full, "issued.pem", "db.example", LATER, "expired");
    check(full, "self-signed.pem", "db.example", VALID, "CaUsedAsEndEntity");
    check(("self-signed.pem", Names::Checked), "issued.pem", "db.example", VALID, "UnknownIssuer");
}

#[test]
fn without_names_all_else_is_checked() {
    let any = ("authority.pem", Names::Any);
    check(any, "issued.pem", "other.example", VALID, "trusted");
    check(any, "issued.pem", "other.example", LATER, "expired");
    check(any, "self-signed.pem", "db.example", VALID, "CaUsedAsEndEntity");
    check(("self-signed.pem", Names::Any), "issued.pem", "db.example", VALID, "UnknownIssuer");
}

#[test]
fn a_server_that_signs_itself_is_trusted_where_it_is_listed() {
    let itself = ("self-signed.pem", Names::Checked);
    check(itself, "self-signed.pem", "db.example", VALID, "trusted");
    check(itself, "self-signed.pem", "other.example", VALID, "not valid for name");
    check(itself, "self-signed.pem", "db.example", LATER, "expired");
    check(("self-signed.pem", Names::Any), "self-signed.pem", "other.example", VALID, "trusted");
    check(("self-signed.pem", Names::Any), "self-signed.pem", "other.example", LATER, "expired");
}

#[test]
fn a_file_without_certificates_is_an_error_that_says_so() {
    let check = |name: &str, expected: &str| {
        let security = Security { mode: Mode::VerifyFull, authorities: Some(file(name)) };
        let error = connector(&security).err().expect("no authority").to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    };
    check("nothing.pem", "No such file");
    // Any file without certificates.
    check("../../Cargo.toml", "no certificate");
    check("", "directory");
}
