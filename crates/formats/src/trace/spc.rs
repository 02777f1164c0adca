//! `ASU,LBA,bytes,opcode,seconds` (Storage Performance Council, trace file format revision 1.0.1).

use super::device::Device;
use super::fields::{Parsed, time, transfer, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Op, invalid};

pub(super) fn read(text: &str, device: &mut Device) -> Result<Option<Parsed>, Invalid> {
    let mut parts = text.split(',').map(str::trim);
    let unit = parts.next().unwrap_or_default();
    whole(Some(unit), "application storage unit")?;
    if !device.takes(unit, "the units (ASU)")? {
        return Ok(None);
    }
    let lba = whole(parts.next(), "first sector")?;
    let bytes = whole(parts.next(), "length in bytes")?;
    let op = match parts.next() {
        Some("R" | "r") => Op::Read,
        Some("W" | "w") => Op::Write,
        other => {
            return Err(invalid!("expected `R` or `W`, found `{}`", other.unwrap_or_default()));
        }
    };
    let arrival = time(parts.next(), 1_000_000_000, "time in seconds")?;
    // A drive transfers whole sectors.
    let request = transfer(op, lba, bytes.div_ceil(512))?;
    let entry = Entry { request, at: None, think: None, measured: None };
    Ok(Some(Parsed { entry, flushes_before: false, arrival_ns: Some(arrival.ns()) }))
}
