//! The first answer: the verdict, what else matters, the table.

use drivelab_core::question::Finding;
use drivelab_core::record::{Flaw, MarkId};

use super::super::short;
use super::fixture::experiment;
use super::{PLAIN, small};
use drivelab_analysis::study::{Experiment, analyse};

fn shown(it: Experiment) -> String {
    short(&analyse(it).unwrap(), PLAIN, "add --explain")
}

/// The lines between the answer and the table.
fn between(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| !line.is_empty()).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn the_first_answer_is_the_verdict_six_lines_at_most_and_the_table() {
    let text = shown(experiment(1, 10));
    let lines = between(&text);
    assert!(lines[0].starts_with("Yes, for random 4k reads, 32 outstanding:"), "{text}");
    let answer = lines.iter().take_while(|line| !line.starts_with("Slower:")).count();
    assert!(lines.len() - answer <= 6, "{text}");
    for words in
        ["Slower: `random-write-off`.", "Risk: the drive's write cache", "Faster too: `mix-32`"]
    {
        assert!(text.contains(words), "`{words}` is missing: {text}");
    }
    for words in ["How to read this", "Cause by cause", "Note:", "What decides"] {
        assert!(!text.contains(words), "`{words}`: {text}");
    }
    // All arms in the workload of the primary metric, in the others the candidate.
    let rows = text.lines().skip_while(|line| !line.starts_with("workload ")).skip(1);
    assert_eq!(rows.take_while(|line| !line.is_empty()).count(), 3 + 6, "{text}");
    assert!(text.contains("faster (primary)"), "{text}");
    let end = "To repeat: drivelab study ahci-or-ide --seed 1 --blocks 10\n\
               Causes, notes and how to read this: add --explain.\n";
    assert!(text.ends_with(end), "{text}");
    assert!(text.contains("no real drive was involved"), "{text}");
}

#[test]
fn why_a_verdict_is_withheld_is_always_said() {
    let mut it = small([0, 3], 3);
    for run in it.runs.iter_mut().filter(|run| run.arm == 1) {
        run.flaws.push(Flaw::Failed { failed: 94, requests: 100 });
    }
    let text = shown(it).replace("\n  ", " ");
    assert!(text.contains("Withheld: up to 94 % of the requests of `ahci-ncq` failed"), "{text}");
}

#[test]
fn what_was_measured_instead_of_the_drive_is_said_first() {
    let mut it = small([0, 3], 3);
    it.runs.iter_mut().filter(|run| run.arm == 1).for_each(|run| run.marks.push(MarkId::PageCache));
    it.findings = vec![Finding {
        name: "half more".into(),
        figure: "random-read-32.iops of ahci-ncq over ide".into(),
        at_least: Some(1.5),
        ..Finding::default()
    }];
    let text = shown(it).replace("\n  ", " ");
    assert!(
        text.contains("Note: In 10 of 10 runs of `ahci-ncq`: the page cache answered"),
        "{text}"
    );
    assert!(text.contains("Claims: 1 holds."), "{text}");
}
