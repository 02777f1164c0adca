//! A workload as the options that ask for it again.

use super::WorkloadOptions;
use crate::units::{Ratio, Span};
use crate::workload::{Distribution, Pace, Workload};

impl From<&Workload> for WorkloadOptions {
    /// The options whose check gives this workload.
    fn from(workload: &Workload) -> Self {
        let rwmixread = per_cent(workload.read_share);
        let batches = workload.batches;
        let flushes = (workload.fsync > 0).then_some(workload.fsync);
        let steady = workload.steady;
        let paced = Self::of_pace(workload.pace);
        Self {
            rw: Some(workload.rw),
            rwmixread,
            read_share: rwmixread.is_none().then_some(workload.read_share),
            bssplit: Some(workload.blocks.clone()),
            iodepth_batch_submit: batches.submit,
            iodepth_batch_complete_min: Some(batches.complete_min),
            iodepth_batch_complete_max: batches.complete_max,
            runtime: Some(workload.runtime),
            ramp_time: Some(workload.ramp_time),
            size: workload.size,
            offset: Some(workload.offset),
            random_distribution: (workload.distribution != Distribution::Uniform)
                .then(|| workload.distribution.clone()),
            percentage_random: per_cent(workload.random_share).filter(|percent| *percent < 100),
            norandommap: workload.each_once.then_some(false),
            backwards: workload.backwards.then_some(true),
            streams: Some(workload.streams),
            stride: workload.stride,
            fsync: flushes.filter(|_| !workload.fdatasync),
            fdatasync: flushes.filter(|_| workload.fdatasync),
            sync: Some(workload.sync),
            number_ios: workload.number_ios,
            ss: steady.map(|steady| steady.criterion),
            ss_dur: steady.map(|steady| Span::from_secs(u64::from(steady.window))),
            ss_ramp: steady.map(|steady| Span::from_secs(u64::from(steady.after))),
            blockalign: workload.blockalign,
            strided: workload.strided,
            own_cursors: workload.own_cursors.then_some(true),
            fsync_between: workload.fsync_between.then_some(true),
            ..paced
        }
    }
}

/// The whole percentage that equals `ratio`, if one does: only that can be written as `rwmixread`.
fn per_cent(ratio: Ratio) -> Option<u32> {
    (0..=100).find(|percent| Ratio::percent(u64::from(*percent)) == ratio)
}

impl WorkloadOptions {
    fn of_pace(pace: Pace) -> Self {
        let iodepth = Some(pace.iodepth());
        match pace {
            Pace::Closed { think_time, .. } => {
                let thinktime = (!think_time.is_zero()).then_some(think_time);
                Self { iodepth, thinktime, ..Self::default() }
            }
            Pace::Fixed { per_s, .. } => {
                Self { iodepth, rate_iops: Some(per_s), ..Self::default() }
            }
            Pace::Slow { rate, .. } => Self { iodepth, rate: Some(rate), ..Self::default() },
            Pace::Poisson { per_s, .. } => {
                Self { iodepth, rate_iops: Some(per_s), poisson: Some(true), ..Self::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options, the workload that they are, its options as text, and that workload again.
    fn check(options: &[(&str, &str)]) {
        let read = |options: &mut dyn Iterator<Item = (&str, &str)>| {
            let mut read = WorkloadOptions::default();
            for (name, value) in options {
                assert_eq!(read.set(name, value), Ok(true), "{name}={value}");
            }
            read.check().unwrap()
        };
        let workload = read(&mut options.iter().copied());
        let again = WorkloadOptions::from(&workload).entries();
        let again = read(&mut again.iter().map(|(name, value)| (*name, value.as_str())));
        assert_eq!(again, workload, "{options:?}");
    }

    #[test]
    fn a_workload_is_the_options_that_ask_for_it() {
        check(&[]);
        check(&[("rw", "randrw"), ("rwmixread", "30"), ("iodepth", "7"), ("size", "32G")]);
        check(&[("bssplit", "4k/60:64k/40"), ("thinktime", "3ms"), ("fsync", "8")]);
        check(&[("bssplit", "4k-64k"), ("rate_iops", "90"), ("poisson", "1"), ("iodepth", "9")]);
        check(&[("rw", "trimwrite"), ("bs", "1M"), ("rate", "1000")]);
        check(&[("rw", "write"), ("bs", "1M"), ("rate", "100M"), ("fdatasync", "2")]);
        check(&[("rw", "read"), ("backwards", "1"), ("streams", "3"), ("stride", "8k")]);
        check(&[("random_distribution", "zipf:1.1"), ("percentage_random", "40")]);
        check(&[("norandommap", "0"), ("number_ios", "77"), ("sync", "1"), ("offset", "1M")]);
        check(&[("ss", "iops:2%"), ("ss_dur", "10s"), ("ss_ramp", "5s"), ("ramp_time", "2s")]);
        check(&[("rw", "read"), ("strided", "64k/1M/3M")]);
        check(&[("random_distribution", "normal:3")]);
        check(&[("read_share", "0.333"), ("rw", "randrw"), ("blockalign", "64k")]);
        let batches = [("iodepth", "16"), ("iodepth_batch_submit", "4")];
        check(&[&batches[..], &[("iodepth_batch_complete_max", "8")]].concat());
    }
}
