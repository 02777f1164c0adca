//! An inspection in words: a block for each disk, with a drawing of the path to it.

mod disk;
mod moment;
mod plural;

pub(crate) use disk::setting;
pub use moment::watched;

use drivelab_core::outline::{Line, Severity, Tone};

use self::plural::plural;
use crate::inspection::Inspection;

/// Maximum number of problems shown; all of them are in the JSON.
const PROBLEMS_SHOWN: usize = 5;
/// Maximum number of files shown.
const SOURCES_SHOWN: usize = 8;

/// The first screen.
pub fn outline(inspection: &Inspection) -> Vec<Line> {
    let mut lines = Vec::new();
    let all = disk::by_name(inspection);
    for device in &inspection.devices {
        disk::block(&mut lines, device, &all);
        lines.push(Line::default());
    }
    let environment = &inspection.environment;
    // Both /sys and the log of a whole boot name all disks.
    let is_complete = environment.block_devices
        || environment.foreign_log.is_some() && environment.kernel.is_some();
    if inspection.devices.is_empty() && is_complete {
        lines.extend([Line::new("no disks were found", 0), Line::default()]);
    }
    lines.push(summary(inspection));
    if let Some(reason) = &inspection.environment.foreign_log {
        let alone =
            format!("only the kernel log was read, not /sys and /proc of this machine: {reason}");
        lines.push(Line::new(alone, 0));
    }
    lines.extend(sources(inspection));
    if !inspection.environment.kernel_log && inspection.environment.sources.is_empty() {
        let missing = "no kernel log was read, so link errors, downshifts and NCQ quirks may be missing: add \
             --dmesg FILE";
        lines.push(Line::new(missing, 0));
    }
    lines.extend(problems(inspection));
    lines
}

fn summary(inspection: &Inspection) -> Line {
    let [errors, warnings] = [Severity::Error, Severity::Warn].map(|severity| {
        let findings = inspection.devices.iter().flat_map(|device| &device.findings);
        findings.filter(|finding| finding.severity == severity).count()
    });
    if let Some(worst) = inspection.worst().filter(|_| errors + warnings > 0) {
        let counts = format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"));
        let line = Line::new("; `drivelab inspect --explain ID` explains each", 0);
        return line.part(Tone::Wrong(worst), counts);
    }
    if !inspection.environment.sources.is_empty() && inspection.devices.is_empty() {
        return Line::new("no disk or controller was found in what was given", 0);
    }
    if !inspection.environment.sources.is_empty() {
        return Line::default().part(Tone::Good, "no problems found in what was given");
    }
    if inspection.environment.block_devices {
        return Line::default().part(Tone::Good, "no problems found");
    }
    // Devices that the kernel log names were not inspected, so they may be faulty or healthy.
    let lines = inspection.environment.kernel_log_lines;
    let log = if inspection.environment.kernel_log && !inspection.devices.is_empty() {
        format!("; among {} there is none that reports a fault of them", plural_lines(lines))
    } else {
        String::new()
    };
    let disks = if inspection.environment.foreign_log.is_some() {
        "the disks are known from the kernel log only"
    } else {
        "no disk could be inspected: sys/block is missing"
    };
    Line::new(format!("{disks}{log}"), 0)
}

/// The files that were read, and what they do not say.
fn sources(inspection: &Inspection) -> Vec<Line> {
    let environment = &inspection.environment;
    if environment.sources.is_empty() {
        return Vec::new();
    }
    let files = environment.sources.iter().take(SOURCES_SHOWN);
    let files: Vec<String> =
        files.map(|source| format!("{} ({})", source.file, source.tools.join(", "))).collect();
    let more = environment.sources.len().saturating_sub(SOURCES_SHOWN);
    let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
    let mut lines = vec![Line::new(format!("read: {}{more}", files.join(", ")), 4)];
    if !environment.missing.is_empty() {
        let missing = format!("not in the capture: {}", environment.missing.join("; "));
        lines.push(Line::new(missing, 4));
    }
    lines
}

/// `1 line of the log`.
fn plural_lines(lines: u64) -> String {
    let count = usize::try_from(lines).unwrap_or(usize::MAX);
    format!("the {} of the log that were read", plural(count, "line"))
}

fn problems(inspection: &Inspection) -> Vec<Line> {
    let problems = &inspection.problems;
    if problems.is_empty() {
        return Vec::new();
    }
    let about = format!("{} not read or not understood:", plural(problems.len(), "file"));
    let mut lines = vec![Line::new(about, 0)];
    lines.extend(problems.iter().take(PROBLEMS_SHOWN).map(|problem| {
        Line::new(format!("{} {}", problem.path, problem.message), 4).part(Tone::Plain, "  ")
    }));
    if problems.len() > PROBLEMS_SHOWN {
        lines.push(Line::new("... (all with --json)", 4).part(Tone::Plain, "  "));
    }
    lines
}
