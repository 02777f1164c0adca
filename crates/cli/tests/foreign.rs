//! Results of other tools from their text to the verdict.

use drivelab_analysis::comparison::{
    ArmResults, CompareOptions, CompareResult, analyse, from_foreign, from_lines,
};
use drivelab_core::record::{Label, Nature};
use drivelab_formats::results;
use drivelab_report::comparison::{json, text};
use drivelab_report::text::Look;
use drivelab_stats::Verdict;

use crate::common::{drivelab, file, folder};
use crate::compare::{AHCI, IDE};

const PLAIN: Look = Look { width: 100, colour: false };

fn options() -> CompareOptions {
    let (primary, factors, unpaired) = (None, Vec::new(), None);
    CompareOptions { primary, margin: 0.03, seed: 1, factors, unpaired }
}

fn published() -> CompareResult {
    let read = |name: &str, line| ArmResults {
        name: name.to_owned(),
        files: vec![results::parse(line).unwrap()],
    };
    let arms = [read("piix", IDE), read("ahci", AHCI)];
    analyse(&from_foreign(&arms).unwrap(), &options()).unwrap()
}

#[test]
fn one_published_run_each_has_no_verdict_in_any_metric() {
    let result = published();
    assert_eq!(result.series[result.primary().series].name, "seeks");
    assert!(result.outcomes.iter().all(|o| o.verdict() == Verdict::Inconclusive));
    assert_eq!(result.primary().adjusted.comparison.runs_needed, Some(6));
    let check = |metric: &str, expected: f64| {
        let mut outcomes = result.outcomes.iter();
        let outcome = outcomes.find(|o| result.series[o.series].name == metric).unwrap();
        let ratio = outcome.adjusted.comparison.ratio;
        assert!((ratio - expected).abs() < 0.005, "{metric}: {ratio}");
    };
    // As recomputed from the article.
    check("put_block", 0.999);
    check("rewrite", 1.013);
    check("get_block", 1.003);
    check("seeks", 0.981);
    check("seq_create", 1.63);
    check("seq_del", 2.12);
    check("ran_create", 1.26);
    check("ran_del", 1.77);
}

#[test]
fn the_published_columns_are_named_for_what_they_are() {
    let result = published();
    let check = |metric: &str, label, expected| {
        let place = result.series.iter().position(|s| s.name == metric).unwrap();
        assert_eq!(result.facts[place].is(label), expected, "{metric}");
    };
    check("putc", Label::Nature(Nature::Cpu), true);
    check("getc", Label::Nature(Nature::Cpu), true);
    check("seq_stat", Label::Nature(Nature::Cpu), true);
    check("ran_stat", Label::Nature(Nature::PageCache), true);
    check("seq_create", Label::Nature(Nature::JournalSync), true);
    check("ran_del", Label::Nature(Nature::JournalSync), true);
    check("put_block", Label::NotDisk, false);
    check("seeks", Label::SingleRun, true);
}

#[test]
fn text_of_the_published_lines() {
    insta::assert_snapshot!(text(&published(), PLAIN), @r"
ahci against piix

Nothing can be concluded from one run each in seeks: `ahci` has 224.5 1/s, `piix` 228.9 1/s (x0.981,
  one run each, so no interval; more is better); 1 run of each allows no verdict: at least 6 are
  needed.
Inconclusive: put block (x0.999); rewrite (x1.013); get block (x1.003); seq create (x1.63); seq del
  (x2.12); ran create (x1.26); ran del (x1.77).
Not measured on a disk: putc, getc (no disk is this slow: it measured the CPU); seq_stat, ran_stat
  (looking up names in memory involves no disk).
A test of the CPU: putc, getc (one system call per byte (99 % CPU): it counts system calls);
  seq_stat (empty files are looked up in memory (99 % CPU)); ran_stat (empty files are looked up in
  memory (100 % CPU)).
Answered from memory: seq_stat, ran_stat (the files were just created and are looked up in memory).
A test of journal and sync(): seq_create, seq_del, ran_create, ran_del (the phase ends with sync()
  inside the timed part: it measures how the file system writes its journal and flushes it).

In each metric of this table more is better.
metric             piix         ahci   ratio  verdict                 what it is
putc          439 KiB/s    430 KiB/s  x0.979  inconclusive            cpu-test, not-disk
put_block   52686 KiB/s  52639 KiB/s  x0.999  inconclusive
rewrite     27168 KiB/s  27533 KiB/s  x1.013  inconclusive
getc         2039 KiB/s   2066 KiB/s  x1.013  inconclusive            cpu-test, not-disk
get_block   62782 KiB/s  62991 KiB/s  x1.003  inconclusive
seeks         228.9 1/s    224.5 1/s  x0.981  inconclusive (primary)
seq_create    17299 1/s    28173 1/s   x1.63  inconclusive            journal-sync
seq_stat     379058 1/s   373407 1/s  x0.985  inconclusive            page-cache, cpu-test, not-disk
seq_del         777 1/s     1645 1/s   x2.12  inconclusive            journal-sync
ran_create    24781 1/s    31110 1/s   x1.26  inconclusive            journal-sync
ran_stat     522877 1/s   522376 1/s  x0.999  inconclusive            page-cache, cpu-test, not-disk
ran_del         579 1/s     1026 1/s   x1.77  inconclusive            journal-sync

Warning: `putc`, `putc_cpu`, `putc_latency` and 33 more: few-blocks: n = 1, but at least 6 blocks
  are needed: chance alone gives as clear a result more than 5 % of the time; run each arm 6 times
  or more
How to read this: ratios above 1 are better than `piix`; n = 1 block, margin 3 %, seed 1; the
  primary metric decides and is not adjusted, the other 35 comparisons are adjusted for one another:
  the chance that any of these wrongly says faster, slower or different is at most 5 %, and so is
  the chance of wrongly saying no practical difference. 24 more metrics (CPU load, maximum
  latencies) are in the JSON.
");
}

#[test]
fn json_keeps_its_contract() {
    let value: serde_json::Value = serde_json::from_str(&json(&published())).unwrap();
    assert_eq!(value["schema"], "drivelab.compare/1");
    assert_eq!((&value["primary"], &value["verdict"]), (&"seeks".into(), &"inconclusive".into()));
    let metrics = value["metrics"].as_array().unwrap();
    let putc = metrics.iter().find(|metric| metric["name"] == "putc").unwrap();
    assert_eq!(putc["labels"], serde_json::json!(["cpu-test", "not-disk", "single-run"]));
    assert_eq!(putc["arms"], serde_json::json!(["piix", "ahci"]));
    assert_eq!(putc["n"], 1);
    assert_eq!(putc["runs_needed"], 6);
    assert!(putc["warnings"][0].as_str().unwrap().starts_with("few-blocks: "));
}

#[test]
fn two_lines_in_one_file_are_two_arms() {
    let check = |text: &str, expected: Result<&[&str], &str>| {
        let input = from_lines(&results::parse(text).unwrap());
        let names = input.map(|i| i.arms.into_iter().map(|arm| arm.name).collect::<Vec<_>>());
        match (names, expected) {
            (Ok(names), Ok(expected)) => assert_eq!(names, expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected)),
            (names, _) => panic!("{names:?} instead of {expected:?}"),
        }
    };
    check(&format!("{IDE}\n{AHCI}"), Ok(&["kvm-1", "kvm-2"]));
    let renamed = AHCI.replace("kvm", "ahci");
    check(&format!("{IDE}\n{renamed}\n{IDE}"), Ok(&["kvm", "ahci"]));
    check(IDE, Err("there is one arm"));
    check(&format!("{IDE}\n{IDE}\n{IDE}"), Err("into a separate file"));
}

#[test]
fn several_lines_are_runs_of_their_arm() {
    let lines = |line: &str| results::parse(&[line; 3].join("\n")).unwrap();
    let arms = [("piix".to_owned(), lines(IDE)), ("ahci".to_owned(), lines(AHCI))];
    let arms = arms.map(|(name, imported)| ArmResults { name, files: vec![imported] });
    let result = analyse(&from_foreign(&arms).unwrap(), &options()).unwrap();
    assert_eq!(result.blocks.len(), 3);
    assert!(result.facts.iter().all(|facts| !facts.is(Label::SingleRun)));
    assert!(result.notes.iter().any(|note| note.contains("paired in the given order")));
}

/// The output of one call of fio: a warning, and a job that read at about `iops`.
fn fio(iops: f64) -> String {
    format!(
        r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{{
  "fio version" : "fio-3.36",
  "global options" : {{ "direct" : "1", "rw" : "randread" }},
  "jobs" : [ {{
    "jobname" : "reader", "groupid" : 0, "error" : 0,
    "read" : {{ "total_ios" : 20000, "iops" : {iops}, "bw_bytes" : {bytes},
      "lat_ns" : {{ "mean" : {mean}, "N" : 20000 }},
      "clat_ns" : {{ "mean" : {mean}, "N" : 20000,
        "percentile" : {{ "50.000000" : {mean}, "99.000000" : {mean} }} }} }},
    "write" : {{ "total_ios" : 0 }} }} ]
}}
"#,
        bytes = 4096.0 * iops,
        mean = 1e9 / iops,
    )
}

#[test]
fn results_of_fio_are_compared_run_by_run() {
    let folder = folder();
    // Noise of about 1 % that has no trend and never repeats.
    let noise = |run: u32| 1.0 + f64::from((run * 7) % 10) / 1000.0;
    let before: String = (0..8).map(|run| fio(1000.0 * noise(run))).collect();
    let after: String = (0..8).map(|run| fio(1200.0 * noise(run + 3))).collect();
    file(folder.path(), "before.json", &before);
    file(folder.path(), "after.json", &after);
    let said = drivelab(folder.path(), &["compare", "before.json", "after.json", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let result = said.json();
    assert_eq!((&result["primary"], &result["verdict"]), (&"iops".into(), &"faster".into()));
    let metrics = result["metrics"].as_array().unwrap();
    let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    assert_eq!(of("iops")["n"], 8);
    assert_eq!(of("clat_p99_ns")["verdict"], "faster", "less is better");
    let swapped = drivelab(folder.path(), &["compare", "after.json", "before.json", "--json"]);
    assert_eq!((swapped.code, &swapped.json()["verdict"]), (1, &"slower".into()));
    for name in ["before", "after"] {
        let one = r#"{ "jobname" : "other", "read" : { "total_ios" : 9, "iops" : 9.5 } },"#;
        let text = if name == "before" { &before } else { &after };
        let two = text.replace("\"jobs\" : [", &format!("\"jobs\" : [ {one}"));
        file(folder.path(), &format!("{name}-2.json"), &two);
    }
    drivelab(folder.path(), &["compare", "before-2.json", "after-2.json"])
        .failed(2, &["--primary and one of other.iops, reader.iops"]);
    file(folder.path(), "cut.json", &before[..before.len() - 9]);
    let said = drivelab(folder.path(), &["compare", "cut.json", "after.json"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("cut.json:95: the JSON is truncated"), "{said:?}");
}

/// Six runs of wrk, at about this rate.
fn wrk(requests_per_s: u32) -> String {
    let run = |at: u32| {
        format!(
            "Running 30s test @ http://127.0.0.1:8080/index.html\n  12 threads and 400 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   6{at}.91us    0.89ms  \
             12.92ms   93.69%\n  Latency Distribution\n     50%  2{at}.00us\n     99%    5.8{at}ms\n  \
             22464657 requests in 30.00s, 17.76GB read\nRequests/sec: {}\nTransfer/sec:    \
             606.33MB\n",
            requests_per_s + at
        )
    };
    (1..=6).map(run).collect()
}

#[test]
fn the_rate_of_wrk_decides_and_no_detail() {
    let folder = folder();
    file(folder.path(), "one.txt", &wrk(1000));
    file(folder.path(), "two.txt", &wrk(1100));
    let compared = drivelab(folder.path(), &["compare", "one.txt", "two.txt"]);
    assert!(compared.out.contains("Faster in requests: `two` gives 10 % more"), "{}", compared.out);
    let json = drivelab(folder.path(), &["compare", "one.txt", "two.txt", "--json"]).json();
    assert_eq!(json["primary"], "requests");
}

#[test]
fn percentiles_of_wrk2_are_those_of_wrk() {
    let folder = folder();
    let spectrum: Vec<_> = (1..60).map(|at| format!("  {at}.0 0.{at:06} {at} 1.00\n")).collect();
    let spectrum = spectrum.concat();
    let paced = wrk(1000)
        .replace("Latency Distribution\n     50%", "Latency Distribution (HdrHistogram)\n 50.000%")
        .replace("     99%", " 99.000%")
        .replace(
            "  22464657",
            &format!("  Detailed Percentile spectrum:\n{spectrum}#[Mean = 0.6]\n-----\n  22464657"),
        );
    file(folder.path(), "wrk.txt", &wrk(1000));
    file(folder.path(), "wrk2.txt", &paced);
    let names = |name: &str| -> Vec<String> {
        let json = drivelab(folder.path(), &["import", name, "--json"]).json();
        assert_eq!(json["unknown"], serde_json::json!([]));
        let results = json["results"].as_array().unwrap().iter();
        results.map(|it| it["metric"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("wrk.txt"), names("wrk2.txt"));
    assert!(names("wrk2.txt").contains(&"requests_latency_p99".to_owned()));
}

#[test]
fn lines_that_are_not_read_are_counted_and_details_are_named() {
    let folder = folder();
    let odd: Vec<_> = (0..9).map(|at| format!("odd {at} of 9 things\n")).collect();
    let odd = odd.concat();
    file(folder.path(), "odd.txt", &format!("{}{odd}", wrk(5)));
    let odd = drivelab(folder.path(), &["import", "odd.txt"]).out;
    assert_eq!(odd.matches("Not read: line").count(), 5, "{odd}");
    assert!(odd.contains("Not read: 4 more lines, in the JSON."), "{odd}");
    assert!(odd.contains("more figures (latencies, rates) are in the JSON"), "{odd}");
    let report = "CrystalDiskMark 6.0.0 x64 (C) 2007-2017 hiyohiyo\n* MB/s = 1,000,000 bytes/s\n   \
                  Sequential Read (Q= 32,T= 1) :   561.234 MB/s\n  Random Read 4KiB (Q=  8,T= 8) :   \
                  401.345 MB/s [  97984.6 IOPS]\n";
    file(folder.path(), "cdm.txt", report);
    let said = drivelab(folder.path(), &["import", "cdm.txt"]).out;
    assert!(said.contains("Note: 1 more figure (rates) is in the JSON."), "{said}");
    let report = "KDiskMark (3.2.0): https://github.com/JonMagon/KDiskMark\n* MB/s = 1,000,000 \
                  bytes/s\n\n[Read]\nSequential   1 MiB (Q=  8, T= 1):   561.234 MB/s [    548.1 \
                  IOPS] < 14555.22 us>\n\nTarget: /home/a\n";
    file(folder.path(), "kdm.txt", report);
    let json = drivelab(folder.path(), &["import", "kdm.txt", "--json"]).json();
    assert_eq!(json["unknown"], serde_json::json!([]));
}
