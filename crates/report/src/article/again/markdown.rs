//! The articles as a document.

use super::answer::answer;
use super::{Again, Answered, CANNOT_TELL, Counts, Repeated, answers, runs, together};

const HEAD: &str = "\
# Five published comparisons, run again

Someone changed one storage setting, ran a benchmark and drew a conclusion: five such comparisons
are the reason for drivelab. Each is a study here, with the arms and workloads of its author as far
as a modelled drive in virtual time can run them, at stage simulate as requests and at stage kernel
by the tools themselves under a [real Linux kernel](internals/kernel-stage.md). Every published
number is a claim that *holds* or *does not hold*. Where neither is so of nearly all such drives, a
published figure inside the interval for one of them is *consistent*. A ratio that two runs of one
arm give as well is *no evidence*. Of the rest drivelab *cannot tell*, with what would settle it.
Figures are ratios or geometric means with 95 % intervals that hold together for a study.

`drivelab articles` makes this page, and another with pictures, every interval and the notes; two
runs of one build give the same bytes. `drivelab show article:N` prints what may be concluded from
the published figures, and what the author missed.

";

/// The document: the same articles, the same bytes.
pub fn markdown(again: &Again) -> String {
    let mut text = format!("{HEAD}**{}**\n\n", again.scored());
    for stages in again.by_number() {
        text += &format!("- **Article {}.** {}\n", stages[0].number, answer(stages));
    }
    text.push('\n');
    text += "| | article | stage | holds | consistent | does not hold | no evidence | \
             cannot tell |\n";
    text += "|---|---|---|---:|---:|---:|---:|---:|\n";
    for one in &again.articles {
        let Counts { holds, consistent, does_not_hold, no_evidence, cannot_tell } = one.counts;
        let (number, title) = (one.number, cell(&one.article.title));
        let stage = &one.stage;
        text += &format!(
            "| {number} | {title} | {stage} | {holds} | {consistent} | {does_not_hold} | \
             {no_evidence} | {cannot_tell} |\n"
        );
    }
    for stages in again.by_number() {
        text += &section(stages);
    }
    text
}

fn section(stages: &[Repeated]) -> String {
    let one = &stages[0];
    let article = &one.article;
    let mut text = format!("\n## Article {}: {}\n\n", one.number, article.title);
    text += &format!(
        "**Question.** {} *The author concluded:* {}\n\n",
        article.question, article.concluded
    );
    text += &format!("**Source.** {}.\n\n", article.source);
    text += &format!("**Run again** as `drivelab study {}`: {}.\n\n", one.study, runs(stages));
    let (open, decided): (Vec<_>, Vec<_>) =
        answers(stages).into_iter().partition(|answer| answer.finding.answer() == CANNOT_TELL);
    if !decided.is_empty() {
        text += "| claim | published | stage | here | |\n|---|---|---|---|---|\n";
    }
    for answer in &decided {
        text += &row(answer);
    }
    text += &cannot_tell(&open);
    for interaction in stages.iter().filter_map(|one| one.interaction.as_ref()) {
        text += &format!("\n**Together.** {}\n", together(interaction));
    }
    text
}

/// The claims without an answer, those of one reason in one item.
fn cannot_tell(open: &[Answered<'_>]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for answer in open {
        let finding = answer.finding;
        let why = finding.why.as_deref().unwrap_or("the 95 % interval crosses a bound");
        let known = reasons.iter().position(|(known, _)| *known == why);
        let at = known.unwrap_or_else(|| {
            reasons.push((why, Vec::new()));
            reasons.len() - 1
        });
        if !reasons[at].1.contains(&finding.name.as_str()) {
            reasons[at].1.push(&finding.name);
        }
    }
    let mut text = String::new();
    if !reasons.is_empty() {
        text += "\n**Cannot tell:**\n\n";
    }
    for (why, claims) in reasons {
        let others = match claims.len() {
            1 => String::new(),
            2 => " and one more claim".to_owned(),
            count => format!(" and {} more claims", count - 1),
        };
        text += &format!("- {}{others}: {why}\n", claims[0]);
    }
    text
}

fn row(answer: &Answered<'_>) -> String {
    let finding = answer.finding;
    let bounds = finding.bounds();
    let against =
        if bounds.is_empty() { String::new() } else { format!("; held against {bounds}") };
    let why = finding.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let claim = format!("| {} | {}", cell(&finding.name), cell(&finding.published));
    format!(
        "{claim} | {} | {} | **{}**{} |\n",
        answer.stages.join(", "),
        cell(&format!("{}{against}", finding.ours())),
        finding.answer(),
        cell(&why)
    )
}

/// Text within a table.
fn cell(text: &str) -> String {
    // A line break would end the row.
    text.replace('|', "\\|").replace('\n', " ")
}
