//! One result in every format, and what other people may put into one.

use drivelab_analysis::comparison::{CompareOptions, CompareResult, analyse, from_runs};
use drivelab_core::config::Choice as _;
use drivelab_core::record::{Better, Figure, Nature, Phase, RunRecord};
use drivelab_core::rng::Rng;
use drivelab_core::units::Span;

use super::*;
use crate::comparison::About;
use crate::comparison::tests::{record, undated};
use crate::run;

fn runs(latency: u64) -> Vec<RunRecord> {
    (0..6).map(|run| record(latency + run, "one")).collect()
}

fn compared(arms: [(String, Vec<RunRecord>); 2]) -> CompareResult {
    let (primary, factors, unpaired) = (None, Vec::new(), None);
    let options = CompareOptions { primary, margin: 0.03, seed: 1, factors, unpaired };
    analyse(&from_runs(&undated(arms)).unwrap(), &options).unwrap()
}

/// Ten seconds of a disk, of which the fourth is slow.
fn timed(label: &str) -> RunRecord {
    let mut rng = Rng::new(3);
    let mut tally = drivelab_core::record::Tally {
        elapsed: Span::from_secs(10),
        ..drivelab_core::record::Tally::default()
    };
    for second in 0..10 {
        for _ in 0..100 {
            let mean = if second == 3 { 90 } else { 9 };
            let latency = rng.exponential(Span::from_ms(mean));
            tally.series.record(second, latency, 1);
            tally.of_mut(drivelab_core::Op::Read).lat.record_times(latency, 1);
            tally.of_mut(drivelab_core::Op::Read).ios += 1;
        }
    }
    tally.series.finish(10);
    RunRecord { label: Some(label.into()), total: Some(tally.record()), ..record(100, "one") }
}

fn show(name: &str, subject: &Subject<'_>) {
    for (format, kind) in [("md", Format::Md), ("csv", Format::Csv), ("svg", Format::Svg)] {
        let text = subject.render(kind, &[]).unwrap();
        assert_eq!(text, subject.render(kind, &[]).unwrap(), "the same bytes");
        insta::assert_snapshot!(format!("{name}_{format}"), text.replace('\r', ""));
    }
}

#[test]
fn a_comparison_in_every_format() {
    let result = compared([("slow".into(), runs(200)), ("fast".into(), runs(100))]);
    let about = About { runs: &[], command: "drivelab compare slow.json fast.json", form: "" };
    let subject = Subject::Comparison(&result, about);
    show("comparison", &subject);
    assert_eq!(subject.render(Format::Json, &[]).unwrap(), comparison::json(&result));
    assert_eq!(subject.render(Format::Txt, &[]).unwrap(), comparison::text(&result, LOOK));
}

#[test]
fn a_run_in_every_format() {
    let one = timed("disk");
    let subject = Subject::Run(&one);
    show("run", &subject);
    let json: RunRecord =
        serde_json::from_str(&subject.render(Format::Json, &[]).unwrap()).unwrap();
    assert_eq!(json, one);
    assert_eq!(subject.render(Format::Txt, &[]).unwrap(), run::text(&one, LOOK));
}

#[test]
fn every_format_has_a_name_and_none_of_them_is_empty() {
    let one = timed("disk");
    for (name, format) in Format::NAMES {
        let both = [&one, &one];
        for subject in [Subject::Run(&one), Subject::Runs(&both)] {
            assert!(subject.render(*format, &[]).unwrap().len() > 100, "{name}");
        }
    }
    let results = drivelab_analysis::run::results("disk", std::iter::once(&one));
    let refused = Subject::Results(&results).render(Format::Svg, &[]).unwrap_err();
    assert!(refused.to_string().contains("no picture"), "{refused}");
}

#[test]
fn the_page_of_a_run_holds_what_its_script_draws_and_the_same_in_words() {
    let one = timed("disk");
    let page = Subject::Run(&one).render(Format::Html, &["2026-11-23 10:00 UTC".into()]).unwrap();
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(page.len() - data.len() < 300_000, "{}", page.len());
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let time = &data["time"][0];
    let cells = time["cells"].as_array().unwrap();
    let count = |cell: &serde_json::Value| {
        cell.as_array().unwrap().iter().skip(1).step_by(2).map(|n| n.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(cells.iter().map(count).collect::<Vec<_>>(), [100; 10]);
    assert_eq!(data["latency"].as_array().unwrap().len(), 1);
    let words = page.split("<script").next().unwrap();
    for needed in [
        "2026-11-23 10:00 UTC",
        "100 IOPS",
        "Over time",
        "The figures of these pictures",
        "The quantiles of these curves",
        "drivelab run disk.img --rw randread --bs 4k --iodepth 1",
        "id=\"time-0-heat\"",
    ] {
        assert!(words.contains(needed), "{needed}");
    }
}

#[test]
fn the_page_of_a_comparison_holds_the_verdict_the_blocks_and_the_runs() {
    let (slow, fast) = (runs(200), runs(100));
    let result = compared([("slow".into(), slow.clone()), ("fast".into(), fast.clone())]);
    let runs = [slow.iter().collect(), fast.iter().collect()];
    let about = About { runs: &runs, command: "drivelab compare label:slow label:fast", form: "" };
    let page = Subject::Comparison(&result, about).render(Format::Html, &[]).unwrap();
    let words = page.split("<script").next().unwrap();
    for needed in [
        "<strong>Faster</strong> in IOPS",
        "class=\"pair\"",
        "All comparisons",
        "Values, run by run",
        "drivelab compare label:slow label:fast",
        "6 blocks. Intervals are paired t",
    ] {
        assert!(words.contains(needed), "{needed}");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn runs_that_are_no_pairs_are_dots_without_lines() {
    let (slow, mut fast) = (runs(200), runs(100));
    fast.extend(runs(110));
    let arms = undated([("slow".to_owned(), slow), ("fast".to_owned(), fast)]);
    let (primary, factors) = (None, Vec::new());
    let unpaired = Some("they are not".to_owned());
    let options = CompareOptions { primary, margin: 0.03, seed: 1, factors, unpaired };
    let result = analyse(&from_runs(&arms).unwrap(), &options).unwrap();
    let page = Subject::Comparison(&result, About::default()).render(Format::Html, &[]).unwrap();
    assert!(page.contains("Not paired: they are not") && !page.contains("class=\"pair\""));
}

const EVIL: &str = "</script></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'|'; \
                    DROP TABLE runs; --";

#[test]
fn text_of_other_people_is_only_text() {
    let mut evil = timed(EVIL);
    evil.target = EVIL.to_owned();
    evil.config.drivelab = EVIL.to_owned();
    evil.host.as_mut().unwrap().cpu = EVIL.to_owned();
    evil.marks = vec![drivelab_core::record::Mark {
        id: drivelab_core::record::MarkId::Late,
        message: EVIL.to_owned(),
    }];
    let figures = vec![Figure { unit: EVIL.into(), ..Figure::new(EVIL, 1e308, Better::More) }];
    let (name, nature, lat_ns) = (EVIL.to_owned(), Nature::Disk, None);
    let (points, remarks) = (Vec::new(), Vec::new());
    evil.phases = vec![Phase { name, nature, figures, lat_ns, points, remarks }];
    let other = RunRecord { label: Some(format!("{EVIL}2")), ..evil.clone() };
    let result = compared([(EVIL.into(), runs(200)), (format!("{EVIL}2"), runs(100))]);
    let about = About { runs: &[], command: EVIL, form: "" };
    let imported = drivelab_analysis::run::results(EVIL, std::iter::once(&evil));
    for subject in [
        Subject::Run(&evil),
        Subject::Runs(&[&evil, &other]),
        Subject::Comparison(&result, about),
        Subject::Results(&imported),
    ] {
        let page = subject.render(Format::Html, &[EVIL.to_owned()]).unwrap();
        assert_eq!(page.matches("<script").count(), 3, "{page}");
        assert!(!page.contains("<img"));
        let markdown = subject.render(Format::Md, &[]).unwrap();
        assert!(!markdown.contains("<script") && !markdown.contains("<img"));
        if let Ok(svg) = subject.render(Format::Svg, &[]) {
            assert!(!svg.contains("<script") && !svg.contains("<img"));
        }
    }
}

#[test]
fn names_of_any_length_and_numbers_of_any_size_have_a_page() {
    let long = "x".repeat(10_000_000);
    let mut odd = timed(&long);
    let total = odd.total.as_mut().unwrap();
    (total.iops, total.bytes_per_s, total.elapsed_ns) = (1e308, f64::MAX, u64::MAX);
    total.seconds.iter_mut().for_each(|second| second.bytes = u64::MAX);
    let page = Subject::Run(&odd).render(Format::Html, &[]).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(!page.contains("NaN") && !page.contains("inf IOPS"));
    for format in [Format::Md, Format::Svg] {
        assert!(Subject::Run(&odd).render(format, &[]).unwrap().len() < 1_000_000);
    }
}
