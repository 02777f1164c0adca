//! Reads unchanged job files of fio.
//!
//! Every option either has the same effect as in fio, or is accepted because it cannot change a
//! figure, or is refused by name with an alternative. None is silently ignored. The default of an
//! absent option is fio's, not drivelab's.

mod command;
mod extent;
mod file_job;
mod names;
mod number;
mod option;
mod problem;
mod section;

pub use extent::{Extent, ExtentError};
pub use file_job::FileJob;
pub use option::names;

use drivelab_core::config::ConfigError;
use drivelab_core::{JOBS_MAX, Refusal};
use problem::Problem;
use section::Section;

/// Maximum number of sections of a file; each is a separate run, or begins with others.
const SECTIONS_MAX: usize = 4096;
/// Longest line, before and after variables are expanded.
const LINE_BYTES_MAX: usize = 16 << 10;

/// Reads the job file `text`, or fio's command lines in it; `variable` returns the value of
/// `${NAME}`, and of the keywords `$ncpus`, `$pagesize` and `$mb_memory`.
pub fn parse(
    file: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<FileJob>, ConfigError> {
    jobs(text, variable).map_err(|problem| problem.of(file))
}

fn jobs(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<FileJob>, Problem> {
    let mut jobs = Vec::new();
    if let Some(commands) = command::commands(text)? {
        for lines in commands {
            // Commands run in sequence.
            Reader::new(&mut jobs, true).read(&lines, variable)?;
        }
    } else {
        let lines: Vec<_> = (1..).zip(text.lines().map(str::to_owned)).collect();
        Reader::new(&mut jobs, false).read(&lines, variable)?;
    }
    if jobs.is_empty() {
        let refusal = Refusal::request("the file has no job section");
        return Err(Problem::at(1)(refusal.hint("add one: `[job]` and below it `rw=randread`")));
    }
    Ok(jobs)
}

/// Converts lines into jobs.
struct Reader<'a> {
    jobs: &'a mut Vec<FileJob>,
    global: Section,
    /// The current job section.
    current: Option<Section>,
    in_global: bool,
    /// The next job begins a group.
    apart: bool,
    /// Jobs so far, copies included.
    begun: u32,
}

/// Values that fio provides itself.
const KEYWORDS: &[&str] = &["$ncpus", "$pagesize", "$mb_memory"];

impl<'a> Reader<'a> {
    fn new(jobs: &'a mut Vec<FileJob>, apart: bool) -> Self {
        Self { jobs, global: Section::global(), current: None, in_global: false, apart, begun: 0 }
    }

    fn read(
        mut self,
        lines: &[(usize, String)],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Problem> {
        for (at, (number, line)) in lines.iter().enumerate() {
            let number = *number;
            let line = content(line);
            if line.is_empty() {
                continue;
            }
            let line = expand(line, variable).map_err(Problem::at(number))?;
            if line.len() > LINE_BYTES_MAX {
                return Err(Problem::at(number)(too_long()));
            }
            self.line(number, &line)?;
            if header(&line).is_some() {
                self.base(&lines[at + 1..], variable)?;
            }
        }
        self.close()
    }

    /// Sets `kb_base` of the section that begins with `lines`: as in fio, it holds for the numbers
    /// before it, too.
    fn base(
        &mut self,
        lines: &[(usize, String)],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Problem> {
        let own = lines.iter().map(|(number, line)| (*number, content(line)));
        for (number, line) in own.take_while(|(_, line)| header(line).is_none()) {
            if !is_base(line) {
                continue;
            }
            let line = expand(line, variable).map_err(Problem::at(number))?;
            let (key, value) = line.split_once('=').unwrap_or((&line, ""));
            let section = self.current.as_mut().unwrap_or(&mut self.global);
            option::set(section, key.trim(), value.trim()).map_err(Problem::at(number))?;
        }
        Ok(())
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        if let Some(name) = header(line) {
            self.close()?;
            if self.in_global {
                self.global.resolve_names();
            }
            self.in_global = name == "global";
            self.current = (!self.in_global).then(|| self.global.begin(name, number));
            return Ok(());
        }
        let section = match &mut self.current {
            Some(section) => section,
            None if self.in_global => &mut self.global,
            None => {
                let refusal = Refusal::request(format!("`{line}` precedes the first section"));
                return Err(Problem::at(number)(refusal.hint("start the file with `[global]`")));
            }
        };
        if is_base(line) {
            return Ok(());
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        option::set(section, key.trim(), value.trim()).map_err(Problem::at(number))
    }

    /// Ends the current job section.
    fn close(&mut self) -> Result<(), Problem> {
        let Some(mut section) = self.current.take() else { return Ok(()) };
        section.resolve_names();
        let at = Problem::at(section.line);
        let number = self.group(&section).map_err(&at)?;
        self.count(&section, number).map_err(&at)?;
        let job = section.job(number, self.begun).map_err(at)?;
        self.begun = self.begun.saturating_add(job.numjobs);
        self.jobs.push(job);
        // Only the first job of a command begins a group; its others run together.
        self.apart = false;
        Ok(())
    }

    /// Refuses too many sections, and more jobs than can be started together.
    fn count(&self, section: &Section, group: u32) -> Result<(), Refusal> {
        if self.jobs.len() >= SECTIONS_MAX {
            let wrong = format!("the file has more than {SECTIONS_MAX} sections");
            return Err(Refusal::request(wrong));
        }
        // Jobs of one group are adjacent, so only the last ones can run with this one.
        let with = self.jobs.iter().rev().take_while(|job| job.group == group);
        let jobs: u32 = section.numjobs.unwrap_or(1) + with.map(|job| job.numjobs).sum::<u32>();
        if jobs <= JOBS_MAX {
            return Ok(());
        }
        let message = format!("{jobs} jobs would run together; at most {JOBS_MAX} do");
        let hint = "lower `numjobs`, or put `stonewall` between sections";
        Err(Refusal::request(message).hint(hint))
    }

    /// The group of jobs that this one runs with.
    fn group(&self, section: &Section) -> Result<u32, Refusal> {
        let before =
            match &section.wait_for {
                None => None,
                Some(name) => {
                    let found = self.jobs.iter().find(|job| job.name == *name);
                    Some(found.ok_or_else(|| {
                        Refusal::request(format!("no earlier job is named `{name}`"))
                    })?)
                }
            };
        let Some(last) = self.jobs.last() else { return Ok(0) };
        if section.stonewall || self.apart {
            return Ok(last.group + 1);
        }
        let Some(before) = before.filter(|before| before.group == last.group) else {
            return Ok(last.group);
        };
        let name = &before.name;
        if self.jobs.iter().any(|job| job.group == last.group && job.name != *name) {
            let message =
                format!("`wait_for={name}` would not wait for jobs that run at the same time");
            return Err(Refusal::request(message).hint("`stonewall` waits for all of them"));
        }
        Ok(last.group + 1)
    }
}

/// A line without its comment, which may follow anything, as in fio.
fn content(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

/// The name of the section that the line begins.
fn header(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

fn is_base(line: &str) -> bool {
    line.split('=').next().is_some_and(|key| key.trim() == "kb_base")
}

fn too_long() -> Refusal {
    Refusal::request(format!("the line is longer than {LINE_BYTES_MAX} bytes"))
}

/// Expands `${NAME}` and keywords.
fn expand(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Refusal> {
    if line.len() > LINE_BYTES_MAX {
        return Err(too_long());
    }
    let mut expanded = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(Refusal::request("`${` has no `}`"));
        };
        let value = variable(name).ok_or_else(|| {
            Refusal::request(format!("`${{{name}}}` is not set in the environment"))
        })?;
        expanded += before;
        expanded += &value;
        if expanded.len() > LINE_BYTES_MAX {
            return Err(too_long());
        }
        rest = behind;
    }
    expanded += rest;
    for keyword in KEYWORDS.iter().filter(|keyword| line.contains(**keyword)) {
        if let Some(value) = variable(keyword) {
            expanded = expanded.replace(keyword, &value);
        }
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests;
