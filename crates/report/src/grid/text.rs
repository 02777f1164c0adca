//! A matrix study for a terminal: the findings, how drives scale, what to know about both.

use anstyle::{AnsiColor, Style};

use super::finding::{Answer, Held, Reading, Test};
use super::{Figure, Grid, Measure};
use crate::cells::Group;
use crate::figures;
use crate::text::{Align, BOLD, Look, Table};

/// The result as text.
pub fn text(grid: &Grid, look: Look) -> String {
    let study = &grid.study;
    let mut text = look.paint(&look.wrap(&study.title, 0), BOLD);
    text += "\n\n";
    for answer in &grid.answers {
        let style = colour(answer.held);
        let lead = format!("{}:", sentence_case(answer.held.words()));
        text += &look.led(&lead, style, &answer.finding.claim, 2);
        text.push('\n');
        for line in lines(grid, answer) {
            text += &format!("  {}\n", look.wrap(&line, 4));
        }
    }
    text += "\nScaling: all drives at once, of the sum of each alone; geometric mean over block \
             sizes (lowest)\n";
    text += &scaling(grid).render(look);
    text.push('\n');
    for risk in &study.risks {
        text += &(look.led("Risk:", BOLD, risk, 2) + "\n");
    }
    for note in &study.notes {
        text += &(look.led("Note:", BOLD, note, 2) + "\n");
    }
    text += &look.command("To repeat:", &study.reproduce);
    text
}

fn sentence_case(words: &str) -> String {
    words[..1].to_uppercase() + &words[1..]
}

fn colour(held: Held) -> Style {
    match held {
        Held::Holds => AnsiColor::Green.on_default().bold(),
        Held::DoesNotHold => AnsiColor::Red.on_default().bold(),
        Held::CannotTell => AnsiColor::Yellow.on_default(),
    }
}

/// The readings of a finding: a line for each arm or pair, with a figure for each cursor.
pub(super) fn lines(grid: &Grid, answer: &Answer) -> Vec<String> {
    let names = grid.study.names();
    let Test::Figure(figure) = &answer.finding.test else {
        let pairs = answer.readings.iter().map(|reading| pair(&names, reading));
        let pairs: Vec<String> = pairs.collect();
        return vec![if pairs.is_empty() {
            "no pair of arms bears all of them out".into()
        } else {
            format!("all of them are borne out by {}", pairs.join("; "))
        }];
    };
    let mut told_of: Vec<(String, String)> = Vec::new();
    let first = answer.readings.iter().filter(|reading| reading.cursor == 0);
    for reading in first {
        let same = |other: &&Reading| {
            (other.arm, other.against) == (reading.arm, reading.against)
                && other.cursor > 0
                && (show(figure, other) != show(figure, reading) || other.holds != reading.holds)
        };
        let mut line = told(figure, reading);
        for other in answer.readings.iter().filter(same) {
            let cursor = &grid.cursors[other.cursor];
            line += &format!("; with {cursor} cursors {}", told(figure, other));
        }
        told_of.push((pair(&names, reading), line));
    }
    let alike = told_of.windows(2).all(|two| two[0].1 == two[1].1);
    let mut lines: Vec<String> = match &told_of[..] {
        [(_, line), _, ..] if alike => vec![format!("{}: {line}", each_of(&names, figure))],
        _ => told_of.iter().map(|(pair, line)| format!("{pair}: {line}")).collect(),
    };
    if figure.at_least.is_none() && figure.at_most.is_none() {
        lines.push("nothing was stated that these figures could meet or miss".into());
    }
    lines
}

/// All arms of a finding that say the same.
fn each_of(names: &[&str], figure: &Figure) -> String {
    let joined = |arms: &[usize]| {
        let names: Vec<&str> = arms.iter().map(|arm| names[*arm]).collect();
        names.join(" or ")
    };
    let mine = joined(&figure.arms);
    if figure.against.is_empty() {
        return mine;
    }
    format!("{mine} against {}", joined(&figure.against))
}

fn pair(names: &[&str], reading: &Reading) -> String {
    let arm = names[reading.arm];
    reading
        .against
        .map_or_else(|| arm.to_owned(), |other| format!("{arm} against {}", names[other]))
}

fn told(figure: &Figure, reading: &Reading) -> String {
    let holds = match reading.holds {
        Some(true) => ", holds",
        Some(false) => ", does not hold",
        None => "",
    };
    format!("{}{holds}", show(figure, reading))
}

/// A reading in figures.
fn show(figure: &Figure, reading: &Reading) -> String {
    let unit = |value: f64| match figure.what {
        Measure::MbPerS => format!("{} MB/s", figures::significant(value)),
        Measure::Scaling => format!("{:.0} %", 100.0 * value),
        Measure::MbPerSPerUsd => format!("{} MB/s a dollar", figures::significant(value)),
    };
    match reading.other {
        None => unit(reading.figure),
        Some(other) => {
            format!(
                "{} ({} against {})",
                figures::times(reading.value),
                unit(reading.figure),
                unit(other)
            )
        }
    }
}

/// One row a group, one column an arm.
fn scaling(grid: &Grid) -> Table {
    let mut columns = vec![("cells", Align::Left, 0)];
    columns.extend(grid.study.arms.iter().map(|arm| (arm.name.as_str(), Align::Right, 0)));
    let mut table = Table::new(&columns);
    for group in Group::all(&grid.matrix) {
        let mut row = vec![(group.name(), Style::new())];
        for arm in 0..grid.study.arms.len() {
            let line = grid.line(arm, 0, group);
            let values: Vec<f64> = line.iter().filter_map(|row| row.scaling()).collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let mean = crate::outcome::geometric_mean(&values);
            let percent = |value: f64| format!("{:.0}", 100.0 * value);
            row.push((format!("{} % ({})", percent(mean), percent(least)), Style::new()));
        }
        table.row(row);
    }
    table
}
