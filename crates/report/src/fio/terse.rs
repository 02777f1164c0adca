//! Lines of fields that semicolons separate (fio's terse format, versions 3 to 5).

use super::figures::{Kind, Samples, Times};
use super::{Disk, Job, Results};

/// Fields for percentiles; unused ones are `0%=0`.
const PERCENTILES: usize = 20;

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TerseVersion {
    /// Reads and writes.
    #[default]
    Three,
    /// Trims, too.
    Four,
    /// The requests per second of each sample, too.
    Five,
}

/// One line for each job.
pub fn terse(results: &Results, version: TerseVersion) -> String {
    let lines = results.jobs.iter().map(|job| line(job, &results.disks, version));
    lines.collect()
}

fn line(job: &Job, disks: &[Disk], version: TerseVersion) -> String {
    let (number, kinds, fields_of_all) = match version {
        TerseVersion::Three => ("3", 2, 121),
        TerseVersion::Four => ("4", 3, 162),
        TerseVersion::Five => ("5", 3, 180),
    };
    let mut fields: Vec<String> =
        vec![number.into(), Results::version(), job.name.replace(';', ","), job.group.to_string()];
    fields.push(job.error().to_string());
    for kind in &job.kinds[..kinds] {
        let seconds = if kind.ios > 0 { &job.seconds[..] } else { &[] };
        let bandwidth = Samples::of(seconds.iter().map(|second| second.bytes >> 10));
        of_kind(&mut fields, kind, &bandwidth);
        if version == TerseVersion::Five {
            let iops = Samples::of(seconds.iter().map(|second| second.ios));
            fields.extend([bandwidth.n, iops.min, iops.max].map(|figure| figure.to_string()));
            fields.extend([iops.mean, iops.stddev].map(|figure| format!("{figure:.6}")));
            fields.push(iops.n.to_string());
        }
    }
    fields.extend(job.cpu_percent().map(|percent| format!("{percent:.6}%")));
    let counts = [job.usage.switches, job.usage.faults_major, job.usage.faults_minor];
    fields.extend(counts.map(|count| count.to_string()));
    fields.extend(job.depth_shares().map(|share| format!("{share:.1}%")));
    fields.extend(job.ranges.us_with_ns().map(|share| format!("{share:.2}%")));
    fields.extend(job.ranges.ms.map(|share| format!("{share:.2}%")));
    for disk in disks {
        let Disk { read_ios, write_ios, read_merges, write_merges, .. } = *disk;
        let Disk { read_ticks, write_ticks, in_queue, util, .. } = *disk;
        fields.push(disk.name.clone());
        let counts =
            [read_ios, write_ios, read_merges, write_merges, read_ticks, write_ticks, in_queue];
        fields.extend(counts.map(|count| count.to_string()));
        fields.push(format!("{util:.2}%"));
    }
    debug_assert_eq!(fields.len(), fields_of_all + 9 * disks.len(), "the fields of fio");
    fields.join(";") + "\n"
}

fn of_kind(fields: &mut Vec<String>, kind: &Kind, bandwidth: &Samples) {
    let rates = [kind.bytes >> 10, kind.bytes_per_s >> 10];
    fields.extend(rates.map(|rate| rate.to_string()));
    fields.push(super::figures::whole(kind.iops).to_string());
    fields.push(kind.runtime_ms.to_string());
    times(fields, &Times::default());
    times(fields, &kind.clat);
    let known = kind.clat.percentiles.iter().take(PERCENTILES);
    fields.extend(known.map(|(percent, ns)| format!("{percent:.6}%={}", ns / 1000)));
    let missing = PERCENTILES.saturating_sub(kind.clat.percentiles.len());
    fields.extend(std::iter::repeat_n("0%=0".to_owned(), missing));
    times(fields, &kind.lat);
    let share = if bandwidth.n > 0 { 100.0 } else { 0.0 };
    fields.extend([bandwidth.min, bandwidth.max].map(|figure| figure.to_string()));
    fields.push(format!("{share:.6}%"));
    fields.extend([bandwidth.mean, bandwidth.stddev].map(|figure| format!("{figure:.6}")));
}

/// Minimum, maximum, mean and standard deviation in microseconds.
fn times(fields: &mut Vec<String>, times: &Times) {
    fields.extend([times.min, times.max].map(|ns| (ns / 1000).to_string()));
    let mean = super::figures::ratio(times.mean, 1000);
    fields.extend([mean, times.stddev.unwrap_or(0.0) / 1e3].map(|us| format!("{us:.6}")));
}
