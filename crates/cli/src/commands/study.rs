//! `study`: runs an experiment and prints its verdict.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::plan::{Design, Plan};

use crate::failure::{Exit, Failure, Outcome};
use crate::input;
use crate::study::grid::GridFile;
use crate::study::{
    self, Bench, Hardware, Header, Out, PLAN_SCHEMA, Progressed, Simulator, Stage, StudyFile,
};
use crate::ui::Ui;

/// Run an experiment and print what may be concluded from it.
///
/// NAME is one of the studies that come with drivelab (`drivelab study --list`), FILE a study of
/// your own. Finished runs are kept in the results folder; Ctrl-C loses only the run under way.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// A study that comes with drivelab, or a study file.
    #[arg(value_name = "FILE|NAME", required_unless_present = "list")]
    study: Option<String>,
    /// List the studies that come with drivelab.
    #[arg(long)]
    list: bool,
    /// Where to run it: simulate (virtual time) or hardware (a real file).
    #[arg(long)]
    stage: Option<Stage>,
    /// Blocks: how often each arm is measured.
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Seed of everything random.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Results folder [default: drivelab-results/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on where an earlier session stopped.
    #[arg(long)]
    resume: bool,
    /// At stage hardware: the file that is measured.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// At stage hardware: lay the file out at this size where it does not exist.
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    size: drivelab_core::units::Bytes,
    /// At stage hardware: say that this arm is in place, after you switched to it by hand.
    #[arg(long, value_name = "ARM")]
    in_place: Option<String>,
    /// At stage hardware: writing workloads may destroy what the file holds.
    #[arg(long)]
    overwrite: bool,
}

/// Runs the study.
pub(crate) fn run(arguments: &StudyArgs, ui: Ui) -> Outcome {
    let Some(name) = &arguments.study else { return list(ui) };
    let (name, text) = (study::stem(name), read(name)?);
    let mut study = StudyFile::parse(arguments.study.as_deref().unwrap_or(&name), &text)?;
    study.override_with(arguments.stage, arguments.blocks, arguments.seed)?;
    let folder =
        arguments.out.clone().unwrap_or_else(|| PathBuf::from("drivelab-results").join(&name));
    if let Some(grid) = &study.grid {
        return matrix(&study, grid, arguments, (&folder, &text), ui);
    }
    let mut bench = bench(&study, arguments, ui)?;
    let plan = plan(&study);
    let header = header(&study, bench.target(), &plan);
    let mut out = if arguments.resume {
        Out::resume(&folder, &text, &header)?
    } else {
        Out::create(&folder, &text, &header)?
    };
    let progressed = study::carry_out(&study, &plan, bench.as_mut(), &mut out, ui)?;
    let reproduce = reproduce(arguments, &study);
    let experiment = study::experiment(&study, &plan, bench.as_ref(), &out.done, reproduce);
    conclude(&experiment, &progressed, &out, ui)
}

fn header(study: &StudyFile, target: String, plan: &Plan) -> Header {
    Header {
        schema: PLAN_SCHEMA.into(),
        target,
        stage: study.stage.to_string(),
        seed: study.seed,
        plan: plan.clone(),
    }
}

/// Runs a matrix study: in virtual time, from the beginning, since it takes less than a minute.
fn matrix(
    study: &StudyFile,
    grid: &GridFile,
    arguments: &StudyArgs,
    (folder, text): (&Path, &str),
    ui: Ui,
) -> Outcome {
    if study.stage != Stage::Simulate {
        let message = format!("a matrix study runs at stage simulate, not at {}", study.stage);
        return Err(Failure::cannot_here(anyhow::anyhow!(message))
            .hint("on real drives: drivelab run --matrix FILE"));
    }
    if arguments.resume {
        return Err(Failure::bad_words("a simulated matrix is not resumed")
            .hint("leave --resume out: it is made anew, with the same result"));
    }
    let plan = plan(study);
    let target = study.drive.clone().unwrap_or_default();
    let out = Out::create(folder, text, &header(study, format!("drive:{target}"), &plan))?;
    let reproduce = reproduce(arguments, study);
    let Some(grid) = study::grid::simulate(study, grid, &plan, reproduce)? else {
        ui.warn("interrupted: nothing is concluded from a part of the cells");
        return Ok(Exit::Interrupted);
    };
    let json = drivelab_report::grid::json(&grid);
    let page = out.write("report.html", &drivelab_report::grid::html(&grid))?;
    out.write("result.json", &json)?;
    if ui.json {
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::grid::text(&grid, ui.look()))?;
    }
    ui.note(&format!("report: {}", page.display()));
    Ok(Exit::Done)
}

fn list(ui: Ui) -> Outcome {
    let mut lines = String::new();
    for (name, text) in study::STUDIES {
        let study = StudyFile::parse(name, text)?;
        lines.push_str(&format!("{name:24}{} (stage {})\n", study.title, study.stage));
    }
    ui.result(&lines)
}

/// The text of a study: a file where there is one of this name, else one that comes with us.
fn read(name: &str) -> Result<String, Failure> {
    let path = std::path::Path::new(name);
    if let (false, Some(text)) = (path.exists(), study::embedded_text(name)) {
        return Ok(text.to_owned());
    }
    if !path.exists() && path.extension().is_none() {
        let names = study::STUDIES.iter().map(|(name, _)| *name);
        let near = drivelab_core::config::nearest(name, names.clone());
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", names.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no study `{name}`, and no such file");
        return Err(Failure::bad_words(message).hint(hint));
    }
    input::text(path, input::STUDY)
}

fn bench(study: &StudyFile, arguments: &StudyArgs, ui: Ui) -> Result<Box<dyn Bench>, Failure> {
    match study.stage {
        Stage::Simulate => Ok(Box::new(Simulator::new(study)?)),
        Stage::Hardware => {
            let Some(target) = &arguments.target else {
                let message = "a study at stage hardware needs a target to measure";
                return Err(Failure::bad_words(message)
                    .hint("add --target FILE; a file that does not exist is laid out"));
            };
            let hardware = Hardware::new(study, target, arguments.size, ui)?
                .overwriting(arguments.overwrite)
                .with_arm_in_place(arguments.in_place.as_deref())?;
            Ok(Box::new(hardware))
        }
        Stage::Kernel | Stage::Emulate | Stage::Vm => {
            let message = format!("this version cannot run a study at stage {}", study.stage);
            Err(Failure::cannot_here(anyhow::anyhow!(message))
                .hint("it can at: --stage simulate, --stage hardware"))
        }
    }
}

/// Arms that the user switches by hand cost a reboot each time: fewer switches, then.
fn plan(study: &StudyFile) -> Plan {
    let by_hand = study.arms.iter().any(|arm| arm.manual.is_some());
    let grouped = by_hand && study.stage == Stage::Hardware;
    let design = if grouped { Design::Grouped } else { Design::Interleaved };
    Plan::new(design, study.arms.len(), study.blocks, study.seed)
}

fn conclude(
    experiment: &drivelab_report::study::Experiment,
    progressed: &Progressed,
    out: &Out,
    ui: Ui,
) -> Outcome {
    if let Progressed::Waiting(what) = progressed {
        ui.note(what);
        return Ok(Exit::Inconclusive);
    }
    let result = drivelab_report::study::analyse(experiment)
        .map_err(|error| Failure::cannot_here(error).hint("no complete block was measured"))?;
    let json = drivelab_report::study::json(&result);
    let page = out.write("report.html", &drivelab_report::page::html(&result))?;
    if matches!(progressed, Progressed::Done) {
        // Its presence says that the study is finished.
        out.write("result.json", &json)?;
    }
    if ui.json {
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::study::text(&result, ui.look()))?;
    }
    ui.note(&format!("report: {}", page.display()));
    match progressed {
        Progressed::Interrupted => {
            ui.warn("interrupted: the verdict rests on the finished runs; --resume goes on");
            Ok(Exit::Interrupted)
        }
        _ => Ok(Exit::of(&result.primary().adjusted.comparison)),
    }
}

/// The command that gives the same result again.
fn reproduce(arguments: &StudyArgs, study: &StudyFile) -> String {
    let name = arguments.study.as_deref().unwrap_or_default();
    let (stage, blocks, seed) = (study.stage, study.blocks, study.seed);
    let mut command =
        format!("drivelab study {name} --stage {stage} --blocks {blocks} --seed {seed}");
    if let Some(target) = &arguments.target {
        command.push_str(&format!(" --target {}", target.display()));
    }
    command
}
