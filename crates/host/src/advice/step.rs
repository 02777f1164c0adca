//! Commands that settle a question, ready to paste.

use serde::{Deserialize, Serialize};

use crate::device::Device;

/// A command and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The command.
    pub command: String,
    /// The question that it answers.
    pub shows: String,
    /// True if it writes to a disk of this machine, in addition to its own results.
    pub writes: bool,
}

impl Step {
    fn new(command: impl Into<String>, shows: &str) -> Self {
        Self { command: command.into(), shows: shows.to_owned(), writes: false }
    }

    /// An included study on modelled drives.
    pub(super) fn study(name: &str, shows: &str) -> Self {
        Self::new(format!("drivelab study {name}"), shows)
    }

    /// A study of a file on the drive.
    pub(super) fn study_of_file(device: &Device, name: &str, shows: &str) -> Self {
        let file = quoted(&test_file(device));
        let command = format!("drivelab study {name} --target {file}");
        Self { writes: true, ..Self::new(command, shows) }
    }

    /// One measurement that only reads the drive.
    pub(super) fn read(device: &Device, options: &str, shows: &str) -> Option<Self> {
        let path = quoted(device.path.as_ref()?);
        Some(Self::new(format!("sudo drivelab run {path} {options}"), shows))
    }

    /// The inspection of its attachment.
    pub(super) fn inspect(device: &Device, shows: &str) -> Self {
        Self::new(format!("drivelab inspect {}", quoted(&device.name)), shows)
    }

    /// The measurement of a drive, its model, and a study of that model.
    pub(super) fn modelled(device: &Device, study: &str) -> Vec<Self> {
        // The fit of a disk takes two minutes of reads; that of an SSD needs writes, which destroy
        // data.
        let Some(path) = device.path.as_ref().filter(|_| device.is_known_to_rotate()) else {
            return Vec::new();
        };
        let path = quoted(path);
        let name = quoted(&device.name);
        vec![
            Self::new(
                format!("sudo drivelab drive measure {path} --out {name}.measured.toml"),
                "two minutes of reads at depths 1, 8 and 32",
            ),
            Self::new(
                format!("drivelab drive fit {name}.measured.toml --out {name}.toml"),
                "a model of this drive",
            ),
            Self::new(
                format!("drivelab study {study} --drive {name}.toml"),
                "the same study on that model",
            ),
        ]
    }

    /// Six pairs of equal runs, and how much they differ.
    pub(super) fn equal_runs(device: &Device) -> Option<Vec<Self>> {
        let path = quoted(device.path.as_ref()?);
        let [one, other] = ["one", "other"].map(|label| {
            format!(
                "sudo drivelab run {path} --rw randread --bs 4k --iodepth 32 --runtime 10s \
                 --label {label}"
            )
        });
        Some(vec![
            Self::new(
                format!("for i in 1 2 3 4 5 6; do {one}; {other}; done"),
                "equal runs by turns, for two minutes",
            ),
            Self::new(
                "sudo drivelab compare label:one label:other --aa",
                "how much equal runs differ here",
            ),
        ])
    }
}

/// Returns a file on the drive's file system, or else in the current folder.
fn test_file(device: &Device) -> String {
    let writable =
        device.all_mounts().filter(|mount| mount.options.iter().any(|option| option == "rw"));
    // The file systems that the firmware or boot loader reads are small and must not fill up.
    let mut points = writable.map(|mount| mount.point.as_str());
    let point = points.find(|point| !point.starts_with("/boot"));
    match point {
        None => "./drivelab-testfile".to_owned(),
        // Every user may write there.
        Some("/") => "/var/tmp/drivelab-testfile".to_owned(),
        Some(point) => format!("{point}/drivelab-testfile"),
    }
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let mut characters = word.chars();
    let is_plain = characters.all(|c| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c));
    if !word.is_empty() && !word.starts_with('-') && is_plain {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Mount;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let check = |word, expected| assert_eq!(quoted(word), expected);
        check("/dev/sda", "/dev/sda");
        check("/mnt/my disk", "'/mnt/my disk'");
        check("a'; rm -rf /", r"'a'\''; rm -rf /'");
        check("-v", "'-v'");
        check("", "''");
    }

    #[test]
    fn a_test_file_lies_where_it_can_be_written() {
        let mount = |point: &str, options: &str| Mount {
            point: point.into(),
            file_system: "ext4".into(),
            options: options.split(',').map(str::to_owned).collect(),
        };
        let check = |mounts: Vec<Mount>, expected| {
            assert_eq!(test_file(&Device { mounts, ..Device::default() }), expected);
        };
        check(Vec::new(), "./drivelab-testfile");
        check(vec![mount("/cdrom", "ro")], "./drivelab-testfile");
        check(vec![mount("/boot/efi", "rw"), mount("/", "rw")], "/var/tmp/drivelab-testfile");
        check(vec![mount("/srv", "rw,relatime")], "/srv/drivelab-testfile");
    }
}
