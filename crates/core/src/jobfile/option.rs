//! Each of fio's options, and what becomes of it.

use super::JOBS_MAX;
use super::noted::{REFUSED, WITHOUT_EFFECT, keys, reason};
use super::number::{Base, OFFSET_MAX, Part, Sided, read, switch, time};
use super::section::{Section, Wrong};
use crate::config::{Choice as _, nearest};
use crate::units::{Bytes, SECTOR_BYTES};
use crate::workload::{BlockSizes, Rw};

/// Options that are read here; what is unknown is held against them for a suggestion.
const KNOWN: &[&str] = &[
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "bsrange",
    "blocksize_range",
    "ba",
    "blockalign",
    "size",
    "filesize",
    "io_size",
    "io_limit",
    "offset",
    "fileoffset",
    "offset_increment",
    "iodepth",
    "numjobs",
    "nrfiles",
    "nr_files",
    "loops",
    "direct",
    "invalidate",
    "buffered",
    "ioengine",
    "runtime",
    "timeout",
    "time_based",
    "ramp_time",
    "startdelay",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "norandommap",
    "thinktime",
    "thinktime_blocks",
    "fsync",
    "fdatasync",
    "end_fsync",
    "sync",
    "filename",
    "filename_format",
    "directory",
    "stonewall",
    "wait_for_previous",
    "wait_for",
    "exitall",
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
    "kb_base",
    "name",
];

/// Sets one option.
pub(super) fn set(section: &mut Section, key: &str, value: &str) -> Result<(), Wrong> {
    if set_requests(section, key, value)?
        || set_extent(section, key, value)?
        || set_job(section, key, value)?
    {
        return Ok(());
    }
    if let Some(why) = reason(WITHOUT_EFFECT, key) {
        section.note(key, why);
        return Ok(());
    }
    // `include FILE` has no equals sign.
    let key = key.split_whitespace().next().unwrap_or(key);
    if let Some(instead) = reason(REFUSED, key) {
        let off = matches!(value, "0" | "none");
        let message = format!("`{key}` is an option that drivelab does not have");
        return if off { Ok(()) } else { Err((message, Some(instead.to_owned()))) };
    }
    // Each of fio's engines has options of its own besides those that all share.
    let message =
        format!("`{key}` is no option that drivelab knows, nor one of all engines of fio");
    let known = KNOWN.iter().copied().chain(keys(WITHOUT_EFFECT)).chain(keys(REFUSED));
    let hint = nearest(key, known).map(|meant| format!("did you mean `{meant}`?"));
    Err((message, hint.or_else(|| Some("leave it out, if the job makes sense without".into()))))
}

/// What requests are made, and when; false where `key` is not about that.
fn set_requests(section: &mut Section, key: &str, value: &str) -> Result<bool, Wrong> {
    let base = section.base;
    let job = &mut section.workload;
    match key {
        "rw" | "readwrite" => set_rw(section, value)?,
        "bs" | "blocksize" => {
            section.bs = Some(Sided::parse(value, |one| section.bytes(key, one))?);
            section.workload.bssplit = None;
        }
        "bssplit" => set_split(section, value)?,
        "bsrange" | "blocksize_range" => set_range(section, key, value)?,
        "ba" | "blockalign" => {
            let align = alike(key, Sided::parse(value, |one| section.bytes(key, one))?)?;
            section.workload.blockalign = Some(align);
        }
        "iodepth" => job.iodepth = Some(count(base, key, value)?),
        "thinktime" => job.thinktime = Some(time(key, value, "us")?),
        "thinktime_blocks" if value == "1" => {}
        "thinktime_blocks" => {
            let hint = Some("`thinktime` alone pauses after each request".into());
            return Err(("a pause follows every request, not every so many".into(), hint));
        }
        "rate" => section.rate = Some(Sided::parse(value, |one| section.bytes(key, one))?),
        "rate_iops" => section.rate_iops = Some(Sided::parse(value, |one| count(base, key, one))?),
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
        "random_distribution" => {
            job.random_distribution = Some(read(key, value)?);
        }
        "norandommap" => job.norandommap = Some(switch(key, value)?),
        "percentage_random" => {
            job.percentage_random =
                Some(alike(key, Sided::parse(value, |one| read(key, one.trim_end_matches('%')))?)?);
        }
        "fsync" => job.fsync = Some(read(key, value)?),
        "fdatasync" => job.fdatasync = Some(read(key, value)?),
        "sync" => set_sync(section, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// How much is transferred, and when a job is through; false where `key` is not about that.
fn set_extent(section: &mut Section, key: &str, value: &str) -> Result<bool, Wrong> {
    match key {
        "size" => section.extent.size = section.part(key, value)?,
        "filesize" => section.extent.filesize = Some(section.bytes(key, value)?),
        "nrfiles" | "nr_files" => section.extent.files = count(section.base, key, value)?,
        "io_size" | "io_limit" => section.extent.io_size = section.part(key, value)?,
        "offset" | "fileoffset" => section.extent.offset = section.part(key, value)?,
        "offset_increment" => match section.part(key, value)? {
            Some(Part::Bytes(bytes)) => section.conduct.offset_increment = Some(bytes),
            _ => return Err((format!("`{key}`: give bytes, not a percentage"), None)),
        },
        "loops" => section.extent.loops = count(section.base, key, value)?,
        "number_ios" => section.workload.number_ios = Some(count(section.base, key, value)?),
        "runtime" | "timeout" => section.workload.runtime = Some(time(key, value, "s")?),
        "ramp_time" => section.workload.ramp_time = Some(time(key, value, "s")?),
        "startdelay" | "start_delay" => section.conduct.start_delay = time(key, value, "s")?,
        "time_based" => section.extent.time_based = switch(key, value)?,
        "steadystate" | "ss" => section.workload.ss = Some(read(key, value)?),
        "steadystate_duration" | "ss_dur" => {
            section.workload.ss_dur = Some(time(key, value, "s")?);
        }
        "steadystate_ramp_time" | "ss_ramp" => {
            section.workload.ss_ramp = Some(time(key, value, "s")?);
        }
        "end_fsync" => section.conduct.end_fsync = switch(key, value)?,
        "exitall" => section.conduct.exit_all = switch(key, value)?,
        "stonewall" | "wait_for_previous" => section.stonewall = switch(key, value)?,
        "wait_for" => section.wait_for = Some(value.to_owned()),
        _ => return Ok(false),
    }
    Ok(true)
}

/// What is done with which target; false where `key` is not about that.
fn set_job(section: &mut Section, key: &str, value: &str) -> Result<bool, Wrong> {
    match key {
        "filename" if value.contains(':') => {
            let hint = "give each of them a section of its own: they start together";
            return Err((format!("`{value}` are several files"), Some(hint.into())));
        }
        "filename" => section.filename = Some(value.to_owned()),
        "filename_format" => section.filename_format = Some(value.to_owned()),
        "directory" => section.directory = Some(value.to_owned()),
        "direct" => section.direct = switch(key, value)?,
        "invalidate" => section.conduct.keep_cache = !switch(key, value)?,
        "hipri" => section.polling.completions = switch(key, value)?,
        "sqthread_poll" => section.polling.submissions = switch(key, value)?,
        "buffered" => section.direct = !switch(key, value)?,
        "ioengine" => section.ioengine = ioengine(section, value)?,
        "numjobs" => section.numjobs = Some(numjobs(section.base, value)?),
        "randseed" => section.seed = Some(read(key, value)?),
        "kb_base" => section.base = Base::read(value)?,
        "name" if !section.name.is_empty() => value.clone_into(&mut section.name),
        "name" => section.note(key, "sections have names"),
        _ => return Ok(false),
    }
    Ok(true)
}

fn numjobs(base: Base, value: &str) -> Result<u32, Wrong> {
    let jobs = count(base, "numjobs", value)?;
    if (1..=JOBS_MAX).contains(&jobs) {
        return Ok(jobs);
    }
    Err((format!("`numjobs`: {value} is not from 1 to {JOBS_MAX}"), None))
}

/// The kind of I/O; behind the colon stands how many bytes sequential I/O skips after each block,
/// backwards where that is negative.
fn set_rw(section: &mut Section, value: &str) -> Result<(), Wrong> {
    let (kind, skip) = value.split_once(':').unwrap_or((value, ""));
    if matches!(kind, "trimwrite" | "randtrimwrite") {
        let hint = Some("give `trim` and `write` a section each, with `stonewall` between".into());
        return Err((format!("`{kind}` trims each block before it writes it"), hint));
    }
    let rw = Rw::from_name(kind).map_err(|wrong| (wrong, None))?;
    section.workload.rw = Some(rw);
    section.skip = None;
    if skip.is_empty() {
        return Ok(());
    }
    if rw.is_random() {
        let hint = "`percentage_random=12` lets seven of eight requests follow the one before";
        let message = format!("`{value}` draws an address for every {skip} requests only");
        return Err((message, Some(hint.into())));
    }
    let (bytes, backwards) = skip.strip_prefix('-').map_or((skip, false), |bytes| (bytes, true));
    section.skip = Some((section.bytes("rw", bytes)?, backwards));
    Ok(())
}

fn set_sync(section: &mut Section, value: &str) -> Result<(), Wrong> {
    section.workload.sync = Some(match value {
        "0" | "none" => false,
        "dsync" => true,
        "1" | "sync" => {
            section
                .note("sync", "writes go through as with `dsync`; the file's times may lag behind");
            true
        }
        _ => return Err(("`sync` is `none`, `dsync` or `sync`".into(), None)),
    });
    Ok(())
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

/// `4k/60:64k/40`; sizes without a percentage share what the others leave.
fn set_split(section: &mut Section, value: &str) -> Result<(), Wrong> {
    if value.contains(',') {
        let hint = "one split for reads and writes: `4k/60:64k/40`";
        return Err(("`bssplit` with a part each for reads and writes".into(), Some(hint.into())));
    }
    let mut sizes = Vec::new();
    for part in value.split(':') {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = percent.trim_end_matches('%');
        let percent = if percent.is_empty() { None } else { Some(read("bssplit", percent)?) };
        sizes.push((section.bytes("bssplit", size)?, percent));
    }
    let shares = sizes.iter().filter_map(|(_, percent)| *percent);
    let given = shares.fold(0_u32, u32::saturating_add);
    if sizes.iter().all(|(_, percent)| percent.is_some()) && given != 100 {
        let message = format!("`bssplit`: the percentages are {given} together, not 100");
        return Err((message, None));
    }
    let sizes = BlockSizes::sharing(&sizes);
    section.workload.bssplit = Some(sizes.map_err(|wrong| (format!("`bssplit`: {wrong}"), None))?);
    section.bs = None;
    Ok(())
}

/// `1k-64k`: every multiple of the smallest size equally often.
fn set_range(section: &mut Section, key: &str, value: &str) -> Result<(), Wrong> {
    let mut sides = value.split(',').filter(|side| !side.is_empty());
    let side = sides.next().unwrap_or("");
    if sides.any(|other| other != side) {
        let hint = Some("give reads and writes a section each: they start together".into());
        return Err((format!("`{key}` differs between reads and writes"), hint));
    }
    let (least, most) = side.split_once('-').unwrap_or((side, side));
    let (least, most) = (section.bytes(key, least)?, section.bytes(key, most)?);
    let range = BlockSizes::range(least, most).map_err(|wrong| (format!("`{key}`: {wrong}"), None));
    section.workload.bssplit = Some(range?);
    section.bs = None;
    Ok(())
}

/// Of values for reads, writes and trims all must be the same.
fn alike<T: Copy + PartialEq>(key: &str, sides: Sided<T>) -> Result<T, Wrong> {
    match sides {
        Sided { read: Some(one), write: Some(other), trim: Some(third) }
            if one == other && one == third =>
        {
            Ok(one)
        }
        _ => {
            let hint = "give reads and writes a section each: they start together";
            Err((format!("`{key}` differs between reads and writes"), Some(hint.into())))
        }
    }
}

/// A number that may have a suffix, as all of fio's may.
fn count<T: TryFrom<u64>>(base: Base, key: &str, value: &str) -> Result<T, Wrong> {
    let (number, _) = base.number(key, value)?;
    T::try_from(number).map_err(|_| (format!("`{key}`: {value} is too large"), None))
}

impl Section {
    /// A number of bytes; where thousands were counted that is told.
    fn bytes(&mut self, key: &str, value: &str) -> Result<Bytes, Wrong> {
        let (number, thousands) = self.base.number(key, value)?;
        if number > OFFSET_MAX {
            return Err((format!("`{key}`: {value} is more than any file or device holds"), None));
        }
        if thousands && self.base == Base::Swapped {
            let why = format!("in fio `{value}` counts in thousands, unless `kb_base` is 1000");
            self.note(key, &why);
        }
        Ok(Bytes::new(number))
    }

    /// Bytes or a percentage; all of it is as good as nothing said.
    fn part(&mut self, key: &str, value: &str) -> Result<Option<Part>, Wrong> {
        let Some(percent) = value.strip_suffix('%') else {
            return Ok(Some(Part::Bytes(self.bytes(key, value)?)));
        };
        let percent: u64 = read(key, percent)?;
        if percent > 100 && key != "io_size" {
            return Err((format!("`{key}`: {value} is more than there is"), None));
        }
        Ok(if percent == 100 && key == "size" { None } else { Some(Part::Percent(percent)) })
    }

    /// A block size as whole sectors; rounded up where it is none, and that is told.
    pub(super) fn whole_sectors(&mut self, asked: Bytes) -> Bytes {
        let whole = Bytes::new(asked.get().next_multiple_of(SECTOR_BYTES));
        if whole != asked {
            self.note("bs", &format!("{asked} bytes are rounded up to whole sectors, {whole}"));
        }
        whole
    }
}
