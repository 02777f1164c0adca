//! CSV of format 1.98, as bonnie++ 2.00 writes it and its converters read it.

use drivelab_core::Refusal;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Phase};

use super::column::{self, FILE_PHASES, Kind, PHASES};
use super::layout::OPTIONS;
use super::row::TOO_FAST;
use crate::exported::Exported;

/// The version that the converters of bonnie++ 2.00 insist on.
const FORMAT: &str = "1.98";

/// Writes one line per run. Only figures of bonnie++'s phases have a column.
///
/// # Errors
/// No figure has one.
pub fn write(results: &Imported) -> Result<Exported, Refusal> {
    let mut exported = Exported::default();
    let mut is_empty = true;
    for run in &results.runs {
        let figures: Vec<Figure> = run.phases.iter().flat_map(Phase::metrics).collect();
        let line = Line { run, figures: &figures };
        for figure in figures.iter().filter(|figure| !has_column(&figure.name)) {
            exported.leave_out(&figure.name);
        }
        is_empty &= figures.iter().all(|figure| !has_column(&figure.name));
        // The converters read one run a line, without a header.
        exported.text += &(line.fields().join(",") + "\n");
    }
    if is_empty {
        let message = "no figure has a column in bonnie++'s CSV: they are called `put_block`, \
                       `seeks`, `seq_create` and so on; export these results as csv, markdown or \
                       phoronix";
        return Err(Refusal::request(message));
    }
    Ok(exported)
}

fn has_column(name: &str) -> bool {
    PHASES.iter().flat_map(column::parts).any(|part| part.name == name)
}

struct Line<'a> {
    run: &'a ImportedRun,
    figures: &'a [Figure],
}

impl Line<'_> {
    fn fields(&self) -> Vec<String> {
        let version = match self.option("bonnie_version") {
            version if version.is_empty() => "2.00a".to_owned(),
            version => version,
        };
        let mut fields = vec![FORMAT.to_owned(), version, plain(&self.run.arm)];
        fields.extend(OPTIONS.iter().map(|name| match self.option(name) {
            // `-c` was not given; the format requires a number.
            concurrency if *name == "concurrency" && concurrency.is_empty() => "1".to_owned(),
            value => value,
        }));
        fields.extend((0..FILE_PHASES).flat_map(|index| self.rate_and_load(index)));
        fields.extend(["num_files", "max_size", "min_size"].map(|name| self.option(name)));
        // If the chunk size is known both have their columns; otherwise directories are in the
        // second one, as in bonnie++ itself.
        let (dirs, chunk) = (self.option("num_dirs"), self.option("file_chunk_size"));
        fields.extend(if chunk.is_empty() { [chunk, dirs] } else { [dirs, chunk] });
        fields.extend((FILE_PHASES..PHASES.len()).flat_map(|index| self.rate_and_load(index)));
        fields.extend((0..PHASES.len()).map(|index| self.latency(index)));
        fields
    }

    fn option(&self, name: &str) -> String {
        self.run.setup.get(name).map_or_else(String::new, |value| plain(value))
    }

    fn value(&self, index: usize, kind: Kind) -> Option<f64> {
        let part = column::parts(&PHASES[index]).into_iter().find(|part| part.kind == kind)?;
        let figure = self.figures.iter().find(|figure| figure.name == part.name)?;
        Some(figure.value * scale(&figure.unit, part.unit))
    }

    fn rate_and_load(&self, index: usize) -> [String; 2] {
        let too_fast = self.run.setup.get(TOO_FAST).map_or("", String::as_str);
        if too_fast.split(", ").any(|name| name == PHASES[index].name) {
            return ["+++++".to_owned(), "+++".to_owned()];
        }
        let is_seeks = PHASES[index].name == "seeks";
        let rate = self.value(index, Kind::Rate).map_or_else(String::new, |rate| match rate {
            // Few seeks are lost by rounding, so bonnie++ prints a decimal.
            rate if is_seeks && rate < 1000.0 => format!("{rate:.1}"),
            rate => format!("{rate:.0}"),
        });
        let cpu = self.value(index, Kind::Cpu);
        [rate, cpu.map_or_else(String::new, |cpu| format!("{:.0}", cpu.floor()))]
    }

    fn latency(&self, index: usize) -> String {
        // Thresholds and rounding of bonnie++'s own output, whose columns are narrow.
        match self.value(index, Kind::Latency) {
            None => String::new(),
            Some(us) if us > 99_999_999.0 => format!("{:.0}s", (us / 1e6).floor()),
            Some(us) if us > 99_999.0 => format!("{:.0}ms", (us / 1e3).floor()),
            Some(us) => format!("{:.0}us", us.floor()),
        }
    }
}

/// The factor from one unit to another: bonnie++'s own, or those of drivelab's runs.
fn scale(from: &str, to: &str) -> f64 {
    match (from, to) {
        ("MiB/s", "KiB/s") => 1024.0,
        ("B/s", "KiB/s") => 1.0 / 1024.0,
        ("ns", "us") => 1e-3,
        ("ms", "us") => 1e3,
        ("s", "us") => 1e6,
        _ => 1.0,
    }
}

/// A field without characters that would end it.
fn plain(text: &str) -> String {
    text.replace([',', '\n', '\r', '"'], "_")
}
