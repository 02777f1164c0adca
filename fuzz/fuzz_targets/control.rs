//! The control port: no bytes may panic, and a fault that is taken prints what asks for it again.
#![no_main]

use drivelab_core::Time;
use drivelab_serve::control::{Action, HttpRequest, Via, parse, route};
use drivelab_serve::fault::Fault;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let _ = parse(bytes);
        return;
    };
    for path in ["", "faults", "power-cut"] {
        // The bytes as they are, and as the body of what a control port is asked.
        let length = text.len();
        let whole = match path {
            "" => text.to_owned(),
            path => format!("POST /{path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{text}"),
        };
        let asked: Option<HttpRequest> = parse(whole.as_bytes()).ok().flatten();
        let Some(asked) = asked else { continue };
        if let Ok(Action::AddFault(fault)) = route(Time::ZERO, Via::SocketFile, &asked) {
            assert_eq!(Fault::from_json(&fault.to_string()).as_ref(), Ok(&fault));
        }
    }
});
