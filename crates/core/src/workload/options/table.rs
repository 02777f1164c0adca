//! The single declaration of every workload option.
//!
//! It yields the fields of [`WorkloadOptions`], the keys of study files, the flags of the command
//! line with their help, and those keys of fio's job files that have the same meaning there.

use super::super::{BlockSizes, Criterion, Distribution, Rw, Strided};
use crate::Invalid;
use crate::config::{ConfigError, Section, Value};
use crate::units::{Bytes, Ratio, Span};

/// The properties of an option except its type.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadOption {
    /// Its name in files: fio's name if fio has the option.
    pub name: &'static str,
    /// One sentence, for `--help`.
    pub help: &'static str,
    /// Other names, of flags and in job files.
    pub aliases: &'static [&'static str],
    /// The placeholder of the value in help; default: the name in capitals.
    pub value_name: Option<&'static str>,
    /// The value if the flag is absent, for help.
    pub default: Option<&'static str>,
    /// The notation of job files, if that is only another spelling of the same value.
    pub fio: Option<Spelling>,
    /// It is a flag and a key of study files; otherwise only job files set it.
    pub is_flag: bool,
    /// It is on or off, and on if given without a value.
    pub is_switch: bool,
}

/// The notation of a value in a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// As everywhere else.
    Plain,
    /// A number that may have a suffix: `64`, `4k`.
    Count,
    /// A time whose bare number counts this unit: `60`, `1:30`, `2m`.
    Time {
        /// `s` or `us`.
        unit: &'static str,
    },
    /// `0` or `1`, or nothing for `1`.
    Switch,
}

/// A flag and a key without special properties.
const PLAIN: WorkloadOption = WorkloadOption {
    name: "",
    help: "",
    aliases: &[],
    value_name: None,
    default: None,
    fio: None,
    is_flag: true,
    is_switch: false,
};
const NUMBER: WorkloadOption = WorkloadOption { value_name: Some("N"), ..PLAIN };
const PERCENT: WorkloadOption = WorkloadOption { value_name: Some("PERCENT"), ..PLAIN };
const SWITCH: WorkloadOption = WorkloadOption { is_switch: true, ..PLAIN };
const TIME: WorkloadOption =
    WorkloadOption { value_name: Some("TIME"), fio: Some(Spelling::Time { unit: "s" }), ..PLAIN };
/// Set by job files, from options that have another meaning elsewhere.
const OF_JOB_FILES: WorkloadOption = WorkloadOption { is_flag: false, ..PLAIN };

macro_rules! workload_options {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ty = $option:expr;)+) => {
        /// Options under fio's names, each absent unless given.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct WorkloadOptions {
            $($(#[doc = $help])+ pub $name: Option<$type>,)+
        }

        /// Every option, in the order of `--help`.
        pub static OPTIONS: &[WorkloadOption] = &[$(WorkloadOption {
            name: stringify!($name),
            help: concat!($($help),+),
            ..$option
        }),+];

        impl WorkloadOptions {
            /// Takes the options out of a section of a study file.
            pub fn read(section: &mut Section) -> Result<Self, ConfigError> {
                Ok(Self { $($name: {
                    let option: WorkloadOption = $option;
                    if option.is_flag { section.take(stringify!($name))? } else { None }
                },)+ })
            }

            /// Sets the option called `name`; returns false if there is none.
            pub fn set(&mut self, name: &str, value: &str) -> Result<bool, Invalid> {
                match name {
                    $(stringify!($name) => self.$name = Some(Value::read(value)?),)+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// The options that are given, with their values as text that [`Self::set`] reads.
            pub fn entries(&self) -> Vec<(&'static str, String)> {
                let entries = [
                    $((stringify!($name), self.$name.as_ref().map(ToString::to_string))),+
                ];
                let mut given = Vec::new();
                for (name, value) in entries {
                given.extend(value.map(|value| (name, value)));
                }
                given
            }
        }
    };
}

workload_options! {
    /// Type of I/O: read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite,
    /// randtrimwrite.
    rw: Rw = WorkloadOption { default: Some("randread"), ..PLAIN };
    /// Percentage of reads in a mixture.
    rwmixread: u32 = WorkloadOption { fio: Some(Spelling::Plain), ..PERCENT };
    /// Block size: 512, 4k, 1M.
    bs: Bytes = WorkloadOption { aliases: &["blocksize"], ..PLAIN };
    /// Several block sizes with percentages, 4k/60:64k/40, or all multiples of the first, 4k-64k.
    bssplit: BlockSizes = WorkloadOption { value_name: Some("SIZE/PERCENT:..."), ..PLAIN };
    /// Number of outstanding requests (queue depth).
    iodepth: u32 = WorkloadOption { fio: Some(Spelling::Count), ..PLAIN };
    /// Submit requests N at a time (0: the whole depth), instead of as the device's queue needs.
    iodepth_batch_submit: u32 = WorkloadOption {
        aliases: &["iodepth_batch"],
        fio: Some(Spelling::Count),
        ..NUMBER
    };
    /// Wait for N completions (0: look for some before each request).
    iodepth_batch_complete_min: u32 = WorkloadOption {
        aliases: &["iodepth_batch_complete"],
        default: Some("1"),
        fio: Some(Spelling::Count),
        ..NUMBER
    };
    /// Answer at most N completions before looking for more (0: all).
    iodepth_batch_complete_max: u32 = WorkloadOption { fio: Some(Spelling::Count), ..NUMBER };
    /// How long to measure.
    runtime: Span = WorkloadOption {
        default: Some("30s"),
        value_name: None,
        aliases: &["timeout"],
        ..TIME
    };
    /// Warm-up time before the measurement.
    ramp_time: Span = TIME;
    /// Size of the region; a missing file is laid out at this size.
    size: Bytes = PLAIN;
    /// First byte of the region.
    offset: Bytes = PLAIN;
    /// Open loop: bytes per second, issued whether or not earlier requests have completed.
    rate: Bytes = WorkloadOption { value_name: Some("BYTES/S"), ..PLAIN };
    /// Open loop: requests per second.
    rate_iops: u64 = NUMBER;
    /// Poisson arrivals instead of evenly spaced ones.
    poisson: bool = SWITCH;
    /// Pause between a completion and the next request.
    thinktime: Span = WorkloadOption { fio: Some(Spelling::Time { unit: "us" }), ..TIME };
    /// Distribution of random addresses: random, zipf:1.1, pareto:0.2, normal:10,
    /// zoned:60/10:40/90.
    random_distribution: Distribution =
        WorkloadOption { value_name: Some("D"), ..PLAIN };
    /// Percentage of random I/O at random addresses; the rest follows the previous request.
    percentage_random: u32 = PERCENT;
    /// 0: every block once before any is repeated (fio's default, and that of job files).
    norandommap: bool = WorkloadOption { fio: Some(Spelling::Switch), ..SWITCH };
    /// Sequential blocks from the end of the region to its start.
    backwards: bool = SWITCH;
    /// Number of sequential streams, each in its own part of the region.
    streams: u32 = NUMBER;
    /// Distance between the starts of sequential blocks.
    stride: Bytes = PLAIN;
    /// Flush after every N writes.
    fsync: u32 = WorkloadOption { fio: Some(Spelling::Plain), ..NUMBER };
    /// Like --fsync, with fdatasync(2): the file's times may lag behind.
    fdatasync: u32 = WorkloadOption { fio: Some(Spelling::Plain), ..NUMBER };
    /// Open with `O_DSYNC`: every write reaches the medium before it completes.
    sync: bool = SWITCH;
    /// Stop after N requests.
    number_ios: u64 = WorkloadOption { fio: Some(Spelling::Count), ..NUMBER };
    /// Stop at steady state: iops, bw or lat within a limit, or `_slope` for their trend.
    ss: Criterion = WorkloadOption {
        aliases: &["steadystate"],
        value_name: Some("iops:2%"),
        fio: Some(Spelling::Plain),
        ..PLAIN
    };
    /// Steady-state window.
    ss_dur: Span = WorkloadOption { aliases: &["steadystate_duration"], ..TIME };
    /// Earliest stop at steady state.
    ss_ramp: Span = WorkloadOption { aliases: &["steadystate_ramp_time"], ..TIME };
    /// Share of reads where it need not be whole percents; instead of `rwmixread`.
    read_share: Ratio = OF_JOB_FILES;
    /// Random addresses are multiples of this; of the smallest block where absent.
    blockalign: Bytes = OF_JOB_FILES;
    /// Sequential reads and writes each have a cursor; one for both where absent.
    own_cursors: bool = OF_JOB_FILES;
    /// The last write is not flushed, as no other follows it.
    fsync_between: bool = OF_JOB_FILES;
    /// The zones that a job uses one after the other: bytes in each, its length, the gap behind.
    strided: Strided = OF_JOB_FILES;
}

impl Value for BlockSizes {
    fn read(text: &str) -> Result<Self, Invalid> {
        Self::of_percentages(text)
    }
}

macro_rules! value_by_from_str {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn read(text: &str) -> Result<Self, Invalid> {
                text.parse()
            }
        }
    )+};
}
value_by_from_str!(Distribution, Criterion, Strided);

impl WorkloadOption {
    /// Checks that the option accepts `value`.
    pub fn check(&self, value: &str) -> Result<(), Invalid> {
        WorkloadOptions::default().set(self.name, value).map(|_| ())
    }
}
