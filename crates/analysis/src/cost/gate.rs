//! An exact gate: a bill against an earlier one, or against limits.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use drivelab_core::config::Value;
use drivelab_core::{Invalid, invalid};

use super::bill::{Bill, METRICS, Metric};

/// The highest value that a metric may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The name of the metric.
    pub metric: String,
    /// The highest value.
    pub most: u64,
}

impl Limit {
    /// A limit on a metric of a bill.
    pub fn new(metric: &str, most: u64) -> Result<Self, Invalid> {
        if Metric::named(metric).is_none() {
            let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            return Err(invalid!("`{metric}` is not one of {}", names.join(", ")));
        }
        Ok(Self { metric: metric.into(), most })
    }
}

/// The accepted increase over the base, in thousandths of a percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tolerance(u64);

const WHOLE: u64 = 100_000;

impl Tolerance {
    /// Reads `2%` or `0.5%`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let read = thousandths(text);
        read.map(Self)
            .ok_or_else(|| invalid!("`{text}` is not a tolerance from 0% to 1000%, such as `0.5%`"))
    }

    /// Returns the highest value that is accepted for a base.
    fn most(self, base: u64) -> u64 {
        // In integers: a gate must not depend on rounding.
        let most = u128::from(base) * u128::from(WHOLE + self.0) / u128::from(WHOLE);
        debug_assert!(most >= u128::from(base), "the base itself is accepted");
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}

/// Reads a percentage in thousandths of a percent.
fn thousandths(text: &str) -> Option<u64> {
    let number = text.trim().strip_suffix('%')?.trim();
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if ![whole, part].iter().all(|text| is_number(text)) || part.len() > 3 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|whole| *whole <= 1000)?;
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    Some(1000 * whole + part)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

impl Value for Tolerance {
    fn read(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// A call whose part in a metric is another one than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The process.
    pub process: String,
    /// The call.
    pub call: String,
    /// The file.
    pub path: String,
    /// The functions that it came from; empty unless both bills have them.
    pub stack: Vec<String>,
    /// The number of calls, before and now.
    pub counts: [u64; 2],
    /// Its part in the metric, before and now.
    pub values: [u64; 2],
}

/// A metric that changed, or that has a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The metric.
    pub metric: &'static str,
    /// The value of the base, lowest and highest; nothing against a limit.
    pub base: Option<[u64; 2]>,
    /// The highest value that is accepted.
    pub most: u64,
    /// The value now, lowest and highest.
    pub now: [u64; 2],
    /// True if it is more than accepted, in every run.
    pub is_exceeded: bool,
    /// True if it is more in one run and not in another: the program decides at random.
    pub is_unclear: bool,
    /// The calls that changed most.
    pub causes: Vec<Cause>,
}

/// The answer of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    /// All metrics that changed against the base, and those that are over a limit.
    pub changes: Vec<Change>,
    /// Limits that were met, and metrics that are as they were.
    pub unchanged: usize,
    /// Differences that make the two bills less comparable.
    pub notes: Vec<String>,
}

impl Gate {
    /// Returns whether any metric is more than accepted.
    pub fn is_exceeded(&self) -> bool {
        self.changes.iter().any(|change| change.is_exceeded)
    }

    /// Returns whether any metric is more than accepted in one run and not in another.
    pub fn is_unclear(&self) -> bool {
        self.changes.iter().any(|change| change.is_unclear)
    }

    /// Adds the changes of another gate.
    pub fn join(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.unchanged += other.unchanged;
        self.notes.extend(other.notes);
    }
}

/// Causes that are named for one metric.
const CAUSES_MAX: usize = 3;

/// Compares a bill with an earlier one.
///
/// # Errors
/// They are not of the same file system.
pub fn against(base: &Bill, now: &Bill, tolerance: Tolerance) -> Result<Gate, Invalid> {
    if base.file_system != now.file_system {
        return Err(invalid!(
            "the base was made on {} and this bill on {}",
            base.file_system,
            now.file_system
        ));
    }
    let mut gate = Gate::default();
    let drives = [base, now].map(|bill| bill.drives.first().map(|drive| &drive.drive));
    let scenes =
        [("kernel", Some(&base.kernel), Some(&now.kernel)), ("drive", drives[0], drives[1])];
    for (what, base, now) in scenes {
        if let (Some(base), Some(now)) = (base, now)
            && base != now
        {
            let note = format!("the base has another {what}: {base}, and now {now}");
            gate.notes.push(note);
        }
    }
    if base.has_stacks() != now.has_stacks() {
        let one = if now.has_stacks() { "this bill" } else { "the base" };
        gate.notes.push(format!(
            "{one} alone was made with stacks, which changes the order of threads and processes"
        ));
    }
    for metric in &METRICS {
        let (before, after) = (base.range(metric), now.range(metric));
        // Ranges that overlap may be one program that decides at random.
        let is_same = before[0] <= after[1] && after[0] <= before[1];
        if is_same {
            gate.unchanged += 1;
            continue;
        }
        let most = tolerance.most(before[1]);
        gate.changes.push(Change {
            metric: metric.name,
            base: Some(before),
            most,
            now: after,
            is_exceeded: after[0] > most,
            is_unclear: after[0] <= most && after[1] > most,
            causes: causes(metric, Some(base), now),
        });
    }
    debug_assert_eq!(gate.changes.len() + gate.unchanged, METRICS.len(), "each metric once");
    Ok(gate)
}

/// Compares a bill with limits.
pub fn within(limits: &[Limit], now: &Bill) -> Gate {
    let mut gate = Gate::default();
    for limit in limits {
        let metric = Metric::named(&limit.metric).expect("checked when the limit was read");
        let after = now.range(metric);
        if after[1] <= limit.most {
            gate.unchanged += 1;
            continue;
        }
        gate.changes.push(Change {
            metric: metric.name,
            base: None,
            most: limit.most,
            now: after,
            is_exceeded: after[0] > limit.most,
            is_unclear: after[0] <= limit.most,
            causes: causes(metric, None, now),
        });
    }
    gate
}

/// Returns the change of a number in one direction.
fn moved([before, after]: [u64; 2], grows: bool) -> u64 {
    // A change in the other direction explains nothing.
    if grows { after.saturating_sub(before) } else { before.saturating_sub(after) }
}

/// The process, the name, the path and the stack of calls.
type CallKey<'b> = (&'b str, &'b str, &'b str, &'b [String]);

/// Returns the calls whose part in a metric changed most in the direction of the whole.
fn causes(metric: &Metric, base: Option<&Bill>, now: &Bill) -> Vec<Cause> {
    // With the stacks of one bill alone each call would be another one than before.
    let has_stacks = now.has_stacks() && base.is_none_or(Bill::has_stacks);
    let mut all: BTreeMap<CallKey<'_>, [[u64; 2]; 2]> = BTreeMap::new();
    for (at, bill) in [base, Some(now)].into_iter().enumerate() {
        for call in bill.iter().flat_map(|bill| &bill.calls) {
            let stack = if has_stacks { &call.stack[..] } else { &[] };
            let entry = all.entry((&call.process, &call.call, &call.path, stack)).or_default();
            // A base is a file of anybody's.
            entry[0][at] = entry[0][at].saturating_add(call.count);
            entry[1][at] = entry[1][at].saturating_add((metric.of_call)(call));
        }
    }
    // Against a limit every part of the metric is one too many.
    let grows = base.is_none_or(|base| (metric.of)(now) >= (metric.of)(base));
    let mut found: Vec<_> = all.into_iter().collect();
    found.retain(|(_, [_, values])| moved(*values, grows) > 0);
    // A call that is made more often is the reason of one that writes more in passing.
    found.sort_by_key(|(_, [counts, values])| {
        (Reverse(moved(*values, grows)), Reverse(moved(*counts, grows)))
    });
    let named = found.into_iter().take(CAUSES_MAX);
    let named = named.map(|((process, call, path, stack), [counts, values])| Cause {
        process: process.into(),
        call: call.into(),
        path: path.into(),
        stack: stack.to_vec(),
        counts,
        values,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::super::bill::tests::bill;
    use super::super::bill::varying;
    use super::*;

    fn base() -> Bill {
        bill(&[("fsync", "db", 300, 1200), ("write", "log", 10, 5)])
    }

    fn check(now: &Bill, tolerance: &str) -> Gate {
        against(&base(), now, Tolerance::parse(tolerance).unwrap()).unwrap()
    }

    #[test]
    fn one_more_call_is_found_and_named() {
        let now = bill(&[("fsync", "db", 301, 1204), ("write", "log", 10, 5)]);
        let gate = check(&now, "0%");
        assert!(gate.is_exceeded());
        let writes = &gate.changes[0];
        assert_eq!(
            (writes.metric, writes.base, writes.now),
            ("writes", Some([1205; 2]), [1209; 2])
        );
        let cause = &writes.causes[0];
        assert_eq!((cause.call.as_str(), cause.path.as_str()), ("fsync", "db"));
        assert_eq!((cause.counts, cause.values), ([300, 301], [1200, 1204]));
        assert!(!check(&now, "0.4%").is_exceeded(), "301 are 0.334 % more than 300");
        assert!(check(&now, "0.33%").is_exceeded(), "syncs are 0.3333 % more");
    }

    #[test]
    fn a_cause_has_its_stack_where_both_bills_have() {
        fn with_stacks(mut bill: Bill) -> Bill {
            for (at, call) in bill.calls.iter_mut().enumerate() {
                call.stack = vec![format!("save_{at}"), "main".into()];
            }
            bill
        }
        let more = bill(&[("fsync", "db", 300, 1200), ("write", "log", 11, 6)]);
        let gate = against(&with_stacks(base()), &with_stacks(more.clone()), Tolerance::default());
        let cause = &gate.unwrap().changes[0].causes[0];
        assert_eq!(
            (cause.path.as_str(), &cause.stack[..]),
            ("log", &["save_1".into(), "main".into()][..])
        );
        let gate = against(&base(), &with_stacks(more), Tolerance::default()).unwrap();
        assert!(gate.changes[0].causes[0].stack.is_empty());
        assert!(gate.notes[0].contains("this bill alone"), "{:?}", gate.notes);
    }

    #[test]
    fn the_same_bill_and_a_lower_one_pass() {
        let same = check(&base(), "0%");
        assert_eq!((same.changes.len(), same.unchanged), (0, METRICS.len()));
        let less = check(&bill(&[("fsync", "db", 299, 1196), ("write", "log", 10, 5)]), "0%");
        assert!(!less.is_exceeded() && !less.changes.is_empty());
        assert_eq!(less.changes[0].causes[0].values, [1200, 1196]);
    }

    #[test]
    fn limits_name_the_calls_behind_them() {
        let limit = |metric, most| [Limit::new(metric, most).unwrap()];
        assert_eq!(within(&limit("syncs", 300), &base()).unchanged, 1);
        let gate = within(&limit("syncs", 299), &base());
        assert!(gate.is_exceeded());
        assert_eq!(gate.changes[0].causes[0].path, "db");
        assert!(Limit::new("flush", 1).unwrap_err().0.contains("flushes"));
    }

    #[test]
    fn what_varies_is_exceeded_only_where_every_run_is() {
        let second = bill(&[("fsync", "db", 303, 1212), ("write", "log", 10, 5)]);
        let unsteady = Bill { varies: varying(&base(), &second), ..base() };
        let gate = against(&base(), &unsteady, Tolerance::default()).unwrap();
        assert!(gate.changes.is_empty(), "the first run is as before");
        let gate = within(&[Limit::new("syncs", 301).unwrap()], &unsteady);
        assert!(!gate.is_exceeded() && gate.changes[0].is_unclear);
    }

    #[test]
    fn bills_of_two_file_systems_are_not_compared() {
        let other = Bill { file_system: "xfs".into(), ..base() };
        against(&base(), &other, Tolerance::default()).unwrap_err();
        let newer = Bill { kernel: "6.18".into(), ..base() };
        let gate = against(&base(), &newer, Tolerance::default()).unwrap();
        assert!(gate.notes[0].contains("6.18"));
    }

    #[test]
    fn a_tolerance_is_a_percentage() {
        assert_eq!(Tolerance::parse("0.5%").unwrap().most(1000), 1005);
        assert_eq!(Tolerance::parse("2 %").unwrap().most(10), 10, "less than one request");
        assert_eq!(Tolerance::parse("1000%").unwrap().most(u64::MAX), u64::MAX);
        for wrong in ["", "5", "-1%", "x%", "1001%", "0.1234%", "."] {
            Tolerance::parse(wrong).unwrap_err();
        }
    }
}
