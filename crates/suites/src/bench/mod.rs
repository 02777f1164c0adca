//! What suites share: their folder, their clock, what they record, and how they end.

mod buffer;
mod cache;
mod files;
mod halt;
mod options;
mod place;
mod threads;
mod tree;
mod watch;

pub(crate) use buffer::Buffer;
pub(crate) use cache::{CacheDrop, Dropped, drops_everything};
pub(crate) use files::{
    Content, copy_file, each_name, make_below, open_below, open_folder, read_whole, write_file,
};
pub(crate) use halt::{At, Done, Halt};
pub use options::SuiteOption;
pub(crate) use options::{Auto, suite_options};
pub(crate) use place::{Place, has_space};
pub(crate) use tree::{Entry, Tree, random_letters};
pub use watch::{Control, Step};
pub(crate) use watch::{Laps, Stopwatch, Took, Watch, merged};

use drivelab_core::record::{
    Better, Figure, Label, Latency, Mark, MarkId, Nature, Phase, ReadBack, Remark,
};
use drivelab_core::{Bytes, Histogram, Rng};

/// What a phase came to.
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
    pub(crate) place: Place,
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
        self.control.check()?;
        let is_due = match self.drop {
            CacheDrop::Never => false,
            CacheDrop::Run => self.dropped.is_none(),
            CacheDrop::Phases => true,
        };
        if is_due {
            let folder = self.place.folder();
            self.dropped = Some(cache::drop_below(folder).at("drop from memory", folder.path())?);
        }
        self.control.check()
    }

    /// What a phase that reads `bytes`, written before, measures.
    pub(crate) fn reading(&self, bytes: Bytes) -> Nature {
        let is_dropped = self.drop == CacheDrop::Phases && self.dropped != Some(Dropped::Nothing);
        ReadBack { is_dropped, bytes: Some(bytes), memory: Some(self.memory) }.nature()
    }

    /// What a phase measures that looks names and inodes up.
    pub(crate) fn looking_up(&self) -> Nature {
        let is_cold = self.drop == CacheDrop::Phases && self.dropped == Some(Dropped::All);
        if is_cold { Nature::Disk } else { Nature::PageCache }
    }

    /// Keeps what a phase came to.
    pub(crate) fn record(&mut self, measured: Measured<'_>) {
        let Measured { name, mut nature, mut figures, took, lat } = measured;
        let load = percent(took);
        let mut remarks = Vec::new();
        if self.in_memory && nature != Nature::Cpu {
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

    /// What the whole is, and what casts doubt on it.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let mark = |id, message: &str| Mark { id, message: message.into() };
        let in_memory = "the folder is on a file system in memory: no disk was measured";
        let in_memory = self.in_memory.then(|| mark(MarkId::NotDisk, in_memory));
        let kept = match self.drop {
            CacheDrop::Never => Some(mark(MarkId::PageCache, "the page cache was not dropped")),
            _ => self.dropped.and_then(Dropped::mark),
        };
        in_memory.into_iter().chain(kept).collect()
    }
}

/// Processor time as a share of wall time.
fn percent(took: Took) -> f64 {
    if took.wall.is_zero() { 0.0 } else { 100.0 * seconds(took.cpu) / seconds(took.wall) }
}

pub(crate) fn seconds(span: drivelab_core::Span) -> f64 {
    float(span.ns()) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days, and 2^53 bytes 8 PiB")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// An amount each second, under the name that the tool of that name gives it.
pub(crate) fn rate(name: &str, amount: f64, took: Took, unit: &str) -> Figure {
    // A phase too short for the clock has no time to divide by.
    let per_s = if took.wall.is_zero() { 0.0 } else { amount / seconds(took.wall) };
    Figure { unit: unit.into(), ..Figure::new(name, per_s, Better::More) }
}
