//! Tables in the form of `fs_mark` 3.3.

use super::*;
use drivelab_core::record::{Figure, Nature};

const RUN: &str = "
#  fs_mark  -d  scratch  -n  200  -s  65536  -L  2
#\tVersion 3.3, 1 thread(s) starting at Sun Nov 22 23:15:34 2026
#\tSync method: INBAND FSYNC: fsync() per file in write loop.
#\tDirectories:  no subdirectories used

FSUse%        Count         Size    Files/sec     App Overhead
    72          200        65536        168.4             3613
    72          400        65536        171.2             3590
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

fn labels(text: &str) -> Vec<Label> {
    let imported = parse(text).unwrap();
    metrics(&imported)[0].remarks.iter().map(|remark| remark.label).collect()
}

#[test]
fn each_row_is_a_run() {
    let imported = parse(RUN).unwrap();
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("fs_mark", "3.3"));
    let found: Vec<_> = metrics(&imported).into_iter().map(|f| (f.name, f.value)).collect();
    let rate = |value| ("files_65536b".to_owned(), value);
    let overhead = |value| ("files_65536b_app_overhead".to_owned(), value);
    assert_eq!(found, [rate(168.4), overhead(3613.0), rate(171.2), overhead(3590.0)]);
    assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [7, 7]);
    assert_eq!(imported.unknown, Vec::<String>::new());
}

#[test]
fn the_sync_method_and_the_threads_are_labels() {
    assert_eq!(labels(RUN), [Label::Nature(Nature::JournalSync)]);
    let none = RUN.replace("INBAND FSYNC: fsync() per file in write loop.", "NO SYNC: none");
    assert_eq!(labels(&none), [Label::Nature(Nature::PageCache)]);
    let threads = RUN.replace("1 thread(s)", "4 thread(s)");
    assert_eq!(labels(&threads), [Label::Nature(Nature::JournalSync), Label::ToolDefect]);
}

#[test]
fn verbose_rows_have_the_times_of_calls() {
    let calls: Vec<String> = (1..=18).map(|n| n.to_string()).collect();
    let imported = parse(&RUN.replace("3613", &format!("3613 {}", calls.join(" ")))).unwrap();
    let metrics = metrics(&imported);
    let value = |name: &str| metrics.iter().find(|f| f.name == name).map(|f| f.value);
    assert_eq!(value("files_65536b_creat_min"), Some(1.0));
    assert_eq!(value("files_65536b_fsync_avg"), Some(8.0));
    assert_eq!(value("files_65536b_unlink_max"), Some(18.0));
}

#[test]
fn damage_is_named_with_its_line() {
    let check = |text: &str, expected: &str| {
        // Only the first row: another one would be read.
        let text = text.split("    72          400").next().unwrap();
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(&RUN.replace("168.4", "16x.4"), "line 8: `16x.4` is not a number; check whether");
    check(&RUN.replace("3613", ""), "line 8: there are 4 columns, but `fs_mark` writes 5, or 23");
    check(&RUN[..RUN.find("    72").unwrap()], "it contains no results of fs_mark; give");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..500_usize, cut in 0..30_usize, put in "[0-9.#, a-z:\n]{0,8}") {
        let mut text = RUN.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = parse(&text);
    }
}

fn is_row(line: &str) -> bool {
    line.starts_with("    72")
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    let wrong = crate::found::damage::misread(RUN, is_row, parse);
    assert!(wrong.is_empty(), "{wrong:?}");
    let imported = parse(&RUN.replace("             3590", "      35")).unwrap();
    assert_eq!((imported.runs.len(), imported.unknown.len()), (1, 1), "{imported:?}");
}
