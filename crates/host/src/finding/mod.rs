//! The rules that find what is wrong: each finding with its evidence and a remedy.
//!
//! One file per family. A check is a pure function from the facts to findings; it reports nothing
//! without evidence. The page on each is `docs/findings/<id>.md`.

mod array;
mod busy;
mod cache;
mod context;
mod emulation;
mod forced;
mod link;
mod pcie;
mod queue;
mod tuning;

pub(crate) use self::context::Context;
use self::context::Findings;
use crate::found::Finding;

/// All findings of one device, worst first.
pub(crate) fn check(context: &Context<'_>) -> Vec<Finding> {
    let checks: [fn(&Context<'_>, &mut Findings); 9] = [
        emulation::check,
        link::check,
        queue::check,
        pcie::check,
        cache::check,
        tuning::check,
        array::check,
        forced::check,
        busy::check,
    ];
    let mut findings = Findings::default();
    for check in checks {
        check(context, &mut findings);
    }
    findings.found.sort_by_key(|finding| (finding.severity, finding.id));
    findings.found
}
