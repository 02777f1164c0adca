//! The causes that could have produced a difference.

use drivelab_analysis::explanation::Shows;
use drivelab_core::config::{ConfigError, Section};
use drivelab_core::invalid;
use drivelab_core::workload::WorkloadOptions;
use drivelab_model::options::Options;

/// The causes that come with the program, by file.
const EMBEDDED: [(&str, &str); 3] = [
    ("causes/cache-and-flush.toml", include_str!("../../../../causes/cache-and-flush.toml")),
    ("causes/queue-and-link.toml", include_str!("../../../../causes/queue-and-link.toml")),
    ("causes/drive-and-machine.toml", include_str!("../../../../causes/drive-and-machine.toml")),
];

/// Causes in one file; a simulation of each takes seconds.
const CAUSES_MAX: usize = 64;

/// A change of one arm that could have produced a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Its name.
    pub id: String,
    /// Its description.
    pub words: String,
    /// Its weight among all causes before the evidence.
    pub prior: f64,
    /// The reason for the weight.
    pub source: String,
    /// A command that shows whether it is so.
    pub look: String,
    /// Its change, or the mechanism that the model lacks for it.
    pub change: Change,
    /// The signs that `drive measure` shows of a drive with it.
    pub shows: Vec<Shows>,
}

/// The change that a cause makes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The drive and the work.
    Modelled(Box<Modelled>),
    /// The mechanism that the model lacks.
    Missing(String),
}

/// A change that can be simulated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Modelled {
    /// Keys of the drive.
    pub drive: Options,
    /// True if flushes and forced writes end in the drive's cache.
    pub ignores_flushes: bool,
    /// True if another drive on the same channel does the same: one command at a time for both.
    pub shares_channel: bool,
    /// A load at the same time.
    pub beside: Option<WorkloadOptions>,
}

impl Modelled {
    /// True if both set the same key, and cannot be together.
    pub fn excludes(&self, other: &Self) -> bool {
        let own = keys(&self.drive);
        keys(&other.drive).iter().any(|key| own.contains(key))
            || self.beside.is_some() && other.beside.is_some()
            || self.ignores_flushes && other.ignores_flushes
            // What shares a channel has one command at a time already.
            || self.shares_channel && own_tags(other)
            || other.shares_channel && own_tags(self)
    }
}

fn keys(options: &Options) -> Vec<&'static str> {
    options.entries().into_iter().map(|(key, _)| key).collect()
}

fn own_tags(change: &Modelled) -> bool {
    change.drive.tags.is_some() || change.beside.is_some()
}

/// The causes that come with the program.
pub fn embedded() -> Vec<Cause> {
    let parsed = EMBEDDED.iter().map(|(file, text)| {
        parse(file, text).expect("a test reads the causes that come with the program")
    });
    parsed.flatten().collect()
}

/// The causes of a text.
///
/// # Errors
/// A key is missing, unknown, or has a value that cannot be read.
pub fn parse(file: &str, text: &str) -> Result<Vec<Cause>, ConfigError> {
    let mut top = Section::parse(file, text)?;
    let sections = top.tables("cause")?;
    if sections.is_empty() || sections.len() > CAUSES_MAX {
        let message = format!("{} causes; 1 to {CAUSES_MAX} are allowed", sections.len());
        return Err(top.error(message));
    }
    top.finish()?;
    sections.into_iter().map(|(id, section)| cause(id, section)).collect()
}

fn cause(id: String, mut section: Section) -> Result<Cause, ConfigError> {
    let words = section.require("words")?;
    let prior: f64 = section.require("prior")?;
    // A weight of zero would be a cause that no evidence can ever show.
    if !(prior > 0.0 && prior <= 1000.0) {
        return Err(section.error("`prior` is a weight above 0, at most 1000"));
    }
    let (source, look) = (section.require("source")?, section.require("look")?);
    let missing: Option<String> = section.take("missing")?;
    let flushes = section.take_with("flushes", |text| match text {
        "ignored" => Ok(true),
        _ => Err(invalid!("`{text}` is unknown here: write `flushes = \"ignored\"` or omit it")),
    })?;
    let channel = section.take_with("channel", |text| match text {
        "shared" => Ok(true),
        _ => Err(invalid!("`{text}` is unknown here: write `channel = \"shared\"` or omit it")),
    })?;
    let (ignores_flushes, shares_channel) = (flushes.unwrap_or(false), channel.unwrap_or(false));
    let mut modelled = Modelled { ignores_flushes, shares_channel, ..Modelled::default() };
    for (key, value) in section.words("drive")? {
        modelled.drive.set(&key, &value).map_err(|wrong| section.error(wrong))?;
    }
    if let Some(mut beside) = section.section("beside")? {
        modelled.beside = Some(WorkloadOptions::read(&mut beside)?);
        beside.finish()?;
    }
    let change = match missing {
        Some(_) if modelled != Modelled::default() => {
            let message = "a cause has `missing`, or else changes";
            return Err(section.error(message));
        }
        Some(missing) => Change::Missing(missing),
        None if modelled == Modelled::default() => {
            return Err(section
                .error("a cause changes something: `drive`, `flushes`, `channel` or `beside`"));
        }
        None => Change::Modelled(Box::new(modelled)),
    };
    let mut shows = signs(&mut section, "shows", true)?;
    shows.extend(signs(&mut section, "may_show", false)?);
    section.finish()?;
    Ok(Cause { id, words, prior, source, look, change, shows })
}

/// The signs under a key, with their values.
fn signs(
    section: &mut Section,
    key: &'static str,
    always: bool,
) -> Result<Vec<Shows>, ConfigError> {
    let mut signs = Vec::new();
    for (sign, value) in section.words(key)? {
        if !drivelab_analysis::signs::is_known(&sign, &value) {
            let message = format!("`{key}`: `drive measure` never shows {sign} = \"{value}\"");
            return Err(section.error(message));
        }
        signs.push(Shows { sign, value, always });
    }
    Ok(signs)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_included_causes_can_be_read_and_have_distinct_names() {
        let causes = embedded();
        let names: BTreeSet<&str> = causes.iter().map(|cause| cause.id.as_str()).collect();
        assert_eq!(names.len(), causes.len());
        let modelled =
            causes.iter().filter(|cause| matches!(cause.change, Change::Modelled(_))).count();
        assert!(modelled >= 14, "{modelled}");
    }

    fn refused(text: &str, why: &str) {
        let error = parse("own.toml", text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn a_cause_that_cannot_be_is_refused_where_it_stands() {
        let rest = "words = 'w'\nsource = 's'\nlook = 'l'\n";
        refused("", "0 causes");
        refused(&format!("[cause.a]\nprior = 1\n{rest}"), "changes something");
        refused(&format!("[cause.a]\nprior = 0\ndrive = {{ tags = 1 }}\n{rest}"), "above 0");
        refused(&format!("[cause.a]\nprior = 1\ndrive = {{ tgas = 1 }}\n{rest}"), "tags");
        refused(&format!("[cause.a]\nprior = 1\nflushes = 'lost'\n{rest}"), "`lost`");
        let shows = "drive = { tags = 1 }\nshows = { queue = 'short' }\n";
        refused(&format!("[cause.a]\nprior = 1\n{shows}{rest}"), "never shows queue");
        let both = format!("[cause.a]\nprior = 1\nmissing = 'm'\ndrive = {{ tags = 1 }}\n{rest}");
        refused(&both, "or else changes");
        refused(&format!("[cause.a]\nprior = 1\ncolour = 'm'\nmissing = 'm'\n{rest}"), "colour");
    }

    #[test]
    fn causes_that_set_one_key_exclude_one_another() {
        let causes = embedded();
        let change = |id: &str| match &causes.iter().find(|it| it.id == id).unwrap().change {
            Change::Modelled(change) => (**change).clone(),
            Change::Missing(_) => panic!("{id} is modelled"),
        };
        assert!(change("link-sata1").excludes(&change("link-sata2")));
        assert!(!change("link-sata1").excludes(&change("write-cache-off")));
    }
}
