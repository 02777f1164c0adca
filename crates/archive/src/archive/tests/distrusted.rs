//! An archive may be damaged, half written, or made by someone to mislead.

use super::*;
use drivelab_core::Invalid;

/// The columns of a record, with one figure.
fn columns_of(document: &str, _: bool) -> Result<Option<Columns>, Invalid> {
    let record: RunRecord = serde_json::from_str(document).map_err(Invalid::new)?;
    let columns = Columns::of_run(&record, vec![Figure::new("iops", 70.0, Better::More)]);
    Ok(Some(Columns { digest: Some(digest(7)), ..columns }))
}

fn of_run(number: u32) -> Entry {
    let record: RunRecord = serde_json::from_str(RECORD).unwrap();
    let figures = vec![Figure::new("iops", 70.0, Better::More)];
    let shown = Shown { figures, digest: Some(digest(7)), ..Shown::default() };
    Entry::of_run(entry(number).id, 1_000, (Origin::Run, &record), shown)
}

fn part_of(number: u32, whole: u32) -> Entry {
    Entry { position: part(number, whole).position, ..of_run(number) }
}

#[test]
fn a_link_to_an_archive_is_merged_with_the_log_beside_the_file() {
    let (folder, mut archive) = archive();
    let real = folder.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let path = folder.path().join("link.db");
    std::os::unix::fs::symlink(real.join("runs.db"), &path).unwrap();
    let mut other = open(&real.join("runs.db"));
    other.keep(&[entry(1)]).unwrap();
    sql(&other, "PRAGMA wal_checkpoint(TRUNCATE)");
    other.keep(&[entry(2)]).unwrap();
    assert!(real.join("runs.db-wal").metadata().unwrap().len() > 0, "the second is in the log");
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap().added, 2);
    // Through another link to the folder, too.
    let (_folder, mut archive) = self::archive();
    std::os::unix::fs::symlink(&real, folder.path().join("linked")).unwrap();
    let path = folder.path().join("linked/runs.db");
    assert_eq!(archive.merge(&path, &read_back, &fine).unwrap().added, 2);
}

#[test]
fn what_is_not_a_regular_file_is_not_opened() {
    let (folder, mut archive) = archive();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
        let error = Archive::open(path, WAITS).unwrap_err();
        assert!(matches!(error, ArchiveError::NoArchive { .. }), "{error}");
        let error = archive.merge(path, &read_back, &fine).unwrap_err();
        assert!(matches!(error, ArchiveError::NoArchive { .. }), "{error}");
    }
}

#[test]
fn a_merge_takes_over_only_what_reads_back() {
    let (folder, mut archive) = archive();
    let path = folder.path().join("other.db");
    let mut other = open(&path);
    other.keep(&[entry(1), entry(2), part(3, 2), part(4, 2), entry(5)]).unwrap();
    let cut = |number| {
        let id = entry(number).id;
        format!("UPDATE records SET record = substr(record, 1, 20) WHERE run = '{id}'")
    };
    sql(&other, &cut(1));
    sql(&other, &cut(4));
    drop(other);
    let merged = archive.merge(&path, &read_back, &fine).unwrap();
    assert_eq!((merged.added, merged.present), (1, 0), "{merged:?}");
    assert_eq!(merged.damage.len(), 2, "{merged:?}");
    for number in [1, 4] {
        let id = entry(number).id.to_string();
        assert!(merged.damage.iter().any(|it| it.contains(&id)), "{merged:?}");
    }
    // A study without one of its runs would say something else.
    let kept = archive.list(&Filter::default()).unwrap().runs;
    assert_eq!(kept.iter().map(|run| run.time_ms).collect::<Vec<_>>(), [5_000]);
    assert_eq!(archive.check(&read_back, &fine).unwrap(), Checked { whole: 1, damage: Vec::new() });
}

#[test]
fn a_check_compares_rows_with_their_records() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[of_run(1), of_run(2), of_run(3)]).unwrap();
        let checked = |archive: &Archive| archive.check(&columns_of, &fine).unwrap();
        assert_eq!(checked(&archive), Checked { whole: 3, damage: Vec::new() });
        let id = |number| entry(number).id;
        let (one, two) = (id(1), id(2));
        sql(&archive, &format!("UPDATE figures SET value = 700.0 WHERE run = '{one}'"));
        sql(&archive, &format!("UPDATE runs SET target = '/dev/other' WHERE id = '{two}'"));
        let Checked { whole, damage } = checked(&archive);
        assert_eq!((whole, damage.len()), (1, 2), "{damage:?}");
        let has = |run: RunId, why: &str| {
            let run = run.to_string();
            damage.iter().any(|it| it.contains(&run) && it.contains(why))
        };
        assert!(has(one, "its iops is 700, in its record 70"), "{damage:?}");
        assert!(has(two, "its target is `/dev/other`, in its record"), "{damage:?}");
        // A label is the user's to change.
        archive.label(&[id(3)], Some("other")).unwrap();
        assert_eq!(checked(&archive).whole, 1);
    });
}

#[test]
fn a_check_compares_digests_with_their_records() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&(1..=5).map(of_run).collect::<Vec<_>>()).unwrap();
        let id = |number| entry(number).id;
        let digest = |number, change: &str| {
            sql(&archive, &format!("UPDATE digests SET {change} WHERE run = '{}'", id(number)));
        };
        digest(1, "seed = 5");
        digest(2, "flaws = '[]'");
        digest(3, "figures = content");
        // Another version may know other digests.
        digest(4, "version = '2.0', seed = 5");
        sql(&archive, &format!("DELETE FROM digests WHERE run = '{}'", id(5)));
        let Checked { whole, damage } = archive.check(&columns_of, &fine).unwrap();
        assert_eq!((whole, damage.len()), (1, 4), "{damage:?}");
        for number in 1..=3 {
            let expected = format!("run {}: its digest is not that of its record", id(number));
            assert!(damage.contains(&expected), "{damage:?}");
        }
        assert!(damage.contains(&format!("run {}: its digest is missing", id(5))), "{damage:?}");
    });
}

#[test]
fn a_check_names_digests_that_do_not_belong() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[of_run(1), part_of(2, 1)]).unwrap();
        assert_eq!(archive.check(&columns_of, &fine).unwrap().damage, Vec::<String>::new());
        let id = entry(2).id;
        let columns = "version, common, ended_s, seed, content, flaws, figures";
        let attach = format!(
            "INSERT INTO digests (run, {columns}) SELECT '{id}', {columns} FROM digests LIMIT 1"
        );
        sql(&archive, &attach);
        let Checked { whole, damage } = archive.check(&columns_of, &fine).unwrap();
        let why = "it has a digest, which does not follow from its record";
        assert_eq!((whole, damage), (1, vec![format!("run {id}: {why}")]));
    });
}

#[test]
fn a_check_names_digests_whose_run_is_missing() {
    let (_folder, mut archive) = archive();
    archive.keep(&[of_run(1)]).unwrap();
    sql(&archive, "PRAGMA foreign_keys = off");
    sql(&archive, "DELETE FROM runs");
    let damage = archive.check(&columns_of, &fine).unwrap().damage;
    let id = entry(1).id;
    assert_eq!(damage, [format!("run {id}: it has a digest, but is missing itself")]);
}

#[test]
fn a_check_reads_one_state_while_another_process_writes() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[of_run(1), of_run(2)]).unwrap();
        let other = RefCell::new(open(location));
        let deleting = |document: &str, is_digested| {
            // It is gone by the time that its digest is compared.
            let _ = other.borrow_mut().delete(&[entry(1).id]);
            columns_of(document, is_digested)
        };
        let found = archive.check(&deleting, &fine).unwrap();
        assert_eq!(found, Checked { whole: 2, damage: Vec::new() });
        assert_eq!(archive.check(&columns_of, &fine).unwrap().whole, 1);
    });
}

#[test]
fn a_check_reads_studies_with_their_parts() {
    let (_folder, mut archive) = archive();
    let study = |number| Entry { origin: Origin::Study, digest: None, ..entry(number) };
    archive.keep(&[study(1), part(2, 1), study(3)]).unwrap();
    let has_parts = |whole: &Whole| match whole.parts.len() {
        0 => Err("it has no runs".into()),
        _ => Ok(()),
    };
    let none = |_: &str, _| Ok(None);
    let damage = archive.check(&none, &has_parts).unwrap().damage;
    assert_eq!(damage, [format!("run {}: it has no runs", entry(3).id)]);
}

#[test]
fn a_part_of_what_has_no_id_is_damage() {
    let (_folder, mut archive) = archive();
    archive.keep(&[entry(1), part(2, 1)]).unwrap();
    sql(&archive, "UPDATE runs SET study = 'none' WHERE study IS NOT NULL");
    let refused = archive.digests_of_parts(&["none".to_owned()]).unwrap_err();
    let part = entry(2).id.to_string();
    assert!(matches!(&refused, ArchiveError::Damaged { run, .. } if *run == part), "{refused}");
}

/// The rows of a run in a table.
fn count(archive: &Archive, table: &str, run: RunId) -> i64 {
    let rows = sql(archive, &format!("SELECT count(*) FROM {table} WHERE run = '{run}'"));
    rows[0].get(0).unwrap()
}

#[test]
fn a_merge_changes_nothing_of_a_run_that_is_present() {
    let (folder, mut archive) = archive();
    archive.keep(&[of_run(1), of_run(2), part_of(3, 2)]).unwrap();
    // A run whose rows are fewer than its record says: the check says so, and a merge adds none.
    let one = entry(1).id;
    sql(&archive, &format!("DELETE FROM digests WHERE run = '{one}'"));
    sql(&archive, "DELETE FROM commons WHERE id NOT IN (SELECT common FROM digests)");
    let path = folder.path().join("other.db");
    let mut other = open(&path);
    let longer = Entry {
        figures: vec![
            Figure::new("iops", 70.0, Better::More),
            Figure::new("odd", 1.0, Better::More),
        ],
        ..of_run(1)
    };
    other.keep(&[longer, of_run(2), part_of(3, 2), part_of(4, 2), of_run(5)]).unwrap();
    assert_eq!((count(&archive, "digests", one), count(&archive, "figures", one)), (0, 1));
    let merged = archive.merge(&path, &columns_of, &fine).unwrap();
    assert_eq!((merged.added, merged.present), (1, 3), "{merged:?}");
    let why = format!("it is a part of {}, which is present without it", entry(2).id);
    let refused = format!("run {}: {why}", entry(4).id);
    assert!(merged.damage.len() == 1 && merged.damage[0].starts_with(&refused), "{merged:?}");
    assert!(merged.damage[0].contains(&format!("drivelab delete {}", entry(2).id)), "{merged:?}");
    assert_eq!((count(&archive, "digests", one), count(&archive, "figures", one)), (0, 1));
    assert_eq!(archive.whole(entry(2).id).unwrap().parts.len(), 1);
    assert_eq!(count(&archive, "records", entry(4).id), 0);
    assert_eq!(count(&archive, "digests", entry(5).id), 1);
}

#[test]
fn a_whole_that_does_not_read_back_with_its_parts_is_not_merged_and_can_be_later() {
    let (folder, mut archive) = archive();
    let study = || [Entry { origin: Origin::Study, ..entry(1) }, part(2, 1), part(3, 1)];
    let path = |name: &str| folder.path().join(name);
    let mut damaged = open(&path("damaged.db"));
    damaged.keep(&study()).unwrap();
    let lost = entry(3).id;
    sql(&damaged, &format!("DELETE FROM runs WHERE id = '{lost}'"));
    let whole = |whole: &Whole| match whole.parts.len() {
        2 => Ok(()),
        parts => Err(format!("{parts} of 2 parts").into()),
    };
    let found = archive.merge(&path("damaged.db"), &read_back, &whole).unwrap();
    let id = entry(1).id;
    assert_eq!((found.added, found.damage), (0, vec![format!("run {id}: 1 of 2 parts")]));
    open(&path("sound.db")).keep(&study()).unwrap();
    assert_eq!(archive.merge(&path("sound.db"), &read_back, &whole).unwrap(), merged(3, 0));
}

#[test]
fn a_merge_makes_digests_out_of_records() {
    let (folder, mut archive) = archive();
    let path = folder.path().join("other.db");
    let mut other = open(&path);
    other.keep(&[of_run(1), of_run(2)]).unwrap();
    sql(&other, "UPDATE commons SET text = 'poison'");
    sql(&other, "INSERT INTO commons VALUES ('0123', 'more')");
    sql(&other, "UPDATE digests SET figures = x'00', content = x'', seed = 1");
    assert_eq!(archive.merge(&path, &columns_of, &fine).unwrap(), merged(2, 0));
    assert_eq!(
        archive.check(&columns_of, &fine).unwrap(),
        Checked { whole: 2, damage: Vec::new() }
    );
    let commons = sql(&archive, "SELECT text FROM commons");
    assert_eq!(commons.len(), 1);
    assert_eq!(commons[0].get::<String>(0).unwrap(), *digest(7).common);
}

#[test]
fn a_part_is_deleted_with_its_whole_only() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), part(2, 1), part(3, 1)]).unwrap();
        let refused = archive.delete(&[entry(2).id]).unwrap_err();
        let whole = entry(1).id.to_string();
        assert!(
            matches!(&refused, ArchiveError::IsPart { whole: of, .. } if *of == whole),
            "{refused}"
        );
        assert_eq!(archive.whole(entry(1).id).unwrap().parts.len(), 2);
        archive.delete(&[entry(1).id]).unwrap();
        assert_eq!(archive.check(&read_back, &fine).unwrap().whole, 0);
    });
}

#[test]
fn one_bad_row_does_not_stop_a_list() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2), entry(3)]).unwrap();
        let two = entry(2).id;
        sql(&archive, &format!("UPDATE runs SET origin = 'telescope' WHERE id = '{two}'"));
        let Listed { runs, damage } = archive.list(&Filter::default()).unwrap();
        assert_eq!(runs.iter().map(|run| run.time_ms).collect::<Vec<_>>(), [1_000, 3_000]);
        let expected = format!("run {two}: its origin `telescope` is unknown to this version");
        assert_eq!(damage, [expected]);
    });
}

#[test]
fn what_a_record_claims_to_be_is_limited() {
    let (_folder, mut archive) = archive();
    archive.keep(&[entry(1)]).unwrap();
    sql(&archive, "UPDATE records SET bytes = 2000000000");
    let found = archive.check(&read_back, &fine).unwrap();
    assert!(found.damage[0].contains("it claims 2000000000 bytes"), "{found:?}");
    let long = Entry { document: " ".repeat((128 << 20) + 1), ..entry(2) };
    let refused = archive.keep(&[long]).unwrap_err();
    assert!(matches!(refused, ArchiveError::TooLong { what: "record", .. }), "{refused}");
}

#[test]
fn reading_ends_when_it_is_wanted_no_longer() {
    let (folder, mut archive) = archive();
    archive.keep(&[entry(1), entry(2)]).unwrap();
    let path = folder.path().join("other.db");
    let mut other = open(&path);
    other.stop_when(Arc::new(|| true)).unwrap();
    let is_stopped = |error: ArchiveError| matches!(error, ArchiveError::Stopped);
    assert!(is_stopped(
        other.merge(&folder.path().join("runs.db"), &read_back, &fine).unwrap_err()
    ));
    archive.stop_when(Arc::new(|| true)).unwrap();
    assert!(is_stopped(archive.check(&read_back, &fine).unwrap_err()));
    assert!(is_stopped(archive.list(&Filter::default()).unwrap_err()));
    let none = |_| Ok::<_, ArchiveError>(());
    assert!(is_stopped(archive.each(&Filter::default(), Detail::All, none).unwrap_err()));
    // A query that the database itself is long about.
    let count = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                 SELECT count(*) FROM n";
    assert!(is_stopped(archive.store.get_mut().rows(count, &[]).unwrap_err()));
}

#[test]
fn the_database_of_another_program_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    let theirs = rusqlite::Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(theirs);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Archive::open(&path, WAITS), Err(ArchiveError::NoArchive { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
