//! `drivelab-mpi study`: an experiment whose runs are made by all hosts together.

use clap::Args;
use drivelab_core::Refusal;
use drivelab_lab::interrupt;
use drivelab_lab::mpi::{Mpi, Order};
use drivelab_study::ranks::{Crew, Followed, Ranks as _, Terms, follow, lead};

use super::line::WaitArgs;
use crate::commands::study::executor::{AnyStage, Executor, Wanted};
use crate::commands::study::{StudyArgs, run_at};
use crate::exit::{Exit, Outcome};
use crate::ui::{self, Ui};

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
        order.hardware(rank, &terms.host, ui::confirm)
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
        let order = Order::new(wanted.study, wanted.text, wanted.asked, wanted.set_up)?;
        let text = serde_json::to_string(&order).expect("plain data is always JSON");
        let terms = self.terms;
        let leader = lead(self.crew, terms, text, || order.hardware(0, &terms.host, ui::confirm))?;
        Ok(Box::new(leader))
    }
}
