//! The disks of a crash test that has several, and the stack over them.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::{Invalid, invalid};

use crate::file::{DISKS_MAX, name_and_port};

/// A disk of a guest that has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashDisk {
    /// Its name.
    pub name: String,
    /// The drive, as `NAME[,key=value...]`.
    pub drive: String,
    /// Its port at its controllers; the order of the tables where absent.
    pub port: Option<u8>,
}

/// The way in which a guest makes one device of its disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// An array of md.
    Array {
        /// The array, as `LEVEL[,key=value...]`.
        stack: String,
        /// Options of mdadm when it is put together again.
        assemble: String,
    },
    /// Anything that commands of a shell make.
    Commands {
        /// The name of the device, below `/dev`.
        device: String,
        /// Makes it of new disks.
        make: String,
        /// Puts it together after a cut.
        again: String,
        /// Takes it apart.
        end: String,
    },
}

/// Disks under one device, whose power fails at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stacked {
    /// The disks, two to eight.
    pub disks: Vec<CrashDisk>,
    /// The layer above them.
    pub layer: Layer,
    /// The disk that does not come back, by index.
    pub dead: Option<usize>,
    /// The disk that comes back as it was before the workload, by index.
    pub stale: Option<usize>,
}

/// Takes the disks of a test; those without a drive have `drive`.
pub(super) fn read_stacked(top: &mut Section, drive: &str) -> Result<Option<Stacked>, ConfigError> {
    top.at_most("disk", DISKS_MAX)?;
    let mut disks: Vec<CrashDisk> = Vec::new();
    for mut section in top.sections("disk")? {
        let others = disks.iter().map(|disk| (disk.name.as_str(), disk.port));
        let (name, port) = name_and_port(&mut section, others)?;
        let drive = section.take("drive")?.unwrap_or_else(|| drive.to_owned());
        section.finish()?;
        disks.push(CrashDisk { name, drive, port });
    }
    let [dead, stale] = ["dead", "stale"].map(|key| one_of(top, key, &disks));
    let (dead, stale) = (dead?, stale?);
    let Some(layer) = read_layer(top)? else {
        if dead.is_some() || stale.is_some() || !disks.is_empty() {
            let message = "a test of several disks needs `stack`, as in \"raid1\", or `[assembly]`";
            return Err(top.error(message));
        }
        return Ok(None);
    };
    if disks.len() < 2 {
        return Err(top.error("a stack needs `[[disk]]` tables, each with a `name`"));
    }
    // Both say what comes back of it.
    if dead.is_some() && dead == stale {
        return Err(top.error("a disk is `dead` or `stale`, not both"));
    }
    Ok(Some(Stacked { disks, layer, dead, stale }))
}

/// Takes `stack`, or the commands of `[assembly]`.
fn read_layer(top: &mut Section) -> Result<Option<Layer>, ConfigError> {
    let stack: Option<String> = top.take("stack")?;
    let assemble: Option<String> = top.take("assemble")?;
    let commands = top.section("assembly")?;
    match (stack, commands) {
        (Some(_), Some(section)) => Err(section.error("a test has `stack` or `[assembly]`")),
        (Some(stack), None) => {
            let assemble = assemble.unwrap_or_default();
            // It is a part of a line of a shell.
            if assemble.contains(|c: char| !c.is_ascii_alphanumeric() && !" -=.".contains(c)) {
                return Err(top.error("`assemble` holds options of mdadm, as in \"--force\""));
            }
            Ok(Some(Layer::Array { stack, assemble }))
        }
        (None, _) if assemble.is_some() => Err(top.error("`assemble` needs `stack`")),
        (None, None) => Ok(None),
        (None, Some(mut section)) => {
            let make: String = section.require("make")?;
            let layer = Layer::Commands {
                device: section.take_with("device", device)?.unwrap_or_else(|| "dm-0".to_owned()),
                again: section.take("again")?.unwrap_or_else(|| make.clone()),
                make,
                end: section.take("end")?.unwrap_or_else(|| "true".to_owned()),
            };
            section.finish()?;
            Ok(Some(layer))
        }
    }
}

/// The name of a device of Linux.
fn device(text: &str) -> Result<String, Invalid> {
    if text.is_empty() || text.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        return Err(invalid!("`{text}` is not a name below /dev, as in \"dm-0\""));
    }
    Ok(text.to_owned())
}

/// Takes the name of a disk, and finds it.
fn one_of(
    top: &mut Section,
    key: &'static str,
    disks: &[CrashDisk],
) -> Result<Option<usize>, ConfigError> {
    let Some(name): Option<String> = top.take(key)? else { return Ok(None) };
    let found = disks.iter().position(|disk| disk.name == name);
    found.map(Some).ok_or_else(|| top.error(format!("`{key}` names no disk: `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Stacked>, ConfigError> {
        let mut top = Section::parse("f", text)?;
        let found = read_stacked(&mut top, "generic-5400")?;
        top.finish()?;
        Ok(found)
    }

    const DISKS: &str =
        "[[disk]]\nname = \"a\"\n[[disk]]\nname = \"b\"\ndrive = \"generic-sata\"\n";

    #[test]
    fn disks_have_names_and_the_drive_of_the_test_unless_they_name_another() {
        let text = format!("stack = \"raid1\"\ndead = \"b\"\n{DISKS}port = 3\n");
        let found = read(&text).unwrap().unwrap();
        let drives: Vec<&str> = found.disks.iter().map(|disk| disk.drive.as_str()).collect();
        assert_eq!(drives, ["generic-5400", "generic-sata"]);
        assert_eq!((found.dead, found.stale, found.disks[1].port), (Some(1), None, Some(3)));
        assert_eq!(read("").unwrap(), None);
    }

    #[test]
    fn commands_make_a_device_and_do_the_same_after_a_cut_unless_others_are_given() {
        let found = read(&format!("[assembly]\nmake = \"dmsetup create x\"\n{DISKS}")).unwrap();
        let expected = Layer::Commands {
            device: "dm-0".into(),
            make: "dmsetup create x".into(),
            again: "dmsetup create x".into(),
            end: "true".into(),
        };
        assert_eq!(found.unwrap().layer, expected);
    }

    #[test]
    fn disks_that_make_no_sense_are_refused() {
        let check = |text: &str, part: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        check(DISKS, "needs `stack`");
        check("stack = \"raid1\"", "needs `[[disk]]` tables");
        check(&format!("assemble = \"--force\"\n{DISKS}"), "`assemble` needs `stack`");
        let assembly = "[assembly]\nmake = \"true\"\n";
        check(&format!("stack = \"raid1\"\n{assembly}{DISKS}"), "`stack` or `[assembly]`");
        check(&format!("{assembly}device = \"a b\"\n{DISKS}"), "not a name below /dev");
        check(&format!("stack = \"raid1\"\ndead = \"c\"\n{DISKS}"), "names no disk: `c`");
        let both = "stack = \"raid1\"\ndead = \"a\"\nstale = \"a\"\n";
        check(&format!("{both}{DISKS}"), "not both");
        check(&format!("stack = \"raid1\"\n{DISKS}{DISKS}"), "two disks are named");
        let third = "[[disk]]\nname = \"c\"\nport = 3\n";
        check(&format!("stack = \"raid1\"\n{DISKS}port = 3\n{third}"), "have this `port`");
        check(&format!("stack = \"raid1\"\nassemble = \"; reboot\"\n{DISKS}"), "options of mdadm");
    }
}
