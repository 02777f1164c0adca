//! A study of all ranks, as rank 0 orders it.

use drivelab_core::Refusal;
use drivelab_core::StageName;
use drivelab_study::file::NamedWorkload;
use drivelab_study::{Arm, Asked, Choices, StudyFile};
use serde::{Deserialize, Serialize};

use super::names::{command_of_rank, of_rank};
use crate::stage::{self, Confirm, DriveKeys, Hardware};

/// The data from which each rank makes its stage.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    text: String,
    blocks: u32,
    seed: u64,
    /// The command line of rank 0.
    asked: Asked,
}

impl Order {
    /// The order of rank 0 for a study whose file has this text.
    ///
    /// # Errors
    /// The study needs what only one host can do.
    pub fn new(
        study: &StudyFile,
        text: &str,
        asked: &Asked,
        set_up: Option<&str>,
    ) -> Result<Self, Refusal> {
        refuse_others(study, set_up)?;
        let (text, asked) = (text.to_owned(), asked.clone());
        Ok(Self { text, blocks: study.blocks, seed: study.seed, asked })
    }

    /// The stage of one rank.
    pub fn hardware(&self, rank: u32, host: &str, confirm: Confirm) -> Result<Hardware, Refusal> {
        let mut study = StudyFile::parse(&self.asked.study, &self.text, &DriveKeys)?;
        study.choose(Choices {
            stage: Some(StageName::Hardware),
            blocks: Some(self.blocks),
            seed: Some(self.seed),
            only: &self.asked.only,
            drive: self.asked.drive.as_deref(),
            scale: self.asked.scale,
            ..Choices::default()
        })?;
        let own = |name: &mut String| *name = of_rank(name, rank, host);
        for Arm { targets, apply, revert, check, .. } in &mut study.arms {
            targets.iter_mut().for_each(own);
            for command in [apply, revert, check].into_iter().flatten() {
                *command = command_of_rank(command, rank, host)?;
            }
        }
        // The paths of rank 0 are names with the same placeholders.
        let mut asked = self.asked.clone();
        [&mut asked.target, &mut asked.path].into_iter().flatten().for_each(own);
        asked.paths.iter_mut().for_each(own);
        stage::hardware(&study, &asked, confirm)
    }
}

/// Refuses what only one host can do.
fn refuse_others(study: &StudyFile, set_up: Option<&str>) -> Result<(), Refusal> {
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
    match set_up {
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
            let said = refuse_others(&study, None).err().map(|failure| failure.to_string());
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
