//! The value of a `Host` header: a host and, after a colon, a port.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A host and a port as RFC 9110, 7.2 has them.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    name: Name<'a>,
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy)]
enum Name<'a> {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Registered(&'a str),
}

/// The port of `http` that a browser does not write.
const HTTP_PORT: u16 = 80;

impl<'a> Host<'a> {
    /// Reads `HOST[:PORT]`; `None` where the text is anything else.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = if let Some(literal) = text.strip_prefix('[') {
            let (address, rest) = literal.split_once(']')?;
            (Name::V6(address.parse().ok()?), rest)
        } else {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (Name::without_brackets(name)?, rest)
        };
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            // RFC 3986, 3.2.3: an empty port is the default one.
            Some("") => None,
            // `parse` alone would accept a sign.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { name, port })
    }

    /// True if it names this machine by an address that no name server answers for.
    pub fn is_loopback(&self) -> bool {
        match self.name {
            Name::V4(address) => address.is_loopback(),
            Name::V6(address) => address.is_loopback(),
            Name::Registered(name) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// True if both are one server for a browser.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let is_same_name = match (self.name, other.name) {
            (Name::V4(one), Name::V4(two)) => one == two,
            (Name::V6(one), Name::V6(two)) => one == two,
            (Name::Registered(one), Name::Registered(two)) => one.eq_ignore_ascii_case(two),
            _ => false,
        };
        is_same_name && self.port.unwrap_or(HTTP_PORT) == other.port.unwrap_or(HTTP_PORT)
    }
}

impl<'a> Name<'a> {
    /// Parses a registered name or an IPv4 address.
    fn without_brackets(text: &'a str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::V4(address));
        }
        let is_name = !text.is_empty() && text.bytes().all(is_name_byte);
        is_name.then_some(Self::Registered(text))
    }
}

/// RFC 3986, 3.2.2: unreserved characters, escapes and sub-delimiters, but commas: two headers
/// that a proxy joined are not one host.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte)
}
