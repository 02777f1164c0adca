//! The disks that a study declares, for each of its runs.

use drivelab_core::{Refusal, Rng};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_simulate::options;
use drivelab_study::{PlannedRun, StudyFile};

use super::super::has::Has;
use super::{DISKS_PART, Disks, NamedDisk};
use crate::target;

/// Gives a guest the disks of its study, whose drives are those of a run.
///
/// # Errors
/// There is no such drive, or no such disk to run on.
pub(in crate::stage::kernel) fn fill(
    has: Has,
    study: &StudyFile,
    request: PlannedRun,
) -> Result<Has, Refusal> {
    let is_asked = has.disks.stack.is_some() || has.disks.on.is_some();
    if study.disks.is_empty() && is_asked {
        return Err(Refusal::request("`stack` and `on` need disks with names")
            .hint("add `[[disk]]` tables, each with `name` and `drive`"));
    }
    // Some stacks are made of a single disk.
    if study.disks.len() < 2 && !is_asked {
        return Ok(has);
    }
    let arm = options(&study.arms[request.arm].settings);
    let mut named = Vec::new();
    for (index, disk) in (0_u8..).zip(&study.disks) {
        let port = disk.port.unwrap_or(index);
        let name = disk.name.clone();
        // The stage draws the first one, as for a study with one disk.
        if index == 0 {
            named.push(NamedDisk { name, port, spec: None });
            continue;
        }
        let spec = target::drive_spec(&disk.drive)?;
        let own = spec.options.overlaid_with(&options(&disk.settings)).overlaid_with(&arm);
        let spec = DriveSpec { options: own, ..spec };
        let spec = drawn(spec, study.seed, request.specimen, index)
            .map_err(|failure| failure.hint(format!("this is disk `{name}`")))?;
        named.push(NamedDisk { name, port, spec: Some(spec) });
    }
    let disks = Disks { named, ..has.disks.clone() };
    disks.target()?;
    let has = Has { disks, ..has };
    has.is_mountable()?;
    Ok(has)
}

/// The drive of a further disk in a block, which is another one of its kind in each block.
fn drawn(spec: DriveSpec, seed: u64, number: Option<u32>, index: u8) -> Result<DriveSpec, Refusal> {
    let (Some(number), None) = (number, spec.options.specimen) else { return Ok(spec) };
    // A drive without unknowns is the same in each block.
    if target::profile(&spec)?.unknowns().is_empty() {
        return Ok(spec);
    }
    let seed = spec
        .options
        .seed
        .unwrap_or_else(|| Rng::for_part(seed, DISKS_PART + u64::from(index)).bits());
    let options = Options { specimen: Some(number), seed: Some(seed), ..spec.options };
    Ok(DriveSpec { options, ..spec })
}
