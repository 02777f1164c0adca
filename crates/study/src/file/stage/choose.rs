//! The choices that the command line and the stage make in a study.

use drivelab_core::config::nearest;
use drivelab_core::plan::Scale;
use drivelab_core::{Invalid, Refusal, StageName};

use super::Override;
use crate::file::{BLOCKS_MAX, StudyFile, Variant};
use crate::metric;

/// Choices of the command line that override the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choices<'a> {
    /// The stage.
    pub stage: Option<StageName>,
    /// The number of blocks.
    pub blocks: Option<u32>,
    /// The number of specimens drawn of the drives that fit a profile, one for each block; 1 for
    /// the median drive in all blocks.
    pub specimens: Option<u32>,
    /// Seed of all random choices.
    pub seed: Option<u64>,
    /// The only workloads; all where empty.
    pub only: &'a [String],
    /// The modelled drive of every arm.
    pub drive: Option<&'a str>,
    /// Makes each run twice, and ends where the second differs.
    pub check_determinism: bool,
    /// The scale of its work.
    pub scale: Scale,
}

fn no_full_scale(stage: StageName) -> Refusal {
    let message = format!("--scale full: no workload of stage {stage} has a `full` in this study");
    Refusal::request(message)
        .hint("omit --scale: the study has one size of its work at this stage")
        .hint("or give a workload its full size: `full = { size = \"4G\" }`")
}

/// The fewest blocks that show how drives differ: the 2.5th and the 97.5th of 100 drives lie 2.1
/// deviations of twenty apart from their mean, 2.3 of ten.
pub const SPECIMENS_MIN: u32 = 20;

impl StudyFile {
    /// Applies the overrides of its stage, and then the choices of the command line. It is called
    /// once.
    ///
    /// # Errors
    /// The command line names a thing that the study does not have, or too much.
    pub fn choose(&mut self, choices: Choices<'_>) -> Result<(), Refusal> {
        let stage = choices.stage.unwrap_or(self.stage);
        self.vary(stage, choices.scale)?;
        self.stage = stage;
        // Before `apply`, which may drop findings together with their workloads.
        self.restate(self.stage);
        if let Some(own) = self.overrides.iter().find(|own| own.stage == self.stage).cloned() {
            self.apply(&own).expect("every stage was tried when the file was read");
        }
        self.seed = choices.seed.unwrap_or(self.seed);
        if let Some(drive) = choices.drive {
            self.model(drive)?;
        }
        self.blocks = choices.blocks.unwrap_or(self.blocks);
        self.asked = (choices.blocks, choices.specimens);
        self.check_specimens()?;
        self.checks_determinism = choices.check_determinism;
        if self.checks_determinism && (!self.stage.is_virtual() || self.matrix.is_some()) {
            let what = if self.matrix.is_some() { "a matrix" } else { "a run in real time" };
            return Err(Refusal::request(format!("--check-determinism: {what} is not made twice"))
                .hint("it checks the workloads of stages simulate and kernel"));
        }
        if !choices.only.is_empty() {
            self.keep_only(choices.only)
                .map_err(|(wrong, hint)| Refusal::request(format!("--only: {wrong}")).hint(hint))?;
            // A curve is none of the workloads that were named.
            self.curve = None;
        }
        self.settle_scale(choices.scale)?;
        if let Some(matrix) = &mut self.matrix {
            (matrix.blocks, matrix.seed) = (self.blocks, self.seed);
        }
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            let wrong = format!("`--blocks` must be from 1 to {BLOCKS_MAX}");
            return Err(Refusal::request(wrong).hint("a verdict needs six: give `--blocks 6`"));
        }
        match self.too_many() {
            Some(wrong) => Err(Refusal::request(wrong).hint("lower `--blocks`")),
            None => Ok(()),
        }
    }

    /// True if some of its work at a stage has a full scale.
    pub fn has_full(&self, stage: StageName) -> bool {
        let choices = Choices { stage: Some(stage), scale: Scale::Full, ..Choices::default() };
        self.clone().choose(choices).is_ok()
    }

    /// Becomes the variant of a stage and a scale.
    fn vary(&mut self, stage: StageName, scale: Scale) -> Result<(), Refusal> {
        let own = self.variants.iter().any(|it| it.stage == Some(stage)).then_some(stage);
        if own.is_none() && scale == Scale::Stated {
            return Ok(());
        }
        let mut variants = std::mem::take(&mut self.variants).into_iter();
        let Some(Variant { study, .. }) = variants.find(|it| (it.stage, it.scale) == (own, scale))
        else {
            return Err(no_full_scale(stage));
        };
        *self = study;
        Ok(())
    }

    /// Records the scale of what is left of the work.
    fn settle_scale(&mut self, scale: Scale) -> Result<(), Refusal> {
        let is_scaled = self.workloads.iter().any(|it| self.scaled.contains(&it.name));
        self.scale = is_scaled.then_some(scale);
        if scale == Scale::Full && !is_scaled { Err(no_full_scale(self.stage)) } else { Ok(()) }
    }

    /// Models another drive in every arm.
    fn model(&mut self, drive: &str) -> Result<(), Refusal> {
        if self.stage == StageName::Hardware {
            let message = "--drive: stage hardware measures a real drive and models none";
            return Err(Refusal::request(message).hint("omit --drive, or add --stage simulate"));
        }
        if let Some(arm) = self.arms.iter().find(|arm| arm.drive.is_some()) {
            let message = format!("--drive: arm `{}` names a drive of its own", arm.name);
            return Err(Refusal::request(message)
                .hint("this study compares drives: change them in a copy of its file"));
        }
        if self.disks.len() > 1 {
            let message = "--drive: this study has several disks, each with a drive";
            return Err(Refusal::request(message).hint("change them in a copy of its file"));
        }
        self.drive = Some(drive.to_owned());
        Ok(())
    }

    /// Refuses values that `--specimens` cannot have.
    fn check_specimens(&self) -> Result<(), Refusal> {
        let (blocks, Some(specimens)) = self.asked else { return Ok(()) };
        if !self.stage.is_virtual() {
            let wrong = format!("stage {} runs on one drive, not on specimens", self.stage);
            return Err(Refusal::request(wrong).hint("omit `--specimens`"));
        }
        if !(1..=BLOCKS_MAX).contains(&specimens) {
            let wrong = format!("`--specimens` must be from 1 to {BLOCKS_MAX}");
            return Err(Refusal::request(wrong)
                .hint("give `--specimens 20` for twenty drives, 1 for the median drive"));
        }
        match blocks {
            Some(blocks) if specimens > 1 && blocks != specimens => Err(Refusal::request(format!(
                "`--blocks {blocks}` and `--specimens {specimens}` contradict each other: each \
                 block is one specimen"
            ))
            .hint("give one of them")),
            _ => Ok(()),
        }
    }

    /// Settles its blocks once the drives are known: where a profile leaves numbers open, each
    /// block is made on another specimen, of which there are [`SPECIMENS_MIN`] unless the command
    /// line states a number. A matrix draws them only where requested: it makes hundreds of runs a
    /// block.
    ///
    /// # Errors
    /// There are too many runs.
    pub fn settle_blocks(&mut self, leaves_open: bool) -> Result<(), Refusal> {
        let (blocks, specimens) = self.asked;
        let draws = specimens.map_or(self.matrix.is_none(), |specimens| specimens > 1);
        self.draws_specimens = self.stage.is_virtual() && leaves_open && draws;
        self.blocks = match (blocks, specimens) {
            (None, Some(specimens)) if specimens > 1 => specimens,
            (None, None) if self.draws_specimens && !self.has_own_blocks => {
                // Each block is another drive, and few drives say little about all of them.
                self.blocks.max(SPECIMENS_MIN)
            }
            _ => self.blocks,
        };
        if let Some(matrix) = &mut self.matrix {
            matrix.blocks = self.blocks;
        }
        match self.too_many() {
            Some(wrong) => Err(Refusal::request(wrong).hint("lower `--blocks`")),
            None => Ok(()),
        }
    }

    /// Leaves every workload out that is not named.
    pub(in crate::file) fn keep_only(&mut self, names: &[String]) -> Result<(), (String, String)> {
        let known = self.names();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name one or several of them, separated by commas".to_owned(),
            };
            let known = known.join("`, `");
            return Err((format!("there is no workload `{name}`; there are `{known}`"), hint));
        }
        let all: Vec<String> = known.iter().map(ToString::to_string).collect();
        let primary = metric::split(&self.primary, &all).map_or("", |(workload, _)| workload);
        if !names.iter().any(|name| name == primary) {
            let rests = format!(
                "`{primary}` must be among the workloads: the verdict rests on `{}`",
                self.primary
            );
            return Err((rests, format!("name it, too: `{primary},{}`", names.join(","))));
        }
        self.findings.retain(|finding| {
            let of = finding.figure.split_once(" of ").map_or("", |(of, _)| of);
            let workload = metric::split(of, &all).map_or("", |(workload, _)| workload);
            // A finding without a figure is a claim that no workload can answer: it stays.
            finding.figure.is_empty() || names.iter().any(|name| name == workload)
        });
        self.workloads.retain(|workload| names.contains(&workload.name));
        if let Some(matrix) = &mut self.matrix {
            matrix.only = matrix.groups();
            matrix.only.retain(|group| names.contains(&group.name()));
            self.cells = matrix.cells();
        }
        Ok(())
    }

    /// Replaces the findings that differ at a stage.
    pub(in crate::file) fn restate(&mut self, stage: StageName) {
        for (_, there) in self.restated.iter().filter(|(at, _)| *at == stage) {
            let known = self.findings.iter_mut().find(|known| known.name == there.name);
            *known.expect("its table has both") = there.clone();
        }
    }

    /// Applies the overrides of a stage.
    pub(in crate::file) fn apply(&mut self, own: &Override) -> Result<(), Invalid> {
        if let Some(primary) = &own.primary {
            self.primary.clone_from(primary);
        }
        if let Some(names) = &own.workloads {
            self.keep_only(names).map_err(|(wrong, _)| wrong)?;
        }
        if let Some(notes) = &own.notes {
            self.notes.clone_from(notes);
        }
        self.blocks = own.blocks.unwrap_or(self.blocks);
        self.has_own_blocks = own.blocks.is_some();
        self.curve = self.curve.take().filter(|_| own.curve);
        if let Some(matrix) = &mut self.matrix {
            matrix.runtime = own.times.runtime.unwrap_or(matrix.runtime);
            matrix.ramp_time = own.times.ramp_time.unwrap_or(matrix.ramp_time);
        }
        for workload in &mut self.workloads {
            workload.retime(own.times)?;
        }
        if let Some(curve) = &mut self.curve {
            curve.retime(own.times)?;
        }
        Ok(())
    }
}
