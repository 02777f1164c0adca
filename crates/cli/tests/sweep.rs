//! `sweep`: points in shards, resumed, reported.

use std::path::Path;

use crate::common::{drivelab, file, folder};

const SWEEP: &str = "title = \"What decides random reads?\"\n\
                     drive = \"seagate-st31000333as\"\n\
                     points = 64\n\
                     specimens = true\n\
                     [load]\n\
                     rw = \"randread\"\n\
                     runtime = \"500ms\"\n\
                     [parameter.iodepth]\n\
                     values = [1, 4, 32]\n\
                     [parameter.ncq]\n\
                     values = [\"on\", \"off\"]\n";

/// What only a guest has.
const GUEST: &str = "[parameter.filesystem]\nvalues = [\"ext4\", \"xfs\"]";

fn rows_sha256(folder: &Path, rows: &str) -> String {
    let report = drivelab(folder, &["sweep", "report", "s.toml", "--rows", rows, "--json"]);
    let json = report.json();
    assert_eq!(json["missing"], 0, "{json}");
    json["rows_sha256"].as_str().unwrap().to_owned()
}

#[test]
fn any_shards_give_the_same_rows() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "s.toml", SWEEP);
    let whole = drivelab(folder, &["sweep", "s.toml"]);
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(whole.out.contains("`iodepth` matters most"), "{whole:?}");
    for number in ["3/3", "1/3", "2/3"] {
        let shard = drivelab(folder, &["sweep", "s.toml", "--shard", number, "--rows", "shards"]);
        assert_eq!(shard.code, 0, "{shard:?}");
    }
    assert_eq!(rows_sha256(folder, "shards"), rows_sha256(folder, "s.sweep"));
    // What is made stays, and the rest is made: with its last line torn, one point.
    let path = folder.join("s.sweep/rows-1-of-1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 9]).unwrap();
    let again = drivelab(folder, &["sweep", "s.toml", "--json"]);
    assert_eq!(again.json()["missing"], 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_report_is_written_and_never_over_another_file() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "s.toml", SWEEP);
    drivelab(folder, &["sweep", "report", "s.toml"]).failed(2, &["no point", "drivelab sweep"]);
    assert_eq!(drivelab(folder, &["sweep", "s.toml", "--shard", "1/1"]).code, 0);
    for name in ["a.html", "a.svg", "a.csv", "a.json", "a.txt"] {
        let out = ["sweep", "report", "s.toml", "--out", name];
        assert_eq!(drivelab(folder, &out).code, 0, "{name}");
    }
    assert_eq!(drivelab(folder, &["sweep", "report", "s.toml", "--out", "a.csv"]).code, 0);
    assert!(std::fs::read_to_string(folder.join("a.svg")).unwrap().contains("iodepth"));
    let page = std::fs::read_to_string(folder.join("a.html")).unwrap();
    for words in ["class=\"parts\"", "The best points", "drivelab sweep s.toml"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(drivelab(folder, &["sweep", "report", "s.toml", "--out", "a.html"]).code, 0);
    file(folder, "own.csv", "precious\n");
    let over = drivelab(folder, &["sweep", "report", "s.toml", "--out", "own.csv"]);
    over.failed(2, &["own.csv"]);
    let format = drivelab(folder, &["sweep", "report", "s.toml", "--out", "a.pdf"]);
    format.failed(2, &["a.pdf", ".svg"]);
}

#[test]
fn a_table_needs_its_feature_and_never_goes_over_another() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "s.toml", &SWEEP.replace("points = 64", "points = 4"));
    assert_eq!(drivelab(folder, &["sweep", "s.toml"]).code, 0);
    let out = ["sweep", "report", "s.toml", "--out", "rows.parquet"];
    let made = drivelab(folder, &out);
    if cfg!(feature = "parquet") {
        assert_eq!(made.code, 0, "{made:?}");
        let first = std::fs::read(folder.join("rows.parquet")).unwrap();
        assert_eq!(drivelab(folder, &out).code, 0);
        assert_eq!(std::fs::read(folder.join("rows.parquet")).unwrap(), first);
    } else {
        made.failed(3, &["without Parquet", "--features parquet"]);
    }
    file(folder, "rows.parquet", "PAR1 of another program PAR1");
    drivelab(folder, &out).failed(2, &["rows.parquet", "not a table of drivelab"]);
}

#[test]
fn points_are_kept_as_runs_once() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "s.toml", SWEEP);
    assert_eq!(drivelab(folder, &["sweep", "s.toml"]).code, 0);
    let keep = |more: &[&str]| {
        let words = [&["sweep", "keep", "s.toml", "--archive", "runs.db", "--json"], more].concat();
        let kept = drivelab(folder, &words).json();
        (kept["added"].as_u64().unwrap(), kept["present"].as_u64().unwrap())
    };
    assert_eq!(keep(&["--best", "3"]), (3, 0));
    assert_eq!(keep(&["--best", "5"]), (2, 3));
    assert_eq!(keep(&["--all", "--label", "every"]), (64, 0));
    let best = drivelab(folder, &["sweep", "report", "s.toml", "--json"]).json();
    let (point, value) = (&best["best"][0]["point"], &best["best"][0]["value"]);
    let label = format!("label:s-{point}");
    let shown = drivelab(folder, &["show", &label, "--archive", "runs.db", "--json"]).json();
    assert_eq!(&shown["total"]["iops"], value);
    let all = ["history", "--label", "every", "--last", "0", "--archive", "runs.db", "--json"];
    assert_eq!(drivelab(folder, &all).json()["runs"].as_array().unwrap().len(), 64);
}

#[test]
fn what_cannot_be_swept_is_refused() {
    let folder = folder();
    let folder = folder.path();
    drivelab(folder, &["sweep"]).failed(2, &["FILE"]);
    drivelab(folder, &["sweep", "none.toml"]).failed(2, &["none.toml"]);
    file(folder, "s.toml", SWEEP);
    drivelab(folder, &["sweep", "s.toml", "--shard", "8/7"]).failed(2, &["8/7"]);
    let check = |from: &str, to: &str, words: &[&str]| {
        file(folder, "w.toml", &SWEEP.replace(from, to));
        drivelab(folder, &["sweep", "w.toml"]).failed(2, words);
    };
    check("seagate-st31000333as", "no-drive", &["unknown drive"]);
    check("parameter.ncq", "parameter.nqc", &["neither", "parameter.ncq"]);
    check("values = [1, 4, 32]", "values = [0]", &["iodepth"]);
    let of_guest = ["stage simulate has no `filesystem`", "stage = \"kernel\""];
    check("[parameter.ncq]\nvalues = [\"on\", \"off\"]", GUEST, &of_guest);
    check("points = 64", "points = 64\nstage = \"hardware\"", &["stage", "not at hardware"]);
    check("[load]\n", "[load]\npoisson = true\n", &["point 0", "poisson"]);
}

#[test]
fn a_point_that_did_not_keep_up_is_named_and_not_ranked() {
    let folder = folder();
    let rates = "[parameter.rate_iops]\nvalues = [20, 5000]\n";
    let sweep = SWEEP.split("[parameter.iodepth]").next().unwrap().to_owned() + rates;
    let sweep = sweep.replace("points = 64", "design = \"grid\"").replace("specimens = true", "");
    file(folder.path(), "s.toml", &sweep);
    let said = drivelab(folder.path(), &["sweep", "s.toml", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let json = said.json();
    assert_eq!(json["missing"], 0, "{json}");
    let best = json["best"].as_array().unwrap();
    assert!(best.iter().all(|point| point["factors"]["rate_iops"] == "20"), "{json}");
    let flawed = json["flawed"].as_array().unwrap();
    assert!(flawed.iter().all(|point| point["factors"]["rate_iops"] == "5000"), "{json}");
    assert_eq!((best.len(), flawed.len()), (1, 1), "{json}");
    let why = flawed[0]["why"].as_str().unwrap();
    assert!(why.contains("the rate was not kept up"), "{why}");
}
