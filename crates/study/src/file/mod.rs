//! A study file: the arms, their workloads, and the effect that would count as better.

mod arm;
mod command;
mod drives;
mod question;
mod quick;
mod stage;
mod suite;
#[cfg(test)]
pub(crate) mod tests;
mod vocabulary;
mod workload;

pub use arm::Arm;
pub(crate) use drives::disk::name_and_port;
pub use drives::disk::{DISKS_MAX, Disk};
pub use quick::quick;
pub use stage::choose::{Choices, SPECIMENS_MIN};
pub use suite::{Needs, Suite};
pub use vocabulary::{Setting, Settings, Vocabulary};
pub use workload::{Curve, NamedWorkload, Work};

use drivelab_core::Refusal;
use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cell, Matrix, Named};
use drivelab_core::plan::Scale;
use drivelab_core::question::{ContrastInfo, Finding, Interaction};
use drivelab_core::units::Ratio;

use crate::command::{Command, Filling, Template};
use crate::metric;
use crate::stage::Task;
use drivelab_core::StageName;
use drives::disk::{self, Drives};
use drives::matrix;
use question::{Names, Restated};
use stage::variant;
use stage::{Override, Stages};
use workload::LISTED_MAX;

/// A study, as its file states it.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct StudyFile {
    /// The question.
    pub title: String,
    /// The published comparison that it repeats, as `show article:N` numbers them.
    pub article: Option<u32>,
    /// `workload.metric`.
    pub primary: String,
    /// The arm that the overall verdict is about, by index.
    pub candidate: usize,
    /// The smallest effect worth acting on.
    pub margin: Ratio,
    /// Number of blocks: each arm is measured once in each.
    pub blocks: u32,
    /// True if each block is made on a separate specimen of the drive.
    pub draws_specimens: bool,
    /// True if each run is made twice and compared.
    pub checks_determinism: bool,
    /// Seed of all random choices.
    pub seed: u64,
    /// The stage of its runs.
    pub stage: StageName,
    /// True if the file names the stage.
    pub is_stage_named: bool,
    /// The modelled drive of every arm that names none.
    pub drive: Option<String>,
    /// Settings that all arms share.
    pub base: Settings,
    /// The disks of a guest, the first one included; empty for a study of one drive.
    pub disks: Vec<Disk>,
    /// The configurations; the first is the baseline.
    pub arms: Vec<Arm>,
    /// The work of each arm.
    pub workloads: Vec<NamedWorkload>,
    /// Pairs of arms that isolate one cause.
    pub contrasts: Vec<ContrastInfo>,
    /// Factors whose interaction is reported.
    pub interactions: Vec<Interaction>,
    /// Claims that the figures are compared with.
    pub findings: Vec<Finding>,
    /// The title asks for a gain, so that "yes" or "no" answers it.
    pub asks_gain: bool,
    /// Remarks for a reader of the result.
    pub notes: Vec<String>,
    /// A picture in addition to the comparison.
    pub curve: Option<Curve>,
    /// The factors that the arms are meant to differ in, where the file names them; else those that
    /// they set.
    pub factors: Vec<String>,
    /// The matrix that arms go through instead of workloads.
    pub matrix: Option<Matrix>,
    /// The cells of that matrix, as [`Task::Cell`] counts them.
    pub cells: Vec<Cell>,
    overrides: Vec<Override>,
    /// Findings that differ at some stage.
    restated: Vec<Restated>,
    /// The file states the number of blocks at this stage.
    has_own_blocks: bool,
    /// Blocks and specimens given on the command line.
    asked: (Option<u32>, Option<u32>),
    /// The scale of its work, where some of that has a full one.
    pub scale: Option<Scale>,
    /// The names of workloads that have a full scale.
    scaled: Vec<String>,
    /// The study with the tables of a stage, and at full scale.
    variants: Vec<Variant>,
}

/// A study with the tables of a stage, or at full scale.
#[derive(Debug, Clone)]
struct Variant {
    /// The stage whose tables it has; none for the file's.
    stage: Option<StageName>,
    scale: Scale,
    study: StudyFile,
}

/// The published comparisons that `show` knows are numbered from 0 to this.
const ARTICLE_LAST: u32 = 4;
/// More blocks than a user would wait for, and few enough to be planned at once.
const BLOCKS_MAX: u32 = 10_000;
/// More arms than any comparison has: each is one more chance of a wrong answer.
const ARMS_MAX: usize = 1000;
/// Most runs: of a second each they take twelve days.
const RUNS_MAX: usize = 1_000_000;

impl StudyFile {
    /// Reads the study in `text`; `name` stands in messages.
    ///
    /// # Errors
    /// The error, its line, and the text to write instead.
    pub fn parse(name: &str, text: &str, vocabulary: &dyn Vocabulary) -> Result<Self, ConfigError> {
        let mut top = Section::parse(name, text)?;
        if top.list::<String>("targets")?.is_some() {
            let wrong = format!("this is a matrix of real targets: drivelab run --matrix {name}");
            return Err(top.error(wrong));
        }
        let mut study = Self::vary_to(&top, vocabulary, (None, Scale::Stated))?;
        let mut variants = Vec::new();
        for stage in std::iter::once(None).chain(variant::stages(&top)?.into_iter().map(Some)) {
            let stated = match stage {
                None => study.clone(),
                Some(_) => Self::vary_to(&top, vocabulary, (stage, Scale::Stated))?,
            };
            if !stated.scaled.is_empty() {
                let full = Self::vary_to(&top, vocabulary, (stage, Scale::Full))?;
                variants.push(Variant { stage, scale: Scale::Full, study: full });
            }
            if stage.is_some() {
                variants.push(Variant { stage, scale: Scale::Stated, study: stated });
            }
        }
        study.variants = variants;
        Ok(study)
    }

    /// Reads the study with the tables of a stage, at a scale.
    fn vary_to(
        top: &Section,
        vocabulary: &dyn Vocabulary,
        (stage, scale): (Option<StageName>, Scale),
    ) -> Result<Self, ConfigError> {
        let mut top = top.clone();
        variant::at_stage(&mut top, stage)?;
        let scaled = variant::at_scale(&mut top, scale)?;
        let read = Self::read(top, vocabulary).map_err(|wrong| match stage {
            // What the file has for all stages was read before.
            Some(stage) => {
                let message = format!("[stage.{stage}]: {}", wrong.message);
                ConfigError { message, ..wrong }
            }
            None => wrong,
        });
        Ok(Self { scaled, ..read? })
    }

    /// Reads one variant of a study.
    fn read(mut top: Section, vocabulary: &dyn Vocabulary) -> Result<Self, ConfigError> {
        top.at_most("arm", ARMS_MAX)?;
        // Before anything is read, so that no file can take all memory.
        for list in ["workload", "contrast", "interaction", "finding", "notes"] {
            top.at_most(list, LISTED_MAX)?;
        }
        let Drives { drive, base, disks } = disk::drives(&mut top, vocabulary)?;
        let mut arms = arm::arms(&mut top, vocabulary)?;
        let candidate = match top.take::<String>("candidate")? {
            // The baseline is listed first, and the candidate last.
            None => arms.len() - 1,
            Some(name) => arm::arm_named(&top, &arms, &name)?,
        };
        let title: String = top.require("title")?;
        let (blocks, seed) = (top.take("blocks")?.unwrap_or(10), top.take("seed")?.unwrap_or(1));
        let Stages { default, overrides } = stage::stages(&mut top)?;
        let (targets, cursors) = (Vec::new(), Vec::new());
        let named = Named { title: title.clone(), targets, blocks, seed, cursors };
        let matrix = matrix::matrix(&mut top, named, &base, &mut arms)?;
        disk::check(&top, &disks, &arms, matrix.is_some())?;
        let mut study = Self {
            title,
            article: article(&mut top)?,
            primary: top.require("primary")?,
            candidate,
            margin: margin(&mut top)?,
            blocks,
            draws_specimens: false,
            checks_determinism: false,
            seed,
            stage: default.unwrap_or(StageName::Simulate),
            is_stage_named: default.is_some(),
            drive,
            base,
            disks,
            workloads: workload::workloads(&mut top, vocabulary, matrix.is_some())?,
            contrasts: question::contrasts(&mut top, &arms)?,
            interactions: question::interactions(&mut top, &arms)?,
            findings: Vec::new(),
            asks_gain: question::asks_gain(&mut top)?,
            notes: top.list("notes")?.unwrap_or_default(),
            curve: workload::curve(&mut top)?,
            factors: question::factors(&mut top)?,
            arms,
            cells: matrix.as_ref().map(Matrix::cells).unwrap_or_default(),
            matrix,
            overrides,
            restated: Vec::new(),
            has_own_blocks: false,
            asked: (None, None),
            scale: None,
            scaled: Vec::new(),
            variants: Vec::new(),
        };
        study.check(&mut top)?;
        top.finish()?;
        Ok(study)
    }

    /// The study of a matrix file: real targets and a single arm, so that there is no verdict.
    pub fn of_matrix(matrix: Matrix) -> Self {
        Self {
            title: matrix.title.clone(),
            blocks: matrix.blocks,
            seed: matrix.seed,
            stage: StageName::Hardware,
            is_stage_named: true,
            arms: vec![Arm::default()],
            cells: matrix.cells(),
            matrix: Some(matrix),
            ..Self::default()
        }
    }

    /// True if it is [that of a matrix file](Self::of_matrix).
    pub fn is_matrix_alone(&self) -> bool {
        self.arms.len() == 1
    }

    /// True if the file has a table for a stage.
    pub fn is_made_for(&self, stage: StageName) -> bool {
        self.overrides.iter().any(|own| own.stage == stage)
            || self.variants.iter().any(|own| own.stage == Some(stage))
    }

    /// The subjects of figures: the workloads, or the groups of the matrix's cells.
    fn names(&self) -> Vec<String> {
        let groups = self.matrix.iter().flat_map(Matrix::groups);
        let workloads = self.workloads.iter().map(|known| known.name.clone());
        workloads.chain(groups.map(|group| group.name())).collect()
    }

    /// The work of a run; in each thread, where there are several.
    pub fn work(&self, task: Task) -> Work {
        let load = match task {
            Task::Workload(index) => return self.workloads[index].work.clone(),
            Task::Curve(index) => {
                self.curve.as_ref().expect("its points are runs").depths[index].1.clone()
            }
            Task::Cell(index) => {
                let matrix = self.matrix.as_ref().expect("its cells are runs");
                self.cells[index].workload(matrix).expect("every cell was tried")
            }
        };
        Work::Load(Box::new(load))
    }

    /// The name of a task.
    pub fn task_name(&self, task: Task) -> String {
        match task {
            Task::Workload(index) => self.workloads.get(index).map(|named| named.name.clone()),
            Task::Curve(index) => {
                let depths = self.curve.as_ref().map(|curve| &curve.depths);
                depths
                    .and_then(|depths| depths.get(index))
                    .map(|(depth, _)| format!("depth {depth}"))
            }
            Task::Cell(index) => self.cells.get(index).map(|_| format!("cell {}", index + 1)),
        }
        .unwrap_or_default()
    }

    /// The metrics of a task that the study names: without them a run is worth nothing.
    pub fn wanted(&self, task: Task) -> Vec<String> {
        let Task::Workload(index) = task else { return Vec::new() };
        let (names, own) = (self.names(), &self.workloads[index].name);
        let figures = self.findings.iter().flat_map(|finding| question::named(finding, &names));
        let all: Vec<String> = std::iter::once(self.primary.clone()).chain(figures).collect();
        let of_task = all.iter().filter_map(|text| metric::split(text, &names));
        let of_task = of_task.filter(|(workload, _)| workload == own);
        of_task.map(|(_, metric)| metric.to_owned()).collect()
    }

    /// The metric of a workload that is shown first: the one that decides, where it is of a command
    /// or a suite, which have many.
    pub fn headline(&self, workload: &NamedWorkload) -> String {
        match metric::split(&self.primary, &self.names()) {
            Some((name, metric))
                if name == workload.name && !matches!(workload.work, Work::Load(_)) =>
            {
                metric.to_owned()
            }
            _ => workload.work.headline(),
        }
    }

    /// True if some run needs a file or device to measure.
    pub fn needs_target(&self) -> bool {
        let own = self.arms.iter().filter_map(|arm| arm.command.as_ref());
        self.curve.is_some()
            || self.matrix.is_some()
            || self.workloads.iter().any(|named| named.work.needs_target())
            || own.into_iter().any(Template::has_target)
    }

    /// True if every workload is a command, which no modelled drive in virtual time can run.
    pub fn is_of_commands(&self) -> bool {
        let commands = self.workloads.iter().filter(|named| named.work.command().is_some());
        !self.workloads.is_empty() && commands.count() == self.workloads.len()
    }

    /// The error in the number of its runs.
    fn too_many(&self) -> Option<String> {
        if let Some(wrong) = self.matrix.as_ref().and_then(Matrix::too_large) {
            return Some(wrong);
        }
        let depths = self.curve.as_ref().map_or(0, |curve| curve.depths.len());
        let each = self.arms.len() * (self.workloads.len() + depths + self.cells.len());
        let runs = each.saturating_mul(self.blocks as usize);
        (runs > RUNS_MAX)
            .then(|| format!("arms, workloads and `blocks` make {runs} runs; at most {RUNS_MAX}"))
    }

    /// Checks the constraints between several keys, and takes the findings, which name the rest.
    fn check(&mut self, top: &mut Section) -> Result<(), ConfigError> {
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return Err(top.error(format!("`blocks` must be from 1 to {BLOCKS_MAX}")));
        }
        if let Some(wrong) = self.too_many() {
            return Err(top.error(wrong));
        }
        if self.margin == Ratio::ZERO || self.margin >= Ratio::ONE {
            let wrong =
                "`margin` must lie between 0 and 100 %: no effect of size 0 can be excluded";
            return Err(top.error(wrong));
        }
        self.check_commands(top)?;
        let workloads = self.names();
        let by_workload = self.metrics();
        let names = Names { arms: &self.arms, workloads: &workloads, metrics: &by_workload };
        names.check_metric("primary", &self.primary).map_err(|wrong| top.error(wrong))?;
        for own in &self.overrides {
            let (name, mut primary) = (own.stage, own.primary.iter());
            let checked = primary.try_for_each(|text| names.check_metric("primary", text));
            checked.map_err(|wrong| top.error(format!("[stage.{name}]: {wrong}")))?;
        }
        (self.findings, self.restated) = question::findings(top, &names)?;
        for own in &self.overrides {
            // On a copy: every stage is tried here, and none is chosen yet.
            let mut tried = self.clone();
            let name = own.stage;
            tried.restate(name);
            let applied = tried.apply(own);
            applied.map_err(|wrong| top.error(format!("[stage.{name}]: {wrong}")))?;
            if !(1..=BLOCKS_MAX).contains(&tried.blocks) {
                let wrong = format!("[stage.{name}]: `blocks` must be from 1 to {BLOCKS_MAX}");
                return Err(top.error(wrong));
            }
        }
        Ok(())
    }

    /// The metrics of each of [`Self::names`]; `None` where only a run has them.
    fn metrics(&self) -> Vec<Option<Vec<String>>> {
        let mut metrics: Vec<Option<Vec<String>>> =
            self.workloads.iter().map(|named| named.work.metrics()).collect();
        if let Some(matrix) = &self.matrix {
            let names: Vec<String> = metric::of_cells(matrix).map(str::to_owned).collect();
            metrics.extend(vec![Some(names); matrix.groups().len()]);
        }
        metrics
    }

    /// Checks that arms have commands exactly where workloads use them.
    fn check_commands(&self, top: &Section) -> Result<(), ConfigError> {
        let commands = self.workloads.iter().filter_map(|named| named.work.command());
        let takes = commands.flat_map(Command::templates).any(Template::has_own);
        let wrong = self.arms.iter().find(|arm| arm.command.is_some() != takes);
        if let Some(Arm { name, .. }) = wrong {
            return Err(top.error(if takes {
                format!("a workload runs `{{command}}`, but arm `{name}` has no `command`")
            } else {
                format!(
                    "no workload runs the command of arm `{name}`: add a `[[workload]]` with \
        `command = \"{{command}}\"`"
                )
            }));
        }
        for (named, arm) in
            self.workloads.iter().flat_map(|named| self.arms.iter().map(move |arm| (named, arm)))
        {
            let own = arm.command.as_ref();
            let filling = Filling { arm: &arm.name, command: own, ..Filling::default() };
            for template in named.work.command().into_iter().flat_map(Command::templates) {
                if own.is_some_and(|own| template.swallows(own)) {
                    return Err(top.error(format!(
                        "the command of arm `{}` ends within quotes, a comment or a here-document, \
                         so the rest of `{template}` would be part of that",
                        arm.name
                    )));
                }
                let filled = template.fill(&filling).map(drop);
                filled.map_err(|Refusal { message, hints, .. }| {
                    let wrong = top.error(format!("workload `{}`: {message}", named.name));
                    ConfigError { hint: hints.into_iter().next(), ..wrong }
                })?;
            }
        }
        Ok(())
    }
}

/// `article = 3`.
fn article(top: &mut Section) -> Result<Option<u32>, ConfigError> {
    match top.take::<u32>("article")? {
        Some(number) if number > ARTICLE_LAST => {
            Err(top.error(format!("`article` must be from 0 to {ARTICLE_LAST}")))
        }
        article => Ok(article),
    }
}

fn margin(top: &mut Section) -> Result<Ratio, ConfigError> {
    Ok(top.take("margin")?.unwrap_or(Ratio::percent(3)))
}
