//! The I/O log of fio, versions 2 and 3 (man 1 fio, "TRACE FILE FORMAT").

use super::device::Device;
use super::fields::{Parsed, time, transfer_of_bytes, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Op, Request, invalid};

/// The state from the heading and from the waits.
#[derive(Debug, Default)]
pub(super) struct State {
    version: Option<u64>,
    /// All waits so far, in nanoseconds: version 2 has no times.
    waited_ns: u64,
}

const US: u64 = 1000;

impl State {
    pub(super) fn read(
        &mut self,
        text: &str,
        device: &mut Device,
    ) -> Result<Option<Parsed>, Invalid> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let ["fio", "version", version, ..] = words[..] {
            let version = whole(Some(version), "version of the log")?;
            if !(2..=3).contains(&version) {
                return Err(invalid!(
                    "version {version} of the log; versions 2 and 3 are supported"
                ));
            }
            self.version = Some(version);
            return Ok(None);
        }
        let (arrival, rest) = match self.version {
            None => return Err("expected `fio version 2 iolog` or `fio version 3 iolog`".into()),
            // fio writes microseconds since its start, which one of its logs shows.
            Some(3) => (Some(time(words.first().copied(), US, "time in us")?.ns()), &words[1..]),
            Some(_) => (None, &words[..]),
        };
        let action = rest.get(1).copied().ok_or("expected a file and an action")?;
        let op = match action {
            // They are about files, not requests.
            "add" | "open" | "close" => return Ok(None),
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "sync" | "datasync" => Op::Flush,
            "wait" if arrival.is_none() => {
                let wait = time(rest.get(2).copied(), US, "wait in us")?;
                self.waited_ns = self.waited_ns.saturating_add(wait.ns());
                return Ok(None);
            }
            other => return Err(invalid!("`{other}` is not an action of a fio log")),
        };
        if !device.takes(rest[0], "the files")? {
            return Ok(None);
        }
        let request = if op == Op::Flush {
            Request::flush(0)
        } else {
            let offset = whole(rest.get(2).copied(), "offset in bytes")?;
            transfer_of_bytes(op, offset, whole(rest.get(3).copied(), "length in bytes")?)?
        };
        let entry = Entry { request, at: None, think: None, measured: None };
        Ok(Some(Parsed {
            entry,
            flushes_before: false,
            arrival_ns: Some(arrival.unwrap_or(self.waited_ns)),
        }))
    }
}
