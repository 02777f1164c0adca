//! Stage emulate: a modelled drive served in real time to this kernel, and measured as a real one.
//!
//! The server is a separate process: one that served a file which it reads itself could not be
//! killed while it waits for its own answer.

mod server;

use std::path::Path;

use drivelab_core::outline::Risk;
use drivelab_core::record::{JobRecord, Latency, Mark, MarkId, Nature, Phase, RunRecord, Served};
use drivelab_core::units::Span;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_files::{Marked, Marker};
use drivelab_serve::server::why_void;
use drivelab_study::{PlannedRun, Stage, StoredRun, StudyFile, Task, Work};

use super::Simulator;
use super::cell_loads::{self, Region};
use super::files::Files;
use super::program::Commands;
use crate::interrupt;
use crate::request::{self, Load, Permissions};
use server::Server;

static MARKER: Marker = Marker { name: ".drivelab-emulate", text: "" };

/// The arms of a study as modelled drives that this host serves.
#[derive(Debug)]
pub struct Emulator {
    drives: Simulator,
    study: StudyFile,
    commands: Commands,
    /// The mount point of the drive.
    folder: Marked,
}

impl Emulator {
    /// Checks that every arm's drive can be served here.
    pub fn new(study: &mut StudyFile) -> Result<Self, Refusal> {
        let folder = Marked::temporary("drivelab-emulate-", &MARKER);
        let folder = folder.at_path("make a folder in", &std::env::temp_dir())?;
        let (drives, commands) = (Simulator::new(study, &Files)?, Commands::default());
        let emulator = Self { drives, study: study.clone(), commands, folder };
        // Of a matrix the last cell, which all drives serve.
        let first = study.cells.len().checked_sub(1).map_or(Task::Workload(0), Task::Cell);
        for (arm, name) in study.arms.iter().map(|arm| &arm.name).enumerate() {
            let spec = emulator.drives.spec(arm, first).to_string();
            emulator
                .serve(&spec, study.seed)
                .and_then(Server::end)
                .map_err(|failure| failure.hint(format!("this is arm `{name}`")))?;
        }
        Ok(emulator)
    }

    fn serve(&self, spec: &str, seed: u64) -> Result<Server, Refusal> {
        Server::start(spec, seed, &self.folder.folder().path().join("drive"))
    }

    /// Measures a cell of the matrix: each of its drives is a part of the file.
    fn cell(&self, index: usize, request: PlannedRun, path: &Path) -> Result<RunRecord, Refusal> {
        let (matrix, cells) = self.drives.matrix().expect("its cells are runs");
        let cell = &cells[index];
        let parts = self.drives.parts(request)?;
        let drives = 0..matrix.targets.len() as u64;
        let regions = drives.map(|drive| {
            // The file holds the drives of this cell, and no others.
            let before = if cell.target.is_some() { 0 } else { drive };
            let first = before * parts.size.get();
            Region { path: path.to_owned(), first, size: Some(parts.size) }
        });
        let regions: Vec<Region> = regions.collect();
        let mut loads = cell_loads::loads(matrix, cell, &regions, request.seed);
        for (load, seed) in loads.iter_mut().zip(&parts.seeds) {
            load.seed = *seed;
        }
        Self::make(path, request::Work::Cell(loads), request.seed)
    }

    /// Makes a run on a served drive, on which nothing must be kept.
    fn make(path: &Path, work: request::Work, seed: u64) -> Result<RunRecord, Refusal> {
        let asked = crate::Request::on_path(path.to_owned(), work, seed);
        crate::run(&asked.permitting(Permissions::of_study(true)), &interrupt::silent())
    }

    /// The record of a drive that this host served, with the lateness of the answers.
    fn served(&self, record: RunRecord, served: Served, request: PlannedRun) -> RunRecord {
        let PlannedRun { arm, task, .. } = request;
        let mut marks = record.marks;
        marks.insert(0, emulated());
        let why = why_void(&served).filter(|_| depends_on_drive(&record.phases, &served));
        marks.extend(why.map(|message| Mark { id: MarkId::Void, message }));
        RunRecord {
            target: self.drives.spec(arm, task).to_string(),
            total: record.total.map(JobRecord::without_series),
            attached: Some(self.drives.attached(arm, task)),
            specimen: self.drives.median(arm, task),
            marks,
            served: Some(served),
            ..record
        }
    }
}

impl Stage for Emulator {
    type Error = Refusal;

    fn target(&self) -> String {
        self.drives.target()
    }

    /// Serves a drive that no run has used, as simulate does, and measures it.
    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        let PlannedRun { arm, task, seed, .. } = request;
        let spec = self.drives.spec(arm, task).to_string();
        if let Task::Cell(index) = task {
            let drive = self.serve(&spec, self.drives.parts(request)?.seed)?;
            let measured = self.cell(index, request, drive.path());
            let served = drive.end();
            return Ok(self.served(measured?, served?, request));
        }
        let drive = self.serve(&spec, seed)?;
        let mut of_command = None;
        let measured = match self.drives.work(task).clone() {
            Work::Load(workload) => {
                let load = request::Work::Load(Box::new(Load::new(*workload)));
                Self::make(drive.path(), load, seed)
            }
            Work::Command(command) => {
                // Its file system and its data are made by the same drive, which may be late then.
                let mut count_again =
                    || drive.reset_stats().map(|served| of_command = Some(served));
                self.commands.run(&self.study, &command, request, drive.path(), &mut count_again)
            }
            Work::Suite(suite) => Self::make(drive.path(), request::Work::Suite(suite), seed),
        };
        let ended = drive.end();
        let (record, served) = (measured?, ended?);
        Ok(self.served(record, of_command.unwrap_or(served), request))
    }

    fn printed(&mut self) -> Option<String> {
        self.commands.printed()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.drives.settings()
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk> {
        self.drives.risks(runs)
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let mut notes = vec![format!(
            "Emulated: this host served the model of {} in real time and measured it through its \
             own kernel. No real drive was involved, and the verdict is only as good as the model.",
            self.drives.model_names().join(" and "),
        )];
        notes.extend(lateness(runs.iter().map(|run| &run.record)));
        notes.extend(views(runs.iter().map(|run| &run.record)));
        notes
    }
}

fn emulated() -> Mark {
    let message = "a modelled drive, served in real time through FUSE: no real device was involved";
    Mark { id: MarkId::Emulated, message: message.into() }
}

/// True if a figure of these phases depends on how late the drive was; a load has no phases.
/// Figures from the page cache do if some of it was written back: the kernel makes writers wait.
fn depends_on_drive(phases: &[Phase], served: &Served) -> bool {
    let mut natures = phases
        .iter()
        .flat_map(|phase| phase.figures.iter().map(|figure| figure.nature.unwrap_or(phase.nature)));
    let is_any_of_drive = natures.any(|nature| match nature {
        Nature::Disk | Nature::DriveCache | Nature::JournalSync => true,
        Nature::PageCache => served.ios > 0,
        Nature::Cpu | Nature::Network => false,
    });
    phases.is_empty() || is_any_of_drive
}

/// The lateness of the answers of all runs.
fn lateness<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> Option<String> {
    let runs: Vec<&RunRecord> = runs.filter(|run| run.served.is_some()).collect();
    let served = || runs.iter().filter_map(|run| run.served.as_ref());
    let worst = |of: fn(&Served) -> Option<u64>| served().filter_map(of).max();
    let (p99, max) = (worst(|run| run.lateness_ns.p99)?, worst(|run| run.lateness_ns.max)?);
    let bound = served().map(|run| run.lateness_bound_ns).min()?;
    let marks = runs.iter().flat_map(|run| &run.marks);
    let void: Vec<&Mark> = marks.filter(|mark| mark.id == MarkId::Void).collect();
    let validity = match void.first() {
        None => "every run is valid".to_owned(),
        Some(Mark { message, .. }) => {
            format!("{} of {} runs are void, the first since {message}", void.len(), runs.len())
        }
    };
    Some(format!(
        "Lateness of the server: p99 {} in the worst run, maximum {}; the bound for 99 % of the \
         completions is {}; {validity}.",
        Span::from_ns(p99),
        Span::from_ns(max),
        Span::from_ns(bound)
    ))
}

/// The latency of requests by the model, and as this kernel saw it.
fn views<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> Option<String> {
    let both = runs.filter_map(|run| Some((run.served.as_ref()?.model_ns?, run.total.as_ref()?)));
    let both: Vec<(Latency, Latency)> =
        both.map(|(model, total)| (model, total.service_ns)).collect();
    let mean = |of: fn(&(Latency, Latency)) -> &Latency| {
        let sum = |what: fn(&Latency) -> u128| both.iter().map(|pair| what(of(pair))).sum::<u128>();
        // Weighted by requests: a mean of means would favour short runs.
        let ns = sum(|lat| u128::from(lat.mean) * u128::from(lat.n));
        let ns = ns.checked_div(sum(|lat| u128::from(lat.n)))?;
        u64::try_from(ns).ok().map(Span::from_ns)
    };
    let (model, kernel) = (mean(|pair| &pair.0)?, mean(|pair| &pair.1)?);
    let apart = both.iter().map(|(model, kernel)| model.p50.abs_diff(kernel.p50)).max()?;
    Some(format!(
        "According to the model a request took {} on average, as measured by this kernel {}; the \
         medians of a run differ by at most {}.",
        in_us(model),
        in_us(kernel),
        in_us(Span::from_ns(apart))
    ))
}

/// Whole microseconds: more digits would not matter to a reader.
fn in_us(span: Span) -> Span {
    Span::from_us(span.ns() / 1000)
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::{Better, Figure, LatenessNs, RunConfig};

    use super::*;
    use crate::measure;

    fn served(ios: u64, p99: u64, valid: bool) -> Served {
        Served {
            ios,
            lateness_ns: LatenessNs { p50: Some(10_000), p99: Some(p99), max: Some(2 * p99) },
            model_ns: None,
            lateness_bound_ns: 500_000,
            late: 20,
            added_ns: None,
            valid,
            scheduling: "fifo".into(),
        }
    }

    #[test]
    fn a_run_that_measured_the_host_is_counted_and_marked() {
        let run = |p99: u64, why: Option<&str>| {
            let served = served(1000, p99, why.is_none());
            let void = why.map(|why| Mark { id: MarkId::Void, message: why.into() });
            let marks = void.into_iter().collect();
            let own = measure::benchmark("", RunConfig::default(), Vec::new());
            RunRecord { served: Some(served), marks, ..own }
        };
        let (quiet, late) = (run(100_000, None), run(900_000, Some("it was late")));
        let said = lateness([&quiet, &quiet].into_iter()).unwrap();
        assert!(said.contains("p99 100us") && said.contains("every run is valid"), "{said}");
        let said = lateness([&quiet, &late].into_iter()).unwrap();
        assert!(said.contains("p99 900us") && said.contains("1 of 2 runs are void"), "{said}");
        assert!(said.contains("the first since it was late"), "{said}");
        assert_eq!(lateness([].into_iter()), None);
    }

    #[test]
    fn the_drive_decides_about_figures_of_the_drive_alone() {
        let check = |nature, figure, ios, expected| {
            let own = Figure { nature: figure, ..Figure::new("a_ns", 1.0, Better::Less) };
            let phase = Phase {
                name: String::new(),
                nature,
                figures: vec![own],
                lat_ns: None,
                points: Vec::new(),
                remarks: Vec::new(),
            };
            let depends = depends_on_drive(&[phase], &served(ios, 900_000, false));
            assert_eq!(depends, expected, "{nature:?}, {figure:?}, {ios} requests");
        };
        check(Nature::Disk, None, 0, true);
        check(Nature::JournalSync, None, 9, true);
        check(Nature::Network, None, 9, false);
        check(Nature::PageCache, None, 0, false);
        check(Nature::PageCache, None, 9, true);
        check(Nature::PageCache, Some(Nature::Cpu), 9, false);
        check(Nature::Network, Some(Nature::DriveCache), 9, true);
        check(Nature::Disk, Some(Nature::Cpu), 9, false);
        let late = served(9, 900_000, false);
        assert!(depends_on_drive(&[], &late), "a load on the drive has no phases");
    }
}
