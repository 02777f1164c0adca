//! `replay`: a recorded trace against a modelled drive.

use std::io::{BufWriter, IntoInnerError, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use drivelab_core::config::Choice as _;
use drivelab_core::record::Latency;
use drivelab_core::{
    AtPath as _, Bytes, Device, Histogram, Op, Refusal, Sectors, Shape, Span, Time, TraceEntry,
};
use drivelab_files::NewFile;
use drivelab_formats::trace::{Entries, Events, Format, LeftOut, Parser, Selection, TraceError};
use drivelab_model::replay::{Loop, Replay, ReplayAnswer};
use drivelab_report::replay::{self, Compared, Course, ReplayResult, Scores};

use crate::commands::completion::{self, Offer};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};
use drivelab_lab::input::{self, Lines};
use drivelab_lab::{interrupt, target};

/// Replay a recorded trace against a modelled drive, in virtual time.
///
/// Formats: `DiskSim` validation and ASCII traces, blkparse text, fio iologs (versions 2 and 3),
/// SPC, and the block traces of MSR Cambridge and of SYSTOR '17. The trace is streamed, so memory
/// does not limit its length, except with --score, which keeps three numbers per request. A drive
/// replays the requests of one device: --device chooses it. Of blkparse, requests are replayed as
/// they were queued (Q); with --score as they were issued to the drive (D), and scored against the
/// times until their completion (C). If the drive does not keep up with the recorded times or
/// refuses a request, its latencies are withheld (exit code 4).
/// `shape:boot`, `shape:defrag`, `shape:copy-small`, `shape:copy-large` and `shape:scan` are no
/// recordings: drivelab makes their requests from --seed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab replay cheetah9LP.trace --drive cheetah9LP.parv --score
  drivelab replay sda.blkparse --drive seagate-st31000333as,controller=ide --times sda.txt
  blkparse sda | drivelab replay - --drive generic-10k --loop closed
  drivelab replay shape:boot --drive generic-5400,controller=ahci")]
pub(crate) struct ReplayArgs {
    /// The trace, `-` for standard input, or `shape:NAME`.
    trace: PathBuf,
    /// The drive: NAME[,key=value...], a profile (.toml) or a `DiskSim` parameter file (.parv).
    #[arg(long, value_name = "DRIVE", value_parser = Offer(completion::drives),
        hide_possible_values = true)]
    drive: String,
    /// Write the time of each request in ms, one per line.
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// Compare the times with those measured on the recorded drive.
    #[arg(long)]
    score: bool,
    /// Write the distributions and their quantiles as a page, or as a picture if FILE ends in .svg
    /// (needs --score).
    #[arg(long, value_name = "FILE", requires = "score")]
    report: Option<PathBuf>,
    /// When requests are issued [default: closed for traces with think times, otherwise open].
    #[arg(long = "loop", value_enum)]
    how: Option<How>,
    /// The format, if the first line does not show it: disksim, disksim-ascii, blkparse, fio, spc,
    /// msr, systor.
    #[arg(long)]
    format: Option<Format>,
    /// The device whose requests are replayed: `8,0` of blkparse, a file of a fio log, a unit of
    /// SPC (ASU) or SYSTOR (LUN), `host.disk` of MSR Cambridge, a number of `DiskSim`.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// The events of blkparse that are replayed: queued or issued [default: issued with --score,
    /// otherwise queued].
    #[arg(long, value_name = "EVENTS")]
    events: Option<Events>,
    /// Seed of the drive and of a shape.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    /// One at a time, with the recorded think times in between.
    Closed,
    /// At the recorded times.
    Open,
}

/// Collects the figures of the completed requests.
struct Sink {
    times: Option<BufWriter<NewFile>>,
    failed_write: Option<std::io::Error>,
    latencies: Histogram,
    requests: u64,
    errors: u64,
    /// The end of the furthest request.
    furthest: Bytes,
    late_max: Span,
    /// The last recorded arrival.
    recorded: Span,
    compared: Option<Vec<Compared>>,
}

impl Sink {
    fn new(times: Option<BufWriter<NewFile>>, is_scored: bool) -> Self {
        Self {
            times,
            failed_write: None,
            latencies: Histogram::new(),
            requests: 0,
            errors: 0,
            furthest: Bytes::ZERO,
            late_max: Span::ZERO,
            recorded: Span::ZERO,
            compared: is_scored.then(Vec::new),
        }
    }

    /// The course of the replay.
    fn course<D: Device>(&self, replay: &Replay<D>, how: Loop) -> Course {
        Course {
            requests: self.requests,
            errors: self.errors,
            furthest: self.furthest,
            is_open: how == Loop::Open,
            unanswered_max: replay.unanswered_max(),
            late_max: self.late_max,
            recorded: self.recorded,
            elapsed: replay.now().since(Time::ZERO),
        }
    }

    fn take(&mut self, answer: &ReplayAnswer) {
        self.requests += 1;
        self.errors += u64::from(answer.result.is_err());
        self.furthest = self.furthest.max(Sectors::new(answer.entry.request.end().get()).bytes());
        self.late_max = self.late_max.max(answer.late);
        // A trace with think times has no arrivals.
        let arrival = answer.entry.at.map_or(Span::ZERO, |at| at.since(Time::ZERO));
        self.recorded = self.recorded.max(arrival);
        self.latencies.record(answer.latency);
        let modelled_ms = ms(answer.latency.ns());
        if let Some(times) = &mut self.times
            && let Err(error) = writeln!(times, "{modelled_ms:.6}")
        {
            // The first error is the cause of the later ones.
            self.failed_write.get_or_insert(error);
        }
        if let (Some(compared), Some(measured)) = (&mut self.compared, answer.entry.measured) {
            let read = answer.entry.request.op == Op::Read;
            compared.push(Compared { read, measured_ms: ms(measured.ns()), modelled_ms });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Replays and prints what came of it.
pub(crate) fn run(arguments: &ReplayArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let profile = target::profile(&spec)?;
    let drive = target::build(&profile, &spec.options, arguments.seed)?;
    let specimen = profile.record(drive.about());
    let mut requests = Requests::open(arguments, drive.capacity().bytes())?;
    if let Some(path) = &arguments.report {
        output::refuse_other(path, report_kind(path))?;
    }
    let times = arguments.times.as_deref().map(create).transpose()?;
    let mut sink = Sink::new(times, arguments.score);
    let Some(first) = requests.next()? else {
        return Err(no_request(&arguments.trace, requests.why_empty()));
    };
    // The first request shows whether the trace has think times.
    let how = match arguments.how {
        Some(How::Closed) => Loop::Closed,
        None if first.think.is_some() => Loop::Closed,
        Some(How::Open) | None => Loop::Open,
    };
    let mut replay = Replay::new(drive, how);
    let mut next = Some(first);
    while let Some(entry) = next {
        replay.push(entry, &mut |answer| sink.take(&answer));
        if interrupt::requested() {
            break;
        }
        next = requests.next()?;
    }
    if !interrupt::requested() {
        replay.finish(&mut |answer| sink.take(&answer));
    }
    let format = requests.format();
    let notes = target::one_drive(&spec, specimen.as_ref()).into_iter().chain(requests.notes());
    let notes = notes.collect();
    // It holds the progress bar, which must be gone before anything is printed.
    drop(requests);
    if let (Some(times), Some(path)) = (sink.times.take(), &arguments.times) {
        let written = match sink.failed_write.take() {
            Some(error) => Err(error),
            None => times.into_inner().map_err(IntoInnerError::into_error),
        };
        written.and_then(NewFile::finish).at_path("write", path)?;
    }
    let withheld = sink.course(&replay, how).withheld();
    let scores = sink.compared.as_deref().map(scores).transpose()?;
    let result = ReplayResult {
        schema: replay::SCHEMA,
        trace: arguments.trace.display().to_string(),
        format,
        drive: spec.to_string(),
        notes,
        specimen,
        how: if how == Loop::Closed { "closed" } else { "open" },
        requests: sink.requests,
        errors: sink.errors,
        elapsed_ns: replay.now().ns(),
        lat_ns: withheld.is_empty().then(|| Latency::of(&sink.latencies)),
        unanswered_max: replay.unanswered_max(),
        late_ns_max: sink.late_max.ns(),
        score: scores.filter(|_| withheld.is_empty()),
        withheld,
    };
    show(arguments, &result, &sink, ui)
}

/// Why there is nothing to replay.
fn no_request(trace: &Path, others: Option<(String, String)>) -> Refusal {
    if interrupt::requested() {
        return input::interrupted(trace);
    }
    if let Some((what, hint)) = others {
        return Refusal::request(format!("`{}` {what}", trace.display())).hint(hint);
    }
    Refusal::request(format!("`{}` contains no requests", trace.display()))
        .hint("check the file name; `drivelab replay --help` lists the formats")
}

fn scores(compared: &[Compared]) -> Result<Scores, Refusal> {
    if compared.is_empty() {
        return Err(Refusal::request("this trace contains no measured times to score against")
            .hint(
                "omit `--score`, or replay a DiskSim validation trace or the issued requests of \
                 blkparse (`--events issued`)",
            ));
    }
    Ok(Scores::of(compared))
}

fn show(arguments: &ReplayArgs, result: &ReplayResult, sink: &Sink, ui: Ui) -> Outcome {
    let is_withheld = !result.withheld.is_empty();
    if let (Some(path), Some(compared), false) = (&arguments.report, &sink.compared, is_withheld) {
        let title = format!("{} on {}", result.trace, result.drive);
        let text = if is_picture(path) {
            replay::svg(&title, compared)
        } else {
            replay::page(result, compared)
        };
        output::write(path, &text, report_kind(path))?;
    }
    let text = if ui.json { replay::json(result) } else { replay::text(result, ui.look()) };
    ui.result(&text)?;
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the requests before the interruption");
    }
    Ok(match (interrupt::requested(), is_withheld) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Inconclusive,
        (false, false) => Exit::Done,
    })
}

fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "svg")
}

fn report_kind(path: &Path) -> &'static output::Kind {
    if is_picture(path) { &output::PICTURE } else { &output::PAGE }
}

fn create(path: &Path) -> Result<BufWriter<NewFile>, Refusal> {
    Ok(BufWriter::with_capacity(1 << 16, output::create(path, &output::TIMES)?))
}

/// The source of the requests.
enum Requests {
    Recorded { trace: Box<Trace>, parser: Box<Parser> },
    Made(std::vec::IntoIter<TraceEntry>),
}

impl Requests {
    fn open(arguments: &ReplayArgs, capacity: Bytes) -> Result<Self, Refusal> {
        let shape = arguments.trace.to_str().and_then(|trace| trace.strip_prefix("shape:"));
        if let Some(name) = shape {
            let shape = Shape::from_name(name)?;
            if arguments.device.is_some() || arguments.events.is_some() {
                return Err(Refusal::request(
                    "`--device` and `--events` select requests of a recorded trace",
                )
                .hint(format!("omit them: shape:{name} is one device's")));
            }
            return Ok(Self::Made(shape.requests(capacity, arguments.seed).into_iter()));
        }
        let trace = Box::new(Trace::open(&arguments.trace)?);
        let parser = Box::new(Parser::with(Selection {
            format: arguments.format,
            device: arguments.device.clone(),
            events: arguments.events,
            measured: arguments.score,
        }));
        Ok(Self::Recorded { trace, parser })
    }

    /// The next request.
    fn next(&mut self) -> Result<Option<TraceEntry>, Refusal> {
        match self {
            Self::Recorded { trace, parser } => trace.next(parser),
            Self::Made(entries) => Ok(entries.next()),
        }
    }

    /// Why a trace that has requests has none that are replayed, and what to do.
    fn why_empty(&self) -> Option<(String, String)> {
        match self {
            Self::Recorded { parser, .. } => parser.why_empty(),
            Self::Made(_) => None,
        }
    }

    /// The notes about the requests that were not replayed.
    fn notes(&self) -> Vec<String> {
        match self {
            Self::Recorded { parser, .. } => notes_of(parser.left_out()),
            Self::Made(_) => Vec::new(),
        }
    }

    /// The format of the trace, as far as it is known.
    fn format(&self) -> String {
        match self {
            Self::Recorded { parser, .. } => {
                parser.format().map(|format| format.to_string()).unwrap_or_default()
            }
            Self::Made(_) => "shape".into(),
        }
    }
}

/// One note for each kind of events that are no replayed requests.
fn notes_of(left_out: LeftOut) -> Vec<String> {
    let LeftOut { others, commands, unmatched, unanswered, failed } = left_out;
    let kinds = [
        (others, "requests of other devices were left out"),
        (commands, "commands that are neither read, write, trim nor flush were left out"),
        (unmatched, "completions are of requests whose issue the trace does not contain"),
        (unanswered, "requests have no completion in the trace, thus no measured time"),
        (failed, "requests failed on the recorded drive: their times are not compared"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    kinds.map(|(count, what)| format!("{count} {what}")).collect()
}

/// A trace being read.
struct Trace {
    path: PathBuf,
    lines: Lines,
    /// The entries of the last line that were not taken yet.
    rest: Entries,
    read: u64,
    has_ended: bool,
    progress: Option<Progress>,
}

/// The bytes read between two moves of the bar.
const STEP: u64 = 1 << 20;

impl Trace {
    fn open(path: &Path) -> Result<Self, Refusal> {
        let lines = Lines::open(path, "read the trace")?;
        let length = if path == Path::new("-") { 0 } else { lines.length() };
        let progress = (length >= STEP).then(|| Progress::steps(length, "replay"));
        Ok(Self {
            path: path.to_owned(),
            lines,
            rest: Entries::default(),
            read: 0,
            has_ended: false,
            progress,
        })
    }

    /// The next request.
    fn next(&mut self, parser: &mut Parser) -> Result<Option<TraceEntry>, Refusal> {
        loop {
            if let Some(entry) = self.rest.next() {
                return Ok(Some(entry));
            }
            let Some((line, length)) = self.lines.next_line()? else {
                if self.has_ended {
                    return Ok(None);
                }
                self.has_ended = true;
                self.rest = parser.end().map_err(|error| unreadable(&self.path, parser, &error))?;
                continue;
            };
            let before = self.read / STEP;
            self.read += length;
            if let Some(progress) = self.progress.as_ref().filter(|_| self.read / STEP > before) {
                progress.at(self.read, "");
            }
            self.rest =
                parser.line(line).map_err(|error| unreadable(&self.path, parser, &error))?;
        }
    }
}

/// Why a line is not understood.
fn unreadable(path: &Path, parser: &Parser, error: &TraceError) -> Refusal {
    let hint = match parser.format() {
        None => "check the file name, or name the format: `--format disksim`, `disksim-ascii`, \
                 `blkparse`, `fio`, `spc`, `msr` or `systor`"
            .to_owned(),
        Some(format) => {
            format!("correct the line; if the format is not `{format}`, give it with `--format`")
        }
    };
    Refusal::request(format!("{}, {error}", path.display())).hint(hint)
}
