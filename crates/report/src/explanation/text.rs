//! An explanation in words.

use drivelab_analysis::explanation::{Answer, Explanation, Kind, Ranked, Spoken, Strength};
use drivelab_core::shown_in_line;

use crate::text::{Align, BOLD, DIM, Look, Table};

/// Hypotheses that are shown.
const SHOWN: usize = 6;
/// Hypotheses behind the first that are less probable are not shown.
const SHOWN_MIN: f64 = 0.01;

/// The answer in words: the ranking first, then what it rests on.
pub fn text(answer: &Answer, look: Look) -> String {
    let explanation = &answer.explanation;
    let mut text = look.led("Answer:", BOLD, &sentence(explanation), 2) + "\n\n";
    let shown = explanation.ranking.iter().enumerate();
    let shown = shown.filter(|(place, it)| *place == 0 || it.probability >= SHOWN_MIN);
    for (place, ranked) in shown.take(SHOWN) {
        text += &hypothesis(explanation, ranked, place, look);
    }
    text.push('\n');
    text += &figures(explanation, look);
    text.push('\n');
    text += &next(answer, look);
    text += &rest(answer, look);
    text
}

fn sentence(explanation: &Explanation) -> String {
    let first = &explanation.ranking[0];
    let percent = percent(first.probability);
    let what = match first.kind {
        Kind::Chance => "chance explains the difference: two runs of one arm differ as much",
        Kind::NoneOfThese => "none of the causes in the library explains the difference",
        Kind::Cause | Kind::Two => &causes(explanation, first),
    };
    let words = match explanation.strength {
        Strength::Decisive => "decisive: a hundred times as probable as any other",
        Strength::Strong => "strong: ten times as probable as any other",
        Strength::Moderate => "moderate: three times as probable as any other",
        Strength::Undecided => "undecided: another explanation is nearly as probable",
    };
    format!("{what} ({percent}; {words}).")
}

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

fn hypothesis(explanation: &Explanation, ranked: &Ranked, place: usize, look: Look) -> String {
    let what = match ranked.kind {
        Kind::Chance => "chance".to_owned(),
        Kind::NoneOfThese => "none of these: a cause outside the library".to_owned(),
        Kind::Cause | Kind::Two => causes(explanation, ranked),
    };
    let share = percent(ranked.probability);
    let space = " ".repeat((INDENT - 2).saturating_sub(share.chars().count()));
    let narrow = Look { width: look.columns() - INDENT, ..look };
    let mut lines = narrow.wrap(&what, 0).lines().map(str::to_owned).collect::<Vec<_>>();
    let first = lines.remove(0);
    let mut text = format!("{space}{}  {first}\n", look.paint(&share, BOLD));
    text += &lines.iter().map(|line| format!("{:INDENT$}{line}\n", "")).collect::<String>();
    let rival = if place == 0 { "the second" } else { "the first" };
    for (lead, spoken) in [("for:", ranked.speaks_for), ("against:", ranked.speaks_against)] {
        let Some(spoken) = spoken else { continue };
        let words = said(explanation, ranked, spoken, rival);
        text += &indented(look, &format!("{lead} {words}"));
    }
    text
}

/// What a figure says about a hypothesis.
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
    wrapped.lines().map(|line| format!("{:INDENT$}{line}\n", "")).collect()
}

/// Columns before them: a probability and two spaces.
const INDENT: usize = 12;

fn times(ratio: f64) -> String {
    if ratio < 0.1 { format!("x{ratio:.3}") } else { format!("x{ratio:.2}") }
}

fn figures(explanation: &Explanation, look: Look) -> String {
    let mut table = Table::new(&[
        ("figure", Align::Left, 0),
        ("ratio", Align::Right, 0),
        ("by chance up to", Align::Right, 0),
    ]);
    for figure in &explanation.figures {
        table.row([
            shown_in_line(&figure.name).into_owned(),
            times(figure.ratio),
            times(figure.chance_factor),
        ]);
    }
    table.render(look)
}

fn next(answer: &Answer, look: Look) -> String {
    let mut text = String::new();
    if let Some(next) = &answer.next {
        let lead = "Next, in both arms:";
        text += &look.command(lead, &next.command);
        let of_place = |(place, ratio): &(usize, f64)| {
            format!("{} under hypothesis {}", times(*ratio), place + 1)
        };
        let ratios: Vec<String> = next.ratios.iter().map(of_place).collect();
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

/// What the answer does not consider.
fn rest(answer: &Answer, look: Look) -> String {
    let mut text = String::new();
    let drive = shown_in_line(&answer.drive);
    let rests = format!("{} drives that fit `{drive}`, simulated", answer.specimens);
    text += &(look.led("Rests on", DIM, &rests, 2) + "\n");
    let unseen = answer.explanation.unseen.iter().map(|it| it.words.clone()).collect::<Vec<_>>();
    if !unseen.is_empty() {
        text += &(look.led("No figure here shows:", DIM, &unseen.join("; "), 2) + "\n");
    }
    for (lead, all) in [
        ("Left out:", &answer.left_out),
        ("Not possible on this drive:", &answer.impossible),
        ("Not modelled:", &answer.not_modelled),
    ] {
        for (name, why) in all {
            let words = format!("{} ({})", shown_in_line(name), shown_in_line(why));
            text += &(look.led(lead, DIM, &words, 2) + "\n");
        }
    }
    text
}
