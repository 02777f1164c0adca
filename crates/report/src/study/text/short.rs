//! The first answer to a study: the verdict, what else matters most, the table, and the command
//! that settles it.

use drivelab_core::record::{Doubt, MarkId};
use drivelab_stats::Verdict;

use super::super::words::{answer, but_worse, withheld, worse};
use super::{conclusion, settle};
use crate::outcome::{Sentence, direction};
use crate::text::{Align, BOLD, Brief, Cell, DOUBT, Look, Table, rest};
use drivelab_analysis::outcome::{Outcome, gather};
use drivelab_analysis::study::Answer;
use drivelab_analysis::study::StudyResult;
use drivelab_analysis::{figures, marks, metric};

/// Rows of the table, at most, before arms other than the candidate are left out of workloads other
/// than that of the primary metric.
const ROWS_MAX: usize = 16;
/// Names listed before the rest is only counted.
const NAMES_MAX: usize = 4;

/// The result in short, as text; `more` is what shows the rest.
pub fn short(result: &StudyResult, look: Look, more: &str) -> String {
    let title = look.paint(&look.wrap(&result.experiment.title, 0), BOLD);
    let mut text = format!("{title}\n\n{}", answer(result).text(look));
    text += &matters(result, look);
    text.push('\n');
    if let Some(cells) = &result.experiment.cells {
        text += &crate::cells::summary(cells, &result.names(), look);
        text.push('\n');
    }
    text += &table(result).render(look);
    text.push('\n');
    text += &basis(result, look);
    text += &settle(result, look);
    text += &look.command("To repeat:", &result.experiment.reproduce);
    text + &rest(look, more)
}

/// The other points that matter, the most important first.
fn matters(result: &StudyResult, look: Look) -> String {
    let mut brief = Brief::default();
    // The reason of a missing verdict is never left out.
    withheld(result).for_each(|it| brief.must(&it.text(look)));
    for warning in &result.attached.warnings {
        brief.must(&(look.led("Warning:", DOUBT, warning, 2) + "\n"));
    }
    for warning in warnings(result) {
        brief.add(&(look.led("Warning:", DOUBT, &warning, 2) + "\n"));
    }
    for note in foreign(result) {
        brief.add(&(look.led("Note:", DOUBT, &note, 2) + "\n"));
    }
    let sentences = got_worse(result)
        .into_iter()
        .chain(by_verdict(result, "Slower:", |it| it.verdict() == Verdict::Slower))
        .chain(by_verdict(result, "Depends on the drive:", Outcome::depends))
        .chain(risks(result))
        .chain(by_verdict(result, "Faster too:", |it| it.verdict() == Verdict::Faster))
        .chain(other_arms(result))
        .chain(claims(result));
    sentences.for_each(|it| brief.add(&it.text(look)));
    for doubt in result.experiment.cells.iter().flat_map(|cells| &cells.doubts) {
        brief.add(&(look.led("Note:", BOLD, doubt, 2) + "\n"));
    }
    brief.into_text()
}

/// The warnings of the comparison that decides, without those that its verdict states.
fn warnings(result: &StudyResult) -> Vec<String> {
    let primary = result.primary();
    let all = &primary.adjusted.comparison.warnings;
    let said = all.iter().map(|warning| warning.id).filter(|id| id.withholds());
    let name = result.series_of(primary).name.as_str();
    gather(std::iter::once((name, primary)), &said.collect::<Vec<_>>())
}

/// The marks of runs of the primary workload whose figures are of something else than the drive.
fn foreign(result: &StudyResult) -> Vec<String> {
    let workload = result.series_of(result.primary()).workload;
    let runs = result.experiment.runs.iter().filter(|run| run.workload == workload);
    let marked = runs.map(|run| {
        let marks = run.marks.iter().copied().filter(|mark| mark.doubt() == Some(Doubt::Foreign));
        (run.arm, marks.collect::<Vec<MarkId>>())
    });
    marks::notes(&result.names(), &marked.collect::<Vec<_>>())
}

/// The candidate in the headlines of the other workloads that have such a verdict: the table has
/// the figures.
fn by_verdict(
    result: &StudyResult,
    lead: &str,
    is_such: impl Fn(&Outcome) -> bool,
) -> Option<Sentence> {
    let primary = result.series_of(result.primary()).workload;
    let workloads = (0..result.experiment.workloads.len()).filter(|it| *it != primary);
    let such = workloads
        .filter(|workload| result.headline(*workload, result.candidate).is_some_and(&is_such));
    let names = such.map(|workload| format!("`{}`", result.experiment.workloads[workload].name));
    listed(lead, &names.collect::<Vec<_>>())
}

fn listed(lead: &str, names: &[String]) -> Option<Sentence> {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    let body = match names.len().saturating_sub(NAMES_MAX) {
        0 if names.is_empty() => return None,
        0 => format!("{shown}."),
        more => format!("{shown} and {more} more."),
    };
    Some(Sentence::new(lead, body, None))
}

/// The metrics that got worse, each with its workloads.
fn got_worse(result: &StudyResult) -> Option<Sentence> {
    let mut metrics: Vec<(String, Vec<String>)> = Vec::new();
    for it in worse(result) {
        let series = result.series_of(it);
        let (label, workload) = (
            metric::label(&series.metric),
            format!("`{}`", result.experiment.workloads[series.workload].name),
        );
        match metrics.iter_mut().find(|(known, _)| *known == label) {
            Some((_, workloads)) => workloads.push(workload),
            None => metrics.push((label, vec![workload])),
        }
    }
    let parts = metrics.into_iter().map(|(label, mut workloads)| {
        let more = workloads.split_off(workloads.len().min(NAMES_MAX)).len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{label} of {}{more}", workloads.join(", "))
    });
    Sentence::listing(&but_worse(result), parts, None)
}

/// The risks in which the arms differ when power fails.
fn risks(result: &StudyResult) -> impl Iterator<Item = Sentence> {
    let risks = result.experiment.risks.iter().filter(|risk| risk.differs);
    risks.map(|risk| Sentence::new("Risk:", risk.sentence.clone(), None))
}

fn other_arms(result: &StudyResult) -> Option<Sentence> {
    let gate = result.primary().series;
    let others = result.outcomes.iter().filter(|o| o.series == gate && o.to != result.candidate);
    let parts = others.map(|o| {
        let name = &result.experiment.arms[o.to].name;
        format!("`{name}` {} ({})", o.word(), figures::times(o.adjusted.comparison.ratio))
    });
    Sentence::listing("The other arms:", parts, None)
}

fn claims(result: &StudyResult) -> Option<Sentence> {
    let count = |answer: Answer| result.findings.iter().filter(|it| it.answer == answer).count();
    let kinds = [
        (Answer::Holds, ["holds", "hold"]),
        (Answer::DoesNotHold, ["does not hold", "do not hold"]),
        (Answer::Consistent, ["is consistent", "are consistent"]),
        (Answer::NoEvidence, ["is no evidence", "are no evidence"]),
        (Answer::CannotTell, ["remains open", "remain open"]),
    ];
    let parts = kinds.into_iter().filter_map(|(answer, [one, several])| match count(answer) {
        0 => None,
        1 => Some(format!("1 {one}")),
        many => Some(format!("{many} {several}")),
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| Sentence::new("Claims:", format!("{}.", parts.join(", ")), None))
}

/// A row for each workload and arm; where those are many, for the candidate alone but in the
/// workload of the primary metric.
fn table(result: &StudyResult) -> Table {
    let experiment = &result.experiment;
    let primary = result.series_of(result.primary());
    let two = experiment.arms.len() == 2;
    let has_all = (experiment.arms.len() - 1) * experiment.workloads.len() <= ROWS_MAX;
    let headlines = || result.series.iter().filter(|series| result.is_headline(series));
    let is_mixed = headlines().any(|series| series.better != primary.better);
    let measured = if two { experiment.arms[1].name.as_str() } else { "measured" };
    let mut columns = vec![("workload", Align::Left, 0)];
    columns.extend((!two).then_some(("arm", Align::Left, 0)));
    columns.extend([
        (experiment.arms[0].name.as_str(), Align::Right, 2),
        (measured, Align::Right, 3),
        ("ratio", Align::Right, 0),
        // Where drives differ the verdict follows the next column.
        ("95 % interval", Align::Left, u8::from(result.is_sampled())),
    ]);
    columns.extend(result.is_sampled().then_some(("95 % of drives", Align::Left, 0)));
    columns.push(("verdict", Align::Left, 0));
    columns.extend(is_mixed.then_some(("which way", Align::Left, 0)));
    let mut table = Table::new(&columns);
    for (index, workload) in experiment.workloads.iter().enumerate() {
        let Some(series) = headlines().find(|series| series.workload == index) else { continue };
        let mut name = workload.name.as_str();
        for arm in 1..experiment.arms.len() {
            let is_shown = has_all || arm == result.candidate || index == primary.workload;
            let Some(outcome) = result.headline(index, arm).filter(|_| is_shown) else { continue };
            let show = |arm: usize| Cell::from(series.show(outcome.mean(series, arm)));
            let mut row = vec![Cell::from(name)];
            row.extend((!two).then(|| Cell::from(experiment.arms[arm].name.as_str())));
            row.extend([show(0), show(arm)]);
            row.extend(conclusion(outcome, result));
            row.extend(is_mixed.then(|| Cell::from(direction(series.better))));
            table.row(row);
            name = "";
        }
    }
    table
}

/// The basis of the figures: blocks, stage, margin.
fn basis(result: &StudyResult, look: Look) -> String {
    let experiment = &result.experiment;
    let drives = match (experiment.stage.is_virtual(), result.is_sampled()) {
        (true, true) => ", each of another simulated drive: no real drive was involved",
        (true, false) => ", simulated: no real drive was involved",
        (false, _) => "",
    };
    let body = format!(
        "n = {} at stage {}{}{drives}; ratios above 1 are better than `{}`, margin {}.",
        drivelab_core::counted(result.used.len() as u64, "block"),
        experiment.stage,
        super::scale(experiment.scale),
        experiment.arms[0].name,
        figures::percent(experiment.margin),
    );
    look.wrap(&body, 2) + "\n"
}
