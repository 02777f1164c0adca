//! The measurements to choose the next one from.

use drivelab_analysis::explanation::Load;
use drivelab_core::workload::{Workload, WorkloadOptions};
use drivelab_core::{JobSchedule, Refusal};

/// Each by the options of `run`: between them they depend on every part of a drive's way.
const ALL: [&[(&str, &str)]; 8] = [
    &[("rw", "randread"), ("bs", "4k"), ("iodepth", "1")],
    &[("rw", "randread"), ("bs", "4k"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "1")],
    &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "1"), ("fsync", "1")],
    &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "32"), ("sync", "true")],
    &[("rw", "read"), ("bs", "1m"), ("iodepth", "4")],
    &[("rw", "write"), ("bs", "1m"), ("iodepth", "4")],
];

/// The options and loads of all measurements but those that were made already.
pub(super) fn all(given: &[&Workload]) -> Result<Vec<(String, Load)>, Refusal> {
    let mut all = Vec::new();
    for options in ALL {
        let proposed = workload(options)?;
        if !given.iter().any(|it| is_same(it, &proposed)) {
            let load = Load { workload: proposed, numjobs: 1, schedule: JobSchedule::default() };
            all.push((typed(options), load));
        }
    }
    Ok(all)
}

fn workload(options: &[(&str, &str)]) -> Result<Workload, Refusal> {
    let mut load = WorkloadOptions::default();
    for (name, value) in options {
        let known = load.set(name, value).map_err(Refusal::request_error)?;
        debug_assert!(known, "`{name}` is an option of a load");
    }
    Ok(load.check()?)
}

/// True if both ask the same of a drive, for any time and anywhere on it.
fn is_same(one: &Workload, other: &Workload) -> bool {
    asked(one) == asked(other)
}

/// The parts of a load that decide its requests, but for their region.
fn asked(load: &Workload) -> impl PartialEq {
    (load.rw, load.blocks.clone(), load.pace.iodepth(), load.sync, load.fsync)
}

/// Options as `drivelab run` takes them.
fn typed(options: &[(&str, &str)]) -> String {
    let mut typed = String::new();
    for (name, value) in options {
        typed += &match *name {
            "sync" => "--sync ".to_owned(),
            name => format!("--{name} {value} "),
        };
    }
    typed + "--runtime 60s --json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_was_made_is_not_proposed() {
        let every = all(&[]).unwrap();
        assert_eq!(every.len(), ALL.len());
        let (options, load) = &every[1];
        let made = Workload { offset: "1g".parse().unwrap(), ..load.workload.clone() };
        let rest = all(&[&made]).unwrap();
        assert_eq!(rest.len(), ALL.len() - 1);
        assert!(rest.iter().all(|(it, _)| it != options), "{rest:?}");
        let synchronous = "--rw randwrite --bs 4k --iodepth 32 --sync --runtime 60s --json";
        assert_eq!(every[5].0, synchronous);
    }
}
