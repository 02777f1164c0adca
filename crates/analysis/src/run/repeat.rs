//! The command that makes a run again.

use drivelab_core::record::{RunConfig, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::workload::{Distribution, Pace, Workload};

/// The command line that makes the run again, without what no option of `drivelab run` can express.
pub fn command(record: &RunRecord) -> String {
    seeded(record, &record.config.seed.to_string())
}

/// The same in a loop over the shell's variable `block`, each of which has its own addresses.
pub(crate) fn command_of_block(record: &RunRecord) -> String {
    seeded(record, "$block")
}

fn seeded(record: &RunRecord, seed: &str) -> String {
    if let Some(command) = &record.config.command {
        return command.clone();
    }
    let mut words = vec!["drivelab run".to_owned(), quoted(&record.target)];
    words.extend(work(record));
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

/// The options of the load or the suite, without target and seed: runs that share them did the
/// same.
pub fn work(record: &RunRecord) -> Vec<String> {
    let RunConfig { suite, workload, numjobs, direct, .. } = &record.config;
    let mut words = Vec::new();
    if let Some(suite) = suite {
        words.push(format!("--suite {}", quoted(&suite.to_string())));
    }
    if let Some(workload) = workload {
        words.extend(options(workload));
        if *numjobs > 1 {
            words.push(format!("--numjobs {numjobs}"));
        }
        if !direct {
            words.push("--direct 0".to_owned());
        }
    }
    words
}

fn options(workload: &Workload) -> Vec<String> {
    let mut words = Words(vec![format!("--rw {}", workload.rw)]);
    let blocks = &workload.blocks;
    let one_size = blocks.sizes().count() == 1;
    words.option(if one_size { "bs" } else { "bssplit" }, Some(blocks.to_string()));
    if workload.rw.reads() && workload.rw.writes() {
        // The option takes the number without its sign.
        words.option(
            "rwmixread",
            Some(workload.read_share.to_string().trim_end_matches('%').to_owned()),
        );
    }
    match workload.pace {
        Pace::Closed { iodepth, think_time } => {
            words.option("iodepth", Some(iodepth.to_string()));
            words.option("thinktime", unless_no_time(think_time));
        }
        Pace::Fixed { per_s, iodepth } | Pace::Poisson { per_s, iodepth } => {
            words.option("iodepth", Some(iodepth.to_string()));
            words.option("rate-iops", Some(per_s.to_string()));
        }
        Pace::Slow { rate, iodepth, .. } => {
            words.option("iodepth", Some(iodepth.to_string()));
            words.option("rate", Some(rate.to_string()));
        }
    }
    let drawn = (workload.distribution != Distribution::Uniform).then_some(&workload.distribution);
    words.option("random-distribution", drawn.map(ToString::to_string));
    words.option("size", workload.size.map(|size| size.to_string()));
    words.option("offset", (workload.offset.get() > 0).then(|| workload.offset.to_string()));
    words.option("fsync", unless_zero(if workload.fdatasync { 0 } else { workload.fsync }));
    words.option("fdatasync", unless_zero(if workload.fdatasync { workload.fsync } else { 0 }));
    words.option("ramp-time", unless_no_time(workload.ramp_time));
    words.option("runtime", unless_no_time(workload.runtime));
    words.option("number-ios", workload.number_ios.map(|count| count.to_string()));
    for (is_set, name) in
        [(workload.sync, "sync"), (matches!(workload.pace, Pace::Poisson { .. }), "poisson")]
    {
        words.0.extend(is_set.then(|| format!("--{name}")));
    }
    words.0
}

/// A word of a POSIX shell.
pub fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c));
    if !word.is_empty() && is_plain {
        return word.to_owned();
    }
    // Between single quotes a shell reads everything as it is, except a quote.
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of a command line.
struct Words(Vec<String>);

impl Words {
    /// Appends an option with its value, if it has one.
    fn option(&mut self, name: &str, value: Option<String>) {
        self.0.extend(value.map(|value| format!("--{name} {}", quoted(&value))));
    }
}

fn unless_zero(count: u32) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

fn unless_no_time(span: Span) -> Option<String> {
    (!span.is_zero()).then(|| span.to_string())
}
