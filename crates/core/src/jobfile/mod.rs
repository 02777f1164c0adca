//! Job files as fio reads them: what to run, without a line changed.
//!
//! Every option either does here what it does there, or is accepted because it cannot change a
//! figure, or is refused by name with what to write instead. None is silently ignored.

mod option;
mod section;

use crate::config::ConfigError;
use crate::polling::Polling;
use crate::workload::WorkloadOptions;
use section::Section;

/// One job section, defaults of fio and of `[global]` filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct FileJob {
    /// The section's name.
    pub name: String,
    /// Jobs of one group run together; each `stonewall` begins another.
    pub group: u32,
    /// The file or device.
    pub target: String,
    /// What is asked of it.
    pub workload: WorkloadOptions,
    /// How I/O is done, under drivelab's names; the best there is where absent.
    pub ioengine: Option<&'static str>,
    /// What is polled: `hipri` and `sqthread_poll`.
    pub polling: Polling,
    /// Past the page cache.
    pub direct: bool,
    /// Copies of the job that run together.
    pub numjobs: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The job ends when its region was transferred once, unless its time is up before.
    pub once: bool,
    /// Accepted options that change nothing here, each with the reason.
    pub notes: Vec<String>,
}

/// Reads the job file `text`; `variable` gives the value of `${NAME}`.
///
/// # Errors
/// Names the line and the option that cannot be done, and what to write instead.
pub fn parse(
    file: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<FileJob>, ConfigError> {
    let mut global = Section::global();
    let mut current: Option<Section> = None;
    let mut jobs: Vec<FileJob> = Vec::new();
    let mut group = 0;
    let error = |line: usize, (message, hint): (String, Option<String>)| ConfigError {
        file: file.to_owned(),
        line,
        column: 1,
        message,
        hint,
    };
    let mut close = |section: Option<Section>| -> Result<(), ConfigError> {
        let Some(section) = section else { return Ok(()) };
        group += u32::from(section.stonewall && !jobs.is_empty());
        let line = section.line;
        jobs.push(section.job(group).map_err(|wrong| error(line, wrong))?);
        Ok(())
    };
    let mut in_global = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = expand(line.trim(), variable).map_err(|wrong| error(number, (wrong, None)))?;
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            close(current.take())?;
            in_global = name == "global";
            current = (!in_global).then(|| global.begin(name, number));
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((&line, ""));
        let section = match &mut current {
            Some(section) => section,
            None if in_global => &mut global,
            None => {
                let message = format!("`{line}` stands before the first section");
                return Err(error(number, (message, Some("begin with `[global]`".into()))));
            }
        };
        option::set(section, key.trim(), value.trim()).map_err(|wrong| error(number, wrong))?;
    }
    close(current)?;
    if jobs.is_empty() {
        let hint = Some("add one: `[job]` and below it `rw=randread`".into());
        return Err(error(1, ("the file has no job section".into(), hint)));
    }
    Ok(jobs)
}

/// Puts the values of `${NAME}` in.
fn expand(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            return Err("`${` has no `}`".into());
        };
        let value = variable(name);
        let value = value.ok_or_else(|| format!("`${{{name}}}` is not set in the environment"))?;
        expanded += before;
        expanded += &value;
        rest = behind;
    }
    Ok(expanded + rest)
}

#[cfg(test)]
mod tests;
