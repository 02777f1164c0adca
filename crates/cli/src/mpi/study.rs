//! `drivelab-mpi study`: an experiment whose runs are made by all hosts together.

use clap::Args;
use drivelab_study::file::NamedWorkload;
use drivelab_study::ranks::{Crew, Followed, Ranks as _, Terms, follow, lead};
use drivelab_study::{Arm, Asked, Choices, StageName, StudyFile};
use serde::{Deserialize, Serialize};

use super::line::{WaitArgs, command_of_rank, of_rank};
use super::ranks::Mpi;
use crate::commands::study::place::{AnyStage, Executor, Wanted};
use crate::commands::study::{StudyArgs, run_at};
use crate::exit::{Exit, Outcome};
use crate::ui::{self, Ui};
use drivelab_core::Refusal;
use drivelab_lab::interrupt;
use drivelab_lab::stage::{self, DriveKeys, Hardware};

/// Run an experiment from all hosts at the same time and print its verdict.
///
/// Each run is made by all ranks, begun at one instant; its figures are those of all together, and
/// each host is compared with itself, too. Rank 0 reads the study, and keeps the runs and the
/// result: --resume continues what was interrupted, or lost a rank. {rank} and {host} in targets,
/// and in the commands of arms, become the number of each rank and the name of its host.
#[derive(Debug, Args)]
pub(super) struct HostsStudyArgs {
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Carries it out: rank 0 leads.
pub(super) fn run(arguments: &HostsStudyArgs, ui: Ui) -> Outcome {
    let mpi = Mpi::start()?;
    let terms = arguments.wait.terms();
    let mut crew = Crew::new(&mpi, terms.patience);
    let (outcome, is_whole) = if mpi.rank() == 0 {
        let mut hosts = Hosts { crew: &mut crew, terms: &terms };
        let outcome = run_at(&arguments.study, &mut hosts, ui);
        crew.dismiss();
        (outcome, true)
    } else {
        followed(&mut crew, &terms)
    };
    let may_finish = is_whole && crew.part();
    if !may_finish {
        mpi.abandon();
    }
    match outcome {
        // Another rank is gone.
        Ok(Exit::Done) if !may_finish => Ok(Exit::HostsLost),
        outcome => outcome,
    }
}

/// The end of a rank that follows, and true if rank 0 is still present.
fn followed(crew: &mut Crew<'_, Mpi>, terms: &Terms) -> (Outcome, bool) {
    let rank = crew.rank();
    let followed = follow(crew, terms, |order| {
        let order: Order = serde_json::from_str(order).map_err(|error| {
            Refusal::machine_error(error)
                .hint("start all ranks with the same version of drivelab-mpi")
        })?;
        order.hardware(rank, &terms.host)
    });
    match followed {
        _ if interrupt::requested() => (Ok(Exit::Interrupted), false),
        Ok(Followed::Alone) => (Ok(Exit::HostsLost), false),
        Ok(Followed::ToTheEnd) => (Ok(Exit::Done), true),
        Err(failure) => (Err(failure), true),
    }
}

/// All ranks, as rank 0 leads them.
struct Hosts<'a, 'b> {
    crew: &'a mut Crew<'b, Mpi>,
    terms: &'a Terms,
}

impl Executor for Hosts<'_, '_> {
    fn ranks(&self) -> Option<u32> {
        Some(self.crew.size())
    }

    fn stage(&mut self, wanted: Wanted<'_>) -> Result<AnyStage<'_>, Refusal> {
        refuse_others(&wanted)?;
        let order = Order {
            text: wanted.text.to_owned(),
            blocks: wanted.study.blocks,
            seed: wanted.study.seed,
            asked: wanted.asked.clone(),
        };
        let text = serde_json::to_string(&order).expect("plain data is always JSON");
        let terms = self.terms;
        let leader = lead(self.crew, terms, text, || order.hardware(0, &terms.host))?;
        Ok(Box::new(leader))
    }
}

/// The data from which each rank makes its stage.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The study file.
    text: String,
    blocks: u32,
    seed: u64,
    /// The command line of rank 0.
    asked: Asked,
}

impl Order {
    /// The stage of one rank.
    fn hardware(&self, rank: u32, host: &str) -> Result<Hardware, Refusal> {
        let mut study = StudyFile::parse(&self.asked.study, &self.text, &DriveKeys)?;
        study.choose(Choices {
            stage: Some(StageName::Hardware),
            blocks: Some(self.blocks),
            seed: Some(self.seed),
            only: &self.asked.only,
            drive: self.asked.drive.as_deref(),
            ..Choices::default()
        })?;
        let own = |name: &mut String| *name = of_rank(name, rank, host);
        for Arm { targets, apply, revert, check, .. } in &mut study.arms {
            targets.iter_mut().for_each(own);
            for command in [apply, revert, check].into_iter().flatten() {
                *command = command_of_rank(command, rank, host)?;
            }
        }
        let mut asked = self.asked.clone();
        [&mut asked.target, &mut asked.path].into_iter().flatten().for_each(own);
        asked.paths.iter_mut().for_each(own);
        stage::hardware(&study, &asked, ui::confirm)
    }
}

/// Refuses what only one host can do.
fn refuse_others(wanted: &Wanted<'_>) -> Result<(), Refusal> {
    let study = &wanted.study;
    if study.stage != StageName::Hardware {
        let message = format!("stage {} runs on one machine, not on many hosts", study.stage);
        return Err(Refusal::request(message)
            .hint("measure real files or devices: --stage hardware --target FILE")
            .hint("many simulations on many hosts are a sweep: drivelab-mpi sweep FILE"));
    }
    if study.matrix.is_some() {
        return Err(Refusal::request("a matrix of cells is measured from one host")
            .hint("measure it there: drivelab study FILE")
            .hint("or give the study workloads with `rw`"));
    }
    let is_load = |named: &&NamedWorkload| named.work.load().is_some();
    if let Some(other) = study.workloads.iter().find(|named| !is_load(named)) {
        let message =
            format!("workload `{}` is not a load, so hosts cannot begin it together", other.name);
        return Err(Refusal::request(message)
            .hint("choose workloads with `rw`: --only W,...")
            .hint("or measure from one host: drivelab study FILE"));
    }
    if let Some(arm) = study.arms.iter().find(|arm| arm.manual.is_some()) {
        let message =
            format!("arm `{}` is put in place by hand, which no rank can ask for", arm.name);
        return Err(Refusal::request(message)
            .hint("give the arm commands that every host can run: `apply` and `revert`"));
    }
    match wanted.set_up {
        None => Ok(()),
        Some(_) => Err(Refusal::request("--in-place is for arms that are put in place by hand")
            .hint("omit --in-place")),
    }
}

#[cfg(test)]
mod tests {
    use drivelab_study::embedded;

    use super::*;

    const LOAD: &str = "title = \"Does it matter?\"\n\
                        primary = \"read.iops\"\n\
                        stage = \"hardware\"\n\
                        [[arm]]\n\
                        name = \"one\"\n\
                        [[arm]]\n\
                        name = \"two\"\n\
                        [[workload]]\n\
                        name = \"read\"\n\
                        rw = \"randread\"\n";

    #[test]
    fn what_hosts_cannot_do_together_is_refused() {
        let check = |text: &str, stage: StageName, refused: Option<&str>| {
            let mut study = StudyFile::parse("s.toml", text, &DriveKeys).unwrap();
            study.stage = stage;
            let asked = Asked::default();
            let wanted = Wanted { study: &mut study, text, asked: &asked, set_up: None };
            let said = refuse_others(&wanted).err().map(|failure| failure.to_string());
            assert_eq!(said.as_deref(), refused);
        };
        let on_disk = StageName::Hardware;
        check(LOAD, on_disk, None);
        let virtual_time = "stage simulate runs on one machine, not on many hosts";
        check(LOAD, StageName::Simulate, Some(virtual_time));
        let matrix = embedded::text("two-controllers").unwrap();
        check(matrix, on_disk, Some("a matrix of cells is measured from one host"));
        let by_hand = LOAD.replace("\"two\"\n", "\"two\"\nmanual = \"swap cables\"\n");
        let why = "arm `two` is put in place by hand, which no rank can ask for";
        check(&by_hand, on_disk, Some(why));
        let command =
            "command = \"dd\"\nmetrics = { s = { regex = \"(.+) s\", better = \"less\" } }";
        let command = LOAD.replace("rw = \"randread\"", command).replace("read.iops", "read.s");
        let why = "workload `read` is not a load, so hosts cannot begin it together";
        check(&command, on_disk, Some(why));
    }
}
