//! `compare`: a verdict from results that exist already.

use std::fmt::Write as _;

use crate::common::{drivelab, file, folder};

/// The two published lines: one run each of a kernel driver for IDE and one for AHCI, 2009.
pub(crate) const IDE: &str = "1.96,1.96,kvm,1,1252886317,4G,,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,\
384,,,,,17299,43,379058,99,777,1,24781,49,522877,100,579,1,48125us,1645ms,1545ms,16144us,137ms,\
863ms,1773ms,169us,18519ms,1403ms,14us,14935ms\n";
pub(crate) const AHCI: &str = "1.96,1.96,kvm,1,1252887577,4G,,430,98,52639,14,27533,5,2066,99,62991,4,224.5,\
1,384,,,,,28173,56,373407,98,1645,2,31110,61,522376,99,1026,1,50870us,1532ms,1655ms,10203us,\
21423us,953ms,1363ms,157us,12877ms,1216ms,61us,11397ms\n";

#[test]
fn one_published_run_each_concludes_nothing() {
    let folder = folder();
    file(folder.path(), "ide.csv", IDE);
    file(folder.path(), "ahci.csv", AHCI);
    let said = drivelab(folder.path(), &["compare", "ide.csv", "ahci.csv", "--json"]);
    assert_eq!(said.code, 4, "{said:?}");
    let result = said.json();
    assert_eq!(result["schema"], "drivelab.compare/1");
    assert_eq!(result["verdict"], "inconclusive");
    let metrics = result["metrics"].as_array().unwrap();
    for metric in metrics {
        assert_eq!(metric["verdict"], "inconclusive", "{metric}");
        assert_eq!(metric["n"], 1, "{metric}");
        assert!(metric["runs_needed"].as_u64().is_some_and(|runs| runs >= 6), "{metric}");
    }
    let text = drivelab(folder.path(), &["compare", "ide.csv", "ahci.csv"]).out;
    for word in ["cpu-test", "1.63", "2.12", "0.98"] {
        assert!(text.contains(word), "`{word}` is missing in\n{text}");
    }
}

#[test]
fn the_same_runs_on_both_sides_are_no_comparison() {
    let folder = folder();
    for seed in ["1", "2", "3", "4", "5", "6", "7"] {
        let run = ["run", "drive:generic-5400", "--number-ios", "50", "--json", "--seed", seed];
        file(folder.path(), seed, &drivelab(folder.path(), &run).out);
    }
    let six = ["1", "2", "3", "4", "5", "6"];
    let check = |others: &[&str], words: &str| {
        let arms = [&["compare"], &six[..], &["--"], others].concat();
        let said = drivelab(folder.path(), &arms);
        assert_eq!(said.code, 4, "{said:?}");
        let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words) && text.contains("runs of its own"), "{said:?}");
    };
    check(&six, "have the same runs");
    check(&["7", "2", "3", "4", "5", "6"], "5 of 6 runs of");
    // Of other tools as well, whatever the files are called.
    file(folder.path(), "ide.csv", &IDE.repeat(2));
    file(folder.path(), "copy.csv", &IDE.repeat(2));
    let said = drivelab(folder.path(), &["compare", "ide.csv", "copy.csv", "--json"]);
    assert!(said.out.contains("same-runs"), "{said:?}");
}

fn pairs(effect: f64) -> String {
    let mut text = String::from("block,arm,value\n");
    for block in 0..10_u32 {
        // Noise of about 1 % that has no trend and never repeats.
        let noise = f64::from((block * 7) % 10) / 1000.0;
        writeln!(text, "{block},before,{}", 100.0 * (1.0 + noise)).unwrap();
        writeln!(text, "{block},after,{}", 100.0 * effect * (1.005 - noise)).unwrap();
    }
    text
}

#[test]
fn pairs_give_each_verdict_its_exit_code() {
    let folder = folder();
    let check = |effect: f64, verdict: &str, code: i32| {
        file(folder.path(), "pairs.csv", &pairs(effect));
        let said = drivelab(
            folder.path(),
            &[
                "compare",
                "--pairs",
                "pairs.csv",
                "--baseline",
                "before",
                "--better",
                "more",
                "--json",
            ],
        );
        assert_eq!((said.code, &said.json()["verdict"]), (code, &verdict.into()), "{said:?}");
    };
    check(1.2, "faster", 0);
    check(0.8, "slower", 1);
    check(1.0, "no-practical-difference", 0);
}

#[test]
fn stored_runs_compare() {
    let folder = folder();
    let run = |name: &str, controller: &str, seed: u32| {
        let target = format!("drive:seagate-st31000333as,controller={controller}");
        let seed = seed.to_string();
        let arguments =
            ["run", &target, "--iodepth", "32", "--number-ios", "3000", "--seed", &seed, "--json"];
        let said = drivelab(folder.path(), &arguments);
        file(folder.path(), name, &said.out);
    };
    run("ide.json", "ide", 1);
    run("ahci.json", "ahci", 1);
    let one = drivelab(folder.path(), &["compare", "ide.json", "ahci.json", "--json"]);
    assert_eq!((one.code, &one.json()["verdict"]), (4, &"inconclusive".into()), "{one:?}");
}

#[test]
fn broken_results_are_refused_with_their_line() {
    let folder = folder();
    let check = |content: &[u8], words: &[&str]| {
        std::fs::write(folder.path().join("x.csv"), content).unwrap();
        drivelab(folder.path(), &["compare", "--pairs", "x.csv"]).failed(2, words);
        drivelab(folder.path(), &["compare", "x.csv", "x.csv"]).failed(2, &["x.csv"]);
    };
    check(b"", &["x.csv", "it is empty"]);
    check(b"block,arm,value\n1,a,fast\n", &["x.csv:2", "fast"]);
    check(b"block,arm,value\n1,a\n", &["x.csv:2"]);
    check(b"\x00\xff\xfe\x00", &["x.csv"]);
    check(b"block,arm,value\n1,a,1e999\n", &["x.csv:2"]);
    check(&IDE.as_bytes()[..100], &["x.csv"]);
    drivelab(folder.path(), &["compare", "missing", "also"]).failed(2, &["missing"]);
    drivelab(folder.path(), &["compare", "x.csv", "--", "x.csv", "--unpaired"])
        .failed(2, &["`--unpaired` follows `--`", "put options first"]);
    drivelab(folder.path(), &["compare", "--pairs", "x.csv", "--margin", "0"])
        .failed(2, &["margin"]);
    drivelab(folder.path(), &["compare", "--pairs", "x.csv", "--mei", "2%"])
        .failed(2, &["`--mei` is now named `--margin`"]);
}

/// Runs of a modelled drive with these options, one a seed.
fn runs(folder: &std::path::Path, name: &str, options: &str) {
    let target = format!("drive:generic-5400{options}");
    let mut text = String::new();
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let arguments =
            ["run", &target, "--iodepth", "8", "--number-ios", "100", "--seed", seed, "--json"];
        text.push_str(&drivelab(folder, &arguments).out);
    }
    file(folder, name, &text);
}

#[test]
fn what_differed_between_the_arms_is_shown_and_what_was_not_meant_is_told() {
    let folder = folder();
    runs(folder.path(), "one.json", ",scheduler=none");
    runs(folder.path(), "other.json", ",scheduler=deadline,tags=4");
    let compare = |more: &[&str]| {
        let arguments = [&["compare", "one.json", "other.json"][..], more].concat();
        drivelab(folder.path(), &arguments)
    };
    let said = compare(&["--factor", "scheduler", "--explain"]);
    for words in ["attached with", "queue_depth", "`--factor` says only scheduler"] {
        assert!(said.out.contains(words), "`{words}` is missing: {said:?}");
    }
    let json = compare(&["--factor", "scheduler,queue_depth", "--json"]).json();
    let attached = &json["attached"];
    assert_eq!(attached["factors"], serde_json::json!(["queue-depth", "scheduler"]));
    assert_eq!(attached["warnings"], serde_json::json!([]), "{attached}");
    let row = &attached["differs"][0];
    assert_eq!((&row["name"], &row["values"][1]), (&"queue_depth".into(), &"4".into()));
    compare(&["--factor", "shceduler"]).failed(2, &["did you mean `scheduler`"]);

    let alike = drivelab(folder.path(), &["compare", "one.json", "one.json", "--json"]).json();
    let warning = alike["attached"]["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("both arms ran with controller ahci, queue depth 32"), "{warning}");
}

/// Ten blocks in which `new` has `factor` times what `old` has of `metric`.
fn named(metric: &str, factor: f64) -> String {
    let mut text = String::from("block,arm,value,metric\n");
    for block in 0..10_u32 {
        let noise = 1.0 + f64::from((block * 7) % 10) / 1000.0;
        writeln!(text, "{block},old,{},{metric}", 100.0 * noise).unwrap();
        writeln!(text, "{block},new,{},{metric}", 100.0 * factor * (2.005 - noise)).unwrap();
    }
    text
}

#[test]
fn a_rate_that_falls_is_slower_and_a_time_that_falls_is_faster() {
    let folder = folder();
    let check = |metric: &str, factor: f64, verdict: &str, code: i32| {
        file(folder.path(), "pairs.csv", &named(metric, factor));
        let arguments = ["compare", "--pairs", "pairs.csv", "old", "new", "--json"];
        let said = drivelab(folder.path(), &arguments);
        assert_eq!((said.code, &said.json()["verdict"]), (code, &verdict.into()), "{metric}");
    };
    for rate in ["mb_s", "MB_s", "mib_s", "ops_s", "tps_s", "throughput_mb_s"] {
        check(rate, 0.8, "slower", 1);
        check(rate, 1.25, "faster", 0);
    }
    for time in ["runtime", "walltime", "p99", "p99.9", "clat_p99", "await", "p99 ms", "fsync(ms)"]
    {
        check(time, 0.8, "faster", 0);
        check(time, 1.25, "slower", 1);
    }
}

#[test]
fn a_direction_that_the_name_does_not_say_is_asked_for() {
    let folder = folder();
    file(folder.path(), "pairs.csv", &named("gizmo", 0.8));
    let arguments = ["compare", "--pairs", "pairs.csv", "old", "new"];
    drivelab(folder.path(), &arguments).failed(2, &["`gizmo`", "--better less"]);
}

#[test]
fn the_baseline_is_named_and_not_the_line_that_came_first() {
    let folder = folder();
    let text = named("iops", 0.8);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    for text in [text.clone(), lines.join("\n")] {
        file(folder.path(), "pairs.csv", &text);
        let asked = drivelab(folder.path(), &["compare", "--pairs", "pairs.csv"]);
        asked.failed(2, &["baseline", "--baseline old"]);
        let named = ["compare", "--pairs", "pairs.csv", "--baseline", "old"];
        let said = drivelab(folder.path(), &named);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.contains("more is better"), "{said:?}");
    }
    let both = ["compare", "--pairs", "pairs.csv", "old", "new", "--baseline", "old"];
    drivelab(folder.path(), &both).failed(2, &["--baseline"]);
    let without = ["compare", "a.json", "b.json", "--better", "less"];
    drivelab(folder.path(), &without).failed(2, &["--pairs"]);
}

#[test]
fn the_direction_taken_stands_beside_the_verdict() {
    let folder = folder();
    file(folder.path(), "pairs.csv", &named("gizmo", 0.8));
    let better = |word: &str, verdict: &str, code: i32| {
        let arguments = ["compare", "--pairs", "pairs.csv", "old", "new", "--better", word];
        let said = drivelab(folder.path(), &[&arguments[..], &["--json"]].concat());
        let metric = &said.json()["metrics"][0];
        assert_eq!((said.code, &metric["verdict"]), (code, &verdict.into()), "{said:?}");
        assert_eq!(metric["better"], word);
        let text = drivelab(folder.path(), &arguments).out;
        assert!(text.contains(&format!("{word} is better")), "{text}");
    };
    better("less", "faster", 0);
    better("more", "slower", 1);
    let column =
        named("iops", 0.8).replace("metric\n", "metric,better\n").replace("iops\n", "iops,less\n");
    file(folder.path(), "column.csv", &column);
    let said =
        drivelab(folder.path(), &["compare", "--pairs", "column.csv", "old", "new", "--json"]);
    assert_eq!((said.code, &said.json()["verdict"]), (0, &"faster".into()), "{said:?}");
}

#[test]
fn the_noise_of_equal_runs_is_that_of_runs_and_not_of_their_mean() {
    let folder = folder();
    let mut text = String::new();
    for (block, percent) in
        [3.0, -3.0, 2.9, -2.9, 3.1, -3.1, 2.8, -2.8, 3.0, -3.05].iter().enumerate()
    {
        writeln!(text, "{block},one,100\n{block},again,{}", 100.0 + percent).unwrap();
    }
    file(folder.path(), "aa.csv", &text);
    let said = drivelab(folder.path(), &["compare", "--pairs", "aa.csv", "--aa", "--json"]);
    let floor = &said.json()["floor"];
    assert!(floor["single"].as_f64().is_some_and(|single| single > 0.06), "{floor}");
    assert!(floor["margin"].as_f64().is_some_and(|mean| mean < 0.03), "{floor}");
}
