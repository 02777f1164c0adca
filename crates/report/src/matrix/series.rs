//! The lines of a panel.

use drivelab_core::matrix::{CellResult, Matrix};

/// The mean over each target alone.
pub(super) const MEAN: &str = "mean of each alone";
/// All targets at once, added.
pub(super) const SUM: &str = "all at once, sum";
/// All targets at once, each one's mean.
pub(super) const EACH: &str = "all at once, per target";

/// One line of a panel: a value in MB/s for each block size, where it was measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// The class that draws it.
    pub(super) class: &'static str,
    pub(super) points: Vec<Option<f64>>,
}

/// Each target alone, their mean, and all at once.
pub(super) fn lines(
    matrix: &Matrix,
    results: &[CellResult],
    read: u32,
    random: u32,
    threads: u32,
) -> Vec<Line> {
    let value = |target: Option<usize>, size: usize| {
        let cells = results.iter().filter(|result| {
            let cell = &result.cell;
            cell.target == target
                && (cell.read, cell.random, cell.threads) == (read, random, threads)
                && cell.bs == matrix.bs[size]
        });
        mean(cells.map(|cell| cell.bytes_per_s() / 1e6))
    };
    let sizes = 0..matrix.bs.len();
    let of = |target: Option<usize>| -> Vec<Option<f64>> {
        sizes.clone().map(|size| value(target, size)).collect()
    };
    let mut lines: Vec<Line> = matrix
        .targets
        .iter()
        .enumerate()
        .map(|(place, name)| Line { name: name.clone(), class: "single", points: of(Some(place)) })
        .collect();
    if matrix.targets.len() > 1 {
        let alone = |size: usize| mean(lines.iter().filter_map(|line| line.points[size]));
        let points = sizes.clone().map(alone).collect();
        lines.push(Line { name: MEAN.into(), class: "mean", points });
    }
    if matrix.together && matrix.targets.len() > 1 {
        let sum = of(None);
        let share = |sum: &Option<f64>| sum.map(|sum| sum / count(matrix.targets.len()));
        let each = sum.iter().map(share).collect();
        lines.push(Line { name: EACH.into(), class: "each", points: each });
        lines.push(Line { name: SUM.into(), class: "sum", points: sum });
    }
    lines
}

/// Each target while all are measured at once; nothing where they never are.
pub(super) fn with_all(
    matrix: &Matrix,
    results: &[CellResult],
    read: u32,
    random: u32,
    threads: u32,
) -> Vec<Line> {
    if !matrix.together || matrix.targets.len() < 2 {
        return Vec::new();
    }
    let value = |place: usize, size: usize| {
        let cells = results.iter().filter(|result| {
            let cell = &result.cell;
            cell.target.is_none()
                && (cell.read, cell.random, cell.threads) == (read, random, threads)
                && cell.bs == matrix.bs[size]
        });
        mean(cells.filter_map(|cell| Some(cell.figures.get(place)?.bytes_per_s / 1e6)))
    };
    let sizes = 0..matrix.bs.len();
    let of = |(place, name): (usize, &String)| Line {
        name: format!("{name}, with all"),
        class: "each",
        points: sizes.clone().map(|size| value(place, size)).collect(),
    };
    matrix.targets.iter().enumerate().map(of).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / count(n))
}

#[expect(clippy::cast_precision_loss, reason = "a handful of targets")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}
