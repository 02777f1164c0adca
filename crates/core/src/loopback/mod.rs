//! The HTTP requests that a server on a loopback port answers.
//!
//! Any page on the web can make a browser send requests to a local port. Three headers show that it
//! did: `Host` has the page's own name where that name was made to resolve to loopback (DNS
//! rebinding), `Origin` has the page that wants to change something, and `Sec-Fetch-Site` says that
//! a page of another site loads an image or a script from here.

mod host;

use thiserror::Error;

pub use host::Host;

/// The head of a request, as far as the guard needs it.
#[derive(Debug, Clone)]
pub struct Head<'a> {
    /// `GET` and so on.
    pub method: &'a str,
    /// The authority in the request target, where the target is a whole URI.
    pub authority: Option<&'a str>,
    /// Every header in the order received; a repeated header appears twice.
    pub headers: Vec<(&'a str, &'a [u8])>,
}

/// The reason to refuse a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// RFC 9112, 3.2: a server must answer 400.
    #[error("exactly one `Host` header with a valid host and port is required")]
    InvalidHost,
    /// The host is not this machine.
    #[error("`Host` is not a loopback address: only programs of this machine may connect")]
    ForeignHost,
    /// A page of another server sent it.
    #[error("`Origin` is another page: only programs of this machine may connect")]
    ForeignOrigin,
    /// A page of another site embeds it.
    #[error("a page of another site embeds this address: open it in a tab of its own")]
    CrossSite,
}

impl Refused {
    /// The HTTP status of the answer.
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidHost => 400,
            Self::ForeignHost | Self::ForeignOrigin | Self::CrossSite => 403,
        }
    }
}

impl<'a> Head<'a> {
    /// Checks a request that arrived at a TCP port on loopback.
    pub fn check(&self) -> Result<(), Refused> {
        let host = self.host()?;
        if !host.is_loopback() {
            return Err(Refused::ForeignHost);
        }
        // Programs other than browsers send no `Origin`; every browser sends it with a change.
        if !self.values("origin").all(|origin| is_origin_of(origin, &host)) {
            return Err(Refused::ForeignOrigin);
        }
        if self.is_from_another_site() && !self.is_navigation() {
            return Err(Refused::CrossSite);
        }
        Ok(())
    }

    /// The host that the request names: the target's, and else that of the only `Host` header.
    pub fn host(&self) -> Result<Host<'a>, Refused> {
        let mut hosts = self.values("host");
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refused::InvalidHost);
        };
        let host = std::str::from_utf8(host).ok().and_then(Host::parse);
        let host = host.ok_or(Refused::InvalidHost)?;
        // RFC 9112, 3.2.2: the target outranks the header.
        match self.authority {
            Some(authority) => Host::parse(authority).ok_or(Refused::InvalidHost),
            None => Ok(host),
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            // RFC 9110, 5.5: blanks around a value are not part of it.
            .map(|(_, value)| value.trim_ascii())
    }

    /// Pages of another port of this machine are of the same site, and still another server's.
    fn is_from_another_site(&self) -> bool {
        self.values("sec-fetch-site").any(|site| site == b"cross-site" || site == b"same-site")
    }

    /// True if the user follows a link, as opposed to a page that embeds this address.
    fn is_navigation(&self) -> bool {
        let is_read = matches!(self.method, "GET" | "HEAD");
        let mut modes = self.values("sec-fetch-mode");
        let is_navigate = modes.next() == Some(b"navigate") && modes.next().is_none();
        // A frame is navigated, too, by the page around it.
        is_read && is_navigate && self.values("sec-fetch-dest").all(|dest| dest == b"document")
    }
}

/// True if `origin` is a page of `host` itself.
fn is_origin_of(origin: &[u8], host: &Host<'_>) -> bool {
    let origin = std::str::from_utf8(origin).ok();
    // No page of ours comes by https: the server has no TLS.
    let host_of_origin = origin.and_then(|origin| origin.strip_prefix("http://"));
    host_of_origin.and_then(Host::parse).is_some_and(|origin| origin.is_same_server(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers<'a> = &'a [(&'a str, &'a str)];

    fn checked(method: &str, headers: Headers<'_>) -> Result<(), Refused> {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        Head { method, authority: None, headers }.check()
    }

    #[test]
    fn one_valid_host_of_loopback_is_required() {
        let check = |hosts: &[&str], expected: Result<(), Refused>| {
            let headers: Vec<_> = hosts.iter().map(|host| ("Host", *host)).collect();
            assert_eq!(checked("GET", &headers), expected, "{hosts:?}");
        };
        check(&["127.0.0.1:8707"], Ok(()));
        check(&["localhost:1"], Ok(()));
        check(&["LocalHost"], Ok(()));
        check(&["[::1]:8707"], Ok(()));
        check(&["[::1]"], Ok(()));
        check(&["127.0.0.2:8707"], Ok(()));
        check(&[" localhost:80 "], Ok(()));
        check(&["localhost:"], Ok(()));
        let invalid = Err(Refused::InvalidHost);
        check(&[], invalid);
        check(&[""], invalid);
        check(&["localhost", "localhost"], invalid);
        check(&["evil.example", "localhost"], invalid);
        check(&["localhost, localhost"], invalid);
        check(&["localhost:notaport"], invalid);
        check(&["localhost:+80"], invalid);
        check(&["localhost:-1"], invalid);
        check(&["localhost:80:80"], invalid);
        check(&["localhost:65536"], invalid);
        check(&["[::1].evil"], invalid);
        check(&["[::1]evil:80"], invalid);
        check(&["[localhost]evil"], invalid);
        check(&["[localhost]"], invalid);
        check(&["[::1"], invalid);
        check(&["::1"], invalid);
        check(&["user@localhost"], invalid);
        check(&["localhost/"], invalid);
        check(&["local host"], invalid);
        check(&["lo\u{e9}calhost"], invalid);
        let foreign = Err(Refused::ForeignHost);
        check(&["evil.example:8707"], foreign);
        check(&["127.0.0.1.evil.example"], foreign);
        check(&["localhost.evil.example:8707"], foreign);
        check(&["[::ffff:127.0.0.1]"], foreign);
        check(&["[2001:db8::1]:80"], foreign);
        check(&["127.1"], foreign);
        check(&["0.0.0.0"], foreign);
        check(&["2130706433"], foreign);
    }

    #[test]
    fn a_target_that_names_a_host_is_checked_as_well() {
        let check = |authority, expected: Result<(), Refused>| {
            let headers = vec![("host", b"localhost".as_slice())];
            let head = Head { method: "GET", authority: Some(authority), headers };
            assert_eq!(head.check(), expected, "{authority}");
        };
        check("localhost:8707", Ok(()));
        check("evil.example", Err(Refused::ForeignHost));
        check("localhost:+1", Err(Refused::InvalidHost));
    }

    #[test]
    fn an_origin_must_be_the_server_itself() {
        let check = |origins: &[&str], is_let_in: bool| {
            let mut headers = vec![("host", "localhost:8707")];
            headers.extend(origins.iter().map(|origin| ("Origin", *origin)));
            let expected = if is_let_in { Ok(()) } else { Err(Refused::ForeignOrigin) };
            assert_eq!(checked("POST", &headers), expected, "{origins:?}");
        };
        check(&[], true);
        check(&["http://localhost:8707"], true);
        check(&["http://evil.example"], false);
        check(&["http://localhost:3000"], false);
        check(&["http://127.0.0.1:8707"], false);
        check(&["https://localhost:8707"], false);
        check(&["null"], false);
        check(&[""], false);
        check(&["http://localhost:8707", "http://evil.example"], false);
    }

    #[test]
    fn a_page_of_another_site_may_link_and_not_embed() {
        let check = |method: &str, fetch: [&str; 3], is_let_in: bool| {
            let names = ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"];
            let fetch = names.into_iter().zip(fetch).filter(|(_, value)| !value.is_empty());
            let headers: Vec<_> = [("host", "localhost")].into_iter().chain(fetch).collect();
            let expected = if is_let_in { Ok(()) } else { Err(Refused::CrossSite) };
            assert_eq!(checked(method, &headers), expected, "{method} {headers:?}");
        };
        check("GET", ["", "", ""], true);
        check("GET", ["none", "navigate", "document"], true);
        check("GET", ["same-origin", "cors", "empty"], true);
        check("GET", ["cross-site", "navigate", "document"], true);
        check("GET", ["cross-site", "navigate", ""], true);
        check("GET", ["same-site", "navigate", "document"], true);
        check("GET", ["cross-site", "no-cors", "image"], false);
        check("GET", ["same-site", "no-cors", "script"], false);
        check("GET", ["cross-site", "", ""], false);
        check("GET", ["cross-site", "navigate", "iframe"], false);
        check("GET", ["cross-site", "navigate", "object"], false);
        check("POST", ["cross-site", "navigate", "document"], false);
    }
}
