//! `cost`: what does a program ask of a disk, exactly, and is it more than before?

mod vary;

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_analysis::cost::{Bill, Gate, Limit, SCHEMA, Tolerance, against, lifetime, within};
use drivelab_analysis::run::quoted;
use drivelab_archive::{Detail, Query};
use drivelab_core::{Bytes, Refusal, invalid};
use drivelab_guest::mounted::FileSystem;
use drivelab_lab::archive::{Location, entries, now_ms};
use drivelab_lab::cost::{Cost, limit_value};
use drivelab_lab::results::{self, Content};
use drivelab_lab::{input, stage::kernel};
use drivelab_report::cost::{CostReport, SettingsReport};
use drivelab_report::text::json_text;
use drivelab_study::cost::CostFile;

use self::vary::Varied;
use crate::commands::archive::keep::KeepArgs;
use crate::commands::completion;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};

/// Count what a program asks of a disk, exactly: requests, bytes, flushes, and for whom.
///
/// The command runs under a real Linux kernel, in virtual time, on modelled drives. Its bill has
/// every request from its beginning until what it left in memory is written, each with the process,
/// system call and file behind it, and the bytes written layer by layer. Making and mounting the
/// file system, `--prepare` and the guest's boot are not in it. The same program has the same bill,
/// byte for byte, on any machine, however busy.
///
/// COMMAND is one word for a shell, several words, or a TOML file with the keys below. It starts in
/// the root of an empty file system, as the only user, without a network.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  drivelab cost --programs sqlite3 \"sqlite3 db 'create table t(x); insert into t values(1)'\"
  drivelab cost --programs ./app --files /etc/app.conf --filesystem xfs -- app --once
  drivelab cost app.toml --json > base.json
  drivelab cost app.toml --against base.json --report comment.md
  drivelab cost app.toml --label app --commit 3f2c1a; drivelab history --metric flushes
  drivelab cost app.toml --limit flushes=300 --limit write_bytes=4M --per-hour 60
  drivelab cost --vary 'filesystem=ext4|xfs|btrfs' --vary 'rows=10|100' 'app --rows {rows}'

Metrics: reads, read_bytes, writes, write_bytes, discards, discard_bytes, flushes, fua, data_bytes,
metadata_bytes, journal_bytes, syncs (calls), changes (calls that change names or sizes).

Keys of the file (required: command):
  command          the command, for a shell
  prepare          shell commands before it, which are in no bill
  programs         programs of this machine to have in the guest, with their libraries
  [files]          files and folders to have in the guest: \"/app.conf\" = \"app.conf\"
  filesystem       ext4, xfs or btrfs [ext4]; mount_options, size [2G]
  drives           classes or NAME[,key=value...]; the first one counts [all classes]
  memory, seed     memory of a guest [512M], and the seed of its chance [1]
  normalise        patterns of names that change from run to run: [\"tmp*\"]
  stacks           record the functions that each call came from [false]
  processor_limit  processor time that a guest may take [10m]
  [limits]         the highest value of metrics: flushes = 300
  tolerance        the accepted increase over the base, as in \"1%\" [0%]

Exit codes: 0 no more than allowed, 1 more than the base or a limit, 2 the command failed or the
request is wrong, 3 no kernel (drivelab guest setup), 4 more in one run and not in another,
130 interrupted.")]
pub(crate) struct CostArgs {
    /// The command, or a TOML file; several words, or words that begin with a dash, follow `--`.
    #[arg(required = true)]
    command: Vec<String>,

    /// Programs of this machine to have in the guest, with their libraries.
    #[arg(long, value_name = "F,...", value_delimiter = ',')]
    programs: Vec<String>,

    /// A file or folder to have in the guest, under the same path or under INSIDE; repeatable.
    #[arg(long, value_name = "[INSIDE=]PATH")]
    files: Vec<String>,

    /// Shell commands before the command, which are in no bill.
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// The file system: ext4, xfs or btrfs [default: ext4].
    #[arg(long, value_name = "FS", value_parser = completion::choice::<FileSystem>(),
        hide_possible_values = true)]
    filesystem: Option<FileSystem>,

    /// Its mount options, separated by commas.
    #[arg(long, value_name = "OPTIONS")]
    mount_options: Option<String>,

    /// Its size [default: 2G].
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,

    /// Drives: sata-consumer, nvme-consumer, datacenter, hdd, sd-card, or NAME[,key=value...];
    /// repeatable. The requests are those of the first one [default: all classes].
    #[arg(long, value_name = "DRIVE")]
    drive: Vec<String>,

    /// Drives of these classes, in one word: hdd,sd-card.
    #[arg(long, value_name = "CLASS,...", value_delimiter = ',', conflicts_with = "drive")]
    drives: Vec<String>,

    /// The memory of a guest [default: 512M].
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,

    /// The seed of what differs between two machines that are set up alike; the second run has the
    /// next one [default: 1].
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// A pattern of names that change from run to run, such as `tmp*`; repeatable.
    #[arg(long, value_name = "PATTERN", alias = "normalize")]
    normalise: Vec<String>,

    /// Record each system call with the functions that it came from. Programs need their symbols,
    /// or debug files of the distribution.
    #[arg(long)]
    stacks: bool,

    /// Compare with this bill, which `--json` wrote earlier, or with a kept one.
    #[arg(long, value_name = "BASE.json|RUN")]
    against: Option<PathBuf>,

    /// The highest value of a metric; repeatable.
    #[arg(long, value_name = "METRIC=N")]
    limit: Vec<String>,

    /// The accepted increase over the base [default: 0%].
    #[arg(long, value_name = "P%")]
    tolerance: Option<String>,

    /// Runs of the command in an hour, for the lifetime of flash.
    #[arg(long, value_name = "N")]
    per_hour: Option<f64>,

    /// Make a bill under each value of a setting: filesystem, mount-options, size, memory, or a
    /// name that the command has in braces; repeatable, for all combinations.
    #[arg(long, value_name = "NAME=V|V...", conflicts_with_all = ["against", "limit", "report"])]
    vary: Vec<Varied>,

    /// Write the bill as Markdown, for a comment, to this file.
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,

    /// The name of the bill in the archive.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    #[command(flatten)]
    keep: KeepArgs,
}

/// The request, after all that can be checked without a guest.
#[derive(Debug)]
struct Asked {
    file: CostFile,
    folder: PathBuf,
    limits: Vec<Limit>,
    tolerance: Tolerance,
    base: Option<Bill>,
    per_hour: Option<f64>,
    report: Option<PathBuf>,
    varied: Vec<Varied>,
    label: Option<String>,
    keep: KeepArgs,
}

/// Runs the command and makes its bill out.
pub(crate) fn run(arguments: CostArgs, ui: Ui) -> Outcome {
    let asked = Asked::try_from(arguments)?;
    if !asked.varied.is_empty() {
        return under_settings(&asked, ui);
    }
    let cost = Cost::new(&asked.file, &asked.folder)?;
    let progress = Progress::steps(cost.guests() as u64, "guests");
    let bill = cost.bill(&progress.control())?;
    drop(progress);
    let Some(bill) = bill else {
        ui.warn("interrupted before the bill was made out: no result");
        return Ok(Exit::Interrupted);
    };
    let report = CostReport {
        gate: asked.gate(&bill)?,
        lifetimes: asked.per_hour.map_or_else(Vec::new, |rate| lifetime(&bill, rate)),
        per_hour: asked.per_hour,
        bill,
    };
    let text = if ui.json { json_text(&report.to_json()) } else { report.to_text(ui.look()) };
    ui.result(&text)?;
    if let Some(path) = &asked.report {
        output::write(path, report.to_markdown(), &output::REPORT)?;
        ui.note(&format!("report: {}", path.display()));
    }
    let kept = asked.keep.keep(entries::bill(&report.bill, asked.label.as_ref()), ui);
    let answered = report.gate.as_ref().map_or(Exit::Done, answer);
    Ok(if answered == Exit::Done { kept } else { answered })
}

/// Makes the bills out under each combination of settings.
fn under_settings(asked: &Asked, ui: Ui) -> Outcome {
    let variants = vary::variants(&asked.file, &asked.varied)?;
    // Before the first guest, not between two of them.
    let costs: Vec<Cost> = variants
        .iter()
        .map(|variant| Cost::new(&variant.file, &asked.folder))
        .collect::<Result<_, _>>()?;
    let (all, mut bills, mut end) = (variants.len(), Vec::new(), Ok(Exit::Done));
    for (variant, cost) in variants.into_iter().zip(costs) {
        ui.note(&format!("bill {} of {all}: {}", bills.len() + 1, variant.values.join(", ")));
        let progress = Progress::steps(cost.guests() as u64, "guests");
        let bill = cost.bill(&progress.control());
        drop(progress);
        let bill = bill.map_err(|refusal| {
            refusal.context(format_args!("there is no bill for {}", variant.values.join(", ")))
        });
        let bill = match bill {
            Ok(Some(bill)) => bill,
            Ok(None) => {
                ui.warn("interrupted: there are bills only for the settings before");
                end = Ok(Exit::Interrupted);
                break;
            }
            Err(refusal) => {
                end = Err(refusal);
                break;
            }
        };
        if asked.keep.keep(entries::bill(&bill, asked.label.as_ref()), ui) != Exit::Done {
            end = Ok(Exit::CannotHere);
        }
        let lifetimes = asked.per_hour.map_or_else(Vec::new, |rate| lifetime(&bill, rate));
        let report = CostReport { gate: None, lifetimes, per_hour: asked.per_hour, bill };
        bills.push((variant.values, report));
    }
    if bills.is_empty() {
        return end;
    }
    let names = vary::names(&asked.varied);
    let report = SettingsReport { command: asked.file.command.clone(), names, bills };
    let text = if ui.json { json_text(&report.to_json()) } else { report.to_text(ui.look()) };
    ui.result(&text)?;
    end
}

/// The exit code of a gate.
fn answer(gate: &Gate) -> Exit {
    if gate.is_exceeded() {
        Exit::No
    } else if gate.is_unclear() {
        Exit::Inconclusive
    } else {
        Exit::Done
    }
}

impl Asked {
    /// The answer of the gate, where one was asked for.
    fn gate(&self, bill: &Bill) -> Result<Option<Gate>, Refusal> {
        if self.base.is_none() && self.limits.is_empty() {
            return Ok(None);
        }
        let mut gate = within(&self.limits, bill);
        if let Some(base) = &self.base {
            let compared = against(base, bill, self.tolerance);
            gate.join(compared.map_err(|failure| {
                Refusal::request_error(failure).hint("make a new base: --json > base.json")
            })?);
        }
        Ok(Some(gate))
    }
}

impl TryFrom<CostArgs> for Asked {
    type Error = Refusal;

    fn try_from(arguments: CostArgs) -> Result<Self, Refusal> {
        let (mut file, folder) = read(&arguments.command)?;
        let mut limits: Vec<Limit> = Vec::new();
        let of_line = arguments.limit.iter().map(|text| {
            let halves = text.split_once('=');
            halves.ok_or_else(|| invalid!("`{text}` is not METRIC=N, such as `flushes=300`"))
        });
        let of_line = of_line.collect::<Result<Vec<_>, _>>().map_err(Refusal::request_error)?;
        let of_file = file.limits.iter().map(|(metric, text)| (metric.as_str(), text.as_str()));
        for (metric, text) in of_file.chain(of_line) {
            let limit = Limit::new(metric, 0)
                .and_then(|limit| Ok(Limit { most: limit_value(metric, text)?, ..limit }));
            let limit = limit.map_err(Refusal::request_error)?;
            // The later one counts: an option replaces the file's.
            limits.retain(|earlier| earlier.metric != limit.metric);
            limits.push(limit);
        }
        let per_hour = arguments.per_hour;
        if per_hour.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            let message = "`--per-hour` is a number above 0, and at most 1e9";
            return Err(Refusal::request(message).hint("once a day is 0.0417"));
        }
        let tolerance = arguments.tolerance.as_ref().or(file.tolerance.as_ref());
        let tolerance = tolerance.map_or(Ok(Tolerance::default()), |text| Tolerance::parse(text));
        let tolerance = tolerance.map_err(Refusal::request_error)?;
        let (label, keep) = (arguments.label.clone(), arguments.keep.clone());
        keep.check(label.as_ref())?;
        let location = keep.location();
        let base = arguments.against.as_deref().map(|base| read_base(base, &location));
        let base = base.transpose()?;
        let report = arguments.report.clone();
        if let Some(path) = &report {
            // Before the work is done, not after it.
            output::refuse_other(path, &output::REPORT)?;
        }
        let varied = arguments.vary.clone();
        if !(varied.is_empty() || file.limits.is_empty()) {
            let message = "the limits of the file are for one bill, not for those of `--vary`";
            return Err(Refusal::request(message).hint("leave out `[limits]`, or `--vary`"));
        }
        override_with(&mut file, arguments)?;
        Ok(Self { file, folder, limits, tolerance, base, per_hour, report, varied, label, keep })
    }
}

/// Reads the command: one word for a shell, several words, or a file.
fn read(words: &[String]) -> Result<(CostFile, PathBuf), Refusal> {
    let [one] = words else {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        return Ok((CostFile::new(words.join(" ")), PathBuf::new()));
    };
    let path = Path::new(one);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok((CostFile::new(one.clone()), PathBuf::new()));
    }
    let file = CostFile::parse(one, &input::text(path, input::COST)?)?;
    Ok((file, path.parent().unwrap_or(Path::new("")).to_owned()))
}

/// Makes a path absolute: options are relative to the working folder, keys of a file to its own.
fn here(path: &str) -> Result<String, Refusal> {
    let path = std::path::absolute(path).map_err(Refusal::machine_error)?;
    Ok(path.display().to_string())
}

/// Replaces what the options say, and adds what they add.
fn override_with(file: &mut CostFile, arguments: CostArgs) -> Result<(), Refusal> {
    for program in arguments.programs {
        let is_path = Path::new(&program).components().count() > 1;
        file.programs.push(if is_path { here(&program)? } else { program });
    }
    for text in arguments.files {
        let (inside, outside) = match text.split_once('=') {
            Some((inside, outside)) => (inside.to_owned(), here(outside)?),
            None => (here(&text)?, here(&text)?),
        };
        file.files.push((inside, outside));
    }
    // Files are packed for the guest: `..` would lead out of its root.
    if let Some((path, _)) =
        file.files.iter().find(|(path, _)| !path.starts_with('/') || path.contains(".."))
    {
        let message = format!("`{path}` is not an absolute path in the guest");
        return Err(Refusal::request(message).hint("write `--files /app.conf=app.conf`"));
    }
    file.prepare = arguments.prepare.unwrap_or_else(|| std::mem::take(&mut file.prepare));
    if let Some(kind) = arguments.filesystem {
        file.filesystem = kind.to_string();
    }
    if let Some(options) = arguments.mount_options {
        file.mount_options = kernel::mount_options(&options).map_err(Refusal::request_error)?;
    }
    for named in [arguments.drive, arguments.drives] {
        if !named.is_empty() {
            file.drives = named;
        }
    }
    file.size = arguments.size.unwrap_or(file.size);
    file.memory = arguments.memory.unwrap_or(file.memory);
    file.seed = arguments.seed.unwrap_or(file.seed);
    file.normalise.extend(arguments.normalise);
    file.stacks |= arguments.stacks;
    Ok(())
}

/// Reads an earlier bill: a file, or one that is kept.
fn read_base(path: &Path, archive: &Location) -> Result<Bill, Refusal> {
    let typed = path.to_str().filter(|_| !path.exists()).unwrap_or_default();
    if Query::read(typed, now_ms())?.is_some() {
        let found = results::find(path, None, (archive, Detail::All))?;
        return match <[Content; 1]>::try_from(found) {
            Ok([Content::Bill(bill)]) => Ok(*bill),
            Ok(_) => Err(Refusal::request(format!("`{typed}` is not the bill of a program"))
                .hint("list them: drivelab history --metric flushes")),
            Err(several) => {
                let message = format!("`{typed}` means {} entries", several.len());
                Err(Refusal::request(message).hint("name one: drivelab history lists them"))
            }
        };
    }
    let text = input::text(path, input::BILL)?;
    let bill: Option<Bill> = serde_json::from_str(&text).ok();
    bill.filter(|bill| bill.schema == SCHEMA).ok_or_else(|| {
        let message = format!("`{}` is not a bill of `drivelab cost --json`", path.display());
        Refusal::request(message).hint("make one: drivelab cost --json COMMAND > base.json")
    })
}
