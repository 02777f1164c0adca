//! Sentences about a bill that all forms share.

use drivelab_analysis::cost::{Bill, Cause, Change, Gate, Varying};
use drivelab_core::counted;

/// A number or a range.
pub(super) fn range([low, high]: [u64; 2]) -> String {
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}

/// The difference to before, with its sign.
pub(super) fn difference(base: [u64; 2], now: [u64; 2]) -> String {
    let difference = i128::from(now[0]) - i128::from(base[1]);
    let difference =
        if now[0] > base[1] { difference } else { i128::from(now[1]) - i128::from(base[0]) };
    format!("{difference:+}")
}

/// A change in one line: `flushes: 301, before 300 (+1)`.
pub(super) fn change(change: &Change) -> String {
    let now = range(change.now);
    match change.base {
        Some(base) => format!(
            "{}: {now}, before {} ({})",
            change.metric,
            range(base),
            difference(base, change.now)
        ),
        None => format!("{}: {now}, and the limit is {}", change.metric, change.most),
    }
}

/// A call that is behind a change.
pub(super) fn cause(cause: &Cause, is_against_base: bool) -> String {
    let Cause { process, call, path, stack: functions, counts, values } = cause;
    let from = stack(functions).map(|from| format!("; from {from}")).unwrap_or_default();
    if !is_against_base {
        return format!(
            "{process}: {call} of {path}, {} made {}{from}",
            calls(counts[1]),
            values[1]
        );
    }
    let made = if counts[0] == counts[1] {
        format!("{} as before", calls(counts[1]))
    } else {
        format!("{} where there were {}", calls(counts[1]), counts[0])
    };
    format!("{process}: {call} of {path}, {made}; {} here, before {}{from}", values[1], values[0])
}

/// The functions of a stack, the innermost first: `sync_log < save < main`.
pub(super) fn stack(functions: &[String]) -> Option<String> {
    (!functions.is_empty()).then(|| functions.join(" < "))
}

fn calls(count: u64) -> String {
    counted(count, "call")
}

/// The first words about a gate.
pub(super) fn lead(gate: &Gate) -> &'static str {
    if gate.is_exceeded() {
        "More than allowed:"
    } else if gate.is_unclear() {
        "Cannot tell:"
    } else {
        "Passed:"
    }
}

/// The answer of a gate in a sentence.
pub(super) fn answer(gate: &Gate) -> String {
    let over = gate.changes.iter().filter(|change| change.is_exceeded).count();
    let unclear = gate.changes.iter().filter(|change| change.is_unclear).count();
    let less = gate.changes.len() - over;
    match (over, less) {
        (0, 0) => "nothing changed".into(),
        (0, _) if unclear > 0 => {
            let verb = if unclear == 1 { "is" } else { "are" };
            let numbers = counted(unclear, "number");
            format!("{numbers} {verb} above what is allowed in one run and not in another")
        }
        (0, less) => format!("{} changed, none above what is allowed", counted(less, "number")),
        (over, _) => {
            let verb = if over == 1 { "is" } else { "are" };
            format!("{} {verb} above what is allowed", counted(over, "number"))
        }
    }
}

/// Says whether two runs had the same bill.
pub(super) fn exactness(bill: &Bill) -> String {
    let seeds = format!("seeds {} and {}", bill.seed, bill.seed.wrapping_add(1));
    if bill.varies.is_empty() {
        return format!("exact: two runs with {seeds} have the same bill");
    }
    let names: Vec<&str> = bill.varies.iter().map(|varying| varying.metric.as_str()).collect();
    format!("two runs with {seeds} differ in {}", names.join(", "))
}

/// A number that is not the same in two runs.
pub(super) fn varying(varying: &Varying, bill: &Bill) -> String {
    let metric = drivelab_analysis::cost::Metric::named(&varying.metric);
    let first = metric.map_or(0, |metric| (metric.of)(bill));
    let because = if varying.because.is_empty() {
        String::new()
    } else {
        format!(": {}", varying.because.join("; "))
    };
    format!("{} is {first} in one run and {} in another{because}", varying.metric, varying.again)
}
