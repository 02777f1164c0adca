//! A bill as a comment of a pull request.

use drivelab_analysis::cost::{Change, METRICS};

use super::{CostReport, words};
use crate::publish::plain;

/// Rows of calls.
const ROWS_MAX: usize = 10;

impl CostReport {
    /// The report as Markdown, in which text of other people is only text.
    pub fn to_markdown(&self) -> String {
        let bill = &self.bill;
        let mut text =
            format!("<!-- drivelab report -->\n# I/O bill: {}\n\n", plain(&bill.command));
        if let Some(gate) = &self.gate {
            text += &format!("**{}** {}.\n\n", words::lead(gate), words::answer(gate));
            text += &changes(&gate.changes);
            text.extend(gate.notes.iter().map(|note| format!("- {}\n", plain(note))));
        }
        text += "\n| metric | value |\n| --- | ---: |\n";
        for metric in &METRICS {
            let [low, high] = bill.range(metric);
            if high > 0 {
                let value = words::range([low, high]);
                text += &format!("| {} | {value} |\n", plain(metric.name));
            }
        }
        text += &self.calls();
        text += &format!(
            "\n{} under Linux {}; {}.\n",
            plain(&bill.file_system),
            plain(&bill.kernel),
            plain(&words::exactness(bill))
        );
        let varies = bill.varies.iter().map(|varying| words::varying(varying, bill));
        let notes = varies.chain(bill.notes.iter().cloned());
        text.extend(notes.map(|note| format!("- {}\n", plain(&note))));
        text
    }

    fn calls(&self) -> String {
        let mut text = "\n<details><summary>Calls and their requests</summary>\n\n\
                        | process | call | file | calls | writes | bytes | flushes |\n\
                        | --- | --- | --- | ---: | ---: | ---: | ---: |\n"
            .to_owned();
        let with_requests = self.bill.calls.iter().filter(|call| call.requests.all() > 0);
        for call in with_requests.take(ROWS_MAX) {
            text += &format!(
                "| {} | {} | {} | {} | {} | {} | {} |\n",
                plain(&call.process),
                plain(&call.call),
                plain(&call.path),
                call.count,
                call.requests.writes,
                call.requests.write_bytes,
                call.requests.flushes
            );
        }
        text + "\n</details>\n"
    }
}

fn changes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut text =
        "| metric | before | now | | cause |\n| --- | ---: | ---: | ---: | --- |\n".to_owned();
    for change in changes {
        let (before, difference) = match change.base {
            Some(base) => (words::range(base), words::difference(base, change.now)),
            None => (format!("limit {}", change.most), String::new()),
        };
        let cause = change.causes.first().map(|it| words::cause(it, change.base.is_some()));
        let mark = if change.is_exceeded { "**" } else { "" };
        text += &format!(
            "| {} | {before} | {mark}{}{mark} | {difference} | {} |\n",
            plain(change.metric),
            words::range(change.now),
            plain(&cause.unwrap_or_default())
        );
    }
    text
}
