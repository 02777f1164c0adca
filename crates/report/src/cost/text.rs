//! A bill for people.

use anstyle::{AnsiColor, Style};
use drivelab_analysis::cost::{Bill, CallCost, DriveCost, FlashCost, Gate, Lifetime};
use drivelab_analysis::figures;
use drivelab_core::{counted, shown_in_line};

use super::{CostReport, words};
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// Rows of calls, files and processes; JSON has all.
const ROWS_MAX: usize = 10;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

impl CostReport {
    /// The report as text.
    pub fn to_text(&self, look: Look) -> String {
        let bill = &self.bill;
        let mut text = format!(
            "{}\n{} under Linux {}; {}\n\n",
            look.paint(&shown_in_line(&bill.command), BOLD),
            bill.file_system,
            bill.kernel,
            words::exactness(bill)
        );
        text += &requests(bill, look);
        text += &ledger(bill, look);
        text += &drives(&bill.drives, look);
        text += &calls(bill, look);
        text += &files(bill, look);
        text += &processes(bill, look);
        text += &self.lifetimes(look);
        let varies: Vec<String> =
            bill.varies.iter().map(|varying| words::varying(varying, bill)).collect();
        if !(varies.is_empty() && bill.notes.is_empty()) {
            text.push('\n');
        }
        text += &look.each("NOT THE SAME TWICE:", DOUBT, &varies);
        text += &look.each("Note:", BOLD, &bill.notes);
        if let Some(gate) = &self.gate {
            text += &answer(gate, look);
        }
        text
    }

    fn lifetimes(&self, look: Look) -> String {
        let Some(per_hour) = self.per_hour else { return String::new() };
        if self.lifetimes.is_empty() {
            return "\nThe command writes nothing, so it wears no flash.\n".into();
        }
        let mut table = Table::new(&[
            ("flash", Align::Left, 0),
            ("capacity", Align::Right, 2),
            ("rated for", Align::Right, 1),
            ("years", Align::Right, 0),
        ]);
        for Lifetime { endurance, years, .. } in &self.lifetimes {
            let terabytes = endurance.rated_bytes.map(|bytes| bytes / 1e12);
            table.row([
                endurance.class.to_owned(),
                format!("{} TB", figures::plain(endurance.capacity_bytes / 1e12)),
                format!("{} TB", figures::range(terabytes)),
                figures::range(years.map(two_digits)),
            ]);
        }
        let a_year = self.lifetimes[0].bytes_a_year / 1e12;
        let lead = format!(
            "{} times an hour it writes {} TB a year. A rating counts writes of the host; where \
             it ends a warranty ends, not a drive.",
            figures::plain(per_hour),
            figures::significant(a_year)
        );
        format!("\n{}\n{}", look.wrap(&lead, 0), table.render(look))
    }
}

fn requests(bill: &Bill, look: Look) -> String {
    let mut table = Table::new(&[
        ("requests", Align::Left, 0),
        ("reads", Align::Right, 0),
        ("bytes", Align::Right, 2),
        ("writes", Align::Right, 0),
        ("bytes", Align::Right, 0),
        ("flushes", Align::Right, 0),
        ("FUA", Align::Right, 1),
        ("discards", Align::Right, 0),
    ]);
    for (name, requests) in [("all", &bill.total), ("of which after its end", &bill.left)] {
        let numbers = [
            requests.reads,
            requests.read_bytes,
            requests.writes,
            requests.write_bytes,
            requests.flushes,
            requests.fua,
            requests.discards,
        ];
        table.row([name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())));
    }
    let own =
        format!("calls that sync: {}; that change names or sizes: {}\n", bill.syncs, bill.changes);
    table.render(look) + &own
}

fn ledger(bill: &Bill, look: Look) -> String {
    let ledger = &bill.ledger;
    let mut table = Table::new(&[("bytes written", Align::Left, 0), ("", Align::Right, 0)]);
    table.row(["by the program".to_owned(), ledger.program_bytes.to_string()]);
    table
        .row(["the page cache makes of them".to_owned(), format!("{:+}", ledger.page_cache_bytes)]);
    table.row(["contents of files".to_owned(), format!("= {}", ledger.data_bytes)]);
    for (name, bytes) in [
        ("metadata", ledger.metadata_bytes),
        ("journal", ledger.journal_bytes),
        ("not attributed", ledger.unattributed_bytes),
    ] {
        if bytes > 0 {
            table.row([name.to_owned(), format!("+{bytes}")]);
        }
    }
    table.row(["to the drive".to_owned(), format!("= {}", ledger.drive_bytes)]);
    for drive in &bill.drives {
        let Some(flash) = &drive.flash else { continue };
        let FlashCost { host_bytes, copied_bytes, padded_bytes, .. } = flash;
        let all = host_bytes + copied_bytes + padded_bytes;
        let parts = format!("to the flash of {}", drive.class);
        table.row([parts, format!("{all}")]);
    }
    let ratio = times(ledger.drive_bytes, ledger.program_bytes);
    let times = ratio.map(|it| format!("{it} as much as the program wrote\n")).unwrap_or_default();
    format!("\n{}{times}", table.render(look))
}

/// The ratio of two numbers of bytes.
fn times(all: u64, of: u64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
    let ratio = (of > 0).then(|| all as f64 / of as f64)?;
    Some(figures::times(ratio))
}

fn drives(drives: &[DriveCost], look: Look) -> String {
    let mut table = Table::new(&[
        ("drive", Align::Left, 0),
        ("time", Align::Right, 0),
        ("after its end", Align::Right, 2),
        ("model", Align::Left, 1),
    ]);
    for drive in drives {
        table.row([
            drive.class.clone(),
            span(drive.time_ns),
            span(drive.left_ns),
            drive.drive.clone(),
        ]);
    }
    format!("\n{}", table.render(look))
}

/// A span to three digits.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn span(ns: u64) -> String {
    figures::span_ns(ns as f64)
}

fn calls(bill: &Bill, look: Look) -> String {
    let mut table = Table::new(&[
        ("process", Align::Left, 2),
        ("call", Align::Left, 0),
        ("file", Align::Left, 0),
        ("calls", Align::Right, 0),
        ("waits", Align::Right, 1),
        ("waited", Align::Right, 1),
        ("writes", Align::Right, 0),
        ("bytes", Align::Right, 0),
        ("flushes", Align::Right, 0),
        ("reads", Align::Right, 3),
    ]);
    let with_requests = bill.calls.iter().filter(|call| call.requests.all() > 0);
    for call in with_requests.clone().take(ROWS_MAX) {
        table.row([
            call.process.clone(),
            call.call.clone(),
            call.path.clone(),
            call.count.to_string(),
            call.waits.to_string(),
            span(call.waited_ns),
            call.requests.writes.to_string(),
            call.requests.write_bytes.to_string(),
            call.requests.flushes.to_string(),
            call.requests.reads.to_string(),
        ]);
    }
    let stacks = stacks(with_requests.clone(), look);
    listed(&table, with_requests.count(), look) + &stacks
}

/// The stacks of calls, each once with the calls that came from it; nothing where none are known.
fn stacks<'a>(calls: impl Iterator<Item = &'a CallCost>, look: Look) -> String {
    let mut found: Vec<(&CallCost, u64, usize)> = Vec::new();
    for call in calls.filter(|call| !call.stack.is_empty()) {
        let same =
            |it: &&mut (&CallCost, _, _)| (&it.0.call, &it.0.stack) == (&call.call, &call.stack);
        match found.iter_mut().find(same) {
            Some((_, count, files)) => (*count, *files) = (*count + call.count, *files + 1),
            None => found.push((call, call.count, 1)),
        }
    }
    let lines = found.iter().take(ROWS_MAX).filter_map(|(call, count, files)| {
        let from = words::stack(&call.stack)?;
        let calls = counted(*count, "call");
        // Many files with one stack are those of a loop, such as a log for each order.
        let of = if *files == 1 { call.path.clone() } else { format!("{files} files") };
        let line = format!("{} of {of}, {calls}: {from}", call.call);
        Some(look.wrap(&shown_in_line(&line), 2) + "\n")
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\nstacks\n{lines}") }
}

fn files(bill: &Bill, look: Look) -> String {
    let mut table = Table::new(&[
        ("file", Align::Left, 0),
        ("program wrote", Align::Right, 0),
        ("reached the drive", Align::Right, 0),
        ("read", Align::Right, 1),
        ("requests for it", Align::Right, 0),
    ]);
    let touched =
        bill.files.iter().filter(|file| file.program_bytes + file.data_bytes + file.read_bytes > 0);
    for file in touched.clone().take(ROWS_MAX) {
        table.row([
            file.path.clone(),
            file.program_bytes.to_string(),
            file.data_bytes.to_string(),
            file.read_bytes.to_string(),
            file.requests.all().to_string(),
        ]);
    }
    listed(&table, touched.count(), look)
}

fn processes(bill: &Bill, look: Look) -> String {
    if bill.processes.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&[
        ("process", Align::Left, 0),
        ("waits", Align::Right, 0),
        ("waited", Align::Right, 0),
        ("writes", Align::Right, 0),
        ("bytes", Align::Right, 0),
        ("flushes", Align::Right, 0),
        ("reads", Align::Right, 1),
    ]);
    let with_requests = bill.processes.iter().filter(|process| process.requests.all() > 0);
    for process in with_requests.clone().take(ROWS_MAX) {
        table.row([
            process.process.clone(),
            process.waits.to_string(),
            span(process.waited_ns),
            process.requests.writes.to_string(),
            process.requests.write_bytes.to_string(),
            process.requests.flushes.to_string(),
            process.requests.reads.to_string(),
        ]);
    }
    listed(&table, with_requests.count(), look)
}

/// A table of the first of many rows; nothing where there are none.
/// A value to two significant digits: ratings say no more.
pub(super) fn two_digits(value: f64) -> f64 {
    debug_assert!(value.is_finite(), "a lifetime under a program that writes");
    format!("{value:.1e}").parse().unwrap_or(value)
}

fn listed(table: &Table, all: usize, look: Look) -> String {
    if all == 0 {
        return String::new();
    }
    let more = match all.saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!("and {more} more; --json has all\n"),
    };
    format!("\n{}{more}", table.render(look))
}

fn answer(gate: &Gate, look: Look) -> String {
    let mut text = String::from("\n");
    let style = if gate.is_exceeded() {
        BAD
    } else if gate.is_unclear() {
        DOUBT
    } else {
        GOOD
    };
    text += &(look.led(words::lead(gate), style, &words::answer(gate), 2) + "\n");
    for change in &gate.changes {
        text += &format!("{}\n", look.wrap(&format!("  {}", words::change(change)), 4));
        if change.is_unclear {
            text += "    more in one run and not in another\n";
        }
        for cause in &change.causes {
            let words = shown_in_line(&words::cause(cause, change.base.is_some())).into_owned();
            text += &format!("    {}\n", look.wrap(&words, 6));
        }
    }
    text += &look.each("Note:", DOUBT, &gate.notes);
    text
}
