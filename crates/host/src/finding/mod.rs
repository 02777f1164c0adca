//! The rules of the findings: each has evidence and a remedy.
//!
//! One file per family. A check is a pure function from the facts to findings; it reports nothing
//! without evidence. Each has a page, `docs/findings/<id>.md`.

mod array;
mod busy;
mod cache;
mod context;
mod emulation;
mod forced;
mod link;
mod logged;
mod pcie;
mod queue;
mod state;
mod tuning;

pub(crate) use self::context::Context;
use self::context::Findings;
use crate::found::Finding;

/// All findings of one device, worst first.
pub(crate) fn check(context: &Context<'_>) -> Vec<Finding> {
    let checks: [fn(&Context<'_>, &mut Findings); 11] = [
        emulation::check,
        link::check,
        logged::check,
        state::check,
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
    debug_assert!(
        findings.found.iter().all(|finding| !finding.message.is_empty() && !finding.fix.is_empty()),
        "a finding has a description and a remedy"
    );
    findings.found.sort_by_key(|finding| (finding.severity, finding.id));
    findings.found
}
