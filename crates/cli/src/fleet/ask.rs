//! What is asked of one host: an inspection, then its short runs, one after another.

use drivelab_core::units::Span;
use drivelab_host::Inspection;
use drivelab_report::run;

use super::collected::{Collected, CollectedRun};
use super::reach::{Reach, Ssh};

/// What is asked of every host.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) ssh: Ssh,
    /// The options of the run on each target; `None` for an inspection alone.
    pub(crate) run: Option<Vec<String>>,
    /// Targets of the runs; without one every drive that the inspection finds.
    pub(crate) targets: Vec<String>,
    /// For each command.
    pub(crate) timeout: Span,
}

/// Asks a host; a run that fails is noted, and the others are made.
pub(crate) fn ask(host: &Reach, request: &Request) -> Result<Collected, String> {
    let ask = |words: &[String]| host.drivelab(&request.ssh, words, request.timeout);
    let said = ask(&["inspect", "--json"].map(str::to_owned))?;
    let inspection: Inspection = serde_json::from_str(&said)
        .map_err(|error| format!("its inspection cannot be read: {error}"))?;
    let targets = targets(&inspection, request);
    let name = host.name().to_owned();
    let mut collected = Collected { host: name, inspection, runs: Vec::new(), failed: Vec::new() };
    let Some(options) = &request.run else { return Ok(collected) };
    for target in targets {
        let words = ["run", &target, "--json", "--no-archive"].map(str::to_owned).to_vec();
        let made = ask(&[words, options.clone()].concat());
        let record = made.and_then(|said| {
            let mut records = run::parse(&said).map_err(|error| error.to_string())?;
            records.pop().ok_or_else(|| "no run was printed".to_owned())
        });
        match record {
            Ok(record) => collected.runs.push(CollectedRun { target, record }),
            Err(why) => collected.failed.push((target, why)),
        }
    }
    Ok(collected)
}

/// Those that were named, or the device file of every drive.
fn targets(inspection: &Inspection, request: &Request) -> Vec<String> {
    if !request.targets.is_empty() {
        return request.targets.clone();
    }
    let drives = inspection.devices.iter().filter(|device| device.is_drive() && !device.log_only);
    let has_medium = |bytes: Option<u64>| bytes.is_none_or(|bytes| bytes > 0);
    drives.filter(|it| has_medium(it.capacity_bytes)).filter_map(|it| it.path.clone()).collect()
}
