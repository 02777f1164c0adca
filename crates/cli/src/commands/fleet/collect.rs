//! `fleet collect`: inspections and short runs of many hosts, into one archive.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use drivelab_analysis::fleet::CollectedHost;
use drivelab_archive::Archive;
use drivelab_core::units::Span;
use drivelab_report::fleet::{collected_json, collected_text};
use drivelab_report::text::json_text;

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::run::check_options;
use crate::exit::{Exit, Outcome};
use crate::ui::{Progress, Ui};
use drivelab_core::{Invalid, Refusal};
use drivelab_lab::archive::entries;
use drivelab_lab::fleet::{Collected, Reach, Request, Ssh, ask, each};
use drivelab_lab::{input, interrupt};

/// Keep what hosts have: an inspection of each, and a short run on each of its drives.
///
/// Without HOST and --hosts: this machine, as its timer does. Other hosts are reached over ssh, and
/// need drivelab there. Behind `--` stand the options of the run (see `drivelab run --help`);
/// without them hosts are inspected and nothing is run. No device is written. A host that fails is
/// named, the others are kept, and the exit code is 5.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab fleet collect                              inspect this machine
  drivelab fleet collect web1 root@web2               inspect two others
  drivelab fleet collect --hosts hosts.txt --program 'sudo drivelab' \\
    -- --rw randread --bs 4k --iodepth 8 --runtime 10s
  drivelab fleet collect web1 --target /var/tmp/probe -- --size 1G --rw randread --runtime 5s")]
pub(super) struct CollectArgs {
    /// Hosts, as ssh names them.
    host: Vec<String>,
    /// A file with a host a line; `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The name under which this machine is kept [default: its host name].
    #[arg(long, conflicts_with_all = ["host", "hosts"])]
    name: Option<String>,
    /// What the runs are made on: a device or a file of every host; repeat it for several
    /// [default: every drive that the inspection finds, which takes root].
    #[arg(long, value_name = "PATH")]
    target: Vec<String>,
    /// Hosts that are asked at the same time.
    #[arg(long, value_name = "N", default_value = "16")]
    at_once: NonZeroUsize,
    /// Time for each command on a host.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: Span,
    /// How hosts are reached; keys and names come from ssh's own configuration.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -o BatchMode=yes -o ConnectTimeout=10"
    )]
    ssh: String,
    /// drivelab on the hosts, with what stands in front of it.
    #[arg(long, value_name = "COMMAND", default_value = "drivelab")]
    program: String,
    /// A name for what is collected.
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Options of the run on each target.
    #[arg(last = true, value_name = "RUN OPTIONS")]
    run: Vec<String>,
}

/// Asks the hosts, and keeps each as soon as it has answered.
pub(super) fn run(arguments: &CollectArgs, ui: Ui) -> Outcome {
    let hosts = arguments.hosts()?;
    let request = arguments.request()?;
    // Before anything is asked; one machine of many connects only when it has something to keep.
    let mut archive = match hosts.len() {
        1 => None,
        _ => Some(arguments.archive.location().open_patiently()?),
    };
    let progress = Progress::steps(hosts.len() as u64, "hosts");
    let mut results: Vec<Option<CollectedHost>> = hosts.iter().map(|_| None).collect();
    let (mut broken, mut done) = (None, 0);
    let ask = |host: &Reach| {
        if interrupt::requested() {
            Err(Refusal::interrupted("interrupted"))
        } else {
            ask(host, &request)
        }
    };
    each(&hosts, arguments.at_once, ask, |index, answer| {
        done += 1;
        progress.at(done, hosts[index].name());
        match arguments.keep(hosts[index].name(), answer, &mut archive) {
            Ok(host) => results[index] = Some(host),
            Err(failure) => broken = Some(failure),
        }
        broken.is_none()
    });
    drop(progress);
    let results: Vec<CollectedHost> = results.into_iter().flatten().collect();
    // What was kept before a failure is shown all the same.
    if broken.is_none() || results.iter().any(|host| host.id.is_some()) {
        show(&results, ui)?;
    }
    match broken {
        Some(failure) => Err(failure),
        None if interrupt::requested() => Ok(Exit::Interrupted),
        None if results.iter().all(CollectedHost::is_whole) => Ok(Exit::Done),
        None => Ok(Exit::HostsLost),
    }
}

fn show(results: &[CollectedHost], ui: Ui) -> Outcome {
    if ui.json {
        return ui.result(&json_text(&collected_json(results)));
    }
    ui.result(&collected_text(results, ui.look()))
}

impl CollectArgs {
    /// Every host once, in the order in which they were named.
    fn hosts(&self) -> Result<Vec<Reach>, Refusal> {
        let text = self.hosts.as_deref().map(|file| input::text(file, input::HOSTS)).transpose()?;
        let lines = text.iter().flat_map(|text| text.lines());
        let listed = lines.map(|line| line.split('#').next().unwrap_or_default().trim());
        let named = self.host.iter().map(String::as_str);
        // Two loads at once on a host in both lists would disturb each other.
        let mut known = BTreeSet::new();
        let all = named.chain(listed.filter(|line| !line.is_empty()));
        let hosts: Result<Vec<Reach>, Invalid> =
            all.filter(|host| known.insert(host.to_owned())).map(Reach::there).collect();
        let hosts = hosts.map_err(|error| {
            Refusal::request(error).hint("name it as ssh does: HOST or USER@HOST, one a line")
        })?;
        match (hosts.is_empty(), &self.hosts) {
            (false, _) => Ok(hosts),
            (true, Some(file)) => {
                Err(Refusal::request(format!("`{}` names no host", file.display()))
                    .hint("write a host a line"))
            }
            (true, None) => Ok(vec![Reach::Here(self.own_name())]),
        }
    }

    fn own_name(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
    }

    fn request(&self) -> Result<Request, Refusal> {
        if self.run.is_empty() && !self.target.is_empty() {
            return Err(Refusal::request("--target without a run")
                .hint("say what to run: -- --rw randread --runtime 5s"));
        }
        // On the host it would be read as an option.
        if let Some(odd) = self.target.iter().find(|it| it.starts_with('-') || it.is_empty()) {
            return Err(Refusal::request(format!("`{odd}` is not a target"))
                .hint("name a device or a file: --target /dev/sda"));
        }
        // Without --target the drives are known only on the host: any name does for the check.
        let first = self.target.first().map_or("/dev/disk", String::as_str);
        let is_asked = !self.run.is_empty();
        if is_asked {
            check_options(first, &self.run)?;
        }
        let ssh = Ssh { command: self.ssh.clone(), program: self.program.clone() };
        let run = is_asked.then(|| self.run.clone());
        Ok(Request { ssh, run, targets: self.target.clone(), timeout: self.timeout })
    }

    /// Keeps what a host gave, all or nothing.
    fn keep(
        &self,
        host: &str,
        answer: Result<Collected, Refusal>,
        archive: &mut Option<Archive>,
    ) -> Result<CollectedHost, Refusal> {
        let host = host.to_owned();
        let collected = match answer {
            Ok(collected) => collected,
            Err(why) => {
                let why = Some(why.to_string());
                return Ok(CollectedHost { host, why, ..Default::default() });
            }
        };
        let entries = entries::collection(&collected, self.label.as_ref());
        let _whole = interrupt::shield();
        if archive.is_none() {
            *archive = Some(self.archive.location().open_patiently()?);
        }
        archive.as_mut().expect("it was opened").keep(&entries)?;
        Ok(CollectedHost {
            host,
            id: Some(entries[0].id.to_string()),
            disks: entries[0].devices.len(),
            runs: collected.runs.len(),
            failed: collected.failed,
            why: None,
        })
    }
}
