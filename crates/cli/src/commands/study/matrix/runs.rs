//! The runs of a matrix study: which there are, and making them on all processors.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drivelab_core::Device as _;
use drivelab_core::matrix::{Cell, Cursor, Group, Matrix};
use drivelab_core::record::Tally;
use drivelab_core::rng::Rng;
use drivelab_core::units::{Bytes, Sectors, Span};
use drivelab_core::workload::{Pace, Workload};
use drivelab_engine::{Control, Simulation, VirtualJobs, VirtualTarget, simulate};
use drivelab_model::options::{Options, Switch};
use drivelab_model::profile::Profile;
use drivelab_report::cells::Row;
use drivelab_study::file::MatrixFile;

use crate::failure::Failure;
use crate::interrupt;
use crate::target;
use crate::ui::Progress;

/// What one run does.
#[derive(Debug, Clone)]
struct Run {
    options: Options,
    workload: Workload,
    threads: u32,
    cursor: Cursor,
    /// The seed of the drives, and of the threads on each.
    drives: u64,
    seeds: Vec<u64>,
}

/// Where the result of a run belongs: the row, and the drive that was alone, if one was.
#[derive(Debug, Clone, Copy)]
struct Place {
    row: usize,
    alone: Option<usize>,
}

/// All runs of a study, each made once however many rows want it.
#[derive(Debug)]
pub(super) struct Runs {
    rows: Vec<Row>,
    runs: Vec<(Run, Vec<Place>)>,
}

impl Runs {
    /// The runs of every arm, whose options are `arms`, on drives of `profile`.
    pub(super) fn new(
        grid: &MatrixFile,
        profile: &Profile,
        arms: &[Options],
    ) -> Result<Self, Failure> {
        let mut all = Self { rows: Vec::new(), runs: Vec::new() };
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for block in 0..grid.matrix.blocks {
            for (arm, options) in arms.iter().enumerate() {
                for (cursor, way) in grid.cursors.iter().enumerate() {
                    for group in Group::all(&grid.matrix) {
                        // A single thread, or random addresses, know no such difference.
                        if cursor > 0 && (group.random > 0 || group.threads == 1) {
                            continue;
                        }
                        for size in 0..grid.matrix.bs.len() {
                            let row = row(&grid.matrix, (arm, cursor, block), group, size);
                            let runs = of_row(&grid.matrix, profile, &row, options, *way)?;
                            all.add(row, runs, &mut known);
                        }
                    }
                }
            }
        }
        // The longest first, so that no processor is left with one at the end: small sequential
        // blocks are the most requests.
        all.runs.sort_by_key(|(run, _)| {
            let drives = run.options.drives.unwrap_or(1);
            (run.workload.rw.is_random(), run.workload.blocks.largest(), u32::MAX - drives)
        });
        Ok(all)
    }

    fn add(
        &mut self,
        row: Row,
        runs: Vec<(String, Run, Option<usize>)>,
        known: &mut BTreeMap<String, usize>,
    ) {
        let number = self.rows.len();
        for (key, run, alone) in runs {
            let place = Place { row: number, alone };
            if let Some(same) = known.get(&key) {
                self.runs[*same].1.push(place);
            } else {
                known.insert(key, self.runs.len());
                self.runs.push((run, vec![place]));
            }
        }
        self.rows.push(row);
    }

    /// How many rows there are, and how many runs make them.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.rows.len(), self.runs.len())
    }

    /// Makes every run, on so many threads: the rows, or `None` where the user asked to stop. What
    /// comes out does not depend on the threads.
    pub(super) fn make(
        self,
        profile: &Profile,
        threads: NonZeroUsize,
        progress: &Progress,
    ) -> Result<Option<Vec<Row>>, Failure> {
        let Self { mut rows, runs } = self;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let empty: Vec<Option<Result<Vec<f64>, Failure>>> = runs.iter().map(|_| None).collect();
        let results = Mutex::new(empty);
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((run, _)) = runs.get(place) else { return };
                let result = run.make(profile);
                let mut results = results.lock().expect("no run panics while it holds the lock");
                results[place] = Some(result);
                if interrupt::requested() {
                    return;
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress.at(done as u64, &format!("{} of {} runs", done, runs.len()));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.get().min(runs.len()) {
                scope.spawn(work);
            }
            work();
        });
        if interrupt::requested() {
            return Ok(None);
        }
        let results = results.into_inner().expect("no run panics while it holds the lock");
        for ((_, places), result) in runs.iter().zip(results) {
            let rates = result.expect("every run was made")?;
            for place in places {
                let row = &mut rows[place.row];
                match place.alone {
                    Some(drive) => row.alone[drive] = Some(rates[0]),
                    None => row.together = rates.iter().copied().map(Some).collect(),
                }
            }
        }
        Ok(Some(rows))
    }
}

impl Run {
    /// Makes it: what moved to or from each drive, in bytes a second.
    fn make(&self, profile: &Profile) -> Result<Vec<f64>, Failure> {
        let device = target::build(profile, &self.options, self.drives)?;
        let capacity = device.capacity().bytes().get() / self.seeds.len() as u64;
        // Threads that go on in one place are one that has as many requests outstanding.
        let one = self.cursor == Cursor::Shared && !self.workload.rw.is_random();
        let (numjobs, iodepth) = if one { (1, self.threads) } else { (self.threads, 1) };
        let pace = Pace::Closed { iodepth, think_time: Span::ZERO };
        let workload = Workload { pace, ..self.workload.clone() };
        let drives = (0..).zip(&self.seeds).map(|(drive, seed)| VirtualJobs {
            numjobs,
            first: Sectors::holding(Bytes::new(drive * capacity)),
            capacity: Some(Bytes::new(capacity)),
            ..VirtualJobs::one(&workload, *seed)
        });
        let control = Control { stop: interrupt::flag(), progress: &|_| () };
        let mut device = VirtualTarget::new(device);
        let made = simulate(&mut device, &drives.collect::<Vec<_>>(), &control);
        let rate = |drive: Simulation| {
            let bytes = drive.jobs.iter().map(Tally::bytes).sum();
            per_second(bytes, drive.jobs[0].elapsed.ns())
        };
        Ok(made.map_err(Failure::bad_request)?.into_iter().map(rate).collect())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people and statistics")]
fn per_second(bytes: u64, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { bytes as f64 * 1e9 / ns as f64 }
}

fn row(
    matrix: &Matrix,
    (arm, cursor, block): (usize, usize, u32),
    group: Group,
    size: usize,
) -> Row {
    let Group { random, threads, read } = group;
    let drives = matrix.targets.len();
    Row {
        arm,
        cursor,
        block,
        read,
        random,
        threads,
        size,
        alone: vec![None; drives],
        together: vec![None; drives],
    }
}

/// The runs of one row, each with a name that is equal exactly where the result must be.
///
/// Drives of one profile differ by their seeds only, and a run that draws nothing has the same
/// result on each: sequential reads, or writes, on a drive without chance. A run that only reads
/// never meets the write cache, on or off.
fn of_row(
    matrix: &Matrix,
    profile: &Profile,
    row: &Row,
    options: &Options,
    cursor: Cursor,
) -> Result<Vec<(String, Run, Option<usize>)>, Failure> {
    let cell = Cell {
        block: row.block,
        target: None,
        read: row.read,
        random: row.random,
        threads: row.threads,
        bs: matrix.bs[row.size].clone(),
    };
    let workload = cell.workload(matrix).map_err(Failure::bad_request)?;
    let mut options = *options;
    if row.read == 100 {
        options.write_cache = Some(Switch::Off);
    }
    let draws = row.random > 0 || !matches!(row.read, 0 | 100) || profile.draws();
    let drives = u64::try_from(matrix.targets.len()).expect("few drives");
    let own = Rng::for_part(matrix.seed, u64::from(row.block)).bits();
    let seeds: Vec<u64> = (0..drives).map(|drive| Rng::for_part(own, drive).bits()).collect();
    let make = |count: u32, place: usize, alone: Option<usize>| {
        let place = if draws { place } else { 0 };
        let mut options = options;
        options.drives = Some(count);
        let (drives, seeds) = match alone {
            Some(_) => (Rng::for_part(own, place as u64).bits(), vec![seeds[place]]),
            None => (own, seeds.clone()),
        };
        let run = Run {
            options,
            workload: workload.clone(),
            threads: row.threads,
            cursor,
            drives,
            seeds,
        };
        let group = row_name(row);
        let with = if draws { format!("{:?}", run.seeds) } else { String::new() };
        (format!("{:?} {group} {cursor} {with}", options.entries()), run, alone)
    };
    let mut runs: Vec<_> =
        (0..matrix.targets.len()).map(|place| make(1, place, Some(place))).collect();
    runs.push(make(u32::try_from(drives).expect("few drives"), 0, None));
    Ok(runs)
}

fn row_name(row: &Row) -> String {
    format!("{} {} {} {}", row.read, row.random, row.threads, row.size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_study::StudyFile;

    use crate::stage::{DriveKeys, Simulator};

    const SMALL: &str = r#"
title = "Does a narrow bus matter?"
primary = "sequential-read-1.scaling"
blocks = 1
[base]
drive = "seagate-st31000333as"
drives = 2
[[arm]]
name = "narrow"
bus = "pci"
[[arm]]
name = "narrow-uncached"
bus = "pci"
write-cache = "off"
[matrix]
read = [100, 0]
random = [0, 100]
threads = [1, 3]
bs = ["64k", "1m"]
cursor = ["own", "shared"]
runtime = "500ms"
"#;

    fn profile(simulator: &Simulator) -> &Profile {
        simulator.drives()[0].0
    }

    fn runs(simulator: &Simulator) -> Runs {
        let study = StudyFile::parse("small", SMALL, &DriveKeys).unwrap();
        let grid = study.matrix.as_ref().unwrap();
        let arms: Vec<Options> = simulator.drives().iter().map(|(_, options)| *options).collect();
        Runs::new(grid, profile(simulator), &arms).unwrap()
    }

    fn rows(threads: usize) -> Vec<Row> {
        let study = StudyFile::parse("small", SMALL, &DriveKeys).unwrap();
        let simulator = Simulator::new(&study).unwrap();
        let threads = NonZeroUsize::new(threads).unwrap();
        let progress = Progress::steps(1, "test");
        runs(&simulator).make(profile(&simulator), threads, &progress).unwrap().unwrap()
    }

    #[test]
    fn results_do_not_depend_on_how_many_threads_make_them() {
        assert_eq!(rows(1), rows(3));
    }

    #[test]
    fn reads_are_made_once_for_both_states_of_the_write_cache_and_alike_drives_once() {
        let study = StudyFile::parse("small", SMALL, &DriveKeys).unwrap();
        let simulator = Simulator::new(&study).unwrap();
        let (cells, made) = runs(&simulator).counts();
        // Sixteen cells, and four that a shared cursor changes, in two arms.
        assert_eq!(cells, 2 * (16 + 4));
        // Six sequential cells: one drive alone, and all together. Four random ones: each of the
        // two drives alone, and both together. Reads once for both arms, writes in each.
        assert_eq!(made, (1 + 2) * (6 * 2 + 4 * 3));
    }

    #[test]
    fn a_write_cache_changes_nothing_for_reads() {
        let study = StudyFile::parse("small", SMALL, &DriveKeys).unwrap();
        let simulator = Simulator::new(&study).unwrap();
        for (run, _) in runs(&simulator).runs.iter().filter(|(run, _)| !run.workload.rw.writes()) {
            let mut cached = run.clone();
            cached.options.write_cache = Some(Switch::On);
            let rates = |run: &Run| run.make(profile(&simulator)).unwrap();
            assert_eq!(rates(run), rates(&cached), "{:?}", run.options.entries());
        }
    }
}
