//! A study file: what is compared, under which work, and what would count as better.

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, ConfigError, Section};
use drivelab_core::matrix::Named;
use drivelab_core::units::Ratio;
use drivelab_core::workload::{Workload, WorkloadOptions};
use drivelab_engine::IoEngine;
use drivelab_model::spec::Options;
use drivelab_report::attachment;

use super::grid::GridFile;
use crate::failure::Failure;

/// Where a study runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Virtual time over a modelled drive.
    Simulate,
    /// A real kernel in virtual time.
    Kernel,
    /// A modelled drive served in real time.
    Emulate,
    /// A modelled drive behind a virtual machine's controller.
    Vm,
    /// A real file or device.
    Hardware,
}

impl Stage {
    /// The stage of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, stage)| *stage)
    }
}

impl Choice for Stage {
    const WHAT: &'static str = "stage";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("simulate", Self::Simulate),
        ("kernel", Self::Kernel),
        ("emulate", Self::Emulate),
        ("vm", Self::Vm),
        ("hardware", Self::Hardware),
    ];
}
choice_as_text!(Stage);

/// A study as its file says it.
#[derive(Debug, Clone)]
pub(crate) struct StudyFile {
    /// The question.
    pub(crate) title: String,
    /// `workload.metric`.
    pub(crate) primary: String,
    /// The arm that the overall verdict speaks of, by place.
    pub(crate) candidate: usize,
    pub(crate) margin: Ratio,
    pub(crate) blocks: u32,
    pub(crate) seed: u64,
    pub(crate) stage: Stage,
    /// Whether the file says where it runs.
    pub(crate) is_stage_named: bool,
    /// The modelled drive that all arms share; absent in a study of real hardware only.
    pub(crate) drive: Option<String>,
    /// Settings that all arms share.
    pub(crate) base: Options,
    pub(crate) arms: Vec<Arm>,
    pub(crate) workloads: Vec<NamedWorkload>,
    pub(crate) contrasts: Vec<Contrast>,
    /// What a reader of the result must know.
    pub(crate) notes: Vec<String>,
    pub(crate) curve: Option<Curve>,
    /// What the arms are meant to differ in, where that is said outright; else it is what they set.
    pub(crate) factors: Vec<String>,
    /// The title asks for a gain, so that "yes" or "no" answers it.
    pub(crate) asks_gain: bool,
    /// The matrix that arms go through instead of workloads.
    pub(crate) grid: Option<GridFile>,
}

/// The one thing that a title may ask for so that "yes" or "no" answers it.
fn asks_gain(text: &str) -> Result<bool, String> {
    let known = text == "gain";
    known.then_some(true).ok_or_else(|| format!("`{text}` is not `gain`"))
}

/// One configuration.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) summary: String,
    /// Settings of the modelled drive.
    pub(crate) options: Options,
    /// Command that puts the arm in place.
    pub(crate) apply: Option<String>,
    /// Command that undoes it.
    pub(crate) revert: Option<String>,
    /// What the user must do, where no command can.
    pub(crate) manual: Option<String>,
    /// What the user must do takes a reboot; else each time is taken for another by their word.
    pub(crate) reboot: bool,
    /// Command that succeeds only while the arm is in place.
    pub(crate) check: Option<String>,
    pub(crate) ioengine: Option<IoEngine>,
    pub(crate) direct: Option<bool>,
    /// What it costs, for findings on price and performance.
    pub(crate) price_usd: Option<f64>,
}

impl Arm {
    /// Whether it is put in place by hand and a reboot.
    pub(crate) fn takes_reboot(&self) -> bool {
        self.manual.is_some() && self.reboot
    }

    /// What is set for it, by factor: its settings, how it is run, and what its command or its
    /// instruction to the user speaks of.
    pub(crate) fn declares(&self) -> Vec<(String, String)> {
        let set = |(key, value): (&str, String)| (factor_of(key), value);
        let mut declares: Vec<(String, String)> =
            self.options.entries().into_iter().map(set).collect();
        declares.extend(self.ioengine.map(|it| ("ioengine".to_owned(), it.to_string())));
        declares.extend(self.direct.map(|it| ("direct".to_owned(), it.to_string())));
        for text in [&self.apply, &self.manual].into_iter().flatten() {
            let named = attachment::named_in(text);
            let done = (named.is_empty()).then_some("");
            let all = named.into_iter().chain(done);
            declares.extend(all.map(|factor| (factor.to_owned(), text.clone())));
        }
        declares
    }
}

/// The factor that a setting of a modelled drive is.
fn factor_of(key: &str) -> String {
    attachment::read_factor(key).unwrap_or(key).to_owned()
}

/// One workload.
#[derive(Debug, Clone)]
pub(crate) struct NamedWorkload {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) workload: Workload,
    /// Settings that belong to the workload, such as the drive's write cache.
    pub(crate) options: Options,
}

/// Two arms between which one cause differs, by place.
#[derive(Debug, Clone)]
pub(crate) struct Contrast {
    pub(crate) name: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A picture of IOPS against depth; compared nowhere.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// One workload a depth.
    pub(crate) depths: Vec<(u32, Workload)>,
}

/// More blocks than anybody waits for, and few enough to be planned at once.
const BLOCKS_MAX: u32 = 10_000;
/// More arms than anybody compares: each is one more chance of a wrong answer.
const ARMS_MAX: usize = 1000;
/// Most workloads, depths of a curve, contrasts and findings.
const LISTED_MAX: usize = 1000;
/// Most runs: of a second each they take twelve days.
const RUNS_MAX: usize = 1_000_000;

impl StudyFile {
    /// Reads the study in `text`; `name` stands in messages.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let mut top = Section::parse(name, text)?;
        top.at_most("arm", ARMS_MAX)?;
        for list in ["workload", "contrast", "finding", "notes"] {
            top.at_most(list, LISTED_MAX)?;
        }
        let (drive, base) = match top.section("base")? {
            None => (None, Options::default()),
            Some(mut section) => {
                let read = (section.take("drive")?, options(&mut section)?);
                section.finish()?;
                read
            }
        };
        let arms = arms(&mut top)?;
        let candidate = match top.take::<String>("candidate")? {
            None => arms.len() - 1,
            Some(name) => arm_named(&top, &arms, &name)?,
        };
        top.renamed("mei", "margin")?;
        let title: String = top.require("title")?;
        let (blocks, seed) = (top.take("blocks")?.unwrap_or(10), top.take("seed")?.unwrap_or(1));
        let targets = (1..=base.shelf.drives.unwrap_or(1)).map(|place| format!("drive {place}"));
        let named = Named { title: title.clone(), targets: targets.collect(), blocks, seed };
        let stage = top.take("stage")?;
        let grid = GridFile::read(&mut top, named, &arms)?;
        let study = Self {
            title,
            primary: top.require("primary")?,
            candidate,
            asks_gain: top.take_with("asks", asks_gain)?.unwrap_or(false),
            margin: top.take("margin")?.unwrap_or(Ratio::percent(3)),
            blocks,
            seed,
            stage: stage.unwrap_or(Stage::Simulate),
            is_stage_named: stage.is_some(),
            drive,
            base,
            workloads: workloads(&mut top, grid.is_some())?,
            contrasts: contrasts(&mut top, &arms)?,
            notes: top.list("notes")?.unwrap_or_default(),
            curve: curve(&mut top)?,
            factors: factors(&mut top)?,
            arms,
            grid,
        };
        study.check(&top)?;
        top.finish()?;
        Ok(study)
    }

    /// Puts what the command line says in place of what the file says.
    pub(crate) fn override_with(
        &mut self,
        stage: Option<Stage>,
        blocks: Option<u32>,
        seed: Option<u64>,
    ) -> Result<(), Failure> {
        self.stage = stage.unwrap_or(self.stage);
        self.seed = seed.unwrap_or(self.seed);
        self.blocks = blocks.unwrap_or(self.blocks);
        if let Some(grid) = &mut self.grid {
            (grid.matrix.blocks, grid.matrix.seed) = (self.blocks, self.seed);
        }
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return Err(Failure::bad_words(format!("`--blocks` must be from 1 to {BLOCKS_MAX}")));
        }
        match self.too_many() {
            Some(wrong) => Err(Failure::bad_words(wrong).hint("lower `--blocks`")),
            None => Ok(()),
        }
    }

    /// What is wrong with the number of its runs.
    fn too_many(&self) -> Option<String> {
        if let Some(grid) = &self.grid {
            return grid.matrix.too_large();
        }
        let depths = self.curve.as_ref().map_or(0, |curve| curve.depths.len());
        let each = self.arms.len() * (self.workloads.len() + depths);
        let runs = each.saturating_mul(self.blocks as usize);
        let said = || format!("arms, workloads and `blocks` make {runs} runs; at most {RUNS_MAX}");
        (runs > RUNS_MAX).then(said)
    }

    fn check(&self, top: &Section) -> Result<(), ConfigError> {
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
        let (workload, metric) = self.primary.rsplit_once('.').unwrap_or((&self.primary, ""));
        let (names, metrics): (Vec<String>, _) = if let Some(grid) = &self.grid {
            (grid.groups(), super::grid::METRICS)
        } else {
            let names = self.workloads.iter().map(|known| known.name.clone());
            (names.collect(), super::metrics::NAMES)
        };
        if !names.iter().any(|known| known == workload) {
            return Err(top.error(format!(
                "`primary` names the workload `{workload}`; there are `{}`",
                names.join("`, `")
            )));
        }
        if !metrics.contains(&metric) {
            return Err(top.error(format!(
                "`primary` names the metric `{metric}`; there are `{}`",
                metrics.join("`, `")
            )));
        }
        Ok(())
    }
}

/// `factor = "scheduler"`, or several: `factor = "scheduler, nr-requests"`.
fn factors(top: &mut Section) -> Result<Vec<String>, ConfigError> {
    let given: String = top.take("factor")?.unwrap_or_default();
    let names = given.split(',').map(str::trim).filter(|name| !name.is_empty());
    let read = |name: &str| match attachment::read_factor(name) {
        Ok(known) => Ok(known.to_owned()),
        Err(wrong) => Err(top.error(wrong)),
    };
    names.map(read).collect()
}

fn arms(top: &mut Section) -> Result<Vec<Arm>, ConfigError> {
    let mut arms: Vec<Arm> = Vec::new();
    for mut section in top.sections("arm")? {
        let name: String = section.require("name")?;
        let summary = section.take("summary")?.unwrap_or_default();
        if arms.iter().any(|arm| arm.name == name) {
            return Err(section.error(format!("two arms are called `{name}`")));
        }
        let (mut ioengine, mut direct) = (None, None);
        if let Some(mut run) = section.section("run")? {
            (ioengine, direct) = (run.take("ioengine")?, run.take("direct")?);
            run.finish()?;
        }
        arms.push(Arm {
            name,
            summary,
            apply: section.take("apply")?,
            revert: section.take("revert")?,
            manual: section.take("manual")?,
            reboot: section.take("reboot")?.unwrap_or(true),
            check: section.take("check")?,
            options: options(&mut section)?,
            ioengine,
            direct,
            price_usd: section.take("price_usd")?,
        });
        section.finish()?;
    }
    if arms.len() < 2 {
        return Err(top.error(format!(
            "a study compares at least two arms, this one has {}: add `[[arm]]` tables",
            arms.len()
        )));
    }
    Ok(arms)
}

/// Takes the settings of the modelled drive, spelled as in `drive:NAME,key=value`.
fn options(section: &mut Section) -> Result<Options, ConfigError> {
    let mut options = Options::default();
    for key in Options::KEYS.into_iter().filter(|key| *key != "seed") {
        let mut set = |value: &str| options.set(key, value).map_err(|wrong| wrong.to_string());
        section.take_with(key, &mut set)?;
    }
    Ok(options)
}

/// Takes the workloads; a study has some, or a matrix.
fn workloads(top: &mut Section, matrix: bool) -> Result<Vec<NamedWorkload>, ConfigError> {
    let mut workloads: Vec<NamedWorkload> = Vec::new();
    for mut section in top.sections("workload")? {
        let name: String = section.require("name")?;
        if workloads.iter().any(|known| known.name == name) {
            return Err(section.error(format!("two workloads are called `{name}`")));
        }
        let given: Option<String> = section.take("summary")?;
        let options = options(&mut section)?;
        let workload = WorkloadOptions::read(&mut section)?
            .check()
            .map_err(|wrong| section.error(wrong.to_string()))?;
        section.finish()?;
        let summary = given.unwrap_or_else(|| super::metrics::summary(&workload));
        workloads.push(NamedWorkload { name, summary, workload, options });
    }
    if matrix && !workloads.is_empty() {
        return Err(top.error("a study has `[matrix]` or `[[workload]]` tables, not both"));
    }
    if workloads.is_empty() && !matrix {
        return Err(top.error("a study needs work to do: add a `[[workload]]` table"));
    }
    Ok(workloads)
}

fn contrasts(top: &mut Section, arms: &[Arm]) -> Result<Vec<Contrast>, ConfigError> {
    let mut contrasts = Vec::new();
    for mut section in top.sections("contrast")? {
        let (from, to): (String, String) = (section.require("from")?, section.require("to")?);
        contrasts.push(Contrast {
            name: section.require("name")?,
            from: arm_named(&section, arms, &from)?,
            to: arm_named(&section, arms, &to)?,
        });
        section.finish()?;
    }
    Ok(contrasts)
}

pub(super) fn arm_named(section: &Section, arms: &[Arm], name: &str) -> Result<usize, ConfigError> {
    arms.iter().position(|arm| arm.name == name).ok_or_else(|| {
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        section.error(format!("there is no arm `{name}`; there are `{}`", names.join("`, `")))
    })
}

fn curve(top: &mut Section) -> Result<Option<Curve>, ConfigError> {
    let Some(mut section) = top.section("curve")? else { return Ok(None) };
    section.at_most("iodepth", LISTED_MAX)?;
    let depths: Vec<u32> = section.list("iodepth")?.unwrap_or_default();
    if depths.is_empty() {
        return Err(section.error("a curve needs depths: `iodepth = [1, 2, 4, 8, 16, 32]`"));
    }
    let options = WorkloadOptions::read(&mut section)?;
    section.finish()?;
    let mut workloads = Vec::new();
    for depth in depths {
        let options = WorkloadOptions { iodepth: Some(depth), ..options.clone() };
        let workload = options.check().map_err(|wrong| top.error(wrong.to_string()))?;
        workloads.push((depth, workload));
    }
    Ok(Some(Curve { depths: workloads }))
}
