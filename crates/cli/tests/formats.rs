//! Results of other tools in, out and against one another, as a user types it.

use serde_json::Value;

use crate::common::{drivelab, file, folder};
use crate::compare::{AHCI, IDE};

/// A result of fio of `iops`, made at `second`.
fn fio(iops: f64, second: u64) -> String {
    format!(
        "{{\"fio version\": \"fio-3.33\", \"timestamp\": {second}, \"global options\": \
         {{\"direct\": \"1\"}}, \"jobs\": [{{\"jobname\": \"t\", \"read\": {{\"total_ios\": 900, \
         \"iops\": {iops}, \"bw_bytes\": {}}}}}]}}\n",
        iops * 4096.0
    )
}

#[test]
fn an_import_is_the_json_of_the_contract() {
    let folder = folder();
    file(folder.path(), "ide.csv", IDE);
    let json = drivelab(folder.path(), &["import", "ide.csv", "--json"]).json();
    assert_eq!((&json["tool"], &json["tool_version"]), (&"bonnie++".into(), &"1.96".into()));
    assert_eq!(json["schema"], "drivelab.import/1");
    let results = json["results"].as_array().unwrap();
    let of = |metric: &str| results.iter().find(|it| it["metric"] == metric).unwrap();
    let seeks = serde_json::json!({
        "arm": "kvm", "metric": "seeks", "value": 228.9, "unit": "1/s", "better": "more", "n": 1,
        "spread": null, "labels": ["single-run"],
    });
    assert_eq!(of("seeks"), &seeks);
    let labels = serde_json::json!(["cpu-test", "not-disk", "single-run"]);
    assert_eq!(of("putc")["labels"], labels);
    assert_eq!(json["unknown"], Value::Array(Vec::new()));
    let refused = drivelab(folder.path(), &["import", "ide.csv", "--format", "bonie"]);
    refused.failed(2, &["`bonie` is not a format that is read", "did you mean `bonnie`?"]);
}

#[test]
fn an_export_reads_back_as_the_same_bytes() {
    let folder = folder();
    file(folder.path(), "both.csv", &format!("{IDE}{AHCI}"));
    for format in ["bonnie", "phoronix"] {
        let once = drivelab(folder.path(), &["export", "both.csv", "--format", format]).out;
        file(folder.path(), "once", &once);
        let twice = drivelab(folder.path(), &["export", "once", "--format", format]).out;
        assert_eq!(once, twice, "{format}");
        let read = |name: &str| {
            let json = drivelab(folder.path(), &["import", name, "--json"]).json();
            json["results"].as_array().unwrap().len()
        };
        // The suite's file holds both lines as trials of one system.
        assert_eq!(read("once"), if format == "bonnie" { 72 } else { 36 });
    }
    let said = drivelab(folder.path(), &["export", "both.csv", "--format", "crystaldiskmark"]);
    said.failed(2, &["no figure is one of a test of CrystalDiskMark"]);
}

#[test]
fn an_own_run_is_exported_with_the_sizes_that_it_had() {
    let folder = folder();
    let check = |options: &str, columns: std::ops::Range<usize>, expected: &str| {
        let suite = format!("bonnie,putc=0,drop=never,{options}");
        let run = ["run", ".", "--suite", &suite, "--seed", "9", "--no-archive", "--json"];
        file(folder.path(), "own.json", &drivelab(folder.path(), &run).out);
        let once = drivelab(folder.path(), &["export", "own.json", "--format", "bonnie"]).out;
        let fields: Vec<&str> = once.trim_end().split(',').collect();
        assert_eq!(fields.len(), 50, "{once}");
        assert_eq!(fields[columns].join(","), expected, "{once}");
        file(folder.path(), "once", &once);
        let twice = drivelab(folder.path(), &["export", "once", "--format", "bonnie"]).out;
        assert_eq!(once, twice);
    };
    check("size=2M,seeks=0,n=0", 0..9, "1.98,2.00a,own,1,9,2M,,0,5");
    // The folders are in the column of the chunk, where the original has them.
    check("size=0,n=1:20:10:2", 21..26, "1,20,10,,2");
    check("size=0,n=1:20:10:2:512", 21..26, "1,20,10,2,512");
}

#[test]
fn what_is_exported_as_pairs_is_compared() {
    let folder = folder();
    let runs = |from: f64| (0..6).map(|run| fio(from + f64::from(run), 1)).collect::<String>();
    file(folder.path(), "fio.json", &runs(1000.0));
    let old = drivelab(folder.path(), &["export", "fio.json", "--format", "csv"]).out;
    assert!(old.contains("block,arm,value,metric,better\n"), "{old}");
    assert!(old.contains("\n1,t,1000,iops,more\n"), "{old}");
    file(folder.path(), "faster.json", &runs(2000.0));
    let new = drivelab(folder.path(), &["export", "faster.json", "--format", "csv"]).out;
    let rows = new.lines().filter(|line| line.contains(",t,"));
    let rows: Vec<String> = rows.map(|line| line.replace(",t,", ",u,")).collect();
    let both = format!("{old}\n{}\n", rows.join("\n"));
    file(folder.path(), "both.csv", &both);
    let pairs = ["--pairs", "both.csv", "t", "u", "--primary", "iops", "--json"];
    let json = drivelab(folder.path(), &[&["compare"], &pairs[..]].concat()).json();
    let metrics = json["metrics"].as_array().unwrap();
    let iops = metrics.iter().find(|metric| metric["name"] == "iops").unwrap();
    assert_eq!(iops["n"], 6);
    assert!((iops["ratio"].as_f64().unwrap() - 2002.5 / 1002.5).abs() < 0.001, "{iops}");
}

/// Six runs each, all of one arm before those of the other, or alternately.
fn runs(folder: &std::path::Path, second: impl Fn(u64, u64) -> u64) {
    for (arm, name) in [(0, "before"), (1, "after")] {
        std::fs::create_dir(folder.join(name)).unwrap();
        for run in 0..6_u32 {
            let noise = f64::from((run * 7 + 3 * u32::from(arm == 1)) % 6);
            let iops = if arm == 0 { 100.0 + noise } else { 150.0 + noise };
            let text = fio(iops, second(arm, run.into()));
            file(folder, &format!("{name}/{run}.json"), &text);
        }
    }
}

fn compared(folder: &std::path::Path, more: &[&str]) -> Value {
    let of = |name: &str| (0..6).map(|run| format!("{name}/{run}.json")).collect::<Vec<_>>();
    let files = [of("before"), vec!["--".to_owned()], of("after")].concat();
    let arguments: Vec<&str> = ["compare", "--json"]
        .into_iter()
        .chain(more.iter().copied())
        .chain(files.iter().map(String::as_str))
        .collect();
    drivelab(folder, &arguments).json()
}

#[test]
fn runs_that_did_not_alternate_are_not_paired() {
    let folder = folder();
    runs(folder.path(), |arm, run| 1000 + 100 * arm + run);
    let json = compared(folder.path(), &[]);
    assert_eq!((&json["design"], &json["verdict"]), (&"unpaired".into(), &"faster".into()));
    assert_eq!(json["arms"][1]["name"], "after");
    let warnings = json["metrics"][0]["warnings"].to_string();
    assert!(warnings.contains("unpaired: the runs of the arms were not made alternately"));
    let notes = json["notes"].to_string();
    assert!(notes.contains("all runs of one arm were made before those of the next"), "{notes}");
}

#[test]
fn runs_that_alternated_are_pairs_unless_the_user_says_otherwise() {
    let folder = folder();
    runs(folder.path(), |arm, run| 1000 + 2 * run + arm);
    assert_eq!(compared(folder.path(), &[])["design"], "paired");
    assert_eq!(compared(folder.path(), &["--unpaired"])["design"], "unpaired");
}

#[test]
fn mixtures_are_compared_by_what_they_have_in_common() {
    let folder = folder();
    let target = "drive:seagate-st31000333as";
    let run = drivelab(folder.path(), &["run", target, "--runtime", "1s", "--json"]).out;
    file(folder.path(), "model.json", &run);
    file(folder.path(), "real.json", &fio(75.0, 1));
    let json = drivelab(folder.path(), &["compare", "model.json", "real.json", "--json"]).json();
    assert_eq!((&json["source"], &json["primary"]), (&"drivelab, fio".into(), &"iops".into()));
    let notes = json["notes"].to_string();
    assert!(notes.contains("measured with different tools (drivelab, fio)"), "{notes}");
}

#[test]
fn what_is_not_comparable_is_refused_with_the_reason() {
    let folder = folder();
    let csv = drivelab(folder.path(), &["--help"]).code;
    assert_eq!(csv, 0);
    let mark = "CrystalDiskMark 8.0.4\n[Read]\nSEQ 1MiB (Q= 8, T= 1): 500.000 MB/s\n";
    file(folder.path(), "mark.txt", mark);
    file(folder.path(), "ide.csv", IDE);
    let said = drivelab(folder.path(), &["compare", "mark.txt", "ide.csv"]);
    assert_eq!(said.code, 2, "{said:?}");
    let xml = drivelab(folder.path(), &["export", "ide.csv", "--format", "phoronix"]).out;
    file(folder.path(), "other.xml", &xml.replace("KiB/s", "MB/s"));
    let said =
        drivelab(folder.path(), &["compare", "ide.csv", "other.xml", "--primary", "put_block"]);
    said.failed(2, &["`put_block` is not comparable: it is in `MB/s` in `other`"]);
    file(
        folder.path(),
        "new.csv",
        &IDE.replace("1.96,1.96", "1.98,2.00a").replace("4G,,", "4G,,,,"),
    );
    let said =
        drivelab(folder.path(), &["compare", "ide.csv", "new.csv", "--primary", "seeks_cpu"]);
    said.failed(2, &["`seeks_cpu` is not comparable: in `new` alone the tool gets it wrong"]);
}

#[test]
fn folders_of_two_studies_are_compared_arm_by_arm() {
    let folder = folder();
    file(folder.path(), "small.toml", crate::common::SMALL);
    for out in ["monday", "tuesday"] {
        let said = drivelab(folder.path(), &["study", "small.toml", "--out", out]);
        assert!(folder.path().join(out).join("runs.jsonl").is_file(), "{said:?}");
    }
    let said = drivelab(folder.path(), &["import", "monday", "--json"]).json();
    let result = &said["results"][0];
    let (arm, metric) = (result["arm"].as_str().unwrap(), result["metric"].as_str().unwrap());
    let primary = format!("{arm}/{metric}");
    let said =
        drivelab(folder.path(), &["compare", "monday", "tuesday", "--primary", &primary, "--json"]);
    let json = said.json();
    assert_eq!((&json["design"], &json["primary"]), (&"unpaired".into(), &primary.into()));
}

#[test]
fn published_articles_are_shown_with_what_follows_from_them() {
    let folder = folder();
    for number in 0..5 {
        let said = drivelab(folder.path(), &["show", &format!("article:{number}")]);
        assert!(said.out.contains("May not be concluded:"), "{said:?}");
    }
    let json = drivelab(folder.path(), &["show", "article:1", "--json"]).json();
    assert_eq!(json["figures"][2]["labels"], serde_json::json!(["page-cache", "not-disk"]));
    drivelab(folder.path(), &["show", "article:9"]).failed(2, &["there is no article `9`"]);
}
