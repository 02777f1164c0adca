//! Measurements of a drive: the file that `drive measure` writes and `drive fit` reads.
//!
//! Written by hand, by a measurement or from records of runs; any subset of the figures is enough.

mod drive;
mod figures;
mod read;
mod text;

pub use drive::{DriveInterface, DriveKind, FlashState};
pub use figures::{Figures, MEAN_MS, QUANTILES};

use crate::record::{Mark, RunRecord};
use crate::units::{Bytes, Sectors, Span};
use crate::workload::{Pace, Rw};
use crate::{Invalid, invalid};

/// Measurements of one drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Bytes of a physical sector, 512 or 4096, if known. Addresses count 512-byte sectors in
    /// either case.
    pub sector_bytes: Option<u32>,
    /// Revolutions per minute, if known.
    pub rpm: Option<f64>,
    /// Disk or solid-state drive, if known.
    pub kind: Option<DriveKind>,
    /// How a solid-state drive was attached, if known.
    pub interface: Option<DriveInterface>,
    /// The link that was negotiated, as a profile names it (`3`, `pcie3x4`), if known.
    pub link: Option<String>,
    /// Sources of the figures.
    pub sources: Vec<String>,
    /// Random reads and writes.
    pub loads: Vec<MeasuredLoad>,
    /// Sequential reads and writes.
    pub streams: Vec<MeasuredStream>,
    /// Flushes after random writes.
    pub flushes: Vec<MeasuredFlush>,
    /// Writes that the buffer of a solid-state drive took over.
    pub bursts: Vec<MeasuredBurst>,
    /// The nature of the figures, and reasons to doubt them.
    pub marks: Vec<Mark>,
}

/// Random requests of one kind, size and depth within one span.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLoad {
    /// Writes, not reads.
    pub write: bool,
    /// The first bytes of the drive, which contain all addresses; `None` for the whole drive.
    pub span_bytes: Option<u64>,
    /// State of a solid-state drive before these writes, if known.
    pub state: Option<FlashState>,
    /// Requests outstanding.
    pub iodepth: u32,
    /// Bytes of one request.
    pub block_bytes: u64,
    /// Number of requests behind the figures, if known.
    pub requests: Option<u64>,
    /// The standard error of the rate as a share of it, if known.
    pub rate_error: Option<f64>,
    /// The measured figures.
    pub figures: Figures,
}

/// Sequential requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredStream {
    /// Writes, not reads.
    pub write: bool,
    /// Its position on the drive; `None` if unknown.
    pub position: Option<Position>,
    /// State of a solid-state drive before these writes, if known.
    pub state: Option<FlashState>,
    /// Millions of bytes per second.
    pub mb_per_s: f64,
}

/// Position of a sequential measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the first sectors.
    Outer,
    /// Half way.
    Middle,
    /// At the last sectors.
    Inner,
}

/// Flushes, each after a number of random writes of 4 KiB over the whole drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredFlush {
    /// Writes before each flush.
    pub writes: u32,
    /// The mean time of a flush.
    pub mean_ms: f64,
    /// The standard error of the mean as a share of it, if known.
    pub mean_error: Option<f64>,
}

/// Random writes of 4 KiB, one at a time, so few after each flush that the buffer holds them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredBurst {
    /// Writes after each flush.
    pub writes: u32,
    /// The median time of a write.
    pub p50_ms: f64,
    /// Its standard error as a share of it, if known.
    pub error: Option<f64>,
}

/// Speeds that a drive may have.
const RPM: std::ops::RangeInclusive<f64> = 100.0..=100_000.0;

impl Measurements {
    /// A drive of which only the capacity and, perhaps, the speed are known.
    ///
    /// # Errors
    /// No drive has such a speed or size.
    pub fn of_drive(capacity_bytes: u64, rpm: Option<f64>) -> Result<Self, Invalid> {
        if let Some(rpm) = rpm.filter(|rpm| !RPM.contains(rpm)) {
            return Err(invalid!("{rpm} rpm: expected 100 to 100000"));
        }
        if !((1 << 20)..=Sectors::DRIVE_MAX.bytes().get()).contains(&capacity_bytes) {
            return Err(invalid!("{capacity_bytes} bytes: expected 1 MiB to 64 TiB"));
        }
        Ok(Self {
            // Sizes from data sheets need not be whole sectors.
            capacity_bytes: capacity_bytes / 512 * 512,
            sector_bytes: None,
            rpm,
            kind: None,
            interface: None,
            link: None,
            sources: Vec::new(),
            loads: Vec::new(),
            streams: Vec::new(),
            flushes: Vec::new(),
            bursts: Vec::new(),
            marks: Vec::new(),
        })
    }

    /// Adds the measurements of a run: random requests at any depth, or a sequential rate.
    ///
    /// # Errors
    /// The run is neither of these.
    pub fn add_run(&mut self, name: &str, run: &RunRecord) -> Result<(), Invalid> {
        let (Some(workload), Some(total)) = (&run.config.workload, &run.total) else {
            return Err(invalid!("`{name}` is not a load: a fit needs random or sequential runs"));
        };
        let mb_per_s = total.bytes_per_s / 1e6;
        // 0 for an open loop, for several jobs and with think time: a fit needs a fixed queue.
        let depth = match workload.pace {
            Pace::Closed { iodepth, think_time: Span::ZERO } if run.config.numjobs == 1 => iodepth,
            _ => 0,
        };
        let offset = workload.offset.get();
        match workload.rw {
            Rw::Read | Rw::Write => {
                self.streams.push(MeasuredStream {
                    write: workload.rw == Rw::Write,
                    position: (offset == 0).then_some(Position::Outer),
                    state: None,
                    mb_per_s,
                });
            }
            Rw::RandRead | Rw::RandWrite if depth > 0 && offset == 0 => {
                let span = workload.size.map(Bytes::get);
                self.loads.push(MeasuredLoad {
                    write: workload.rw == Rw::RandWrite,
                    span_bytes: span.filter(|span| *span < self.capacity_bytes),
                    state: None,
                    iodepth: depth,
                    block_bytes: workload.blocks.mean().get(),
                    requests: Some(total.ios),
                    rate_error: None,
                    figures: Figures::of_run(total),
                });
            }
            other => {
                return Err(invalid!(
                    "`{name}` is a run of {other}: a fit uses random reads and writes of one job \
                     without think time or offset, and sequential runs"
                ));
            }
        }
        self.sources.push(format!("run of {}: {name}", run.target));
        for mark in &run.marks {
            // The first mark of a kind stands for all: later ones differ in their numbers only.
            if self.marks.iter().all(|known| known.id != mark.id) {
                self.marks.push(mark.clone());
            }
        }
        self.loads.iter().try_for_each(MeasuredLoad::agree)
    }

    /// Adds the figures of `other`, a further measurement of the same drive, that are missing here.
    ///
    /// # Errors
    /// They are of drives that differ.
    pub fn join(&mut self, other: Self) -> Result<(), Invalid> {
        if !self.is_same_drive(&other) {
            return Err("they are of different drives: capacity, kind, speed, interface and link \
                        must be the same"
                .into());
        }
        for load in other.loads {
            if self.loads.iter().all(|known| known.key() != load.key()) {
                self.loads.push(load);
            }
        }
        for stream in other.streams {
            if self.streams.iter().all(|known| known.key() != stream.key()) {
                self.streams.push(stream);
            }
        }
        if self.flushes.is_empty() {
            self.flushes = other.flushes;
        }
        if self.bursts.is_empty() {
            self.bursts = other.bursts;
        }
        self.sources.extend(other.sources);
        for mark in other.marks {
            if !self.marks.contains(&mark) {
                self.marks.push(mark);
            }
        }
        Ok(())
    }

    fn is_same_drive(&self, other: &Self) -> bool {
        (self.capacity_bytes, self.kind, self.interface, self.rpm)
            == (other.capacity_bytes, other.kind, other.interface, other.rpm)
            && self.link == other.link
    }

    /// The load of reads, or of writes, at `iodepth` over the whole drive.
    pub fn whole(&self, write: bool, iodepth: u32) -> Option<&MeasuredLoad> {
        self.loads.iter().find(|load| {
            load.write == write && load.span_bytes.is_none() && load.iodepth == iodepth
        })
    }

    /// The sequential rate of reads, or of writes, at the outer edge or at an unknown position.
    pub fn stream(&self, write: bool) -> Option<f64> {
        let mut streams = self.streams.iter().filter(|stream| stream.write == write);
        let usual =
            streams.find(|stream| matches!(stream.position, None | Some(Position::Outer)))?;
        Some(usual.mb_per_s)
    }

    /// The sequential rate at `position`.
    pub fn stream_at(&self, write: bool, position: Position) -> Option<f64> {
        let mut streams = self.streams.iter().filter(|stream| stream.write == write);
        streams.find(|stream| stream.position == Some(position)).map(|stream| stream.mb_per_s)
    }
}

impl MeasuredLoad {
    /// A load without figures, of 4 KiB requests.
    pub fn new(write: bool, span_bytes: Option<u64>, iodepth: u32) -> Self {
        Self {
            write,
            span_bytes,
            state: None,
            iodepth,
            block_bytes: 4096,
            requests: None,
            rate_error: None,
            figures: Figures::default(),
        }
    }

    /// The conditions of the load: two loads with one key measure the same.
    fn key(&self) -> (bool, Option<u64>, u32, u64, Option<FlashState>) {
        (self.write, self.span_bytes, self.iodepth, self.block_bytes, self.state)
    }

    fn agree(&self) -> Result<(), Invalid> {
        self.figures.agree(self.iodepth)
    }

    /// The rate, as given or as implied by the mean time.
    pub fn iops(&self) -> Option<f64> {
        let mean_ms = self.figures.get(MEAN_MS);
        let implied = mean_ms.map(|mean_ms| f64::from(self.iodepth) * 1000.0 / mean_ms);
        self.figures.get("iops").or(implied)
    }
}

impl MeasuredStream {
    /// The conditions of the stream: two streams with one key measure the same.
    fn key(&self) -> (bool, Option<Position>, Option<FlashState>) {
        (self.write, self.position, self.state)
    }
}

#[cfg(test)]
mod tests;
