//! `run --readonly`: nothing is written, neither by requests nor by the layout of a missing file.

use std::path::Path;

use drivelab_core::workload::Rw;

use drivelab_core::Refusal;
use drivelab_lab::target;

/// Refuses what writes, or a missing file, which would have to be written first.
pub(super) fn check(target: &str, rw: Rw) -> Result<(), Refusal> {
    if rw.writes() {
        return Err(refused(&format!("`--rw={rw}`")));
    }
    exists(target)
}

/// The same for a suite.
pub(super) fn check_suite(name: &str, target: &str, writes: bool) -> Result<(), Refusal> {
    if writes {
        return Err(refused(&format!("the suite `{name}`")));
    }
    exists(target)
}

fn refused(writer: &str) -> Refusal {
    Refusal::request(format!("{writer} writes, which `--readonly` forbids"))
        .hint("omit `--readonly`, or choose reads: `rw=read`, `rw=randread`")
}

fn exists(target: &str) -> Result<(), Refusal> {
    if target.starts_with(target::PREFIX) || Path::new(target).exists() {
        return Ok(());
    }
    let wrong = format!("{target} does not exist, and `--readonly` forbids its layout");
    Err(Refusal::request(wrong).hint("create it first, or omit `--readonly`"))
}
