//! A crash test for people.

use anstyle::{AnsiColor, Style};
use drivelab_analysis::figures;
use drivelab_core::crash::{Cut, Finding};
use drivelab_core::{Span, counted, shown_in_line};

use super::{CrashTest, Disagreement, Explanation, LostWrite};
use crate::text::{Align, BOLD, Look, Table};

/// Failures of each kind, and lost writes, that are shown one by one.
const SHOWN_MAX: usize = 5;
const WRITES_MAX: usize = 20;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

impl CrashTest {
    /// The report as text.
    pub fn to_text(&self, look: Look) -> String {
        let mut text =
            format!("{}\n{}\n", look.paint(&shown_in_line(&self.title), BOLD), self.scene);
        let workload = &self.workload;
        text.push_str(&look.wrap(
            &format!(
                "workload: {} of virtual time, {}, {}, {}",
                rounded(workload.took),
                counted(workload.lines, "line"),
                counted(workload.writes, "write"),
                flushes(workload.flushes)
            ),
            2,
        ));
        text.push_str(&format!(
            "\n\n{}: {} whole, {} lost, {} corrupt; {} of real time\n",
            counted(self.cuts(), "cut"),
            self.whole,
            self.found(Finding::Lost),
            self.found(Finding::Corrupt),
            rounded(self.took)
        ));
        text.push_str(&self.missing());
        text.push_str(&self.too_slow(look));
        text.push_str(&self.disagreements(look));
        text.push_str(&self.failures(look));
        if let Some(explanation) = &self.explanation {
            text.push_str(&explanation.to_text(look));
        }
        text.push_str(&self.conclusion(look));
        text
    }

    /// Lists the cuts that were not tried.
    fn missing(&self) -> String {
        let mut text = String::new();
        let missing = self.planned.saturating_sub(self.cuts() + self.too_slow.len());
        if missing > 0 {
            let verb = if missing == 1 { "was" } else { "were" };
            text.push_str(&format!("{} {verb} not made\n", counted(missing, "planned cut")));
        }
        if self.unconfirmed > 0 {
            let number = self.unconfirmed;
            text.push_str(&format!("{number} more broke a promise, which was not confirmed\n"));
        }
        if self.left_out > 0 {
            let all = self.left_out.saturating_add(self.planned as u64);
            text.push_str(&format!("{all} cuts would be all; ask for more with --cuts\n"));
        }
        text
    }

    /// Lists the cuts without an answer, because a check took too long.
    fn too_slow(&self, look: Look) -> String {
        let Some(first) = self.too_slow.first() else { return String::new() };
        let text = format!(
            "the check of {} did not end in real time, first {first}, because the machine is busy; \
             repeat this on an idle machine, or use --jobs 1",
            counted(self.too_slow.len(), "cut")
        );
        format!("\n{}\n", look.led("NOT CHECKED:", BAD, &text, 2))
    }

    /// Lists the cuts that two guests do not agree about.
    fn disagreements(&self, look: Look) -> String {
        let Some(first) = self.disagreements.first() else { return String::new() };
        let number = self.disagreements.len();
        let verb = if number == 1 { "has" } else { "have" };
        let Disagreement { cut, shared, alone } = first;
        let text = format!(
            "{number} of {} checked twice {verb} another finding in a guest that had checked \
             others: first {cut}, {shared} there and {alone} alone; the check depends on what ran \
             before it, so use --per-guest 1",
            counted(self.twice, "cut")
        );
        format!("\n{}\n", look.led("NOT REPEATABLE:", BAD, &text, 2))
    }

    fn failures(&self, look: Look) -> String {
        let mut text = String::new();
        // The worse finding comes first.
        for finding in [Finding::Corrupt, Finding::Lost] {
            let of_kind = || self.failures.iter().filter(|failure| failure.finding == finding);
            for failure in of_kind().take(SHOWN_MAX) {
                let lead = format!("{finding} {}:", failure.cut);
                text.push_str(&format!("\n{}", look.led(&lead, BAD, &failure.reason, 2)));
            }
            let left = of_kind().count().saturating_sub(SHOWN_MAX);
            if left > 0 {
                text.push_str(&format!("\nand {left} more that are {finding}; --json has all"));
            }
        }
        if text.is_empty() { text } else { text + "\n" }
    }

    fn conclusion(&self, look: Look) -> String {
        if self.cuts() == 0 {
            let text = if self.too_slow.is_empty() {
                "no cut was made, so there is no result"
            } else {
                "no cut was checked, so there is no result"
            };
            let idle =
                "the workload took no time: add a pause between its promises (`usleep 20000`)";
            let lines = [Some(text), self.workload.took.is_zero().then_some(idle)];
            return lines.into_iter().flatten().flat_map(|line| [line, "\n"]).collect();
        }
        if self.failures.is_empty() {
            let partly = self.cuts() < self.planned;
            let text = if partly {
                "every promise was kept in the cuts that were checked"
            } else {
                "every promise was kept"
            };
            return format!("\n{}\n", look.paint(text, GOOD));
        }
        let mut text = format!("\n{}\n", look.paint("PROMISES WERE BROKEN", BAD));
        // An explanation has answered this already.
        if let Some(worst) = self.worst().filter(|_| self.explanation.is_none()) {
            let cut = worst.cut;
            let CrashTest { file, options, .. } = self;
            let command = format!("drivelab crash {file}{options} --replay {cut} --explain");
            text.push_str(&look.command("why:", &command));
        }
        text
    }
}

impl Explanation {
    fn to_text(&self, look: Look) -> String {
        let Cut { at, .. } = self.cut;
        let mut text = format!(
            "\nThe power cut at {at}: {} of {} writes that were not durable were lost.\n",
            self.lost.len(),
            self.volatile
        );
        text.push_str(&writes(&self.lost, look));
        let lead = match (self.smallest.len(), self.is_smallest) {
            (0, true) => {
                "Nothing had to be lost for this finding: the data had not reached the drive"
            }
            (_, true) => "The smallest loss with this finding",
            (_, false) => "The smallest loss with this finding that was found",
        };
        text.push_str(&format!("\n{lead} ({}).\n", counted(self.trials, "trial")));
        text.push_str(&writes(&self.smallest, look));
        text.push_str(&format!(
            "\nBefore the cut; the workload had printed {}.\n",
            counted(self.lines, "line")
        ));
        let mut table = Table::new(&[("at", Align::Left, 0), ("what", Align::Left, 0)]);
        for moment in &self.before {
            table.row([moment.at.to_string(), moment.what.clone()]);
        }
        text + &table.render(look)
    }
}

fn writes(writes: &[LostWrite], look: Look) -> String {
    if writes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("sector", Align::Right, 0),
        ("size", Align::Right, 0),
        ("lost", Align::Right, 0),
        ("age", Align::Right, 0),
        ("state", Align::Left, 2),
        ("holds", Align::Left, 1),
    ]);
    for write in writes.iter().take(WRITES_MAX) {
        table.row([
            write.lba.to_string(),
            write.sectors.bytes().to_string(),
            write.lost.bytes().to_string(),
            rounded(write.age),
            if write.acknowledged { "acknowledged" } else { "in flight" }.into(),
            write.holds.clone(),
        ]);
    }
    let more = match writes.len().saturating_sub(WRITES_MAX) {
        0 => String::new(),
        more => format!("and {more} more; --json has all\n"),
    };
    table.render(look) + &more
}

fn flushes(count: usize) -> String {
    if count == 1 { "1 flush".to_owned() } else { format!("{count} flushes") }
}

/// A span to three digits.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn rounded(span: Span) -> String {
    figures::span_ns(span.ns() as f64)
}
