//! The page of a small matrix.

use drivelab_core::matrix::{Cell, CellFigures, CellResult, Matrix};
use drivelab_core::record::MarkId;

use super::series::{EACH, MEAN, SUM, lines};
use super::{html, scaling_rows, text};
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
    let lines = lines(&matrix, &results(&matrix), 100, 0, 1);
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
    let row = page.split("<tr><th>sequential, 1 thread, 100 % read, ").nth(1).unwrap();
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
    assert_eq!(page.matches("<tr><th>").count(), 8 + 4 + 1);
    assert!(page.contains("Two &lt;drives&gt;") && !page.contains("<drives>"));
    assert!(page.contains("24 of 24 cells"));
    for (name, share) in scaling_rows(&matrix, &results) {
        assert!((share - 0.5).abs() < 1e-12, "{name}: {share}");
    }
}

#[test]
fn what_is_not_measured_yet_is_said() {
    let matrix = matrix();
    let some = results(&matrix)[..3].to_vec();
    let page = html(&matrix, &some);
    assert!(page.contains("3 of 24 cells") && page.contains("not measured"));
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
