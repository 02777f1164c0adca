//! The work of a guest: what it takes there, and the request that the program inside gets.

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_core::record::{Attached, SuiteConfig};
use drivelab_core::workload::Workload;
use drivelab_engine::Ran;
use drivelab_guest::initramfs::Initramfs;
use drivelab_guest::mounted::{self, MOUNTED};
use drivelab_study::file::{Needs, Suite};
use serde::{Deserialize, Serialize};

use super::root;
use crate::request::{Permissions, Request, Work};

/// A file for what needs one on a mounted file system.
const FILE: &str = "testfile";
/// The request, in the guest's root.
const REQUEST: &str = "request.json";

/// The path of the target of some work in a guest whose disk is `disk`.
pub(super) fn target(work: &Work, disk: &str, is_mounted: bool) -> String {
    let needs_folder = match work {
        Work::Commands { .. } => true,
        Work::Suite(suite) => suite.needs == Needs::Tree,
        Work::Load(_) | Work::Cell(_) => false,
    };
    match (is_mounted, needs_folder) {
        (false, _) => format!("/dev/{disk}"),
        (true, true) => MOUNTED.into(),
        (true, false) => format!("{MOUNTED}/{FILE}"),
    }
}

/// Refuses work that has nothing to run on in a guest.
pub fn check(work: &Work, is_mounted: bool) -> Result<(), Refusal> {
    match work {
        Work::Load(load) => check_load(&load.workload, is_mounted),
        Work::Suite(suite) => check_suite(suite, is_mounted),
        Work::Cell(loads) => {
            loads.iter().try_for_each(|one| check_load(&one.load.workload, is_mounted))
        }
        Work::Commands { .. } => Ok(()),
    }
}

/// The same for a load.
pub fn check_load(workload: &Workload, is_mounted: bool) -> Result<(), Refusal> {
    if !is_mounted || workload.size.is_some() {
        return Ok(());
    }
    let message = "a load on a file system needs the size of its file";
    Err(Refusal::request(message).hint("give each such workload a `size`"))
}

/// The same for a suite.
pub(super) fn check_suite(suite: &Suite, is_mounted: bool) -> Result<(), Refusal> {
    let name = &suite.name;
    match suite.needs {
        Needs::Tree if !is_mounted => {
            let message = format!("suite `{name}` works on files, and no file system is named");
            Err(Refusal::request(message)
                .hint(format!("name one: {}, as in `filesystem = \"ext4\"`", mounted::names())))
        }
        Needs::Model(_) | Needs::AtRisk(_) => {
            let message = format!("suite `{name}` runs on a bare model, at stage simulate");
            Err(Refusal::request(message).hint("leave it out: --only W,..."))
        }
        Needs::Tree | Needs::Blocks(_) => Ok(()),
    }
}

/// The request that the program inside the guest carries out on `target` there. Nothing is on the
/// disk of a guest but what the run itself put there.
pub(super) fn inner(work: &Work, target: &str, seed: u64) -> Request {
    debug_assert!(target.starts_with('/'), "the program inside starts in another folder");
    let path = PathBuf::from(target);
    let is_device = target.starts_with("/dev/");
    let allow_destructive = if is_device { vec![path.clone()] } else { Vec::new() };
    let permissions =
        Permissions { overwrite: !is_device, allow_destructive, ..Permissions::default() };
    Request::on_path(path, work.clone(), seed).permitting(permissions)
}

/// The line of the guest's shell that carries a request out.
pub(super) fn line() -> String {
    format!("drivelab guest run /{REQUEST}")
}

/// Adds a request to the guest's root, with the programs that it needs.
pub(super) fn add(request: &Request, root: &mut Initramfs) -> Result<(), Refusal> {
    let text = serde_json::to_vec(request).expect("a path in a guest and plain data are JSON");
    root.add_file(REQUEST, text, false);
    if let Work::Commands { programs, .. } = &request.work {
        for program in programs {
            root::add_program(root, program.as_ref())?;
        }
    }
    Ok(())
}

/// The suite that the record of some work must name.
pub(super) fn suite(work: &Work) -> Option<SuiteConfig> {
    let Work::Suite(suite) = work else { return None };
    let options = suite.options.iter().cloned().collect();
    Some(SuiteConfig { name: suite.name.clone(), options })
}

/// The results of the commands of a run in a guest.
#[derive(Debug, Serialize, Deserialize)]
pub struct Carried {
    /// The attachment of their target.
    pub attached: Attached,
    /// Each with the name of its step.
    pub ran: Vec<(String, Ran)>,
}

#[cfg(test)]
mod tests {
    use drivelab_core::recipe::Adjust;
    use drivelab_core::workload::WorkloadOptions;

    use super::*;
    use crate::request::Load;
    use crate::stage::suite;

    #[test]
    fn each_kind_of_work_has_its_target_and_what_it_may_write() {
        let options = WorkloadOptions { iodepth: Some(7), ..WorkloadOptions::default() };
        let load = Work::Load(Box::new(Load::new(options.check().unwrap())));
        assert_eq!(target(&load, "sda", false), "/dev/sda");
        let on_device = inner(&load, "/dev/sda", 1).permissions;
        assert_eq!(on_device.allow_destructive, [PathBuf::from("/dev/sda")]);
        assert!(!on_device.overwrite);
        assert_eq!(target(&load, "vda", true), "/mnt/testfile");
        assert!(inner(&load, "/mnt/testfile", 1).permissions.overwrite);
        assert!(check(&load, true).unwrap_err().to_string().contains("size"));
        let shape = suite::find("shape:scan", &Adjust::default()).unwrap();
        check(&Work::Suite(Box::new(shape)), true).unwrap_err();
        let commands = Work::Commands { steps: Vec::new(), programs: Vec::new() };
        assert_eq!(target(&commands, "sda", true), "/mnt");
    }

    #[test]
    fn a_request_reaches_the_program_inside_as_it_was_asked() {
        let options = WorkloadOptions { iodepth: Some(7), ..WorkloadOptions::default() };
        let load = Load { numjobs: 3, direct: false, ..Load::new(options.check().unwrap()) };
        let recipe = suite::find("crystaldiskmark8", &Adjust::default()).unwrap();
        for work in [Work::Load(Box::new(load)), Work::Suite(Box::new(recipe))] {
            let request = inner(&work, "/dev/sda", 5);
            let json = serde_json::to_string(&request).unwrap();
            let read: Request = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            assert_eq!((read.seed, read.permissions), (5, request.permissions));
            match (&read.work, &work) {
                (Work::Load(read), Work::Load(asked)) => assert_eq!(read, asked),
                (Work::Suite(read), Work::Suite(asked)) => {
                    assert_eq!((&read.name, &read.needs), (&asked.name, &asked.needs));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
