//! `articles`: the published comparisons, run again.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::StageName;
use drivelab_core::plan::Scale;
use drivelab_report::article::again::{self, Again, Repeated};
use drivelab_study::embedded::STUDIES;
use drivelab_study::keep::{make_folder, write};
use drivelab_study::{Begun, StudyFile};

use super::StudyArgs;
use crate::commands::archive::keep::KeepArgs;
use crate::commands::completion;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Ui};
use drivelab_core::{AtPath as _, Refusal};
use drivelab_lab::stage::{DriveKeys, kernel};

/// Run five published comparisons of storage settings again, and state which claims hold.
///
/// Each is an included study (`drivelab study --list`). The results folder holds one folder for
/// each study, and `articles.md`, `articles.html` and `articles.json` about all of them. The same
/// command continues after an interruption and keeps what is finished.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab articles                                  all five, in virtual time
  drivelab articles --stage simulate                 without a real kernel
  drivelab articles --only 0,2 --out before
  drivelab articles --stage kernel --scale full --out full   hours, with the published sizes
  drivelab articles --json >articles.json")]
pub(crate) struct ArticlesArgs {
    /// Where to run them [default: simulate, and kernel if a kernel has been built]; at stage
    /// kernel only those with `[stage.kernel]` run, and a study that cannot run at a stage is left
    /// out with a warning.
    #[arg(long, value_name = "STAGE,...", value_delimiter = ',',
        value_parser = completion::choice::<StageName>(), hide_possible_values = true)]
    stage: Vec<StageName>,
    /// Only these articles, by number: 0 to 4.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    only: Vec<u32>,
    /// The scale of their work: stated, or full, with the published sizes, where a study has them
    /// [default: stated].
    #[arg(long, value_name = "SCALE", value_parser = completion::choice::<Scale>(),
        hide_possible_values = true, default_value = "stated", hide_default_value = true)]
    scale: Scale,
    /// Results folder.
    #[arg(long, value_name = "DIR", default_value = "drivelab-articles")]
    out: PathBuf,
    #[command(flatten)]
    keep: KeepArgs,
}

/// Runs what is missing, and writes the pages about all of them.
pub(crate) fn run(arguments: &ArticlesArgs, ui: Ui) -> Outcome {
    let chosen = studies(&arguments.only)?;
    arguments.keep.check(None)?;
    make_folder(&arguments.out)?;
    let mut repeated = Vec::new();
    let all = runs(&stages(&arguments.stage, ui)?, &chosen);
    if arguments.scale == Scale::Full && all.iter().all(|(stage, it)| !it.has_full(*stage)) {
        let message = "--scale full: none of these studies has a full scale at these stages";
        return Err(Refusal::request(message).hint("name a stage that has: --stage kernel"));
    }
    for (position, (stage, article)) in (1..).zip(&all) {
        let Article { number, name, .. } = article;
        ui.note(&format!("article {number}: {name}, stage {stage}, {position} of {}", all.len()));
        let folder = arguments.out.join(format!("{name}-{stage}"));
        match repeat(article, *stage, &folder, arguments, ui) {
            Ok(Some(one)) => repeated.push(one),
            Ok(None) => return Ok(Exit::Interrupted),
            // Files, programs and suites do not run at every stage.
            Err(failure) if *stage != StageName::Simulate => {
                ui.warn(&format!("left out: {failure:#}"));
            }
            Err(failure) => return Err(failure),
        }
    }
    if repeated.is_empty() {
        let message = "none of the studies can run at this stage here";
        return Err(Refusal::machine(message).hint("add --stage simulate"));
    }
    let again = Again::new(repeated);
    let console = Console::new(ui);
    let pages = [
        ("articles.json", again.json()),
        ("articles.md", again::markdown(&again)),
        ("articles.html", again::html(&again)),
    ];
    for (name, text) in pages {
        write(&arguments.out.join(name), text.as_bytes(), &console.control())?;
    }
    ui.result(&if ui.json { again.json() } else { again.text(ui.look()) })?;
    ui.note(&format!("pages: {}", arguments.out.join("articles.html").display()));
    Ok(Exit::Done)
}

/// Each study at each stage that it is made for.
fn runs(stages: &[StageName], studies: &[Article]) -> Vec<(StageName, Article)> {
    let pairs = stages.iter().copied().flat_map(|stage| studies.iter().map(move |it| (stage, *it)));
    pairs.filter(|(stage, it)| *stage != StageName::Kernel || it.has_kernel).collect()
}

/// The stages asked for, or those that this machine has.
fn stages(asked: &[StageName], ui: Ui) -> Result<Vec<StageName>, Refusal> {
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    let mut stages = vec![StageName::Simulate];
    match kernel::find(&kernel::cache(None)?, None) {
        Ok(_) => stages.push(StageName::Kernel),
        Err(refusal) => ui.note(&format!("stage kernel is left out: {}", refusal.message)),
    }
    Ok(stages)
}

/// The study of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Article {
    number: u32,
    name: &'static str,
    /// It says what it runs at stage kernel.
    has_kernel: bool,
    /// Its work at stage kernel, and at others, has a full scale.
    full: [bool; 2],
}

impl Article {
    fn has_full(&self, stage: StageName) -> bool {
        self.full[usize::from(stage != StageName::Kernel)]
    }
}

/// The studies of the articles asked for, in the order of the articles.
fn studies(only: &[u32]) -> Result<Vec<Article>, Refusal> {
    let mut studies = Vec::new();
    for (name, text) in STUDIES {
        let study = StudyFile::parse(name, text, &DriveKeys)?;
        let has_kernel = study.is_made_for(StageName::Kernel);
        let full = [StageName::Kernel, StageName::Simulate].map(|stage| study.has_full(stage));
        studies.extend(study.article.map(|number| Article { number, name, has_kernel, full }));
    }
    // The number is the first field, so this is the order of the articles.
    studies.sort_unstable();
    let is_unknown = |number: &&u32| studies.iter().all(|known| known.number != **number);
    if let Some(unknown) = only.iter().find(is_unknown) {
        let last = studies.len() - 1;
        return Err(Refusal::request(format!("there is no article {unknown}"))
            .hint(format!("name numbers from 0 to {last}")));
    }
    studies.retain(|study| only.is_empty() || only.contains(&study.number));
    Ok(studies)
}

/// One study with its article; `None` where it was interrupted.
fn repeat(
    article: &Article,
    stage: StageName,
    folder: &Path,
    arguments: &ArticlesArgs,
    ui: Ui,
) -> Result<Option<Repeated>, Refusal> {
    let name = article.name;
    let is_begun = Begun::is_in(folder)?;
    // Where a study has one scale, that is the one of every table about it.
    let scale = if article.has_full(stage) { arguments.scale } else { Scale::Stated };
    let study = StudyArgs::of_included(name, (stage, scale), folder, arguments.keep.clone());
    let study = StudyArgs { resume: is_begun, ..study };
    if super::run(&study, ui.without_results())? == Exit::Interrupted {
        return Ok(None);
    }
    let result = folder.join("result.json");
    let text = std::fs::read_to_string(&result).at_path("read", &result)?;
    Ok(Some(Repeated::of(name, &text)?))
}
