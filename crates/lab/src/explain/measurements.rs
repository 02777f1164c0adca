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
    &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "32"), ("sync", "on")],
    &[("rw", "read"), ("bs", "1m"), ("iodepth", "4")],
    &[("rw", "write"), ("bs", "1m"), ("iodepth", "4")],
];

/// The commands and loads of all measurements but those that were made already.
pub(super) fn all(given: &[&Workload]) -> Result<(Vec<String>, Vec<Load>), Refusal> {
    let (mut commands, mut loads) = (Vec::new(), Vec::new());
    for options in ALL {
        let workload = workload(options)?;
        if given.iter().any(|it| is_same(it, &workload)) {
            continue;
        }
        commands.push(command(options));
        loads.push(Load { workload, numjobs: 1, schedule: JobSchedule::default() });
    }
    Ok((commands, loads))
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
    let asked = |it: &Workload| (it.rw, it.blocks.clone(), it.pace.iodepth(), it.sync, it.fsync);
    asked(one) == asked(other)
}

fn command(options: &[(&str, &str)]) -> String {
    let mut command = "drivelab run TARGET".to_owned();
    for (name, value) in options {
        command += &match *name {
            "sync" => " --sync".to_owned(),
            name => format!(" --{name} {value}"),
        };
    }
    command + " --runtime 60s --json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_was_made_is_not_proposed() {
        let (commands, loads) = all(&[]).unwrap();
        assert_eq!((commands.len(), loads.len()), (ALL.len(), ALL.len()));
        let made = Workload { offset: "1g".parse().unwrap(), ..loads[1].workload.clone() };
        let (rest, _) = all(&[&made]).unwrap();
        assert_eq!(rest.len(), ALL.len() - 1);
        assert!(!rest.contains(&commands[1]), "{rest:?}");
        assert_eq!(
            commands[5],
            "drivelab run TARGET --rw randwrite --bs 4k --iodepth 32 --sync --runtime 60s --json"
        );
    }
}
