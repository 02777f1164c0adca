//! A matrix study of two arms and a handful of cells.

use drivelab_core::matrix::{Matrix, Named};
use drivelab_core::plan::Design;

use super::finding::{Answer, Cells, Figure, Finding, Held, Measure, On, Take, Test};
use super::{Given, Grid, Group, Row, html, json, samples, text, workloads};
use crate::study::{ArmInfo, Experiment, analyse};
use crate::text::Look;

fn matrix() -> Matrix {
    let text = "read = [100, 0]\nrandom = [0]\nthreads = [1, 20]\nbs = [\"4k\", \"1M\"]\n";
    let mut section = drivelab_core::config::Section::parse("m", text).unwrap();
    let named = Named {
        title: "Two <controllers>?".into(),
        targets: vec!["drive 1".into(), "drive 2".into()],
        blocks: 1,
        seed: 1,
    };
    Matrix::read(&mut section, named).unwrap()
}

/// Each drive alone makes 100 MB/s; together the first arm keeps half of it, the second all. With
/// the other cursor the first arm keeps all too.
fn rows(matrix: &Matrix) -> Vec<Row> {
    let mut rows = Vec::new();
    for arm in 0..2 {
        for cursor in 0..2 {
            for group in Group::all(matrix) {
                if cursor > 0 && group.threads == 1 {
                    continue;
                }
                for size in 0..2 {
                    let keeps = if arm == 0 && cursor == 0 { 50e6 } else { 100e6 };
                    rows.push(Row {
                        arm,
                        cursor,
                        block: 0,
                        read: group.read,
                        random: group.random,
                        threads: group.threads,
                        size,
                        alone: vec![100e6; 2],
                        together: vec![keeps; 2],
                    });
                }
            }
        }
    }
    rows
}

fn figure(what: Measure, on: On) -> Figure {
    Figure {
        what,
        on,
        take: Take::Max,
        cells: Cells::default(),
        arms: vec![0, 1],
        against: Vec::new(),
        at_least: None,
        at_most: None,
    }
}

fn finding(test: Test) -> Finding {
    Finding { name: "it".into(), claim: "It is `so`".into(), test }
}

fn grid(findings: Vec<Finding>) -> Grid {
    let matrix = matrix();
    let rows = rows(&matrix);
    let arm = |name: &str| ArmInfo {
        name: name.into(),
        summary: String::new(),
        settings: vec![("bus".into(), name.into())],
        price_usd: None,
        levels: Vec::new(),
    };
    let experiment = Experiment {
        title: matrix.title.clone(),
        stage: "simulate".into(),
        seed: 1,
        blocks: 1,
        design: Design::Interleaved,
        primary: "sequential-read-20.scaling".into(),
        candidate: Some(1),
        margin: 0.03,
        arms: vec![arm("narrow"), arm("wide")],
        workloads: workloads(&matrix),
        contrasts: Vec::new(),
        interactions: Vec::new(),
        findings: Vec::new(),
        asks_gain: false,
        cells: None,
        runs: samples(&matrix, &rows),
        curves: Vec::new(),
        attached: crate::attachment::Question::default(),
        risks: Vec::new(),
        notes: vec!["a note".into()],
        reproduce: "drivelab study it".into(),
    };
    let study = analyse(&experiment).unwrap();
    let cursors = vec!["own".into(), "shared".into()];
    Grid::new(study, Given { matrix, cursors, prices: vec![Some(100.0), None], findings, rows })
}

fn only(test: Test) -> Answer {
    grid(vec![finding(test)]).answers.remove(0)
}

#[test]
fn a_finding_holds_where_every_reading_says_so() {
    let bounded = |arms: Vec<usize>, at_least, at_most| {
        let figure = Figure { arms, at_least, at_most, ..figure(Measure::MbPerS, On::Alone) };
        only(Test::Figure(figure)).held
    };
    assert_eq!(bounded(vec![0, 1], Some(95.0), Some(100.0)), Held::Holds);
    assert_eq!(bounded(vec![0, 1], Some(101.0), None), Held::DoesNotHold);
    assert_eq!(bounded(vec![0, 1], None, None), Held::CannotTell);
    // Together one arm has 100 MB/s and the other 200: it depends on which is meant.
    let together = Figure { at_least: Some(150.0), ..figure(Measure::MbPerS, On::Together) };
    let cells = Cells { threads: vec![1], ..Cells::default() };
    let answer = only(Test::Figure(Figure { cells, ..together }));
    assert_eq!(answer.held, Held::CannotTell);
    let told: Vec<Option<bool>> = answer.readings.iter().map(|reading| reading.holds).collect();
    assert_eq!(told, [Some(false), Some(false), Some(true), Some(true)]);
}

#[test]
fn ratios_depend_on_the_cursor_where_threads_share_one() {
    let held = |threads: u32| {
        let figure = Figure {
            arms: vec![1],
            against: vec![0],
            at_least: Some(1.9),
            cells: Cells { threads: vec![threads], ..Cells::default() },
            ..figure(Measure::Scaling, On::Together)
        };
        only(Test::Figure(figure))
    };
    // Twice as good with a cursor each, the same with one that all share.
    assert_eq!(held(20).held, Held::CannotTell);
    let values: Vec<f64> = held(20).readings.iter().map(|reading| reading.value).collect();
    assert_eq!(values, [2.0, 1.0]);
    // One thread has one cursor either way.
    assert_eq!(held(1).held, Held::Holds);
}

#[test]
fn what_has_no_price_has_no_figure_for_it() {
    let answer = only(Test::Figure(figure(Measure::MbPerSPerUsd, On::Together)));
    assert_eq!(answer.held, Held::CannotTell);
    assert!(answer.readings.iter().all(|reading| reading.arm == 0));
    let values: Vec<f64> = answer.readings.iter().map(|reading| reading.value).collect();
    assert_eq!(values, [1.0, 2.0], "100 or 200 MB/s for 100 dollars");
}

#[test]
fn a_question_is_answered_by_the_arms_that_bear_all_findings_out() {
    let fast = Figure { at_least: Some(150.0), ..figure(Measure::MbPerS, On::Together) };
    let cells = Cells { threads: vec![1], ..Cells::default() };
    let fast = Test::Figure(Figure { cells, ..fast });
    let all = grid(vec![finding(fast), finding(Test::Consistent(vec![0]))]);
    let question = &all.answers[1];
    assert_eq!(question.held, Held::Holds);
    assert_eq!(question.readings.iter().map(|it| it.arm).collect::<Vec<_>>(), [1]);
}

#[test]
fn text_page_and_json_tell_the_same() {
    let held = Figure { at_most: Some(1.0), ..figure(Measure::Scaling, On::Together) };
    let grid = grid(vec![finding(Test::Figure(held))]);
    let text = text(&grid, Look { width: 100, colour: false });
    assert!(text.contains("Holds: It is `so`"), "{text}");
    assert!(text.contains("sequential-read-20") && text.contains("50 % (50)"), "{text}");
    let page = html(&grid);
    assert!(page.contains("Two &lt;controllers&gt;?") && page.contains("It is <code>so</code>"));
    assert_eq!(page.matches("class=\"heat\"").count(), 4, "two of scaling, two of cells");
    assert_eq!(page.matches("<svg viewBox").count(), 2 * 4, "two panels of two figures an arm");
    let document: serde_json::Value = serde_json::from_str(&json(&grid)).unwrap();
    assert_eq!(document["schema"], "drivelab.study/1");
    assert_eq!(document["findings"][0]["verdict"], "holds");
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * (8 + 4));
    assert_eq!((&cells[0]["scaling"], &cells[0]["bs_bytes"]), (&0.5.into(), &4096.into()));
    assert_eq!(document["metrics"].as_array().unwrap().len(), 4 * 2);
}

#[test]
fn blocks_are_averaged_cell_by_cell() {
    let matrix = matrix();
    let mut rows = rows(&matrix);
    let twice: Vec<Row> =
        rows.iter().map(|row| Row { block: 1, alone: vec![300e6; 2], ..row.clone() }).collect();
    rows.extend(twice);
    let means = crate::cells::over_blocks(&rows);
    assert_eq!(means.len(), rows.len() / 2);
    assert!(means.iter().all(|row| row.alone == [200e6; 2]));
    assert_eq!(samples(&matrix, &rows).len(), 2 * 2 * 4);
}
