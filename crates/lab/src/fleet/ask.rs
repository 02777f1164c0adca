//! Questions to one host: an inspection, then its short runs, one after another.

use drivelab_analysis::run;
use drivelab_core::Refusal;
use drivelab_core::units::Span;
use drivelab_host::Inspection;

use super::collected::{Collected, CollectedRun};
use super::reach::{Reach, Ssh};

/// The request that every host receives.
#[derive(Debug, Clone)]
pub struct Request {
    /// The way to the host.
    pub ssh: Ssh,
    /// The options of the run on each target; `None` for an inspection alone.
    pub run: Option<Vec<String>>,
    /// Targets of the runs; without one every drive that the inspection finds.
    pub targets: Vec<String>,
    /// For each command.
    pub timeout: Span,
}

/// Asks a host; a run that fails is noted, and the others are made.
pub fn ask(host: &Reach, request: &Request) -> Result<Collected, Refusal> {
    let ask = |words: &[String]| host.drivelab(&request.ssh, words, request.timeout);
    let said = ask(&["inspect", "--json"].map(str::to_owned))?;
    let inspection = Inspection::from_json(&said)
        .map_err(|error| Refusal::machine(format!("its inspection cannot be read: {error}")))?;
    let (targets, strange) = targets(&inspection, request);
    let name = host.name().to_owned();
    let mut collected = Collected { host: name, inspection, runs: Vec::new(), failed: Vec::new() };
    let Some(options) = &request.run else { return Ok(collected) };
    let refused = "the host's inspection gives it no name of a device";
    collected.failed.extend(strange.into_iter().map(|name| (name, refused.to_owned())));
    for target in targets {
        let made = ask(&words(&target, options));
        let record = made.and_then(|said| {
            let mut records = run::parse(&said).map_err(Refusal::machine_error)?;
            records.pop().ok_or_else(|| Refusal::machine("no run was printed"))
        });
        match record {
            Ok(record) => collected.runs.push(CollectedRun { target, record }),
            Err(why) => collected.failed.push((target, why.to_string())),
        }
    }
    Ok(collected)
}

/// The words of a run. The target comes last, and is not an option even where it begins with a
/// dash.
fn words(target: &str, options: &[String]) -> Vec<String> {
    // The host's archive must not keep what is kept here.
    let begin = ["run", "--json", "--no-archive"].map(str::to_owned);
    let end = ["--", target].map(str::to_owned);
    [&begin[..], options, &end].concat()
}

/// The named targets, or the device file of every drive; and the names of drives in the
/// inspection that match no device file.
fn targets(inspection: &Inspection, request: &Request) -> (Vec<String>, Vec<String>) {
    if !request.targets.is_empty() {
        return (request.targets.clone(), Vec::new());
    }
    let drives = inspection.devices.iter().filter(|device| device.is_drive() && !device.log_only);
    // A reader without a medium has a device file, too, but there is nothing to run on.
    let with_medium = drives.filter(|it| it.capacity_bytes.is_none_or(|bytes| bytes > 0));
    with_medium.filter_map(|it| it.path.clone()).partition(|path| is_device_file(path))
}

/// True if a path is that of a device file: `/dev/sda`, `/dev/mapper/data`.
fn is_device_file(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:+@!".contains(c);
    let is_name = |name: &str| {
        !name.is_empty() && !name.chars().all(|c| c == '.') && name.chars().all(is_plain)
    };
    path.strip_prefix("/dev/").is_some_and(|rest| rest.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_file_is_measured_and_never_an_option() {
        let check =
            |path: &str, expected: bool| assert_eq!(is_device_file(path), expected, "{path}");
        check("/dev/sda", true);
        check("/dev/nvme0n1", true);
        check("/dev/mapper/vg-data", true);
        check("/dev/cciss!c0d0", true);
        for wrong in ["--allow-destructive", "-h", "", "/dev/", "/dev/../etc/shadow", "/etc/shadow"]
        {
            check(wrong, false);
        }
        check("/dev/sda --allow-destructive", false);
        check("drive:generic-sata", false);
        check("/dev//sda", false);
        let words = words("--allow-destructive", &["--rw=randread".to_owned()]);
        assert_eq!(words[3..], ["--rw=randread", "--", "--allow-destructive"]);
    }
}
