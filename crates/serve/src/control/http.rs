//! The part of HTTP/1.1 that the control port needs: one request, with a small body.

/// The longest head and the longest body that are accepted.
const LONGEST_HEAD: usize = 8 << 10;
const LONGEST_BODY: usize = 64 << 10;

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` and so on.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// The body.
    pub body: String,
    host: Option<String>,
    origin: Option<String>,
}

/// Why it cannot be read.
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
const MOST_HEADERS: usize = 64;

/// Reads a request; `None` while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<HttpRequest>, Bad> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let end = match head.parse(&bytes[..bytes.len().min(LONGEST_HEAD)]) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Ok(None),
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
    let (method, body) = (method.to_owned(), String::new());
    let mut request = HttpRequest { method, path, body, host: None, origin: None };
    let mut length = 0;
    for header in head.headers {
        let value = std::str::from_utf8(header.value).map_err(|_| Bad::Malformed)?.trim();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.host = Some(value.to_owned()),
            "origin" => request.origin = Some(value.to_owned()),
            "content-length" => length = value.parse().map_err(|_| Bad::Malformed)?,
            "transfer-encoding" => return Err(Bad::Malformed),
            _ => {}
        }
    }
    if length > LONGEST_BODY {
        return Err(Bad::TooLarge);
    }
    let Some(body) = bytes[end..].get(..length) else { return Ok(None) };
    let body = std::str::from_utf8(body).map_err(|_| Bad::Malformed)?.to_owned();
    Ok(Some(HttpRequest { body, ..request }))
}

impl HttpRequest {
    /// Whether it was addressed to this machine and, if a browser sent it, comes from a page of
    /// this machine: otherwise any web page could make the browser send requests to a local port.
    pub fn is_local(&self) -> bool {
        let host = self.host.as_deref().is_none_or(names_this_machine);
        let of_this_machine = |origin: &str| {
            origin.split_once("://").is_some_and(|(_, host)| names_this_machine(host))
        };
        host && self.origin.as_deref().is_none_or(of_this_machine)
    }
}

fn names_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    matches!(host, "localhost" | "127.0.0.1" | "::1")
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
