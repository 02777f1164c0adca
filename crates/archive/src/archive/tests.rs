mod digests;
mod distrusted;
#[cfg(feature = "postgres")]
mod server;

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use drivelab_core::Invalid;
use drivelab_core::record::{Better, Figure, KeptFigure, Origin, RUN_SCHEMA, RunRecord};
use rusqlite::Connection;

use super::*;
use crate::entry::{Columns, Digest, Digested, Position, Shown, Whole};
use crate::filter::Filter;
use crate::query::Query;
use crate::store::Row;

const RECORD: &str = include_str!("../../../core/tests/records/today.json");

fn entry(number: u32) -> Entry {
    let record: RunRecord = serde_json::from_str(RECORD).unwrap();
    let record = RunRecord { label: Some(format!("label-{number}")), ..record };
    Entry {
        id: RunId::new(1_000 * u64::from(number), u128::from(number)),
        time_ms: 1_000 * u64::from(number),
        origin: Origin::Run,
        target: record.target.clone(),
        host: Some("0123456789abcdef".into()),
        devices: vec!["dm-0".into(), "sda".into()],
        drive: Some("seagate-st31000333as".into()),
        suite: None,
        label: record.label.clone(),
        tags: vec!["nightly".into()],
        commit: Some(format!("c0ffee{number}")),
        position: None,
        spark: "▁▂▃".into(),
        figures: vec![
            Figure::new("iops", 70.0 + f64::from(number), Better::More),
            Figure::new("lat_p99_ns", 28e6, Better::Less),
        ],
        digest: Some(digest(number)),
        document: serde_json::to_string(&record).unwrap(),
    }
}

fn digest(number: u32) -> Digest {
    Digest {
        common: Arc::from(format!("{{\"alike\":{}}}", number % 2)),
        ended_unix_s: Some(u64::from(number)),
        seed: u64::MAX - u64::from(number),
        content: u128::MAX - u128::from(number),
        flaws: number.is_multiple_of(2).then(|| "[]".to_owned()),
        values: vec![70.0 + f64::from(number), f64::INFINITY],
    }
}

fn part(number: u32, whole: u32) -> Entry {
    let (arm, task) = ("ahci".into(), "read".into());
    let json = format!("{{\"number\":{number}}}");
    let position = Position { whole: entry(whole).id, block: 0, arm, task, json };
    Entry { position: Some(position), label: None, tags: Vec::new(), ..entry(number) }
}

fn whole(number: u32) -> Whole {
    let Entry { id, time_ms, origin, label, document, .. } = entry(number);
    Whole { id, time_ms, origin, label, document, parts: Vec::new() }
}

fn only(label: &str) -> Filter {
    Filter { label: Some(label.into()), ..Filter::default() }
}

/// The columns of an [`entry`], which its label names; none of any other document.
fn read_back(document: &str, _: bool) -> Result<Option<Columns>, Invalid> {
    let value: serde_json::Value = serde_json::from_str(document).map_err(Invalid::new)?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        None => return Err("it has no `schema`".into()),
        Some(RUN_SCHEMA) => {}
        Some(_) => return Ok(None),
    }
    let record: RunRecord = serde_json::from_value(value).map_err(Invalid::new)?;
    let number = record.label.and_then(|label| label.strip_prefix("label-")?.parse().ok());
    Ok(number.map(|number| {
        let Entry { target, host, devices, drive, suite, figures, digest, .. } = entry(number);
        Columns { target, host, devices, drive, suite, figures, digest }
    }))
}

/// Takes any whole for one that reads back.
#[expect(clippy::unnecessary_wraps, reason = "a check that finds nothing")]
fn fine(_: &Whole) -> Result<(), Invalid> {
    Ok(())
}

fn merged(added: u64, present: u64) -> Merged {
    Merged { added, present, ..Merged::default() }
}

fn figure(name: &str, value: f64) -> KeptFigure {
    KeptFigure { name: name.into(), value, unit: String::new() }
}

/// Waits for as long as it takes.
const WAITS: Patience = Patience::same(|_| {
    std::thread::yield_now();
    true
});

fn archive() -> (tempfile::TempDir, Archive) {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(&folder.path().join("runs.db"), WAITS).unwrap();
    (folder, archive)
}

/// Opens the archive at `location`.
fn open(location: &Path) -> Archive {
    Archive::open(location, WAITS).unwrap()
}

/// Runs a test with an empty archive of each kind.
fn with_each_kind(test: impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    test(&folder.path().join("runs.db"));
    #[cfg(feature = "postgres")]
    if server::is_there() {
        test(&server::database());
    }
}

fn sql(archive: &Archive, text: &str) -> Vec<Row> {
    archive.store.borrow_mut().rows(text, &[]).unwrap()
}

#[test]
fn what_is_kept_is_found_as_it_was() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2)]).unwrap();
        drop(archive);
        let archive = open(location);
        let kept = archive.list(&Filter::default()).unwrap().runs;
        assert_eq!(kept.iter().map(|run| run.time_ms).collect::<Vec<_>>(), [1_000, 2_000]);
        assert_eq!(kept[0].figure, Some(figure("iops", 71.0)));
        assert_eq!(kept[0].spark, "▁▂▃");
        assert_eq!((kept[0].commit.as_deref(), kept[0].parts), (Some("c0ffee1"), 0));
        assert_eq!(kept[1].tags, ["nightly"]);
        assert_eq!(archive.whole(archive.find(&kept[1].id).unwrap()).unwrap(), whole(2));
    });
}

#[test]
fn runs_are_named_by_label_tag_time_or_the_beginning_of_an_id() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2)]).unwrap();
        let of = |text: &str| -> Result<Vec<Whole>, ArchiveError> {
            let (query, mut found) = (Query::read(text, 1_500).unwrap().unwrap(), Vec::new());
            query.each(&archive, text, Detail::All, |whole| {
                found.push(whole);
                Ok::<_, ArchiveError>(())
            })?;
            Ok(found)
        };
        let check = |text: &str, expected: &[u32]| {
            let expected: Vec<Whole> = expected.iter().map(|it| whole(*it)).collect();
            assert_eq!(of(text).unwrap(), expected, "{text}");
        };
        check("label:label-2", &[2]);
        check("label:nightly", &[1, 2]);
        check("@today,commit=c0ffee2", &[2]);
        check("@1970-01-01,label=nightly,device=dm-0", &[1, 2]);
        check(&entry(1).id.to_string(), &[1]);
        for text in ["label:none", "label:", "0ZZZ", "@yesterday", "@today,device=sdb"] {
            let error = of(text).unwrap_err();
            assert!(matches!(error, ArchiveError::NoSuchRun(_)), "{text}: {error}");
        }
    });
}

#[test]
fn parts_belong_to_their_whole_and_go_with_it() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), part(3, 1), part(2, 1), entry(4)]).unwrap();
        let listed = archive.list(&Filter::default()).unwrap().runs;
        let ids: Vec<&str> = listed.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, [entry(1).id.to_string(), entry(4).id.to_string()]);
        assert_eq!(listed.iter().map(|run| run.parts).collect::<Vec<_>>(), [2, 0]);
        let parts_of = Filter { parts_of: Some(entry(1).id), ..Filter::default() };
        assert_eq!(archive.list(&parts_of).unwrap().runs.len(), 2);
        let found = archive.whole(entry(1).id).unwrap();
        let positions: Vec<&str> = found.parts.iter().map(|it| it.position.as_str()).collect();
        assert_eq!(positions, ["{\"number\":2}", "{\"number\":3}"]);
        assert_eq!(found.parts[1].document, entry(3).document);
        assert_eq!(archive.find(&entry(3).id.to_string()).unwrap(), entry(3).id);
        archive.delete(&[entry(1).id]).unwrap();
        assert_eq!(
            archive.check(&read_back, &fine).unwrap(),
            Checked { whole: 1, damage: Vec::new() }
        );
        assert!(archive.list(&parts_of).unwrap().runs.is_empty());
    });
}

#[test]
fn a_document_that_is_there_is_not_kept_again() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep_new(&[entry(1), part(3, 1)]).unwrap();
        let again = |number| Entry { id: entry(number).id, time_ms: 9_000, ..entry(1) };
        let merged = archive.keep_new(&[again(5), part(6, 5), entry(2)]).unwrap();
        assert_eq!((merged.added, merged.present), (1, 1));
        assert_eq!(merged.there, [entry(1).id]);
        assert_eq!(archive.list(&Filter::default()).unwrap().runs.len(), 2);
        assert_eq!(
            archive.check(&read_back, &fine).unwrap().whole,
            3,
            "the part of what is there is not added"
        );
    });
}

#[test]
fn filters_hold_together_and_take_text_as_text() {
    with_each_kind(|location| {
        let mut archive = open(location);
        let odd = Entry { drive: Some("100%_'; DROP TABLE runs".into()), ..entry(3) };
        archive.keep(&[entry(1), entry(2), odd]).unwrap();
        let check = |filter: Filter, expected: &[u64]| {
            let kept = archive.list(&filter).unwrap().runs;
            assert_eq!(kept.iter().map(|run| run.time_ms / 1_000).collect::<Vec<_>>(), expected);
        };
        let text = |text: &str| Some(text.to_owned());
        check(Filter { label: text("label-2"), ..Filter::default() }, &[2]);
        check(Filter { label: text("nightly"), ..Filter::default() }, &[1, 2, 3]);
        check(Filter { drive: text("st31000"), ..Filter::default() }, &[1, 2]);
        check(Filter { drive: text("0%_';"), ..Filter::default() }, &[3]);
        check(Filter { drive: text("%"), ..Filter::default() }, &[3]);
        check(Filter { target: text("dm-0"), ..Filter::default() }, &[1, 2, 3]);
        check(Filter { commit: text("c0ffee2"), ..Filter::default() }, &[2]);
        check(Filter { commit: text("c0ff"), ..Filter::default() }, &[1, 2, 3]);
        check(Filter { commit: text("ffee"), ..Filter::default() }, &[]);
        check(Filter { host: text("0123"), ..Filter::default() }, &[1, 2, 3]);
        check(Filter { host: text("0124"), ..Filter::default() }, &[]);
        check(Filter { metric: text("iops"), since_ms: Some(2_000), ..Filter::default() }, &[2, 3]);
        check(Filter { metric: text("nothing"), ..Filter::default() }, &[]);
        check(Filter { until_ms: Some(2_000), ..Filter::default() }, &[1]);
        check(Filter { latest: Some(2), ..Filter::default() }, &[2, 3]);
        let shown =
            archive.list(&Filter { metric: text("lat_p99_ns"), ..Filter::default() }).unwrap().runs;
        assert_eq!(shown[0].figure, Some(figure("lat_p99_ns", 28e6)));
    });
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2)]).unwrap();
        let id = entry(2).id.to_string();
        assert_eq!(archive.find(&id.to_lowercase()).unwrap(), entry(2).id);
        let Err(ArchiveError::Ambiguous { count, first, .. }) = archive.find("0000") else {
            panic!("both ids begin so");
        };
        assert_eq!((count, first.len()), (2, 2));
        assert!(first[1].starts_with(&id) && first[1].ends_with(", label-2)"), "{first:?}");
        for short in ["", "0", "000"] {
            let refused = archive.find(short).unwrap_err();
            assert!(matches!(refused, ArchiveError::TooShort { least: 4, .. }), "{refused}");
        }
        for none in ["ZZZZ", "0'; DROP TABLE runs", "~~~~"] {
            assert!(matches!(archive.find(none), Err(ArchiveError::NoSuchRun(_))), "{none}");
        }
    });
}

#[test]
fn names_change_and_runs_go_all_or_none() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2)]).unwrap();
        let (one, two, none) = (entry(1).id, entry(2).id, entry(3).id);
        archive.label(&[one, two], Some("before")).unwrap();
        assert!(matches!(archive.label(&[one, none], None), Err(ArchiveError::NoSuchRun(_))));
        assert!(matches!(archive.delete(&[one, none]), Err(ArchiveError::NoSuchRun(_))));
        let before = Filter { label: Some("before".into()), ..Filter::default() };
        assert_eq!(archive.list(&before).unwrap().runs.len(), 2);
        archive.delete(&[one]).unwrap();
        assert_eq!(archive.list(&before).unwrap().runs.len(), 1);
        let left: i64 = sql(&archive, "SELECT count(*) FROM figures")[0].get(0).unwrap();
        assert_eq!(left, 2, "figures go with their run");
    });
}

#[test]
fn runs_are_kept_all_or_none() {
    with_each_kind(|location| {
        let mut archive = open(location);
        let mut odd = entry(2);
        odd.figures[1].value = f64::NAN;
        assert!(matches!(archive.keep(&[entry(1), odd]), Err(ArchiveError::NotANumber(_))));
        archive.keep(&[entry(1), entry(1)]).unwrap_err();
        let long = Entry { label: Some("x".repeat(10_000_000)), ..entry(3) };
        let refused = archive.keep(&[long]).unwrap_err();
        assert!(matches!(refused, ArchiveError::TooLong { what: "label", .. }), "{refused}");
        assert!(archive.list(&Filter::default()).unwrap().runs.is_empty());
    });
}

#[test]
fn two_archives_become_one_and_doing_it_again_changes_nothing() {
    let (folder, mut archive) = archive();
    let unnamed = Entry { label: None, ..entry(1) };
    archive.keep(&[unnamed, entry(2)]).unwrap();
    // A name that no text can spell.
    let name = std::ffi::OsStr::from_bytes(b"other \xff?#%.db");
    let path = folder.path().join(name);
    let tagged = Entry { tags: vec!["weekly".into()], ..entry(1) };
    open(&path).keep(&[tagged, entry(2), entry(3), part(4, 3)]).unwrap();
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap(), merged(2, 2));
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap(), merged(0, 4));
    assert_eq!(archive.whole(entry(3).id).unwrap().parts.len(), 1);
    let first = &archive.list(&only("label-1")).unwrap().runs[0];
    assert_eq!(first.tags, ["nightly", "weekly"], "what the other says of it is not lost");
    assert_eq!(archive.check(&read_back, &fine).unwrap(), Checked { whole: 4, damage: Vec::new() });
}

#[test]
fn an_archive_from_before_the_first_release_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "CREATE TABLE steps (name TEXT); INSERT INTO steps VALUES ('2026-11-23-runs')",
    )
    .unwrap();
    drop(old);
    let bytes = std::fs::read(&path).unwrap();
    let (_folder, mut archive) = archive();
    let merged = archive.merge(&path, &read_back, &fine).unwrap_err();
    assert!(matches!(merged, ArchiveError::Unreleased { .. }), "{merged}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let opened = Archive::open(&path, WAITS).unwrap_err();
    assert!(opened.to_string().contains("before its first release"), "{opened}");
    assert!(opened.to_string().contains("old.db"), "{opened}");
}

#[test]
fn an_archive_that_another_process_writes_is_merged_as_it_is() {
    let (folder, mut archive) = archive();
    let path = folder.path().join("other.db");
    let mut other = open(&path);
    other.keep(&[entry(1)]).unwrap();
    assert!(folder.path().join("other.db-wal").metadata().unwrap().len() > 0);
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap().added, 1);
    other.keep(&[entry(2)]).unwrap();
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap(), merged(1, 1));
    assert_eq!(other.check(&read_back, &fine).unwrap().whole, 2);
}

#[test]
fn a_check_names_the_run_that_is_damaged() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2)]).unwrap();
        let id = entry(2).id;
        let cut = "UPDATE records SET record = substr(record, 1, 20)";
        sql(&archive, &format!("{cut} WHERE run = '{id}'"));
        let found = archive.check(&read_back, &fine).unwrap();
        assert_eq!((found.whole, found.damage.len()), (1, 1));
        assert!(found.damage[0].contains(&entry(2).id.to_string()), "{found:?}");
        assert!(matches!(archive.whole(entry(2).id), Err(ArchiveError::Damaged { .. })));
        let id = entry(1).id;
        sql(&archive, &format!("UPDATE runs SET study = 'X' WHERE id = '{id}'"));
        let found = archive.check(&read_back, &fine).unwrap();
        assert!(found.damage.iter().any(|it| it.contains("a part of, X, is missing")), "{found:?}");
    });
}

#[test]
fn what_a_later_version_wrote_and_what_is_no_archive_is_left_alone() {
    let (folder, archive) = archive();
    let path = folder.path().join("runs.db");
    sql(&archive, "INSERT INTO steps VALUES ('2100-01-01-later')");
    drop(archive);
    let later = Archive::open(&path, WAITS).unwrap_err();
    assert!(later.to_string().contains("2100-01-01-later"), "{later}");
    std::fs::write(&path, "not a database, but long enough to be taken for one".repeat(50))
        .unwrap();
    assert!(matches!(Archive::open(&path, WAITS), Err(ArchiveError::NoArchive { .. })));
    let (_folder, mut archive) = self::archive();
    assert!(matches!(archive.merge(&path, &read_back, &fine), Err(ArchiveError::NoArchive { .. })));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("not a database"));
    // A database without tables, and one of somebody else's.
    std::fs::write(&path, "").unwrap();
    assert!(matches!(archive.merge(&path, &read_back, &fine), Err(ArchiveError::NoArchive { .. })));
    assert!(std::fs::read(&path).unwrap().is_empty());
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
    assert!(matches!(archive.merge(&path, &read_back, &fine), Err(ArchiveError::NoArchive { .. })));
}

#[test]
fn a_usual_run_takes_little() {
    let (folder, mut archive) = archive();
    // A minute of a disk at depth 32, of which most is the distribution second by second.
    let mut rng = drivelab_core::rng::Rng::new(7);
    let mut tally = drivelab_core::record::Tally::default();
    for second in 0..60 {
        for _ in 0..115 {
            let latency = rng.exponential(drivelab_core::units::Span::from_ms(270));
            tally.series.record(second, latency, 1);
            tally.of_mut(drivelab_core::Op::Read).lat.record_times(latency, 1);
        }
    }
    tally.series.finish(60);
    let mut record: RunRecord = serde_json::from_str(RECORD).unwrap();
    record.total = Some(tally.record());
    record.jobs = vec![tally.record().without_series()];
    let document = serde_json::to_string(&record).unwrap();
    assert!(document.len() > 60_000, "{}", document.len());
    let minute = |number| Entry { document: document.clone(), ..entry(number) };
    let entries: Vec<Entry> = (1..=200).map(minute).collect();
    archive.keep(&entries).unwrap();
    sql(&archive, "PRAGMA wal_checkpoint(TRUNCATE)");
    let bytes = std::fs::metadata(folder.path().join("runs.db")).unwrap().len();
    assert!(bytes / 200 < 12_000, "{} bytes a run", bytes / 200);
    assert_eq!(archive.whole(entry(9).id).unwrap().document, document);
}

#[test]
fn writers_at_once_wait_for_one_another() {
    with_each_kind(|location| {
        std::thread::scope(|all| {
            for writer in 0..4 {
                all.spawn(move || {
                    let mut archive = open(location);
                    for number in 0..25 {
                        let number = 100 * writer + 2 * number;
                        archive.keep_new(&[entry(number), part(number + 1, number)]).unwrap();
                    }
                });
            }
        });
        let archive = open(location);
        assert_eq!(
            archive.check(&read_back, &fine).unwrap(),
            Checked { whole: 200, damage: Vec::new() }
        );
    });
}

#[test]
fn a_writer_waits_for_another_as_long_as_its_caller_does() {
    static TRIES: AtomicI32 = AtomicI32::new(0);
    let thrice = |tries| {
        TRIES.store(tries, Ordering::Relaxed);
        tries < 3
    };
    let (folder, mut archive) = archive();
    let path = folder.path().join("runs.db");
    archive.store.get_mut().begin(&[]).unwrap();
    let mut other = Archive::open(&path, Patience::same(thrice)).unwrap();
    assert!(matches!(other.keep(&[entry(1)]), Err(ArchiveError::Busy)));
    assert_eq!(TRIES.load(Ordering::Relaxed), 3);
    archive.store.get_mut().script("ROLLBACK").unwrap();
    other.keep(&[entry(1)]).unwrap();
}

/// A change of an archive, which may read another one.
type Work = fn(&mut Archive, &Path) -> Result<(), ArchiveError>;

#[test]
fn a_wait_for_another_process_that_the_user_ends_is_interrupted() {
    let (folder, mut archive) = archive();
    let path = folder.path().join("runs.db");
    let source = folder.path().join("source.db");
    open(&source).keep(&[entry(3)]).unwrap();
    archive.keep(&[entry(1)]).unwrap();
    let mut other = Archive::open(&path, Patience::same(|_| false)).unwrap();
    archive.store.get_mut().begin(&[]).unwrap();
    let works: [Work; 6] = [
        |it, _| it.check_writable(),
        |it, _| it.keep(&[entry(2)]),
        |it, _| it.keep_new(&[entry(2)]).map(drop),
        |it, _| it.label(&[entry(1).id], None),
        |it, _| it.delete(&[entry(1).id]),
        |it, source| it.merge(source, &read_back, &fine).map(drop),
    ];
    for work in works {
        other.interrupted_when(|| false);
        assert!(matches!(work(&mut other, &source), Err(ArchiveError::Busy)));
        other.interrupted_when(|| true);
        assert!(matches!(work(&mut other, &source), Err(ArchiveError::Interrupted)));
    }
}

#[test]
fn the_names_of_figures_begin_with_those_of_most_runs() {
    with_each_kind(|location| {
        let mut archive = open(location);
        let odd = Figure::new("a.rare", 1.0, Better::More);
        let both = |number| Entry { figures: entry(number).figures.split_off(1), ..entry(number) };
        let rare = Entry { figures: vec![odd], ..entry(1) };
        archive.keep(&[rare, both(2), both(3), entry(4)]).unwrap();
        assert_eq!(archive.figure_names().unwrap(), ["lat_p99_ns", "a.rare", "iops"]);
    });
}

#[test]
fn a_new_archive_waits_for_another_process_that_makes_it() {
    static MAKER: Mutex<Option<Connection>> = Mutex::new(None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let maker = Connection::open(&path).unwrap();
    maker.execute_batch("BEGIN IMMEDIATE; CREATE TABLE other (name TEXT)").unwrap();
    *MAKER.lock().unwrap() = Some(maker);
    let until_it_ends = |tries| {
        if tries == 2 {
            MAKER.lock().unwrap().take();
        }
        tries < 1000
    };
    let mut archive = Archive::open(&path, Patience::same(until_it_ends)).unwrap();
    archive.keep(&[entry(1)]).unwrap();
    assert!(MAKER.lock().unwrap().is_none(), "it was waited for");
}

#[test]
fn ids_are_looked_up_while_another_process_keeps_and_deletes_runs() {
    use std::sync::atomic::AtomicBool;
    let (folder, archive) = archive();
    let path = folder.path().join("runs.db");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|all| {
        all.spawn(|| {
            let mut other = open(&path);
            while !is_done.load(Ordering::Relaxed) {
                other.keep(&[entry(1), entry(2), entry(3)]).unwrap();
                other.delete(&[1, 2, 3].map(|number| entry(number).id)).unwrap();
            }
        });
        for _ in 0..2_000 {
            match archive.find("0000") {
                Err(ArchiveError::NoSuchRun(_)) => {}
                // All three or none: no state between has been committed.
                Err(ArchiveError::Ambiguous { count, first, .. }) => {
                    if (count, first.len()) != (3, 3) {
                        is_done.store(true, Ordering::Relaxed);
                        panic!("{count} of {first:?}");
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reader_does_not_wait_for_a_writer() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1)]).unwrap();
        archive.store.get_mut().begin(&[]).unwrap();
        archive.store.get_mut().script("DELETE FROM runs").unwrap();
        let reader = Archive::open(location, Patience::same(|_| false)).unwrap();
        assert_eq!(reader.list(&Filter::default()).unwrap().runs.len(), 1);
    });
}

#[test]
fn a_list_reads_the_runs_that_it_shows_and_no_others() {
    let (_folder, archive) = archive();
    let plan = |filter: &Filter| {
        let condition = filter.condition();
        let text = format!(
            "EXPLAIN QUERY PLAN SELECT id FROM runs WHERE {} ORDER BY id DESC LIMIT 20",
            condition.text
        );
        let steps = archive.store.borrow_mut().rows(&text, &condition.values).unwrap();
        let steps: Vec<String> = steps.iter().map(|step| step.get(3).unwrap()).collect();
        steps.join("; ")
    };
    let all = plan(&Filter::default());
    assert!(all.contains("runs_whole") && !all.contains("TEMP B-TREE"), "{all}");
    let measured = plan(&Filter { metric: Some("iops".into()), ..Filter::default() });
    assert!(measured.contains("figures_by_name (name=? AND run=?)"), "{measured}");
    let labelled = plan(&only("before"));
    assert!(!labelled.contains("SCAN") && labelled.contains("runs_by_label"), "{labelled}");
    let fleet = plan(&Filter { origin: Some(Origin::Fleet), ..Filter::default() });
    assert!(fleet.contains("USING INDEX runs_by_origin (origin=?)"), "{fleet}");
    let parts = plan(&Filter { parts_of: Some(entry(1).id), ..Filter::default() });
    assert!(parts.contains("SEARCH runs USING INDEX runs_by_study"), "{parts}");
}
