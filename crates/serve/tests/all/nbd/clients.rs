//! Clients on a real socket: polite, stalled, flooding, and killed.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use drivelab_core::{Bytes, Rng, Sectors};
use drivelab_serve::server::{Endpoint, Settings};

use super::wire::*;
use crate::serving::{Serving, settings};

const CAPACITY: Bytes = Bytes::mib(64);

struct Running {
    nbd: PathBuf,
    control: PathBuf,
    serving: Serving,
}

impl Running {
    fn start(test: &str) -> Self {
        Self::start_with(test, Bytes::mib(256))
    }

    fn start_with(test: &str, client_memory: Bytes) -> Self {
        let folder = std::env::temp_dir();
        let path = |what| folder.join(format!("drivelab-{}-{test}-{what}", std::process::id()));
        let (nbd, control) = (path("nbd"), path("control"));
        let settings = Settings {
            nbd: Some(Endpoint::Unix(nbd.clone())),
            control: Some(Endpoint::Unix(control.clone())),
            client_memory,
            ..settings(CAPACITY)
        };
        let serving = Serving::start(settings, Sectors::new(1)).unwrap();
        Self { nbd, control, serving }
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.nbd).unwrap()
    }

    /// A client that has come to the transmission phase.
    fn client(&self) -> UnixStream {
        let mut stream = self.connect();
        stream.write_all(&FLAGS).unwrap();
        stream.write_all(&option(EXPORT_NAME, b"")).unwrap();
        let mut greeting = [0; 18 + 10];
        stream.read_exact(&mut greeting).unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = UnixStream::connect(&self.control).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split("\r\n\r\n").nth(1).unwrap().trim().to_owned()
    }
}

/// Writes a page and reads it back.
fn check_serves(stream: &mut UnixStream, byte: u8) {
    stream.write_all(&request(WRITE, 1, 1, 4096, 4096)).unwrap();
    stream.write_all(&[byte; 4096]).unwrap();
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], [0; 4]);
    stream.write_all(&request(READ, 0, 2, 4096, 4096)).unwrap();
    let mut reply = [0; 16 + 4096];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[8..16], 2_u64.to_be_bytes());
    assert!(reply[16..].iter().all(|found| *found == byte));
}

#[test]
fn a_thousand_clients_that_are_killed_leave_the_server_serving() {
    let running = Running::start("killed");
    let mut rng = Rng::new(5);
    let mut script = [&FLAGS[..], &go(GO)].concat();
    for cookie in 0..20 {
        script.extend(request(READ, 0, cookie, cookie * 4096, 64 << 10));
        script.extend(request(WRITE, 0, cookie, cookie * 4096, 4096));
        script.extend([7; 4096]);
    }
    for _ in 0..1000 {
        let mut stream = running.connect();
        let until = usize::try_from(rng.below(script.len() as u64)).unwrap();
        // Whether the server still takes it does not matter to a client that dies.
        let _ = stream.write_all(&script[..until]);
        if rng.below(2) == 0 {
            let _ = stream.read(&mut [0; 100]);
        }
    }
    check_serves(&mut running.client(), 1);
    let stats = running.serving.stop().stats;
    assert!(stats.served.ios > 1000, "{stats:?}");
}

#[test]
fn a_client_that_takes_no_answers_is_not_heard_and_hinders_nobody() {
    let running = Running::start("stalled");
    let mut stalled = running.client();
    stalled.set_nonblocking(true).unwrap();
    // Requests for a megabyte each, until the server takes no more of them.
    let asked = request(READ, 0, 1, 0, 1 << 20).repeat(100);
    let mut sent = 0;
    let mut refused = 0;
    while refused < 3 {
        if let Ok(count) = stalled.write(&asked) {
            sent += count;
        } else {
            // Time for the server to take what it will: a full round trip of another client.
            check_serves(&mut running.client(), 2);
            refused += 1;
        }
        assert!(sent < 1 << 26, "the server takes requests without end");
    }
    let mut other = running.client();
    for byte in 0..50 {
        check_serves(&mut other, byte);
    }
    running.serving.stop();
}

#[test]
fn a_control_client_that_sends_on_while_its_answer_is_pending_is_not_heard() {
    let running = Running::start("chatter");
    let mut chatter = UnixStream::connect(&running.control).unwrap();
    let body = r#"{"when": {"writes": 1000000}}"#;
    let length = body.len();
    write!(
        chatter,
        "POST /power-cut HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    chatter.set_nonblocking(true).unwrap();
    let more = vec![b'x'; 64 << 10];
    let (mut sent, mut refused) = (0, 0);
    while refused < 3 {
        if let Ok(count) = chatter.write(&more) {
            sent += count;
            refused = 0;
        } else {
            // Time for the server to take what it will: a full round trip of another client.
            check_serves(&mut running.client(), 2);
            refused += 1;
        }
        // What the kernel keeps for a socket, and no more.
        assert!(sent < 4 << 20, "the server takes bytes without end");
    }
    running.serving.stop();
}

#[test]
fn through_a_socket_file_any_host_may_be_named() {
    let running = Running::start("host");
    let mut stream = UnixStream::connect(&running.control).unwrap();
    let head = "GET /stats HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    running.serving.stop();
}

#[test]
fn the_statistics_begin_anew_when_they_are_reset() {
    let running = Running::start("reset");
    check_serves(&mut running.client(), 5);
    let json = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let before = json(running.ask("POST", "/stats/reset", ""));
    assert_eq!(before["ios"], 2, "the answer is what had been counted: {before}");
    let after = json(running.ask("GET", "/stats", ""));
    assert_eq!(after["ios"], 0, "{after}");
    assert!(after["lateness_ns"]["max"].is_null(), "{after}");
    assert!(after["since_ns"].as_u64() > before["since_ns"].as_u64(), "{after}");
    check_serves(&mut running.client(), 6);
    assert_eq!(running.serving.stop().stats.served.ios, 2);
}

#[test]
fn what_all_clients_hold_is_bounded_and_a_small_one_is_served_all_the_same() {
    let memory = Bytes::mib(8);
    let running = Running::start_with("memory", memory);
    // Each asks for megabytes and takes no answer.
    let greedy: Vec<UnixStream> = (0..40)
        .map(|_| {
            let mut stream = running.client();
            stream.set_nonblocking(true).unwrap();
            let asked = request(READ, 0, 1, 0, 2 << 20).repeat(20);
            let _ = stream.write(&asked).unwrap();
            stream
        })
        .collect();
    let mut polite = running.client();
    for byte in 0..50 {
        check_serves(&mut polite, byte);
    }
    let stats: serde_json::Value = serde_json::from_str(&running.ask("GET", "/stats", "")).unwrap();
    let held = stats["clients_bytes"].as_u64().unwrap();
    // 41 clients with 256 KiB of their own.
    assert!(held <= memory.get() + 41 * (256 << 10), "{held}");
    assert!(held > 4 << 20, "they were served as far as there was room: {held}");
    drop(greedy);
    // What they held is there for others.
    polite.write_all(&request(READ, 0, 9, 0, 4 << 20)).unwrap();
    let mut reply = vec![0; 16 + (4 << 20)];
    polite.read_exact(&mut reply).unwrap();
    assert_eq!(reply[8..16], 9_u64.to_be_bytes());
    running.serving.stop();
}

#[test]
fn clients_of_the_drive_do_not_lock_out_the_control_port() {
    let running = Running::start("share");
    let clients: Vec<UnixStream> = (0..300).map(|_| running.connect()).collect();
    // The server has decided about all of them once the last one is served or refused.
    let _ = (&clients[299]).read(&mut [0; 1]).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&running.ask("GET", "/stats", "")).unwrap();
    assert_eq!(stats["ios"], 0, "{stats}");
    let answer = running.ask("POST", "/power-cut", "{}");
    assert!(answer.contains("dropped_writes"), "{answer}");
}

#[test]
fn garbage_ends_its_own_connection_only() {
    let running = Running::start("garbage");
    let mut other = running.client();
    let mut rng = Rng::new(9);
    for _ in 0..200 {
        let mut stream = running.client();
        let garbage: Vec<u8> = (0..200).map(|_| rng.bits().to_le_bytes()[0]).collect();
        stream.write_all(&garbage).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "the server hangs up");
    }
    check_serves(&mut other, 3);
    running.serving.stop();
}

#[test]
fn stats_faults_and_the_power_cut_are_those_of_the_contract() {
    let running = Running::start("control");
    check_serves(&mut running.client(), 4);
    let stats: serde_json::Value = serde_json::from_str(&running.ask("GET", "/stats", "")).unwrap();
    assert_eq!(stats["ios"], 2);
    for key in ["in_flight_max", "lateness_ns", "valid", "pending_bytes"] {
        assert!(!stats[key].is_null(), "{key}: {stats}");
    }
    for key in ["p50", "p99", "max"] {
        assert!(stats["lateness_ns"][key].is_u64(), "{key}: {stats}");
    }
    let fault = r#"{"kind": "write-error", "range": [8192, 12288]}"#;
    assert_eq!(running.ask("POST", "/faults", fault), r#"{"id":1}"#);
    let mut stream = running.client();
    stream.write_all(&request(WRITE, 0, 1, 8192, 512)).unwrap();
    stream.write_all(&[1; 512]).unwrap();
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], 5_u32.to_be_bytes());
    assert_eq!(running.ask("DELETE", "/faults/1", ""), r#"{"id":1}"#);
    let cut = running.ask("POST", "/power-cut", r#"{"when": "now", "seed": 1}"#);
    assert_eq!(cut, r#"{"dropped_writes":0,"torn_writes":0}"#);
    running.serving.wait();
}

#[test]
fn the_power_goes_after_as_many_writes_as_were_asked_for() {
    let running = Running::start("after");
    let nbd = running.client();
    let control = running.control.clone();
    let asked = std::thread::spawn(move || {
        let mut stream = UnixStream::connect(&control).unwrap();
        let body = r#"{"when": {"writes": 3}, "seed": 1}"#;
        let length = body.len();
        write!(
            stream,
            "POST /power-cut HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let mut stream = nbd;
    let mut answered = 0;
    // Writes go on until the power goes, which ends the connection.
    loop {
        let write = [&request(WRITE, 0, 1, 0, 512)[..], &[1; 512]].concat();
        if stream.write_all(&write).is_err() || stream.read_exact(&mut [0; 16]).is_err() {
            break;
        }
        answered += 1;
    }
    assert!(answered >= 2, "{answered}");
    assert!(asked.join().unwrap().contains("dropped_writes"));
    running.serving.wait();
}
