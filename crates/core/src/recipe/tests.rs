//! Recipes that are read, and what their loads come to.

use std::convert::Infallible;

use super::*;
use crate::record::{Better, Nature, Tally};
use crate::request::Op;

const FILE: &str = r#"
title = "Two tests"
size = "1M"
runtime = "2s"
pause = "3s"
loops = 3
warm_up = 1
[[test]]
name = "seq_read"
rw = "read"
bs = "4k"
[[test]]
name = "rnd_write"
rw = "randwrite"
bs = "4k"
iodepth = 4
numjobs = 2
runtime = "1s"
end_fsync = true
"#;

fn parse(text: &str) -> Result<Recipe, ConfigError> {
    Recipe::parse("own.toml", text, &Adjust::default())
}

fn refused(text: &str, part: &str) {
    let error = parse(text).expect_err(text).to_string();
    assert!(error.contains(part), "{part}: {error}");
}

/// A load of `ios` requests of 4 KiB in a second, each of which took `us`.
fn done(ios: u64, us: u64) -> LoadCounts {
    let mut tally = Tally { elapsed: Span::from_secs(1), ..Tally::default() };
    let reads = tally.of_mut(Op::Read);
    (reads.ios, reads.bytes) = (ios, ios * 4096);
    reads.lat.record_times(Span::from_us(us), ios);
    LoadCounts { tally, marks: Vec::new() }
}

const TARGET: LoadTarget = LoadTarget { capacity: Bytes::mib(100), seed: 7 };

/// Carries a recipe out, where the n-th load completes what `ios` says of n.
fn carry_out(text: &str, ios: impl Fn(usize) -> u64) -> (Outcome, Vec<Part>) {
    let mut parts = Vec::new();
    let outcome = parse(text).unwrap().carry_out(TARGET, &mut |_, part| {
        parts.push(part.clone());
        Ok::<_, Infallible>(Some(done(ios(parts.len() - 1), 10)))
    });
    let Ok(outcome) = outcome;
    (outcome, parts)
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    let mut figures = outcome.phases.iter().flat_map(Phase::metrics);
    figures.find(|figure| figure.name == metric).unwrap_or_else(|| panic!("{metric}")).value
}

#[test]
fn loads_come_in_order_with_warm_up_and_pauses() {
    let (outcome, parts) = carry_out(FILE, |_| 100);
    assert!(outcome.is_whole);
    assert_eq!(parts.len(), 8);
    let pauses: Vec<u64> =
        parts.iter().map(|part| part.schedule.start_delay.ns() / 1_000_000_000).collect();
    assert_eq!(pauses, [0, 0, 0, 0, 3, 0, 0, 0], "between tests, not between runs");
    assert_eq!((parts[4].numjobs, parts[4].schedule.end_fsync), (2, true));
    assert_eq!((parts[0].workload.runtime, parts[4].workload.runtime), {
        (Span::from_secs(2), Span::from_secs(1))
    });
    let seeds: std::collections::BTreeSet<u64> = parts.iter().map(|part| part.seed).collect();
    assert_eq!(seeds.len(), 8, "each run draws by itself");
    let again = carry_out(FILE, |_| 100).1;
    assert_eq!(parts, again);
}

#[test]
fn what_is_reported_is_what_the_recipe_says() {
    // The first run of each test does not count.
    let ios = |n: usize| [999, 100, 300, 110][n % 4];
    let check = |reports: &str, expected: u64| {
        let text = FILE.replace("loops = 3", &format!("loops = 3\nreports = \"{reports}\""));
        let (outcome, _) = carry_out(&text, ios);
        let expected = f64::from(u32::try_from(expected).unwrap()) * 4096.0 / 1e6;
        let found = value(&outcome, "seq_read");
        assert!((found - expected).abs() < 1e-9, "{reports}: {found} instead of {expected}");
        let limit = |which: &str| value(&outcome, &format!("seq_read_{which}_run"));
        assert!(limit("slowest") < limit("fastest"));
    };
    check("best", 300);
    check("mean", 170);
    check("median", 110);
    let (outcome, _) = carry_out(FILE, ios);
    let rate = outcome.phases[0].metrics().next().unwrap();
    assert_eq!((rate.unit.as_str(), rate.better), ("MB/s", Better::More));
    let names: Vec<String> = parse(FILE).unwrap().metrics();
    let found: Vec<String> =
        outcome.phases.iter().flat_map(Phase::metrics).map(|it| it.name).collect();
    let lat = |name: &&String| name.contains(".lat_");
    assert!(names.iter().filter(|name| !lat(name)).all(|name| found.contains(name)), "{found:?}");
}

#[test]
fn places_are_spread_over_the_region_and_each_has_its_point() {
    let curve = FILE.replace(
        "name = \"seq_read\"",
        "name = \"seq_read\"\npoints = 4\nloops = 1\n\
                                                       warm_up = 0\nsize = \"80M\"",
    );
    let (outcome, parts) = carry_out(&curve, |n| 100 - 10 * n as u64);
    let at: Vec<u64> = parts[..4].iter().map(|part| part.workload.offset.get() >> 20).collect();
    assert_eq!(at, [0, 20, 40, 60]);
    let points: Vec<u64> =
        outcome.phases[0].points.iter().map(|at| at.offset_bytes >> 20).collect();
    assert_eq!(points, at);
    let close = |metric: &str, ios: f64| {
        let found = value(&outcome, metric);
        assert!((found - ios * 4096.0 / 1e6).abs() < 1e-9, "{metric}: {found}");
    };
    close("seq_read", 85.0);
    close("seq_read_min", 70.0);
    close("seq_read_max", 100.0);
    let dots = curve.replace("\"read\"", "\"randread\"");
    let (outcome, parts) = carry_out(&dots, |_| 1);
    assert!(parts[..4].iter().all(|part| part.workload.size == Some(Bytes::kib(4))));
    assert!((value(&outcome, "seq_read") - 0.01).abs() < 1e-9, "milliseconds");
    assert_eq!(outcome.phases[0].figures[0].better, Better::Less);
}

#[test]
fn a_curve_is_of_what_most_of_its_places_measured() {
    let curve = FILE
        .replace("name = \"seq_read\"", "name = \"seq_read\"\npoints = 4\nloops = 1\nwarm_up = 0");
    let check = |cached: u32, expected: Nature| {
        let mut made = 0;
        let outcome = parse(&curve).unwrap().carry_out(TARGET, &mut |_, _| {
            made += 1;
            let id = if made > cached { MarkId::Modelled } else { MarkId::DriveCache };
            let marks = vec![Mark { id, message: "why".into() }];
            Ok::<_, Infallible>(Some(LoadCounts { marks, ..done(9, 10) }))
        });
        let Ok(outcome) = outcome;
        assert_eq!(outcome.phases[0].nature, expected, "{cached}");
    };
    check(2, Nature::Disk);
    check(3, Nature::DriveCache);
}

#[test]
fn what_is_measured_is_said_of_each_test_and_depth_one_of_the_whole() {
    let alone = FILE.replace("iodepth = 4\nnumjobs = 2", "iodepth = 1");
    let mut made = 0;
    let outcome = parse(&alone).unwrap().carry_out(TARGET, &mut |_, _| {
        made += 1;
        let id = if made > 4 { MarkId::DriveCache } else { MarkId::Modelled };
        let marks = vec![Mark { id, message: "why".into() }];
        Ok::<_, Infallible>(Some(LoadCounts { marks, ..done(9, 10) }))
    });
    let Ok(outcome) = outcome;
    let natures: Vec<Nature> = outcome.phases.iter().map(|phase| phase.nature).collect();
    assert_eq!(natures, [Nature::Disk, Nature::DriveCache]);
    let marks: Vec<MarkId> = outcome.marks.iter().map(|mark| mark.id).collect();
    assert_eq!(marks, [MarkId::Modelled, MarkId::OneAtATime]);
    assert_eq!(carry_out(FILE, |_| 9).0.marks, []);
}

#[test]
fn a_user_who_stops_keeps_finished_tests() {
    let mut left = 5;
    let outcome = parse(FILE).unwrap().carry_out(TARGET, &mut |_, _| {
        left -= 1;
        Ok::<_, Infallible>((left > 0).then(|| done(9, 10)))
    });
    let Ok(outcome) = outcome;
    assert_eq!((outcome.is_whole, outcome.phases.len()), (false, 1));
}

#[test]
fn recipes_that_come_along_are_whole_and_users_own_are_checked() {
    for (name, text) in embedded::RECIPES {
        let recipe = Recipe::parse(name, text, &Adjust::default()).unwrap();
        assert_eq!(recipe.writes(), *name != "hdtune", "{name}");
        assert!(recipe.metrics().len() >= recipe.tests.len());
    }
    let recipe = parse(FILE).unwrap();
    // Two tests of four runs, of 2 s and of 1 s, and a pause.
    assert_eq!((recipe.time(), recipe.end()), (Span::from_secs(15), Some(Bytes::mib(1))));
    let with = |from: &str, to: &str| FILE.replacen(from, to, 1);
    refused(&with("pause", "puase"), "unknown key `puase`");
    refused(&with("bs = ", "bz = "), "unknown key `bz`");
    refused(&with("rnd_write", "seq_read"), "two tests are named");
    refused(&with("rnd_write", "a b"), "letters, digits");
    refused(&with("numjobs = 2", "numjobs = 2\npoints = 3"), "one thread");
    refused(&with("numjobs = 2", "numjobs = 0"), "`numjobs` must be");
    refused(&with("loops = 3", "loops = 0"), "`loops` must be");
    refused(&with("loops = 3", "reports = \"bets\""), "`bets`");
    refused("title = \"none\"", "has no test");
}

#[test]
fn a_user_adjusts_what_all_tests_share() {
    let adjust = Adjust { size: Some(Bytes::mib(8)), loops: Some(1), ..Adjust::default() };
    assert_eq!(Adjust::of(&adjust.options()), adjust);
    let recipe = Recipe::parse("own.toml", FILE, &adjust).unwrap();
    assert!(recipe.tests.iter().all(|test| test.loops == 1));
    assert!(recipe.tests.iter().all(|test| test.workload.size == Some(Bytes::mib(8))));
    let adjust = Adjust { runtime: Some(Span::from_secs(9)), ..Adjust::default() };
    let recipe = Recipe::parse("own.toml", FILE, &adjust).unwrap();
    let times: Vec<Span> = recipe.tests.iter().map(|test| test.workload.runtime).collect();
    assert_eq!(times, [Span::from_secs(9), Span::from_secs(1)], "a test's own time stays");
}

#[test]
fn what_would_change_no_test_is_refused() {
    let of = |adjust: Adjust| {
        let text = embedded::text("hdtune").unwrap();
        Recipe::parse("hdtune", text, &adjust)
    };
    let runtime = of(Adjust { runtime: Some(Span::from_secs(2)), ..Adjust::default() });
    let error = runtime.unwrap_err();
    assert!(error.to_string().contains("`runtime` would change nothing"), "{error}");
    assert!(error.hint.unwrap().contains("omit `runtime`"));
    // The curve takes the size and the number of runs from the whole.
    of(Adjust { size: Some(Bytes::gib(1)), loops: Some(2), ..Adjust::default() }).unwrap();
    of(Adjust { pause: Some(Span::from_secs(1)), ..Adjust::default() }).unwrap();
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[a-z0-9_= \\[\\]\"]{0,12}", at in 0..300_usize) {
        let _ = parse(&text);
        let mut own = FILE.to_owned();
        own.insert_str(at.min(FILE.len()), &put);
        let _ = parse(&own);
    }
}
