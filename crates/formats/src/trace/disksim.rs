//! The traces of `DiskSim`: `R|W action LBN sectors measured_us think_us`, with which it was
//! validated, and its default ASCII format.

use super::device::Device;
use super::fields::{Parsed, time, transfer, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Op, invalid};

pub(super) fn read(text: &str) -> Result<Option<Parsed>, Invalid> {
    let mut words = text.split_whitespace();
    let op = match words.next() {
        Some("R") => Op::Read,
        Some("W") => Op::Write,
        other => {
            return Err(invalid!("expected `R` or `W`, found `{}`", other.unwrap_or_default()));
        }
    };
    // The action (`Hit`, `Miss`) is what the recorded drive did: the replayed one decides itself.
    words.next();
    let lba = whole(words.next(), "first sector")?;
    let sectors = whole(words.next(), "number of sectors")?;
    let measured = time(words.next(), 1000, "measured time in us")?;
    let think = time(words.next(), 1000, "think time in us")?;
    let request = transfer(op, lba, sectors)?;
    let entry = Entry { request, at: None, think: Some(think), measured: Some(measured) };
    Ok(Some(Parsed { entry, flushes_before: false, arrival_ns: None }))
}

/// The flag of a read; a request without flags is a write, and no other flag has a meaning.
const READ: u64 = 1;

/// True for a line of five numbers.
pub(super) fn is_ascii(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.len() == 5 && read_ascii(text, &mut Device::default()).is_ok()
}

/// Reads a line of the default format, `arrival_ms device LBN sectors flags` (manual of version
/// 4.0, section "Input traces").
pub(super) fn read_ascii(text: &str, device: &mut Device) -> Result<Option<Parsed>, Invalid> {
    let mut words = text.split_whitespace();
    let arrival = time(words.next(), 1_000_000, "arrival in ms")?;
    let number = words.next().unwrap_or_default();
    whole(Some(number), "device")?;
    let lba = whole(words.next(), "first sector")?;
    let sectors = whole(words.next(), "number of sectors")?;
    let flags = words.next().ok_or("the line ends before the flags")?;
    let digits = flags.strip_prefix("0x").unwrap_or(flags);
    let op = match u64::from_str_radix(digits, 16) {
        Ok(0) => Op::Write,
        Ok(READ) => Op::Read,
        _ => return Err(invalid!("expected the flags 0 (write) or 1 (read), found `{flags}`")),
    };
    if !device.takes(number, "the devices")? {
        return Ok(None);
    }
    let request = transfer(op, lba, sectors)?;
    let entry = Entry { request, at: None, think: None, measured: None };
    Ok(Some(Parsed { entry, flushes_before: false, arrival_ns: Some(arrival.ns()) }))
}
