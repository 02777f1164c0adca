//! An inspection as text: one block a disk, with a drawing of the way to it.

mod disk;
mod moment;
mod paint;

pub use moment::watch;
pub use paint::Paint;

use paint::plural;

use crate::finding::Severity;
use crate::inspection::Inspection;

/// Problems that are shown; all of them are in the JSON.
const PROBLEMS_SHOWN: usize = 5;

/// The first screen.
pub fn text(inspection: &Inspection, paint: Paint) -> String {
    let mut out = String::new();
    for device in &inspection.devices {
        disk::block(&mut out, device, inspection, paint);
        out.push('\n');
    }
    if inspection.devices.is_empty() && inspection.environment.block_devices {
        out.push_str("no disks were found\n\n");
    }
    summary(&mut out, inspection, paint);
    out
}

fn summary(out: &mut String, inspection: &Inspection, paint: Paint) {
    let count = |severity| {
        let findings = inspection.devices.iter().flat_map(|device| &device.findings);
        findings.filter(|finding| finding.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warn));
    let line = match inspection.worst() {
        Some(worst) if errors + warnings > 0 => {
            let text = format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"));
            format!("{}; each is explained in docs/findings/", paint.severity(Some(worst), &text))
        }
        _ if inspection.environment.block_devices => paint.severity(None, "no problems found"),
        _ if inspection.devices.is_empty() => {
            "no disk could be inspected: sys/block is missing".to_owned()
        }
        _ => "no problems found in the kernel log; sys/block is missing".to_owned(),
    };
    out.push_str(&format!("{line}\n"));
    if !inspection.environment.kernel_log {
        paint.wrap(
            out,
            "no kernel log was read, so link errors, downshifts and NCQ quirks may be missing: add \
             --dmesg FILE",
            0,
            0,
        );
    }
    let problems = &inspection.problems;
    if problems.is_empty() {
        return;
    }
    out.push_str(&format!("{} not read or not parsed:\n", plural(problems.len(), "file")));
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        paint.wrap(out, &format!("{} {}", problem.path, problem.message), 2, 4);
    }
    if problems.len() > PROBLEMS_SHOWN {
        out.push_str("  ... (--json lists all)\n");
    }
}
