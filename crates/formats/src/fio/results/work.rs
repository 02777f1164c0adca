//! The work of a job, from the options that fio repeats in its JSON.

use drivelab_core::Span;
use drivelab_core::record::{NOT_SET, Work, size};

use super::output::{Job, Output};

/// Values of options that are not given, so that a job that gives one is known to differ.
const DEFAULTS: [(&str, &str); 50] = [
    ("rw", "read"),
    ("bs", "4k"),
    ("bssplit", NOT_SET),
    ("bsrange", NOT_SET),
    ("iodepth", "1"),
    ("iodepth_batch", "1"),
    ("iodepth_batch_complete", "1"),
    ("iodepth_low", NOT_SET),
    ("numjobs", "1"),
    ("direct", "0"),
    ("sync", "0"),
    ("fsync", "0"),
    ("fdatasync", "0"),
    ("end_fsync", "0"),
    ("sync_file_range", NOT_SET),
    ("offset", "0"),
    ("offset_increment", "0"),
    ("rate", NOT_SET),
    ("rate_iops", NOT_SET),
    ("rate_process", "linear"),
    ("thinktime", "0s"),
    ("rwmixread", "50"),
    ("random_distribution", "random"),
    ("percentage_random", "100"),
    ("norandommap", "0"),
    ("number_ios", NOT_SET),
    ("runtime", NOT_SET),
    ("ramp_time", "0s"),
    ("startdelay", "0s"),
    ("time_based", "0"),
    ("loops", "1"),
    ("nrfiles", "1"),
    ("hipri", "0"),
    ("invalidate", "1"),
    ("io_size", NOT_SET),
    ("blockalign", NOT_SET),
    ("verify", NOT_SET),
    ("zero_buffers", "0"),
    ("scramble_buffers", "1"),
    ("refill_buffers", "0"),
    ("buffer_pattern", NOT_SET),
    ("buffer_compress_percentage", "0"),
    ("dedupe_percentage", "0"),
    ("overwrite", "0"),
    ("thread", "0"),
    ("cpus_allowed", NOT_SET),
    ("nice", "0"),
    ("prio", NOT_SET),
    ("fallocate", "native"),
    ("create_on_open", "0"),
];

/// Other names of options.
const ALIASES: [(&str, &str); 13] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("ba", "blockalign"),
    ("timeout", "runtime"),
    ("io_limit", "io_size"),
    ("start_delay", "startdelay"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete_min", "iodepth_batch_complete"),
    ("file_size", "filesize"),
    ("file_offset", "offset"),
    ("steadystate", "ss"),
    ("pool", "mem"),
];

/// Options that are not work: targets, names, seeds, and reports. Those that begin with
/// one of [`REPORTS`] or end with `_log` neither.
const OTHERS: [&str; 26] = [
    "name",
    "description",
    "filename",
    "filename_format",
    "directory",
    "opendir",
    "unique_filename",
    "ioscheduler",
    "group_reporting",
    "new_group",
    "stats",
    "randseed",
    "randrepeat",
    "allrandrepeat",
    "disk_util",
    "eta",
    "status_interval",
    "percentile_list",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "unified_rw_reporting",
    "significant_figures",
    "wait_for",
    "stonewall",
    "exec_prerun",
];
const REPORTS: [&str; 7] = ["write_", "log_", "disable_", "per_job_", "bwavg", "iopsavg", "json"];

/// Options with a size, and those with a time in the unit that a plain number has.
const SIZES: [&str; 14] = [
    "bs",
    "bsrange",
    "blockalign",
    "size",
    "filesize",
    "io_size",
    "offset",
    "offset_increment",
    "offset_align",
    "rate",
    "rate_min",
    "sync_file_range",
    "zonesize",
    "zonerange",
];
const TIMES: [(&str, &str); 6] = [
    ("runtime", "s"),
    ("ramp_time", "s"),
    ("startdelay", "s"),
    ("ss_dur", "s"),
    ("thinktime", "us"),
    ("thinktime_spin", "us"),
];

/// The work of a job; nothing where fio did not write its options.
pub(super) fn of(job: &Job, output: &Output) -> Work {
    let mut work = Work::default();
    if !output.records_options_of(job) {
        return work;
    }
    // fio repeats only given options: without defaults a missing one would be unknown.
    for (key, value) in DEFAULTS {
        work.set(key, value);
    }
    for (name, value) in output.global.iter().chain(job.options.iter()) {
        option(&mut work, name, value);
    }
    let is_mixed = work.get("rw").is_some_and(|rw| rw.starts_with("randrw") || rw == "readwrite");
    let is_random = work.get("rw").is_some_and(|rw| rw.starts_with("rand"));
    // What does not apply does not differ.
    let mut kept = Work::default();
    for (key, value) in work.iter() {
        let applies = match key {
            "rwmixread" => is_mixed,
            "random_distribution" | "percentage_random" | "norandommap" => is_random,
            _ => true,
        };
        if applies {
            kept.set(key, value);
        }
    }
    kept
}

fn option(work: &mut Work, name: &str, value: &str) {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let is_report = REPORTS.iter().any(|start| name.starts_with(start)) || name.ends_with("_log");
    if is_report || OTHERS.contains(&name) {
        return;
    }
    // A switch that is given alone is on.
    let value = if value.trim().is_empty() { "1" } else { value.trim() };
    match name {
        "buffered" => work.set_switch("direct", value == "0"),
        "rwmixwrite" => {
            let reads = value.parse().ok().and_then(|percent: u32| 100_u32.checked_sub(percent));
            work.set("rwmixread", reads.map_or(value.to_owned(), |percent| percent.to_string()));
        }
        "rw" if value == "rw" => work.set("rw", "readwrite"),
        "sync" => work.set("sync", if value == "none" { "0" } else { value }),
        _ if SIZES.contains(&name) => work.set(name, sizes(value)),
        _ => match TIMES.iter().find(|(known, _)| *known == name) {
            Some((_, unit)) => work.set(name, time(value, unit)),
            None => work.set(name, value),
        },
    }
}

/// `4k,64k` and `4k-64k` have a size for each kind of request, and two ends.
fn sizes(value: &str) -> String {
    let mut sizes = Vec::new();
    for range in value.to_lowercase().split(',') {
        sizes.push(range.split('-').map(size).collect::<Vec<_>>().join("-"));
    }
    sizes.join(",")
}

fn time(value: &str, unit: &str) -> String {
    let is_plain = value.ends_with(|c: char| c.is_ascii_digit());
    let text = if is_plain { format!("{value}{unit}") } else { value.to_owned() };
    let span: Option<Span> = text.parse().ok();
    span.map_or(text, |span| if span.is_zero() { "0s".to_owned() } else { span.to_string() })
}
