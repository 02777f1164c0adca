//! A study whose runs were made before: from a results folder, or from where it was kept.

pub(crate) mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use drivelab_core::Refusal;
use drivelab_core::config::{Choice as _, ConfigError};
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::matrix::Matrix;
use drivelab_core::outline::Risk;
use drivelab_core::plan::Step;
use drivelab_core::record::{self, Figure, Nature, Phase, RunRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agenda::Agenda;
use crate::file::{Choices, StudyFile, Vocabulary};
use crate::folder::{Header, PlanFile};
use crate::keep::read;
use crate::repeat::{command, words};
use crate::stage::{StageName, StoredRun, Task};

/// The schema that this version writes.
pub const KEPT_STUDY_SCHEMA: &str = "drivelab.kept-study/1";

/// A study with its runs, as it can be analysed again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptStudy {
    schema: String,
    /// The text of its file.
    pub text: String,
    /// What was to be done and on what.
    pub header: Header,
    /// What its stage said of it.
    pub frame: Frame,
    /// A checksum of the runs, which tells two studies of one plan from one that is there twice.
    runs_crc32: String,
    /// Every finished run.
    #[serde(skip)]
    pub runs: Vec<StoredRun>,
}

/// What a stage says of a study, beside its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The settings in force in each arm.
    pub settings: Vec<Vec<(String, String)>>,
    /// What they risk when power fails.
    pub risks: Vec<Risk>,
    /// What the reader must know of where the runs were made.
    pub notes: Vec<String>,
    /// The command that gives the result again.
    pub reproduce: String,
}

/// The place of a run in its study.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    step: Step,
    task: Task,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
}

/// One run of a study that is kept.
#[derive(Debug)]
pub struct KeptPart<'a> {
    /// Its block, from 0.
    pub block: u32,
    /// Its arm, by name.
    pub arm: &'a str,
    /// What was run, by name.
    pub task: String,
    /// Its place in the study, for [`KeptStudy::of_document`].
    pub place: String,
    /// What it measured.
    pub record: &'a RunRecord,
}

/// What the workloads of one arm in one block measured, and on which machine.
#[derive(Default)]
struct OfStep {
    host: Option<String>,
    work: record::Work,
    figures: Vec<Figure>,
}

impl KeptStudy {
    /// A study that was carried out.
    pub fn new(text: String, header: Header, frame: Frame, runs: Vec<StoredRun>) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        for run in &runs {
            hasher.update(&serde_json::to_vec(run).expect("plain data is always JSON"));
        }
        let runs_crc32 = format!("{:08x}", hasher.finalize());
        Self { schema: KEPT_STUDY_SCHEMA.into(), text, header, frame, runs_crc32, runs }
    }

    /// The study of a results folder, whose runs are those that it made: every line of its journal
    /// has a checksum that holds for the plan and the study in the folder. A line that is cut off
    /// is the end of a session that was killed.
    ///
    /// # Errors
    /// The files are not those of a results folder, or some of them are damaged.
    pub fn read(folder: &Path, vocabulary: &dyn Vocabulary) -> Result<Self, Refusal> {
        let at = |name: &str| folder.join(name);
        let (header, text) = beginning(folder)?;
        let mut kept = Self::new(text, header, Frame::default(), Vec::new());
        let study = kept.study(vocabulary)?;
        let journal = read::bytes(&at("runs.jsonl"), read::JOURNAL)?.unwrap_or_default();
        kept.runs = kept.lines(folder, &journal, &study)?;
        let result = read::text(&at("result.json"), read::RESULT)?;
        kept.frame = kept.frame_of(&study, result.as_deref());
        Ok(Self::new(kept.text, kept.header, kept.frame, kept.runs))
    }

    /// The runs of a journal; refused where a line is not one of this study.
    fn lines(
        &self,
        folder: &Path,
        journal: &[u8],
        study: &StudyFile,
    ) -> Result<Vec<StoredRun>, Refusal> {
        let owner = self.header.owner(&self.text);
        let agenda = Agenda::new(study, &self.header.plan);
        let (mut runs, mut known, mut damaged) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (number, line) in (1_usize..).zip(journal.split_inclusive(|byte| *byte == b'\n')) {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let is_whole = self.header.holds(&owner, line);
            let run: Option<StoredRun> = serde_json::from_slice(line).ok().filter(|_| is_whole);
            let run = run.filter(|run: &StoredRun| agenda.place(&run.step, run.task).is_some());
            let Some(run) = run else {
                damaged.push(number);
                continue;
            };
            // A line that is there twice counts once.
            let Step { arm, block, repeat, .. } = run.step;
            if known.insert((arm, block, repeat, run.task)) {
                runs.push(run);
            }
        }
        if damaged.is_empty() { Ok(runs) } else { Err(damaged_lines(folder, &damaged)) }
    }

    /// The study that [`Self::document`] was made of, with the place and the record of every run,
    /// both as JSON.
    ///
    /// # Errors
    /// The documents are not those of a study.
    pub fn of_document<'a>(
        document: &str,
        parts: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Refusal> {
        let damaged =
            |error: serde_json::Error| Refusal::request("the kept study is damaged").because(error);
        let mut kept: Self = serde_json::from_str(document).map_err(damaged)?;
        let mut hasher = crc32fast::Hasher::new();
        for (place, record) in parts {
            // The text of a stored run, as its checksum was computed from it.
            hasher.update(place.strip_suffix('}').unwrap_or(place).as_bytes());
            hasher.update(b",\"record\":");
            hasher.update(record.as_bytes());
            hasher.update(b"}");
            let Place { step, task, boot } = serde_json::from_str(place).map_err(damaged)?;
            let record = serde_json::from_str(record).map_err(damaged)?;
            kept.runs.push(StoredRun { step, task, boot, record });
        }
        if format!("{:08x}", hasher.finalize()) != kept.runs_crc32 {
            let message = "the runs of the kept study are not those that it was kept with: one is \
                           missing or was changed";
            return Err(Refusal::request(message).hint("keep it again from its results folder"));
        }
        Ok(kept)
    }

    /// All of it but the runs, as JSON.
    pub fn document(&self) -> String {
        serde_json::to_string(self).expect("plain data is always JSON")
    }

    /// Its runs, in the order in which they were made.
    pub fn parts<'a>(&'a self, study: &'a StudyFile) -> impl Iterator<Item = KeptPart<'a>> {
        self.runs.iter().map(|run| {
            let StoredRun { step, task, boot, record } = run;
            let place = Place { step: *step, task: *task, boot: boot.clone() };
            let arm = study.arms.get(step.arm).map_or("", |arm| &arm.name);
            KeptPart {
                block: step.block,
                arm,
                task: study.task_name(*task),
                place: serde_json::to_string(&place).expect("plain data is always JSON"),
                record,
            }
        })
    }

    /// The study as it was carried out.
    ///
    /// # Errors
    /// Its text is not that of a study of this version.
    pub fn study(&self, vocabulary: &dyn Vocabulary) -> Result<StudyFile, Refusal> {
        let asked = self.header.asked.clone().unwrap_or_default();
        let name = if asked.study.is_empty() { "study.toml" } else { &asked.study };
        let refused = |error: ConfigError| {
            Refusal::request(format!("the study cannot be read again: {error}"))
        };
        let mut study = match StudyFile::parse(name, &self.text, vocabulary) {
            Ok(study) => study,
            Err(error) => match Matrix::parse(name, &self.text) {
                Ok(matrix) => return Ok(StudyFile::of_matrix(matrix)),
                Err(_) => return Err(refused(error)),
            },
        };
        study.choose(Choices {
            stage: StageName::from_name(&self.header.stage).ok(),
            blocks: Some(self.header.plan.blocks),
            specimens: asked.specimens.filter(|specimens| *specimens == 1),
            check_determinism: asked.check_determinism,
            seed: Some(self.header.seed),
            only: self.header.only(),
            drive: asked.drive.as_deref(),
        })?;
        Ok(study)
    }

    /// Each arm and block as one run with the metrics of every workload, `WORKLOAD.METRIC`.
    ///
    /// # Errors
    /// There is no finished run of a workload.
    pub fn results(
        &self,
        study: &StudyFile,
        metrics: impl Fn(&RunRecord) -> Vec<Figure>,
    ) -> Result<Imported, Refusal> {
        let (mut runs, mut left_out) = (BTreeMap::<_, OfStep>::new(), 0_usize);
        for run in &self.runs {
            let Task::Workload(place) = run.task else {
                left_out += 1;
                continue;
            };
            let Some(workload) = study.workloads.get(place) else { continue };
            let step = &run.step;
            let of_step = runs.entry((step.arm, step.block, step.repeat)).or_default();
            if let Some(host) = &run.record.host {
                of_step.host = Some(host.id.clone());
            }
            let mut work = record::Work::of(&run.record);
            if let Some(command) = workload.work.command() {
                // As the study has it: what a run was filled with differs from block to block.
                let own = study.arms.get(step.arm).and_then(|arm| arm.command.as_ref());
                let text = command.run.to_string();
                work.set(
                    "command",
                    own.map_or(text.clone(), |own| text.replace("{command}", &own.to_string())),
                );
            }
            of_step.work.add(&format!("{}.", workload.name), &work);
            of_step.figures.extend(metrics(&run.record).into_iter().map(|figure| Figure {
                name: format!("{}.{}", workload.name, figure.name),
                unit: figure.unit().to_owned(),
                ..figure
            }));
        }
        let run = |((arm, ..), OfStep { host, work, figures }): ((usize, _, _), OfStep)| {
            let arm = study.arms.get(arm)?.name.clone();
            let (name, nature, remarks) = (String::new(), Nature::Disk, Vec::new());
            let phases =
                vec![Phase { name, nature, figures, lat_ns: None, points: Vec::new(), remarks }];
            Some(ImportedRun { arm, host, work, phases, ..ImportedRun::default() })
        };
        let runs: Vec<ImportedRun> = runs.into_iter().filter_map(run).collect();
        if runs.is_empty() {
            return Err(Refusal::request("the study has no finished run of a workload"));
        }
        let notes = (left_out > 0).then(|| {
            format!("{left_out} runs of curves and matrix cells are not among the results.")
        });
        Ok(Imported {
            tool: "drivelab".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            runs,
            unknown: Vec::new(),
            notes: notes.into_iter().collect(),
        })
    }

    /// What the result of a folder says of its stage; of an unfinished study only the command is
    /// known.
    fn frame_of(&self, study: &StudyFile, result: Option<&str>) -> Frame {
        let asked = self.header.asked.clone().unwrap_or_default();
        let again = command(&words(study, &asked, asked.size));
        let result = result.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(result) = result else {
            let settings = vec![Vec::new(); study.arms.len()];
            return Frame { settings, reproduce: again, ..Frame::default() };
        };
        let list = |key: &str| result[key].as_array().cloned().unwrap_or_default();
        let texts = |key: &str| {
            let of = |value: &Value| value.as_str().map(str::to_owned);
            list(key).iter().filter_map(of).collect::<Vec<String>>()
        };
        let settings = list("arms").iter().map(settings).collect::<Vec<_>>();
        let risk = |sentence| Risk { sentence, differs: true };
        Frame {
            settings: if settings.is_empty() {
                vec![Vec::new(); study.arms.len()]
            } else {
                settings
            },
            risks: texts("risks").into_iter().map(risk).collect(),
            // What the study itself says comes from its file.
            notes: texts("notes").into_iter().filter(|it| !study.notes.contains(it)).collect(),
            reproduce: result["reproduce"].as_str().map_or(again, str::to_owned),
        }
    }
}

/// What a results folder belongs to, and the text of its study.
pub(crate) fn beginning(folder: &Path) -> Result<(Header, String), Refusal> {
    let (name, again) = (folder.display(), "drivelab study --resume --out");
    let header = match Header::read(folder)? {
        PlanFile::Whole(header) => *header,
        PlanFile::Missing => {
            return Err(Refusal::request(format!("`{name}/plan.json` does not exist"))
                .hint("name the results folder of a study"));
        }
        PlanFile::Damaged => {
            return Err(Refusal::request(format!("`{name}/plan.json` is damaged"))
                .hint(format!("continue the study, which writes it again: {again} {name}")));
        }
    };
    let text = read::text(&folder.join("study.toml"), read::STUDY)?;
    let missing = || {
        Refusal::request(format!("`{name}/study.toml` does not exist"))
            .hint("name the results folder of a study")
    };
    Ok((header, text.ok_or_else(missing)?))
}

/// Numbers of lines that are named in a message.
const NAMED_MAX: usize = 5;

/// Lines that are not runs of their study: without them it would say something else.
fn damaged_lines(folder: &Path, numbers: &[usize]) -> Refusal {
    let folder = folder.display();
    let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let lines = match (numbers.len(), named.join(", ")) {
        (1, only) => format!("line {only} is damaged or belongs"),
        (count, named) if count > NAMED_MAX => {
            format!("lines {named} and {} more are damaged or belong", count - NAMED_MAX)
        }
        (_, named) => format!("lines {named} are damaged or belong"),
    };
    Refusal::request(format!("`{folder}/runs.jsonl`: {lines} to another study; no verdict")).hint(
        format!(
            "make these runs again: repeat the command of the study with --resume --out {folder}"
        ),
    )
}

fn settings(arm: &Value) -> Vec<(String, String)> {
    let settings = arm["settings"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    settings.map(|(name, value)| (name.clone(), text(value))).collect()
}
