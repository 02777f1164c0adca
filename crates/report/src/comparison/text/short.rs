//! The first answer to a comparison: the verdict, what else matters most, and the table.

use drivelab_stats::Verdict;

use super::super::words::{answer, natures, other_arms, other_metrics, title, withheld};
use super::{one_direction, runs, table};
use crate::outcome::{Sentence, direction};
use crate::text::{BOLD, Brief, DOUBT, Look, rest};
use drivelab_analysis::comparison::CompareResult;
use drivelab_analysis::figures;

/// The result in short, as text; `more` is what shows the rest.
pub fn short(result: &CompareResult, look: Look, more: &str) -> String {
    let title = look.paint(&look.wrap(&title(&result.names()), 0), BOLD);
    let mut text = format!("{title}\n\n{}", answer(result).text(look));
    text += &matters(result, look);
    text.push('\n');
    text += &table(result).render(look);
    text.push('\n');
    let better = one_direction(result);
    let better =
        better.map_or_else(String::new, |it| format!(" ({} in each metric)", direction(it)));
    let basis = format!(
        "n = {}; ratios above 1 are better than `{}`{better}, margin {}.",
        runs(result),
        result.arms[0],
        figures::percent(result.margin)
    );
    text += &(look.wrap(&basis, 2) + "\n");
    text + &rest(look, more)
}

/// The other points that matter, the most important first.
fn matters(result: &CompareResult, look: Look) -> String {
    let mut brief = Brief::default();
    withheld(result).for_each(|it| brief.must(&it.text(look)));
    for warning in result.warnings().iter().chain(&result.attached.warnings) {
        brief.must(&(look.led("Warning:", DOUBT, warning, 2) + "\n"));
    }
    for sentence in natures(result) {
        brief.add(&sentence.text(look));
    }
    let (worse, others): (Vec<Sentence>, Vec<Sentence>) =
        other_metrics(result).into_iter().partition(|it| it.verdict == Some(Verdict::Slower));
    for sentence in &worse {
        brief.add(&sentence.text(look));
    }
    for note in &result.notes {
        brief.add(&(look.led("Note:", BOLD, note, 2) + "\n"));
    }
    other_arms(result).iter().chain(&others).for_each(|it| brief.add(&it.text(look)));
    brief.into_text()
}
