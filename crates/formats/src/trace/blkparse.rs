//! The output of `blkparse`: `8,0 1 42 0.001234567 99 Q WS 1234 + 8 [name]` (man 1 blkparse).

use super::fields::{Parsed, is_device, time, transfer, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Op, Request};

/// The state of the trace so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The device of these requests, `major,minor`.
    device: Option<String>,
}

impl State {
    pub(super) fn read(&mut self, text: &str) -> Result<Option<Parsed>, String> {
        let parsed = read(text)?;
        if parsed.is_some() {
            self.same_device(text.split_whitespace().next().unwrap_or_default())?;
        }
        Ok(parsed)
    }

    /// Addresses of two devices are not addresses of one drive.
    fn same_device(&mut self, device: &str) -> Result<(), String> {
        let known = self.device.get_or_insert_with(|| device.to_owned());
        if known == device {
            return Ok(());
        }
        Err(format!(
            "the trace contains requests of {known} and {device}, but a drive replays one device: \
             print one with `blkparse`, or select its lines with `grep`"
        ))
    }
}

fn read(text: &str) -> Result<Option<Parsed>, String> {
    let mut words = text.split_whitespace();
    if !words.next().is_some_and(is_device) {
        // The summary at the end, with counts per processor.
        return Ok(None);
    }
    let (_cpu, _sequence) = (words.next(), words.next());
    let arrival = time(words.next(), 1_000_000_000, "time in seconds")?;
    let (_process, action) = (words.next(), words.next());
    if action != Some("Q") {
        return Ok(None);
    }
    let kind = words.next().ok_or("the line ends before the request type")?;
    let op = match kind.trim_start_matches('F').chars().next() {
        Some('R') => Op::Read,
        Some('W') => Op::Write,
        Some('D') => Op::Trim,
        Some('N') | None if kind.contains('F') => Op::Flush,
        _ => return Ok(None),
    };
    let request = if op == Op::Flush {
        Request::flush(0)
    } else {
        let lba = whole(words.next(), "first sector")?;
        if words.next() != Some("+") {
            return Err("expected `+` between first sector and length".into());
        }
        let request = transfer(op, lba, whole(words.next(), "number of sectors")?)?;
        // A second F, after the direction, is force unit access.
        let fua =
            op == Op::Write && kind.rsplit_once('W').is_some_and(|(_, after)| after.contains('F'));
        Request { fua, ..request }
    };
    let entry = Entry { request, at: None, think: None, measured: None };
    // An F before the direction: the cache is flushed first (`REQ_PREFLUSH`).
    let flushes_before = op != Op::Flush && kind.starts_with('F');
    Ok(Some(Parsed { entry, flushes_before, arrival_ns: Some(arrival.ns()) }))
}
