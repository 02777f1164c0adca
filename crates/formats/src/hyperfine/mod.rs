//! hyperfine's results (`--export-json`), versions 1.x.
//!
//! Each command is an arm, and each of its timed runs is a run. The processor times are means over
//! all runs, so only a result without single times has them.

pub mod text;

use std::fmt;

use drivelab_core::csv::{ParseError, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Label, Nature, Phase, Remark, Work};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use crate::found::{FIGURES_MAX, Found, detail, figure, phase};
use crate::json::{First, first, pairs};

#[derive(Deserialize)]
struct Output {
    #[serde(deserialize_with = "first::<FIGURES_MAX, _, _>")]
    results: First<Command>,
}

/// One command with its measurements, in seconds.
#[derive(Deserialize)]
struct Command {
    #[serde(rename = "command")]
    line: String,
    mean: f64,
    #[serde(default, deserialize_with = "first::<FIGURES_MAX, _, _>")]
    times: First<f64>,
    #[serde(default, deserialize_with = "first::<FIGURES_MAX, _, _>")]
    exit_codes: First<Option<i32>>,
    user: Option<f64>,
    system: Option<f64>,
    /// ` threads=4` for each.
    #[serde(default, deserialize_with = "parameters")]
    parameters: String,
}

/// Number of bytes of parameters from which on no further one is kept: names of arms are shorter.
const PARAMETERS_MAX: usize = 1000;

fn parameters<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let mut text = String::new();
    pairs(input, |name, Scalar(value)| {
        if text.len() < PARAMETERS_MAX {
            text.extend([" ", name, "=", &value]);
        }
        Ok(())
    })?;
    Ok(text)
}

/// The value of a parameter, as text.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(AnyScalar)
    }
}

struct AnyScalar;

impl Visitor<'_> for AnyScalar {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }
}

/// True if a text is such a document.
pub fn is_hyperfine(text: &str) -> bool {
    let words = ["\"results\"", "\"command\"", "\"mean\""];
    words.iter().all(|word| text.contains(word)) && document(text).is_some()
}

/// The document, and the number of lines above it: warnings of the commands, where both went to one
/// file.
fn document(text: &str) -> Option<(&str, usize)> {
    let text = text.trim_start_matches('\u{feff}');
    let at = if text.trim_start().starts_with('{') { 0 } else { text.find("\n{")? + 1 };
    Some((&text[at..], text[..at].matches('\n').count()))
}

/// Reads every command of a document.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    // PowerShell's redirection begins a file with a byte order mark.
    let (text, above) = document(text).unwrap_or((text, 0));
    let mut input = serde_json::Deserializer::from_str(text);
    let output = Output::deserialize(&mut input);
    let output = output.map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let what = format!("not a result of hyperfine: {said}");
        let hint = "give the complete file of `--export-json`";
        ParseError::new(error.line() + above, what, hint)
    })?;
    let mut found = Found::new("hyperfine");
    for command in output.results.kept {
        command.read(&mut found);
    }
    found.drop_runs(output.results.more);
    found.finish("check whether every run failed: failed runs are excluded")
}

impl Command {
    fn read(self, found: &mut Found) {
        let name = self.arm();
        let times = &self.times;
        if times.kept.is_empty() && is_time(self.mean) {
            return found.run_of(0, &name, self.work(), vec![self.mean()]);
        }
        let mut has_failed = false;
        found.drop_runs(times.more);
        for (index, time) in times.kept.iter().enumerate() {
            // A command that a signal ended has no exit code (null).
            if self.exit_codes.kept.get(index).is_some_and(|code| *code != Some(0)) {
                has_failed = true;
            } else if is_time(*time) {
                found.run_of(0, &name, self.work(), vec![wall(*time)]);
            }
        }
        if has_failed {
            found.note(format!("Runs of {} failed and are excluded.", quote(&name)));
        }
    }

    /// The command, with its parameters if they are not part of it.
    fn arm(&self) -> String {
        format!("{}{}", self.line, self.parameters)
    }

    fn work(&self) -> Work {
        let mut work = Work::default().with("command", &self.line);
        for parameter in self.parameters.split(' ') {
            if let Some((name, value)) = parameter.split_once('=') {
                work.set(name, value);
            }
        }
        work
    }

    fn mean(&self) -> Phase {
        let mut phase = wall(self.mean);
        for (name, time) in [("wall_time_user", self.user), ("wall_time_system", self.system)] {
            if let Some(time) = time.filter(|time| time.is_finite() && *time >= 0.0) {
                phase.figures.push(detail(name, time, "s", Better::Less));
            }
        }
        let why =
            "the file holds only the mean: the number of runs and their variation are unknown";
        phase.remarks.push(Remark::new(Label::SingleRun, why));
        phase
    }
}

/// True for a time that was measured; that of an empty command, less its shell, may be 0.
fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

fn wall(time: f64) -> Phase {
    phase("wall_time", Nature::Disk, vec![figure("wall_time", time, "s", Better::Less)])
}

#[cfg(test)]
mod tests;
