//! Comparisons of known results.

use std::fmt::Write as _;

use drivelab_analysis::comparison::{
    ArmResults, Choice, CompareOptions, CompareResult, analyse, from_foreign, from_pairs, from_runs,
};
use drivelab_analysis::pairs;
use drivelab_analysis::run::Dated;
use drivelab_core::Invalid;
use drivelab_core::record::{
    Figure, Host, Nature, Phase, RUN_SCHEMA, RunConfig, RunRecord, Specimen, Tally,
};
use drivelab_core::request::Op;
use drivelab_core::rng::Rng;
use drivelab_core::units::Span;
use drivelab_core::workload::WorkloadOptions;
use drivelab_stats::{Better, Verdict};

use super::*;
use crate::specimens::tests::specimens;
use crate::text::Look;

mod doubtful;
mod withheld;

const PLAIN: Look = Look { width: 100, colour: false };

fn options() -> CompareOptions {
    let (primary, factors, unpaired) = (None, Vec::new(), None);
    CompareOptions { primary, margin: 0.03, seed: 1, factors, unpaired }
}

fn of_pairs(text: &str, wanted: &[&str]) -> Result<CompareResult, Invalid> {
    let rows = pairs::parse(text).map_err(Invalid::new)?;
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let choice = Choice { arms: wanted, better: Some(Better::More), ..Choice::default() };
    let input = from_pairs(&rows, &choice).map_err(Invalid::new)?;
    analyse(&input, &options()).map_err(Invalid::new)
}

/// Pairs with a known ratio and noise of `noise`, from a seed.
fn csv(ratio: f64, noise: f64, blocks: u32, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut spread = || 1.0 + noise * (rng.unit() + rng.unit() + rng.unit() - 1.5);
    let mut text = String::from("block,arm,value\n");
    for block in 0..blocks {
        let host = spread();
        let (a, b) = (100.0 * host * spread(), 100.0 * ratio * host * spread());
        writeln!(text, "{block},ide,{a}\n{block},ahci,{b}").unwrap();
    }
    text
}

#[test]
fn pairs_of_known_truth_get_their_verdict() {
    for seed in 0..20 {
        let check = |ratio, noise, expected| {
            let result = of_pairs(&csv(ratio, noise, 20, seed), &["ide", "ahci"]).unwrap();
            assert_eq!(result.verdict(), expected, "ratio {ratio}, seed {seed}");
        };
        check(1.3, 0.03, Verdict::Faster);
        check(0.7, 0.03, Verdict::Slower);
        check(1.0, 0.005, Verdict::NoPracticalDifference);
    }
}

#[test]
fn arms_are_taken_by_name_and_order() {
    let text = csv(2.0, 0.01, 8, 1);
    let check = |wanted: &[&str], expected: Result<Verdict, &str>| {
        let result = of_pairs(&text, wanted).map(|result| result.verdict());
        assert_eq!(result, expected.map_err(Invalid::from), "{wanted:?}");
    };
    check(&["ide", "ahci"], Ok(Verdict::Faster));
    check(&["ahci", "ide"], Ok(Verdict::Slower));
    check(&["ide", "ahcy"], Err("there is no arm `ahcy`; did you mean `ahci`?"));
    check(&["ide"], Err("there is one arm, `ide`: a comparison needs two"));
}

/// What a choice among these rows leads to: the arms and the first metric's direction.
fn chosen(text: &str, choice: &Choice) -> Result<(Vec<String>, Better), Invalid> {
    let rows = pairs::parse(text).map_err(Invalid::new)?;
    let input = from_pairs(&rows, choice).map_err(Invalid::new)?;
    let (figure, _) = input.arms[0].runs[0].figures.iter().next().unwrap();
    let better = figure.better;
    Ok((
        input.arms.into_iter().map(|arm| arm.name).collect(),
        drivelab_analysis::metric::better(better),
    ))
}

#[test]
fn the_order_of_the_lines_chooses_nothing() {
    let check = |text: &str, baseline: Option<&str>, expected: Result<&[&str], &str>| {
        let lines: Vec<&str> = text.split(' ').collect();
        let reversed: Vec<&str> = lines.iter().rev().copied().collect();
        for lines in [lines, reversed] {
            let baseline = baseline.map(str::to_owned);
            let choice = Choice { baseline, better: Some(Better::More), ..Choice::default() };
            match (chosen(&lines.join("\n"), &choice), expected) {
                (Ok((names, _)), Ok(expected)) => assert_eq!(names, expected, "{text}"),
                (Err(error), Err(expected)) => assert!(error.0.contains(expected), "{error}"),
                (result, _) => panic!("{result:?} instead of {expected:?}"),
            }
        }
    };
    check("1,old,1 1,new,2", None, Err("--baseline new or --baseline old"));
    check("1,old,1 1,new,2", Some("old"), Ok(&["old", "new"]));
    check("1,old,1 1,new,2", Some("new"), Ok(&["new", "old"]));
    check("1,old,1 1,new,2", Some("nwe"), Err("did you mean `new`?"));
    check("1,A,1 1,B,2", None, Ok(&["A", "B"]));
    check("1,A,1 1,B,2", Some("B"), Ok(&["B", "A"]));
    check("1,x,1 1,y,2 1,z,3", None, Err("the baseline first"));
    check("1,x,1 1,y,2 1,z,3", Some("x"), Err("the baseline first"));
    check("1,x,1", None, Err("there is one arm"));
}

#[test]
fn the_direction_is_what_the_file_the_user_or_the_name_says() {
    let check = |metric: &str, column: &str, word, expected: Result<Better, &str>| {
        let text = format!("1,A,1,{metric},{column}\n1,B,2,{metric},\n");
        let choice = Choice { better: word, ..Choice::default() };
        match (chosen(&text, &choice), expected) {
            (Ok((_, better)), Ok(expected)) => assert_eq!(better, expected, "{text}"),
            (Err(error), Err(expected)) => assert!(error.0.contains(expected), "{error}"),
            (result, _) => panic!("{result:?} instead of {expected:?}"),
        }
    };
    let (less, more) = (Better::Less, Better::More);
    check("iops", "", None, Ok(more));
    check("gizmo", "", None, Err("--better less"));
    check("gizmo", "less", None, Ok(less));
    check("gizmo", "", Some(less), Ok(less));
    // The user's word goes before the name, and the file's before both.
    check("iops", "less", None, Ok(less));
    check("iops", "", Some(less), Ok(less));
    check("iops", "more", Some(less), Ok(more));
    check("iops", "up", None, Err("is not a direction"));
    let both = "1,A,1,gizmo,less\n1,B,2,gizmo,more\n";
    let error = chosen(both, &Choice::default()).unwrap_err();
    assert!(
        error.0.starts_with("line 2 contradicts an earlier line on which direction of `gizmo`"),
        "{error}"
    );
}

#[test]
fn a_word_for_all_does_not_turn_known_metrics_round() {
    let text = "1,A,1,iops\n1,A,1,gizmo\n1,B,2,iops\n1,B,2,gizmo\n";
    let choice = Choice { better: Some(Better::Less), ..Choice::default() };
    let input = from_pairs(&pairs::parse(text).unwrap(), &choice).unwrap();
    let result = analyse(&input, &options()).unwrap();
    let better: Vec<Better> = result.series.iter().map(|series| series.better).collect();
    assert_eq!(better, [Better::More, Better::Less]);
    assert!(
        result.notes[0].starts_with("`--better` does not apply to `iops`"),
        "{:?}",
        result.notes
    );
}

#[test]
fn the_metric_that_decides_is_no_chance_either() {
    let decides = |text: &str| {
        let result = of_pairs(text, &["A", "B"]);
        result.map(|result| result.series[result.primary().series].name.clone())
    };
    let orderly = "1,A,1,tps\n1,A,2,iops\n1,B,1,tps\n1,B,2,iops\n";
    assert_eq!(decides(orderly), Ok("tps".to_owned()));
    let mixed = "1,A,1,tps\n1,A,2,iops\n1,B,2,iops\n1,B,1,tps\n";
    let error = decides(mixed).unwrap_err();
    assert!(error.0.contains("--primary and one of tps, iops"), "{error}");
}

#[test]
fn a_run_given_six_times_is_one_run() {
    let runs = |latency: u64| vec![record(latency, "one"); 6];
    let different = |latency: u64| (0..6).map(|i| record(latency + i, "one")).collect::<Vec<_>>();
    let check = |slow: Vec<RunRecord>, fast: Vec<RunRecord>, blocks: usize, verdict| {
        let arms = [("slow".to_owned(), slow), ("fast".to_owned(), fast)];
        let result = analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap();
        assert_eq!((result.blocks.len(), result.verdict()), (blocks, verdict));
    };
    check(different(200), different(100), 6, Verdict::Faster);
    check(runs(200), runs(100), 1, Verdict::Inconclusive);
    // Copies in one arm only are seen too, though no pair repeats.
    check(runs(200), different(100), 1, Verdict::Inconclusive);
}

#[test]
fn only_complete_blocks_count() {
    let mut text = csv(2.0, 0.01, 8, 1);
    text += "left,ide,100\nalso-left,ahci,100\n";
    let result = of_pairs(&text, &["ide", "ahci"]).unwrap();
    assert_eq!(result.blocks.len(), 8);
    let expected = "Ignored: 2 blocks without `value` for some arm (also-left, left).";
    assert!(result.notes.contains(&expected.to_owned()), "{:?}", result.notes);
    let apart = of_pairs("1,ide,100\n2,ahci,100", &["ide", "ahci"]).unwrap_err();
    assert!(apart.0.starts_with("no block has a usable value"), "{apart}");
    let others = of_pairs("1,ide,100,tps\n1,ahci,100,seeks", &["ide", "ahci"]).unwrap_err();
    let expected = "no metric in common: `ide` has `tps`; `ahci` has `seeks`";
    assert!(others.0.ends_with(expected), "{others}");
}

#[test]
fn repeats_in_a_block_are_one_value() {
    let text = "1,a,1\n1,a,4\n1,b,2\n";
    let result = of_pairs(text, &[]).unwrap();
    assert!((result.primary().adjusted.comparison.ratio - 1.0).abs() < 1e-9);
    assert!(result.notes[0].contains("first in line 2"), "{:?}", result.notes);
}

#[test]
fn a_metric_that_is_not_everywhere_is_left_out() {
    let text = "1,a,1,iops\n1,b,2,iops\n1,a,5,lat\n2,a,1,iops\n2,b,2,iops\n2,b,5,lat\n";
    let result = of_pairs(text, &[]).unwrap();
    assert_eq!(result.series.len(), 1);
    let expected = "`lat` is not compared: it is missing in a block of an arm.";
    assert_eq!(result.notes.last().map(String::as_str), Some(expected));
}

pub(crate) fn record(latency_us: u64, host: &str) -> RunRecord {
    let mut tally = Tally { elapsed: Span::from_secs(1), ..Tally::default() };
    let reads = tally.of_mut(Op::Read);
    reads.ios = 1_000_000 / latency_us;
    reads.bytes = reads.ios * 4096;
    reads.lat.record_times(Span::from_us(latency_us), reads.ios);
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        target: "disk.img".to_owned(),
        label: None,
        ended_unix_s: None,
        config: RunConfig {
            polling: Vec::new(),
            drivelab: "0.1.0".to_owned(),
            ioengine: "psync".to_owned(),
            direct: true,
            numjobs: 1,
            conduct: drivelab_core::JobSchedule::default(),
            seed: 1,
            workload: Some(WorkloadOptions::default().check().unwrap()),
            ..RunConfig::default()
        },
        jobs: vec![tally.record()],
        total: Some(tally.record()),
        phases: Vec::new(),
        marks: Vec::new(),
        host: Some(Host {
            kernel: "Linux 6.1".to_owned(),
            cpu: "a processor".to_owned(),
            cpus: 2,
            memory_bytes: 1 << 30,
            id: host.to_owned(),
        }),
        attached: None,
        served: None,
        guest: None,
        specimen: None,
        flash: None,
        verification: None,
        hosts: None,
    }
}

/// Arms of runs whose times are unknown.
pub(crate) fn undated<const N: usize>(
    arms: [(String, Vec<RunRecord>); N],
) -> [(String, Vec<Dated>); N] {
    arms.map(|(name, runs)| (name, runs.into_iter().map(Dated::from).collect()))
}

#[test]
fn stored_runs_are_paired_in_order() {
    let runs = |latency: u64| (0..8).map(|i| record(latency + i, "one")).collect::<Vec<_>>();
    let arms = [("slow".to_owned(), runs(200)), ("fast".to_owned(), runs(100))];
    let result = analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap();
    assert_eq!(result.series[result.primary().series].name, "iops");
    assert_eq!(result.verdict(), Verdict::Faster);
    // 5,000 requests a run: no p99.
    assert!(result.series.iter().all(|series| series.name != "lat_p99_ns"));
}

#[test]
fn runs_of_different_machines_are_refused() {
    let arms = [
        ("here".to_owned(), vec![record(100, "one")]),
        ("there".to_owned(), vec![record(100, "two")]),
    ];
    let error = from_runs(&undated(arms)).unwrap_err().to_string();
    assert!(
        error.starts_with("the arms ran on different machines (`here` on one, `there` on two)"),
        "{error}"
    );
    // Half a block of a machine is none.
    let arms = [
        ("here".to_owned(), vec![record(100, "one"), record(100, "two")]),
        ("there".to_owned(), vec![record(101, "one"), record(102, "one")]),
    ];
    from_runs(&undated(arms)).unwrap_err();
}

#[test]
fn each_machine_is_compared_with_itself() {
    // One machine is ten times the other: by their order the runs would pair across them.
    let runs = |latency: u64, hosts: [(u64, &str); 2]| {
        let of_host = |(factor, host)| (0..4).map(move |i| record(factor * latency + i, host));
        hosts.into_iter().flat_map(of_host).collect::<Vec<_>>()
    };
    let arms = [
        ("slow".to_owned(), runs(200, [(1, "one"), (10, "two")])),
        ("fast".to_owned(), runs(100, [(10, "two"), (1, "one")])),
    ];
    let result = analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap();
    assert_eq!(result.verdict(), Verdict::Faster);
    assert_eq!(result.blocks.len(), 8);
    assert!(result.blocks.contains(&"two 4".to_owned()), "{:?}", result.blocks);
    assert!(result.notes.iter().any(|note| note.contains("several machines")), "{result:?}");
    let ratio = result.primary().adjusted.comparison.ratio;
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn results_of_different_machines_are_refused_too() {
    let arm = |name: &str, runs: &[(u64, &str)]| {
        let records: Vec<RunRecord> =
            runs.iter().map(|(latency, host)| record(*latency, host)).collect();
        ArmResults {
            name: name.to_owned(),
            files: vec![drivelab_analysis::run::results(name, records.iter())],
        }
    };
    let apart = [arm("here", &[(100, "one")]), arm("there", &[(101, "two")])];
    let error = from_foreign(&apart).unwrap_err().to_string();
    assert!(error.starts_with("the arms ran on different machines (`here` on one,"), "{error}");
    let both = |latency| [(latency, "one"), (10 * latency, "two"), (latency + 1, "one")];
    let arms = [arm("old", &both(200)), arm("new", &both(100))];
    let input = from_foreign(&arms).unwrap();
    let result = analyse(&input, &options()).unwrap();
    assert_eq!(result.blocks, ["one 1", "two 1", "one 2"]);
    // Without pairs nothing holds a machine against itself.
    let unpaired = CompareOptions { unpaired: Some("it was asked for".into()), ..options() };
    let error = analyse(&input, &unpaired).unwrap_err();
    assert!(error.to_string().contains("several machines"), "{error}");
    assert!(error.hints[0].contains("host=ID"), "{error:?}");
}

#[test]
fn times_of_runs_say_whether_they_are_pairs() {
    let runs = |latency: u64, times: [u64; 8]| {
        let dated = |(i, time): (u64, u64)| {
            let record = record(latency + i, "one");
            Dated::from(RunRecord { ended_unix_s: Some(time), ..record })
        };
        (0..8).zip(times).map(dated).collect::<Vec<_>>()
    };
    let compared = |first, then| {
        let arms = [("before".to_owned(), runs(200, first)), ("after".to_owned(), runs(100, then))];
        analyse(&from_runs(&arms).unwrap(), &options()).unwrap()
    };
    let even = [2, 4, 6, 8, 10, 12, 14, 16];
    let result = compared(even.map(|time| time - 1), even);
    assert_eq!((result.unpaired.as_ref(), result.blocks.len()), (None, 8));
    let result = compared([1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15, 16]);
    let why = result.unpaired.unwrap();
    assert!(why.contains("all runs of one arm were made before"), "{why}");
}

#[test]
fn the_primary_metric_can_be_chosen() {
    let arms = [("a".to_owned(), vec![record(100, "x")]), ("b".to_owned(), vec![record(90, "x")])];
    let input = from_runs(&undated(arms)).unwrap();
    let check = |primary: &str, expected: Result<&str, &str>| {
        let options = CompareOptions { primary: Some(primary.to_owned()), ..options() };
        let result = analyse(&input, &options);
        let name = result.map(|r| r.series[r.primary().series].name.clone());
        let name = name.map_err(Invalid::new);
        assert_eq!(name, expected.map(str::to_owned).map_err(Invalid::from));
    };
    check("lat_mean_ns", Ok("lat_mean_ns"));
    check(
        "lat_men_ns",
        Err("the arms have no metric `lat_men_ns` in common; did you mean `lat_mean_ns`?"),
    );
}

#[test]
fn text_of_a_run() {
    let mut it = record(100, "x");
    let total = it.total.as_mut().unwrap();
    (total.errors, total.queue_depth_mean) = (2, Some(0.984));
    insta::assert_snapshot!(crate::run::text(&it, PLAIN), @r"
disk.img

10.0k IOPS, 41.0 MB/s; 10000 reads in 1.00 s, mean queue depth 0.98; 2 of 10002 requests FAILED
  (0.02 %)

latency  response time  service time  lateness
mean            100 us             -         -
min             100 us             -         -
p50             100 us             -         -
p90             100 us             -         -
p99             100 us             -         -
p99.9           100 us             -         -  too few requests to rely on
p99.99          100 us             -         -  too few requests to rely on
max             100 us             -         -

How it was measured: randread, blocks of 4k, depth 1 with psync, bypassing the page cache, 1 job,
  seed 1, drivelab 0.1.0, Linux 6.1 on a processor
");
}

#[test]
fn marks_are_told_once_for_all_arms_and_metrics_in_words() {
    use drivelab_core::record::{Mark, MarkId};
    let runs = |latency: u64| {
        let marked = |i| {
            let mut run = record(latency + i, "one");
            let message = format!("{i} requests: p99 rests on few of them");
            run.marks = vec![Mark { id: MarkId::FewRequests, message }];
            run
        };
        (0..8).map(marked).collect::<Vec<_>>()
    };
    let arms = [("slow".to_owned(), runs(200)), ("fast".to_owned(), runs(100))];
    let result = analyse(&from_runs(&undated(arms)).unwrap(), &options()).unwrap();
    let notes = result.notes.join("\n");
    assert!(notes.contains("In 8 of 8 runs of each arm: too few requests"), "{notes}");
    assert!(!notes.contains("rests on"), "{notes}");
    let shown = text(&result, Look { width: 10_000, colour: false });
    assert!(shown.contains("mean latency (97 % faster; x1.97"), "{shown}");
}

/// A run of a benchmark in two phases, `seeks` the faster the larger `speed` is.
pub(crate) fn benchmark(speed: f64) -> RunRecord {
    let whole = record(100, "x");
    let of = |name: &str, value, unit: &str, better| Figure {
        unit: unit.to_owned(),
        ..Figure::new(name, value, better)
    };
    let phase = |name: &str, nature, figures| Phase {
        name: name.to_owned(),
        nature,
        figures,
        lat_ns: None,
        points: Vec::new(),
        remarks: Vec::new(),
    };
    let seeks = vec![
        of("per_s", 200.0 * speed, "1/s", drivelab_core::record::Better::More),
        Figure {
            nature: Some(Nature::Cpu),
            ..of("cpu", 2.0 / speed, "%", drivelab_core::record::Better::Less)
        },
    ];
    let files = vec![of("files", 16.0 * speed, "", drivelab_core::record::Better::Neither)];
    RunRecord {
        jobs: Vec::new(),
        total: None,
        phases: vec![
            phase("seeks", Nature::Disk, seeks),
            phase("create", Nature::JournalSync, files),
        ],
        config: RunConfig { workload: None, ..whole.config },
        ..whole
    }
}

#[test]
fn what_phases_measured_is_compared_with_its_own_unit_and_direction() {
    let arm = |name: &str, speed: f64, step: i32| {
        let runs = (0..8).map(|run| benchmark(speed * (1.0 + 0.001 * f64::from(run * step % 8))));
        (name.to_owned(), runs.collect())
    };
    let input = from_runs(&undated([arm("slow", 1.0, 3), arm("fast", 1.2, 5)])).unwrap();
    let primary = Some("seeks.per_s".to_owned());
    let result = analyse(&input, &CompareOptions { primary, ..options() }).unwrap();
    assert_eq!(result.verdict(), Verdict::Faster);
    let names: Vec<&str> = result.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["seeks.per_s", "seeks.cpu"], "what only describes is no metric");
    assert_eq!((result.series[0].unit.as_str(), result.series[1].better), ("1/s", Better::Less));
    assert!(result.outcomes.iter().all(|outcome| outcome.verdict() == Verdict::Faster));
}

#[test]
fn text_of_a_run_of_phases() {
    insta::assert_snapshot!(crate::run::text(&benchmark(1.0), PLAIN), @r"
    disk.img

    phase   figure           CPU  mean  p99  max  measures
    seeks   per s   200 1/s                       disk
            cpu      2.00 %                       cpu
    create  files      16.0                       journal-sync

    How it was measured: psync, bypassing the page cache, 1 job, seed 1, drivelab 0.1.0, Linux 6.1 on a
      processor
    ");
}

#[test]
fn runs_of_different_simulated_drives_say_what_one_more_does() {
    let runs = |latency_us: u64, effect: u64| -> Vec<RunRecord> {
        let run = |(at, specimen): (u64, Specimen)| {
            let mut run = record(latency_us + effect * (at * 7 % 20), "");
            run.host = None;
            run.config.seed = at;
            run.target = format!("drive:any,tags={latency_us}");
            run.specimen = Some(specimen);
            run
        };
        (0..20).zip(specimens(20)).map(run).collect()
    };
    let options = CompareOptions { primary: Some("lat_mean_ns".into()), ..options() };
    let compared = |[a, b]: [Vec<RunRecord>; 2]| {
        let arms = [("a".to_owned(), a), ("b".to_owned(), b)];
        analyse(&from_runs(&undated(arms)).unwrap(), &options).unwrap()
    };
    let result = compared([runs(1000, 0), runs(800, 25)]);
    assert!(result.primary().depends(), "{:?}", result.primary());
    let told = text(&result, Look { width: 10_000, colour: false });
    assert!(told.starts_with("b against a\n\nIt depends on the drive, in mean latency:"), "{told}");
    assert!(told.contains("95 % of such drives") && told.contains("What decides:"), "{told}");
    let mut median = [runs(1000, 0), runs(800, 1)];
    for specimen in median.iter_mut().flatten().filter_map(|run| run.specimen.as_mut()) {
        specimen.number = None;
    }
    let result = compared(median);
    assert!(result.primary().foreseen.is_none());
    assert!(result.notes.iter().any(|note| note.contains("median of the drives")));
}

#[test]
fn a_title_names_five_arms_and_counts_the_others() {
    let arms: Vec<String> = (0..8).map(|arm| format!("arm{arm}")).collect();
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let title = super::words::title;
    assert_eq!(title(&arms), "arm1, arm2, arm3, arm4, arm5 and 2 more against arm0");
    assert_eq!(title(&arms[..3]), "arm1, arm2 against arm0");
}
