//! `guest`: what running guests takes.

use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, Subcommand};
use drivelab_core::{AtPath as _, Bytes, Refusal};
use drivelab_guest::kernel::{self, Build, Cache, Kernel, KernelName, Named, Need, Source};
use drivelab_report::text::json_text;

use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Progress, Ui};
use drivelab_lab::request::{Answer, answer};
use drivelab_lab::stage::kernel::{self as stage, cache, find, shell};
use drivelab_lab::{Request, interrupt, target};

/// Prepare this machine for `run --in kernel`: a real Linux kernel in virtual time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab guest setup                          what is missing, and the command that installs it
  drivelab guest kernel build                   about ten minutes of processor time, once
  drivelab guest kernel where --json            path, source and checksum of the kernel
  drivelab guest kernel build --patch one-tag.patch --name one-tag
                                              another one, for `kernel = \"one-tag\"` of an arm
  drivelab guest kernel build --source ~/linux --name mine
                                              your tree of Linux 6.12, as it is
  drivelab guest kernel remove one-tag --objects
                                              the kernel, and what makes such builds quick
  drivelab guest kernel export linux.xz         for a machine without a compiler
  drivelab guest kernel import linux.xz         a kernel that was built on another machine
  drivelab guest shell intel-x25m,controller=ide
                                              a shell in a guest with this drive")]
pub(crate) struct GuestArgs {
    #[command(subcommand)]
    verb: Verb,
    /// The folder of kernels [default: `drivelab/kernels` in the user's cache folder]; for a
    /// kernel that it lacks, that of the package drivelab-kernel.
    #[arg(long, global = true, value_name = "DIR")]
    cache: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what is missing and how to install it; exit code 3 where anything is.
    Setup,
    /// Build, import or find the kernel of guests.
    #[command(subcommand)]
    Kernel(KernelVerb),
    /// Carry out a request of the drivelab that started this guest.
    #[command(hide = true)]
    Run {
        /// The request, as JSON.
        file: PathBuf,
    },
    /// Boot the kernel on a modelled drive and look around in it.
    ///
    /// The guest's console is the terminal, and a second in it takes a second. `poweroff` and the
    /// end of input end it with exit code 0, and Ctrl-C at any time; nothing is kept.
    Shell {
        /// The drive, as `drivelab drive list` has it.
        #[arg(default_value = "seagate-st31000333as")]
        drive: String,
        /// A program of this machine to have in the guest, with its libraries; repeatable.
        #[arg(long = "program", value_name = "FILE")]
        programs: Vec<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
enum KernelVerb {
    /// Build it from the source of Linux 6.12; one that is built already is kept.
    Build {
        /// An archive of the source, or a folder with it, which is copied [default: the package
        /// linux-source-6.12, downloaded if it is not installed].
        #[arg(long, value_name = "FILE.tar.xz|DIR")]
        source: Option<PathBuf>,
        /// The number of compilers that run at once [default: one for each processor].
        #[arg(long, value_name = "N")]
        jobs: Option<usize>,
        /// Build it from nothing, even if it is built already or objects of its source are kept.
        #[arg(long)]
        again: bool,
        /// Keep it under this name, next to the usual one: `kernel = "NAME"` of an arm.
        #[arg(long, value_name = "NAME")]
        name: Option<KernelName>,
        /// Apply this patch after those of drivelab; repeatable.
        #[arg(long = "patch", value_name = "FILE", requires = "name")]
        patches: Vec<PathBuf>,
        /// Options of the configuration that override those of drivelab; repeatable.
        #[arg(long = "config", value_name = "FILE", requires = "name")]
        fragments: Vec<PathBuf>,
    },
    /// Keep a kernel that was built on another machine.
    Import {
        /// The program `linux`, or what `export` wrote.
        file: PathBuf,
        /// Keep it under this name, next to the usual one.
        #[arg(long, value_name = "NAME")]
        name: Option<KernelName>,
    },
    /// Write a kernel for another machine: compressed with xz, with its checksum in another file.
    Export {
        /// The file; `FILE.sha256` is for `sha256sum --check`.
        file: PathBuf,
        /// The kernel of this name [default: the usual one].
        #[arg(long, value_name = "NAME")]
        name: Option<KernelName>,
    },
    /// List the kernels that were built or imported, and the objects that are kept for builds.
    List,
    /// Remove kernels with names, or the objects that are kept for builds.
    ///
    /// A build keeps the objects of its source, so that one with `--patch` compiles only what the
    /// patch changes. Without them the next build compiles everything.
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Remove {
        /// The names of the kernels.
        #[arg(value_name = "NAME", group = "what")]
        names: Vec<KernelName>,
        /// Remove the objects of all sources.
        #[arg(long, group = "what")]
        objects: bool,
    },
    /// Show the kernel that guests run; exit code 3 where there is none.
    Where {
        /// The kernel of this name [default: the usual one].
        #[arg(long, value_name = "NAME")]
        name: Option<KernelName>,
    },
}

/// The schema of all that `guest` prints.
const SCHEMA: &str = "drivelab.guest/1";

/// Carries out a verb of `guest`.
pub(crate) fn run(arguments: GuestArgs, ui: Ui) -> Outcome {
    let kernels = cache(arguments.cache)?;
    let kernel: Result<Kernel, Refusal> = match arguments.verb {
        Verb::Setup => return setup(&kernels, ui),
        Verb::Run { file } => return inside(&file, ui),
        Verb::Shell { drive, programs } => {
            let spec = target::drive_spec(&drive)?;
            shell(&find(&kernels, None)?, &spec, &programs)?;
            return Ok(Exit::Done);
        }
        Verb::Kernel(KernelVerb::Build { source, jobs, again, name, patches, fragments }) => {
            let source = source.map_or(Source::Package, Source::Archive);
            let jobs =
                jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into));
            let named = name.map(|name| Named { name, patches, fragments });
            build(&kernels, &Build { source, jobs, again, named }, ui)
        }
        Verb::Kernel(KernelVerb::Import { file, name }) => {
            kernels.import(&file, name).map_err(Into::into)
        }
        Verb::Kernel(KernelVerb::Export { file, name }) => {
            let kernel = find(&kernels, name.as_ref())?;
            kernel.export(&file)?;
            Ok(kernel)
        }
        Verb::Kernel(KernelVerb::List) => return list(&kernels, ui),
        Verb::Kernel(KernelVerb::Remove { names, objects }) => {
            return remove(&kernels, &names, objects, ui);
        }
        Verb::Kernel(KernelVerb::Where { name }) => find(&kernels, name.as_ref()),
    };
    let kernel = kernel?;
    if ui.json {
        let shown = serde_json::json!({ "schema": SCHEMA, "kernel": kernel });
        return ui.result(&json_text(&shown));
    }
    ui.result(&words(&kernel))
}

/// A kernel in words.
fn words(kernel: &Kernel) -> String {
    let changes = kernel.changes.iter().map(|it| format!(", {} ({:.12})", it.file, it.sha256));
    let name = kernel.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let other = if kernel.recipe == kernel::recipe() {
        ""
    } else {
        "\nIt was built by another version of drivelab, and guests of this one cannot run it."
    };
    format!(
        "{name}{}\nLinux {}, from {}{}, SHA-256 {}{other}",
        kernel.path.display(),
        kernel.release,
        kernel.source,
        changes.collect::<String>(),
        kernel.sha256
    )
}

fn list(cache: &Cache, ui: Ui) -> Outcome {
    let (kernels, objects) = (stage::list(cache)?, cache.objects()?);
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": SCHEMA,
            "kernels": kernels,
            "objects": objects,
        })));
    }
    if kernels.is_empty() {
        return Err(drivelab_guest::no_kernel());
    }
    let objects = objects.iter().map(|it| {
        format!("objects of {}, for builds with patches: {}", it.source, it.size().about())
    });
    ui.result(&kernels.iter().map(words).chain(objects).collect::<Vec<_>>().join("\n"))
}

/// Removes kernels of this user, not those of a package.
fn remove(cache: &Cache, names: &[KernelName], objects: bool, ui: Ui) -> Outcome {
    debug_assert!(!names.is_empty() || objects, "clap requires one of them");
    let absent = names.iter().filter(|name| !cache.has_named(name));
    let absent: Vec<String> = absent.map(|name| format!("`{name}`")).collect();
    if !absent.is_empty() {
        // A wrong name ends the call before anything is removed.
        let message = format!("there is no kernel {}", absent.join(" and no kernel "));
        return Err(Refusal::request(message).hint("list them: drivelab guest kernel list"));
    }
    // A build in progress may have begun with these objects, or be about to name this kernel.
    let _lock = cache.lock()?;
    for name in names {
        cache.remove_named(name)?;
    }
    let objects = if objects { cache.remove_objects()? } else { Vec::new() };
    let freed = Bytes::new(objects.iter().map(|it| it.size_bytes).sum());
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": SCHEMA,
            "removed": names,
            "removed_objects_bytes": freed.get(),
        })));
    }
    let names = names.iter().map(|name| format!("removed: kernel {name}"));
    let objects = objects.first().map(|_| format!("removed: {} of objects", freed.about()));
    ui.result(&names.chain(objects).collect::<Vec<_>>().join("\n"))
}

fn build(cache: &Cache, build: &Build, ui: Ui) -> Result<Kernel, Refusal> {
    let progress = Progress::steps(kernel::COMPILED_ABOUT, "guest kernel");
    let console = Console::with_progress(ui, progress);
    // It looks at the flag; then it needs the time to remove what it made.
    let _whole = interrupt::shield();
    Ok(build.run(cache, &console.control())?)
}

/// Runs where its results are read by the drivelab that started the guest.
fn inside(file: &Path, ui: Ui) -> Outcome {
    let text = std::fs::read(file).at_path("read", file)?;
    let request: Request = serde_json::from_slice(&text).map_err(Refusal::request)?;
    let Answer { json, is_failed } = answer(&request, &interrupt::silent())?;
    ui.document(&json)?;
    Ok(if is_failed { Exit::CannotHere } else { Exit::Done })
}

/// The step that a missing program is needed for, in words.
fn purpose(need: Need) -> &'static str {
    if need == Need::Build { "build the kernel" } else { "run guests" }
}

fn setup(cache: &Cache, ui: Ui) -> Outcome {
    let missing = kernel::missing(Path::new("/"));
    let kernel = stage::usual(cache)?;
    // A host that has a kernel needs no compiler.
    let missing = missing.into_iter().filter(|it| kernel.is_none() || it.need == Need::Run);
    let missing: Vec<_> = missing.collect();
    let install = kernel::install_command(&missing);
    let is_ready = missing.is_empty() && kernel.is_some();
    if ui.json {
        let missing = missing.iter().map(|it| {
            let needed_to = purpose(it.need);
            serde_json::json!({ "what": it.what, "package": it.package, "needed_to": needed_to })
        });
        let missing: Vec<_> = missing.collect();
        ui.result(&json_text(&serde_json::json!({
            "schema": SCHEMA,
            "ready": is_ready,
            "missing": missing,
            "install": install,
            "kernel": kernel,
        })))?;
    } else {
        let missing = missing.iter().map(|it| {
            format!("missing: {} (package {}), to {}", it.what, it.package, purpose(it.need))
        });
        let kernel = match &kernel {
            Some(kernel) => format!("kernel: {}", kernel.path.display()),
            None => "kernel: none; build it: drivelab guest kernel build".into(),
        };
        let install = install.map(|command| format!("install: {command}"));
        ui.result(&missing.chain(install).chain([kernel]).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(if is_ready { Exit::Done } else { Exit::CannotHere })
}
