//! Digests are read in place of records.

use super::super::insert::REVISION;
use super::*;

/// The digests that are read of runs, in the order of ids.
fn digests(archive: &Archive) -> Vec<Option<Digest>> {
    let (ids, mut found) = (archive.ids(&Filter::default()).unwrap(), Vec::new());
    let done = archive.each_digest(&ids, |one| {
        found.push(one.digest);
        Ok::<_, ArchiveError>(())
    });
    done.unwrap();
    found
}

#[test]
fn digests_are_read_without_records() {
    with_each_kind(|location| {
        let mut archive = open(location);
        let plain = Entry { digest: None, ..entry(2) };
        let of_fleet = Entry { origin: Origin::Fleet, ..part(6, 5) };
        archive.keep(&[entry(1), part(3, 1), plain, entry(4), entry(5), of_fleet]).unwrap();
        // No record reads back from now on.
        sql(&archive, "DELETE FROM records");
        let ids = archive.ids(&Filter::default()).unwrap();
        let mut found: Vec<Digested> = Vec::new();
        let done = archive.each_digest(&ids, |one| {
            found.push(one);
            Ok::<_, ArchiveError>(())
        });
        done.unwrap();
        let digests: Vec<_> = found.iter().map(|one| one.digest.clone()).collect();
        assert_eq!(digests, [Some(digest(1)), None, Some(digest(4)), Some(digest(5))]);
        assert_eq!((found[2].id, found[2].time_ms), (entry(4).id, 4_000));
        let parts = archive.digests_of_parts(&ids).unwrap();
        // Only the runs of a fleet are read without their whole.
        assert_eq!(parts[&entry(1).id][0].digest, None);
        assert_eq!(parts[&entry(5).id][0].digest, Some(digest(6)));
        let commons = sql(&archive, "SELECT count(*) FROM commons");
        assert_eq!(commons[0].get::<i64>(0).unwrap(), 2, "what runs share is kept once");
    });
}

#[test]
fn a_digest_that_is_damaged_or_of_another_revision_is_none() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&(1..=4).map(entry).collect::<Vec<_>>()).unwrap();
        let digest = |number, change: &str| {
            let id = entry(number).id;
            sql(&archive, &format!("UPDATE digests SET {change} WHERE run = '{id}'"));
        };
        digest(1, "content = ''");
        digest(2, "version = '0'");
        digest(3, "version = '2.0'");
        assert_eq!(digests(&archive), [None, None, None, Some(self::digest(4))]);
    });
}

#[test]
fn digests_of_another_revision_are_made_again_once() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&(1..=4).map(entry).collect::<Vec<_>>()).unwrap();
        let damaged = entry(4).id;
        sql(&archive, "UPDATE digests SET version = '0', figures = ''");
        sql(&archive, &format!("UPDATE records SET bytes = 1 WHERE run = '{damaged}'"));
        assert_eq!(digests(&archive), [None, None, None, None]);
        assert_eq!(archive.renew_digests(&read_back).unwrap(), 3);
        assert_eq!(digests(&archive), [Some(digest(1)), Some(digest(2)), Some(digest(3)), None]);
        assert_eq!(archive.renew_digests(&read_back).unwrap(), 0, "they are kept");
    });
}

#[test]
fn the_parts_of_a_whole_may_be_any_number() {
    let (_folder, archive) = archive();
    // Ids are 26 digits; more parameters than a statement of SQLite has.
    let each = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)";
    let whole = entry(1).id;
    for rows in [
        "INSERT INTO commons SELECT i, '{}' FROM n",
        &format!(
            "INSERT INTO runs (id, time_ms, origin, target, devices, spark, study) \
             SELECT printf('%026d', i), 0, 'fleet', '', '', '', '{whole}' FROM n"
        ),
        &format!(
            "INSERT INTO digests (run, version, common, seed, content, figures) \
             SELECT printf('%026d', i), '{REVISION}', i, 0, zeroblob(16), x'' FROM n"
        ),
    ] {
        sql(&archive, &format!("{each} {rows}"));
    }
    let parts = archive.digests_of_parts(&[whole.to_string()]).unwrap();
    assert_eq!(parts[&whole].iter().filter(|part| part.digest.is_some()).count(), 40_000);
}

#[test]
fn a_shared_text_is_deleted_without_reading_all_digests() {
    let (_folder, archive) = archive();
    let plan = sql(&archive, "EXPLAIN QUERY PLAN SELECT run FROM digests WHERE common = 'one'");
    let step: String = plan[0].get(3).unwrap();
    assert!(step.contains("SEARCH") && step.contains("(common=?)"), "{step}");
}

#[test]
fn a_shared_text_goes_with_the_last_run_that_has_it() {
    with_each_kind(|location| {
        let mut archive = open(location);
        archive.keep(&[entry(1), entry(2), entry(3)]).unwrap();
        let commons = |archive: &Archive| {
            let count = sql(archive, "SELECT count(*) FROM commons");
            count[0].get::<i64>(0).unwrap()
        };
        // Of the odd numbers, and of the even ones.
        assert_eq!(commons(&archive), 2);
        archive.delete(&[entry(1).id]).unwrap();
        assert_eq!(commons(&archive), 2);
        archive.delete(&[entry(3).id]).unwrap();
        assert_eq!(commons(&archive), 1);
        assert_eq!(digests(&archive), [Some(digest(2))]);
        // Nothing is added with a document that is there.
        let other = Digest { common: "{}".into(), ..digest(2) };
        let again = Entry { id: entry(4).id, digest: Some(other), ..entry(2) };
        assert_eq!(archive.keep_new(&[again]).unwrap().present, 1);
        assert_eq!(commons(&archive), 1);
    });
}

#[test]
fn a_digest_is_read_however_many_are_shared_by_none() {
    let (_folder, mut archive) = archive();
    let own = |number: u32| {
        let common = format!("{number}").into();
        Entry { digest: Some(Digest { common, ..digest(number) }), ..entry(number) }
    };
    archive.keep(&(1..=700).map(own).collect::<Vec<_>>()).unwrap();
    let ids = archive.ids(&Filter::default()).unwrap();
    let mut number = 0;
    let done = archive.each_digest(&ids, |one| {
        number += 1;
        assert_eq!(one.digest.unwrap().common.parse(), Ok(number));
        Ok::<_, ArchiveError>(())
    });
    done.unwrap();
    assert_eq!(number, 700);
}
