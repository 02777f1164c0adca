//! Cells of a matrix in virtual time.

use drivelab_core::Device as _;
use drivelab_core::Op;
use drivelab_core::matrix::{Cell, Cursor, Matrix};
use drivelab_core::record::{JobRecord, Tally};
use drivelab_core::rng::Rng;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_engine::{Control, Threads, simulate_threads};
use drivelab_model::options::{Options, Switch};
use drivelab_model::profile::Profile;

use crate::failure::Failure;
use crate::interrupt;
use crate::target;

/// What the run of a cell does: all that its figures depend on.
#[derive(Debug, Clone)]
pub(super) struct CellRun {
    pub(super) options: Options,
    pub(super) workload: Workload,
    cell: Cell,
    cursor: Cursor,
    /// Whether anything depends on seeds.
    draws: bool,
    /// The seed of the drives, and of the threads on each.
    seed: u64,
    seeds: Vec<u64>,
}

/// What a cell measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellFigures {
    /// One entry a drive.
    pub(super) jobs: Vec<JobRecord>,
    pub(super) total: JobRecord,
}

impl CellRun {
    /// The run of a cell on drives with these options, and with `seed`, which all cells of a block
    /// share.
    ///
    /// Drives of one profile differ by their seeds only: a run that draws nothing has the same
    /// figures on each. A run that only reads never meets the write cache, on or off.
    pub(super) fn new(
        matrix: &Matrix,
        cell: Cell,
        profile: &Profile,
        options: &Options,
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut options = *options;
        options.drives = Some(u32::try_from(matrix.targets(&cell).len()).expect("few drives"));
        if cell.group.read == 100 {
            options.write_cache = Some(Switch::Off);
        }
        let draws = cell.group.random > 0 || !matches!(cell.group.read, 0 | 100) || profile.draws();
        let of_drive = |drive: usize| Rng::for_part(seed, drive as u64).bits();
        let (seed, seeds) = match cell.target {
            Some(drive) => {
                let own = of_drive(if draws { drive } else { 0 });
                (own, vec![own])
            }
            None => (seed, (0..matrix.targets.len()).map(of_drive).collect()),
        };
        let workload = cell.workload(matrix).map_err(Failure::bad_request)?;
        Ok(Self {
            options,
            workload,
            cell,
            cursor: matrix.cursors[cell.cursor],
            draws,
            seed,
            seeds,
        })
    }

    /// A name that is equal exactly where the figures must be.
    pub(super) fn key(&self) -> String {
        let Cell { group, size, .. } = self.cell;
        let seeds = if self.draws { &self.seeds[..] } else { &[] };
        format!("{:?} {group:?} {size} {} {seeds:?}", self.options.entries(), self.cursor)
    }

    /// Whether it is aimed at all drives at once.
    pub(super) fn is_of_all(&self) -> bool {
        self.cell.target.is_none()
    }

    /// Threads on each drive.
    pub(super) fn threads(&self) -> u32 {
        self.cell.group.threads
    }

    /// An arm's options, for as many drives as it is aimed at.
    pub(super) fn with_drives(&self, arm: &Options) -> Options {
        let mut options = *arm;
        options.drives = self.options.drives;
        options
    }

    /// Makes it.
    pub(super) fn make(&self, profile: &Profile) -> Result<CellFigures, Failure> {
        let device = target::build(profile, &self.options, self.seed)?;
        let drives = u32::try_from(self.seeds.len()).expect("few drives");
        let threads = Threads {
            workload: &self.workload,
            threads: self.cell.group.threads,
            cursor: self.cursor,
            drives,
            capacity: Bytes::new(device.capacity().bytes().get() / u64::from(drives)),
            seeds: &self.seeds,
        };
        let control = Control { stop: interrupt::flag(), progress: &|_| () };
        let (tally, moved) =
            simulate_threads(device, threads, &control).map_err(Failure::bad_request)?;
        let total = tally.record().figures_only();
        if let [_] = moved[..] {
            return Ok(CellFigures { jobs: vec![total.clone()], total });
        }
        // Of each drive no more is known than what went to and from it.
        let job = |(ios, bytes)| {
            let mut of_drive = Tally { elapsed: tally.elapsed, ..Tally::default() };
            let all = of_drive.of_mut(Op::Read);
            (all.ios, all.bytes) = (ios, bytes);
            JobRecord { reads: 0, read: None, ..of_drive.record().figures_only() }
        };
        Ok(CellFigures { jobs: moved.iter().map(|one| job((one.ios, one.bytes))).collect(), total })
    }
}
