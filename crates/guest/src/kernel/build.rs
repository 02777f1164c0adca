//! Builds the kernel: source, patches, configuration, make.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use drivelab_core::control::{Control, Event};
use drivelab_files::{Folder, Marked, Marker};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::cache::{Cache, CacheError, Kernel};
use super::named::{KernelName, Named, Own};
use super::needs::{Missing, Need, missing};
use super::recipe::{PATCHES, SERIES, release_suffix};
use crate::trace::sha256;

/// The origin of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The package `linux-source-6.12`: installed, or else downloaded.
    Package,
    /// A tar archive of the source tree.
    Archive(PathBuf),
}

/// The parameters of a build.
#[derive(Debug)]
pub struct Build {
    /// The source.
    pub source: Source,
    /// The number of compilers that run at once.
    pub jobs: usize,
    /// True to build even if the cache has the kernel.
    pub again: bool,
    /// A name, and what makes the kernel differ from the usual one.
    pub named: Option<Named>,
}

/// The reason why no kernel was built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Programs are missing.
    #[error("{} programs or files that a build needs are missing", .0.len())]
    Missing(Vec<Missing>),
    /// Another process builds a kernel in this cache.
    #[error("another process is building a kernel")]
    Busy,
    /// A system call or file operation failed.
    #[error("cannot {operation}")]
    System {
        /// The operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The package is not available.
    #[error("the source of Linux {SERIES} cannot be downloaded: {last}")]
    NoSource {
        /// The end of what was printed.
        last: String,
    },
    /// A step of the build failed.
    #[error("the kernel cannot be built: `{step}` failed: {last}")]
    Failed {
        /// The command.
        step: String,
        /// The end of what was printed.
        last: String,
        /// The log of the whole build.
        log: PathBuf,
    },
    /// A kernel of this name was built from something else.
    #[error("a kernel `{0}` exists, of another source, other patches or other options")]
    Taken(KernelName),
    /// The configuration lost an option.
    #[error("the configuration of the kernel lacks {0}")]
    Lost(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
}

fn at(operation: &'static str) -> impl Fn(io::Error) -> BuildError {
    move |source| BuildError::System { operation, source }
}

/// The approximate number of files that are compiled with this configuration.
pub const COMPILED_ABOUT: u64 = 930;

/// Interval at which the stop flag is checked; a build takes minutes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Prefix of the folders of builds; the next build removes those of killed ones.
const PREFIX: &str = "building-";
static MARKER: Marker = Marker { name: ".drivelab-build", text: "" };
/// Fixed values for the user, host and time of the build, so that the same source always
/// gives the same kernel.
const IDENTITY: [(&str, &str); 3] = [
    ("KBUILD_BUILD_USER", "drivelab"),
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_TIMESTAMP", "2025-01-01"),
];

impl Build {
    /// Builds the kernel, or finds it in the cache; reports to `control`.
    ///
    /// A stopped build removes its files before it returns.
    pub fn run(&self, cache: &Cache, control: &Control<'_>) -> Result<Kernel, BuildError> {
        let needs = missing(Path::new("/"));
        let needs: Vec<Missing> = needs.into_iter().filter(|it| it.need == Need::Build).collect();
        if !needs.is_empty() {
            return Err(BuildError::Missing(needs));
        }
        self.run_below(cache, control)
    }

    /// Builds in a new folder in the cache, and removes it afterwards.
    fn run_below(&self, cache: &Cache, control: &Control<'_>) -> Result<Kernel, BuildError> {
        let folder = cache.folder()?;
        // Held until the kernel is in the cache.
        let _lock = lock(&folder)?;
        let work = work_folder(&folder).map_err(at("make a folder for the build"))?;
        let log = Log::new(&folder).map_err(at("write the log of the build"))?;
        let steps = Steps { folder: work.folder().path(), log, control };
        let built = self.build(cache, &work, &steps);
        if let Err(BuildError::Stopped) = built {
            control.report(Event::Note(&format!(
                "guest kernel: removing `{}`; what is left of it, the next build removes",
                steps.folder.display()
            )));
        }
        // Files that cannot be removed only take space, and the next build tries again.
        let _ = work.remove();
        built
    }

    fn build(&self, cache: &Cache, work: &Marked, steps: &Steps<'_>) -> Result<Kernel, BuildError> {
        // Before anything that takes time: a file may be missing.
        let own = self.named.as_ref().map(Own::read).transpose().map_err(at("read a change"))?;
        let own = own.unwrap_or_else(Own::none);
        steps.begin("source");
        let (archive, source) = self.find_source(steps)?;
        if !self.again
            && let Some(kernel) = self.kept(cache, &source, &own)?
        {
            return Ok(kernel);
        }
        steps.begin("unpacking");
        let tree = unpack(work.folder(), steps, &archive)?;
        steps.begin("patches");
        let recipe = PATCHES.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes()));
        let others = (1..).zip(&own.patches);
        let others = others.map(|(number, text)| (format!("own-{number}.patch"), text.as_slice()));
        for (name, text) in recipe.chain(others) {
            let written = work.folder().write_new(&name, text);
            written.map_err(at("write a patch"))?;
            let file = steps.folder.join(&name).display().to_string();
            let options = ["-p1", "--forward", "--batch", "-i", &file];
            steps.run("patch", &options, tree.path())?;
        }
        steps.begin("configuration");
        self.configure(steps, &tree, &own.config)?;
        steps.begin("kernel");
        self.make(steps, &tree, "linux")?;
        let program = tree.path().join("linux");
        Ok(match &self.named {
            Some(named) => cache.add_named(&program, &source, (named.name.clone(), own.changes))?,
            None => cache.add(&program, &source)?,
        })
    }

    /// The kernel that was built before from the same, if any.
    fn kept(&self, cache: &Cache, source: &str, own: &Own) -> Result<Option<Kernel>, BuildError> {
        let Some(named) = &self.named else { return Ok(cache.find_source(source)?) };
        let Some(kernel) = cache.find_named(&named.name)? else { return Ok(None) };
        let is_same = kernel.source == source
            && kernel.changes == own.changes
            && kernel.recipe == super::recipe();
        if is_same { Ok(Some(kernel)) } else { Err(BuildError::Taken(named.name.clone())) }
    }

    fn configure(&self, steps: &Steps<'_>, tree: &Folder, wanted: &str) -> Result<(), BuildError> {
        let written = tree.write_new("drivelab.config", wanted.as_bytes());
        written.map_err(at("write the configuration"))?;
        // make silently drops options that it does not know or whose dependencies are missing.
        self.make(steps, tree, "allnoconfig")?;
        let config = fs::read_to_string(tree.path().join(".config"));
        let config = config.map_err(at("read the configuration"))?;
        match lost(wanted, &config) {
            Some(option) => Err(BuildError::Lost(option.to_owned())),
            None => Ok(()),
        }
    }

    fn make(&self, steps: &Steps<'_>, tree: &Folder, target: &str) -> Result<(), BuildError> {
        let jobs = format!("-j{}", self.jobs.max(1));
        let version = format!("LOCALVERSION={}", release_suffix());
        let config = "KCONFIG_ALLCONFIG=drivelab.config";
        steps.run("make", &["ARCH=um", &jobs, &version, config, target], tree.path())
    }

    /// Returns the archive of the source, and its version.
    fn find_source(&self, steps: &Steps<'_>) -> Result<(PathBuf, String), BuildError> {
        if let Source::Archive(path) = &self.source {
            let bytes = fs::read(path).map_err(at("read the source"))?;
            let path = std::path::absolute(path).map_err(at("find the source"))?;
            return Ok((path, format!("archive-{}", &sha256(&bytes)[..12])));
        }
        let package = format!("linux-source-{SERIES}");
        let archive = format!("usr/src/{package}.tar.xz");
        // The installed package first: it needs no network.
        let installed = Path::new("/").join(&archive);
        if installed.exists() {
            let version = steps.output("dpkg-query", &["-W", "-f", "${Version}", &package])?;
            return Ok((installed, version));
        }
        let downloaded = steps.run("apt-get", &["download", &package], steps.folder);
        downloaded.map_err(|error| match error {
            BuildError::Failed { last, .. } => BuildError::NoSource { last },
            BuildError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                BuildError::NoSource { last: "this system has no apt-get".into() }
            }
            error => error,
        })?;
        let files = fs::read_dir(steps.folder).map_err(at("list the downloaded files"))?;
        let mut files = files.filter_map(|entry| Some(entry.ok()?.path()));
        let deb = files.find(|path| path.extension().is_some_and(|ending| ending == "deb"));
        let deb = deb.ok_or_else(|| BuildError::NoSource { last: "no package came".into() })?;
        let deb = deb.display().to_string();
        let version = steps.output("dpkg-deb", &["-f", &deb, "Version"])?;
        steps.run("dpkg-deb", &["-x", &deb, "package"], steps.folder)?;
        Ok((steps.folder.join("package").join(archive), version))
    }
}

/// Locks the folder against other builds until the result is dropped.
fn lock(folder: &Path) -> Result<File, BuildError> {
    let file = Folder::open(folder).and_then(|folder| folder.create_or_open("lock"));
    let file = file.map_err(at("lock the cache"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(BuildError::Busy),
        Err(error) => Err(at("lock the cache")(error.into())),
    }
}

/// Makes a folder for a build, and removes those of killed builds.
fn work_folder(folder: &Path) -> io::Result<Marked> {
    Marked::make_new(&Folder::open(folder)?, PREFIX, &MARKER)
}

/// Unpacks an archive; returns its top folder.
fn unpack(work: &Folder, steps: &Steps<'_>, archive: &Path) -> Result<Folder, BuildError> {
    let tree = work.make_folder("tree").map_err(at("make a folder for the source"))?;
    let archive = archive.display().to_string();
    steps.run("tar", &["-xf", &archive, "--strip-components=1"], tree.path())?;
    Ok(tree)
}

/// Returns the first option of `wanted` with another value in `config`.
fn lost<'a>(wanted: &'a str, config: &str) -> Option<&'a str> {
    let wanted = wanted.lines().filter(|line| line.starts_with("CONFIG_"));
    wanted.into_iter().find(|line| match line.strip_suffix("=n") {
        // An option that is off is a comment in a configuration.
        Some(name) => config.lines().any(|found| found.starts_with(&format!("{name}="))),
        None => config.lines().all(|found| found != *line),
    })
}

/// The log of the commands of a build.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Creates it in `folder`, and removes that of the last build.
    fn new(folder: &Path) -> io::Result<Self> {
        const NAME: &str = "build.log";
        let folder = Folder::open(folder)?;
        match folder.remove_file(NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { file: folder.create_new(NAME)?, path: folder.path().join(NAME) })
    }
}

/// Runs the commands of a build.
struct Steps<'a> {
    folder: &'a Path,
    log: Log,
    control: &'a Control<'a>,
}

impl Steps<'_> {
    fn begin(&self, step: &str) {
        self.control.report(Event::Note(&format!("guest kernel: {step}")));
    }

    /// Runs a command in `folder`; its output is appended to the log.
    fn run(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<(), BuildError> {
        let step = format!("{program} {}", arguments.join(" "));
        let mut out = self.log.file.try_clone().map_err(at("write the log of the build"))?;
        writeln!(out, "$ {step}").map_err(at("write the log of the build"))?;
        let err = out.try_clone().map_err(at("write the log of the build"))?;
        let mut command = Command::new(program);
        // Its own process group, so that Ctrl-C reaches drivelab alone and the compilers can be
        // killed.
        command.args(arguments).current_dir(folder).process_group(0).stdin(Stdio::null());
        // English messages, in which `last` looks for errors.
        command.stdout(out).stderr(err).envs(IDENTITY).env("LC_ALL", "C");
        let mut child = Group(command.spawn().map_err(at("start a step of the build"))?);
        let mut compiled = Compiled::new(&self.log.path);
        loop {
            if self.control.stopped() {
                return Err(BuildError::Stopped);
            }
            match child.0.try_wait().map_err(at("wait for a step of the build"))? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => {
                    return Err(BuildError::Failed {
                        step,
                        last: self.last(),
                        log: self.log.path.clone(),
                    });
                }
                None => std::thread::sleep(POLL_INTERVAL),
            }
            if let Some(count) = compiled.more() {
                // The number of files is an estimate, and progress must not pass its end.
                let (done, of) = (count.min(COMPILED_ABOUT), COMPILED_ABOUT);
                self.control.report(Event::Steps { what: "files compiled", done, of });
            }
        }
    }

    /// Returns the output of a short command.
    fn output(&self, program: &str, arguments: &[&str]) -> Result<String, BuildError> {
        let output = Command::new(program).args(arguments).current_dir(self.folder).output();
        let output = output.map_err(at("find the version of the source"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.is_empty() {
            let last = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(BuildError::NoSource { last });
        }
        Ok(text)
    }

    /// Returns the last error in the log, or else its last line.
    fn last(&self) -> String {
        let log = fs::read(&self.log.path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().rev();
        // A parallel make prints the failing command before those of the other jobs that still ran.
        let errors = lines.clone().find(|line| line.contains("error") || line.starts_with("E: "));
        errors.or_else(|| lines.clone().find(|line| !line.trim().is_empty())).unwrap_or("").into()
    }
}

/// Counts the files that a step has compiled, from the log.
struct Compiled {
    log: Option<File>,
    count: u64,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
}

impl Compiled {
    /// Counts from the current end of `log` on.
    fn new(log: &Path) -> Self {
        let mut file = File::open(log).ok();
        // Earlier steps are in the same log.
        let at_end = file.as_mut().map(|file| file.seek(SeekFrom::End(0)));
        Self { log: file.filter(|_| matches!(at_end, Some(Ok(_)))), count: 0, rest: Vec::new() }
    }

    /// Returns the count, if it has grown.
    fn more(&mut self) -> Option<u64> {
        let before = self.count;
        self.log.as_mut()?.read_to_end(&mut self.rest).ok()?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = self.rest[..whole].split(|byte| *byte == b'\n');
        self.count += lines.filter(|line| line.starts_with(b"  CC ")).count() as u64;
        debug_assert!(whole <= self.rest.len(), "complete lines are part of the text");
        self.rest.drain(..whole);
        (self.count > before).then_some(self.count)
    }
}

/// A command and its descendants; killed on drop.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // After a successful wait the group may be empty, and its number that of another group.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn an_option_that_the_kernel_dropped_is_found() {
        let wanted = "# why\nCONFIG_A=y\nCONFIG_B=n\n";
        assert_eq!(lost(wanted, "CONFIG_A=y\n# CONFIG_B is not set\n"), None);
        assert_eq!(lost(wanted, "CONFIG_A=y\n"), None);
        assert_eq!(lost(wanted, "CONFIG_B=y\n"), Some("CONFIG_A=y"));
        assert_eq!(lost(wanted, "CONFIG_A=y\nCONFIG_B=y\n"), Some("CONFIG_B=n"));
    }

    #[test]
    fn one_build_at_a_time_and_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        assert!(matches!(lock(folder.path()), Err(BuildError::Busy)));
        drop(held);
        let at = |name: &str| folder.path().join(name);
        for name in ["building-1-0/tree", "building-notes", "kept"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("building-1-0/.drivelab-build"), "").unwrap();
        fs::write(at("building-notes/thesis"), "x").unwrap();
        let work = work_folder(folder.path()).unwrap();
        assert!(!at("building-1-0").exists() && at("building-notes/thesis").exists());
        let path = work.folder().path().to_owned();
        work.remove().unwrap();
        assert!(!path.exists() && at("kept").exists());
    }

    #[test]
    fn a_build_that_is_stopped_says_what_it_removes_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("linux.tar");
        fs::write(&archive, "not an archive").unwrap();
        let seen = Mutex::new(Vec::new());
        let observer = |event: Event<'_>| {
            let Event::Note(note) = event else { return };
            if let Some((_, rest)) = note.split_once("removing `") {
                let folder = PathBuf::from(rest.split('`').next().unwrap());
                assert!(folder.join("tree").exists());
                seen.lock().unwrap().push(folder);
            }
        };
        let check = |stop, expected: fn(&BuildError) -> bool| {
            // One each: a child of another test may hold the lock of the first for a moment.
            let kernels = folder.path().join(format!("kernels-{stop}"));
            let cache = Cache::new(kernels.clone());
            let stop = &AtomicBool::new(stop);
            let source = Source::Archive(archive.clone());
            let build = Build { source, jobs: 1, again: false, named: None };
            let error = build.run_below(&cache, &Control::new(stop, &observer)).unwrap_err();
            assert!(expected(&error), "{error}");
            let left = fs::read_dir(kernels).unwrap();
            let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            left.sort();
            assert_eq!(left, ["build.log", "lock"]);
        };
        check(true, |error| matches!(error, BuildError::Stopped));
        check(false, |error| matches!(error, BuildError::Failed { .. }));
        let [removed] = &seen.into_inner().unwrap()[..] else { panic!("it was said once") };
        assert!(!removed.exists());
    }

    #[test]
    fn a_cache_that_others_can_change_is_not_built_in() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let build = Build { source: Source::Package, jobs: 1, again: false, named: None };
        let cache = Cache::new(folder.path().join("kernels"));
        let error = build.run_below(&cache, &Control::unattended()).unwrap_err();
        assert!(error.to_string().contains("other users may rename files in"), "{error}");
    }

    #[test]
    fn files_are_counted_as_they_are_compiled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "  CC      before.o\n").unwrap();
        let mut compiled = Compiled::new(&path);
        let mut log = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut check = |text: &str, expected| {
            log.write_all(text.as_bytes()).unwrap();
            assert_eq!(compiled.more(), expected, "{text}");
        };
        check("  CC      a.o\n  HOSTCC  x\n  CC ", Some(1));
        check("     b.o", None);
        check("\n  CC      c.o\n", Some(3));
    }

    #[test]
    fn a_step_that_fails_says_what_it_printed_and_one_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let (log, stop) = (Log::new(folder.path()).unwrap(), AtomicBool::new(false));
        let control = Control::silent(&stop);
        let steps = Steps { folder: folder.path(), log, control: &control };
        steps.run("sh", &["-c", "echo fine"], folder.path()).unwrap();
        let script = "echo 'x.c:1: error: no'; echo more; exit 2";
        let error = steps.run("sh", &["-c", script], folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("failed: x.c:1: error: no"), "{error}");
        assert_eq!(steps.output("printf", &["6.12-1"]).unwrap(), "6.12-1");
        stop.store(true, Ordering::Relaxed);
        let error = steps.run("sleep", &["600"], folder.path()).unwrap_err();
        assert!(matches!(error, BuildError::Stopped), "{error}");
    }
}
