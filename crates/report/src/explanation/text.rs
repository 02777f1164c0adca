//! An explanation in words.

use drivelab_analysis::explanation::{
    Accused, Answer, Explanation, Kind, Ranked, Spoken, Strength,
};
use drivelab_analysis::signs::Confidence;
use drivelab_core::shown_in_line;

use crate::text::{Align, BOLD, DIM, Look, Table};

/// Hypotheses that are shown.
const SHOWN: usize = 6;
/// Hypotheses behind the first that are less probable are not shown.
const SHOWN_MIN: f64 = 0.01;
/// Causes whose predictions are shown, unless all are asked for.
const CAUSES_SHOWN: usize = 8;
/// Figures that fit into the row of a cause.
const COLUMNS_MAX: usize = 5;

/// The answer in words: the ranking first, then what it rests on; with every cause if `all`.
pub fn text(answer: &Answer, all: bool, look: Look) -> String {
    let explanation = &answer.explanation;
    let mut text = look.led("Answer:", BOLD, &sentence(explanation), 2) + "\n\n";
    let shown = explanation.ranking.iter().enumerate();
    let shown = shown.filter(|(rank, it)| *rank == 0 || it.probability >= SHOWN_MIN);
    for (rank, ranked) in shown.take(SHOWN) {
        text += &hypothesis(explanation, ranked, rank, look);
    }
    text.push('\n');
    text += &figures(explanation, look);
    text += &signs(explanation, look);
    text += &causes_table(explanation, all, look);
    text.push('\n');
    text += &next(answer, look);
    text += &rest(answer, look);
    text
}

fn sentence(explanation: &Explanation) -> String {
    let first = &explanation.ranking[0];
    let share = percent(first.probability);
    let what = match first.kind {
        Kind::Chance => CHANCE.to_owned(),
        Kind::NoneOfThese => "none of the causes in the library explains the difference".to_owned(),
        Kind::Cause | Kind::Two => causes(explanation, first),
    };
    let words = match explanation.strength {
        Strength::Decisive => "decisive: at least a hundred times as probable as any other",
        Strength::Strong => "strong: at least ten times as probable as any other",
        Strength::Moderate => "moderate: at least three times as probable as any other",
        Strength::Undecided => "undecided: another explanation is nearly as probable",
    };
    format!("{what} ({share}; {words}).")
}

const CHANCE: &str = "chance explains the difference, or a cause that none of these figures shows: \
                      two runs of one arm differ as much";

/// The causes of a hypothesis, each with its arm.
fn causes(explanation: &Explanation, ranked: &Ranked) -> String {
    let each = ranked.causes.iter().map(|cause| {
        let arm = cause.arm.map_or("an arm", |arm| &explanation.arms[arm]);
        format!("in `{}`, {}", shown_in_line(arm), shown_in_line(&cause.words))
    });
    each.collect::<Vec<_>>().join("; and ")
}

fn percent(probability: f64) -> String {
    match probability {
        it if it > 0.995 => "over 99 %".to_owned(),
        it if it < 0.01 => "below 1 %".to_owned(),
        it => format!("{:.0} %", 100.0 * it),
    }
}

fn hypothesis(explanation: &Explanation, ranked: &Ranked, rank: usize, look: Look) -> String {
    let what = match ranked.kind {
        Kind::Chance => "chance, or a cause that no figure here shows".to_owned(),
        Kind::NoneOfThese => "none of these: a cause outside the library".to_owned(),
        Kind::Cause | Kind::Two => causes(explanation, ranked),
    };
    let share = percent(ranked.probability);
    let space = " ".repeat((INDENT - 2).saturating_sub(share.chars().count()));
    let narrow = Look { width: look.columns() - INDENT, ..look };
    let wrapped = narrow.wrap(&what, 0);
    let mut lines = wrapped.lines();
    let first = lines.next().unwrap_or_default();
    let mut text = format!("{space}{}  {first}\n", look.paint(&share, BOLD));
    text += &lines.map(below).collect::<Vec<String>>().concat();
    let rival = if rank == 0 { "the second" } else { "the first" };
    for (lead, spoken) in [("for:", ranked.speaks_for), ("against:", ranked.speaks_against)] {
        let Some(spoken) = spoken else { continue };
        let words = said(explanation, ranked, spoken, rival);
        text += &indented(look, &format!("{lead} {words}"));
    }
    text
}

/// The evidence of one figure about a hypothesis.
fn said(explanation: &Explanation, ranked: &Ranked, spoken: Spoken, rival: &str) -> String {
    let figure = &explanation.figures[spoken.figure];
    let predicted = ranked.predicted95.get(spoken.figure);
    let predicted = predicted.map_or_else(String::new, |[low, high]| {
        format!("; predicted {} to {}", times(*low), times(*high))
    });
    let (factor, than) =
        if spoken.factor >= 1.0 { (spoken.factor, "more") } else { (1.0 / spoken.factor, "less") };
    let factor = if factor > 1000.0 { "over 1,000".to_owned() } else { format!("{factor:.1}") };
    format!(
        "{} {}{predicted} ({factor} times {than} probable than under {rival})",
        shown_in_line(&figure.name),
        times(figure.ratio),
    )
}

/// Lines below a hypothesis.
fn indented(look: Look, words: &str) -> String {
    let narrow = Look { width: look.columns() - INDENT, ..look };
    let wrapped = narrow.wrap(words, 2);
    wrapped.lines().map(below).collect::<Vec<String>>().concat()
}

fn below(line: &str) -> String {
    format!("{:INDENT$}{line}\n", "")
}

/// Columns before them: a probability and two spaces.
const INDENT: usize = 12;

fn times(ratio: f64) -> String {
    if ratio < 0.1 { format!("x{ratio:.3}") } else { format!("x{ratio:.2}") }
}

fn figures(explanation: &Explanation, look: Look) -> String {
    let mut table = Table::new(&[
        ("", Align::Left, 0),
        ("figure", Align::Left, 0),
        ("ratio", Align::Right, 0),
        ("by chance up to", Align::Right, 0),
    ]);
    for (number, figure) in (1..).zip(&explanation.figures) {
        table.row([
            number.to_string(),
            shown_in_line(&figure.name).into_owned(),
            times(figure.ratio),
            times(figure.chance_factor),
        ]);
    }
    table.render(look)
}

/// The signs that measurements of the drives themselves show.
fn signs(explanation: &Explanation, look: Look) -> String {
    let mut text = String::new();
    for (arm, signs) in explanation.arms.iter().zip(&explanation.signs) {
        for sign in signs {
            let certainty = if sign.confidence == Confidence::Certain { "" } else { "likely " };
            let words = format!(
                "in `{}`, {certainty}{} ({})",
                shown_in_line(arm),
                shown_in_line(&sign.words),
                shown_in_line(&sign.evidence)
            );
            text += &look.led("Measured:", DIM, &words, 2);
            text.push('\n');
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The probability of each cause, alone or with another, and its own median ratios.
fn causes_table(explanation: &Explanation, all: bool, look: Look) -> String {
    let count = if all { explanation.causes.len() } else { CAUSES_SHOWN };
    let unseen = explanation.unseen.iter().filter(|_| all);
    let shown: Vec<&Accused> = explanation.causes.iter().take(count).chain(unseen).collect();
    if shown.is_empty() {
        return String::new();
    }
    let columns = explanation.figures.len().min(COLUMNS_MAX);
    let numbers: Vec<String> = (1..=columns).map(|it| it.to_string()).collect();
    let mut heads = vec![("", Align::Right, 0), ("cause", Align::Left, 0), ("in", Align::Left, 0)];
    heads.extend(numbers.iter().map(|number| (number.as_str(), Align::Right, 0)));
    let mut table = Table::new(&heads);
    for accused in shown {
        let arm = accused.cause.arm.map_or("", |arm| &explanation.arms[arm]);
        let mut row = vec![
            accused.cause.arm.map_or("not shown".to_owned(), |_| percent(accused.probability)),
            shown_in_line(&accused.cause.id).into_owned(),
            shown_in_line(arm).into_owned(),
        ];
        row.extend(accused.predicted.iter().take(columns).map(|ratio| times(*ratio)));
        table.row(row);
    }
    let lead = "Each cause, alone or with another, and the ratio of each figure if it acts alone:";
    format!("\n{}\n{}", look.wrap(lead, 0).trim_end(), table.render(look))
}

fn next(answer: &Answer, look: Look) -> String {
    let mut text = String::new();
    if let Some(next) = &answer.next {
        let commands = answer.next_commands();
        let lead = if commands.len() == 1 { "Next, in both arms:" } else { "Next:" };
        for command in &commands {
            text += &look.command(lead, &shown_in_line(command));
        }
        let ratios: Vec<String> = next.ratios.iter().map(under).collect();
        let said = format!(
            "expected to give {:.2} of the {:.2} bits that separate them: {}",
            next.bits,
            next.missing_bits,
            ratios.join(", "),
        );
        text += &indented(look, &said);
    }
    let mut looks: Vec<&str> = Vec::new();
    for cause in answer.explanation.ranking.iter().take(2).flat_map(|it| &it.causes) {
        if !looks.contains(&cause.look.as_str()) {
            looks.push(&cause.look);
        }
    }
    for command in looks {
        text += &look.command("Or look:", &shown_in_line(command));
    }
    text
}

/// The ratio of the next measurement under a hypothesis.
fn under((rank, ratio): &(usize, f64)) -> String {
    format!("{} under hypothesis {}", times(*ratio), rank + 1)
}

/// The limits of the answer.
fn rest(answer: &Answer, look: Look) -> String {
    let mut text = String::new();
    let drive = shown_in_line(&answer.drive);
    let rests = format!("{} drives that fit `{drive}`, simulated", answer.specimens);
    text += &(look.led("Rests on", DIM, &rests, 2) + "\n");
    let unseen =
        answer.explanation.unseen.iter().map(|it| it.cause.words.clone()).collect::<Vec<_>>();
    if !unseen.is_empty() {
        let unseen = shown_in_line(&unseen.join("; ")).into_owned();
        text += &(look.led("No figure here shows:", DIM, &unseen, 2) + "\n");
    }
    for (lead, all) in [
        ("Left out:", &answer.left_out),
        ("Not possible on this drive:", &answer.impossible),
        ("Not predicted, as the model lacks it:", &answer.not_predicted),
    ] {
        let named: Vec<String> = all.iter().map(named).collect();
        if !named.is_empty() {
            text += &(look.led(lead, DIM, &named.join("; "), 2) + "\n");
        }
    }
    text
}

fn named((name, why): &(String, String)) -> String {
    format!("{} ({})", shown_in_line(name), shown_in_line(why))
}
