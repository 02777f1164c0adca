//! A result as sentences and tables, for Markdown and CSV.

use drivelab_analysis::cells::CellRun;
use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::outcome::{Outcome, Series, gather};
use drivelab_analysis::run::{metrics, record_name};
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::{figures, metric};
use drivelab_core::foreign::Imported;
use drivelab_core::matrix::Matrix;
use drivelab_core::record::{Better, RunRecord, label_names};

use super::subject::Subject;
use crate::outcome::Sentence;
use crate::run;
use crate::{comparison, study};

/// A result as it stands in a document.
pub(super) struct Sheet {
    title: String,
    sentences: Vec<Sentence>,
    /// Tables for people, each with its name.
    tables: Vec<(String, Rows)>,
    /// Sentences that cast doubt.
    notes: Vec<String>,
    /// Every number, for a program.
    numbers: Rows,
}

/// A table: heads, then rows.
struct Rows {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    fn new(heads: &[&str], rows: Vec<Vec<String>>) -> Self {
        debug_assert!(rows.iter().all(|row| row.len() == heads.len()), "one cell a column");
        Self { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows }
    }
}

pub(super) fn of(subject: &Subject<'_>) -> Sheet {
    match subject {
        Subject::Run(record) => of_runs(&[record]),
        Subject::Runs(records) => of_runs(records),
        Subject::Comparison(result, _) => of_comparison(result),
        Subject::Study(result) => of_study(result),
        Subject::Matrix(matrix, cells) => of_matrix(matrix, cells),
        Subject::Results(results) => of_results(results),
    }
}

impl Sheet {
    /// Markdown, in which text of other people is only text.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("<!-- drivelab report -->\n# {}\n\n", plain(&self.title));
        for it in &self.sentences {
            text += format!("**{}** {}", plain(&it.lead), plain(&it.body)).trim_end();
            text += "\n\n";
        }
        for (name, Rows { heads, rows }) in &self.tables {
            text += &format!("## {}\n\n", plain(name));
            let line = |cells: &[String]| {
                let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
                format!("| {} |\n", cells.join(" | "))
            };
            text += &line(heads);
            text += &format!("|{}\n", " --- |".repeat(heads.len()));
            text.extend(rows.iter().map(|row| line(row)));
            text.push('\n');
        }
        text.extend(self.notes.iter().map(|note| format!("- {}\n", plain(note))));
        text
    }

    /// Comma-separated values as RFC 4180 has them.
    pub(super) fn csv(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            // Lines end as RFC 4180 has it.
            cells.join(",") + "\r\n"
        };
        let rows = self.numbers.rows.iter().map(|row| line(row));
        std::iter::once(line(&self.numbers.heads)).chain(rows).collect()
    }
}

/// Text that Markdown shows as it is, on one line.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in crate::page::html::short(text).chars() {
        match c {
            '\\' | '|' | '*' | '_' | '[' | ']' | '#' | '!' => shown.extend(['\\', c]),
            // Markdown passes elements on to the page that it becomes.
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            c if c.is_control() => shown.push(' '),
            c => shown.push(c),
        }
    }
    shown
}

pub(crate) fn quoted(cell: &str) -> String {
    // RFC 4180 needs quotes around such cells only.
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

fn full(value: f64) -> String {
    format!("{value}")
}

fn direction(better: Better) -> String {
    match better {
        Better::More => "more",
        Better::Less => "less",
        Better::Neither => "",
    }
    .to_owned()
}

fn of_runs(records: &[&RunRecord]) -> Sheet {
    let rows = records.iter().map(|record| run::row(record).to_vec()).collect();
    let mut notes: Vec<String> = Vec::new();
    for mark in records.iter().flat_map(|record| &record.marks) {
        if !notes.contains(&mark.message) {
            notes.push(mark.message.clone());
        }
    }
    let numbers = records.iter().flat_map(|record| {
        metrics(record).into_iter().map(|it| {
            let unit = it.unit().to_owned();
            vec![
                record_name(record).to_owned(),
                it.name,
                full(it.value),
                unit,
                direction(it.better),
            ]
        })
    });
    let title = match records {
        [one] => record_name(one).to_owned(),
        several => format!("{} runs", several.len()),
    };
    let figures: Vec<Vec<String>> = records
        .iter()
        .flat_map(|record| {
            metrics(record).into_iter().map(|it| {
                let value = match it.unit.as_str() {
                    "" => metric::show(&it.name, it.value),
                    unit => format!("{} {unit}", figures::significant(it.value)),
                };
                vec![record_name(record).to_owned(), it.name, value]
            })
        })
        .collect();
    let repeat = records.iter().map(|record| drivelab_analysis::run::command(record));
    let sentences =
        repeat.map(|command| Sentence::new("To repeat:", format!("`{command}`"), None)).collect();
    Sheet {
        title,
        sentences,
        tables: vec![
            ("Runs".to_owned(), Rows::new(&run::HEADS, rows)),
            ("Metrics".to_owned(), Rows::new(&["run", "metric", "value"], figures)),
        ],
        notes,
        numbers: Rows::new(&["run", "metric", "value", "unit", "better"], numbers.collect()),
    }
}

const COMPARED: [&str; 8] =
    ["metric", "arm", "baseline", "measured", "ratio", "95 % interval", "n", "verdict"];
const COMPARED_FULL: [&str; 10] =
    ["metric", "arm", "baseline", "measured", "ratio", "ci95_lo", "ci95_hi", "n", "p", "verdict"];

/// The outcomes for people, and for a program.
fn compared(outcomes: &[&Outcome], series: &[Series], names: &[&str]) -> (Rows, Rows) {
    let (mut shown, mut whole) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        let of = &series[outcome.series];
        let it = &outcome.adjusted.comparison;
        let mean = |arm: usize| outcome.mean(of, arm);
        let (name, arm, n) = (of.name.clone(), names[outcome.to].to_owned(), it.n.to_string());
        let limit = |end: usize| it.ci95.map(|limits| full(limits[end])).unwrap_or_default();
        shown.push(vec![
            name.clone(),
            arm.clone(),
            of.show(mean(outcome.from)),
            of.show(mean(outcome.to)),
            figures::ratio(it.ratio),
            it.ci95.map(figures::range).unwrap_or_default(),
            n.clone(),
            outcome.word(),
        ]);
        let [from, to] = [outcome.from, outcome.to].map(|arm| full(mean(arm)));
        let (ratio, p) = (full(it.ratio), full(it.p));
        whole.push(vec![name, arm, from, to, ratio, limit(0), limit(1), n, p, outcome.word()]);
    }
    (Rows::new(&COMPARED, shown), Rows::new(&COMPARED_FULL, whole))
}

fn of_comparison(result: &CompareResult) -> Sheet {
    let names = result.names();
    let outcomes: Vec<&Outcome> = result.outcomes.iter().collect();
    let (shown, numbers) = compared(&outcomes, &result.series, &names);
    let warnings = result.warnings();
    Sheet {
        title: format!("{} against {}", names[1..].join(", "), names[0]),
        sentences: comparison::words(result),
        tables: vec![("Metrics".to_owned(), shown)],
        notes: [warnings, result.attached.warnings.clone(), result.notes.clone()].concat(),
        numbers,
    }
}

fn of_study(result: &StudyResult) -> Sheet {
    let names = result.names();
    let outcomes: Vec<&Outcome> = result.outcomes.iter().collect();
    let (shown, numbers) = compared(&outcomes, &result.series, &names);
    let pairs = result.outcomes.iter().map(|o| (result.series_of(o).name.as_str(), o));
    let mut sentences = study::words(result);
    let again = format!("`{}`", result.experiment.reproduce);
    sentences.push(Sentence::new("To repeat:", again, None));
    Sheet {
        title: result.experiment.title.clone(),
        sentences,
        tables: vec![("Metrics".to_owned(), shown)],
        notes: [gather(pairs, &[]), result.attached.warnings.clone(), result.notes.clone()]
            .concat(),
        numbers,
    }
}

fn of_matrix(matrix: &Matrix, runs: &[CellRun<'_>]) -> Sheet {
    let cells = matrix.cells();
    let (mut shown, mut whole) = (Vec::new(), Vec::new());
    for run in runs {
        let Some(total) = &run.record.total else { continue };
        let (block, words) = (run.block.to_string(), cells[run.place].words(matrix));
        let rate = figures::bytes_per_s(total.bytes_per_s);
        shown.push(vec![block.clone(), words.clone(), rate, figures::count(total.iops)]);
        whole.push(vec![block, words, full(total.bytes_per_s), full(total.iops)]);
    }
    Sheet {
        title: matrix.title.clone(),
        sentences: Vec::new(),
        tables: vec![("Cells".to_owned(), Rows::new(&["block", "cell", "rate", "IOPS"], shown))],
        notes: drivelab_analysis::cells::Cells::of(matrix, runs).doubts,
        numbers: Rows::new(&["block", "cell", "bytes_per_s", "iops"], whole),
    }
}

fn of_results(results: &Imported) -> Sheet {
    let (mut shown, mut whole) = (Vec::new(), Vec::new());
    for one in &results.runs {
        for figure in one.phases.iter().flat_map(drivelab_core::record::Phase::metrics) {
            let labels = label_names(&figure.remarks).join(" ");
            let (arm, name, unit) =
                (one.arm.clone(), figure.name.clone(), figure.unit().to_owned());
            let value = figures::plain(figure.value);
            shown.push(vec![arm.clone(), name.clone(), value, unit.clone(), labels]);
            whole.push(vec![arm, name, full(figure.value), unit, direction(figure.better)]);
        }
    }
    let heads = ["arm", "metric", "value", "unit", "what it is"];
    Sheet {
        title: format!("{} {}", results.tool, results.tool_version).trim().to_owned(),
        sentences: Vec::new(),
        tables: vec![("Results".to_owned(), Rows::new(&heads, shown))],
        notes: results.notes.clone(),
        numbers: Rows::new(&["arm", "metric", "value", "unit", "better"], whole),
    }
}
