//! Builds the kernel: source, patches, configuration, make.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::cache::{Cache, CacheError, Kernel};
use super::needs::{Missing, Need, missing};
use super::recipe::{CONFIG, PATCHES, SERIES, release_suffix};
use crate::trace::sha256;

/// Where the source comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The package `linux-source-6.12`: installed, or else downloaded.
    Package,
    /// A tar archive of the source tree.
    Archive(PathBuf),
}

/// How a kernel is built.
#[derive(Debug)]
pub struct Build<'a> {
    /// The source.
    pub source: Source,
    /// The number of compilers that run at once.
    pub jobs: usize,
    /// Builds again what is there already.
    pub again: bool,
    /// Ends the build when set.
    pub stop: &'a AtomicBool,
}

/// Why no kernel was built.
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
    /// Something of this machine failed.
    #[error("cannot {operation}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
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
        /// All of it.
        log: PathBuf,
    },
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

/// How often the stop flag is looked at; a build takes minutes.
const LOOK: Duration = Duration::from_millis(100);
/// Folders of builds begin with this; those that a killed build left are removed by the next.
const FOLDER: &str = "building-";
/// The same kernel from the same source, whoever builds it, where and when.
const IDENTITY: [(&str, &str); 3] = [
    ("KBUILD_BUILD_USER", "drivelab"),
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_TIMESTAMP", "2025-01-01"),
];

impl Build<'_> {
    /// Builds the kernel, or finds it; `progress` receives the name of each step.
    pub fn run(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, BuildError> {
        let needs = missing(Path::new("/"));
        let needs: Vec<Missing> = needs.into_iter().filter(|it| it.need == Need::Build).collect();
        if !needs.is_empty() {
            return Err(BuildError::Missing(needs));
        }
        let folder = cache.folder()?;
        let _lock = lock(folder)?;
        remove_leftovers(folder);
        let work = tempfile::Builder::new().prefix(FOLDER).tempdir_in(folder);
        let work = work.map_err(at("make a folder for the build"))?;
        let steps = Steps { folder: work.path(), log: folder.join("build.log"), stop: self.stop };
        File::create(&steps.log).map_err(at("write the log of the build"))?;
        progress("source");
        let (archive, source) = self.find_source(&steps)?;
        if !self.again
            && let Some(kernel) = cache.find_source(&source)?
        {
            return Ok(kernel);
        }
        progress("unpacking");
        let tree = unpack(&steps, &archive)?;
        progress("patches");
        for (name, text) in PATCHES {
            let file = work.path().join(name);
            fs::write(&file, text).map_err(at("write a patch"))?;
            let file = file.display().to_string();
            steps.run("patch", &["-p1", "--forward", "--batch", "-i", &file], &tree)?;
        }
        progress("configuration");
        self.configure(&steps, &tree)?;
        progress("kernel");
        self.make(&steps, &tree, "linux")?;
        Ok(cache.add(&tree.join("linux"), &source)?)
    }

    fn configure(&self, steps: &Steps<'_>, tree: &Path) -> Result<(), BuildError> {
        let wanted = tree.join("drivelab.config");
        fs::write(&wanted, CONFIG).map_err(at("write the configuration"))?;
        self.make(steps, tree, "allnoconfig")?;
        let config = fs::read_to_string(tree.join(".config"));
        let config = config.map_err(at("read the configuration"))?;
        match lost(CONFIG, &config) {
            Some(option) => Err(BuildError::Lost(option.to_owned())),
            None => Ok(()),
        }
    }

    fn make(&self, steps: &Steps<'_>, tree: &Path, target: &str) -> Result<(), BuildError> {
        let jobs = format!("-j{}", self.jobs.max(1));
        let version = format!("LOCALVERSION={}", release_suffix());
        let config = "KCONFIG_ALLCONFIG=drivelab.config";
        steps.run("make", &["ARCH=um", &jobs, &version, config, target], tree)
    }

    /// The archive of the source, and what names it.
    fn find_source(&self, steps: &Steps<'_>) -> Result<(PathBuf, String), BuildError> {
        if let Source::Archive(path) = &self.source {
            let bytes = fs::read(path).map_err(at("read the source"))?;
            let path = std::path::absolute(path).map_err(at("find the source"))?;
            return Ok((path, format!("archive-{}", &sha256(&bytes)[..12])));
        }
        let package = format!("linux-source-{SERIES}");
        let archive = format!("usr/src/{package}.tar.xz");
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

/// Holds off other builds in this folder until it is dropped.
fn lock(folder: &Path) -> Result<File, BuildError> {
    let file = OpenOptions::new().create(true).append(true).open(folder.join("lock"));
    let file = file.map_err(at("lock the cache"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(BuildError::Busy),
        Err(error) => Err(at("lock the cache")(error.into())),
    }
}

/// Removes what killed builds left; the caller has the lock.
fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(FOLDER)) {
        // What cannot be removed only takes space.
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// Unpacks an archive; gives the only folder in it.
fn unpack(steps: &Steps<'_>, archive: &Path) -> Result<PathBuf, BuildError> {
    let into = steps.folder.join("tree");
    fs::create_dir(&into).map_err(at("make a folder for the source"))?;
    steps.run("tar", &["-xf", &archive.display().to_string(), "--strip-components=1"], &into)?;
    Ok(into)
}

/// The first option of `wanted` that `config` does not have as it should.
fn lost<'a>(wanted: &'a str, config: &str) -> Option<&'a str> {
    let wanted = wanted.lines().filter(|line| line.starts_with("CONFIG_"));
    let is_there = |line: &str| match line.strip_suffix("=n") {
        Some(name) => !config.lines().any(|line| line.starts_with(&format!("{name}="))),
        None => config.lines().any(|found| found == line),
    };
    wanted.into_iter().find(|line| !is_there(line))
}

/// Runs the commands of a build.
struct Steps<'a> {
    folder: &'a Path,
    log: PathBuf,
    stop: &'a AtomicBool,
}

impl Steps<'_> {
    /// Runs a command in `folder`; what it prints is added to the log.
    fn run(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<(), BuildError> {
        let step = format!("{program} {}", arguments.join(" "));
        let log = || OpenOptions::new().append(true).open(&self.log);
        let mut out = log().map_err(at("write the log of the build"))?;
        writeln!(out, "$ {step}").map_err(at("write the log of the build"))?;
        let err = out.try_clone().map_err(at("write the log of the build"))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).process_group(0).stdin(Stdio::null());
        command.stdout(out).stderr(err).envs(IDENTITY).env("LC_ALL", "C");
        let mut child = Group(command.spawn().map_err(at("start a step of the build"))?);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(BuildError::Stopped);
            }
            match child.0.try_wait().map_err(at("wait for a step of the build"))? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => {
                    return Err(BuildError::Failed {
                        step,
                        last: self.last(),
                        log: self.log.clone(),
                    });
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// What a short command prints.
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

    /// The last line of the log that says something.
    fn last(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().rev();
        let errors = lines.clone().find(|line| line.contains("error") || line.starts_with("E: "));
        errors.or_else(|| lines.clone().find(|line| !line.trim().is_empty())).unwrap_or("").into()
    }
}

/// A command and whatever it started; killed when this is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // One that was waited for has no members left that matter, and its number may be taken.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
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
        fs::create_dir_all(folder.path().join("building-x/tree")).unwrap();
        fs::create_dir(folder.path().join("kept")).unwrap();
        remove_leftovers(folder.path());
        assert!(!folder.path().join("building-x").exists() && folder.path().join("kept").exists());
    }

    #[test]
    fn a_step_that_fails_says_what_it_printed_and_one_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let (log, stop) = (folder.path().join("log"), AtomicBool::new(false));
        File::create(&log).unwrap();
        let steps = Steps { folder: folder.path(), log, stop: &stop };
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
