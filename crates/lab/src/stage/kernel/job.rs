//! The work of a guest, as its shell runs it.

use std::path::Path;

use drivelab_core::Refusal;
use drivelab_core::record::SuiteConfig;
use drivelab_core::workload::{OPTIONS, Workload, WorkloadOptions};
use drivelab_guest::initramfs::Initramfs;
use drivelab_guest::mounted::MOUNTED;
use drivelab_study::file::{Needs, Suite};

use super::root;
use crate::input;
use crate::stage::program::Step;

/// The work of a guest.
#[derive(Debug, Clone, Copy)]
pub enum Job<'a> {
    /// Requests of the load loop, with what else `drivelab run` gets.
    Load(&'a Workload, &'a [String]),
    /// A suite.
    Suite(&'a Suite),
    /// The commands of a run, with the programs of this machine that they call.
    Steps(&'a [Step], &'a [String]),
}

/// A file for what needs one on a mounted file system.
const FILE: &str = "testfile";
/// The commands of a run, in the guest's root.
const STEPS: &str = "steps.json";

impl Job<'_> {
    /// The path of its target in a guest whose disk is `disk`.
    pub(super) fn target(&self, disk: &str, is_mounted: bool) -> String {
        match (self, is_mounted) {
            (_, false) => format!("/dev/{disk}"),
            (Self::Steps(..), true) => MOUNTED.into(),
            (Self::Suite(suite), true) if suite.needs == Needs::Tree => MOUNTED.into(),
            (_, true) => format!("{MOUNTED}/{FILE}"),
        }
    }

    /// Refuses a job that has nothing to run on.
    pub fn check(&self, is_mounted: bool) -> Result<(), Refusal> {
        match self {
            Self::Suite(Suite { needs: Needs::Tree, name, .. }) if !is_mounted => {
                let message = format!("suite `{name}` works on files, and no file system is named");
                Err(Refusal::request(message)
                    .hint("name one: ext4, xfs or btrfs, as in `filesystem = \"ext4\"`"))
            }
            Self::Suite(Suite { needs: Needs::Model(_), name, .. }) => {
                let message = format!("suite `{name}` runs on a bare model, at stage simulate");
                Err(Refusal::request(message).hint("leave it out: --only W,..."))
            }
            Self::Load(workload, _) if is_mounted && workload.size.is_none() => {
                let message = "a load on a file system needs the size of its file";
                Err(Refusal::request(message).hint("give each such workload a `size`"))
            }
            _ => Ok(()),
        }
    }

    /// The line that does it.
    pub(super) fn line(&self, target: &str, seed: u64) -> String {
        let mut arguments = Vec::new();
        match self {
            Self::Steps(..) => return format!("drivelab guest steps /{STEPS} {target}"),
            Self::Load(workload, options) => {
                let is_flag =
                    |name: &str| OPTIONS.iter().any(|option| option.name == name && option.is_flag);
                let entries = WorkloadOptions::from(*workload).entries().into_iter();
                let entries = entries.filter(|(name, _)| is_flag(name));
                arguments.extend(entries.map(|(name, value)| option(name, &value)));
                arguments.extend(options.iter().cloned());
            }
            Self::Suite(Suite { name, options, needs: Needs::Tree, .. }) => {
                let options = options.iter().map(|(key, value)| format!(",{key}={value}"));
                arguments.push(format!("--suite={name}{}", options.collect::<String>()));
            }
            Self::Suite(Suite { name, options, .. }) => {
                arguments.push(format!("--suite={name}"));
                arguments.extend(options.iter().map(|(key, value)| option(key, value)));
            }
        }
        arguments.push(format!("--seed={seed}"));
        if target.starts_with("/dev/") {
            arguments.push(format!("--allow-destructive={target}"));
        } else if !matches!(self, Self::Suite(Suite { needs: Needs::Tree, .. })) {
            arguments.push("--overwrite".into());
        }
        let arguments: Vec<String> = arguments
            .into_iter()
            .map(|argument| format!("'{}'", argument.replace('\'', "'\\''")))
            .collect();
        format!("drivelab run {target} --json --no-archive {}", arguments.join(" "))
    }

    /// Adds the files that it needs.
    pub(super) fn add_to(&self, root: &mut Initramfs) -> Result<(), Refusal> {
        match self {
            Self::Load(..) => {}
            Self::Suite(suite) => {
                // A recipe of the user's is a file, in the guest at the same path.
                let path = Path::new(&suite.name);
                if path.extension().is_some_and(|it| it == "toml") {
                    let text = input::text(path, input::RECIPE)?;
                    let name = suite.name.trim_start_matches(['.', '/']);
                    root.add_file(name, text.into_bytes(), false);
                }
            }
            Self::Steps(steps, programs) => {
                let text = serde_json::to_vec(steps).expect("plain data is always JSON");
                root.add_file(STEPS, text, false);
                for program in *programs {
                    root::add_program(root, program.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// The suite that its record must name.
    pub(super) fn suite(&self) -> Option<SuiteConfig> {
        let Self::Suite(suite) = self else { return None };
        let options = suite.options.iter().cloned().collect();
        Some(SuiteConfig { name: suite.name.clone(), options })
    }
}

fn option(name: &str, value: &str) -> String {
    format!("--{}={value}", name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::suite;
    use drivelab_core::recipe::Adjust;

    #[test]
    fn each_kind_of_work_has_its_line_and_its_target() {
        let options = WorkloadOptions { iodepth: Some(7), ..WorkloadOptions::default() };
        let workload = options.check().unwrap();
        let more = ["it's".to_owned()];
        let load = Job::Load(&workload, &more);
        let target = load.target("sda", false);
        let line = load.line(&target, 1);
        assert!(line.starts_with("drivelab run /dev/sda --json --no-archive "), "{line}");
        assert!(
            line.contains(" '--iodepth=7' ") && line.contains("'it'\\''s' '--seed=1'"),
            "{line}"
        );
        assert!(line.ends_with(" '--allow-destructive=/dev/sda'"), "{line}");
        assert_eq!(load.target("vda", true), "/mnt/testfile");
        assert!(load.check(true).unwrap_err().to_string().contains("size"));
        let recipe = suite::find("crystaldiskmark8", &Adjust::default()).unwrap();
        let line = Job::Suite(&recipe).line("/mnt/testfile", 5);
        assert!(line.ends_with("'--suite=crystaldiskmark8' '--seed=5' '--overwrite'"), "{line}");
        let refused = Job::Suite(&suite::find("shape:scan", &Adjust::default()).unwrap());
        refused.check(true).unwrap_err();
        let steps = Job::Steps(&[], &[]);
        assert_eq!(steps.target("sda", true), "/mnt");
        assert_eq!(steps.line("/mnt", 1), "drivelab guest steps /steps.json /mnt");
    }
}
