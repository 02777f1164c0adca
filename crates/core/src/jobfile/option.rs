//! Each of fio's options, and what becomes of it.

use super::section::{Section, Wrong};
use crate::config::{Choice as _, Value, nearest};
use crate::units::{Bytes, Span};
use crate::workload::{BlockSizes, Distribution, Rw};

/// Options that change no figure here, with the reason.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("group_reporting", "jobs and their total are always reported"),
    ("thread", "a job is always a thread"),
    ("norandommap", "random addresses are always drawn independently"),
    ("randrepeat", "the same seed always draws the same"),
    ("refill_buffers", "what is written never repeats"),
    ("scramble_buffers", "what is written never repeats"),
    ("invalidate", "the page cache is always told to let go of the file"),
    ("fallocate", "files are always written throughout before they are read"),
    ("iodepth_batch", "as many requests as there are go to the kernel together"),
    ("iodepth_batch_submit", "as many requests as there are go to the kernel together"),
    ("iodepth_batch_complete", "all that is complete is taken together"),
    ("iodepth_batch_complete_min", "all that is complete is taken together"),
    ("iodepth_batch_complete_max", "all that is complete is taken together"),
    ("iodepth_low", "the queue is kept full"),
    ("fixedbufs", "buffers are always registered"),
    ("registerfiles", "files are always registered"),
    ("gtod_reduce", "time stamps cost little enough to keep them all"),
    ("gtod_cpu", "time stamps cost little enough to keep them all"),
    ("clocksource", "the best clock is chosen"),
    ("lat_percentiles", "latency is always from the intended moment"),
    ("clat_percentiles", "latency is always from the intended moment"),
    ("slat_percentiles", "latency is always from the intended moment"),
    ("percentile_list", "the whole distribution is in the result"),
    ("write_bw_log", "every second is in the result"),
    ("write_lat_log", "every second is in the result"),
    ("write_iops_log", "every second is in the result"),
    ("log_avg_msec", "every second is in the result"),
    ("log_hist_msec", "the whole distribution is in the result"),
    ("disable_lat", "latency is always measured"),
    ("disable_clat", "latency is always measured"),
    ("disable_slat", "latency is always measured"),
    ("disable_bw_measurement", "throughput is always measured"),
    ("bwavgtime", "every second is in the result"),
    ("iopsavgtime", "every second is in the result"),
    ("eta", "progress shows where somebody watches"),
    ("description", "it names the job for people"),
    ("name", "the section has a name"),
    ("exitall", "jobs that run together end by their own limits"),
    ("random_generator", "the generator is always the same"),
    ("allow_mounted_write", "a mounted device is never written"),
    ("disk_util", "other I/O on the device is told where there is any"),
    ("overwrite", "files are always laid out before they are written"),
    ("end_fsync", "a flush after the end is not measured"),
    ("fsync_on_close", "a flush after the end is not measured"),
    ("create_serialize", "files are laid out before any job starts"),
    ("file_service_type", "a job has one file"),
    ("nrfiles", "a job has one file"),
    ("openfiles", "a job has one file"),
    ("unlink", "files are kept for the next run"),
];

/// Options of fio that drivelab calls otherwise or does not have.
const ELSEWHERE: &[(&str, &str)] = &[
    ("verify", "`drivelab run TARGET --verify` checks what was written"),
    ("do_verify", "`drivelab run TARGET --verify-only` checks what was written"),
    ("verify_only", "`drivelab run TARGET --verify-only` checks what was written"),
    ("read_iolog", "`drivelab replay TRACE` replays"),
    ("replay_no_stall", "`drivelab replay TRACE` replays"),
    ("startdelay", "begin another group with `stonewall` instead"),
    ("loops", "raise `runtime`, or `io_size`"),
    ("latency_target", "`drivelab study` compares depths"),
    ("fill_device", "give `size`"),
    ("include", "put the lines of the other file in"),
];

/// Options that are read here; what is unknown is held against them for a suggestion.
const KNOWN: &[&str] = &[
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "size",
    "filesize",
    "io_size",
    "io_limit",
    "offset",
    "iodepth",
    "numjobs",
    "direct",
    "buffered",
    "ioengine",
    "runtime",
    "timeout",
    "time_based",
    "ramp_time",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "thinktime",
    "fsync",
    "fdatasync",
    "sync",
    "filename",
    "directory",
    "stonewall",
    "wait_for_previous",
    "randseed",
    "number_ios",
    "percentage_random",
    "steadystate",
    "ss",
    "steadystate_duration",
    "ss_dur",
    "steadystate_ramp_time",
    "ss_ramp",
    "hipri",
    "sqthread_poll",
];

/// Sets one option.
pub(super) fn set(section: &mut Section, key: &str, value: &str) -> Result<(), Wrong> {
    if set_workload(section, key, value)? || set_job(section, key, value)? {
        return Ok(());
    }
    if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == key) {
        section.note(key, why);
        return Ok(());
    }
    let message = format!("`{key}` is an option that drivelab does not have");
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == key) {
        return Err((message, Some((*instead).to_owned())));
    }
    let known = KNOWN.iter().chain(WITHOUT_EFFECT.iter().map(|(name, _)| name)).copied();
    let hint = nearest(key, known).map(|meant| format!("did you mean `{meant}`?"));
    Err((message, hint.or_else(|| Some("leave it out, if the job makes sense without".into()))))
}

/// What is asked of the target; false where `key` is not about that.
fn set_workload(section: &mut Section, key: &str, value: &str) -> Result<bool, Wrong> {
    let job = &mut section.workload;
    match key {
        "rw" | "readwrite" => job.rw = Some(rw(value)?),
        "bs" | "blocksize" => {
            let asked = same(key, value, bytes)?;
            section.block(asked);
        }
        "bssplit" => job.bssplit = Some(split(value)?),
        "size" | "filesize" => {
            job.size = if value == "100%" { None } else { Some(bytes(key, value)?) };
        }
        "io_size" | "io_limit" => section.io_size = Some(bytes(key, value)?),
        "offset" => job.offset = Some(bytes(key, value)?),
        "iodepth" => job.iodepth = Some(read(key, value)?),
        "runtime" | "timeout" => job.runtime = Some(time(key, value, "s")?),
        "ramp_time" => job.ramp_time = Some(time(key, value, "s")?),
        "thinktime" => job.thinktime = Some(time(key, value, "us")?),
        "rate" => job.rate = Some(same(key, value, bytes)?),
        "rate_iops" => job.rate_iops = Some(same(key, value, read)?),
        "rate_process" => match value {
            "poisson" => job.poisson = Some(true),
            "linear" => job.poisson = Some(false),
            _ => return Err(("`rate_process` is `linear` or `poisson`".into(), None)),
        },
        "rwmixread" => job.rwmixread = Some(read(key, value)?),
        "rwmixwrite" => {
            let writes: u32 = read(key, value)?;
            job.rwmixread = Some(100_u32.saturating_sub(writes));
        }
        "random_distribution" => job.random_distribution = Some(distribution(value)?),
        "fsync" => job.fsync = Some(read(key, value)?),
        "fdatasync" => job.fdatasync = Some(read(key, value)?),
        "sync" => job.sync = Some(matches!(value, "1" | "dsync" | "sync")),
        "number_ios" => job.number_ios = Some(read(key, value)?),
        "percentage_random" => job.percentage_random = Some(same(key, value, read)?),
        "steadystate" | "ss" => job.ss = Some(read(key, value)?),
        "steadystate_duration" | "ss_dur" => job.ss_dur = Some(time(key, value, "s")?),
        "steadystate_ramp_time" | "ss_ramp" => job.ss_ramp = Some(time(key, value, "s")?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// What is done with the target; false where `key` is not about that.
fn set_job(section: &mut Section, key: &str, value: &str) -> Result<bool, Wrong> {
    match key {
        "filename" if value.contains(':') => {
            let hint = "give each of them a section of its own: they start together";
            return Err((format!("`{value}` are several files"), Some(hint.into())));
        }
        "filename" => section.filename = Some(value.to_owned()),
        "directory" => section.directory = Some(value.to_owned()),
        "direct" => section.direct = switch(key, value)?,
        "hipri" => section.polling.completions = switch(key, value)?,
        "sqthread_poll" => section.polling.submissions = switch(key, value)?,
        "buffered" => section.direct = !switch(key, value)?,
        "ioengine" => section.ioengine = ioengine(section, value)?,
        "numjobs" => section.numjobs = Some(read(key, value)?),
        "randseed" => section.seed = Some(read(key, value)?),
        "time_based" => section.time_based = switch(key, value)?,
        "stonewall" | "wait_for_previous" => section.stonewall = switch(key, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn rw(value: &str) -> Result<Rw, Wrong> {
    Rw::from_name(value).map_err(|wrong| {
        let hint = value.contains(':').then(|| {
            "drivelab has no modifier after the colon; `stride` leaves gaps between blocks".into()
        });
        (wrong, hint)
    })
}

fn ioengine(section: &mut Section, value: &str) -> Result<Option<&'static str>, Wrong> {
    Ok(Some(match value {
        "io_uring" => "io_uring",
        "libaio" | "posixaio" | "io_uring_cmd" => {
            section.note("ioengine", "io_uring does what asynchronous engines do, for less");
            "io_uring"
        }
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" => "psync",
        "null" => "null",
        _ => {
            let message = format!("`{value}` is no way of doing I/O that drivelab has");
            return Err((message, Some("write `io_uring`, `psync` or `null`".into())));
        }
    }))
}

fn distribution(value: &str) -> Result<Distribution, Wrong> {
    value.parse().map_err(|wrong| (wrong, None))
}

fn split(value: &str) -> Result<BlockSizes, Wrong> {
    let lower = value.to_ascii_lowercase();
    if lower.contains(',') {
        let hint = "one split for reads and writes: `4k/60:64k/40`";
        return Err(("`bssplit` with a part each for reads and writes".into(), Some(hint.into())));
    }
    lower.parse().map_err(|wrong| (wrong, None))
}

/// Of `read,write,trim` values all must be the same.
fn same<T: PartialEq>(
    key: &str,
    value: &str,
    read: impl Fn(&str, &str) -> Result<T, Wrong>,
) -> Result<T, Wrong> {
    let mut parts = value.split(',').filter(|part| !part.is_empty());
    let first = read(key, parts.next().unwrap_or(""))?;
    for part in parts {
        if read(key, part)? != first {
            let hint = "give reads and writes a section each: they start together";
            let message = format!("`{key}` differs between reads and writes");
            return Err((message, Some(hint.into())));
        }
    }
    Ok(first)
}

fn read<T: Value>(key: &str, value: &str) -> Result<T, Wrong> {
    T::read(value).map_err(|wrong| (format!("`{key}`: {wrong}"), None))
}

/// A flag alone is set, as in fio.
fn switch(key: &str, value: &str) -> Result<bool, Wrong> {
    if value.is_empty() { Ok(true) } else { read(key, value) }
}

/// In fio `k` and `kb` are 1024, and `ki` is 1000 unless told otherwise: that one is refused.
fn bytes(key: &str, value: &str) -> Result<Bytes, Wrong> {
    let lower = value.to_ascii_lowercase();
    let plain = lower.strip_suffix('b').filter(|rest| rest.ends_with(char::is_alphabetic));
    let plain = plain.unwrap_or(&lower);
    if plain.ends_with('i') {
        let message =
            format!("`{key}`: in fio `{value}` counts in thousands unless told otherwise");
        return Err((message, Some("write the number of bytes, or `k`, `m`, `g` for 1024".into())));
    }
    read(key, plain)
}

/// A number alone is in `unit`.
fn time(key: &str, value: &str, unit: &str) -> Result<Span, Wrong> {
    let bare = value.bytes().all(|byte| byte.is_ascii_digit());
    if bare { read(key, &format!("{value}{unit}")) } else { read(key, value) }
}
