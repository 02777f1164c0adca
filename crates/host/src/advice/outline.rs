//! Advice in words.

use drivelab_core::outline::{Line, Severity, Tone};

use super::{Advice, Disturbance, State, Trap};

/// Columns by which the details of a trap are indented.
const MARGIN: usize = 4;

/// The drives, what applies to them, what to observe, and what is clear.
pub fn advised(advice: &Advice) -> Vec<Line> {
    let mut lines = Vec::new();
    for disk in &advice.disks {
        lines.push(Line::new(&disk.setting, MARGIN).part(Tone::Bold, format!("{}: ", disk.name)));
    }
    if advice.disks.is_empty() {
        lines.push(Line::new("no disks were found", 0));
    }
    section(&mut lines, advice, State::Applies, "Applies here:");
    add_findings(&mut lines, &advice.findings);
    section(&mut lines, advice, State::Beware, "Nothing wrong, but a benchmark must allow for it:");
    lines.push(Line::default());
    let clear: Vec<String> = advice.in_state(State::Clear).map(|it| it.id.to_string()).collect();
    if !clear.is_empty() {
        lines.push(Line::new(clear.join(", "), 7).part(Tone::Good, "clear: "));
    }
    if !advice.kernel_log {
        let missing = "no kernel log was read, so a link that was slowed down may be missing: add \
                       --dmesg FILE";
        lines.push(Line::new(missing, 0));
    }
    lines.push(Line::new(
        "Nothing was changed, and no disk was opened. `drivelab show article:N` shows the \
         comparison that a trap comes from.",
        0,
    ));
    lines
}

/// Adds what is wrong with the disks, each with its remedy.
fn add_findings(lines: &mut Vec<Line>, findings: &[Disturbance]) {
    if findings.is_empty() {
        return;
    }
    let head = "Changes what is measured here, and a run carries a mark for it:";
    lines.extend([Line::default(), Line::default().part(Tone::Bold, head)]);
    for Disturbance { disk, finding } in findings {
        let id = finding.id.to_string();
        let line = Line::new(&finding.message, MARGIN).part(Tone::Plain, "  ");
        let line = line.part(Tone::Wrong(finding.severity), id);
        lines.push(line.part(Tone::Plain, format!(", {disk}: ")));
        if !finding.evidence.is_empty() {
            lines.push(Line::new(&finding.evidence, MARGIN + 6).part(Tone::Plain, "    seen: "));
        }
        if !finding.fix.is_empty() {
            lines.push(Line::new(&finding.fix, MARGIN + 6).part(Tone::Plain, "    fix:  "));
        }
    }
}

fn section(lines: &mut Vec<Line>, advice: &Advice, state: State, head: &str) {
    let mut traps = advice.in_state(state).peekable();
    if traps.peek().is_none() {
        return;
    }
    lines.extend([Line::default(), Line::default().part(Tone::Bold, head)]);
    traps.for_each(|trap| add_trap(lines, trap));
}

/// Adds a trap with its evidence and its commands, one per line.
fn add_trap(lines: &mut Vec<Line>, trap: &Trap) {
    let articles: Vec<String> = trap.articles.iter().map(u32::to_string).collect();
    let word = if articles.len() == 1 { "article" } else { "articles" };
    let tone = match trap.state {
        State::Applies => Tone::Wrong(Severity::Warn),
        State::Beware | State::Clear => Tone::Bold,
    };
    let about = format!(" ({word} {}), {}: ", articles.join(", "), trap.disks.join(", "));
    let head = Line::new(&trap.message, MARGIN);
    let head = head.part(Tone::Plain, "  ").part(tone, trap.id.to_string());
    lines.push(head.part(Tone::Plain, about));
    for seen in &trap.evidence {
        lines.push(Line::new(seen, MARGIN + 6).part(Tone::Plain, "    seen: "));
    }
    for step in &trap.settle {
        let writes = if step.writes { " (writes a file of 1 GiB)" } else { "" };
        lines
            .push(Line::new(format!("# {}{writes}", step.shows), MARGIN).part(Tone::Plain, "    "));
        lines.push(Line::default().part(Tone::Plain, format!("    {}", step.command)));
    }
}
