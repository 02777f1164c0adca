use drivelab_core::record::{Better, Figure};

use super::*;
use crate::entry::Place;

const RECORD: &str = include_str!("../../../core/tests/records/today.json");

fn entry(number: u32) -> Entry {
    let record: RunRecord = serde_json::from_str(RECORD).unwrap();
    Entry {
        id: RunId::new(1_000 * u64::from(number), u128::from(number)),
        time_ms: 1_000 * u64::from(number),
        origin: Origin::Run,
        drive: Some("seagate-st31000333as".into()),
        suite: None,
        tested: None,
        tags: vec!["nightly".into()],
        place: None,
        spark: "▁▂▃".into(),
        figures: vec![
            Figure::new("iops", 70.0 + f64::from(number), Better::More),
            Figure::new("lat_p99_ns", 28e6, Better::Less),
        ],
        record: RunRecord { label: Some(format!("label-{number}")), ..record },
    }
}

fn figure(name: &str, value: f64) -> KeptFigure {
    KeptFigure { name: name.into(), value, unit: String::new() }
}

fn archive() -> (tempfile::TempDir, Archive) {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(&folder.path().join("runs.db")).unwrap();
    (folder, archive)
}

#[test]
fn what_is_kept_is_found_as_it_was() {
    let (folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    drop(archive);
    let archive = Archive::open(&folder.path().join("runs.db")).unwrap();
    let kept = archive.list(&Filter::default()).unwrap();
    assert_eq!(kept.iter().map(|run| run.time_ms).collect::<Vec<_>>(), [1_000, 2_000]);
    assert_eq!(kept[0].figure, Some(figure("iops", 71.0)));
    assert_eq!(kept[0].spark, "▁▂▃");
    assert_eq!(archive.record(archive.find(&kept[1].id).unwrap()).unwrap(), entry(2).record);
    assert_eq!(archive.tags(entry(1).id).unwrap(), ["nightly"]);
}

#[test]
fn filters_hold_together_and_take_text_as_text() {
    let (_folder, mut archive) = archive();
    let study = Place { study: entry(3).id, block: 0, arm: "ahci".into(), task: "read".into() };
    let odd =
        Entry { place: Some(study), drive: Some("100%_'; DROP TABLE runs".into()), ..entry(3) };
    archive.keep(&[entry(1), entry(2), odd]).unwrap();
    let check = |filter: Filter, expected: &[u64]| {
        let kept = archive.list(&filter).unwrap();
        assert_eq!(kept.iter().map(|run| run.time_ms / 1_000).collect::<Vec<_>>(), expected);
    };
    let text = |text: &str| Some(text.to_owned());
    check(Filter { label: text("label-2"), ..Filter::default() }, &[2]);
    check(Filter { label: text("nightly"), ..Filter::default() }, &[1, 2, 3]);
    check(Filter { drive: text("st31000"), ..Filter::default() }, &[1, 2]);
    check(Filter { drive: text("0%_';"), ..Filter::default() }, &[3]);
    check(Filter { drive: text("%"), ..Filter::default() }, &[3]);
    check(Filter { metric: text("iops"), since_ms: Some(2_000), ..Filter::default() }, &[2, 3]);
    check(Filter { metric: text("nothing"), ..Filter::default() }, &[]);
    check(Filter { until_ms: Some(2_000), ..Filter::default() }, &[1]);
    check(Filter { latest: Some(2), ..Filter::default() }, &[2, 3]);
    let shown = archive.list(&Filter { metric: text("lat_p99_ns"), ..Filter::default() }).unwrap();
    assert_eq!(shown[0].figure, Some(figure("lat_p99_ns", 28e6)));
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let (_folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    let id = entry(2).id.to_string();
    assert_eq!(archive.find(&id.to_lowercase()).unwrap(), entry(2).id);
    assert!(matches!(archive.find("0"), Err(ArchiveError::Ambiguous(_, 2))));
    assert!(matches!(archive.find("Z"), Err(ArchiveError::NoSuchRun(_))));
}

#[test]
fn names_change_and_runs_go_all_or_none() {
    let (_folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    let (one, two, none) = (entry(1).id, entry(2).id, entry(3).id);
    archive.label(&[one, two], Some("before")).unwrap();
    assert!(matches!(archive.label(&[one, none], None), Err(ArchiveError::NoSuchRun(_))));
    assert!(matches!(archive.delete(&[one, none]), Err(ArchiveError::NoSuchRun(_))));
    let before = Filter { label: Some("before".into()), ..Filter::default() };
    assert_eq!(archive.list(&before).unwrap().len(), 2);
    archive.delete(&[one]).unwrap();
    assert_eq!(archive.list(&before).unwrap().len(), 1);
    let left = "SELECT count(*) FROM figures";
    let left: i64 = archive.database.query_row(left, (), |row| row.get(0)).unwrap();
    assert_eq!(left, 2, "figures go with their run");
}

#[test]
fn runs_are_kept_all_or_none() {
    let (_folder, mut archive) = archive();
    let mut odd = entry(2);
    odd.figures[1].value = f64::NAN;
    assert!(matches!(archive.keep(&[entry(1), odd]), Err(ArchiveError::NotANumber(_))));
    archive.keep(&[entry(1), entry(1)]).unwrap_err();
    assert!(archive.list(&Filter::default()).unwrap().is_empty());
}

#[test]
fn two_archives_become_one_and_doing_it_again_changes_nothing() {
    let (folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    let path = folder.path().join("other.db");
    Archive::open(&path).unwrap().keep(&[entry(2), entry(3)]).unwrap();
    assert_eq!(archive.merge(&path).unwrap(), Merged { added: 1, present: 1 });
    assert_eq!(archive.merge(&path).unwrap(), Merged { added: 0, present: 2 });
    assert_eq!(archive.record(entry(3).id).unwrap(), entry(3).record);
    assert_eq!(archive.check().unwrap(), Checked { whole: 3, damage: Vec::new() });
}

#[test]
fn a_check_names_the_run_that_is_damaged() {
    let (_folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    let spoil = "UPDATE runs SET record = substr(record, 1, 20) WHERE id = $1";
    archive.database.execute(spoil, [entry(2).id.to_string()]).unwrap();
    let found = archive.check().unwrap();
    assert_eq!((found.whole, found.damage.len()), (1, 1));
    assert!(found.damage[0].contains(&entry(2).id.to_string()), "{found:?}");
    assert!(matches!(archive.record(entry(2).id), Err(ArchiveError::Damaged { .. })));
}

#[test]
fn what_a_later_version_wrote_and_what_is_no_archive_is_left_alone() {
    let (folder, archive) = archive();
    let path = folder.path().join("runs.db");
    archive.database.execute("INSERT INTO steps VALUES ('2100-01-01-later')", ()).unwrap();
    drop(archive);
    let later = Archive::open(&path).unwrap_err();
    assert!(later.to_string().contains("2100-01-01-later"), "{later}");
    std::fs::write(&path, "not a database, but long enough to be taken for one".repeat(50))
        .unwrap();
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Open { .. })));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("not a database"));
}

#[test]
fn a_usual_run_takes_little() {
    let (folder, mut archive) = archive();
    let entries: Vec<Entry> = (1..=200).map(entry).collect();
    archive.keep(&entries).unwrap();
    archive.database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let bytes = std::fs::metadata(folder.path().join("runs.db")).unwrap().len();
    assert!(bytes / 200 < 12_000, "{} bytes a run", bytes / 200);
}
