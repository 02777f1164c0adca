//! The loads of a cell of a matrix on real files and devices, and their record.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::matrix::{Cell, Matrix};
use drivelab_core::record::{JobRecord, Mark, RunRecord};
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_engine::RunPlan;

use crate::request::{CellLoad, Load, Permissions};
use drivelab_simulate::Together;

/// The location of a drive of a matrix: a target, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) path: PathBuf,
    /// Its first byte.
    pub(super) first: u64,
    /// Its length; to the end of the target where absent.
    pub(super) size: Option<Bytes>,
}

/// One load for each drive of a cell, where `regions` has every drive of the matrix.
pub(super) fn loads(matrix: &Matrix, cell: &Cell, regions: &[Region], seed: u64) -> Vec<CellLoad> {
    let (numjobs, workload) = cell.jobs(matrix).expect("every cell was tried");
    let regions = cell.target.map_or(regions, |target| &regions[target..=target]);
    let loads = regions.iter().map(|region| {
        let (offset, all) = (workload.offset.get(), region.size.map(Bytes::get));
        let rest = all.map(|all| Bytes::new(all.saturating_sub(offset)));
        let offset = Bytes::new(region.first + offset);
        let workload = Workload { offset, size: workload.size.or(rest), ..workload.clone() };
        let load = Load { numjobs, direct: matrix.direct, ..Load::new(workload) };
        CellLoad { path: region.path.clone(), load, seed }
    });
    loads.collect()
}

/// The loads of a cell as plans on this machine.
pub(crate) fn plans(loads: &[CellLoad], permissions: &Permissions) -> Vec<RunPlan> {
    loads.iter().map(|one| one.load.plan(one.path.clone(), one.seed, permissions)).collect()
}

/// Refuses a target that is named twice.
pub(super) fn refuse_twice<'a>(targets: impl Iterator<Item = &'a Path>) -> Result<(), Refusal> {
    let mut known: Vec<(&Path, [u64; 3])> = Vec::new();
    for target in targets {
        let meta = fs::metadata(target).at_path("look at", target)?;
        // A device can have several nodes, each with an inode; `rdev` is 0 for other files.
        let same = match meta.rdev() {
            0 => [meta.dev(), meta.ino(), 0],
            device => [0, 0, device],
        };
        if let Some((other, _)) = known.iter().find(|(_, identity)| *identity == same) {
            let (other, target) = (other.display(), target.display());
            let message = format!("targets `{other}` and `{target}` are the same");
            return Err(Refusal::request(message).hint("leave one of them out"));
        }
        known.push((target, same));
    }
    Ok(())
}

/// One record of what was measured on each target at the same time, with a job for each.
pub(crate) fn record(made: Together) -> RunRecord {
    let Together { records, total, .. } = made;
    let targets: Vec<&str> = records.iter().map(|record| record.target.as_str()).collect();
    let target = targets.join(", ");
    let jobs: Vec<JobRecord> = records
        .iter()
        .flat_map(|record| &record.total)
        .cloned()
        .map(JobRecord::figures_only)
        .collect();
    let mut marks: Vec<Mark> = Vec::new();
    for mark in records.iter().flat_map(|record| &record.marks) {
        if marks.iter().all(|known| known.id != mark.id) {
            marks.push(mark.clone());
        }
    }
    let is_alone = records.len() == 1;
    let first = records.into_iter().next().expect("a cell has a target");
    // How several targets are attached is in the records of each alone.
    let attached = first.attached.filter(|_| is_alone);
    let total = Some(total.record().without_series());
    RunRecord { target, jobs, total, marks, attached, ..first }
}
