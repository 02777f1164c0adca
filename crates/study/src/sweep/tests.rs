use std::collections::BTreeMap;

use drivelab_core::Refusal;
use tempfile::TempDir;

use super::*;
use crate::file::tests::TwoKeys;
use drivelab_core::Control;

const FILE: &str = "title = \"Which setting decides?\"\n\
                    drive = \"some-drive\"\n\
                    points = 100\n\
                    [load]\n\
                    rw = \"randread\"\n\
                    [parameter.iodepth]\n\
                    from = 1\n\
                    to = 64\n\
                    scale = \"log\"\n\
                    [parameter.bs]\n\
                    values = [\"4k\", \"64k\"]\n";

fn sweep(text: &str) -> Sweep {
    Sweep::parse("s.toml", text, &TwoKeys).unwrap()
}

fn refused(change: impl Fn(&str) -> String, expected: &str) {
    let error = Sweep::parse("s.toml", &change(FILE), &TwoKeys).unwrap_err();
    assert!(error.message.contains(expected), "{error}");
}

#[test]
fn a_file_that_cannot_be_swept_is_refused() {
    refused(|file| file.replace("[load]\nrw = \"randread\"\n", ""), "`[load]` is missing");
    refused(|file| file.replace("from = 1\n", "from = 0\n"), "begins above 0");
    refused(|file| file.replace("from = 1\n", "from = 64\n"), "less than");
    refused(|file| file.replace("to = 64\n", ""), "`from` and `to`");
    refused(|file| file.replace("\"64k\"", "\"much\""), "`much`");
    refused(|file| file.replace("parameter.bs", "parameter.bsq"), "neither");
    let with_drive = FILE.replace("parameter.bs", "parameter.drive");
    let hint = Sweep::parse("s.toml", &with_drive, &TwoKeys).unwrap_err().hint.unwrap();
    assert!(hint.contains("the drive of the whole sweep") && !hint.contains("drives"), "{hint}");
    refused(|file| file.replace("points = 100", "points = 0"), "0 points");
    refused(|file| file.replace("points = 100", "design = \"grid\""), "is a range");
    refused(|file| file.replace("points = 100", "figure = \"speed\""), "`speed`");
    refused(|file| file[..file.find("[parameter").unwrap()].to_owned(), "nothing varies");
}

#[test]
fn points_cover_their_parameters() {
    for design in ["sobol", "latin-hypercube"] {
        let sweep = sweep(&FILE.replace("points", &format!("design = \"{design}\"\npoints")));
        let points = Points::new(&sweep, 0);
        let all: Vec<Point> = (0..points.len()).map(|number| points.point(number)).collect();
        let mut sizes = BTreeMap::new();
        let mut deep = 0;
        for point in &all {
            *sizes.entry(point.values[0].clone()).or_insert(0) += 1;
            let depth: u32 = point.values[1].parse().unwrap();
            assert!((1..=64).contains(&depth), "{point:?}");
            deep += usize::from(depth > 8);
        }
        assert!(sizes.values().all(|count| (48..=52).contains(count)), "{design}: {sizes:?}");
        assert!((45..=55).contains(&deep), "{design}: half of the depths are above the root");
    }
}

#[test]
fn a_grid_has_every_value_with_every_other() {
    let text = FILE.replace("points = 100", "design = \"grid\"");
    let text = text.replace("from = 1\nto = 64\nscale = \"log\"", "values = [1, 8, 32]");
    let sweep = sweep(&text);
    let points = Points::new(&sweep, 3);
    assert_eq!(points.len(), 6);
    let mut all: Vec<_> = (0..6).map(|number| points.point(number).values).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
}

/// Makes rows whose figures follow from the point alone.
fn made(sweep: &Sweep, points: &[Point]) -> Vec<Row> {
    let row = |point: &Point| {
        let names = sweep.parameters.iter().map(|parameter| parameter.name.clone());
        let iops = f64::from(point.number);
        Row {
            point: point.number,
            key: sweep.key(point, "model"),
            parameters: names.zip(point.values.clone()).collect(),
            unknowns: BTreeMap::new(),
            figures: Figures {
                iops,
                bytes_per_s: 4096.0 * iops,
                lat_mean_ns: 1.5,
                lat_p50_ns: 1.0,
                lat_p99_ns: 2.0,
            },
            flaws: Vec::new(),
        }
    };
    points.iter().map(row).collect()
}

fn kept(sweep: &Sweep, folder: &TempDir) -> Kept {
    let points = Points::new(sweep, 0);
    let key = |number| (number < points.len()).then(|| sweep.key(&points.point(number), "model"));
    Kept::read(folder.path(), key).unwrap()
}

/// Makes a shard, or its first `most` points.
fn run(sweep: &Sweep, folder: &TempDir, shard: &str, most: usize) -> usize {
    let shard: Shard = shard.parse().unwrap();
    let points = Points::new(sweep, 0);
    let mut kept = kept(sweep, folder);
    let mut rows = Rows::open(folder.path(), &shard.file()).unwrap();
    let mut count = 0;
    let result =
        carry_out(&points, shard, &mut rows, &mut kept, 7, &Control::unattended(), |batch| {
            if count >= most {
                return Err(Refusal::request("killed"));
            }
            count += batch.len();
            Ok(made(sweep, batch))
        });
    assert!(result.is_ok() || most < 100, "{result:?}");
    count
}

#[test]
fn any_shards_give_the_same_bytes() {
    let sweep = sweep(FILE);
    let whole = tempfile::tempdir().unwrap();
    assert_eq!(run(&sweep, &whole, "1/1", 100), 100);
    let expected = kept(&sweep, &whole).lines();
    assert_eq!(expected.lines().count(), 100);
    for shards in [2, 7] {
        let folder = tempfile::tempdir().unwrap();
        let counts: Vec<usize> = (1..=shards)
            .map(|number| run(&sweep, &folder, &format!("{number}/{shards}"), 100))
            .collect();
        assert_eq!(counts.iter().sum::<usize>(), 100);
        assert_eq!(kept(&sweep, &folder).lines(), expected, "{shards} shards");
    }
}

#[test]
fn what_was_made_is_not_made_again() {
    let sweep = sweep(FILE);
    let folder = tempfile::tempdir().unwrap();
    let first = run(&sweep, &folder, "1/1", 20);
    assert!(first >= 20);
    let second = run(&sweep, &folder, "2/3", 100);
    let third = run(&sweep, &folder, "1/1", 100);
    assert_eq!(first + second + third, 100);
    assert_eq!(run(&sweep, &folder, "1/1", 100), 0);
    // More points leave the first as they were; another load makes all of them new.
    let more = FILE.replace("points = 100", "points = 128");
    assert_eq!(run(&super::tests::sweep(&more), &folder, "1/1", 100), 28);
    let other = FILE.replace("randread", "randwrite");
    assert_eq!(run(&super::tests::sweep(&other), &folder, "1/1", 100), 100);
}

#[test]
fn damaged_lines_are_counted_and_made_again() {
    let sweep = sweep(FILE);
    let folder = tempfile::tempdir().unwrap();
    run(&sweep, &folder, "1/1", 100);
    let path = folder.path().join("rows-1-of-1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let torn = text.replacen("\"iops\":3", "\"iops\":9", 1);
    std::fs::write(&path, &torn[..torn.len() - 20]).unwrap();
    let found = kept(&sweep, &folder);
    assert_eq!((found.rows.len(), found.foreign), (98, 1));
    assert_eq!(run(&sweep, &folder, "1/1", 100), 2);
    assert_eq!(kept(&sweep, &folder).rows.len(), 100);
}

#[test]
fn rows_are_not_added_to_a_file_of_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows-1-of-1.jsonl");
    let garbage = "a letter\nof many lines\n";
    std::fs::write(&path, garbage).unwrap();
    let refused = Rows::open(folder.path(), "rows-1-of-1.jsonl").unwrap_err();
    assert!(refused.message.contains("no line of") && !refused.hints.is_empty(), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), garbage);
    // A line that a killed process left unfinished is no reason.
    std::fs::write(&path, "a let").unwrap();
    Rows::open(folder.path(), "rows-1-of-1.jsonl").unwrap();
}

#[test]
fn a_shard_is_one_of_several() {
    let check = |text: &str, expected: Option<(u32, u32)>| {
        let shard: Result<Shard, _> = text.parse();
        assert_eq!(shard.ok().map(|shard| (shard.number, shard.of)), expected, "{text}");
    };
    check("1/1", Some((1, 1)));
    check("7/7", Some((7, 7)));
    for wrong in ["", "0/7", "8/7", "1", "1/", "/7", "a/b", "-1/7", "1/99999999999"] {
        check(wrong, None);
    }
}
