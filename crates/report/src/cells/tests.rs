//! The page of a small matrix.

use drivelab_analysis::cells::{
    CellRun, Cells, EACH, MEAN, METRICS, Row, SUM, lines, samples, workloads,
};
use drivelab_core::JobSchedule;
use drivelab_core::matrix::{Cursor, Group, Matrix};
use drivelab_core::record::{JobRecord, Mark, MarkId, RUN_SCHEMA, RunConfig, RunRecord, Tally};

use super::{html, json, means, section, summary, text};
use crate::text::Look;

fn matrix() -> Matrix {
    let text = "title = \"Two <drives>\"\ntargets = [\"a\", \"b\"]\nbs = [\"4k\", \"1M\"]\n\
                read = [100, 0]\nthreads = [1]\n";
    Matrix::parse("m", text).unwrap()
}

/// Each target alone reaches its place times 10 MB/s, all at once half of their sum.
fn records(matrix: &Matrix) -> Vec<RunRecord> {
    let speed = [10e6, 20e6];
    let total = Tally::default().record();
    let record = |cell: &drivelab_core::matrix::Cell| {
        let job = |rate: f64| JobRecord { bytes_per_s: rate, ..total.clone().figures_only() };
        let jobs = match cell.target {
            Some(target) => vec![job(speed[target])],
            None => speed.map(|rate| job(rate / 2.0)).to_vec(),
        };
        RunRecord {
            schema: RUN_SCHEMA.into(),
            target: matrix.targets(cell).join(", "),
            label: None,
            ended_unix_s: None,
            config: RunConfig {
                drivelab: String::new(),
                ioengine: "none".into(),
                polling: Vec::new(),
                direct: true,
                numjobs: 1,
                conduct: JobSchedule::default(),
                seed: 1,
                workload: Some(cell.workload(matrix).unwrap()),
                ..RunConfig::default()
            },
            jobs,
            total: Some(total.clone()),
            phases: Vec::new(),
            marks: Vec::new(),
            host: None,
            attached: None,
            served: None,
            guest: None,
            specimen: None,
            flash: None,
            verification: None,
            hosts: None,
        }
    };
    matrix.cells().iter().map(record).collect()
}

fn runs(records: &[RunRecord]) -> Vec<CellRun<'_>> {
    let run = |(place, record)| CellRun { arm: 0, block: 0, position: 0, place, record };
    records.iter().enumerate().map(run).collect()
}

#[test]
fn lines_are_each_target_their_mean_and_all_at_once() {
    let matrix = matrix();
    let cells = Cells::of(&matrix, &runs(&records(&matrix)));
    let means = cells.means();
    let group = Group { random: 0, threads: 1, read: 100 };
    let lines = lines(&matrix, &cells.line(&means, 0, group));
    let found: Vec<(&str, Option<f64>)> =
        lines.iter().map(|line| (line.name.as_str(), line.points[1])).collect();
    let expected = [
        ("a", Some(10.0)),
        ("b", Some(20.0)),
        (MEAN, Some(15.0)),
        (EACH, Some(7.5)),
        (SUM, Some(15.0)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_target_is_told_alone_and_with_all_and_so_is_the_sum() {
    let matrix = matrix();
    let records = records(&matrix);
    let page = html(&matrix, &runs(&records));
    for name in ["a", "b", "a, with all", "b, with all", SUM] {
        assert!(page.contains(&format!("<th scope=\"col\">{name}</th>")), "{name}");
    }
    let row =
        page.split("<tr><th scope=\"row\">sequential, 1 thread, 100 % read, ").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    let cells = row.split("<td").skip(1).map(|cell| cell.split(['>', '<']).nth(1).unwrap());
    let cells: Vec<&str> = cells.map(|cell| cell.trim_start_matches("\u{25bc} ")).collect();
    assert_eq!(cells, ["10.0", "20.0", "5.0", "10.0", "15.0"]);
    assert!(page.contains(">block size</text>") && page.contains(">MB/s</text>"));
    let text = text(&matrix, &runs(&records), Look { width: 200, colour: false });
    assert!(
        text.contains(
            "0: all, 100 % read, sequential, 1 thread, 4k: 15.0 MB/s (a 5.00 MB/s, b 10.0 MB/s)"
        ),
        "{text}"
    );
}

#[test]
fn the_page_has_a_figure_for_each_order_and_a_row_for_each_combination() {
    let matrix = matrix();
    let records = records(&matrix);
    let page = html(&matrix, &runs(&records));
    assert_eq!(page, html(&matrix, &runs(&records)), "the same runs, the same bytes");
    assert_eq!(page.matches("<svg viewBox").count(), 4, "two figures of two panels");
    assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 8 + 4);
    assert!(page.contains("Two &lt;drives&gt;") && !page.contains("<drives>"));
    assert!(page.contains("24 of 24 cells"));
    let cells = Cells::of(&matrix, &runs(&records));
    for row in cells.means() {
        let share = row.scaling().unwrap();
        assert!((share - 0.5).abs() < 1e-12, "{row:?}");
    }
}

#[test]
fn what_is_not_measured_yet_is_said() {
    let matrix = matrix();
    let records = records(&matrix);
    let page = html(&matrix, &runs(&records)[..3]);
    assert!(page.contains("3 of 24 cells") && page.contains("<td class=\"none\">"));
}

#[test]
fn every_run_stands_in_the_document_with_each_of_its_targets() {
    let matrix = matrix();
    let records = records(&matrix);
    let document: serde_json::Value =
        serde_json::from_str(&json(&matrix, &runs(&records))).unwrap();
    assert_eq!(document["schema"], RUN_SCHEMA);
    assert_eq!(document["matrix"]["targets"], serde_json::json!(["a", "b"]));
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 24);
    let (alone, all) = (&cells[1], &cells[2]);
    let expected = serde_json::json!({"block": 0, "target": 1, "read": 100, "random": 0, "threads": 1, "bs": "4k"});
    assert_eq!(alone["cell"], expected);
    assert_eq!(alone["figures"][0]["target"], "b");
    assert!(all["cell"]["target"].is_null());
    let rates: Vec<&serde_json::Value> =
        all["figures"].as_array().unwrap().iter().map(|one| &one["bytes_per_s"]).collect();
    assert_eq!(rates, [&serde_json::json!(5e6), &serde_json::json!(10e6)]);
}

#[test]
fn page_and_text_say_what_the_cells_may_be_taken_for() {
    let matrix = matrix();
    let mut records = records(&matrix);
    assert!(!html(&matrix, &runs(&records)).contains("may be taken for"), "nothing is to be said");
    let mark = |id| Mark { id, message: String::new() };
    for record in records.iter_mut().take(3) {
        record.marks = vec![mark(MarkId::NotDisk), mark(MarkId::Steal)];
    }
    records[5].marks = vec![mark(MarkId::NotDisk)];
    let all = records.len();
    let expected = format!("4 of {all} cells: cannot be a disk measurement");
    assert!(html(&matrix, &runs(&records)).contains(&expected), "{expected}");
    let text = text(&matrix, &runs(&records), Look { width: 100, colour: false });
    assert!(text.contains(&expected) && text.contains(&format!("3 of {all} cells: the hyper")));
}

/// Two arms of two drives, each 100 MB/s alone; together the first arm keeps half, the second all.
/// With the other cursor the first arm keeps all too.
fn two_arms(mut matrix: Matrix) -> Cells {
    matrix.cursors.push(Cursor::Shared);
    let mut rows = Vec::new();
    for arm in 0..2 {
        for cursor in 0..2 {
            for group in matrix.groups() {
                for size in 0..2 {
                    let keeps = if arm == 0 && cursor == 0 { 50e6 } else { 100e6 };
                    let (alone, together) = (vec![Some(100e6); 2], vec![Some(keeps); 2]);
                    rows.push(Row {
                        arm,
                        cursor,
                        block: 0,
                        position: 0,
                        group,
                        size,
                        alone,
                        together,
                        is_void: false,
                    });
                }
            }
        }
    }
    Cells { matrix, rows, doubts: Vec::new() }
}

#[test]
fn arms_share_the_picture_of_a_measured_matrix() {
    let cells = two_arms(matrix());
    let page = section(&cells, &[("narrow <1>", "in words"), ("wide", "")]);
    assert!(page.contains("narrow &lt;1&gt;") && !page.contains("<1>"));
    assert_eq!(page.matches("class=\"heat\"").count(), 4, "two of scaling, two of cells");
    assert_eq!(page.matches("<svg viewBox").count(), 2 * 4, "two panels of two figures an arm");
    assert!(
        page.contains("<td class=\"s5\">50</td>") && page.contains("<td class=\"s10\">100</td>")
    );
    let text = summary(&cells, &["narrow", "wide"], Look { width: 100, colour: false });
    assert!(text.contains("sequential-read-1") && text.contains("50 % (50)"), "{text}");
    let json = means(&cells, &["narrow", "wide"]);
    assert_eq!(json.len(), cells.rows.len());
    assert_eq!((&json[0]["scaling"], &json[0]["bs_bytes"]), (&0.5.into(), &4096.into()));
}

#[test]
fn a_figure_that_does_not_exist_is_null() {
    let mut cells = two_arms(matrix());
    cells.rows[0].together[1] = None;
    let cell = &means(&cells, &["a", "b"])[0];
    assert!(cell["together_bytes_per_s"][1].is_null() && cell["sum_bytes_per_s"].is_null());
    assert!(cell["scaling"].is_null());
    let of_group =
        |sample: &&drivelab_analysis::study::RunSample| (sample.arm, sample.workload) == (0, 0);
    assert!(samples(&cells).iter().find(of_group).is_none(), "its group is not complete");
    assert_eq!(samples(&cells).len(), 2 * 4 - 1);
}

#[test]
fn blocks_are_averaged_cell_by_cell() {
    let mut cells = two_arms(matrix());
    let cells_before = cells.rows.len();
    let twice: Vec<Row> = cells
        .rows
        .iter()
        .map(|row| Row { block: 1, alone: vec![Some(300e6), Some(100e6)], ..row.clone() })
        .collect();
    cells.rows.extend(twice);
    let means = cells.means();
    assert_eq!(means.len(), cells_before);
    assert!(means.iter().all(|row| row.alone == [Some(200e6), Some(100e6)]));
    assert_eq!(samples(&cells).len(), 2 * 2 * 4);
}

#[test]
fn groups_have_their_mean_and_their_extremes() {
    let mut cells = two_arms(matrix());
    // Of the second block size: twice as much together, and ten times as much alone.
    for row in cells.rows.iter_mut().filter(|row| row.size == 1) {
        row.together.iter_mut().flatten().for_each(|rate| *rate *= 2.0);
        row.alone.iter_mut().flatten().for_each(|rate| *rate *= 10.0);
    }
    let sample = &samples(&cells)[0];
    let names: Vec<&str> = sample.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, METRICS);
    let values = sample.metrics.iter().map(|metric| metric.value);
    let expected = [100e6 * 2_f64.sqrt(), 0.5 / 5_f64.sqrt(), 100e6, 200e6, 1e9];
    for (value, expected) in values.zip(expected) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} {expected}");
    }
    assert_eq!(workloads(&cells.matrix).len(), 4);
}

#[test]
fn a_void_run_of_a_cell_makes_its_group_void_and_one_drive_has_no_scaling() {
    let matrix = Matrix { targets: vec!["a".into()], ..matrix() };
    let mut records = records(&matrix);
    let message = String::from("late");
    records[0].marks = vec![Mark { id: MarkId::Void, message }];
    let cells = Cells::of(&matrix, &runs(&records));
    let voids: Vec<bool> = samples(&cells).iter().map(|sample| !sample.marks.is_empty()).collect();
    assert_eq!(voids, [true, false, false, false], "the first cell is of the first group");
    for sample in samples(&cells) {
        let names: Vec<&str> = sample.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["bytes_per_s", "worst_bytes_per_s", "best_bytes_per_s"]);
    }
    assert!(cells.means().iter().all(|row| row.sum() == row.mean_alone()));
    let text = summary(&cells, &["one"], Look { width: 100, colour: false });
    assert!(text.starts_with("Throughput") && text.contains("MB/s ("), "{text}");
}
