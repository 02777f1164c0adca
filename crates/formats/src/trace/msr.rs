//! Block traces of Microsoft Research Cambridge (SNIA IOTTA, 2008): `time,host,disk,type,offset,
//! bytes,response`.
//!
//! Times are those of Windows, in units of 100 ns; a disk is named `host.disk`.

use super::device::Device;
use super::fields::{Parsed, transfer_of_bytes, whole};
use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Op, Span, invalid};

/// Nanoseconds of a unit of time.
const TICK_NS: u64 = 100;

/// True for a line of such a trace.
pub(super) fn is(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').take(8).collect();
    let is_type = fields.get(3).is_some_and(|it| operation(it).is_ok());
    fields.len() == 7 && is_type && fields[0].trim().parse::<u64>().is_ok()
}

fn operation(text: &str) -> Result<Op, Invalid> {
    match text.trim() {
        it if it.eq_ignore_ascii_case("read") => Ok(Op::Read),
        it if it.eq_ignore_ascii_case("write") => Ok(Op::Write),
        other => Err(invalid!("expected `Read` or `Write`, found `{other}`")),
    }
}

pub(super) fn read(text: &str, device: &mut Device) -> Result<Option<Parsed>, Invalid> {
    let mut parts = text.split(',').map(str::trim);
    let at = whole(parts.next(), "time in units of 100 ns")?;
    let (host, disk) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let op = operation(parts.next().unwrap_or_default())?;
    // The addresses of two disks of one host are not those of one drive.
    if !device.takes(&format!("{host}.{disk}"), "the disks")? {
        return Ok(None);
    }
    let offset = whole(parts.next(), "offset in bytes")?;
    let bytes = whole(parts.next(), "length in bytes")?;
    let response = whole(parts.next(), "time until the answer in units of 100 ns")?;
    // Offsets are in bytes, and not always those of whole sectors.
    let request = transfer_of_bytes(op, offset, bytes)?;
    let too_late = || format!("`{at}` is not a time of this century");
    let arrival_ns = at.checked_mul(TICK_NS).ok_or_else(too_late)?;
    let measured = Span::from_ns(response.saturating_mul(TICK_NS));
    let entry = Entry { request, at: None, think: None, measured: Some(measured) };
    Ok(Some(Parsed { entry, flushes_before: false, arrival_ns: Some(arrival_ns) }))
}
