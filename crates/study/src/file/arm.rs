//! `[[arm]]`: one configuration.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::{Invalid, IoEngine, factor, invalid};

use super::vocabulary::{Setting, Settings, Vocabulary, settings};
use crate::command::Template;

/// One configuration.
#[derive(Debug, Clone, Default)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Its description, in one sentence.
    pub summary: String,
    /// The modelled drive, as `NAME[,key=value...]`; the study's where absent.
    pub drive: Option<String>,
    /// The file or device that is measured, or one for each drive of a matrix; the command's where
    /// empty.
    pub targets: Vec<String>,
    /// Settings of the modelled drive.
    pub settings: Settings,
    /// Command that activates the arm.
    pub apply: Option<String>,
    /// Command that undoes it.
    pub revert: Option<String>,
    /// Instruction to the user, where no command can do it.
    pub manual: Option<String>,
    /// The instruction takes a reboot; else each time is independent of the others on the user's
    /// word.
    pub reboot: bool,
    /// Command that succeeds only while the arm is active.
    pub check: Option<String>,
    /// The text of `{command}` in the commands of workloads.
    pub command: Option<Template>,
    /// The I/O engine; the best one available where absent.
    pub ioengine: Option<IoEngine>,
    /// True if the page cache is bypassed.
    pub direct: Option<bool>,
    /// The price of what it uses, in US dollars.
    pub price_usd: Option<f64>,
    /// Its level of each factor of an interaction, as factor and level.
    pub levels: Vec<(String, String)>,
}

impl Arm {
    /// True if it is activated by hand and a reboot.
    pub fn takes_reboot(&self) -> bool {
        self.manual.is_some() && self.reboot
    }

    /// Its level of a factor.
    pub fn level(&self, factor: &str) -> Option<&str> {
        let levels = self.levels.iter().find(|(known, _)| known == factor);
        levels.map(|(_, level)| level.as_str())
    }

    /// Its settings, by factor: its drive and its options, its way of doing I/O, and the factors
    /// that its command or its instruction to the user mentions. `default_drive` is the drive of
    /// the study.
    pub fn declares(&self, default_drive: Option<&str>) -> Vec<(String, String)> {
        let mut declares: Vec<(String, String)> = Vec::new();
        if let Some(drive) = self.drive.as_deref().or(default_drive) {
            declares.extend(drive_declares(drive));
        }
        for Setting { key, text, .. } in &self.settings {
            let factor = factor_of(key);
            // The arm's settings replace those that its drive brings along.
            declares.retain(|(known, _)| *known != factor);
            declares.push((factor, text.clone()));
        }
        declares.extend(self.ioengine.map(|engine| ("ioengine".to_owned(), engine.to_string())));
        declares.extend(self.direct.map(|direct| ("direct".to_owned(), direct.to_string())));
        let command = self.command.as_ref().map(Template::to_string);
        for text in [&self.apply, &self.manual, &command].into_iter().flatten() {
            let named = factor::named_in(text);
            // A command that names no known factor still changes something.
            let unknown = named.is_empty().then_some("");
            let all = named.into_iter().chain(unknown);
            declares.extend(all.map(|factor| (factor.to_owned(), text.clone())));
        }
        declares
    }
}

/// The declarations of `NAME,key=value...`: the drive, and each setting that follows its name.
fn drive_declares(drive: &str) -> Vec<(String, String)> {
    let mut parts = drive.strip_prefix("drive:").unwrap_or(drive).split(',');
    let name = parts.next().unwrap_or_default().to_owned();
    let settings = parts.filter_map(|part| part.split_once('='));
    let settings = settings.map(|(key, value)| (factor_of(key), value.to_owned()));
    std::iter::once(("drive".to_owned(), name)).chain(settings).collect()
}

/// The factor that a setting of a modelled drive is.
fn factor_of(key: &str) -> String {
    factor::read(key).unwrap_or(key).to_owned()
}

pub(super) fn arms(
    top: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<Vec<Arm>, ConfigError> {
    let mut arms: Vec<Arm> = Vec::new();
    for mut section in top.sections("arm")? {
        let name: String = section.require("name")?;
        if arms.iter().any(|arm| arm.name == name) {
            return Err(section.error(format!("two arms are named `{name}`")));
        }
        let read = arm(&mut section, name, vocabulary)?;
        section.finish()?;
        arms.push(read);
    }
    // One arm has nothing to be compared with.
    if arms.len() < 2 {
        let message = format!("a study needs at least two arms, this one has {}", arms.len());
        let hint = "add `[[arm]]` tables, each with `name = \"...\"`; \
                    `drivelab study --list` shows studies to start from";
        return Err(ConfigError { hint: Some(hint.into()), ..top.error(message) });
    }
    Ok(arms)
}

fn arm(
    section: &mut Section,
    name: String,
    vocabulary: &dyn Vocabulary,
) -> Result<Arm, ConfigError> {
    let summary = section.take("summary")?.unwrap_or_default();
    let (mut ioengine, mut direct) = (None, None);
    if let Some(mut run) = section.section("run")? {
        (ioengine, direct) = (run.take("ioengine")?, run.take("direct")?);
        run.finish()?;
    }
    Ok(Arm {
        name,
        summary,
        drive: section.take("drive")?,
        targets: own_targets(section)?,
        apply: section.take("apply")?,
        revert: section.take("revert")?,
        manual: section.take("manual")?,
        reboot: section.take("reboot")?.unwrap_or(true),
        check: section.take("check")?,
        command: section.take_with("command", own_command)?,
        settings: settings(section, vocabulary)?,
        ioengine,
        direct,
        price_usd: section.take_with("price_usd", price)?,
        levels: section.words("levels")?,
    })
}

fn own_command(text: &str) -> Result<Template, Invalid> {
    let command = Template::parse(text)?;
    if command.has_own() {
        return Err("the command of an arm has no place for `{command}`".into());
    }
    Ok(command)
}

/// `target = "PATH"`, or `targets = ["PATH", ...]`.
fn own_targets(section: &mut Section) -> Result<Vec<String>, ConfigError> {
    let one = section.take_with("target", target)?;
    let several = targets(section)?;
    if one.is_some() && !several.is_empty() {
        return Err(section.error("give `target` or `targets`, not both"));
    }
    Ok(one.map_or(several, |one| vec![one]))
}

/// `targets = ["PATH", ...]`: one for each drive of a matrix.
pub(super) fn targets(section: &mut Section) -> Result<Vec<String>, ConfigError> {
    let listed = section.list::<String>("targets")?.unwrap_or_default();
    let checked = listed.iter().map(|text| target(text));
    checked.collect::<Result<_, _>>().map_err(|wrong| section.error(format!("`targets`: {wrong}")))
}

fn target(text: &str) -> Result<String, Invalid> {
    if text.is_empty() {
        return Err("the path is empty".into());
    }
    if text.starts_with("drive:") {
        return Err(invalid!(
            "`{text}` is a modelled drive: write `drive = \"NAME\"`; a file of that name is \
             `./{text}`"
        ));
    }
    Ok(text.to_owned())
}

fn price(text: &str) -> Result<f64, Invalid> {
    let price: Option<f64> = text.parse().ok();
    let price = price.filter(|price| price.is_finite() && *price > 0.0);
    price.ok_or_else(|| invalid!("`{text}` is not a price in US dollars, above 0"))
}

pub(super) fn arm_named(section: &Section, arms: &[Arm], name: &str) -> Result<usize, ConfigError> {
    arms.iter().position(|arm| arm.name == name).ok_or_else(|| {
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        section.error(format!("there is no arm `{name}`; there are `{}`", names.join("`, `")))
    })
}
