//! Workload options of the command line, under fio's names.

use clap::Args;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{BlockSizes, Criterion, Distribution, Rw, WorkloadOptions};

/// What is asked of the drive.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload (fio's names)")]
pub(crate) struct WorkloadArgs {
    /// Kind of I/O: read, write, randread, randwrite, rw, randrw, trim, randtrim.
    #[arg(long, default_value = "randread")]
    rw: Option<Rw>,
    /// Percentage of reads in a mixture.
    #[arg(long, value_name = "PERCENT")]
    rwmixread: Option<u32>,
    /// Block size: 512, 4k, 1M.
    #[arg(long, visible_alias = "blocksize")]
    bs: Option<Bytes>,
    /// Several block sizes with percentages: 4k/60:64k/40; or all multiples of the first: 4k-64k.
    #[arg(long, value_name = "SIZE/PERCENT:...", value_parser = BlockSizes::of_percentages)]
    bssplit: Option<BlockSizes>,
    /// Requests kept outstanding.
    #[arg(long)]
    iodepth: Option<u32>,
    /// How long to measure.
    #[arg(long, default_value = "30s")]
    runtime: Option<Span>,
    /// Warm-up that is run but not measured.
    #[arg(long, alias = "ramp_time", value_name = "TIME")]
    ramp_time: Option<Span>,
    /// Size of the region; a missing file is laid out at this size.
    #[arg(long)]
    size: Option<Bytes>,
    /// First byte of the region.
    #[arg(long)]
    offset: Option<Bytes>,
    /// Open loop: bytes a second, sent whether or not earlier requests are done.
    #[arg(long, value_name = "BYTES/S")]
    rate: Option<Bytes>,
    /// Open loop: requests a second.
    #[arg(long, alias = "rate_iops", value_name = "N")]
    rate_iops: Option<u64>,
    /// Poisson arrivals instead of evenly spaced ones.
    #[arg(long)]
    poisson: bool,
    /// Pause between a completion and the request that follows it.
    #[arg(long, value_name = "TIME")]
    thinktime: Option<Span>,
    /// Spread of random addresses: random, zipf:1.1, pareto:0.2, zoned:60/10:40/90.
    #[arg(long, alias = "random_distribution", value_name = "D")]
    random_distribution: Option<Distribution>,
    /// Percentage of random I/O whose addresses are drawn; the rest follows what was before.
    #[arg(long, alias = "percentage_random", value_name = "PERCENT")]
    percentage_random: Option<u32>,
    /// 0: random addresses without repetition, every block once before any comes again (fio's own
    /// default, and that of job files).
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true,
        default_missing_value = "1", value_parser = super::parse_switch)]
    norandommap: Option<bool>,
    /// Sequential blocks from the end of the region to its beginning.
    #[arg(long)]
    backwards: bool,
    /// Sequential streams, each in its own part of the region.
    #[arg(long, value_name = "N")]
    streams: Option<u32>,
    /// Distance between the starts of sequential blocks.
    #[arg(long)]
    stride: Option<Bytes>,
    /// Flush after every N writes.
    #[arg(long, value_name = "N")]
    fsync: Option<u32>,
    /// The same without what the file system notes of the file, such as when it was written.
    #[arg(long, value_name = "N")]
    fdatasync: Option<u32>,
    /// Every write goes through the caches to the medium.
    #[arg(long)]
    sync: bool,
    /// Stop after N requests.
    #[arg(long, alias = "number_ios", value_name = "N")]
    number_ios: Option<u64>,
    /// Stop when figures hold still: iops, bw or lat, `_slope` for their trend, and a limit.
    #[arg(long, alias = "steadystate", value_name = "iops:2%")]
    ss: Option<Criterion>,
    /// For how long they must.
    #[arg(long, aliases = ["ss_dur", "steadystate_duration"], value_name = "TIME")]
    ss_dur: Option<Span>,
    /// Not before this time.
    #[arg(long, aliases = ["ss_ramp", "steadystate_ramp_time"], value_name = "TIME")]
    ss_ramp: Option<Span>,
}

impl From<WorkloadArgs> for WorkloadOptions {
    fn from(args: WorkloadArgs) -> Self {
        Self {
            rw: args.rw,
            rwmixread: args.rwmixread,
            bs: args.bs,
            bssplit: args.bssplit,
            random_distribution: args.random_distribution,
            percentage_random: args.percentage_random,
            norandommap: args.norandommap,
            backwards: args.backwards.then_some(true),
            stride: args.stride,
            offset: args.offset,
            size: args.size,
            streams: args.streams,
            iodepth: args.iodepth,
            thinktime: args.thinktime,
            rate: args.rate,
            rate_iops: args.rate_iops,
            poisson: args.poisson.then_some(true),
            fsync: args.fsync,
            fdatasync: args.fdatasync,
            sync: args.sync.then_some(true),
            runtime: args.runtime,
            ramp_time: args.ramp_time,
            number_ios: args.number_ios,
            ss: args.ss,
            ss_dur: args.ss_dur,
            ss_ramp: args.ss_ramp,
            ..Self::default()
        }
    }
}
