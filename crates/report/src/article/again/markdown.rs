//! The articles as a document.

use super::{Again, Answered, Counts, Repeated, answers, notes_head, runs, together};
use crate::figures;

const HEAD: &str = "\
# Five published comparisons, run again

Someone changed one storage setting, ran a benchmark and drew a conclusion: five such comparisons
are the reason for drivelab. Each is a study here, with the arms and workloads of its author as far
as a modelled drive in virtual time can run them. Every published number is a claim with one of
three answers: it *holds*, it *does not hold*, or drivelab *cannot tell*, with the reason. Figures
are ratios or medians with 95 % intervals that hold together for a study; where a profile leaves
numbers open, the interval for one more such drive follows.

At stage simulate a study sends the requests of the author's tools; at stage kernel the tools run
themselves, on a file system of a real Linux kernel ([how](internals/kernel-stage.md)). The column
`stage` says which of them gave an answer.

`drivelab articles` makes this page; two runs give the same bytes. The drives are models: how good
they are is in [validation](reference/validation.md).

";

/// The document: the same articles, the same bytes.
pub fn markdown(again: &Again) -> String {
    let mut text = HEAD.to_owned();
    text += "| | article | stage | holds | does not hold | cannot tell |\n";
    text += "|---|---|---|---:|---:|---:|\n";
    for one in &again.articles {
        let Counts { holds, does_not_hold, cannot_tell } = one.counts;
        let (number, title) = (one.number, cell(&one.article.title));
        let stage = &one.stage;
        text += &format!(
            "| {number} | {title} | {stage} | {holds} | {does_not_hold} | {cannot_tell} |\n"
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
    text += &format!("**Question.** {}\n\n", article.question);
    text += &format!("**Source.** {}. {}.\n\n", article.source, figures::capital(&article.method));
    text += &format!("**The author concluded:** {}\n\n", article.concluded);
    text += &format!("**Run again** as `drivelab study {}`: {}.\n\n", one.study, runs(stages));
    text += "| claim | published | stage | here | |\n|---|---|---|---|---|\n";
    for answer in answers(stages) {
        text += &row(&answer);
    }
    text.push('\n');
    for interaction in stages.iter().filter_map(|one| one.interaction.as_ref()) {
        text += &format!("**Together.** {}\n\n", together(interaction));
    }
    text += &figures_of(one);
    text += &list("May be concluded from what was published", &article.may);
    text += &list("What the article missed", &article.may_not);
    for one in stages {
        text += &list(&notes_head(stages, one), &one.notes);
    }
    text += &list("What to do today", &article.today);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn row(answer: &Answered<'_>) -> String {
    let finding = answer.finding;
    let bounds = finding.bounds();
    let against =
        if bounds.is_empty() { String::new() } else { format!("; held against {bounds}") };
    let why = finding.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let claim = if answer.is_more {
        "| |".to_owned()
    } else {
        format!("| {} | {}", cell(&finding.name), cell(&finding.published))
    };
    format!(
        "{claim} | {} | {} | **{}**{} |\n",
        answer.stages.join(", "),
        cell(&format!("{}{against}", finding.ours())),
        finding.answer(),
        cell(&why)
    )
}

/// The published figures that are doubted, with the labels that an import gives such results.
fn figures_of(one: &Repeated) -> String {
    let doubted = one.article.figures.iter().filter(|figure| !figure.why.is_empty());
    let line = |figure: &super::super::Published| {
        let values: Vec<String> = figure.values.iter().map(|it| figures::plain(*it)).collect();
        let labels: Vec<&str> =
            figure.labels.iter().map(|label| drivelab_core::config::Choice::name(*label)).collect();
        let labels = labels.join(", ");
        format!("{}, {} {}: {labels}; {}", figure.test, values.join(", "), figure.unit, figure.why)
    };
    list("Published figures with a label", &doubted.map(line).collect::<Vec<_>>())
}

fn list(head: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    format!("**{head}**\n\n- {}\n\n", lines.join("\n- "))
}

/// Text within a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
