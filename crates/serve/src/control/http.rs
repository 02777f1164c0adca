//! The part of HTTP/1.1 that the control port needs: one request, with a small body.

use drivelab_core::loopback::{Head, Refused};

/// The largest accepted head and body.
const HEAD_BYTES_MAX: usize = 8 << 10;
const BODY_BYTES_MAX: usize = 64 << 10;

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` and so on.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// The body.
    pub body: String,
    headers: Vec<(String, Vec<u8>)>,
}

/// The reason why a request cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// Not HTTP.
    #[error("this is not an HTTP/1.1 request")]
    Malformed,
    /// Larger than any valid request.
    #[error("the request is too large")]
    TooLarge,
}

/// Maximum number of headers; curl and browsers send about ten.
const HEADERS_MAX: usize = 64;

/// Reads a request; `None` while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<HttpRequest>, Bad> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    // At most the largest head: a client that sends more never completes it.
    let end = match head.parse(&bytes[..bytes.len().min(HEAD_BYTES_MAX)]) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Bad::TooLarge);
        }
        Err(_) => return Err(Bad::Malformed),
    };
    let (method, target) = head.method.zip(head.path).ok_or(Bad::Malformed)?;
    if !target.starts_with('/') {
        return Err(Bad::Malformed);
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut length = None;
    for header in &*head.headers {
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let stated = body_length(header.value)?;
                // RFC 9112, 6.3: two lengths that differ cannot be recovered from.
                if length.is_some_and(|length| length != stated) {
                    return Err(Bad::Malformed);
                }
                length = Some(stated);
            }
            // Chunked bodies are not needed, and mixing both framings is how requests are smuggled.
            "transfer-encoding" => return Err(Bad::Malformed),
            _ => {}
        }
    }
    let length = length.unwrap_or(0);
    if length > BODY_BYTES_MAX {
        return Err(Bad::TooLarge);
    }
    debug_assert!(end <= bytes.len(), "the head was parsed from these bytes");
    let Some(body) = bytes[end..].get(..length) else { return Ok(None) };
    let body = std::str::from_utf8(body).map_err(|_| Bad::Malformed)?.to_owned();
    let headers = head.headers.iter().map(|it| (it.name.to_owned(), it.value.to_owned())).collect();
    Ok(Some(HttpRequest { method: method.to_owned(), path, body, headers }))
}

/// RFC 9110, 8.6: digits alone.
fn body_length(value: &[u8]) -> Result<usize, Bad> {
    let value = std::str::from_utf8(value).map_err(|_| Bad::Malformed)?.trim();
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Bad::Malformed);
    }
    // More digits than a number holds are a body that is too large as well.
    value.parse().map_err(|_| Bad::TooLarge)
}

impl HttpRequest {
    /// Checks that it was addressed to this machine and, if a browser sent it, does not come from a
    /// page of another server.
    pub(crate) fn check_local(&self) -> Result<(), Refused> {
        self.head().check()
    }

    /// Checks that it names one host, as every request of HTTP/1.1 must.
    pub(crate) fn check_host(&self) -> Result<(), Refused> {
        self.head().host().map(|_| ())
    }

    fn head(&self) -> Head<'_> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        Head { method: &self.method, authority: None, headers: headers.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once_it_is_whole() {
        let text = b"POST /faults?x=1 HTTP/1.1\r\nhost: localhost\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Ok(None), "{end}");
        }
        let request = parse(text).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.body.as_str()), ("/faults", "{}"));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        let check = |text: &str, expected| assert_eq!(parse(text.as_bytes()), Err(expected));
        check("NBDMAGIC\r\n\r\n", Bad::Malformed);
        check("GET /stats HTTP/1.1\r\nno colon\r\n\r\n", Bad::Malformed);
        check("GET stats HTTP/1.1\r\n\r\n", Bad::Malformed);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Bad::Malformed);
        check("POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n{}", Bad::Malformed);
        check(
            "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
            Bad::Malformed,
        );
        check("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", Bad::TooLarge);
        check(&"x".repeat(10_000), Bad::TooLarge);
        check(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65)), Bad::TooLarge);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
            let _ = parse(&[b"POST / HTTP/1.1\r\n", &bytes[..], b"\r\n\r\n"].concat());
        }
    }
}
