//! The page of a small matrix.

use drivelab_core::matrix::{Cell, CellFigures, CellResult, Matrix};
use drivelab_core::record::MarkId;

use super::measured::scaling_rows;
use super::series::{EACH, MEAN, SUM, lines};
use super::{Cells, Group, METRICS, Row, html, samples, scaling, section, text, workloads};
use crate::text::Look;

fn matrix() -> Matrix {
    let text = "title = \"Two <drives>\"\ntargets = [\"a\", \"b\"]\nbs = [\"4k\", \"1M\"]\n\
                read = [100, 0]\nthreads = [1]\n";
    Matrix::parse("m", text).unwrap()
}

/// Each target alone reaches its place times 10 MB/s, all at once half of their sum.
fn results(matrix: &Matrix) -> Vec<CellResult> {
    let speed = [10e6, 20e6];
    let result = |cell: Cell| {
        let figures = matrix.targets(&cell).iter().map(|target| {
            let place = matrix.targets.iter().position(|name| name == target).unwrap();
            let share = if cell.target.is_none() { 0.5 } else { 1.0 };
            CellFigures {
                attached: None,
                target: target.clone(),
                bytes_per_s: speed[place] * share,
                iops: 1.0,
                lat_ns: [1, 2, 3],
                errors: 0,
                marks: Vec::new(),
            }
        });
        CellResult { figures: figures.collect(), cell }
    };
    matrix.cells().into_iter().map(result).collect()
}

#[test]
fn lines_are_each_target_their_mean_and_all_at_once() {
    let matrix = matrix();
    let cells = Cells::measured(&matrix, &results(&matrix));
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
    let page = html(&matrix, &results(&matrix));
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
    let text = text(&matrix, &results(&matrix), Look { width: 200, colour: false });
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
    let results = results(&matrix);
    let page = html(&matrix, &results);
    assert_eq!(page, html(&matrix, &results), "the same results, the same bytes");
    assert_eq!(page.matches("<figure>").count(), 4, "two figures of two panels");
    assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 8 + 4);
    assert!(page.contains("Two &lt;drives&gt;") && !page.contains("<drives>"));
    assert!(page.contains("24 of 24 cells"));
    let cells = Cells::measured(&matrix, &results);
    for (name, share) in scaling_rows(&cells, &cells.means()) {
        assert!((share - 0.5).abs() < 1e-12, "{name}: {share}");
    }
}

#[test]
fn what_is_not_measured_yet_is_said() {
    let matrix = matrix();
    let some = results(&matrix)[..3].to_vec();
    let page = html(&matrix, &some);
    assert!(page.contains("3 of 24 cells") && page.contains("<td class=\"none\">"));
}

#[test]
fn page_and_text_say_what_the_cells_may_be_taken_for() {
    let matrix = matrix();
    let mut results = results(&matrix);
    assert!(!html(&matrix, &results).contains("may be taken for"), "nothing is to be said");
    for result in results.iter_mut().take(3) {
        // Both targets of a cell that has both: still one cell.
        for figures in &mut result.figures {
            figures.marks = vec![MarkId::NotDisk, MarkId::Steal];
        }
    }
    results[5].figures[0].marks = vec![MarkId::NotDisk];
    let all = results.len();
    let expected = format!("4 of {all} cells: cannot be a disk measurement");
    assert!(html(&matrix, &results).contains(&expected), "{expected}");
    let text = text(&matrix, &results, Look { width: 100, colour: false });
    assert!(text.contains(&expected) && text.contains(&format!("3 of {all} cells: the hyper")));
}

/// Two arms of two drives, each 100 MB/s alone; together the first arm keeps half, the second all.
/// With the other cursor the first arm keeps all too.
fn two_arms(matrix: Matrix) -> Cells {
    let mut rows = Vec::new();
    for arm in 0..2 {
        for cursor in 0..2 {
            for group in Group::all(&matrix) {
                for size in 0..2 {
                    let keeps = if arm == 0 && cursor == 0 { 50e6 } else { 100e6 };
                    let Group { random, threads, read } = group;
                    let (alone, together) = (vec![Some(100e6); 2], vec![Some(keeps); 2]);
                    let block = 0;
                    rows.push(Row {
                        arm,
                        cursor,
                        block,
                        read,
                        random,
                        threads,
                        size,
                        alone,
                        together,
                    });
                }
            }
        }
    }
    let cursors = vec!["own".into(), "shared".into()];
    Cells { matrix, cursors, rows, doubts: Vec::new() }
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
    let text = scaling(&cells, &["narrow", "wide"], Look { width: 100, colour: false });
    assert!(text.contains("sequential-read-1") && text.contains("50 % (50)"), "{text}");
    let json = cells.json(&["narrow", "wide"]);
    assert_eq!(json.len(), cells.rows.len());
    assert_eq!((&json[0]["scaling"], &json[0]["bs_bytes"]), (&0.5.into(), &4096.into()));
}

#[test]
fn a_figure_that_does_not_exist_is_null() {
    let mut cells = two_arms(matrix());
    cells.rows[0].together[1] = None;
    let cell = &cells.json(&["a", "b"])[0];
    assert!(cell["together_bytes_per_s"][1].is_null() && cell["sum_bytes_per_s"].is_null());
    assert!(cell["scaling"].is_null());
    let of_group = &samples(&cells)[0].metrics;
    let names: Vec<&str> = of_group.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["best_alone_bytes_per_s"], "what rests on the missing figure is left out");
}

#[test]
fn blocks_are_averaged_cell_by_cell() {
    let mut cells = two_arms(matrix());
    let cells_before = cells.rows.len();
    let twice: Vec<Row> = cells
        .rows
        .iter()
        .map(|row| Row { block: 1, alone: vec![Some(300e6), None], ..row.clone() })
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
