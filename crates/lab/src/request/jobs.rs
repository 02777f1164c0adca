//! The jobs of a file as fio reads it, one group after the other.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::config::ConfigError;
use drivelab_core::record::{RUN_SCHEMA, RunRecord, Tally};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::Census as _;
use drivelab_core::{Control, IoEngine, JOBS_MAX, Polling, Refusal};
use drivelab_engine::{LaidOut, Room, RunPlan};
use drivelab_files::Folder;
use drivelab_formats::fio::job::{self, Call, FileJob, Reading, Verify};
use drivelab_load::seed_of;
use serde_json::{Value, json};

use super::check::forbidden;
use super::filled;
use super::written::{self, Written};
use crate::attached;
use crate::input;
use crate::interrupt;
use crate::measure::{self, LINUX};
use crate::request::{Permissions, verification};
use crate::target::{self, ModelledDrives};
use drivelab_simulate::Together;

/// Jobs that are to be carried out.
#[derive(Debug)]
pub struct JobRequest {
    /// The job file, or the command line.
    pub source: Source,
    /// Instead of the files that they name.
    pub target: Option<String>,
    /// Permissions to destroy contents.
    pub permissions: Permissions,
}

/// The origin of jobs.
#[derive(Debug)]
pub enum Source {
    /// A job file, or a text with command lines; options that are waived.
    File(PathBuf, Vec<String>),
    /// A command line.
    Call(Box<Call>),
}

/// The jobs of a file under way.
#[derive(Debug)]
pub struct Jobs {
    request: JobRequest,
    name: String,
    all: Vec<FileJob>,
    global: Vec<(String, String)>,
    laid_out: Vec<LaidOut>,
    drives: ModelledDrives,
    written: Written,
    records: Vec<RunRecord>,
    tallies: Vec<Vec<Tally>>,
    total: Tally,
}

/// Jobs that run together.
#[derive(Debug)]
pub struct Group {
    /// The name of the first.
    pub name: String,
    /// The time that the longest takes.
    pub time: Span,
    plans: Vec<RunPlan>,
    /// Plans of each job.
    lengths: Vec<usize>,
}

impl Group {
    /// The number of copies of each of its jobs.
    pub fn copies(&self) -> Vec<u32> {
        let mut plans = self.plans.iter();
        let of_jobs = self.lengths.iter();
        of_jobs.map(|length| plans.by_ref().take(*length).map(|plan| plan.numjobs).sum()).collect()
    }

    /// The disks under the targets of its jobs.
    pub fn disks(&self) -> Vec<String> {
        let mut paths: Vec<&Path> = self.plans.iter().map(|plan| &*plan.path).collect();
        paths.sort_unstable();
        paths.dedup();
        let attached = paths.into_iter().map(attached::to_path);
        attached.flat_map(|it| it.devices).map(|device| device.name).collect()
    }
}

impl Jobs {
    /// Reads the jobs; nothing is made yet.
    pub fn new(mut request: JobRequest) -> Result<Self, Refusal> {
        let source = Source::File(PathBuf::new(), Vec::new());
        let (name, jobs) = read(std::mem::replace(&mut request.source, source))?;
        let job::Jobs { mut all, global } = jobs;
        if request.permissions.readonly {
            refuse_writing(&mut all)?;
        }
        Ok(Self {
            request,
            name,
            all,
            global,
            tallies: Vec::new(),
            laid_out: Vec::new(),
            drives: ModelledDrives::default(),
            written: Written::default(),
            records: Vec::new(),
            total: Tally::default(),
        })
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The remarks on options of the file, each with its job.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().flat_map(|job| job.notes.iter().map(|note| (&*job.name, &**note)))
    }

    /// Makes the files that do not exist and are too small as their first job would make them.
    pub fn lay_out(&mut self) -> Result<(), Refusal> {
        let instead = self.request.target.as_deref();
        filled::resolve(&mut self.all, instead, drivelab_engine::free_space)?;
        self.laid_out = lay_out_for_all(&self.all, &self.request)?;
        if self.all.iter().any(|job| job.create_only) {
            self.laid_out.iter_mut().for_each(LaidOut::keep);
            self.all.retain(|job| !job.create_only);
        }
        Ok(())
    }

    /// The next jobs that run together, if any are left.
    pub fn next_group(&mut self) -> Result<Option<Group>, Refusal> {
        let rest = &self.all[self.records.len()..];
        let Some(first) = rest.first() else { return Ok(None) };
        let (mut plans_of_all, mut lengths) = (Vec::new(), Vec::new());
        // Not earlier: a file may be what the group before makes.
        for job in rest.iter().take_while(|job| job.group == first.group) {
            let of_job = plans(job, &self.request, &mut self.drives)?;
            lengths.push(of_job.len());
            plans_of_all.extend(of_job);
        }
        written::share(&mut plans_of_all)?;
        debug_assert_eq!(lengths.iter().sum::<usize>(), plans_of_all.len(), "each is of one job");
        let times = plans_of_all
            .iter()
            .map(|plan| plan.conduct.start_delay + plan.workload.ramp_time + plan.workload.runtime);
        let time = times.max().unwrap_or_default();
        Ok(Some(Group { name: first.name.clone(), time, plans: plans_of_all, lengths }))
    }

    /// Carries a group out.
    pub fn carry_out(&mut self, group: &Group, control: &Control<'_>) -> Result<(), Refusal> {
        let made = match self.drives.run(&group.plans, control)? {
            Some(made) => made,
            None => measure::on_this_machine(&group.plans, control)?,
        };
        self.laid_out.iter_mut().for_each(LaidOut::keep);
        let stated: Vec<_> = group.plans.iter().map(measure::stated).collect();
        let mut done = Together::new(&stated, made, &group.lengths);
        self.written.add(&group.plans);
        if !control.stopped() {
            self.verify(group, &mut done.records)?;
        }
        let jobs = &self.all[self.records.len()..];
        for (record, job) in done.records.iter_mut().zip(jobs) {
            record.label = Some(job.name.clone());
        }
        self.records.append(&mut done.records);
        self.tallies.append(&mut done.tallies);
        self.total.follow(&done.total);
        debug_assert!(self.records.len() <= self.all.len(), "a job has one record");
        Ok(())
    }

    /// Reads back what the jobs of a group wrote, or read, if requested. The state files remain, so
    /// that it can be verified again.
    fn verify(&self, group: &Group, records: &mut [RunRecord]) -> Result<(), Refusal> {
        let mut plans = group.plans.iter();
        debug_assert_eq!(records.len(), group.lengths.len(), "a job has one record");
        let jobs = &self.all[self.records.len()..];
        for ((record, length), job) in records.iter_mut().zip(&group.lengths).zip(jobs) {
            let mut last = None;
            for plan in plans.by_ref().take(*length) {
                let found = match job.verify {
                    Verify::No | Verify::Later => None,
                    Verify::Written => Written::of(plan)?,
                    // Copies that share a target check it once.
                    Verify::Earlier if last == Some(&plan.path) => None,
                    Verify::Earlier => self.written.check(plan)?,
                };
                last = Some(&plan.path);
                let Some(found) = found else { continue };
                match &mut record.verification {
                    Some(all) => all.merge(found),
                    None => record.verification = Some(found),
                }
            }
        }
        Ok(())
    }

    /// The records of the jobs so far.
    pub fn records(&self) -> &[RunRecord] {
        &self.records
    }

    /// Every job, with the counts of its copies and its record if it has run.
    pub fn counted(&self) -> impl Iterator<Item = (&FileJob, &[Tally], &RunRecord)> {
        let run = self.tallies.iter().zip(&self.records);
        self.all.iter().zip(run).map(|(job, (tallies, record))| (job, &**tallies, record))
    }

    /// The jobs that have not run yet.
    pub fn left(&self) -> &[FileJob] {
        &self.all[self.records.len()..]
    }

    /// True if a job runs on a modelled drive, in virtual time.
    pub fn is_modelled(&self) -> bool {
        let mut targets = self.all.iter().flat_map(|job| targets(job, &self.request));
        targets.any(|target| target.starts_with(target::PREFIX))
    }

    /// The value of an option of a job, as written.
    pub fn said<'a>(&'a self, job: &'a FileJob, key: &str) -> Option<&'a str> {
        job.said(&self.global, key)
    }

    /// The command line of fio that is equivalent to the jobs.
    pub fn command_line(&self) -> String {
        job::command_line(&self.global, &self.all)
    }

    /// The jobs as fio lists them before it runs them, a line each.
    pub fn banner(&self) -> String {
        self.all.iter().map(FileJob::banner).collect()
    }

    /// The options of `[global]`, as written.
    pub fn global(&self) -> &[(String, String)] {
        &self.global
    }

    /// True if the file has one job, which is a run by itself.
    pub fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    /// The jobs so far as one document.
    pub fn document(&self) -> Value {
        document(&self.name, &self.all, &self.records, &self.total)
    }
}

/// The jobs of a source, and its name.
fn read(source: Source) -> Result<(String, job::Jobs), Refusal> {
    let reading = Reading { include: &included, ..Reading::new(&variable) };
    match source {
        Source::File(file, ignore) => {
            let name = file.display().to_string();
            let reading = Reading { ignore: &ignore, ..reading };
            let all = job::parse(&name, &input::text(&file, input::JOB)?, &reading);
            Ok((name, job::Jobs { all: all.map_err(wrong)?, ..job::Jobs::default() }))
        }
        Source::Call(call) => {
            let name = if call.files.is_empty() { "fio".to_owned() } else { call.files.join(" ") };
            let mut files = Vec::new();
            for file in &call.files {
                files.push((file.clone(), input::text(Path::new(file), input::JOB)?));
            }
            let (ignore, sections) = (call.program.ignore.clone(), call.program.sections.clone());
            let reading = Reading { ignore: &ignore, sections: &sections, ..reading };
            let jobs = job::parse_call(*call, &files, &reading).map_err(wrong)?;
            Ok((name, jobs))
        }
    }
}

/// Reads an included file; as in fio, one that does not exist lies in the folder of the including
/// one.
fn included(parent: &str, path: &str) -> Result<(String, String), Refusal> {
    let sibling = Path::new(parent).with_file_name(path);
    let path = if Path::new(path).exists() { Path::new(path) } else { &*sibling };
    Ok((path.display().to_string(), input::text(path, input::JOB)?))
}

/// The position of an error, for its message; a command line has one line only.
fn position(error: &ConfigError) -> String {
    match error.file.as_str() {
        job::COMMAND_LINE => String::new(),
        file => format!("{file}:{}: ", error.line),
    }
}

/// All that is wrong with jobs, in one refusal.
fn wrong(errors: Vec<ConfigError>) -> Refusal {
    debug_assert!(!errors.is_empty(), "a refusal has a reason");
    if errors.len() == 1 {
        let error = errors.into_iter().next().expect("there is one");
        let refusal = Refusal::request(format!("{}{}", position(&error), error.message));
        return error.hint.into_iter().fold(refusal, Refusal::hint);
    }
    let mut message = format!("{} options or sections cannot be used", errors.len());
    for error in &errors {
        message += &format!("\n  {}{}", position(error), error.message);
        if let Some(hint) = &error.hint {
            message += &format!("\n    {hint}");
        }
    }
    Refusal::request(message)
        .hint("`--ignore OPTION` waives one, if the job makes sense without it")
}

/// Refuses jobs that write, or that lay a file out, as if the file said so.
fn refuse_writing(jobs: &mut [FileJob]) -> Result<(), Refusal> {
    for job in jobs {
        if let Some(rw) = job.workload.rw.filter(|rw| rw.writes()) {
            return Err(forbidden(&format!("the job `{}` (`rw={rw}`)", job.name)));
        }
        job.may_create = false;
    }
    Ok(())
}

/// The keywords of job files, and the environment.
fn variable(name: &str) -> Option<String> {
    match name {
        "$ncpus" => std::thread::available_parallelism().ok().map(|cpus| cpus.to_string()),
        "$pagesize" => Some(drivelab_engine::page_size().to_string()),
        "$mb_memory" => Some((LINUX.machine().memory.get() >> 20).to_string()),
        name => std::env::var(name).ok(),
    }
}

/// Makes the files that do not exist and are too small as their first job would make them.
fn lay_out_for_all(jobs: &[FileJob], request: &JobRequest) -> Result<Vec<LaidOut>, Refusal> {
    // What the first job needs, and what any does.
    let mut ends: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.ioengine != "null") {
        if !job.may_create {
            refuse_missing(job, request, &ends)?;
            continue;
        }
        // A job without a size takes the file as it is.
        let Ok(options) = job.workload(None) else { continue };
        let Some(size) = options.size else { continue };
        let step = job.conduct.offset_increment.unwrap_or_default().get();
        let behind = |copy: u32| step.saturating_mul(u64::from(copy));
        let end = options.offset.unwrap_or_default().get().saturating_add(size.get());
        let files = targets(job, request);
        for (copy, target) in (0..).zip(files) {
            if target.starts_with(target::PREFIX) {
                continue;
            }
            // Copies with the same files begin in them one behind the other.
            let last = if files.len() == 1 || job.parts > 1 {
                job.numjobs.saturating_sub(1)
            } else {
                copy
            };
            let first = end.saturating_add(behind(copy));
            let (_, largest) = ends.entry(target).or_insert((first, first));
            *largest = end.saturating_add(behind(last)).max(*largest);
        }
    }
    let mut laid_out = Vec::new();
    for (target, (first, largest)) in ends {
        let (path, size) = (Path::new(target), Bytes::new(largest));
        let of_file = jobs.iter().filter(|job| targets(job, request).iter().any(|it| it == target));
        let of_file: Vec<&FileJob> = of_file.collect();
        make_folders(path, &of_file)?;
        // Before any job runs: one that finds less would use fewer blocks than it asked for.
        if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < largest) {
            lengthen(path, size, jobs[0].seed)?;
        }
        let is_all = of_file.iter().any(|job| job.create_only);
        if largest > first || is_all {
            let direct = of_file.iter().any(|job| job.direct);
            laid_out.extend(measure::lay_out_if_missing(path, size, jobs[0].seed, direct)?);
        }
    }
    Ok(laid_out)
}

/// Makes a file as long as a job needs it, as fio does, unless it contains foreign data.
fn lengthen(path: &Path, size: Bytes, seed: u64) -> Result<(), Refusal> {
    let room = Room {
        path,
        size,
        exactly: false,
        allow_overwrite: false,
        allow_destructive: &[],
        seed,
        census: &*LINUX,
    };
    measure::make_room(room, &interrupt::silent()).map(drop).map_err(|refusal| {
        let wrong = format!("{} is shorter than the {size} of a job", path.display());
        Refusal::request(format!("{wrong}, and cannot be made longer: {}", refusal.message))
            .hint("lower `size`, or move the file away: it is then laid out at that size")
    })
}

/// Makes the folders that the name of a job's file contains, as fio does: those of a section's name
/// or of a relative `filename`, not those of `directory`.
fn make_folders(path: &Path, jobs: &[&FileJob]) -> Result<(), Refusal> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    // A `directory` that is missing is more likely a file system that is not mounted.
    let directories = jobs.iter().flat_map(|job| &job.directories);
    let is_below = directories.clone().any(|directory| Path::new(directory).is_dir());
    let has_none = directories.clone().next().is_none();
    if folder.exists() || !(is_below || has_none && path.is_relative()) {
        return Ok(());
    }
    Folder::make(folder).map(drop).map_err(|error| {
        let wrong = format!("the folder {} cannot be made: {error}", folder.display());
        Refusal::machine(wrong)
    })
}

/// Refuses a job whose file is missing and must not be created, unless an earlier job creates it.
fn refuse_missing(
    job: &FileJob,
    request: &JobRequest,
    created: &BTreeMap<&str, (u64, u64)>,
) -> Result<(), Refusal> {
    let is_missing = |target: &&String| {
        !target.starts_with(target::PREFIX)
            && !created.contains_key(target.as_str())
            && !Path::new(target).exists()
    };
    let Some(missing) = targets(job, request).iter().find(is_missing) else { return Ok(()) };
    let name = &job.name;
    let wrong = format!("[{name}] {missing} does not exist, and the job must not create it");
    Err(Refusal::request(wrong)
        .hint("create it first, or omit `allow_file_create=0` and `readonly`"))
}

/// The files of a job, or the one that is taken instead.
fn targets<'a>(job: &'a FileJob, request: &'a JobRequest) -> &'a [String] {
    match &request.target {
        Some(target) => std::slice::from_ref(target),
        None => &job.targets,
    }
}

/// One plan for each file of the job's copies, or for each copy if each has a separate region, or
/// one for all.
fn plans(
    job: &FileJob,
    request: &JobRequest,
    drives: &mut ModelledDrives,
) -> Result<Vec<RunPlan>, Refusal> {
    let files = targets(job, request);
    let has_regions = job.conduct.offset_increment.is_some_and(|step| step > Bytes::ZERO);
    // Of a TARGET that is taken instead of several files all threads are parts.
    let parts = job.parts as usize;
    let is_divided = parts == 1 && files.len() > 1 || has_regions;
    let copies = if is_divided { job.numjobs } else { 1 };
    let numjobs = if is_divided { 1 } else { job.numjobs };
    let ioengine: IoEngine = job.ioengine.parse()?;
    let of = |(at, target): (u32, &String)| {
        let (copy, part) = (at / job.parts, at % job.parts);
        let drive = drives.find(target, job.seed)?;
        let is_modelled = drive.is_some();
        if is_modelled && !job.conduct.lock.is_none() {
            let wrong = format!("[{}] `lockfile`: a modelled drive has no file to lock", job.name);
            return Err(Refusal::request(wrong).hint("omit `lockfile`, or name a file"));
        }
        let (path, length) = match drive {
            Some((name, capacity)) => (name, Some(capacity)),
            None if ioengine == IoEngine::Null => (target.into(), None),
            None => (target.into(), length(Path::new(target))),
        };
        let mut options = job.workload_of(copy, length).map_err(|error| {
            let hint = error.hint();
            let failure = Refusal::request(format!("[{}] {target}: {error}", job.name));
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        if part < job.deeper {
            options.iodepth = options.iodepth.map(|depth| depth + 1);
        }
        let workload = options.check().map_err(Refusal::request_error)?;
        if matches!(job.verify, Verify::Written | Verify::Later) {
            verification::refuse_impossible(&workload, is_modelled)?;
        }
        Ok(RunPlan {
            numjobs,
            conduct: job.conduct,
            seed: seed_of(seed_of(job.seed, job.number + copy), part * JOBS_MAX),
            ioengine: Some(ioengine),
            verify_state: matches!(job.verify, Verify::Written | Verify::Later)
                .then(|| state_of(job, target, at)),
            polling: if is_modelled { Polling::default() } else { job.polling },
            direct: job.direct || is_modelled,
            allow_overwrite: request.permissions.overwrite,
            allow_destructive: request.permissions.allow_destructive.clone(),
            ..RunPlan::new(path, workload)
        })
    };
    (0..copies * job.parts).zip(files.iter().cycle()).map(of).collect()
}

/// The state file of a copy of a job whose writes are verified.
fn state_of(job: &FileJob, target: &str, copy: u32) -> PathBuf {
    let name = format!("{}.{}.{copy}", job.name.replace('/', "_"), job.number);
    let state = verification::state_path(Path::new(target));
    state.with_extension(format!("{name}.verify-state"))
}

/// Bytes of a file or block device; nothing where there is none, or none to be seen.
fn length(target: &Path) -> Option<Bytes> {
    let kind = target.metadata().ok()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return None;
    }
    // The metadata of a block device has no length.
    let end = File::open(target).ok()?.seek(SeekFrom::End(0)).ok()?;
    Some(Bytes::new(end)).filter(|length| *length > Bytes::ZERO)
}

/// The entry of one job: its figures and its configuration.
fn entry_of((job, record): (&FileJob, &RunRecord)) -> Value {
    let mut entry = json!(record.total);
    entry["name"] = json!(job.name);
    entry["group"] = json!(job.group);
    entry["notes"] = json!(job.notes);
    entry["target"] = json!(record.target);
    entry["config"] = json!(record.config);
    entry["marks"] = json!(record.marks);
    entry["attached"] = json!(record.attached);
    entry["threads"] = json!(record.jobs);
    if let Some(specimen) = &record.specimen {
        entry["specimen"] = json!(specimen);
    }
    if let Some(found) = &record.verification {
        entry["verification"] = json!(found);
    }
    if let Some(written) = &record.flash {
        entry["flash"] = json!(written);
    }
    entry
}

/// A file of one job gives what that run gives. Of several jobs each entry has a job's figures and
/// configuration, and `total` is all of them, groups one after the other.
fn document(file: &str, jobs: &[FileJob], records: &[RunRecord], total: &Tally) -> Value {
    if let ([_], [only]) = (jobs, records) {
        return json!(only);
    }
    let mut targets: Vec<&str> = records.iter().map(|record| record.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let marks = records.iter().zip(jobs).flat_map(|(record, job)| {
        let marks = record.marks.iter();
        marks.map(|mark| json!({"id": mark.id, "message": mark.message, "job": job.name}))
    });
    json!({
        "schema": RUN_SCHEMA,
        "target": targets.join(", "),
        "config": {"drivelab": env!("CARGO_PKG_VERSION"), "file": file},
        "jobs": jobs.iter().zip(records).map(entry_of).collect::<Vec<_>>(),
        "total": total.record(),
        "marks": marks.collect::<Vec<_>>(),
        "host": records.first().map(|record| &record.host),
    })
}
