//! A study whose runs were made before: from a results folder, or from an archive.

pub(crate) mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use drivelab_core::Refusal;
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
use crate::stage::{Frame, StoredRun, Task};

/// The schema that this version writes.
pub const KEPT_STUDY_SCHEMA: &str = "drivelab.kept-study/1";

/// A study with its runs, as it can be analysed again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptStudy {
    schema: String,
    /// The text of its file.
    pub text: String,
    /// The study it belongs to, its plan and target.
    pub header: Header,
    /// The stage's account of the study.
    pub frame: Frame,
    /// Checksum of the runs; distinguishes two studies with the same plan from a duplicate.
    runs_crc32: String,
    /// Every finished run.
    #[serde(skip)]
    pub runs: Vec<StoredRun>,
}

/// The key of a run in its study.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunKey {
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
    /// The task, by name.
    pub task: String,
    /// Its key in the study, for [`KeptStudy::of_document`].
    pub place: String,
    /// Its record.
    pub record: &'a RunRecord,
}

/// The results of the workloads of one arm in one block, and their machine.
#[derive(Default)]
struct OfStep {
    host: Option<String>,
    work: record::Work,
    figures: Vec<Figure>,
}

impl KeptStudy {
    /// A study that was carried out.
    pub fn new(text: String, header: Header, frame: Frame, runs: Vec<StoredRun>) -> Self {
        // Over the texts as stored, so that a change of serialisation cannot pass for damage.
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
        let (header, text) = beginning(folder)?;
        let mut kept = Self::new(text, header, Frame::default(), Vec::new());
        let study = kept.study(vocabulary)?;
        let journal = read::bytes(&folder.join("runs.jsonl"), read::JOURNAL)?.unwrap_or_default();
        kept.runs = kept.lines(folder, &journal, &study)?;
        let result = read::text(&folder.join("result.json"), read::RESULT)?;
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
            // A last line without its end was cut off: its run is made again.
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let is_whole = self.header.holds(&owner, line);
            let run: Option<StoredRun> = serde_json::from_slice(line).ok().filter(|_| is_whole);
            let run = run.filter(|run: &StoredRun| agenda.index(&run.step, run.task).is_some());
            let Some(run) = run else {
                damaged.push(number);
                continue;
            };
            // A duplicate line counts once.
            let Step { arm, block, repeat, .. } = run.step;
            if known.insert((arm, block, repeat, run.task)) {
                runs.push(run);
            }
        }
        if damaged.is_empty() { Ok(runs) } else { Err(damaged_lines(folder, &damaged)) }
    }

    /// The study that [`Self::document`] was made of, with the key and the record of every run,
    /// both as JSON.
    ///
    /// # Errors
    /// The documents are not those of a study.
    pub fn of_document<'a>(
        document: &str,
        parts: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Refusal> {
        let mut kept: Self = serde_json::from_str(document).map_err(damaged)?;
        let mut hasher = crc32fast::Hasher::new();
        for (key, record) in parts {
            // The text of a stored run, as its checksum was computed from it.
            hasher.update(key.strip_suffix('}').unwrap_or(key).as_bytes());
            hasher.update(b",\"record\":");
            hasher.update(record.as_bytes());
            hasher.update(b"}");
            let RunKey { step, task, boot } = serde_json::from_str(key).map_err(damaged)?;
            // From bytes, as journals are read: no second parser is compiled.
            let record = serde_json::from_slice(record.as_bytes()).map_err(damaged)?;
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
            let key = RunKey { step: *step, task: *task, boot: boot.clone() };
            let arm = study.arms.get(step.arm).map_or("", |arm| &arm.name);
            KeptPart {
                block: step.block,
                arm,
                task: study.task_name(*task),
                place: serde_json::to_string(&key).expect("plain data is always JSON"),
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
        let mut study = match StudyFile::parse(name, &self.text, vocabulary) {
            Ok(study) => study,
            Err(error) => {
                if let Ok(matrix) = Matrix::parse(name, &self.text) {
                    return Ok(StudyFile::of_matrix(matrix));
                }
                let message = format!("the study cannot be read again: {error}");
                return Err(Refusal::request(message));
            }
        };
        study.choose(Choices {
            stage: Some(self.header.stage),
            blocks: Some(self.header.plan.blocks),
            // Any other number is that of the blocks.
            specimens: asked.specimens.filter(|specimens| *specimens == 1),
            check_determinism: asked.check_determinism,
            seed: Some(self.header.seed),
            only: self.header.only(),
            drive: asked.drive.as_deref(),
            scale: asked.scale,
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
            let Task::Workload(index) = run.task else {
                left_out += 1;
                continue;
            };
            let Some(workload) = study.workloads.get(index) else { continue };
            let step = &run.step;
            let of_step = runs.entry((step.arm, step.block, step.repeat)).or_default();
            if let Some(host) = &run.record.host {
                of_step.host = Some(host.id.clone());
            }
            let mut work = record::Work::of(&run.record);
            if let Some(command) = workload.work.command() {
                // The command of the study: the filled-in one differs from block to block.
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
        let mut imported = Vec::with_capacity(runs.len());
        for ((arm, ..), OfStep { host, work, figures }) in runs {
            let Some(arm) = study.arms.get(arm) else { continue };
            let (name, nature, remarks) = (String::new(), Nature::Disk, Vec::new());
            let phases =
                vec![Phase { name, nature, figures, lat_ns: None, points: Vec::new(), remarks }];
            let arm = arm.name.clone();
            imported.push(ImportedRun { arm, host, work, phases, ..ImportedRun::default() });
        }
        if imported.is_empty() {
            return Err(Refusal::request("the study has no finished run of a workload"));
        }
        let notes = (left_out > 0).then(|| {
            format!("{left_out} runs of curves and matrix cells are not among the results.")
        });
        Ok(Imported {
            tool: "drivelab".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            runs: imported,
            unknown: Vec::new(),
            notes: notes.into_iter().collect(),
        })
    }

    /// The account of the stage in the result of a folder; of an unfinished study only the command
    /// is known.
    fn frame_of(&self, study: &StudyFile, result: Option<&str>) -> Frame {
        let asked = self.header.asked.clone().unwrap_or_default();
        let again = command(&words(study, &asked, asked.size));
        // The runs are whole without the result, so that a damaged one is no error.
        let result = result.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(result) = result else {
            let settings = vec![Vec::new(); study.arms.len()];
            return Frame { settings, reproduce: again, ..Frame::default() };
        };
        let settings: Vec<_> = list(&result, "arms").iter().map(settings).collect();
        let risks = texts(&result, "risks").into_iter();
        let mut notes = texts(&result, "notes");
        // The study's own notes come from its file.
        notes.retain(|note| !study.notes.contains(note));
        Frame {
            settings: if settings.is_empty() {
                vec![Vec::new(); study.arms.len()]
            } else {
                settings
            },
            risks: risks.map(|sentence| Risk { sentence, differs: true }).collect(),
            notes,
            reproduce: result["reproduce"].as_str().map_or(again, str::to_owned),
        }
    }
}

fn damaged(error: serde_json::Error) -> Refusal {
    Refusal::request("the kept study is damaged").because(error)
}

fn list(result: &Value, key: &str) -> Vec<Value> {
    result[key].as_array().cloned().unwrap_or_default()
}

fn texts(result: &Value, key: &str) -> Vec<String> {
    list(result, key).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The header of a results folder, and the text of its study.
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
    let text = text.ok_or_else(|| {
        Refusal::request(format!("`{name}/study.toml` does not exist"))
            .hint("name the results folder of a study")
    })?;
    Ok((header, text))
}

/// Numbers of lines that are named in a message.
const NAMED_MAX: usize = 5;

/// Refuses lines that are not runs of their study: without them the result would differ.
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
    let mut texts = Vec::new();
    for (name, value) in settings {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        texts.push((name.clone(), text));
    }
    texts
}
