//! Workload options as users write them, and the check that converts them into a [`Workload`].

mod again;
mod table;

pub use table::{OPTIONS, Spelling, WorkloadOption, WorkloadOptions};

use super::{Batches, BlockSizes, Distribution, Pace, Rw, Steady, Strided, Workload};
use crate::Invalid;
use crate::units::{Bytes, Ratio, SECTOR_BYTES, Span};

/// The reason why options are not a valid workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// An option's value is invalid by itself.
    #[error("`{option}`: {wrong}")]
    Value {
        /// The option.
        option: &'static str,
        /// The fault of the value.
        wrong: String,
    },
    /// Two options exclude each other.
    #[error("`{one}` and `{other}` cannot be used together: {why}")]
    Conflict {
        /// One of the two.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The region ends beyond the target.
    #[error(
        "the region (offset {offset}, size {size}) extends past the end of the target, \
         which has {capacity}"
    )]
    RegionBeyondTarget {
        /// First byte.
        offset: Bytes,
        /// Length.
        size: Bytes,
        /// Capacity of the target.
        capacity: Bytes,
    },
    /// The region is too small.
    #[error(
        "a region of {size} bytes is too small for one block of {block} in each of {streams} \
         streams"
    )]
    RegionTooSmall {
        /// Length.
        size: Bytes,
        /// The largest block.
        block: Bytes,
        /// Sequential streams; 1 for random I/O.
        streams: u32,
    },
}

impl From<WorkloadError> for Invalid {
    fn from(error: WorkloadError) -> Self {
        Self(error.to_string())
    }
}

impl WorkloadError {
    /// The command-line text to write instead.
    pub fn hint(&self) -> String {
        match self {
            Self::Value { option: "poisson", .. } => {
                "add a rate, for example `--rate-iops=100`".into()
            }
            Self::Value { option, .. } => match example(option) {
                Some(value) => format!("give a valid value, for example `--{option}={value}`"),
                None => format!("change or omit `--{option}`"),
            },
            Self::Conflict { one, other, .. } => format!("omit `--{one}`, or change `--{other}`"),
            Self::RegionBeyondTarget { .. } => "lower `--size` or `--offset`".into(),
            Self::RegionTooSmall { .. } => "raise `--size`, or lower `--bs`".into(),
        }
        // Options are spelled with underscores in files and with dashes on the command line.
        .replace('_', "-")
    }
}

/// A value that an option can have; the default, where it has a useful one.
fn example(option: &str) -> Option<&'static str> {
    match option {
        "runtime" => Some("30s"),
        "number_ios" => Some("1000"),
        "iodepth" => Some("32"),
        "streams" => Some("1"),
        "rwmixread" | "percentage_random" => Some("50"),
        "bs" | "blockalign" => Some("4k"),
        "stride" | "offset" => Some("1M"),
        _ => None,
    }
}

/// More outstanding requests than any device queue; job files in use ask for 8192.
const IODEPTH_MAX: u32 = 8192;
/// Beyond this rate no clock can distinguish arrivals.
const RATE_MAX: u64 = 1_000_000_000;

/// The largest offset that a file has (`off_t`, 63 bits).
const OFFSET_MAX: u64 = i64::MAX as u64;

impl WorkloadOptions {
    /// Checks everything that can be checked without touching a drive.
    pub fn check(self) -> Result<Workload, WorkloadError> {
        let rwmixread = self.rwmixread.unwrap_or(50);
        if rwmixread > 100 {
            return Err(value("rwmixread", format!("{rwmixread} is more than 100 %")));
        }
        let offset = self.offset.unwrap_or_default();
        if !offset.get().is_multiple_of(SECTOR_BYTES) {
            return Err(value("offset", format!("{offset} is not a multiple of 512 bytes")));
        }
        let end = offset.get().checked_add(self.size.unwrap_or_default().get());
        if end.is_none_or(|end| end > OFFSET_MAX) {
            let wrong = format!("{offset} plus the size exceeds any drive");
            return Err(value("offset", wrong));
        }
        let streams = self.streams.unwrap_or(1);
        if !(1..=65_536).contains(&streams) {
            return Err(value("streams", format!("{streams} is not from 1 to 65536")));
        }
        let runtime = self.runtime.unwrap_or(Span::from_secs(30));
        if runtime.is_zero() && self.number_ios.is_none() {
            return Err(value("runtime", "a runtime of 0 measures nothing".into()));
        }
        if self.number_ios == Some(0) {
            return Err(value("number_ios", "0 requests measure nothing".into()));
        }
        let blocks = self.blocks()?;
        let (fsync, fdatasync) = self.flushes()?;
        // A rate in bytes depends on the block size, so the sizes are checked first.
        let pace = self.pace(&blocks)?;
        let read_share = self.read_share.unwrap_or(Ratio::percent(u64::from(rwmixread)));
        let rw = match self.rw.unwrap_or(Rw::RandRead) {
            // A mixture of reads alone needs no permission to write.
            Rw::ReadWrite if read_share == Ratio::ONE => Rw::Read,
            Rw::RandRw if read_share == Ratio::ONE => Rw::RandRead,
            rw => rw,
        };
        Ok(Workload {
            rw,
            read_share,
            random_share: self.random_share()?,
            blockalign: self.checked_blockalign()?,
            own_cursors: self.own_cursors.unwrap_or(false) && rw == Rw::ReadWrite,
            fsync_between: self.fsync_between.unwrap_or(false) && fsync > 0,
            backwards: self.checked_backwards()?,
            stride: self.checked_stride(&blocks)?,
            strided: self.checked_strided(&blocks)?,
            steady: self.steady()?,
            offset,
            size: self.size,
            streams,
            pace,
            batches: self.batches(pace.iodepth())?,
            each_once: self.each_once(&blocks),
            distribution: self.random_distribution.unwrap_or(Distribution::Uniform),
            blocks,
            fsync,
            fdatasync,
            sync: self.sync.unwrap_or(false),
            runtime,
            ramp_time: self.ramp_time.unwrap_or(Span::ZERO),
            number_ios: self.number_ios,
        })
    }

    fn batches(&self, iodepth: u32) -> Result<Batches, WorkloadError> {
        let batches = Batches {
            // As in fio, 0 stands for the whole depth, and a maximum of 0 for none.
            submit: self.iodepth_batch_submit.map(|size| if size == 0 { iodepth } else { size }),
            complete_min: self.iodepth_batch_complete_min.unwrap_or(1),
            complete_max: self.iodepth_batch_complete_max.filter(|max| *max > 0),
        };
        if batches.complete_max.is_some_and(|max| max < batches.complete_min.max(1)) {
            return Err(conflict(
                "iodepth_batch_complete_min",
                "iodepth_batch_complete_max",
                "the maximum is below the minimum",
            ));
        }
        Ok(batches)
    }

    /// The number of writes between flushes; true if they are `fdatasync`.
    fn flushes(&self) -> Result<(u32, bool), WorkloadError> {
        match (self.fsync.unwrap_or(0), self.fdatasync.unwrap_or(0)) {
            (after, 0) => Ok((after, false)),
            (0, after) => Ok((after, true)),
            _ => Err(conflict("fsync", "fdatasync", "both set after how many writes to flush")),
        }
    }

    fn blocks(&self) -> Result<BlockSizes, WorkloadError> {
        match (self.bs, &self.bssplit) {
            (Some(_), Some(_)) => Err(conflict("bs", "bssplit", "both set the block size")),
            (None, Some(split)) => Ok(split.clone()),
            (bs, None) => {
                let size = bs.unwrap_or(Bytes::kib(4));
                BlockSizes::one(size).map_err(|wrong| value("bs", wrong.0))
            }
        }
    }

    fn random_share(&self) -> Result<Ratio, WorkloadError> {
        let Some(percent) = self.percentage_random else { return Ok(Ratio::ONE) };
        if percent > 100 {
            return Err(value("percentage_random", format!("{percent} is more than 100 %")));
        }
        if !self.rw.is_none_or(Rw::is_random) {
            return Err(conflict(
                "percentage_random",
                "rw",
                "sequential I/O has no random addresses",
            ));
        }
        Ok(Ratio::percent(u64::from(percent)))
    }

    fn steady(&self) -> Result<Option<Steady>, WorkloadError> {
        let (window, after) = (self.ss_dur, self.ss_ramp.unwrap_or_default());
        match (self.ss, window) {
            (Some(criterion), Some(window)) => {
                let steady = Steady::new(criterion, window, after);
                Ok(Some(steady.map_err(|wrong| value("ss_dur", wrong.0))?))
            }
            (Some(_), None) => {
                Err(value("ss", "`ss` needs a window: add e.g. `ss_dur=10s`".into()))
            }
            (None, None) if after.is_zero() => Ok(None),
            (None, _) => Err(value(
                "ss_dur",
                "`ss_dur` and `ss_ramp` need a criterion: add `ss=iops:2%`".into(),
            )),
        }
    }

    /// True if each block is used once before any is repeated. Blocks of several sizes
    /// overlap whichever addresses they begin at, and skewed ones repeat by intent: both
    /// are still drawn at random.
    fn each_once(&self, blocks: &BlockSizes) -> bool {
        let uniform = matches!(self.random_distribution, None | Some(Distribution::Uniform));
        let whole = self.percentage_random.is_none_or(|percent| percent == 100);
        let random = self.rw.is_none_or(Rw::is_random);
        let alike = blocks.largest() == blocks.smallest();
        self.norandommap == Some(false) && random && uniform && whole && alike
    }

    fn checked_blockalign(&self) -> Result<Option<Bytes>, WorkloadError> {
        let Some(align) = self.blockalign else { return Ok(None) };
        if align.get() == 0 || !align.get().is_multiple_of(SECTOR_BYTES) {
            return Err(value("blockalign", format!("{align} is not a multiple of 512 bytes")));
        }
        Ok(Some(align))
    }

    fn checked_backwards(&self) -> Result<bool, WorkloadError> {
        let backwards = self.backwards.unwrap_or(false);
        if backwards && self.rw.is_none_or(Rw::is_random) {
            return Err(conflict("backwards", "rw", "random I/O has no direction"));
        }
        Ok(backwards)
    }

    fn checked_stride(&self, blocks: &BlockSizes) -> Result<Option<Bytes>, WorkloadError> {
        let Some(stride) = self.stride else { return Ok(None) };
        if self.rw.is_none_or(Rw::is_random) {
            return Err(conflict("stride", "rw", "random I/O has no stride"));
        }
        if stride < blocks.largest() || !stride.get().is_multiple_of(SECTOR_BYTES) {
            let wrong = format!("{stride} must be a multiple of 512 and at least one block");
            return Err(value("stride", wrong));
        }
        Ok(Some(stride))
    }

    fn checked_strided(&self, blocks: &BlockSizes) -> Result<Option<Strided>, WorkloadError> {
        let Some(zones) = self.strided else { return Ok(None) };
        if zones.length < blocks.largest() {
            let wrong = format!("a zone of {} has no room for a block", zones.length);
            return Err(value("strided", wrong));
        }
        if self.backwards == Some(true) || self.streams.is_some_and(|streams| streams > 1) {
            return Err(conflict("strided", "streams", "zones are used one after the other"));
        }
        Ok(Some(zones))
    }

    fn pace(&self, blocks: &BlockSizes) -> Result<Pace, WorkloadError> {
        let per_s = match (self.rate, self.rate_iops) {
            (Some(_), Some(_)) => {
                return Err(conflict("rate", "rate_iops", "both set the request rate"));
            }
            // fio limits bytes; here a rate is one of requests, so the mean block converts it.
            (Some(rate), None) => Some(rate.get() / blocks.mean().get()),
            (None, per_s) => per_s,
        };
        let slow = self.rate.filter(|rate| per_s == Some(0) && rate.get() > 0);
        let open = per_s.is_some();
        // The queue must not hold an open loop back; a closed one has fio's default.
        let iodepth = self.iodepth.unwrap_or(if open { 1024 } else { 1 });
        if !(1..=IODEPTH_MAX).contains(&iodepth) {
            return Err(value("iodepth", format!("{iodepth} is not from 1 to {IODEPTH_MAX}")));
        }
        let Some(per_s) = per_s else {
            if self.poisson == Some(true) {
                let wrong = "Poisson arrivals need a rate: add `rate_iops`".into();
                return Err(value("poisson", wrong));
            }
            let think_time = self.thinktime.unwrap_or_default();
            return Ok(Pace::Closed { iodepth, think_time });
        };
        if self.thinktime.is_some() {
            return Err(conflict(
                "thinktime",
                "rate",
                "an open loop does not wait for completions",
            ));
        }
        if let Some(rate) = slow.filter(|_| self.poisson != Some(true)) {
            return Ok(Pace::Slow { rate, block: blocks.mean(), iodepth });
        }
        if !(1..=RATE_MAX).contains(&per_s) {
            let wrong = format!(
                "{per_s} requests per second is not from 1 to {RATE_MAX} (`rate` is in bytes per \
                 second, `rate_iops` in requests)"
            );
            return Err(value("rate", wrong));
        }
        Ok(match self.poisson {
            Some(true) => Pace::Poisson { per_s, iodepth },
            _ => Pace::Fixed { per_s, iodepth },
        })
    }
}

fn conflict(one: &'static str, other: &'static str, why: &'static str) -> WorkloadError {
    WorkloadError::Conflict { one, other, why }
}

fn value(option: &'static str, wrong: String) -> WorkloadError {
    WorkloadError::Value { option, wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(options: WorkloadOptions, expected: &str) {
        let error = options.check().expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn no_options_make_random_4k_reads_at_depth_1() {
        let workload = WorkloadOptions::default().check().unwrap();
        assert_eq!(workload.rw, Rw::RandRead);
        assert_eq!(workload.blocks.to_string(), "4k");
        assert_eq!(workload.pace.iodepth(), 1);
    }

    #[test]
    fn a_mixture_of_reads_alone_does_not_write() {
        let rw = |rw, rwmixread| {
            let options = WorkloadOptions { rw: Some(rw), rwmixread, ..Default::default() };
            options.check().unwrap().rw
        };
        assert_eq!(rw(Rw::RandRw, Some(100)), Rw::RandRead);
        assert_eq!(rw(Rw::ReadWrite, Some(100)), Rw::Read);
        assert_eq!(rw(Rw::RandRw, Some(99)), Rw::RandRw);
        assert_eq!(rw(Rw::RandRw, None), Rw::RandRw);
    }

    #[test]
    fn absurd_values_are_refused_by_name() {
        let none = WorkloadOptions::default;
        check_error(WorkloadOptions { bs: Some(Bytes::ZERO), ..none() }, "`bs`");
        check_error(WorkloadOptions { iodepth: Some(0), ..none() }, "`iodepth`");
        check_error(WorkloadOptions { iodepth: Some(1 << 20), ..none() }, "`iodepth`");
        check_error(WorkloadOptions { runtime: Some(Span::ZERO), ..none() }, "`runtime`");
        check_error(WorkloadOptions { rwmixread: Some(101), ..none() }, "`rwmixread`");
        check_error(WorkloadOptions { rate_iops: Some(0), ..none() }, "`rate`");
        check_error(WorkloadOptions { rate: Some(Bytes::ZERO), ..none() }, "rate_iops");
        let strided = Some("4k/2k/0".parse().unwrap());
        check_error(WorkloadOptions { strided, ..none() }, "no room for a block");
        check_error(WorkloadOptions { poisson: Some(true), ..none() }, "rate_iops");
        check_error(WorkloadOptions { streams: Some(0), ..none() }, "`streams`");
        check_error(WorkloadOptions { offset: Some(Bytes::new(1)), ..none() }, "`offset`");
        check_error(WorkloadOptions { stride: Some(Bytes::kib(8)), ..none() }, "no stride");
        check_error(WorkloadOptions { backwards: Some(true), ..none() }, "no direction");
        check_error(WorkloadOptions { blockalign: Some(Bytes::ZERO), ..none() }, "`blockalign`");
    }

    #[test]
    fn a_hint_names_a_value_that_is_valid() {
        let check = |options: WorkloadOptions, expected: &str| {
            assert_eq!(options.check().unwrap_err().hint(), expected);
        };
        let none = WorkloadOptions::default;
        let zero = WorkloadOptions { runtime: Some(Span::ZERO), ..none() };
        check(zero, "give a valid value, for example `--runtime=30s`");
        let zero = WorkloadOptions { number_ios: Some(0), ..none() };
        check(zero, "give a valid value, for example `--number-ios=1000`");
        let lone = WorkloadOptions { poisson: Some(true), ..none() };
        check(lone, "add a rate, for example `--rate-iops=100`");
        let both = WorkloadOptions { fsync: Some(1), fdatasync: Some(1), ..none() };
        check(both, "omit `--fsync`, or change `--fdatasync`");
    }

    #[test]
    fn batches_are_as_in_fio() {
        let batches = |submit, min, max| {
            let options = WorkloadOptions {
                iodepth: Some(16),
                iodepth_batch_submit: submit,
                iodepth_batch_complete_min: min,
                iodepth_batch_complete_max: max,
                ..Default::default()
            };
            options.check().map(|workload| workload.batches)
        };
        let default = Batches { submit: None, complete_min: 1, complete_max: None };
        assert_eq!(batches(None, None, None), Ok(default));
        let all = Batches { submit: Some(16), complete_min: 4, complete_max: None };
        assert_eq!(batches(Some(0), Some(4), Some(0)), Ok(all));
        assert_eq!(batches(None, Some(0), Some(1)).unwrap().complete_max, Some(1));
        let error = batches(None, Some(8), Some(4)).unwrap_err().to_string();
        assert!(error.contains("the maximum is below the minimum"), "{error}");
    }

    #[test]
    fn a_rate_makes_an_open_loop() {
        let rate = WorkloadOptions { rate: Some(Bytes::mib(4)), ..Default::default() };
        let pace = rate.check().unwrap().pace;
        assert_eq!(pace, Pace::Fixed { per_s: 1024, iodepth: 1024 });
        let bssplit = Some("4k/50:12k/50".parse().unwrap());
        let mixed = WorkloadOptions { rate: Some(Bytes::mib(8)), bssplit, ..Default::default() };
        let pace = mixed.check().unwrap().pace;
        assert_eq!(pace, Pace::Fixed { per_s: 1024, iodepth: 1024 }, "of 8k each in the mean");
    }
}
