//! `report`: one result, or a comparison, as a page or in another format.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_analysis::comparison;
use drivelab_analysis::comparison::{CompareOptions, CompareResult};
use drivelab_analysis::run::Dated;
use drivelab_archive::Detail;
use drivelab_core::config::Choice as _;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Ratio;
use drivelab_report::comparison::About;
use drivelab_report::cost::CostReport;
use drivelab_report::publish::{Format, Subject};
use drivelab_report::run;
use drivelab_report::text::{Look, json_text};
use drivelab_report::viewer::notice;
use drivelab_study::repeat::command;

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::arms::{ArmFiles, arms, called_by_content};
use crate::commands::compare::{found, from_arms};
use crate::commands::completion;
use crate::commands::study::again::{self, Again};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::results::Content;

/// Write a report of a result, or of a comparison: one page that needs nothing else.
///
/// RUN is a kept run (the beginning of an id, label:NAME or @WHEN[,key=value...]), a file of stored
/// runs or of another tool, or the results folder of a study. One RUN is shown; several are
/// compared, the first the baseline, as by `drivelab compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab report 01KA9Z --out run.html
  drivelab report label:before label:after --out verdict.html
  drivelab report drivelab-results/ahci-or-ide --format md
  drivelab report run.json --format csv")]
pub(crate) struct ReportArgs {
    /// Results; each is an arm where there are several.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// All results of the second arm; those before `--` are then all of the first.
    #[arg(last = true, value_name = "RUN")]
    others: Vec<PathBuf>,
    /// The file to write [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The format: html, md, csv, svg, json or txt [default: by the ending of --out, else html].
    #[arg(long, value_parser = completion::choice::<Format>(), hide_possible_values = true)]
    format: Option<Format>,
    /// The metric that decides a comparison.
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// The smallest effect worth acting on (equivalence margin).
    #[arg(long, default_value = "3%")]
    margin: Ratio,
    /// What the arms are meant to differ in (scheduler, controller, queue-depth, ...).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    factor: Vec<String>,
    #[command(flatten)]
    archive: ArchiveArgs,
}

#[cfg(feature = "view")]
impl ReportArgs {
    /// The arguments that compare these arms; without runs if no command line can express them.
    pub(crate) fn of_arms(
        arms: &[Vec<PathBuf>],
        (primary, margin, factor): (Option<String>, Ratio, Vec<String>),
        archive: &ArchiveArgs,
    ) -> Self {
        let is_one_each = arms.iter().all(|runs| runs.len() == 1);
        let (runs, others) = match arms {
            arms if is_one_each => (arms.concat(), Vec::new()),
            [first, second] => (first.clone(), second.clone()),
            _ => (Vec::new(), Vec::new()),
        };
        let archive = archive.clone();
        Self { runs, others, out: None, format: None, primary, margin, factor, archive }
    }
}

/// Renders it, and writes or prints it.
pub(crate) fn run(arguments: &ReportArgs, ui: Ui) -> Outcome {
    if let Some(out) = &arguments.out {
        output::refuse_other(out, &output::REPORT)?;
    }
    let wanted = format(arguments, ui);
    let typed = arms("report", &arguments.runs, &arguments.others)?;
    let arms = called_by_content(typed, &arguments.archive);
    let contents = found(&arms, (&arguments.archive, Detail::All))?;
    let is_one = arms.len() == 1;
    let text = match (&contents[..], is_one) {
        ([of_arm], true) => shown(of_arm, wanted)?,
        _ => compared(arguments, &arms, contents)?.render(wanted, "")?,
    };
    let Some(out) = &arguments.out else { return ui.document(text.trim_end_matches('\n')) };
    output::write(out, &text, &output::REPORT)?;
    ui.note(&format!("report: {}", out.display()));
    Ok(Exit::Done)
}

fn format(arguments: &ReportArgs, ui: Ui) -> Format {
    let by_ending = || {
        let ending = arguments.out.as_deref()?.extension()?.to_str()?;
        Format::from_name(ending).ok()
    };
    let default = if ui.json { Format::Json } else { Format::Html };
    arguments.format.or_else(by_ending).unwrap_or(default)
}

/// The content found for one arm, each file by itself.
pub(crate) fn shown(found: &[(PathBuf, Content)], format: Format) -> Result<String, Refusal> {
    let runs: Option<Vec<&Dated>> =
        found.iter().map(|(_, content)| of_runs(content)).try_fold(Vec::new(), |mut all, runs| {
            all.extend(runs?);
            Some(all)
        });
    if let Some(runs) = runs {
        let records: Vec<&RunRecord> = runs.iter().map(|run| &run.record).collect();
        let subject = match records[..] {
            [one] => Subject::Run(one),
            _ => Subject::Runs(&records),
        };
        return subject.render(format, &drivelab_analysis::run::dates(&runs));
    }
    let [(path, content)] = found else {
        let message = "these are results of different kinds, which one report cannot show";
        return Err(Refusal::request(message).hint("name one of them"));
    };
    Ok(match content {
        Content::Runs(_) => unreachable!("runs were shown before"),
        Content::Jobs(_, records) => {
            Subject::Runs(&records.iter().collect::<Vec<_>>()).render(format, &[])?
        }
        Content::Results(results) => Subject::Results(results).render(format, &[])?,
        Content::Study(kept, kept_ms) => {
            let first = kept.runs.first().map(|run| &run.record);
            let mut more: Vec<String> = first.map(run::place).unwrap_or_default();
            more.extend(kept_ms.map(|ms| format!("kept {}", drivelab_analysis::run::minute(ms))));
            match again::analysed(kept)? {
                Again::Study(result) => Subject::Study(&result).render(format, &more)?,
                Again::Matrix(matrix) => {
                    let cells = again::cell_runs(&kept.runs);
                    Subject::Matrix(&matrix, &cells).render(format, &more)?
                }
            }
        }
        Content::Collection(collected) => {
            let records = collected.records();
            Subject::Runs(&records.iter().collect::<Vec<_>>()).render(format, &[])?
        }
        Content::Bill(bill) => {
            let report = CostReport::of((**bill).clone());
            match format {
                Format::Txt => report.to_text(Look::PLAIN),
                Format::Json => json_text(&report.to_json()),
                Format::Md => report.to_markdown(),
                Format::Html => {
                    notice("The I/O bill of a program", &[], &report.to_text(Look::PLAIN))
                }
                Format::Csv | Format::Svg => {
                    let message = format!("`{}` is the bill of a program", path.display());
                    return Err(Refusal::request(message)
                        .hint("it can be printed with --format html, md, txt or json"));
                }
            }
        }
        Content::Measurement(file, printed) => match format {
            Format::Txt => file.clone(),
            Format::Json => json_text(printed),
            _ => {
                let message = format!("`{}` is a measurement for a model", path.display());
                return Err(Refusal::request(message)
                    .hint("print its file: --format txt, or its figures: --format json"));
            }
        },
    })
}

fn of_runs(content: &Content) -> Option<&[Dated]> {
    match content {
        Content::Runs(runs) => Some(runs),
        _ => None,
    }
}

/// The arms side by side.
pub(crate) struct Compared {
    pub(crate) result: CompareResult,
    runs: Vec<Vec<Dated>>,
    /// The command line that repeats the comparison.
    command: String,
}

impl Compared {
    /// The comparison in a format; `form` stands on its page above the verdict.
    pub(crate) fn render(&self, format: Format, form: &str) -> Result<String, Refusal> {
        let runs = self.runs.iter().map(|runs| runs.iter().map(|run| &run.record).collect());
        let runs: Vec<Vec<&RunRecord>> = runs.collect();
        let about = About { runs: &runs, command: &self.command, form };
        let all: Vec<&Dated> = self.runs.iter().flatten().collect();
        Subject::Comparison(&self.result, about)
            .render(format, &drivelab_analysis::run::dates(&all))
    }
}

/// Compares them.
pub(crate) fn compared(
    arguments: &ReportArgs,
    arms: &[ArmFiles],
    found: Vec<Vec<(PathBuf, Content)>>,
) -> Result<Compared, Refusal> {
    let runs = found.iter().map(|of_arm| {
        let runs = of_arm.iter().filter_map(|(_, content)| of_runs(content)).flatten();
        runs.cloned().collect::<Vec<Dated>>()
    });
    let runs: Vec<Vec<Dated>> = runs.collect();
    let gathered = from_arms(arms, found)?;
    let options = CompareOptions {
        primary: arguments.primary.clone(),
        margin: arguments.margin.to_f64(),
        seed: 1,
        factors: arguments.factor.clone(),
        unpaired: gathered.unpaired().map(str::to_owned),
    };
    let result = comparison::analyse(&gathered.input, &options).map_err(Refusal::request_error)?;
    let command =
        if arguments.runs.is_empty() { String::new() } else { command(&words(arguments)) };
    Ok(Compared { result, runs, command })
}

/// The command line that repeats the comparison, as words.
fn words(arguments: &ReportArgs) -> Vec<String> {
    let shown = |path: &PathBuf| Path::display(path).to_string();
    let mut words = ["drivelab", "compare"].map(String::from).to_vec();
    words.extend(arguments.runs.iter().map(shown));
    if let Some(primary) = &arguments.primary {
        words.extend(["--primary".to_owned(), primary.clone()]);
    }
    words.extend(["--margin".to_owned(), arguments.margin.to_string()]);
    if !arguments.factor.is_empty() {
        words.extend(["--factor".to_owned(), arguments.factor.join(",")]);
    }
    // All words behind `--` are files, so it comes last.
    if !arguments.others.is_empty() {
        words.push("--".to_owned());
        words.extend(arguments.others.iter().map(shown));
    }
    words
}
