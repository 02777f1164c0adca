//! The parts that suites share: their folder, their clock, their records, and how they end.

mod buffer;
mod cache;
mod files;
mod halt;
mod options;
mod threads;
mod tree;
mod watch;
mod workspace;

pub(crate) use buffer::Buffer;
pub(crate) use cache::{CacheDrop, Dropped, drops_everything};
pub(crate) use files::{
    Content, copy_file, each_name, make_below, open_below, open_folder, read_whole, write_file,
};
pub(crate) use halt::{At, Done, Halt};
pub use options::SuiteOption;
pub(crate) use options::{Auto, suite_options};
pub(crate) use tree::{Entry, Tree, random_letters};
pub(crate) use watch::{Laps, Stopwatch, Took, Watch, check, merged};
pub(crate) use workspace::{Workspace, has_space};

use drivelab_core::Control;
use drivelab_core::numbers::float;
use drivelab_core::record::{
    Better, Figure, Label, Latency, Mark, MarkId, Nature, Phase, ReadBack, Remark,
};
use drivelab_core::{Bytes, Histogram, Rng};

/// The result of a phase.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) name: &'a str,
    pub(crate) nature: Nature,
    pub(crate) figures: Vec<Figure>,
    pub(crate) took: Took,
    pub(crate) lat: Histogram,
}

/// A suite while it runs.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) workspace: Workspace,
    pub(crate) control: Control<'a>,
    pub(crate) seed: u64,
    pub(crate) memory: Bytes,
    /// The folder is on a file system that is nowhere but in memory.
    pub(crate) in_memory: bool,
    pub(crate) drop: CacheDrop,
    pub(crate) dropped: Option<Dropped>,
    pub(crate) phases: Vec<Phase>,
}

impl Bench<'_> {
    /// Random numbers for one part of the suite.
    pub(crate) fn rng(&self, part: u64) -> Rng {
        Rng::for_part(self.seed, part)
    }

    /// Drops the page cache where that is due before a phase; what was made before it lies on the
    /// disk only.
    pub(crate) fn begin(&mut self) -> Done {
        check(self.control)?;
        let is_due = match self.drop {
            CacheDrop::Never => false,
            CacheDrop::Run => self.dropped.is_none(),
            CacheDrop::Phases => true,
        };
        if is_due {
            let folder = self.workspace.folder();
            self.dropped = Some(cache::drop_below(folder).at("drop from memory", folder.path())?);
        }
        check(self.control)
    }

    /// Returns the nature of a phase that reads `bytes` which were written before.
    pub(crate) fn reading(&self, bytes: Bytes) -> Nature {
        // Only a drop directly before the phase counts: with `run`, earlier phases filled the
        // cache.
        let is_dropped = self.drop == CacheDrop::Phases && self.dropped != Some(Dropped::Nothing);
        ReadBack { is_dropped, bytes: Some(bytes), memory: Some(self.memory) }.nature()
    }

    /// Returns the nature of a phase that looks up names and inodes.
    pub(crate) fn looking_up(&self) -> Nature {
        let is_cold = self.drop == CacheDrop::Phases && self.dropped == Some(Dropped::All);
        if is_cold { Nature::Disk } else { Nature::PageCache }
    }

    /// Keeps what a phase came to.
    pub(crate) fn record(&mut self, measured: Measured<'_>) {
        let Measured { name, mut nature, mut figures, took, lat } = measured;
        debug_assert!(!figures.is_empty(), "{name} measures something");
        let load = percent(took);
        let mut remarks = Vec::new();
        if self.in_memory && nature != Nature::Cpu {
            // No figure can be that of a disk, not even one that has a nature of another phase.
            nature = Nature::PageCache;
            for figure in &mut figures {
                figure.nature = None;
            }
        } else if nature == Nature::Disk && Nature::of_transfer(load) == Nature::Cpu {
            nature = Nature::Cpu;
            let why = format!("the CPU was the bottleneck ({load:.0} % CPU)");
            remarks.push(Remark::new(Label::Nature(Nature::Cpu), why));
        }
        figures.push(Figure {
            unit: "%".into(),
            nature: Some(Nature::Cpu),
            is_detail: true,
            ..Figure::new(format!("{name}_cpu"), load, Better::Less)
        });
        let lat_ns = (lat.n() > 0).then(|| Latency::of(&lat));
        let (name, points) = (name.into(), Vec::new());
        self.phases.push(Phase { name, nature, figures, points, lat_ns, remarks });
    }

    /// Returns the marks of the whole run.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        if self.in_memory {
            let message = "the folder is on a file system in memory: no disk was measured".into();
            marks.push(Mark { id: MarkId::NotDisk, message });
        }
        if self.drop == CacheDrop::Never {
            let message = "the page cache was not dropped".into();
            marks.push(Mark { id: MarkId::PageCache, message });
        } else {
            marks.extend(self.dropped.and_then(Dropped::mark));
        }
        marks
    }
}

/// Processor time as a share of wall time.
fn percent(took: Took) -> f64 {
    if took.wall.is_zero() { 0.0 } else { 100.0 * seconds(took.cpu) / seconds(took.wall) }
}

pub(crate) fn seconds(span: drivelab_core::Span) -> f64 {
    float(span.ns()) / 1e9
}

/// An amount each second, under the name that the tool of that name gives it.
pub(crate) fn rate(name: &str, amount: f64, took: Took, unit: &str) -> Figure {
    // A phase too short for the clock has no time to divide by.
    let per_s = if took.wall.is_zero() { 0.0 } else { amount / seconds(took.wall) };
    Figure { unit: unit.into(), ..Figure::new(name, per_s, Better::More) }
}
