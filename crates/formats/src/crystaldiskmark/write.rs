//! The text of `CrystalDiskMark`, in the format of the version that measured, or of version 8.

use drivelab_core::Refusal;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Phase};

use super::form::{Form, Rate};
use super::row::Direction;
use super::{BY_ANOTHER, KEPT};
use crate::exported::Exported;

/// Lines end as in Windows.
const END: &str = "\r\n";

/// Writes one report per run. Only rates in MB/s with the names of its tests (`seq1m_q8t1_read`)
/// have a line, with their IOPS and latencies, and only if a line of that version can name them.
///
/// # Errors
/// No figure is one.
pub fn write(results: &Imported) -> Result<Exported, Refusal> {
    let mut exported = Exported::default();
    let mut is_empty = true;
    for run in &results.runs {
        let figures: Vec<Figure> = run.phases.iter().flat_map(Phase::metrics).collect();
        let heading = banner(results, run);
        let form = Form::of(heading.split_whitespace().nth(1).unwrap_or(""));
        let tests = figures.iter().filter_map(|it| Rate::new(it, &figures));
        let tests: Vec<Rate> = tests.filter(|test| form.holds(test)).collect();
        is_empty &= tests.is_empty();
        for figure in figures.iter().filter(|figure| !is_written(&figure.name, &tests)) {
            exported.leave_out(&figure.name);
        }
        exported.text += &report(results, run, (heading, form), &tests);
    }
    if is_empty {
        let message = "no figure is one of a test of CrystalDiskMark: they are called \
                       `seq1m_q8t1_read` and the like, in MB/s; export these results as csv, \
                       markdown or phoronix";
        return Err(Refusal::request(message));
    }
    Ok(exported)
}

/// True if a figure is in the line of one of `tests`: its rate, IOPS or latency.
fn is_written(name: &str, tests: &[Rate]) -> bool {
    let rate = name.strip_suffix("_iops").or_else(|| name.strip_suffix("_latency"));
    tests.iter().any(|test| test.name == rate.unwrap_or(name))
}

/// The name of the tool that measured.
const TOOL: &str = "CrystalDiskMark";

fn option<'a>(run: &'a ImportedRun, name: &str) -> &'a str {
    run.setup.get(name).map_or("", String::as_str)
}

fn banner(results: &Imported, run: &ImportedRun) -> String {
    match option(run, "banner") {
        "" if results.tool == TOOL => format!("{TOOL} {}", results.tool_version),
        "" => format!("{TOOL} 8, the form of its text: {BY_ANOTHER}"),
        banner => banner.to_owned(),
    }
}

fn report(
    results: &Imported,
    run: &ImportedRun,
    (banner, form): (String, Form),
    tests: &[Rate],
) -> String {
    let rule = "-".repeat(form.width());
    let is_its_own = results.tool == TOOL && !banner.ends_with(BY_ANOTHER);
    let mut lines = vec![rule.clone(), banner];
    if is_its_own {
        lines.push(format!("{:>1$}", form.address(), form.width()));
    }
    lines.push(rule);
    lines.extend(form.units().iter().map(|line| (*line).to_owned()));
    lines.push(String::new());
    if form.has_sections() {
        for (direction, title) in [
            (Direction::Read, "[Read]"),
            (Direction::Write, "[Write]"),
            (Direction::Mix, "[Mix] Read 70%/Write 30%"),
        ] {
            let mut of = tests.iter().filter(|test| test.direction == direction).peekable();
            if of.peek().is_some() {
                lines.push(title.to_owned());
                lines.extend(of.map(|test| form.line(test)));
                lines.push(String::new());
            }
        }
    } else {
        lines.extend(tests.iter().map(|test| form.line(test)));
        lines.push(String::new());
    }
    let settings = KEPT.iter().filter(|name| run.setup.contains_key(**name));
    lines.extend(settings.map(|name| form.setting(name, option(run, name))));
    lines.push(String::new());
    lines.join(END)
}
