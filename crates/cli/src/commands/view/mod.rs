//! `view`: the archive in a browser.

#[cfg(feature = "view")]
mod lab;
#[cfg(feature = "view")]
mod pages;

use std::path::PathBuf;

use clap::Args;

use crate::commands::archive::keep::ArchiveArgs;
use crate::exit::Outcome;
use crate::ui::Ui;

/// Show the archive in a browser, on this machine alone.
///
/// Prints the address of the list of kept runs: filter it, open runs, compare two or more, and see
/// a metric over time with hints where it may have changed. Pages are read-only: none starts a load
/// or changes the archive. Every user of this machine can read them. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab view
  drivelab view --port 0                 any free port
  drivelab view --lab lab.html           with the laboratory, a page of scripts/package-web
  ssh -L 8707:localhost:8707 HOST        then open http://localhost:8707/ here, with `view` on HOST")]
pub(crate) struct ViewArgs {
    /// The port of 127.0.0.1; 0 is any that is free.
    #[arg(long, default_value_t = 8707)]
    port: u16,
    /// The folder of results folders whose studies are shown while they run.
    #[arg(long, value_name = "DIR", default_value = "drivelab-results")]
    results: PathBuf,
    /// The page of the laboratory in a browser, made by scripts/package-web; without this option
    /// the one that a package of drivelab has installed.
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Serves the pages until it is interrupted.
#[cfg(feature = "view")]
pub(crate) fn run(arguments: &ViewArgs, ui: Ui) -> Outcome {
    use crate::exit::Exit;
    use drivelab_core::Refusal;
    use drivelab_lab::interrupt;
    use drivelab_report::text::json_text;

    // One that cannot be opened is reported here and not in the browser.
    drivelab_lab::results::renewed(arguments.archive.open()?);
    let failed = |error: std::io::Error| {
        let message = format!("port {} of 127.0.0.1 cannot be used", arguments.port);
        Refusal::machine(message)
            .because(error)
            .hint("another `drivelab view` may use it; add --port 0 for any free port")
    };
    let lab = lab::read(arguments.lab.as_deref())?;
    let listener = drivelab_view::bind(arguments.port).map_err(failed)?;
    let address = format!("http://{}/", listener.local_addr().map_err(failed)?);
    if ui.json {
        let text = serde_json::json!({ "schema": "drivelab.view/1", "url": address });
        ui.result(&json_text(&text))?;
    } else {
        ui.result(&address)?;
    }
    ui.note("open this address in a browser; Ctrl-C ends it");
    let pages = std::sync::Arc::new(pages::Archived {
        archive: arguments.archive.clone(),
        results: arguments.results.clone(),
        lab,
    });
    drivelab_view::serve(listener, pages, interrupt::flag()).map_err(failed)?;
    Ok(Exit::Done)
}

/// Says that this build has no viewer.
#[cfg(not(feature = "view"))]
pub(crate) fn run(arguments: &ViewArgs, _: Ui) -> Outcome {
    use drivelab_core::Refusal;

    arguments.archive.open()?;
    let message = "this drivelab was built without the viewer";
    Err(Refusal::machine(message).hint(
        "build it with: cargo install --path crates/cli --features view; or write one page: drivelab \
         report RUN --out FILE.html",
    ))
}
