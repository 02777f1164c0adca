//! Access and the rights of pages: the headers of requests and of answers.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use drivelab_core::loopback::Head;
use sha2::{Digest as _, Sha256};

/// The answer to a request that is refused.
pub(crate) fn refusal(request: &Request) -> Option<Response> {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let authority = request.uri().authority().map(Authority::as_str);
    let refused = Head { method: request.method().as_str(), authority, headers }.check().err()?;
    let status = StatusCode::from_u16(refused.status()).expect("a status of HTTP");
    Some((status, format!("{refused}\n")).into_response())
}

/// The headers of every answer: only the scripts of the report run, and nothing is loaded from
/// anywhere.
pub(crate) fn headers() -> [(HeaderName, HeaderValue); 7] {
    let [library, own] = drivelab_report::page::scripts();
    let hashes = [library, own, drivelab_report::viewer::running::script()].map(|script| {
        format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script.as_bytes())))
    });
    debug_assert!(hashes.iter().all(|hash| hash.ends_with('\'')), "each is quoted");
    // Positions of bars are styles of elements, which have no hashes.
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
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_pages_of_loopback_may_ask() {
        let check = |uri: &str, headers: &[(&str, &str)], expected: Option<u16>| {
            let mut request = Request::builder().uri(uri);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let refusal = refusal(&request.body(Body::empty()).unwrap());
            assert_eq!(refusal.map(|it| it.status().as_u16()), expected, "{uri} {headers:?}");
        };
        let host = ("Host", "127.0.0.1:8707");
        check("/", &[host], None);
        check("/", &[], Some(400));
        check("/", &[host, host], Some(400));
        check("/", &[("Host", "localhost:+80")], Some(400));
        check("/", &[("Host", "evil.example:8707")], Some(403));
        check("/", &[host, ("Origin", "http://127.0.0.1:8707")], None);
        check("/", &[host, ("Origin", "null")], Some(403));
        check("http://evil.example/", &[host], Some(403));
        check("/", &[host, ("Sec-Fetch-Site", "cross-site")], Some(403));
        let link = ("Sec-Fetch-Mode", "navigate");
        check("/", &[host, ("Sec-Fetch-Site", "cross-site"), link], None);
    }
}
