//! The work of runs of drivelab.

use super::{NOT_SET, SUITE, Work};
use crate::JobSchedule;
use crate::record::{RunConfig, RunRecord};
use crate::workload::{Pace, Workload};

/// The engine of a modelled drive: a property of the target, not of the work.
const VIRTUAL: &str = "virtual";

impl Work {
    /// The work of a run of drivelab.
    pub fn of(record: &RunRecord) -> Self {
        work(record)
    }

    /// The work of one job of a load.
    pub fn of_load(load: &Workload) -> Self {
        let mut work = Self::default();
        of_load(&mut work, load);
        work
    }
}

fn work(record: &RunRecord) -> Work {
    let config = &record.config;
    let mut work = Work::default();
    if let Some(load) = &config.workload {
        of_load(&mut work, load);
        of_jobs(&mut work, config);
    }
    if let Some(suite) = &config.suite {
        work.set("suite", &suite.name);
        for (key, value) in &suite.options {
            work.set(&format!("{SUITE}{key}"), value);
        }
    }
    if let Some(command) = &config.command {
        work.set("command", of_any_run(command, record));
    }
    let file_system = record.attached.as_ref().and_then(|it| it.machine.get("file_system"));
    if let Some(name) = file_system {
        work.set("filesystem", name);
    }
    work.add("", &config.work);
    work
}

/// Sets everything that a load is, and what it is not: all loads have the same keys, so that
/// what one leaves out is known to differ. Only the region may depend on the target.
fn of_load(work: &mut Work, load: &Workload) {
    work.set("rw", load.rw);
    work.set("bs", &load.blocks);
    if load.rw.reads() && load.rw.writes() {
        work.set("rwmixread", load.read_share.to_string().trim_end_matches('%'));
    }
    let (think_time, rate, process) = match load.pace {
        Pace::Closed { think_time, .. } => (think_time.to_string(), None, "linear"),
        Pace::Fixed { per_s, .. } => ("0s".to_owned(), Some(per_s.to_string()), "linear"),
        Pace::Poisson { per_s, .. } => ("0s".to_owned(), Some(per_s.to_string()), "poisson"),
        Pace::Slow { rate, block, .. } => {
            ("0s".to_owned(), Some(format!("{}/{}", rate.get(), block.get())), "linear")
        }
    };
    work.set("iodepth", load.pace.iodepth());
    work.set("thinktime", think_time);
    work.set("rate_iops", or_none(rate));
    work.set("rate_process", process);
    if load.rw.is_random() {
        work.set("random_distribution", &load.distribution);
        work.set("percentage_random", load.random_share.to_string().trim_end_matches('%'));
        work.set_switch("norandommap", !load.each_once);
        // The default follows the block size, and is no difference by itself.
        work.set("blockalign", or_none(load.blockalign));
    } else {
        work.set("stride", or_none(load.stride));
        work.set("streams", load.streams);
        work.set_switch("backwards", load.backwards);
        work.set_switch("own_cursors", load.own_cursors);
    }
    work.set("strided", or_none(load.strided));
    work.set("offset", load.offset);
    if let Some(size) = load.size {
        work.set("size", size);
    }
    // One number here and two options in fio: the other one is known to be 0.
    work.set("fsync", if load.fdatasync { 0 } else { load.fsync });
    work.set("fdatasync", if load.fdatasync { load.fsync } else { 0 });
    work.set_switch("sync", load.sync);
    work.set("runtime", load.runtime);
    work.set("ramp_time", load.ramp_time);
    work.set("number_ios", or_none(load.number_ios));
    work.set("ss", or_none(load.steady.map(|steady| steady.criterion)));
    let batches = load.batches;
    work.set("iodepth_batch_submit", or_none(batches.submit));
    work.set("iodepth_batch_complete_min", batches.complete_min);
    work.set("iodepth_batch_complete_max", or_none(batches.complete_max));
}

/// Sets the number of jobs, and their way of doing I/O.
fn of_jobs(work: &mut Work, config: &RunConfig) {
    let JobSchedule {
        start_delay,
        offset_increment,
        end_fsync,
        keep_cache,
        exit_all,
        flow,
        latency,
        lock,
    } = config.conduct;
    work.set("numjobs", config.numjobs);
    work.set_switch("direct", config.direct);
    if config.ioengine != VIRTUAL {
        work.set("ioengine", &config.ioengine);
    }
    for option in ["hipri", "sqthread_poll"] {
        work.set_switch(option, config.polling.iter().any(|set| set == option));
    }
    work.set("startdelay", start_delay);
    work.set("offset_increment", or_none(offset_increment));
    work.set_switch("end_fsync", end_fsync);
    work.set_switch("invalidate", !keep_cache);
    work.set_switch("exitall", exit_all);
    work.set("flow", or_none(flow.map(|share| share.weight)));
    work.set("flow_id", or_none(flow.map(|share| share.id)));
    work.set("flow_sleep", or_none(flow.map(|share| share.sleep)));
    work.set("latency_target", or_none(latency.map(|goal| goal.target)));
    work.set("latency_window", or_none(latency.map(|goal| goal.window)));
    work.set("latency_percentile", or_none(latency.map(|goal| goal.share)));
    work.set("lockfile", lock);
}

fn or_none(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| NOT_SET.to_owned(), |value| value.to_string())
}

/// A command without the target and the seed that it was filled with, which differ between runs of
/// the same work.
fn of_any_run(command: &str, record: &RunRecord) -> String {
    let seed = record.config.seed.to_string();
    let mut text = command.to_owned();
    // A target of one letter may be a part of any word.
    if record.target.len() > 1 {
        text = text.replace(&record.target, "{target}");
    }
    whole_words(&text, &seed, "{seed}")
}

/// The text with each number `word` replaced, except within another number or name.
fn whole_words(text: &str, word: &str, by: &str) -> String {
    debug_assert!(!word.is_empty(), "an empty word is found without end");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let behind = &found[word.len()..];
        let is_whole = !before.ends_with(is_part) && !behind.starts_with(is_part);
        out.push_str(before);
        out.push_str(if is_whole { by } else { word });
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SuiteConfig;
    use crate::record::same_work::differences;

    fn today() -> RunRecord {
        serde_json::from_str(include_str!("../../../tests/records/today.json")).unwrap()
    }

    fn differing(one: &RunRecord, other: &RunRecord) -> Vec<String> {
        let (one, other) = (Work::of(one), Work::of(other));
        let found = differences(&[vec![&one], vec![&other]]);
        let between = found.into_iter().filter(|it| it.is_between((0, 1)));
        between.map(|it| format!("{} {} {}", it.key, it.shown(0), it.shown(1))).collect()
    }

    #[test]
    fn each_setting_of_a_load_is_a_key() {
        let first = today();
        let check = |change: fn(&mut RunRecord), expected: &[&str]| {
            let mut other = first.clone();
            change(&mut other);
            assert_eq!(differing(&first, &other), expected);
        };
        check(|_| (), &[]);
        check(|it| it.config.seed += 1, &[]);
        check(|it| it.target = "other".into(), &[]);
        check(|it| it.config.numjobs = 4, &["numjobs 1 4"]);
        check(|it| it.config.direct = !it.config.direct, &["direct 1 0"]);
        check(|it| it.config.conduct.end_fsync = true, &["end_fsync 0 1"]);
        let larger = |it: &mut RunRecord| {
            let load = it.config.workload.as_mut().unwrap();
            load.blocks = "256k".parse().unwrap();
        };
        let bs = first.config.workload.as_ref().unwrap().blocks.to_string();
        check(larger, &[&format!("bs {bs} 256k")]);
        let load = |it: &mut RunRecord, change: fn(&mut Workload)| {
            change(it.config.workload.as_mut().unwrap());
        };
        let mut other = first.clone();
        load(&mut other, |load| load.number_ios = Some(77));
        let expected = or_none(first.config.workload.as_ref().unwrap().number_ios);
        assert_eq!(differing(&first, &other), [format!("number_ios {expected} 77")]);
    }

    #[test]
    fn a_modelled_drive_is_no_other_work_than_a_real_one() {
        let (mut real, mut modelled) = (today(), today());
        real.config.ioengine = "io_uring".into();
        modelled.config.ioengine = VIRTUAL.into();
        assert_eq!(differing(&real, &modelled), Vec::<String>::new());
    }

    #[test]
    fn options_of_a_suite_are_keys_and_its_effective_ones_replace_them() {
        let with = |options: &[(&str, &str)], work: &[(&str, &str)]| {
            let mut record = today();
            record.config.workload = None;
            let options = options.iter().map(|(key, value)| ((*key).into(), (*value).into()));
            let options = options.collect();
            record.config.suite = Some(SuiteConfig { name: "fsmark".into(), options });
            for (key, value) in work {
                record.config.work.set(key, value);
            }
            record
        };
        let one = with(&[], &[("suite.threads", "1"), ("suite.size", "50k")]);
        let same = with(&[("size", "51200")], &[("suite.threads", "1"), ("suite.size", "50k")]);
        let four = with(&[("threads", "4")], &[("suite.threads", "4"), ("suite.size", "50k")]);
        assert_eq!(differing(&one, &same), Vec::<String>::new());
        assert_eq!(differing(&one, &four), ["suite.threads 1 4"]);
    }

    #[test]
    fn a_command_is_the_same_with_any_target_and_seed() {
        let with = |target: &str, seed: u64, command: &str| {
            let mut record = today();
            record.config.workload = None;
            (record.target, record.config.seed) = (target.into(), seed);
            record.config.command = Some(command.into());
            record
        };
        let one = with("/mnt/a", 7, "pgbench -c 17 --seed 7 /mnt/a");
        let two = with("/mnt/b", 8, "pgbench -c 17 --seed 8 /mnt/b");
        let other = with("/mnt/b", 8, "pgbench -c 32 --seed 8 /mnt/b");
        assert_eq!(differing(&one, &two), Vec::<String>::new());
        assert_eq!(differing(&one, &other).len(), 1);
    }
}
