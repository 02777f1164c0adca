//! The end of a session: a result, or a message about what is missing.

use drivelab_core::record::{Figure, MarkId};
use drivelab_report::publish::{Format, Subject};
use drivelab_simulate::study::experiment::{Carried, cell_runs, experiment};
use drivelab_study::{Folder, KeptStudy, Progressed, StoredRun, StudyFile};

use crate::commands::archive::keep::KeepArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Ui};
use drivelab_core::Refusal;
use drivelab_lab::archive::entries;
use drivelab_lab::archive::{millis, now_ms};
use drivelab_lab::interrupt;

/// The conclusion that the finished runs allow.
struct Conclusion {
    json: String,
    page: String,
    /// The simulated drives, as a separate picture.
    drives: Option<String>,
    text: String,
    exit: Exit,
    /// The message of a session that was cut short.
    interrupted: &'static str,
}

/// A session that ended before all runs were made.
struct Cut<'a> {
    why: &'a str,
    exit: Exit,
}

impl<'a> Cut<'a> {
    fn of(progressed: &'a Progressed) -> Option<Self> {
        match progressed {
            Progressed::Interrupted => Some(Self { why: "interrupted", exit: Exit::Interrupted }),
            Progressed::Lost(why) => Some(Self { why, exit: Exit::HostsLost }),
            Progressed::Done | Progressed::Waiting(_) | Progressed::Useless(_) => None,
        }
    }
}

/// The way in which a finished study is kept and shown.
#[derive(Debug, Clone)]
pub(super) struct Keep<'a> {
    pub(super) arguments: &'a KeepArgs,
    pub(super) label: Option<String>,
    /// Everything is shown, and not only what matters most.
    pub(super) explains: bool,
}

/// The way to the rest of a short answer.
const MORE: &str = "add --resume --explain, or see the report";

/// Concludes from the finished runs of a study, and keeps it once all are made.
pub(super) fn conclude(
    study: &StudyFile,
    kept: &KeptStudy,
    progressed: &Progressed,
    (folder, keep): (&Folder, Keep<'_>),
    ui: Ui,
) -> Outcome {
    if study.is_matrix_alone() {
        let (conclusion, figures) = cells(study, &kept.runs, ui);
        return conclusion.publish(progressed, folder, ui, || {
            let about = (keep.label, now_ms());
            keep.arguments.keep(entries::study(kept, study, about, figures), ui)
        });
    }
    if let Progressed::Waiting(what) = progressed {
        ui.note(what);
        return Ok(Exit::Inconclusive);
    }
    // Of a thousand arms it takes longer than a user waits after Ctrl-C.
    let reading = interrupt::reading();
    let finished = experiment(study, carried(kept));
    let cut = Cut::of(progressed);
    let has_cells = finished.cells.is_some();
    let runs = finished.runs.len() + finished.curves.len();
    let analysed = drivelab_analysis::study::analyse(finished);
    drop(reading);
    let result = match analysed {
        Ok(result) => result,
        Err(error) => {
            if let Some(Cut { why, exit }) = cut {
                ui.warn(&format!(
                    "{why} before a verdict is possible; {runs} finished runs are kept; continue \
                     with --resume"
                ));
                return Ok(exit);
            }
            let kept_in = format!("the finished runs are kept in `{}`", folder.path().display());
            let failure = Refusal::machine_error(error).hint(kept_in);
            let mut marks = kept.runs.iter().flat_map(|run| &run.record.marks);
            let void = marks.find(|mark| mark.id == MarkId::Void).map(|mark| mark.message.clone());
            return Err(void.into_iter().fold(failure, Refusal::hint));
        }
    };
    let verdict = Exit::of(&result.primary().adjusted.comparison);
    let reading = interrupt::reading();
    let conclusion = Conclusion {
        json: drivelab_report::study::json(&result),
        page: Subject::Study(&result).render(Format::Html, &where_and_when(kept, folder))?,
        drives: drivelab_report::study::drives_svg(&result),
        text: if keep.explains {
            drivelab_report::study::text(&result, ui.look())
        } else {
            drivelab_report::study::short(&result, ui.look(), MORE)
        },
        // Whoever measures a matrix asks for its cells.
        exit: if has_cells { Exit::Done } else { verdict },
        interrupted: "the verdict covers the finished runs; continue with --resume",
    };
    drop(reading);
    conclusion.publish(progressed, folder, ui, || {
        // The results folder has all of it by then.
        let reading = interrupt::reading();
        let figures = drivelab_analysis::study::figures(&result);
        let entries = entries::study(kept, study, (keep.label, now_ms()), figures);
        drop(reading);
        keep.arguments.keep(entries, ui)
    })
}

/// The runs of a study that is kept, and how they came about.
pub(super) fn carried(kept: &KeptStudy) -> Carried<'_> {
    let KeptStudy { header, frame, runs, .. } = kept;
    Carried { plan: &header.plan, asked: header.asked.as_ref(), frame, runs }
}

/// The target and the machine that made the runs, and when the last of them was kept; nothing in
/// virtual time.
fn where_and_when(kept: &KeptStudy, folder: &Folder) -> Vec<String> {
    let first = kept.runs.first().map(|run| &run.record).filter(|record| record.host.is_some());
    let Some(first) = first else { return Vec::new() };
    let machine = drivelab_report::run::place(first).into_iter().take(1);
    let kept = folder.path().join("runs.jsonl").metadata().and_then(|about| about.modified());
    let date = kept.ok().map(|time| drivelab_analysis::run::minute(millis(time)));
    std::iter::once(first.target.clone()).chain(machine).chain(date).collect()
}

/// Shows the finished cells of a matrix, which has no arms to conclude about.
fn cells(study: &StudyFile, runs: &[StoredRun], ui: Ui) -> (Conclusion, Vec<Figure>) {
    let matrix = study.matrix.as_ref().expect("a matrix alone");
    let cells = cell_runs(runs);
    let conclusion = Conclusion {
        json: drivelab_report::cells::json(matrix, &cells),
        page: drivelab_report::cells::html(matrix, &cells),
        drives: None,
        text: drivelab_report::cells::text(matrix, &cells, ui.look()),
        exit: Exit::Done,
        interrupted: "the same command measures the missing cells",
    };
    (conclusion, drivelab_analysis::cells::figures(&cells))
}

impl Conclusion {
    /// Writes it into the folder and prints it.
    fn publish(
        &self,
        progressed: &Progressed,
        folder: &Folder,
        ui: Ui,
        keep: impl FnOnce() -> Exit,
    ) -> Outcome {
        let cut = Cut::of(progressed);
        let console = Console::new(ui);
        let page = folder.write("report.html", &self.page, &console.control())?;
        if let Some(drives) = &self.drives {
            folder.write("drives.svg", drives, &console.control())?;
        }
        let mut kept = Exit::Done;
        if cut.is_none() {
            // Its presence says that the study is finished.
            folder.write("result.json", &self.json, &console.control())?;
            kept = keep();
        }
        ui.result(if ui.json { &self.json } else { &self.text })?;
        ui.note(&format!("report: {}", page.display()));
        let Some(Cut { why, exit }) = cut else { return Ok(kept.or(self.exit)) };
        ui.warn(&format!("{why}: {}", self.interrupted));
        Ok(exit)
    }
}
