//! `[[disk]]`: the disks of a guest that has several.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::{Invalid, invalid};

use crate::file::arm::Arm;
use crate::file::vocabulary::{Settings, Vocabulary, settings};

/// The most disks of a guest: as many functions fit on its bus.
pub const DISKS_MAX: usize = 8;
/// The longest name.
const NAME_MAX: usize = 16;

/// One disk.
#[derive(Debug, Clone)]
pub struct Disk {
    /// Its name, by which commands find it in the guest: `/dev/disk/NAME`.
    pub name: String,
    /// The modelled drive, as `NAME[,key=value...]`.
    pub drive: String,
    /// Its port at its controllers; the order of the tables where absent.
    pub port: Option<u8>,
    /// Settings of the drive: those of `[base]`, and its own.
    pub settings: Settings,
}

/// The drives of a study.
pub(in crate::file) struct Drives {
    /// The only one, or the first.
    pub(in crate::file) drive: Option<String>,
    /// Settings that all arms share.
    pub(in crate::file) base: Settings,
    /// All disks of a guest.
    pub(in crate::file) disks: Vec<Disk>,
}

/// Takes `[base]` and the disks.
pub(in crate::file) fn drives(
    top: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<Drives, ConfigError> {
    let (mut drive, mut base) = base(top, vocabulary)?;
    let disks = read_disks(top, vocabulary, (&mut drive, &mut base))?;
    Ok(Drives { drive, base, disks })
}

/// `[base]`: the drive, and settings that all arms share.
fn base(
    top: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<(Option<String>, Settings), ConfigError> {
    let Some(mut section) = top.section("base")? else { return Ok((None, Settings::new())) };
    let read = (section.take("drive")?, settings(&mut section, vocabulary)?);
    section.finish()?;
    Ok(read)
}

/// Takes the disks. The first is the drive of the study, with its settings in `base`.
fn read_disks(
    top: &mut Section,
    vocabulary: &dyn Vocabulary,
    (drive, base): (&mut Option<String>, &mut Settings),
) -> Result<Vec<Disk>, ConfigError> {
    top.at_most("disk", DISKS_MAX)?;
    let mut disks: Vec<Disk> = Vec::new();
    for mut section in top.sections("disk")? {
        let others = disks.iter().map(|disk| (disk.name.as_str(), disk.port));
        let (name, port) = name_and_port(&mut section, others)?;
        // It would be unclear which of the disks it is.
        if drive.is_some() {
            let message = "`drive` in `[base]` is the drive of a study without `[[disk]]` tables";
            let hint = "move it into the tables of the disks".to_owned();
            return Err(ConfigError { hint: Some(hint), ..section.error(message) });
        }
        let own = settings(&mut section, vocabulary)?;
        let settings = overlaid(base, &own);
        disks.push(Disk { name, drive: section.require("drive")?, port, settings });
        section.finish()?;
    }
    // Drawing, settings and pictures of a study are those of its first disk.
    if let Some(first) = disks.first() {
        *drive = Some(first.drive.clone());
        base.clone_from(&first.settings);
    }
    Ok(disks)
}

/// Takes the name and the port of a disk, which none of the `others` has.
pub(crate) fn name_and_port<'a>(
    section: &mut Section,
    others: impl Iterator<Item = (&'a str, Option<u8>)> + Clone,
) -> Result<(String, Option<u8>), ConfigError> {
    let name = section.take_with("name", name)?;
    let name = name.ok_or_else(|| section.error("a disk needs a `name`"))?;
    if others.clone().any(|(other, _)| other == name) {
        return Err(section.error(format!("two disks are named `{name}`")));
    }
    let port = section.take::<u32>("port")?.map(u8::try_from).transpose();
    let port = port.map_err(|_| section.error("`port` is at most 255"))?;
    if port.is_some() && others.into_iter().any(|(_, other)| other == port) {
        return Err(section.error("two disks have this `port`"));
    }
    Ok((name, port))
}

/// Refuses arms and a matrix that name drives.
pub(in crate::file) fn check(
    top: &Section,
    disks: &[Disk],
    arms: &[Arm],
    has_matrix: bool,
) -> Result<(), ConfigError> {
    if disks.is_empty() {
        return Ok(());
    }
    if let Some(arm) = arms.iter().find(|arm| arm.drive.is_some()) {
        let message = format!("arm `{}` names a drive, and the disks have theirs", arm.name);
        let hint = "an arm of a study with `[[disk]]` tables sets what all disks have: `controller`, \
                    `scheduler`, `stack`";
        return Err(ConfigError { hint: Some(hint.into()), ..top.error(message) });
    }
    if has_matrix {
        return Err(top.error("a `[matrix]` has no `[[disk]]` tables: its `drives` are alike"));
    }
    Ok(())
}

/// Settings with others over them.
fn overlaid(below: &Settings, over: &Settings) -> Settings {
    let kept = below.iter().filter(|below| over.iter().all(|over| over.key != below.key));
    kept.chain(over).cloned().collect()
}

/// Returns whether a byte can be in a name of a device file, and in a word of a shell.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// A name that can be one of a file.
fn name(text: &str) -> Result<String, Invalid> {
    let starts = text.starts_with(|first: char| first.is_ascii_lowercase());
    if !starts || text.len() > NAME_MAX || !text.bytes().all(is_plain) {
        return Err(invalid!(
            "`{text}` is not the name of a disk: a letter, and up to {} letters, digits and `-`",
            NAME_MAX - 1
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::StudyFile;
    use crate::file::tests::TwoKeys;

    fn read(disks: &str) -> Result<StudyFile, ConfigError> {
        let text = format!(
            "title = \"Which?\"\nprimary = \"read.iops\"\n[base]\ncontroller = \"ide\"\n{disks}\n\
             [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n\
             [[workload]]\nname = \"read\"\nrw = \"randread\"\nruntime = \"9s\"\n"
        );
        StudyFile::parse("study.toml", &text, &TwoKeys)
    }

    fn texts(settings: &Settings) -> Vec<String> {
        settings.iter().map(|it| format!("{}={}", it.key, it.text)).collect()
    }

    fn at_port(name: &str) -> String {
        format!("[[disk]]\nname = \"{name}\"\ndrive = \"x\"\nport = 1\n")
    }

    #[test]
    fn the_first_disk_is_the_drive_of_the_study() {
        let study = read(
            "[[disk]]\nname = \"a\"\ndrive = \"x\"\nwrite-cache = \"off\"\n\
             [[disk]]\nname = \"b\"\ndrive = \"y\"\ncontroller = \"ahci\"\nport = 2",
        );
        let study = study.unwrap();
        assert_eq!(study.drive.as_deref(), Some("x"));
        assert_eq!(texts(&study.base), ["controller=ide", "write-cache=off"]);
        let [first, second] = &study.disks[..] else { panic!("there are two") };
        assert_eq!(first.settings, study.base);
        assert_eq!(
            (texts(&second.settings), second.port),
            (vec!["controller=ahci".into()], Some(2))
        );
        assert!(read("").unwrap().disks.is_empty());
    }

    #[test]
    fn disks_that_cannot_be_are_refused() {
        let is_refused = |disks: &str, part: &str| {
            let error = read(disks).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        let one = "[[disk]]\nname = \"a\"\ndrive = \"x\"\n";
        is_refused(&format!("{one}{one}"), "two disks are named `a`");
        is_refused(&format!("drive = \"y\"\n{one}"), "`drive` in `[base]`");
        is_refused("[[disk]]\nname = \"../a\"\ndrive = \"x\"", "not the name of a disk");
        is_refused("[[disk]]\nname = \"a\"", "drive");
        is_refused("[[disk]]\ndrive = \"a\"", "a disk needs a `name`");
        is_refused(&format!("{}{}", at_port("a"), at_port("b")), "two disks have this `port`");
        let many = (0..9).map(|n| format!("[[disk]]\nname = \"d{n}\"\ndrive = \"x\"\n"));
        is_refused(&many.collect::<String>(), "disk");
    }
}
