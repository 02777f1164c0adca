//! `import` and `export`: results of other tools, in and out.

use std::path::PathBuf;

use clap::Args;
use drivelab_archive::Detail;
use drivelab_core::config::Choice as _;
use drivelab_formats::export::{self, Format};
use drivelab_lab::archive::now_ms;
use drivelab_lab::results::Content;
use drivelab_report::{fio, imported};

use crate::commands::archive::keep::ArchiveArgs;
use crate::exit::Outcome;
use crate::ui::Ui;
use drivelab_core::{Invalid, Refusal};
use drivelab_lab::results;

/// Read another tool's results and say what each number measures; keeps nothing.
///
/// `archive import` keeps them.
///
/// Reads fio (text, terse lines, JSON, JSON+, logs), bonnie++ (CSV and tables), the Phoronix Test
/// Suite, `CrystalDiskMark`, `KDiskMark`, AS SSD, HD Tune, diskspd (text and XML), dd, hdparm,
/// ioping, yabs.sh, bench.sh, `pg_test_fsync`, iostat (text and JSON), vmstat, `fs_mark`, tiotest,
/// blogbench, filebench, iozone, dbench, IOR, mdtest, elbencho, vdbench, ab, wrk, sysbench,
/// pgbench, hyperfine, and histograms of Prometheus; also stored runs of drivelab and results
/// folders of studies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab import bonnie.csv
  drivelab import composite.xml --json
  drivelab import job_lat.1.log --format fio-lat")]
pub(crate) struct ImportArgs {
    /// The file, or `-` for standard input.
    file: PathBuf,
    /// The format, where the text does not show it: bonnie, fio, fio-lat, phoronix, ...
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
}

/// Write results in the format of another tool.
///
/// RUN is a kept run by the beginning of its id, label:NAME or @WHEN; a file of stored runs, the
/// results folder of a study, or a file of another tool. Formats: bonnie (CSV 1.98), phoronix
/// (composite.xml), crystaldiskmark, csv (for `compare --pairs`), markdown, benchstat, parquet (a
/// row per figure, for `DuckDB` or pandas); of a load also fio (its JSON), fio-log (bandwidth of
/// each second) and openmetrics (for Prometheus).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab export old-bonnie.csv --format bonnie | bon_csv2html > page.html
  drivelab export run.json --format phoronix > composite.xml
  drivelab export label:nightly --format benchstat
  drivelab export results/ahci-or-ide --format markdown
  drivelab export label:nightly --format parquet > nightly.parquet")]
pub(crate) struct ExportArgs {
    /// A kept run, label:NAME, stored runs, a results folder, or a file of another tool.
    run: PathBuf,
    /// The format to write.
    #[arg(long, value_name = "FORMAT", value_parser = Wanted::read)]
    format: Wanted,
    /// The format of RUN, where its text does not show it.
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// A form of results.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// A form that any results have.
    Results(Format),
    /// A form that only loads have.
    OfRuns(fn(&fio::Results) -> String),
}

impl Wanted {
    fn read(name: &str) -> Result<Self, Invalid> {
        match name {
            "fio" => Ok(Self::OfRuns(|results| fio::json(results, false))),
            "fio-log" => Ok(Self::OfRuns(fio::log)),
            "openmetrics" | "prometheus" => Ok(Self::OfRuns(fio::openmetrics)),
            name => Format::from_name(name).map(Self::Results),
        }
    }
}

/// The loads among runs, as jobs of one call of fio.
fn loads(found: Vec<Content>) -> Result<fio::Results, Refusal> {
    let mut jobs = Vec::new();
    let mut ended_unix_s = None;
    for content in found {
        let records = match content {
            Content::Runs(runs) => runs.into_iter().map(|run| run.record).collect(),
            Content::Jobs(_, records) => records,
            _ => Vec::new(),
        };
        for record in records {
            ended_unix_s = ended_unix_s.max(record.ended_unix_s);
            jobs.extend(fio::Job::of_record(&record));
        }
    }
    if jobs.is_empty() {
        let wrong = "only a load, as `run` and `fio` make it, has this format";
        return Err(Refusal::request(wrong).hint("name a run: `drivelab history` lists them"));
    }
    let unix_ms = ended_unix_s.map_or_else(now_ms, |seconds| seconds.saturating_mul(1000));
    Ok(fio::Results { unix_ms, global: Vec::new(), jobs, disks: Vec::new() })
}

/// Reads and shows.
pub(crate) fn import(arguments: &ImportArgs, ui: Ui) -> Outcome {
    let content = results::read(&arguments.file, arguments.format.as_deref())?;
    let results = results::imported(&arguments.file, content)?;
    if ui.json {
        ui.result(&imported::json(&results))
    } else {
        ui.result(&imported::text(&results, ui.look()))
    }
}

/// Reads and writes.
pub(crate) fn export(arguments: &ExportArgs, ui: Ui) -> Outcome {
    if ui.json {
        return Err(Refusal::request("`export` writes the format that `--format` names")
            .hint("for JSON use `drivelab import FILE --json`"));
    }
    let found = results::find(
        &arguments.run,
        arguments.from.as_deref(),
        (&arguments.archive.location(), Detail::All),
    )?;
    let format = match arguments.format {
        Wanted::Results(format) => format,
        Wanted::OfRuns(form) => {
            return ui.document(form(&loads(found)?).trim_end_matches('\n'));
        }
    };
    let results = results::all_imported(&arguments.run, found)?;
    let exported = export::write(&results, format)?;
    if !exported.left_out.is_empty() {
        let names = exported.left_out.join(", ");
        ui.warn(&format!("the format `{format}` has no place for: {names}"));
    }
    if exported.binary.is_empty() {
        return ui.document(exported.text.trim_end_matches('\n'));
    }
    ui.binary(&exported.binary)
}
