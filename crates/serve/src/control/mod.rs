//! The control port: requests to a served drive while it runs.

mod http;

use drivelab_core::Time;

pub use http::{Bad, HttpRequest, parse};

use crate::drive::PowerCut;
use crate::fault::{Fault, FaultId};

/// The action that a request asks for.
#[derive(Debug)]
pub enum Action {
    /// Report the drive's statistics.
    Stats,
    /// Reset the counts.
    ResetStats,
    /// Cut the power; the answer is sent after the cut.
    PowerCut(PowerCut),
    /// List the active faults.
    ListFaults,
    /// Add a fault.
    AddFault(Fault),
    /// Remove a fault.
    RemoveFault(FaultId),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// A JSON document.
    pub body: String,
}

impl Response {
    /// A success.
    pub fn ok(body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_string(body).expect("plain structs become JSON");
        Self { status: 200, body }
    }

    /// An error in the request.
    pub fn error(status: u16, what: &str) -> Self {
        Self { status, body: serde_json::json!({ "error": what }).to_string() }
    }

    /// The bytes on the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            status => {
                debug_assert_eq!(status, 413, "every status has its phrase");
                "Content Too Large"
            }
        };
        let Self { status, body } = self;
        // The line feed after the document belongs to the body.
        let length = body.len() + 1;
        format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}\n"
        )
        .into_bytes()
    }
}

/// The kind of socket through which a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A socket file: a process that may open it may send requests, under any host name.
    SocketFile,
    /// A TCP port of this machine, which a browser can reach on behalf of any page.
    Port,
}

/// The action of a request that arrived at `now`, or the answer that refuses it.
pub fn route(now: Time, via: Via, request: &HttpRequest) -> Result<Action, Response> {
    let checked = match via {
        Via::Port => request.check_local(),
        Via::SocketFile => request.check_host(),
    };
    // A page of another site can make a browser send requests to a local port, but cannot choose
    // their `Host` header, and never reaches a socket file.
    checked.map_err(|refused| Response::error(refused.status(), &refused.to_string()))?;

    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/stats") => Ok(Action::Stats),
        ("POST", "/stats/reset") => Ok(Action::ResetStats),
        ("GET", "/faults") => Ok(Action::ListFaults),
        ("POST", "/power-cut") => PowerCut::from_json(now, &request.body)
            .map(Action::PowerCut)
            .map_err(|error| Response::error(400, &error.to_string())),
        ("POST", "/faults") => Fault::from_json(&request.body)
            .map(Action::AddFault)
            .map_err(|error| Response::error(400, &error.to_string())),
        ("DELETE", path) if path.starts_with("/faults/") => path["/faults/".len()..]
            .parse()
            .map(Action::RemoveFault)
            .map_err(|_| Response::error(404, "a fault has a number: DELETE /faults/1")),
        (_, "/stats" | "/stats/reset" | "/faults" | "/power-cut") => {
            let what = "GET /stats, POST /stats/reset, GET or POST /faults, POST /power-cut";
            Err(Response::error(405, what))
        }
        _ => Err(Response::error(404, "known paths: /stats, /stats/reset, /power-cut and /faults")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(method: &str, path: &str, host: &str, body: &str) -> Result<String, u16> {
        outcome_via(Via::Port, method, path, host, body)
    }

    fn outcome_via(
        via: Via,
        method: &str,
        path: &str,
        host: &str,
        body: &str,
    ) -> Result<String, u16> {
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let request = parse(text.as_bytes()).unwrap().unwrap();
        let action = route(Time::ZERO, via, &request).map_err(|response| response.status)?;
        Ok(format!("{action:?}").split(['(', ' ']).next().unwrap().to_owned())
    }

    #[test]
    fn what_is_in_the_contract_is_understood() {
        let check = |method, path, body, expected: Result<&str, u16>| {
            let found = outcome(method, path, "127.0.0.1:9000", body);
            assert_eq!(found, expected.map(str::to_owned), "{method} {path} {body}");
        };
        check("GET", "/stats", "", Ok("Stats"));
        check("POST", "/stats/reset", "", Ok("ResetStats"));
        check("GET", "/stats/reset", "", Err(405));
        check("GET", "/faults", "", Ok("ListFaults"));
        check("POST", "/power-cut", "", Ok("PowerCut"));
        check("POST", "/power-cut", "{}", Ok("PowerCut"));
        check("POST", "/power-cut", r#"{"when": "never"}"#, Err(400));
        check("POST", "/faults", r#"{"kind": "lying-flush"}"#, Ok("AddFault"));
        check("POST", "/faults", r#"{"kind": "honest"}"#, Err(400));
        check("DELETE", "/faults/3", "", Ok("RemoveFault"));
        check("DELETE", "/faults/all", "", Err(404));
        check("PUT", "/stats", "", Err(405));
        check("GET", "/", "", Err(404));
    }

    #[test]
    fn a_page_on_the_web_cannot_reach_it_through_a_browser() {
        let check = |host, expected: Result<&str, u16>| {
            assert_eq!(outcome("GET", "/stats", host, ""), expected.map(str::to_owned), "{host}");
        };
        check("localhost:1", Ok("Stats"));
        check("[::1]:1", Ok("Stats"));
        check("evil.example", Err(403));
        check("127.0.0.1.evil.example:80", Err(403));
        check("[::1].evil", Err(400));
        check("localhost:+80", Err(400));
        check("", Err(400));
        let by_file = outcome_via(Via::SocketFile, "GET", "/stats", "evil.example", "");
        assert_eq!(by_file, Ok("Stats".to_owned()), "no browser reaches a socket file");
        let by_file = outcome_via(Via::SocketFile, "GET", "/stats", "[::1].evil", "");
        assert_eq!(by_file, Err(400), "the host must be valid there, too");
    }

    #[test]
    fn one_host_and_no_page_of_another_server() {
        let check = |headers: &str, expected: u16| {
            let text = format!("GET /stats HTTP/1.1\r\n{headers}\r\n");
            let request = parse(text.as_bytes()).unwrap().unwrap();
            let status =
                route(Time::ZERO, Via::Port, &request).map_or_else(|it| it.status, |_| 200);
            assert_eq!(status, expected, "{headers:?}");
        };
        check("Host: localhost:9000\r\n", 200);
        check("", 400);
        check("Host: evil.example\r\nHost: localhost\r\n", 400);
        check("Host: localhost:9000\r\nOrigin: http://localhost:3000\r\n", 403);
        check("Host: localhost:9000\r\nSec-Fetch-Site: cross-site\r\n", 403);
    }
}
