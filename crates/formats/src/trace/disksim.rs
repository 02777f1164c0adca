//! `R|W action LBN sectors measured_us think_us`.

use super::fields::{Parsed, time, transfer, whole};
use drivelab_core::Op;
use drivelab_core::TraceEntry as Entry;

pub(super) fn read(text: &str) -> Result<Option<Parsed>, String> {
    let mut words = text.split_whitespace();
    let op = match words.next() {
        Some("R") => Op::Read,
        Some("W") => Op::Write,
        other => return Err(format!("expected `R` or `W`, found `{}`", other.unwrap_or_default())),
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
