//! `run --suite`: tests one after the other, each a phase.

use std::path::Path;

use clap::Args;
use drivelab_core::Refusal;
use drivelab_core::recipe::Adjust;
use drivelab_core::record::RunRecord;
use drivelab_lab::stage::suite;
use drivelab_report::publish::{Format, Subject};
use drivelab_report::text::outline;
use drivelab_study::file::Suite;
use drivelab_study::keep;

use super::workload::{self, WorkloadArgs};
use crate::commands::completion::{self, Offer};
use crate::exit::Outcome;
use crate::output::made_now;
use crate::ui::{Console, Ui};

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

/// The name that lists the suites of files.
const HELP: &str = "help";

impl SuiteArgs {
    /// True if the list of suites is all that is asked for.
    pub(super) fn is_help(&self) -> bool {
        self.suite.as_deref() == Some(HELP)
    }

    /// The suite with its options, and those of the workload that a suite takes too.
    pub(super) fn find(self, workload: &WorkloadArgs) -> Result<Suite, Refusal> {
        let name = self.suite.as_deref().unwrap_or_default();
        let is_timed = workload.is_typed("runtime");
        if suite::is_of_files(name) {
            let has_loops = self.loops.is_some() || self.pause.is_some() || is_timed;
            return suite::of_files_typed(name, workload.0.size, has_loops);
        }
        if self.loops == Some(0) {
            return Err(Refusal::request("`--loops 0` measures nothing").hint("give 1 or more"));
        }
        let adjust = Adjust {
            size: workload.0.size,
            runtime: workload.0.runtime.filter(|_| is_timed),
            loops: self.loops,
            pause: self.pause,
        };
        suite::find(name, &adjust)
    }
}

/// Lists the suites of files with their options.
pub(super) fn help(ui: Ui) -> Outcome {
    ui.result(&outline(&drivelab_suites::help(), ui.look()))
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
