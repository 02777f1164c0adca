//! fio's text for people, which other programs read, too.

use std::fmt::Write as _;

use drivelab_core::record::Usage;

use super::figures::{Kind, Samples, Times, ratio};
use super::number::{Unit, short};
use super::ranges::{BELOW_THOUSAND, MILLISECONDS};
use super::{Disk, Job, Results};

const NAMES: [&str; 3] = ["read", "write", "trim"];
/// Significant digits.
const DIGITS: usize = 4;
/// Percentiles in a line.
const PER_LINE: usize = 4;

/// The text.
pub fn normal(results: &Results) -> String {
    let mut out = format!("{}\n", Results::version());
    let time = date(results.unix_ms);
    for job in &results.jobs {
        of_job(&mut out, job, &time);
    }
    let mut groups: Vec<u32> = results.jobs.iter().map(|job| job.group).collect();
    groups.dedup();
    for group in groups {
        let jobs: Vec<&Job> = results.jobs.iter().filter(|job| job.group == group).collect();
        of_group(&mut out, group, &jobs);
    }
    if !results.disks.is_empty() {
        out.push_str("\nDisk stats (read/write):\n");
    }
    for disk in &results.disks {
        let Disk { name, read_ios, write_ios, read_merges, write_merges, .. } = disk;
        let Disk { read_ticks, write_ticks, in_queue, util, .. } = disk;
        line(
            &mut out,
            format_args!(
                "  {name}: ios={read_ios}/{write_ios}, merge={read_merges}/{write_merges}, \
                 ticks={read_ticks}/{write_ticks}, in_queue={in_queue}, util={util:.2}%"
            ),
        );
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("text is always written");
}

fn of_job(out: &mut String, job: &Job, date: &str) {
    let Job { name, group, jobs, .. } = job;
    let error = job.error();
    line(
        out,
        format_args!("\n{name}: (groupid={group}, jobs={jobs}): err={error:2}: pid=0: {date}"),
    );
    for (kind, name) in job.kinds.iter().zip(NAMES).filter(|(kind, _)| kind.ios > 0) {
        of_kind(out, job, kind, name);
    }
    shares(out, "nsec", &BELOW_THOUSAND, &job.ranges.ns);
    shares(out, "usec", &BELOW_THOUSAND, &job.ranges.us);
    shares(out, "msec", &MILLISECONDS, &job.ranges.ms);
    let flush = &job.kinds[3];
    if flush.ios > 0 {
        line(out, format_args!("  fsync/fdatasync/sync_file_range:"));
        times(out, "sync", &flush.clat);
        percentiles(out, "sync", &flush.clat);
    }
    let [user, system] = job.cpu_percent();
    let Usage { switches, faults_major, faults_minor, .. } = job.usage;
    line(
        out,
        format_args!(
            "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, \
             majf={faults_major}, minf={faults_minor}"
        ),
    );
    let any = if job.kinds.iter().any(|kind| kind.ios > 0) { 100.0 } else { 0.0 };
    let levels = ["1", "2", "4", "8", "16", "32", ">=64"];
    depths(out, "  IO depths   ", levels, job.depth_shares());
    let levels = ["0", "4", "8", "16", "32", "64", ">=64"];
    depths(out, "     submit   ", levels, [0.0, any, 0.0, 0.0, 0.0, 0.0, 0.0]);
    depths(out, "     complete ", levels, [0.0, any, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let [read, write, trim, flush] = [0, 1, 2, 3].map(|kind| job.kinds[kind].ios);
    line(
        out,
        format_args!(
            "     issued rwts: total={read},{write},{trim},{flush} short=0,0,0,0 dropped=0,0,0,0"
        ),
    );
    if job.errors > 0 {
        let errors = job.errors;
        line(
            out,
            format_args!("     errors    : total={errors}, first_error=5/<Input/output error>"),
        );
    }
    let (depth, (target, percent, window)) = (job.iodepth, job.latency());
    line(
        out,
        format_args!(
            "     latency   : target={target}, window={window}, percentile={percent:.2}%, \
             depth={depth}"
        ),
    );
}

fn of_kind(out: &mut String, job: &Job, kind: &Kind, name: &str) {
    let iops = short(super::figures::whole(kind.iops), DIGITS, false, Unit::None);
    let moved = short(kind.bytes, DIGITS, true, Unit::Bytes);
    let (binary, decimal) = both(kind.bytes_per_s, Unit::BytesPerS);
    let time = kind.runtime_ms;
    line(out, format_args!("  {name}: IOPS={iops}, BW={binary} ({decimal})({moved}/{time}msec)"));
    times(out, "clat", &kind.clat);
    times(out, " lat", &kind.lat);
    percentiles(out, "clat", &kind.clat);
    let samples = Samples::of(job.seconds.iter().map(|second| second.bytes >> 10));
    if samples.n > 0 {
        let Samples { min, max, mean, stddev, n } = samples;
        line(
            out,
            format_args!(
                "   bw (  KiB/s): min={min:5}, max={max:5}, per=100.00%, avg={mean:5.2}, \
                 stdev={stddev:5.2}, samples={n}"
            ),
        );
        let Samples { min, max, mean, stddev, n } =
            Samples::of(job.seconds.iter().map(|second| second.ios));
        line(
            out,
            format_args!(
                "   iops        : min={min:5}, max={max:5}, avg={mean:5.2}, stdev={stddev:5.2}, \
                 samples={n}"
            ),
        );
    }
}

/// The unit in which all of it is shown, with its nanoseconds.
fn unit_of(min: u64, max: u64, stddev: f64) -> (&'static str, u64) {
    if min > 2_000_000 && max > 99_999_999 && stddev > 1e6 {
        ("msec", 1_000_000)
    } else if min > 2_000 && max > 99_999 && stddev > 1e3 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

fn times(out: &mut String, name: &str, times: &Times) {
    let stddev = times.stddev.unwrap_or(0.0);
    let (unit, ns) = unit_of(times.min, times.max, stddev);
    let (min, max) = (times.min / ns, times.max / ns);
    let (min, max) = (short(min, 6, false, Unit::None), short(max, 6, false, Unit::None));
    let (mean, stddev) = (ratio(times.mean, ns), stddev / ratio(ns, 1));
    line(
        out,
        format_args!(
            "    {name} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={stddev:5.2}"
        ),
    );
}

fn percentiles(out: &mut String, name: &str, times: &Times) {
    let all = &times.percentiles;
    let (Some((_, least)), Some((_, most))) = (all.first(), all.last()) else { return };
    let (unit, ns) = unit_of(*least, *most, f64::INFINITY);
    line(out, format_args!("    {name} percentiles ({unit}):"));
    for row in all.chunks(PER_LINE) {
        let cells =
            row.iter().map(|(percent, time)| format!(" {percent:5.2}th=[{:5}]", time.div_ceil(ns)));
        let cells: Vec<String> = cells.collect();
        let is_last = std::ptr::eq(row.as_ptr_range().end, all.as_ptr_range().end);
        line(out, format_args!("     |{}{}", cells.join(","), if is_last { "" } else { "," }));
    }
}

/// Five shares in a line.
fn shares(out: &mut String, unit: &str, ends: &[u64], shares: &[f64]) {
    let mut ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
    ends.extend(ends.last().map(|last| format!(">={last}")));
    let shown = ends.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    // As in fio, a share is never shown as zero.
    let shown: Vec<String> =
        shown.map(|(end, share)| format!("{end}={:.2}%", share.max(0.01))).collect();
    for row in shown.chunks(5) {
        line(out, format_args!("  lat ({unit})   : {}", row.join(", ")));
    }
}

fn depths(out: &mut String, name: &str, levels: [&str; 7], shares: [f64; 7]) {
    let cells = levels.iter().zip(shares).map(|(level, share)| format!("{level}={share:.1}%"));
    line(out, format_args!("{name} : {}", cells.collect::<Vec<_>>().join(", ")));
}

/// All jobs of a group together.
fn of_group(out: &mut String, group: u32, jobs: &[&Job]) {
    line(out, format_args!("\nRun status group {group} (all jobs):"));
    for (index, name) in ["   READ", "  WRITE", "   TRIM"].into_iter().enumerate() {
        let kinds: Vec<&Kind> =
            jobs.iter().map(|job| &job.kinds[index]).filter(|kind| kind.ios > 0).collect();
        if kinds.is_empty() {
            continue;
        }
        let bytes: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        let longest = kinds.iter().map(|kind| kind.runtime_ms).max().unwrap_or(1);
        let shortest = kinds.iter().map(|kind| kind.runtime_ms).min().unwrap_or(1);
        let whole = bytes.saturating_mul(1000) / longest.max(1);
        let whole = if kinds.len() == 1 { kinds[0].bytes_per_s } else { whole };
        let least = kinds.iter().map(|kind| kind.bytes_per_s).min().unwrap_or(0);
        let most = kinds.iter().map(|kind| kind.bytes_per_s).max().unwrap_or(0);
        let (all, all_decimal) = both(whole, Unit::BytesPerS);
        let (least, least_decimal) = both(least, Unit::BytesPerS);
        let (most, most_decimal) = both(most, Unit::BytesPerS);
        let (moved, moved_decimal) = both(bytes, Unit::Bytes);
        line(
            out,
            format_args!(
                "{name}: bw={all} ({all_decimal}), {least}-{most} ({least_decimal}-{most_decimal}), \
                 io={moved} ({moved_decimal}), run={shortest}-{longest}msec"
            ),
        );
    }
}

/// A number with prefixes of powers of 1024, and of 1000.
fn both(number: u64, unit: Unit) -> (String, String) {
    (short(number, DIGITS, true, unit), short(number, DIGITS, false, unit))
}

/// The date as C's `ctime` writes it, in UTC: `Fri Nov 27 11:12:00 2026`.
pub(super) fn date(unix_ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = unix_ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, in cycles of 400, from the year 0 (Hinnant, "chrono-compatible
    // low-level date algorithms").
    let from_zero = days + 719_468;
    let (cycle, day) = (from_zero / 146_097, from_zero % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    debug_assert!(of_year < 366, "a day of a year");
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (name, year) = (
        MONTHS[usize::try_from((month + 2) % 12).unwrap_or(0)],
        cycle * 400 + year + u64::from(month >= 10),
    );
    let weekday = DAYS[usize::try_from(days % 7).unwrap_or(0)];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {name} {of_month:2} {hour:02}:{minute:02}:{second:02} {year}")
}
