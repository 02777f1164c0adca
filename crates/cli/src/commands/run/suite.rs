//! `run --suite`: tests one after the other, each a phase.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use drivelab_core::recipe::Adjust;
use drivelab_core::record::RunRecord;
use drivelab_report::publish::{Format, Subject};
use drivelab_study::file::Suite;
use drivelab_study::keep;

use super::workload::{self, WorkloadArgs};
use crate::commands::completion::{self, Offer};
use crate::output::made_now;
use crate::ui::{Console, Progress, Ui};
use drivelab_core::Refusal;
use drivelab_lab::request::Permissions;
use drivelab_lab::stage::suite;
use drivelab_lab::target::{self, Target};

/// The options of a workload that a suite takes too.
const TAKES: [&str; 2] = ["size", "runtime"];

/// The options of a single load that a suite would ignore.
pub(super) fn of_loads() -> impl Iterator<Item = &'static str> {
    workload::flags().map(|option| option.name).filter(|name| !TAKES.contains(name))
}

/// A suite and its own options.
#[derive(Debug, Clone, Args)]
pub(crate) struct SuiteArgs {
    /// Run a suite: its name, or a recipe of your own (TOML) [possible: crystaldiskmark2,
    /// crystaldiskmark8, crystaldiskmark8-nvme, crystaldiskmark8-peak, crystaldiskmark8-real,
    /// kdiskmark, hdtune]; or a suite of files in a folder, such as `bonnie,size=1G` (`help` lists
    /// them).
    #[arg(long, value_name = "NAME[,KEY=VALUE...]|FILE.toml",
        value_parser = Offer(completion::suites), hide_possible_values = true,
        conflicts_with_all = ["job", "matrix"],
        conflicts_with_all = of_loads(),
        conflicts_with_all = workload::of_one_load())]
    pub(super) suite: Option<String>,
    /// How often each test of a suite is run.
    #[arg(long, value_name = "N", requires = "suite")]
    loops: Option<u32>,
    /// Idle time between the tests of a suite.
    #[arg(long, value_name = "TIME", requires = "suite")]
    pause: Option<drivelab_core::units::Span>,
}

impl SuiteArgs {
    /// True if an option is given that only recipes have.
    pub(super) fn has_own(&self) -> bool {
        self.loops.is_some() || self.pause.is_some()
    }
}

/// The other arguments of the command line.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) target: String,
    pub(super) workload: WorkloadArgs,
    pub(super) seed: u64,
    pub(super) label: Option<String>,
    pub(super) overwrite: bool,
    pub(super) allow_destructive: Vec<PathBuf>,
}

/// The suite with its options.
pub(super) fn parse(name: &str, arguments: &SuiteArgs, around: &Around) -> Result<Suite, Refusal> {
    let set = &around.workload.0;
    if arguments.loops == Some(0) {
        return Err(Refusal::request("`--loops 0` measures nothing").hint("give 1 or more"));
    }
    let adjust = Adjust {
        size: set.size,
        runtime: set.runtime.filter(|_| around.workload.is_typed("runtime")),
        loops: arguments.loops,
        pause: arguments.pause,
    };
    suite::find(name, &adjust)
}

/// Runs the suite.
pub(super) fn run(
    name: &str,
    arguments: &SuiteArgs,
    around: Around,
    ui: Ui,
) -> Result<RunRecord, Refusal> {
    let suite = parse(name, arguments, &around)?;
    let mut record = match target::parse(&around.target)? {
        Target::Drive(spec) => {
            suite::on_model(&suite, &spec, &target::profile(&spec)?, around.seed)?
        }
        Target::Path(path) => {
            let time = suite.time.unwrap_or_default();
            ui.note(&format!("{}: about {}", suite.summary, drivelab_study::in_words(time)));
            let progress = Progress::time(Duration::from_nanos(time.ns()), &suite.name);
            let permissions = Permissions {
                overwrite: around.overwrite,
                allow_destructive: around.allow_destructive,
            };
            suite::on_path(&suite, &path, around.seed, &permissions, &progress.control())?
        }
    };
    record.label = around.label;
    Ok(record)
}

/// Writes the record and its page to a folder.
pub(super) fn keep_in(folder: &Path, record: &RunRecord, ui: Ui) -> Result<(), Refusal> {
    let console = Console::new(ui);
    let kept = keep::make_folder(folder)?;
    let json = serde_json::to_string_pretty(record).expect("plain data is always JSON");
    kept.write("run.json", json.as_bytes(), &console.control())?;
    let subject = Subject::Run(record);
    let html = subject.render(Format::Html, &made_now(&subject))?;
    let page = kept.write("report.html", html.as_bytes(), &console.control())?;
    ui.note(&format!("report: {}", page.display()));
    Ok(())
}
