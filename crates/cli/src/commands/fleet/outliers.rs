//! `fleet outliers`: disks that differ from their peers, and settings that drifted apart.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_analysis::digest::Common;
use drivelab_analysis::fleet::{Collection, Fleet, FleetOptions, FleetResult};
use drivelab_archive::{AT_ONCE, Archive, Digested, Filter, RunId, since};
use drivelab_core::config::Choice as _;
use drivelab_core::record::Origin;
use drivelab_core::units::Ratio;
use drivelab_core::{AtPath as _, Invalid, Refusal, shown};
use drivelab_report::fleet::{self, Links};
use drivelab_report::publish::Format;
use drivelab_report::text::{Look, for_terminal, json_text};
use drivelab_stats::FALSE_DISCOVERY_MAX;

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::completion;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::Ui;
use drivelab_lab::archive::now_ms;
use drivelab_lab::results::{self, Digests, Shared};

/// The look of text in a file.
const LOOK: Look = Look::PLAIN;
/// The metric of a load that every drive has.
const METRIC: &str = "iops";

/// Find disks that differ from their peers, and settings that drifted apart.
///
/// Peers are disks of the same model, attached in the same way, that did the same work. A disk is
/// reported if its figure differs from theirs by more than the margin and more than chance
/// explains; of all reported disks the expected share of false alarms is at most the false
/// discovery rate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab fleet outliers
  drivelab fleet outliers --metric lat_p99_ns --margin 20%
  drivelab fleet outliers --since 7d --out findings/       a page for each finding, and a list
  drivelab fleet outliers --out fleet.html
  drivelab fleet outliers --json --strict                  exit code 1 if a disk differs")]
pub(super) struct OutliersArgs {
    /// The figure by which disks are compared.
    #[arg(long, value_name = "NAME", default_value = METRIC)]
    metric: String,
    /// Smallest difference from the peers that matters.
    #[arg(long, default_value = "5%")]
    margin: Ratio,
    /// Share of the reported disks that may be false alarms, at most 20 %.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = rate)]
    fdr: Ratio,
    /// What was collected at or after this time: `2026-11-23`, `7d`, `12h`, `today`.
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    since: String,
    /// What was collected before this time.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// What was collected under this label.
    #[arg(long)]
    label: Option<String>,
    /// Hosts with a drive whose model contains this text.
    #[arg(long, value_name = "TEXT")]
    drive: Option<String>,
    /// Write a folder with a page for each finding, or one file, by its ending: html, md, csv, json
    /// or txt.
    #[arg(long, value_name = "DIR|FILE")]
    out: Option<PathBuf>,
    /// The format of what is printed, or of the file.
    #[arg(long, value_name = "FORMAT", value_parser = completion::choice::<Format>(),
        hide_possible_values = true)]
    format: Option<Format>,
    /// Exit with 1 if a disk differs.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    archive: ArchiveArgs,
}

fn rate(text: &str) -> Result<Ratio, Invalid> {
    let rate: Ratio = text.parse()?;
    if rate == Ratio::ZERO || rate.to_f64() > FALSE_DISCOVERY_MAX {
        return Err("a false discovery rate is above 0 and at most 20%".into());
    }
    Ok(rate)
}

/// Analyses what was collected, and prints or writes it.
pub(super) fn run(arguments: &OutliersArgs, ui: Ui) -> Outcome {
    let destination =
        arguments.out.as_deref().map(|out| Destination::of(out, arguments.format)).transpose()?;
    if let Some(Destination::File(file, _)) = &destination {
        output::refuse_other(file, &output::REPORT)?;
    }
    let archive = results::renewed(arguments.archive.open_to_read()?);
    let filter = arguments.filter()?;
    let result = found(&archive, &filter, &arguments.metric, arguments.options())?;
    let command = arguments.command();
    match destination {
        None => {
            print(&result, arguments.format, &command, ui)?;
        }
        Some(Destination::File(file, format)) => {
            output::write(&file, rendered(&result, format, &command)?, &output::REPORT)?;
            ui.note(&format!("report: {}", file.display()));
        }
        Some(Destination::Folder(folder)) => {
            pages(&result, &folder, &command)?;
            ui.note(&format!("report: {}", folder.join(INDEX).display()));
        }
    }
    let differs = arguments.strict && !result.found.is_empty();
    Ok(if differs { Exit::No } else { Exit::Done })
}

/// The list of the pages of a folder.
const INDEX: &str = "index.html";

/// The destination of the report.
enum Destination {
    Folder(PathBuf),
    File(PathBuf, Format),
}

impl Destination {
    fn of(out: &Path, format: Option<Format>) -> Result<Self, Refusal> {
        let ending = out.extension().and_then(|ending| ending.to_str());
        let format = match (format, ending) {
            (Some(format), _) => format,
            (None, None) => return Ok(Self::Folder(out.to_owned())),
            (None, Some(_)) if out.is_dir() => return Ok(Self::Folder(out.to_owned())),
            (None, Some(ending)) => Format::from_name(ending)?,
        };
        Ok(Self::File(out.to_owned(), format))
    }
}

impl OutliersArgs {
    fn options(&self) -> FleetOptions {
        FleetOptions { margin: self.margin.to_f64(), false_discovery: self.fdr.to_f64() }
    }

    fn filter(&self) -> Result<Filter, Refusal> {
        let when = |text: &str| since(text, now_ms()).map_err(Refusal::request);
        Ok(Filter {
            since_ms: Some(when(&self.since)?),
            until_ms: self.until.as_deref().map(when).transpose()?,
            label: self.label.clone(),
            drive: self.drive.clone(),
            ..Filter::default()
        })
    }

    /// The command line that asks the same again.
    fn command(&self) -> String {
        let mut words = vec!["drivelab fleet outliers".to_owned()];
        let mut option = |name: &str, value: Option<&str>| {
            let value = value.map(drivelab_analysis::run::quoted);
            words.extend(value.map(|value| format!("--{name} {value}")));
        };
        option("metric", Some(&self.metric).filter(|it| *it != METRIC).map(String::as_str));
        option("margin", Some(&self.margin.to_string()));
        option("fdr", Some(&self.fdr.to_string()));
        option("since", Some(&self.since));
        option("until", self.until.as_deref());
        option("label", self.label.as_deref());
        option("drive", self.drive.as_deref());
        words.join(" ")
    }
}

/// Judges the hosts of a fleet by the runs in an archive.
fn found(
    archive: &Archive,
    filter: &Filter,
    metric: &str,
    options: FleetOptions,
) -> Result<FleetResult, Refusal> {
    let filter = Filter { origin: Some(Origin::Fleet), ..filter.clone() };
    let ids = archive.ids(&filter)?;
    if ids.is_empty() {
        return Err(Refusal::request("nothing was collected from hosts in this time")
            .hint("collect: drivelab fleet collect HOST...; or look farther back: --since 365d"));
    }
    let mut fleet = Fleet::new(metric);
    let mut reader = Digests::default();
    for ids in ids.chunks(AT_ONCE) {
        let mut parts = archive.digests_of_parts(ids)?;
        archive.each_digest(ids, |kept| {
            let runs = parts.remove(&kept.id).unwrap_or_default();
            match collection(&mut reader, &kept, &runs) {
                Some(collection) => fleet.add(&collection),
                None => fleet.add(&recorded(archive, kept.id)?),
            }
            Ok::<_, Refusal>(())
        })?;
    }
    Ok(drivelab_analysis::fleet::analyse(&fleet, options))
}

/// A collection by the digests of it and of its runs; `None` where one is of another version.
fn collection(reader: &mut Digests, kept: &Digested, runs: &[Digested]) -> Option<Collection> {
    let Shared::Other(common) = reader.shared(kept.digest.as_ref()?)? else { return None };
    let Common::Collection { host, boot, drives } = &*common else { return None };
    let runs = runs.iter().map(|run| reader.run(run)).collect::<Option<Vec<_>>>()?;
    let (host, boot, drives) = (host.clone(), boot.clone(), drives.clone());
    Some(Collection { host, time_ms: kept.time_ms, boot, drives, runs })
}

/// The same by the records.
fn recorded(archive: &Archive, id: RunId) -> Result<Collection, Refusal> {
    let whole = archive.whole(id)?;
    let collected = results::collected(&whole).map_err(|why| {
        Refusal::machine(format!("kept run {}: {why}", whole.id))
            .hint("see what else is damaged: drivelab archive check")
    })?;
    Ok(collected.compared(whole.time_ms))
}

/// The page of the viewer, below its form.
#[cfg(feature = "view")]
pub(crate) fn page(
    archive: &Archive,
    filter: &Filter,
    metric: Option<&str>,
    form: &str,
) -> Result<String, Refusal> {
    let options = FleetOptions { margin: 0.05, false_discovery: 0.05 };
    let metric = metric.unwrap_or(METRIC);
    let result = found(archive, filter, metric, options)?;
    let command = format!(
        "drivelab fleet outliers --metric {} --margin 5% --fdr 5%",
        drivelab_analysis::run::quoted(metric)
    );
    Ok(fleet::page(&result, Links::Parts, &command, form))
}

fn print(result: &FleetResult, format: Option<Format>, command: &str, ui: Ui) -> Outcome {
    match format {
        None if ui.json => ui.result(&json_text(&fleet::json(result))),
        None => ui.result(fleet::text(result, ui.look()).trim_end_matches('\n')),
        Some(format) => ui.document(rendered(result, format, command)?.trim_end_matches('\n')),
    }
}

fn rendered(result: &FleetResult, format: Format, command: &str) -> Result<String, Refusal> {
    Ok(match format {
        Format::Html => fleet::page(result, Links::Parts, command, ""),
        Format::Md => shown(&fleet::markdown(result)).into_owned(),
        Format::Csv => fleet::csv(result),
        Format::Json => json_text(&fleet::json(result)),
        Format::Txt => for_terminal(&fleet::text(result, LOOK), false),
        Format::Svg => {
            return Err(Refusal::request("a fleet has no single picture")
                .hint("write a page, which has one for each disk: --format html"));
        }
    })
}

/// A page for each finding and their list.
fn pages(result: &FleetResult, folder: &Path, command: &str) -> Result<(), Refusal> {
    let folder = drivelab_files::Folder::make(folder).at_path("create", folder)?;
    for (index, found) in result.found.iter().enumerate() {
        let page = fleet::finding_page(result, found, command);
        output::write_in(&folder, &fleet::file_name(index, found), page, &output::REPORT)?;
    }
    let index = fleet::page(result, Links::Pages, command, "");
    output::write_in(&folder, INDEX, index, &output::REPORT)
}
