//! Each of fio's options, and its treatment.
//!
//! An option is one of drivelab's in another spelling ([`OPTIONS`] of core says in which), or is in
//! [`OWN`] with the function that sets it, or has no effect, or is refused. Suggestions come from
//! these four lists, so they include every name that is read.

mod flow;
mod noted;
mod zones;

use drivelab_core::config::{Choice as _, nearest};
use drivelab_core::units::{Bytes, SECTOR_BYTES};
use drivelab_core::workload::{BlockSizes, OPTIONS, Rw, Spelling};
use drivelab_core::{JOBS_MAX, Refusal};

use self::noted::{CONTENT, REFUSED, WITHOUT_EFFECT, keys, reason};
use super::number::{
    Base, OFFSET_MAX, Part, Scale, Sided, differs, read, switch, time, zero_or_one,
};
use super::section::Section;

/// Sets one option from its key and value.
type Setter = fn(&mut Section, &str, &str) -> Result<(), Refusal>;

/// Options that only job files have, or whose values have more meanings there than elsewhere.
const OWN: &[(&[&str], Setter)] = &[
    (&["rw", "readwrite"], |job, _, value| set_rw(job, value)),
    (&["bs", "blocksize"], |job, key, value| {
        job.bs = Some(Sided::parse(value, |one| job.bytes(key, one))?);
        Ok(())
    }),
    (&["bssplit"], |job, _, value| set_split(job, value)),
    (&["bsrange", "blocksize_range"], set_range),
    (&["ba", "blockalign"], |job, key, value| {
        let align = Sided::parse(value, |one| job.bytes(key, one))?.alike(key)?;
        put(&mut job.workload.blockalign, align)
    }),
    (&["thinktime_blocks"], |_, _, value| match value {
        "1" => Ok(()),
        _ => Err(Refusal::request(
            "drivelab pauses after every request; `thinktime_blocks` above 1 is not supported",
        )
        .hint("`thinktime` alone pauses after every request")),
    }),
    (&["rate"], |job, key, value| {
        let rate = Sided::parse(value, |one| job.bytes(key, one))?;
        put(&mut job.rate, rate)
    }),
    (&["rate_iops"], |job, key, value| {
        put(&mut job.rate_iops, Sided::parse(value, |one| count(job.base, key, one))?)
    }),
    (&["rate_process"], |job, _, value| match value {
        "poisson" => put(&mut job.workload.poisson, true),
        "linear" => put(&mut job.workload.poisson, false),
        _ => Err(Refusal::request("`rate_process` is `linear` or `poisson`")),
    }),
    (&["rwmixwrite"], |job, key, value| {
        put(&mut job.workload.rwmixread, 100_u32.saturating_sub(read(key, value)?))
    }),
    (&["percentage_random"], |job, key, value| {
        let sides = Sided::parse(value, |one| read(key, one.trim_end_matches('%')))?;
        put(&mut job.workload.percentage_random, sides.alike(key)?)
    }),
    (&["random_distribution"], zones::set_distribution),
    (&["zonemode"], |job, _, value| zones::set_mode(job, value)),
    (&["zonesize"], |job, key, value| {
        let size = job.bytes(key, value)?;
        put(&mut job.zones.size, size)
    }),
    (&["zonerange"], |job, key, value| {
        let range = job.bytes(key, value)?;
        put(&mut job.zones.range, range)
    }),
    (&["zoneskip"], |job, key, value| {
        let gap = job.bytes(key, value)?;
        put(&mut job.zones.gap, gap)
    }),
    (&["sync"], |job, _, value| set_sync(job, value)),
    (&["size"], |job, key, value| store(job.part(key, value)?, &mut job.extent.size)),
    (&["filesize"], |job, key, value| {
        let size = job.mean_size(key, value)?;
        put(&mut job.extent.filesize, size)
    }),
    (&["nrfiles", "nr_files"], |job, key, value| {
        store(count(job.base, key, value)?, &mut job.extent.files)
    }),
    (&["io_size", "io_limit"], |job, key, value| {
        store(job.part(key, value)?, &mut job.extent.io_size)
    }),
    (&["offset", "fileoffset"], |job, key, value| {
        store(job.part(key, value)?, &mut job.extent.offset)
    }),
    (&["offset_increment"], |job, key, value| match job.part(key, value)? {
        Some(Part::Bytes(bytes)) => put(&mut job.conduct.offset_increment, bytes),
        _ => Err(Refusal::request(format!("`{key}`: give bytes, not a percentage"))),
    }),
    (&["loops"], |job, key, value| store(count(job.base, key, value)?, &mut job.extent.loops)),
    (&["startdelay", "start_delay"], |job, key, value| {
        store(time(key, value, "s")?, &mut job.conduct.start_delay)
    }),
    (&["time_based"], |job, key, value| store(switch(key, value)?, &mut job.extent.time_based)),
    (&["end_fsync"], |job, key, value| store(zero_or_one(key, value)?, &mut job.conduct.end_fsync)),
    (&["fsync_on_close"], |job, key, value| {
        store(zero_or_one(key, value)?, &mut job.fsync_on_close)
    }),
    (&["flow"], |job, key, value| flow::set_weight(job, key, value)),
    (&["flow_id"], |job, key, value| store(count(job.base, key, value)?, &mut job.flow.id)),
    (&["flow_sleep"], |job, key, value| store(time(key, value, "us")?, &mut job.flow.sleep)),
    (&["lockfile"], |job, key, value| store(flow::lock(key, value)?, &mut job.conduct.lock)),
    (&["fill_device", "fill_fs"], |job, key, value| {
        store(zero_or_one(key, value)?, &mut job.extent.fills)
    }),
    (&["latency_target"], |job, key, value| {
        store(time(key, value, "us")?, &mut job.latency.target)
    }),
    (&["latency_window"], |job, key, value| {
        store(time(key, value, "us")?, &mut job.latency.window)
    }),
    (&["latency_percentile"], |job, key, value| {
        let percent: f64 = read(key, value.trim_end_matches('%'))?;
        if !(0.0..=100.0).contains(&percent) {
            let wrong = format!("`{key}`: `{value}` is not a percentage from 0 to 100");
            return Err(Refusal::request(wrong));
        }
        store(percent, &mut job.latency.percent)
    }),
    (&["latency_run"], |job, key, value| store(zero_or_one(key, value)?, &mut job.latency.endless)),
    (&["exitall"], |job, key, value| store(switch(key, value)?, &mut job.conduct.exit_all)),
    (&["stonewall", "wait_for_previous"], |job, key, value| {
        store(switch(key, value)?, &mut job.stonewall)
    }),
    (&["wait_for"], |job, _, value| put(&mut job.wait_for, value.to_owned())),
    (&["filename"], |job, _, value| {
        add_names(job, value);
        Ok(())
    }),
    (&["filename_format"], |job, _, value| put(&mut job.filename_format, value.to_owned())),
    (&["directory"], |job, _, value| put(&mut job.directory, value.to_owned())),
    (&["file_service_type"], |job, key, value| {
        job.in_sequence = value.starts_with("sequential");
        match value.split(':').next() {
            Some("sequential" | "roundrobin") => {}
            _ => job.note(key, "the parts of the file take turns"),
        }
        Ok(())
    }),
    (&["allow_file_create"], |job, key, value| {
        store(!zero_or_one(key, value)?, &mut job.no_create)
    }),
    (&["create_only"], |job, key, value| store(zero_or_one(key, value)?, &mut job.create_only)),
    (&["readonly"], |job, key, value| store(switch(key, value)?, &mut job.readonly)),
    (&["direct"], |job, key, value| store(zero_or_one(key, value)?, &mut job.direct)),
    (&["buffered"], |job, key, value| store(!zero_or_one(key, value)?, &mut job.direct)),
    (&["invalidate"], |job, key, value| {
        store(!zero_or_one(key, value)?, &mut job.conduct.keep_cache)
    }),
    (&["hipri"], |job, key, value| store(switch(key, value)?, &mut job.polling.completions)),
    (&["sqthread_poll"], |job, key, value| {
        store(switch(key, value)?, &mut job.polling.submissions)
    }),
    (&["ioengine"], |job, _, value| put_ioengine(job, value)),
    (&["numjobs"], |job, key, value| {
        let jobs = count(job.base, key, value)?;
        if !(1..=JOBS_MAX).contains(&jobs) {
            let wrong = format!("`numjobs`: {value} is not from 1 to {JOBS_MAX}");
            return Err(Refusal::request(wrong));
        }
        put(&mut job.numjobs, jobs)
    }),
    (&["randseed"], |job, key, value| put(&mut job.seed, read(key, value)?)),
    (&["verify"], |job, key, value| {
        job.verify = !matches!(value, "0" | "none" | "null");
        if job.verify {
            job.note(key, "what is written is labelled, and read back after the job");
        }
        Ok(())
    }),
    (&["do_verify"], |job, key, value| store(!zero_or_one(key, value)?, &mut job.no_verify)),
    (&["serialize_overlap"], |job, key, value| {
        store(zero_or_one(key, value)?, &mut job.no_overlap)
    }),
    (&["lockmem"], |job, key, value| {
        let locked = job.bytes(key, value)?;
        store(locked > Bytes::ZERO, &mut job.locks_memory)
    }),
    (&["kb_base"], |job, _, value| store(Base::read(value)?, &mut job.base)),
    (&["name"], |job, key, value| {
        if job.name.is_empty() {
            job.note(key, "name the section instead");
            return Ok(());
        }
        store(value.to_owned(), &mut job.name)
    }),
];

fn put<T>(slot: &mut Option<T>, value: T) -> Result<(), Refusal> {
    store(Some(value), slot)
}

#[expect(clippy::unnecessary_wraps, reason = "the last step of setters, which may fail before")]
fn store<T>(value: T, slot: &mut T) -> Result<(), Refusal> {
    *slot = value;
    Ok(())
}

/// Options that take no value on a command line.
const FLAGS: &[&str] = &[
    "time_based",
    "stonewall",
    "wait_for_previous",
    "thread",
    "group_reporting",
    "new_group",
    "exitall",
    "exitall_on_error",
    "norandommap",
    "fixedbufs",
    "registerfiles",
    "sqthread_poll",
    "hipri",
    "userspace_reap",
    "bs_unaligned",
    "blocksize_unaligned",
];

/// True if the option takes no value on a command line, unless one is joined to it.
pub(super) fn is_flag(key: &str) -> bool {
    FLAGS.contains(&key)
}

/// Every name that sets an option.
pub fn names() -> impl Iterator<Item = &'static str> {
    let spelled = OPTIONS.iter().filter(|option| option.fio.is_some());
    let spelled = spelled.flat_map(|option| std::iter::once(&option.name).chain(option.aliases));
    spelled.chain(OWN.iter().flat_map(|(names, _)| *names)).copied()
}

/// Sets one option.
pub(super) fn set(section: &mut Section, key: &str, value: &str) -> Result<(), Refusal> {
    let mut options = OPTIONS.iter();
    let spelled = options.find(|option| option.name == key || option.aliases.contains(&key));
    if let Some((option, spelling)) = spelled.and_then(|option| Some((option, option.fio?))) {
        return set_spelled(section, option.name, spelling, key, value);
    }
    if let Some((_, setter)) = OWN.iter().find(|(names, _)| names.contains(&key)) {
        return setter(section, key, value);
    }
    if let Some(why) = reason(WITHOUT_EFFECT, key) {
        section.note(key, why);
        return Ok(());
    }
    let off = matches!(value, "0" | "none");
    if let Some(why) = reason(CONTENT, key) {
        if !off {
            section.note(key, why);
        }
        return Ok(());
    }
    // `include FILE` has no equals sign.
    let key = key.split_whitespace().next().unwrap_or(key);
    if let Some(instead) = reason(REFUSED, key) {
        // An unsupported option that is switched off changes nothing.
        let refusal = Refusal::request(format!("`{key}` is an option that drivelab does not have"));
        return if off { Ok(()) } else { Err(refusal.hint(instead)) };
    }
    // Each of fio's engines has further options in addition to the common ones.
    let known = names().chain(keys(WITHOUT_EFFECT)).chain(keys(CONTENT)).chain(keys(REFUSED));
    let hint = match nearest(key, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "remove it if the job makes sense without it".to_owned(),
    };
    let message = format!("unknown option `{key}` (neither drivelab's nor a common fio option)");
    Err(Refusal::request(message).hint(hint))
}

/// Sets an option that differs from drivelab's only in its spelling.
fn set_spelled(
    section: &mut Section,
    name: &str,
    spelling: Spelling,
    key: &str,
    value: &str,
) -> Result<(), Refusal> {
    let value = match spelling {
        Spelling::Plain if name == "ss" => with_unit(value),
        Spelling::Plain => value.to_owned(),
        Spelling::Count => section.base.number(key, value)?.0.to_string(),
        Spelling::Time { unit } => time(key, value, unit)?.to_string(),
        Spelling::Switch => switch(key, value)?.to_string(),
    };
    let set = section.workload.set(name, &value);
    set.map_err(|wrong| Refusal::request(format!("`{key}`: {wrong}"))).map(|_| ())
}

/// A limit of latency as a time; fio's default unit is the microsecond.
fn with_unit(criterion: &str) -> String {
    let has_none =
        criterion.starts_with("lat") && criterion.ends_with(|c: char| c.is_ascii_digit());
    format!("{criterion}{}", if has_none { "us" } else { "" })
}

/// The names of files, which add to those of `[global]`. They are resolved when the section is
/// complete, because a directory may follow.
fn add_names(section: &mut Section, value: &str) {
    section.given.extend(super::names::split(value));
}

/// The kind of I/O; the number after the colon is the bytes that sequential I/O skips after each
/// block, backwards if it is negative.
fn set_rw(section: &mut Section, value: &str) -> Result<(), Refusal> {
    let (kind, skip) = value.split_once(':').unwrap_or((value, ""));
    let rw = Rw::from_name(kind)?;
    section.workload.rw = Some(rw);
    section.skip = None;
    if skip.is_empty() {
        return Ok(());
    }
    if rw.is_random() {
        let message = format!("`{value}` draws a new address only every {skip} requests");
        return Err(Refusal::request(message)
            .hint("`percentage_random=12` makes seven of eight requests sequential"));
    }
    let (bytes, backwards) = skip.strip_prefix('-').map_or((skip, false), |bytes| (bytes, true));
    section.skip = Some((section.bytes("rw", bytes)?, backwards));
    Ok(())
}

fn set_sync(section: &mut Section, value: &str) -> Result<(), Refusal> {
    section.workload.sync = Some(match value {
        "0" | "none" => false,
        "dsync" => true,
        "1" | "sync" => {
            section.note("sync", "writes use O_DSYNC; the file's times may lag behind");
            true
        }
        _ => return Err(Refusal::request("`sync` is `none`, `dsync` or `sync`")),
    });
    Ok(())
}

fn put_ioengine(section: &mut Section, value: &str) -> Result<(), Refusal> {
    section.ioengine = Some(match value {
        "io_uring" => "io_uring",
        "libaio" => "libaio",
        // Names that fio takes for it.
        name if name.starts_with("aio") || name.starts_with("linuxaio") => "libaio",
        "posixaio" | "io_uring_cmd" => {
            section.note("ioengine", "io_uring replaces it");
            "io_uring"
        }
        "psync" => "psync",
        "sync" | "vsync" => {
            section.note("ioengine", "psync replaces it: the offset is part of each call");
            "psync"
        }
        "pvsync" => "pvsync",
        "pvsync2" => "pvsync2",
        "null" => "null",
        _ => {
            return Err(Refusal::request(format!("unsupported ioengine `{value}`"))
                .hint("write `io_uring`, `libaio`, `psync`, `pvsync2` or `null`"));
        }
    });
    Ok(())
}

/// `4k/60:64k/40`; sizes without a percentage share the rest.
fn set_split(section: &mut Section, value: &str) -> Result<(), Refusal> {
    if value.contains(',') {
        return Err(Refusal::request(
            "separate `bssplit` lists for reads and writes are not supported",
        )
        .hint("give one list for both: `4k/60:64k/40`"));
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
        let wrong = format!("`bssplit`: the percentages add up to {given}, not 100");
        return Err(Refusal::request(wrong));
    }
    let split = BlockSizes::sharing(&sizes);
    let split = split.map_err(|wrong| Refusal::request(format!("`bssplit`: {wrong}")))?;
    put(&mut section.split, split)
}

/// `1k-64k`: every multiple of the smallest size equally often.
fn set_range(section: &mut Section, key: &str, value: &str) -> Result<(), Refusal> {
    let mut sides = value.split(',').filter(|side| !side.is_empty());
    let side = sides.next().unwrap_or("");
    if sides.any(|other| other != side) {
        return Err(differs(key));
    }
    let (least, most) = side.split_once(['-', ':']).unwrap_or((side, side));
    let (least, most) = (section.bytes(key, least)?, section.bytes(key, most)?);
    let range = BlockSizes::range(least, most);
    let range = range.map_err(|wrong| Refusal::request(format!("`{key}`: {wrong}")))?;
    if least == most {
        // One size: in fio it replaces even a split.
        section.split = None;
    }
    put(&mut section.range, range)
}

/// A number that may have a suffix, like all of fio's.
fn count<T: TryFrom<u64>>(base: Base, key: &str, value: &str) -> Result<T, Refusal> {
    let (number, _) = base.number(key, value)?;
    T::try_from(number).map_err(|_| Refusal::request(format!("`{key}`: {value} is too large")))
}

impl Section {
    /// A number of bytes; if thousands were counted, a note says so.
    fn bytes(&mut self, key: &str, value: &str) -> Result<Bytes, Refusal> {
        let (number, scale) = self.base.number(key, value)?;
        if number > OFFSET_MAX {
            let wrong = format!("`{key}`: {value} exceeds any file or device");
            return Err(Refusal::request(wrong));
        }
        let why = match scale {
            Scale::Expected => return Ok(Bytes::new(number)),
            Scale::SwappedToTen => "is a power of ten unless `kb_base` is 1000",
            Scale::WithoutB => "is a power of ten under `kb_base=1000`: only `iB` is one of two",
        };
        self.note(key, &format!("as in fio, `{value}` {why}"));
        Ok(Bytes::new(number))
    }

    /// The size of a file; of a range of sizes, from which fio draws one for each file, the mean.
    fn mean_size(&mut self, key: &str, value: &str) -> Result<Bytes, Refusal> {
        let Some((least, most)) = value.split_once(['-', ',', ':']) else {
            return self.bytes(key, value);
        };
        let (least, most) = (self.bytes(key, least)?.get(), self.bytes(key, most)?.get());
        if least > most {
            let wrong = format!("`{key}`: the range {value} ends before it begins");
            return Err(Refusal::request(wrong));
        }
        // In whole sectors, as every size of a file that is laid out.
        let mean = Bytes::new(u64::midpoint(least, most) / SECTOR_BYTES * SECTOR_BYTES);
        self.note(key, &format!("each file has the mean of the range, {mean}"));
        Ok(mean)
    }

    /// Bytes or a percentage; 100 % is equivalent to no value.
    fn part(&mut self, key: &str, value: &str) -> Result<Option<Part>, Refusal> {
        // Scripts for a batch file double the sign; fio reads the number before it.
        let percent = value.trim_end_matches('%');
        if percent == value {
            return Ok(Some(Part::Bytes(self.bytes(key, value)?)));
        }
        let percent: u64 = read(key, percent)?;
        if percent > 100 && key != "io_size" {
            return Err(Refusal::request(format!("`{key}`: {value} exceeds the maximum")));
        }
        Ok(if percent == 100 && key == "size" { None } else { Some(Part::Percent(percent)) })
    }

    /// A block size as whole sectors; if it is rounded up, a note says so.
    pub(super) fn whole_sectors(&mut self, asked: Bytes) -> Bytes {
        let whole = Bytes::new(asked.get().next_multiple_of(SECTOR_BYTES));
        if whole != asked {
            self.note("bs", &format!("{asked} bytes rounded up to whole sectors: {whole}"));
        }
        whole
    }
}
