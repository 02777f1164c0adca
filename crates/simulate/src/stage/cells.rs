//! Cells of a matrix in virtual time.

use drivelab_core::matrix::{Cell, Cursor, Matrix};
use drivelab_core::record::{JobRecord, Tally};
use drivelab_core::rng::Rng;
use drivelab_core::units::{Bytes, Sectors, Span};
use drivelab_core::workload::{Pace, Workload};
use drivelab_core::{Control, Device as _, Refusal};
use drivelab_load::{Simulation, VirtualJobs, VirtualTarget, simulate};
use drivelab_model::options::{Options, ProfileRef, Switch};
use drivelab_model::profile::Profile;
use drivelab_model::stack::HostSyncs;

use crate::model;

/// The run of a cell: all that its figures depend on.
#[derive(Debug, Clone)]
pub(super) struct CellRun {
    pub(super) options: Options,
    pub(super) workload: Workload,
    cell: Cell,
    cursor: Cursor,
    /// True if anything depends on seeds.
    draws: bool,
    /// The profile, and which drive of those that fit it.
    drive: (String, Option<u32>),
    /// The seed of the drives, and of the threads on each.
    seed: u64,
    seeds: Vec<u64>,
}

/// The figures of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellFigures {
    /// One entry a drive.
    pub(super) jobs: Vec<JobRecord>,
    pub(super) total: JobRecord,
}

/// The number of drives that a cell is aimed at, where the matrix has several.
pub(super) fn drives(matrix: &Matrix, cell: &Cell) -> Option<u32> {
    let several = matrix.targets.len() > 1;
    several.then(|| u32::try_from(matrix.targets(cell).len()).expect("few drives"))
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
    ) -> Result<Self, Refusal> {
        let mut options = *options;
        options.drives = drives(matrix, &cell).or(options.drives);
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
        let workload = cell.workload(matrix).map_err(Refusal::request_error)?;
        Ok(Self {
            options,
            workload,
            cell,
            cursor: matrix.cursors[cell.cursor],
            draws,
            drive: (String::new(), None),
            seed,
            seeds,
        })
    }

    /// The same run on a drive of this profile, or a specimen of it.
    pub(super) fn of_drive(self, profile: &ProfileRef, specimen: Option<u32>) -> Self {
        Self { drive: (profile.to_string(), specimen), ..self }
    }

    /// A name that is equal exactly where the figures must be.
    pub(super) fn key(&self) -> String {
        let Cell { group, size, .. } = self.cell;
        let seeds = if self.draws { &self.seeds[..] } else { &[] };
        let (options, drive) = (self.options.entries(), &self.drive);
        format!("{options:?} {group:?} {size} {} {seeds:?} {drive:?}", self.cursor)
    }

    /// The seed of its drives.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The seed of the threads on each drive.
    pub(super) fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// True if it is aimed at all drives at once.
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
    pub(super) fn make(
        &self,
        profile: &Profile,
        control: &Control<'_>,
    ) -> Result<CellFigures, Refusal> {
        let device = model::build(profile, &self.options, self.seed)?;
        let capacity = device.capacity().bytes().get() / self.seeds.len() as u64;
        let threads = self.cell.group.threads;
        // Threads that share one cursor are one thread that has as many requests outstanding.
        let one = self.cursor == Cursor::Shared && !self.workload.rw.is_random();
        let (numjobs, iodepth) = if one { (1, threads) } else { (threads, 1) };
        let pace = Pace::Closed { iodepth, think_time: Span::ZERO };
        let workload = Workload { pace, ..self.workload.clone() };
        let drives = (0..).zip(&self.seeds).map(|(drive, seed)| VirtualJobs {
            numjobs,
            first: Sectors::holding(Bytes::new(drive * capacity)),
            capacity: Some(Bytes::new(capacity)),
            ..VirtualJobs::one(&workload, *seed)
        });
        let about = device.about().clone();
        let mut device = VirtualTarget::new(HostSyncs::new(device, &about));
        let made = simulate(&mut device, &drives.collect::<Vec<_>>(), control);
        let of_drives = made.map_err(model::not_made)?;
        let of_drives: Vec<Tally> = of_drives.iter().map(Simulation::total).collect();
        let mut total = of_drives[0].clone();
        of_drives[1..].iter().for_each(|other| total.merge(other));
        let figures = |tally: &Tally| tally.record().figures_only();
        Ok(CellFigures { jobs: of_drives.iter().map(figures).collect(), total: figures(&total) })
    }
}
