//! A guess at a text that no reader knows.

use drivelab_core::csv::quote;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Characters of a text that are looked at: a tool shows itself at its beginning.
const BEGINNING: usize = 1 << 16;
/// Keys of JSON that are named.
const KEYS_MAX: usize = 5;

/// Tools whose output is not read, by words that they write.
const TOOLS: [(&str, &str); 14] = [
    ("IO500 version", "the output of IO500"),
    ("Filebench Version", "the output of filebench without its line `IO Summary`"),
    ("Total time run:", "the output of `rados bench`"),
    ("[OVERALL], RunTime(ms)", "the output of YCSB"),
    ("AmorphousDiskMark", "the output of AmorphousDiskMark"),
    ("ATTO Disk Benchmark", "the output of ATTO Disk Benchmark"),
    ("phoronix-test-suite ", "commands of the Phoronix Test Suite; give its `composite.xml`"),
    ("Running: Storage Assessment", "the output of winsat"),
    ("[CPU]User%", "the output of collectl"),
    ("SlaveJvm", "the log of a slave of vdbench; give its `totals.html` or `summary.html`"),
    ("response time histogram", "a histogram of vdbench; give its `totals.html` or `summary.html`"),
    ("HammerDB", "the output of HammerDB"),
    ("# HELP ", OTHER_METRICS),
    ("_bucket{", OTHER_METRICS),
];

const OTHER_METRICS: &str = "metrics of Prometheus, but without a histogram of times of a disk, such as \
                             `NAME_fsync_duration_seconds_bucket`";

/// Compressed files: how they begin as text that was made of bytes, the name of the format, and the
/// program that prints what is inside.
const COMPRESSED: [(&str, &str, &str); 5] = [
    ("\u{1f}\u{fffd}", "gzip", "zcat"),
    ("BZh", "bzip2", "bzcat"),
    ("\u{fffd}7zXZ", "xz", "xzcat"),
    ("(\u{fffd}/\u{fffd}", "zstd", "zstdcat"),
    ("PK\u{3}\u{4}", "zip", "unzip -p"),
];

/// The format of a compressed file, and the program that prints what is inside.
pub(crate) fn compressed(text: &str) -> Option<(&'static str, &'static str)> {
    let (_, name, program) = COMPRESSED.iter().find(|(begin, ..)| text.starts_with(begin))?;
    Some((name, program))
}

/// The likely kind of a text, in words.
pub(crate) fn seems(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let begin = text.char_indices().nth(BEGINNING).map_or(text, |(end, _)| &text[..end]);
    if text.starts_with(['{', '[']) {
        // Only the beginning of a damaged document is known, so its keys are not.
        if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            return Some(json(text, begin));
        }
        if begin.contains("\":") {
            return Some("JSON that is damaged or incomplete".to_owned());
        }
    }
    // vdbench's HTML has only `<pre>` and links: its words say more than its markup.
    if let Some((_, tool)) = TOOLS.iter().find(|(words, _)| begin.contains(words)) {
        return Some((*tool).to_owned());
    }
    if begin.starts_with('<') {
        return Some(markup(begin));
    }
    let first = begin.lines().next().unwrap_or_default().trim();
    if is_command(first) {
        return Some(format!("what a shell printed for {}", quote(first)));
    }
    let commas = first.matches(',').count();
    let is_table = commas > 0 && begin.lines().take(5).all(|it| it.matches(',').count() == commas);
    is_table.then(|| "a table of values separated by commas".to_owned())
}

fn json(text: &str, begin: &str) -> String {
    // A tree of a large document would take several times its size.
    let keys = if begin.len() == text.len() { keys(text) } else { String::new() };
    if keys.is_empty() { "JSON of another tool".to_owned() } else { format!("JSON with {keys}") }
}

/// The keys of the document, or of the first item of its list.
fn keys(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let first = value.as_array().and_then(|list| list.first());
    let Some(object) = first.unwrap_or(&value).as_object() else { return String::new() };
    let names: Vec<String> = object.keys().take(KEYS_MAX).map(|key| quote(key)).collect();
    let more = if object.len() > KEYS_MAX { ", ..." } else { "" };
    let what = if object.len() == 1 { "the key" } else { "the keys" };
    if names.is_empty() { String::new() } else { format!("{what} {}{more}", names.join(", ")) }
}

fn markup(begin: &str) -> String {
    let lower = begin.to_lowercase();
    if lower.starts_with("<!doctype html") || lower.contains("<html") {
        return "a web page; copy the tool's output from it".to_owned();
    }
    let names = begin.split('<').skip(1);
    let mut names = names.filter(|it| it.starts_with(|c: char| c.is_ascii_alphabetic()));
    let root = names.next().unwrap_or_default();
    let root = root.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next();
    format!("XML of {}", quote(&format!("<{}>", root.unwrap_or_default())))
}

/// True for a command of a benchmark: its result is missing.
fn is_command(line: &str) -> bool {
    const COMMANDS: [&str; 12] = [
        "dd ",
        "fio ",
        "hdparm ",
        "ioping ",
        "sysbench ",
        "iozone ",
        "pgbench ",
        "iostat ",
        "vmstat ",
        "filebench ",
        "diskspd ",
        "wrk ",
    ];
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    COMMANDS.iter().any(|command| line.starts_with(command))
}

#[cfg(test)]
mod tests {
    use super::seems;

    #[test]
    fn a_text_is_named_by_what_it_looks_like() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(seems(text).as_deref(), expected, "{text}");
        };
        check("{\"version\": 1, \"fio\": []}", Some("JSON with the keys `fio`, `version`"));
        check("[{\"a\": 1}, 2]", Some("JSON with the key `a`"));
        check("[1, 2]", Some("JSON of another tool"));
        check("{\"a\": [1, ", Some("JSON that is damaged or incomplete"));
        check("<?xml version=\"1.0\"?>\n<a:b c=\"d\">", Some("XML of `<a:b>`"));
        check("<!DOCTYPE html><p>", Some("a web page; copy the tool's output from it"));
        let histogram = "<pre>\nwd=a response time histogram.\n";
        let what = "a histogram of vdbench; give its `totals.html` or `summary.html`";
        check(histogram, Some(what));
        check("Total time run:  10.0\n", Some("the output of `rados bench`"));
        check("sudo dd if=x\n", Some("what a shell printed for `sudo dd if=x`"));
        check("a,b\n1,2\n", Some("a table of values separated by commas"));
        check("hello\n", None);
        check("", None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, json in "[\\[\\]{}\":,a1<> ]{0,40}") {
            seems(&text);
            seems(&json);
        }
    }
}
