//! The nature of bonnie++'s numbers.

use super::column::{Kind, PHASES, Phase, Work};
use super::row::Row;
use drivelab_core::record::{Label, Nature, ReadBack, Remark};

use crate::found;

/// KiB/s above which no single device answered.
const DEVICE_MAX: f64 = found::DEVICE_MAX / 1024.0;

/// The nature of a phase's number, and the reasons.
pub(super) struct Meaning {
    pub(super) nature: Nature,
    pub(super) remarks: Vec<Remark>,
}

/// Rate and processor load of a phase, if they were measured.
#[derive(Clone, Copy)]
struct Measured {
    rate: Option<f64>,
    cpu: Option<f64>,
}

/// From this share of the wall time on, a phase that handles single bytes is limited by the
/// processor: part of the time goes to a process that flushes.
const BYTES_CPU_PERCENT: f64 = 75.0;
/// By which factor bonnie++ 2.00 may count the load of its seek processes too high.
const SEEK_LOAD_FACTOR: f64 = 5.0;

impl Measured {
    /// True if the processor was not the limit.
    fn is_idle(self) -> bool {
        self.cpu.is_some_and(|cpu| cpu < BYTES_CPU_PERCENT)
    }

    /// Without a load that may be several times too high, unless it is high even so.
    fn corrected(self, run: &Run, phase: &Phase) -> Self {
        let is_inflated = run.counts_seek_cpu_double && phase.work == Work::Seeks;
        let cpu = self.cpu.filter(|cpu| {
            !is_inflated || Nature::of_transfer(cpu / SEEK_LOAD_FACTOR) == Nature::Cpu
        });
        Self { cpu, ..self }
    }
}

/// The facts about one run.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub(super) struct Run {
    /// For each phase.
    measured: Vec<Measured>,
    /// `-c` was given.
    concurrent: bool,
    /// Files of the file phases contain data.
    filled: bool,
    counts_seek_cpu_double: bool,
    /// Characters go through the buffer of the C library.
    is_buffered: bool,
}

impl Run {
    pub(super) fn new(row: &Row) -> Self {
        let mut measured = Vec::with_capacity(PHASES.len());
        for phase in 0..PHASES.len() {
            let rate = row.value(phase, Kind::Rate).number();
            measured.push(Measured { rate, cpu: row.value(phase, Kind::Cpu).number() });
        }
        Self {
            measured,
            // Versions up to 2.00 accept `-c` and start no further process.
            concurrent: row.setting("concurrency").parse().is_ok_and(|count: u32| count > 1),
            // Without a size the files are empty; -1 and -2 create links instead.
            filled: !matches!(row.setting("max_size"), "" | "0" | "-1" | "-2"),
            counts_seek_cpu_double: row.tool_version.starts_with('2') || row.tool_version == "1.98",
            is_buffered: is_buffered(&row.tool_version),
        }
    }

    /// The reason why a column of a phase is wrong.
    pub(super) fn defect(&self, phase: &Phase, kind: Kind) -> Option<Remark> {
        let counts_double = kind == Kind::Cpu && phase.work == Work::Seeks;
        let why = "bonnie++ 2.00 charges each of its seek threads for the whole process, so this \
                   load is up to five times too high";
        (counts_double && self.counts_seek_cpu_double).then(|| Remark::new(Label::ToolDefect, why))
    }

    /// The nature of a phase's number, and reasons to doubt it.
    pub(super) fn meaning(&self, phase: &Phase, index: usize) -> Meaning {
        let mut meaning = self.of_work(phase.work, self.measured[index].corrected(self, phase));
        if self.concurrent {
            let why = "`-c` only labels the output: nothing ran concurrently";
            meaning.remarks.push(Remark::new(Label::ToolDefect, why));
        }
        meaning
    }

    fn of_work(&self, work: Work, measured: Measured) -> Meaning {
        let load = measured.cpu.map_or(String::new(), |cpu| format!(" ({cpu} % CPU)"));
        match work {
            // The call decides only where the processor had no time left.
            Work::Bytes if measured.is_idle() => {
                Meaning { nature: Nature::Disk, remarks: Vec::new() }
            }
            Work::Bytes if self.is_buffered => {
                let why = format!("one library call per byte{load}: it measures the processor");
                Meaning::of(Nature::Cpu, &why).not_disk("it measured the CPU")
            }
            Work::Bytes => Meaning::of(
                Nature::Cpu,
                &format!("one system call per byte{load}: it counts system calls"),
            )
            .not_disk("no disk is this slow: it measured the CPU"),
            Work::Names => Meaning::of(
                Nature::JournalSync,
                "the phase ends with sync() inside the timed part: it measures how the file system \
    writes its journal and flushes it",
            ),
            Work::Stats if !self.filled => {
                let why = "the files were just created and are looked up in memory";
                let cpu = format!("empty files are looked up in memory{load}");
                let mut meaning = Meaning::of(Nature::PageCache, why);
                meaning.remarks.push(Remark::new(Label::Nature(Nature::Cpu), cpu));
                meaning.not_disk("looking up names in memory involves no disk")
            }
            Work::Stats => Meaning::of(ReadBack::default().nature(), ReadBack::WHY),
            Work::Chunks if measured.rate.is_some_and(|rate| rate > DEVICE_MAX) => {
                let why = "no device is this fast: memory answered";
                Meaning::of(Nature::PageCache, why).not_disk("no device is this fast")
            }
            Work::Chunks | Work::Seeks
                if measured.cpu.map(Nature::of_transfer) == Some(Nature::Cpu) =>
            {
                Meaning::of(Nature::Cpu, &format!("the CPU was the bottleneck{load}"))
            }
            Work::Chunks | Work::Seeks => Meaning { nature: Nature::Disk, remarks: Vec::new() },
        }
    }
}

/// True for versions whose characters go through `putc` and `getc`: 1.92 replaced them by a system
/// call per byte (its `changelog.txt`).
fn is_buffered(version: &str) -> bool {
    let minor = version.strip_prefix("1.").map(|rest| rest.get(..2).unwrap_or(rest));
    minor.and_then(|minor| minor.parse().ok()).is_some_and(|minor: u32| minor < 92)
}

impl Meaning {
    fn of(nature: Nature, why: &str) -> Self {
        Self { nature, remarks: vec![Remark::new(Label::Nature(nature), why)] }
    }

    fn not_disk(mut self, why: &str) -> Self {
        self.remarks.push(Remark::new(Label::NotDisk, why));
        self
    }
}
