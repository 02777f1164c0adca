//! The better direction of a metric, where its name says it.
//!
//! A direction is known or it is not: a name that does not say it is refused, because a wrong guess
//! turns every verdict round.

use drivelab_stats::Better;

use Better::{Less, More};

/// Names that words do not explain: what iostat, sar, fio, wrk and bonnie++ call things.
const NAMES_MORE: &str = "
    r/s w/s d/s f/s rkb/s wkb/s dkb/s rmb/s wmb/s rd_sec/s wr_sec/s bread/s bwrtn/s kb_read/s
    kb_wrtn/s transfer/sec rtps wtps bw_bytes ops scaling putc put_block rewrite getc get_block
    seeks seq_create seq_stat seq_del ran_create ran_stat ran_del";
/// The same, where neither direction is better as such.
const NAMES_NEITHER: &str = "%iowait avgqu-sz aqu-sz";

/// Rates: a name with one of these is a rate, regardless of its other words.
const RATES: &str = "
    iops tps qps rps eps bps kbps mbps gbps kibps mibps gibps throughput bandwidth bw speed
    goodput";

/// Waits: measured in time, and better when short.
const WAITS: &str = "
    lat latency latencies clat slat wait await svctm delay time runtime walltime wall elapsed
    duration response stall stalls rtt jitter";

/// Faults: fewer are better, also per second.
const FAULTS: &str = "
    err error errors errs fail failed failures retry retries retransmits timeout timeouts lost
    dropped drops aborted aborts reconnects corrupt corrupted torn";

/// Words with which a time or a rate is no measure of speed: no direction follows.
const NEITHER: &str = "
    idle uptime interval thinktime mtbf lifetime age between until free available remaining hit
    hits util";

/// Measures of scatter: less is better for a time; for a rate it says nothing on its own.
const SCATTER: &str = "stddev stdev dev deviation variance cv";

/// Statistics of a distribution.
const STATISTICS: &str = "avg average mean median min max total";

const TIMES: &str = "
    ns nsec nanoseconds us \u{b5}s \u{3bc}s usec usecs microseconds ms msec msecs milliseconds
    sec secs second seconds minutes hours";

const DATA: &str = "
    b byte bytes kb kib kbytes kbyte mb mib mbytes mbyte gb gib gbytes gbyte tb tib";

/// Things that are counted and worth counting, before `_s`: `reads_s` might be seconds.
const COUNTS: &str = "op ops io ios iops tps qps rps req txn";

/// The same, where `/s` or `per second` makes it a rate beyond doubt.
const WORK: &str = "
    operation operations reqs request requests transaction transactions trans query queries
    event events read reads write writes fsync fsyncs flushes row rows record records file files
    message messages msgs insert inserts update updates delete deletes commit commits seek seeks
    page pages block blocks sectors iterations";

/// Returns the better direction by the name alone; `None` where it does not say.
pub fn by_name(name: &str) -> Option<Better> {
    let lower = name.trim().to_lowercase();
    if is_one_of(&lower, NAMES_MORE) {
        return Some(More);
    }
    let words = split_words(name);
    if is_one_of(&lower, NAMES_NEITHER) || has_any(&words, NEITHER) {
        return None;
    }
    // Before rates: of errors per second less is better, too.
    if has_any(&words, FAULTS) {
        return Some(Less);
    }
    let is_wait = has_any(&words, WAITS) || is_time(name, &words);
    match (is_rate(&words)?, is_wait) {
        (true, true) => None,
        (true, false) => (!has_any(&words, SCATTER)).then_some(More),
        (false, true) => Some(Less),
        (false, false) => {
            let is_tail = words.iter().any(|word| is_quantile(word));
            (is_tail || has_any(&words, "cpu percentile")).then_some(Less)
        }
    }
}

/// True if a list of words separated by blanks has this one.
fn is_one_of(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// The words of a name in lower case, also of `RunTime` and `read_lat`; `/` is read as `per`.
fn split_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut spaced = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|it| letters[it]);
        let after = letters.get(index + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(char::is_lowercase)
            && after.is_some_and(|after| after.is_lowercase())
            // `kBps` and `MiBps` are units.
            && !name.contains("Bps");
        if begins {
            spaced.push(' ');
        }
        match letter {
            '/' => spaced.push_str(" per "),
            other if other.is_alphanumeric() => spaced.extend(other.to_lowercase()),
            _ => spaced.push(' '),
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// True if it counts something in a time; `None` if it does, but the thing it counts is not known.
fn is_rate(words: &[String]) -> Option<bool> {
    if words.iter().any(|word| is_one_of(word, RATES)) {
        return Some(true);
    }
    let per = words.iter().position(|word| word == "per");
    if let Some(index) = per {
        let in_time = words[index..].iter().any(|w| w == "s" || is_one_of(w, TIMES));
        let counts = words[..index].iter().any(|w| is_in_any(w, &[DATA, COUNTS, WORK]));
        return match (in_time, counts) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        };
    }
    let bare: Vec<&String> = words
        .iter()
        .filter(|word| !is_in_any(word, &[STATISTICS, SCATTER]) && !is_quantile(word))
        .collect();
    Some(match bare[..] {
        [.., what, unit] if unit == "s" || unit == "sec" => is_in_any(what, &[DATA, COUNTS]),
        _ => false,
    })
}

/// True if its unit is a time: `fsync_ms`, `fsync(s)`, `ns per op`; a mere `_s` says nothing.
fn is_time(name: &str, words: &[String]) -> bool {
    if let Some(index) = words.iter().position(|word| word == "per") {
        return index > 0 && (is_one_of(&words[index - 1], TIMES) || words[index - 1] == "s");
    }
    if is_rate(words) == Some(true) {
        return words.iter().any(|word| is_one_of(word, TIMES) && word != "sec" && word != "s");
    }
    let bracketed = ["(s)", "[s]"].iter().any(|unit| name.contains(unit));
    bracketed || has_any(words, TIMES)
}

/// `p99`, `p999`, `99th`: of what, is usually a latency.
fn is_quantile(word: &str) -> bool {
    let digits = word.strip_prefix('p').or_else(|| word.strip_suffix("th"));
    digits.is_some_and(|digits| {
        (2..=5).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit())
    })
}

fn has_any(words: &[String], list: &str) -> bool {
    words.iter().any(|word| is_one_of(word, list))
}

fn is_in_any(word: &str, lists: &[&str]) -> bool {
    lists.iter().any(|list| is_one_of(word, list))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the documentation: name, tool, and the direction taken or `refused`.
    const DOCUMENTED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/directions.md"));

    fn told(direction: Option<Better>) -> &'static str {
        match direction {
            Some(More) => "more",
            Some(Less) => "less",
            None => "refused",
        }
    }

    #[test]
    fn the_table_of_the_documentation_is_what_is_done() {
        let rows = DOCUMENTED.lines().filter(|line| line.starts_with("| `"));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, _tool, direction] = cells[..] else { panic!("{row}") };
            assert_eq!(told(by_name(name.trim_matches('`'))), direction, "{name}");
            count += 1;
        }
        assert!(count >= 40, "{count} names");
    }

    #[test]
    fn our_own_metrics_are_known() {
        let check = |name: &str, expected| assert_eq!(by_name(name), Some(expected), "{name}");
        for name in ["iops", "bytes_per_s", "scaling", "random-read-32.iops", "seeks", "put_block"]
        {
            check(name, More);
        }
        let times =
            ["lat_mean_ns", "read_lat_p99_ns", "flush_lat_p50_ns", "putc_cpu", "putc_latency"];
        for name in times {
            check(name, Less);
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for name in [
            "value",
            "gizmo",
            "",
            " ",
            "flat",
            "read_s",
            "reads_s",
            "boot_s",
            "throughput_ms",
            "iops_latency",
            "uptime_seconds",
            "iops_stddev",
            "widgets/s",
            "cswch/s",
            "score",
            "requests",
            "idle_ms",
            "s",
            "p1",
            "MB",
            "temperature",
            "\u{1f4be}",
            "per",
            "/s",
            "/",
        ] {
            assert_eq!(by_name(name), None, "{name}");
        }
    }

    #[test]
    fn faults_are_unwanted_however_they_are_counted() {
        for name in ["errors", "retries", "errors/s", "failed_tps", "timeouts per second"] {
            assert_eq!(by_name(name), Some(Less), "{name}");
        }
    }
}
