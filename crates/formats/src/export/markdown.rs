//! A table for a page of text.

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, label_names};

use crate::exported::Exported;
use crate::series::{Table, spread};
use drivelab_stats::numbers::mean;

/// Writes one row per metric and one column per arm: the mean, its standard deviation, and the
/// number of runs.
pub(super) fn write(results: &Imported) -> Exported {
    let table = Table::new(results);
    let mut text = String::from("| metric | unit | better |");
    let mut rule = String::from("| --- | --- | --- |");
    for arm in &table.arms {
        text += &format!(" {} |", cell(arm));
        rule += " ---: |";
    }
    text += &format!(" what it is |\n{rule} --- |\n");
    for series in &table.series {
        let figure = &series.figure;
        let better = match figure.better {
            Better::More => "more",
            Better::Less => "less",
            Better::Neither => "",
        };
        text += &format!("| {} | {} | {better} |", cell(&figure.name), cell(figure.unit()));
        for values in &series.values {
            let values: Vec<f64> = values.iter().map(|(_, figure)| figure.value).collect();
            text += &match (values.len(), spread(&values)) {
                (0, _) => "  |".to_owned(),
                (n, Some(spread)) => {
                    format!(" {} ± {} (n = {n}) |", digits(mean(&values)), digits(spread))
                }
                (_, None) => format!(" {} |", mean(&values)),
            };
        }
        text += &format!(" {} |\n", label_names(&figure.remarks).join(", "));
    }
    Exported { text, ..Exported::default() }
}

/// Four significant digits, or all digits before the decimal point.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        it if it >= 1000.0 => 0,
        it if it >= 100.0 => 1,
        it if it >= 10.0 => 2,
        it if it >= 1.0 => 3,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
