//! `[[workload]] command = "..."`, with `[workload.metrics]`.

use drivelab_core::config::{Choice as _, ConfigError, Section};
use drivelab_core::record::{Better, Nature};
use drivelab_core::units::Span;
use drivelab_core::{Invalid, invalid};
use regex_lite::Regex;

use super::vocabulary::Vocabulary;
use crate::command::{CPU, Comma, Command, Metric, Source, Template, WALL};

/// Longer than any run: a command that hangs is ended then.
const TIMEOUT: Span = Span::from_secs(3600);

/// Takes the command of a workload, or `None` where it has none.
pub(super) fn read(
    section: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<Option<Command>, ConfigError> {
    let Some(run) = section.take_with("command", Template::parse)? else { return Ok(None) };
    let format = section.take_with("format", |name| format(name, vocabulary))?;
    let command = Command {
        run,
        prepare: section.take_with("prepare", Template::parse)?,
        check: section.take_with("check", Template::parse)?,
        reset: section.take_with("reset", Template::parse)?,
        timeout: section.take("timeout")?.unwrap_or(TIMEOUT),
        metrics: metrics(section)?,
        format,
        programs: section.list("programs")?.unwrap_or_default(),
        measures: section.take_with("measures", Nature::from_name)?,
    };
    if command.timeout.is_zero() {
        return Err(section.error("`timeout` must be longer than 0"));
    }
    Ok(Some(command))
}

fn format(name: &str, vocabulary: &dyn Vocabulary) -> Result<String, Invalid> {
    let known = vocabulary.formats();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(invalid!("`{name}` is not a known format; there are `{}`", known.join("`, `")))
}

/// `[workload.metrics]`: each by its name.
fn metrics(section: &mut Section) -> Result<Vec<Metric>, ConfigError> {
    let mut metrics = Vec::new();
    for (name, mut section) in section.tables("metrics")? {
        if [WALL, CPU].contains(&name.as_str()) {
            return Err(section.error(format!("`{name}` is measured anyway: use another name")));
        }
        let regex = section.take_with("regex", regex)?;
        let json = section.take_with("json", pointer)?;
        let source = match (regex, json) {
            (Some(regex), None) => Source::Regex(regex),
            (None, Some(pointer)) => Source::Json(pointer),
            _ => {
                let wrong = format!("metric `{name}` needs one of `regex = ` and `json = `");
                return Err(section.error(wrong));
            }
        };
        let unit = section.take("unit")?.unwrap_or_default();
        let Some(better) = section.take_with("better", better)? else {
            let wrong = format!(
                "metric `{name}` does not say which way is better: add `better = \"more\"` or \
                 `better = \"less\"`"
            );
            return Err(section.error(wrong));
        };
        let comma = section.take_with("comma", comma)?;
        section.finish()?;
        metrics.push(Metric { name, source, unit, better, comma });
    }
    Ok(metrics)
}

fn regex(text: &str) -> Result<Regex, Invalid> {
    let regex = Regex::new(text).map_err(|error| format!("`{text}`: {error}"))?;
    // The whole match is group 0: the number needs another one.
    if regex.captures_len() < 2 {
        return Err(invalid!(
            "`{text}` has no group for the number: put parentheses around it, as in `tps = \
             ([0-9.]+)`"
        ));
    }
    Ok(regex)
}

/// A JSON Pointer as it is, `jobs[0].read.iops` as one.
fn pointer(text: &str) -> Result<String, Invalid> {
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    let path = text.strip_prefix('$').unwrap_or(text);
    let steps = path.trim_start_matches('.').split(['.', '[']);
    let steps: Vec<&str> = steps.map(|step| step.trim_end_matches(']')).collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(invalid!(
            "`{text}` is not a path: write `jobs[0].read.iops` or `/jobs/0/read/iops`"
        ));
    }
    // In a pointer (RFC 6901) `~` begins an escape.
    Ok(format!("/{}", steps.join("/").replace('~', "~0")))
}

fn better(text: &str) -> Result<Better, Invalid> {
    match text {
        "more" => Ok(Better::More),
        "less" => Ok(Better::Less),
        _ => Err(invalid!("`{text}` is neither `more` nor `less`")),
    }
}

fn comma(text: &str) -> Result<Comma, Invalid> {
    match text {
        "decimal" => Ok(Comma::Decimal),
        "thousands" => Ok(Comma::Thousands),
        _ => Err(invalid!("`{text}` is neither `decimal` nor `thousands`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_pointer() {
        let check = |text, expected: Result<&str, ()>| {
            assert_eq!(pointer(text).map_err(|_| ()), expected.map(str::to_owned), "{text}");
        };
        check("/jobs/0/read/iops", Ok("/jobs/0/read/iops"));
        check("jobs[0].read.iops", Ok("/jobs/0/read/iops"));
        check("$.results[2].mean", Ok("/results/2/mean"));
        check("a", Ok("/a"));
        check("", Err(()));
        check("a..b", Err(()));
    }
}
