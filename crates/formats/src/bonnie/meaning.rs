//! What a number of bonnie++ may be taken for.

use super::column::{Kind, PHASES, Phase, Work};
use super::layout::{Format, Layout};
use super::value::{Value, read};
use drivelab_core::csv::{Line, ParseError};
use drivelab_core::foreign::{Label, Remark};

/// From this load on the processor was the limit.
const CPU_BOUND: f64 = 90.0;
/// KiB/s above which no single device answered: 15.75 GB/s is all that four lanes of PCI Express
/// 5.0 carry.
const DEVICE_MAX: f64 = 15.75e9 / 1024.0;

/// The facts about one line.
pub(super) struct Run {
    /// Rate and processor load of each phase, where measured.
    measured: Vec<(Option<f64>, Option<f64>)>,
    /// `-c` was given.
    concurrent: bool,
    /// Files of the file phases hold data.
    filled: bool,
    counts_seek_cpu_double: bool,
}

impl Run {
    pub(super) fn new(line: Line, layout: &Layout) -> Result<Self, ParseError> {
        let number = |phase: usize, kind: Kind| {
            let column = layout.column(phase, kind)?;
            match read(&layout.fields[column], kind) {
                Ok(Value::Number(value)) => Some(value),
                _ => None,
            }
        };
        let measured =
            (0..PHASES.len()).map(|phase| (number(phase, Kind::Rate), number(phase, Kind::Cpu)));
        let measured = measured.collect();
        let concurrency = match layout.format {
            Format::V103 => "1",
            _ => layout.fields[3].as_str(),
        };
        let concurrent = match concurrency.parse::<u32>() {
            Ok(count) => count > 1,
            Err(_) if concurrency.is_empty() => false,
            Err(_) => {
                let what = format!("`{concurrency}` is no concurrency");
                let hint = "bonnie++ writes a small number here, usually 1";
                return Err(ParseError::new(line.number, what, hint).at(4));
            }
        };
        // 1.03 writes `16:4096:1024/4`, later ones the largest size in the next column.
        let largest = match layout.format {
            Format::V103 => layout.fields[layout.files()].split([':', '/']).nth(1).unwrap_or(""),
            _ => layout.fields[layout.files() + 1].as_str(),
        };
        let filled = !matches!(largest, "" | "0" | "-1" | "-2");
        let counts_seek_cpu_double = layout.format == Format::V198;
        Ok(Self { measured, concurrent, filled, counts_seek_cpu_double })
    }

    /// The remarks on one column of a phase.
    pub(super) fn remarks(&self, phase: &Phase, kind: Kind, place: usize) -> Vec<Remark> {
        let (rate, cpu) = self.measured[place];
        let mut remarks = self.nature(phase, rate, cpu);
        if self.concurrent {
            remarks.push(Remark::new(
                Label::ToolDefect,
                "`-c` only labels the output: nothing ran concurrently",
            ));
        }
        if kind == Kind::Cpu && phase.work == Work::Seeks && self.counts_seek_cpu_double {
            remarks.push(Remark::new(
                Label::ToolDefect,
                "bonnie++ 2.00 charges each of its seek threads for the whole process, so this \
                 load is up to five times too high",
            ));
        }
        let why = "one run: its variation is unknown, so nothing can be concluded from it alone";
        remarks.push(Remark::new(Label::SingleRun, why));
        remarks
    }

    /// What the phase measures.
    fn nature(&self, phase: &Phase, rate: Option<f64>, cpu: Option<f64>) -> Vec<Remark> {
        let load = cpu.map_or(String::new(), |cpu| format!(" ({cpu} % processor load)"));
        let busy = cpu.is_some_and(|cpu| cpu >= CPU_BOUND);
        match phase.work {
            Work::Bytes => vec![
                Remark::new(
                    Label::CpuTest,
                    format!("one system call a byte{load}: it counts system calls"),
                ),
                Remark::new(Label::NotDisk, "no disk is this slow: the processor was measured"),
            ],
            Work::Names => vec![Remark::new(
                Label::JournalSync,
                "the phase ends with sync() inside the timed part: it measures how the file \
                 system writes its journal and flushes it",
            )],
            Work::Stats if !self.filled => vec![
                Remark::new(
                    Label::PageCache,
                    "the files were made a moment before and are looked up in memory",
                ),
                Remark::new(Label::CpuTest, format!("empty files are looked up in memory{load}")),
                Remark::new(Label::NotDisk, "looking up names in memory involves no disk"),
            ],
            Work::Stats => vec![Remark::new(
                Label::PageCache,
                "the files were written a moment before and are read back from memory",
            )],
            Work::Chunks if rate.is_some_and(|rate| rate > DEVICE_MAX) => vec![
                Remark::new(Label::PageCache, "no device is this fast: memory answered"),
                Remark::new(Label::NotDisk, "no device is this fast"),
            ],
            Work::Chunks | Work::Seeks if busy => {
                vec![Remark::new(Label::CpuTest, format!("the processor was the limit{load}"))]
            }
            Work::Chunks | Work::Seeks => Vec::new(),
        }
    }
}
