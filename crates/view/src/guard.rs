//! Who may ask, and what a page may do: the headers of requests and of answers.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// The names of this machine that lead to loopback. A page of another name whose address changes to
/// loopback (DNS rebinding) has its own name in `Host`.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Why a request is refused.
pub(crate) fn refusal(headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Some("one `Host` header is needed");
    };
    let host = host.to_str().unwrap_or_default();
    if !is_loopback(host) {
        return Some("`Host` is not loopback");
    }
    let is_ours = |origin: &HeaderValue| {
        origin.to_str().ok().and_then(|it| it.strip_prefix("http://")) == Some(host)
    };
    headers.get_all(ORIGIN).iter().any(|it| !is_ours(it)).then_some("`Origin` is another page")
}

/// Any port: the way here may lead through a tunnel.
fn is_loopback(host: &str) -> bool {
    NAMES.iter().any(|name| {
        let port = host.strip_prefix(name);
        port.is_some_and(|port| {
            port.is_empty() || port.strip_prefix(':').is_some_and(|it| it.parse::<u16>().is_ok())
        })
    })
}

/// What every answer says: only the scripts of the report run, and nothing is loaded from anywhere.
pub(crate) fn headers() -> [(HeaderName, HeaderValue); 7] {
    let [library, own] = drivelab_report::page::scripts();
    let hashes = [library, own, drivelab_report::viewer::running::script()].map(|script| {
        format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script.as_bytes())))
    });
    // Places of bars are styles of elements, which have no hashes.
    let policy = format!(
        "default-src 'none'; script-src{}; style-src 'unsafe-inline'; connect-src 'self'; form-action \
         'self'; base-uri 'none'; frame-ancestors 'none'",
        hashes.concat()
    );
    let policy = HeaderValue::try_from(policy).expect("plain letters");
    let of = HeaderValue::from_static;
    let named = HeaderName::from_static;
    [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, of("nosniff")),
        (REFERRER_POLICY, of("same-origin")),
        (CACHE_CONTROL, of("no-store")),
        (named("x-frame-options"), of("DENY")),
        (named("cross-origin-resource-policy"), of("same-origin")),
        (named("cross-origin-opener-policy"), of("same-origin")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &[&'static str], origin: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, values) in [(HOST, host), (ORIGIN, origin)] {
            for value in values {
                headers.append(&name, HeaderValue::from_static(value));
            }
        }
        headers
    }

    #[test]
    fn only_pages_of_loopback_may_ask() {
        let check = |host: &[&'static str], origin: &[&'static str], is_let_in: bool| {
            let refusal = refusal(&asked(host, origin));
            assert_eq!(refusal.is_none(), is_let_in, "{host:?} {origin:?}: {refusal:?}");
        };
        check(&["127.0.0.1:8707"], &[], true);
        check(&["localhost:1"], &["http://localhost:1"], true);
        check(&["[::1]:8707"], &["http://[::1]:8707"], true);
        check(&["localhost"], &[], true);
        check(&[], &[], false);
        check(&["localhost", "localhost"], &[], false);
        check(&["evil.example:8707"], &[], false);
        check(&["127.0.0.1.evil.example"], &[], false);
        check(&["localhost.evil.example:8707"], &[], false);
        check(&["localhost:80:80"], &[], false);
        check(&["127.0.0.2"], &[], false);
        check(&["localhost:8707"], &["http://evil.example"], false);
        check(&["localhost:8707"], &["http://localhost:3000"], false);
        check(&["localhost:8707"], &["https://localhost:8707"], false);
        check(&["localhost:8707"], &["null"], false);
        check(&["localhost:8707"], &["http://localhost:8707", "http://evil.example"], false);
    }
}
