//! Reads unchanged job files and command lines of fio.
//!
//! Every option either has the same effect as in fio, or is accepted because it cannot change a
//! figure, or is refused by name with an alternative. None is silently ignored. The default of an
//! absent option is fio's, not drivelab's.

mod command;
mod extent;
mod file_job;
mod line;
mod names;
mod number;
mod option;
mod problem;
mod section;

pub use command::{COMMAND_LINE, Call, Eta, OutputFormat, Program};
pub use extent::{Extent, ExtentError};
pub use file_job::{FileJob, Verify, command_line};
pub use line::Include;
pub use option::names;

use drivelab_core::config::ConfigError;
use drivelab_core::{JOBS_MAX, Refusal};
use line::{Item, LINE_BYTES_MAX, Line, Sources};
use problem::{At, Problem};
use section::Section;

/// Maximum number of sections of a file; each is a separate run, or begins with others.
const SECTIONS_MAX: usize = 4096;
/// Maximum number of problems that are reported together.
const PROBLEMS_MAX: usize = 100;

/// The circumstances in which a job file is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The value of `${NAME}`, and of the keywords `$ncpus`, `$pagesize` and `$mb_memory`.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file that is included.
    pub include: Include<'a>,
    /// Options that are waived.
    pub ignore: &'a [String],
    /// The only sections that are read, unless there are none.
    pub sections: &'a [String],
}

impl<'a> Reading<'a> {
    /// Reads all sections, and no other file.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let include = &|_: &str, path: &str| {
            Err(Refusal::request(format!("`{path}` cannot be included here"))
                .hint("copy its contents into this file"))
        };
        Self { variable, include, ignore: &[], sections: &[] }
    }
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ignore, sections, .. } = self;
        f.debug_struct("Reading").field("ignore", ignore).field("sections", sections).finish()
    }
}

/// The jobs of a job file or of a command line.
#[derive(Debug, Default)]
pub struct Jobs {
    /// The options of `[global]`, as written.
    pub global: Vec<(String, String)>,
    /// The jobs in their order.
    pub all: Vec<FileJob>,
}

/// Reads the job file `text`, or fio's command lines in it.
///
/// # Errors
/// All that is wrong with it, at most a hundred problems.
pub fn parse(
    file: &str,
    text: &str,
    reading: &Reading<'_>,
) -> Result<Vec<FileJob>, Vec<ConfigError>> {
    let Some(calls) = command::calls(file, text) else {
        return read(vec![of_file(file, text, reading)], reading).map(|jobs| jobs.all);
    };
    // Commands run in sequence.
    let calls = calls.into_iter().map(|call| {
        let mut lines = call.lines;
        if call.program.readonly {
            lines.insert(1, Line { at: lines[0].at.clone(), item: Item::option("readonly", "") });
        }
        Part { lines, problems: call.problems, apart: true }
    });
    read(calls.collect(), reading).map(|jobs| jobs.all)
}

/// Reads a command line with the job files that it names, each with its text.
///
/// # Errors
/// As [`parse`].
pub fn parse_call(
    call: Call,
    files: &[(String, String)],
    reading: &Reading<'_>,
) -> Result<Jobs, Vec<ConfigError>> {
    let mut first = Part { lines: call.lines, problems: call.problems, apart: false };
    if call.program.readonly {
        let at = first.lines[0].at.clone();
        first.lines.insert(1, Line { at, item: Item::option("readonly", "") });
    }
    let mut parts = vec![first];
    for (number, (file, text)) in files.iter().enumerate() {
        let part = of_file(file, text, reading);
        if number > 0 {
            parts.push(Part { apart: true, ..part });
            continue;
        }
        // As in fio, options in front of the first file hold for it.
        let first = &mut parts[0];
        let at = At { file: file.as_str().into(), line: 1 };
        first.lines.push(Line { at, item: Item::End });
        first.lines.extend(part.lines);
        first.problems.extend(part.problems);
    }
    read(parts, reading)
}

/// Lines that share a `[global]` section.
struct Part {
    lines: Vec<Line>,
    problems: Vec<Problem>,
    /// Its first job begins a group.
    apart: bool,
}

fn of_file(file: &str, text: &str, reading: &Reading<'_>) -> Part {
    let sources = Sources { variable: reading.variable, include: reading.include };
    let (lines, problems) = line::lines(file, text, &sources);
    Part { lines, problems, apart: false }
}

fn read(parts: Vec<Part>, reading: &Reading<'_>) -> Result<Jobs, Vec<ConfigError>> {
    let mut jobs = Jobs::default();
    let mut problems: Vec<Problem> = Vec::new();
    let first = parts.first().and_then(|part| part.lines.first()).map(|line| line.at.clone());
    for part in parts {
        let mut reader = Reader::new(&mut jobs, reading, part.apart);
        reader.problems = part.problems;
        problems.extend(reader.read(&part.lines));
    }
    if jobs.all.is_empty() && problems.is_empty() {
        let at = first.map_or(At::default(), |at| At { line: 1, ..at });
        problems.push(at.problem(no_job(&at)));
    }
    if problems.is_empty() {
        return Ok(jobs);
    }
    let mut distinct: Vec<Problem> = Vec::new();
    for problem in problems {
        if distinct.len() < PROBLEMS_MAX && !distinct.iter().any(|known| known.repeats(&problem)) {
            distinct.push(problem);
        }
    }
    Err(distinct.into_iter().map(ConfigError::from).collect())
}

fn no_job(at: &At) -> Refusal {
    if &*at.file == COMMAND_LINE {
        return Refusal::request(
            "no job is defined, or none of the sections that `--section` names",
        )
        .hint("`--name=NAME` begins one, and so does a section of a job file");
    }
    Refusal::request("the file has no job section")
        .hint("add one: `[job]` and below it `rw=randread`")
}

/// The section of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Global,
    Job,
    /// `--section` names others.
    Skipped,
}

/// Converts lines into jobs.
struct Reader<'a> {
    jobs: &'a mut Jobs,
    reading: &'a Reading<'a>,
    problems: Vec<Problem>,
    global: Section,
    /// The current job section.
    current: Option<Section>,
    within: Within,
    /// An option of the current section is wrong; what follows from it is not reported, too.
    is_spoilt: bool,
    /// The next job begins a group.
    apart: bool,
    /// Jobs so far, copies included.
    begun: u32,
    /// Options of `[global]` that were there before.
    earlier: usize,
}

impl<'a> Reader<'a> {
    fn new(jobs: &'a mut Jobs, reading: &'a Reading<'a>, apart: bool) -> Self {
        let earlier = jobs.global.len();
        Self {
            jobs,
            reading,
            problems: Vec::new(),
            global: Section::global(),
            current: None,
            within: Within::Nothing,
            is_spoilt: false,
            apart,
            begun: 0,
            earlier,
        }
    }

    fn read(mut self, lines: &[Line]) -> Vec<Problem> {
        for (index, line) in lines.iter().enumerate() {
            if self.problems.len() > PROBLEMS_MAX * 2 {
                return self.problems;
            }
            self.line(line);
            if line.item.is_border() {
                self.base(&lines[index + 1..]);
            }
        }
        self.close();
        self.problems
    }

    fn report(&mut self, at: &At, refusal: Refusal) {
        self.is_spoilt = true;
        self.problems.push(at.problem(refusal));
    }

    /// Sets `kb_base` of the section that begins with `lines`: as in fio, it holds for the numbers
    /// before it, too.
    fn base(&mut self, lines: &[Line]) {
        let own = lines.iter().take_while(|line| !line.item.is_border());
        for line in own {
            if let Item::Option { key, value } = &line.item
                && key == "kb_base"
            {
                self.option(&line.at, key, value);
            }
        }
    }

    fn line(&mut self, line: &Line) {
        match &line.item {
            Item::Section(name) => self.begin(name, line),
            Item::Named(name) => {
                self.begin(name, line);
                if let Some(section) = &mut self.current {
                    section.own.push(("name".to_owned(), name.clone()));
                }
            }
            Item::End => {
                self.close();
                self.within = Within::Nothing;
            }
            Item::Option { key, .. } if key == "kb_base" => {}
            Item::Option { key, value } => self.option(&line.at, key, value),
        }
    }

    fn begin(&mut self, name: &str, line: &Line) {
        self.close();
        if self.within == Within::Global {
            self.global.resolve_names();
        }
        let only = self.reading.sections;
        self.within = match name {
            "global" => Within::Global,
            name if only.is_empty() || only.iter().any(|it| it == name) => Within::Job,
            _ => Within::Skipped,
        };
        let is_job = self.within == Within::Job;
        self.current = is_job.then(|| self.global.begin(name, line.at.clone()));
    }

    fn option(&mut self, at: &At, key: &str, value: &str) {
        if self.within == Within::Skipped {
            return;
        }
        let section = match &mut self.current {
            Some(section) => section,
            None if self.within == Within::Global => &mut self.global,
            None => {
                let refusal = Refusal::request(format!("`{key}` precedes the first section"));
                return self.report(at, refusal.hint("start the file with `[global]`"));
            }
        };
        if key.len() + value.len() >= LINE_BYTES_MAX {
            return self.report(at, line::too_long());
        }
        let said = (key.to_owned(), value.to_owned());
        if self.reading.ignore.iter().any(|waived| waived == key) {
            section.note(key, "ignored, as requested");
        } else if let Err(refusal) = option::set(section, key, value) {
            self.report(at, refusal);
            return;
        }
        match &mut self.current {
            Some(section) => section.own.push(said),
            None => self.jobs.global.push(said),
        }
    }

    /// Ends the current job section.
    fn close(&mut self) {
        let is_spoilt = std::mem::take(&mut self.is_spoilt);
        let Some(mut section) = self.current.take() else { return };
        section.resolve_names();
        let at = section.at.clone();
        match self.finish(section) {
            // What is wrong with a section may follow from the option that was not set.
            Err(_) if is_spoilt => {}
            Err(refusal) => self.problems.push(at.problem(refusal)),
            Ok(job) => {
                self.begun = self.begun.saturating_add(job.numjobs);
                self.jobs.all.push(job);
                // Only the first job of a command begins a group; its others run together.
                self.apart = false;
            }
        }
    }

    fn finish(&self, section: Section) -> Result<FileJob, Refusal> {
        let number = self.group(&section)?;
        self.count(&section, number)?;
        let job = section.job(number, self.begun)?;
        self.is_verifiable(&job)?;
        Ok(FileJob { inherited: self.earlier..self.jobs.global.len(), ..job })
    }

    /// Refuses to verify what no job of the file writes with labels.
    fn is_verifiable(&self, job: &FileJob) -> Result<(), Refusal> {
        let is_labelled = |earlier: &FileJob| {
            matches!(earlier.verify, Verify::Written | Verify::Later)
                && earlier.group < job.group
                && earlier.targets.iter().any(|target| job.targets.contains(target))
        };
        if job.verify != Verify::Earlier || self.jobs.all.iter().any(is_labelled) {
            return Ok(());
        }
        let wrong =
            "`verify`: the job only reads, and no earlier one writes its file with `verify`";
        Err(Refusal::request(wrong)
            .hint("an earlier run: drivelab run TARGET --verify-only --verify-state FILE"))
    }

    /// Refuses too many sections, and more jobs than can be started together.
    fn count(&self, section: &Section, group: u32) -> Result<(), Refusal> {
        if self.jobs.all.len() >= SECTIONS_MAX {
            let wrong = format!("the file has more than {SECTIONS_MAX} sections");
            return Err(Refusal::request(wrong));
        }
        // Jobs of one group are adjacent, so only the last ones can run with this one.
        let with = self.jobs.all.iter().rev().take_while(|job| job.group == group);
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
                    let found = self.jobs.all.iter().find(|job| job.name == *name);
                    Some(found.ok_or_else(|| {
                        Refusal::request(format!("no earlier job is named `{name}`"))
                    })?)
                }
            };
        let Some(last) = self.jobs.all.last() else { return Ok(0) };
        if section.stonewall || self.apart {
            return Ok(last.group + 1);
        }
        let Some(before) = before.filter(|before| before.group == last.group) else {
            return Ok(last.group);
        };
        let name = &before.name;
        if self.jobs.all.iter().any(|job| job.group == last.group && job.name != *name) {
            let message =
                format!("`wait_for={name}` would not wait for jobs that run at the same time");
            return Err(Refusal::request(message).hint("`stonewall` waits for all of them"));
        }
        Ok(last.group + 1)
    }
}

#[cfg(test)]
mod tests;
