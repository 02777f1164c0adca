//! Block traces of SYSTOR '17 (SNIA IOTTA): `Timestamp,Response,IOType,LUN,Offset,Size`, with these
//! names in the first line.

use super::device::Device;
use super::fields::{Parsed, time, transfer_of_bytes, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Op, invalid};

const NAMES: &str = "Timestamp,Response,IOType,LUN,Offset,Size";
const SECOND_NS: u64 = 1_000_000_000;

/// True for a line of such a trace, or its first.
pub(super) fn is(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).take(7).collect();
    // Of other traces with as many fields, the third is a size.
    let is_type = fields.get(2).is_some_and(|it| matches!(*it, "R" | "W"));
    line == NAMES || fields.len() == 6 && is_type && is_time(fields[0])
}

fn is_time(text: &str) -> bool {
    time(Some(text), SECOND_NS, "").is_ok()
}

pub(super) fn read(text: &str, device: &mut Device) -> Result<Option<Parsed>, Invalid> {
    if text == NAMES {
        return Ok(None);
    }
    let mut parts = text.split(',').map(str::trim);
    let arrival = time(parts.next(), SECOND_NS, "time in seconds")?;
    // Some lines have no time until the answer.
    let measured = match parts.next().filter(|it| !it.is_empty()) {
        Some(response) => Some(time(Some(response), SECOND_NS, "time until the answer")?),
        None => None,
    };
    let op = match parts.next() {
        Some("R") => Op::Read,
        Some("W") => Op::Write,
        other => {
            return Err(invalid!("expected `R` or `W`, found `{}`", other.unwrap_or_default()));
        }
    };
    let unit = parts.next().unwrap_or_default();
    if !device.takes(unit, "the units (LUN)")? {
        return Ok(None);
    }
    let offset = whole(parts.next(), "offset in bytes")?;
    let bytes = whole(parts.next(), "length in bytes")?;
    let request = transfer_of_bytes(op, offset, bytes)?;
    let entry = Entry { request, at: None, think: None, measured };
    Ok(Some(Parsed { entry, flushes_before: false, arrival_ns: Some(arrival.ns()) }))
}
