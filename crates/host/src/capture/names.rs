//! Names of places in a file system, which identify the machine's owner: replaced, each by the same
//! name wherever it occurs.

use std::collections::BTreeMap;

use crate::root::{Item, Recording};

/// Names that every machine has (Filesystem Hierarchy Standard 3.0).
const STANDARD: &[&str] = &[
    "/",
    "/boot",
    "/boot/efi",
    "/dev/shm",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// The replacement of each name.
#[derive(Debug, Default)]
pub(super) struct Places {
    points: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

impl Places {
    /// Replaces the places in all tables of mounts and behind all loop devices.
    pub(super) fn hide(recording: &mut Recording) {
        let mut places = Self::default();
        for (path, item) in &mut recording.items {
            let Item::File(bytes) = item else { continue };
            let text = String::from_utf8_lossy(bytes);
            let hidden = match path.rsplit('/').next() {
                Some("mountinfo") => places.table(&text, &[3, 4]),
                Some("mounts") => places.table(&text, &[1]),
                Some("backing_file") => places.file(&text),
                _ => continue,
            };
            *bytes = hidden.into_bytes();
        }
    }

    /// A table of mounts: fields at `names` are places, and options may contain some.
    fn table(&mut self, text: &str, names: &[usize]) -> String {
        let field = |places: &mut Self, (index, field): (usize, &str)| {
            if names.contains(&index) { places.point(field) } else { options(field) }
        };
        let mut line = |line: &str| {
            let fields: Vec<String> =
                line.split(' ').enumerate().map(|it| field(self, it)).collect();
            fields.join(" ") + "\n"
        };
        text.lines().map(&mut line).collect()
    }

    fn point(&mut self, name: &str) -> String {
        if STANDARD.contains(&name) {
            return name.to_owned();
        }
        let next = format!("/place-{}", self.points.len() + 1);
        self.points.entry(name.to_owned()).or_insert(next).clone()
    }

    /// The file behind a loop device; the remark that it was deleted is kept.
    fn file(&mut self, text: &str) -> String {
        const DELETED: &str = " (deleted)";
        let name = text.trim_end();
        let (name, end) = name.strip_suffix(DELETED).map_or((name, ""), |name| (name, DELETED));
        let next = format!("/file-{}", self.files.len() + 1);
        format!("{}{end}\n", self.files.entry(name.to_owned()).or_insert(next))
    }
}

/// Options of a mount, without values that are paths of anything but a device.
fn options(field: &str) -> String {
    let option = |option: &str| match option.split_once('=') {
        Some((key, value)) if value.contains('/') && !value.starts_with("/dev/") => {
            format!("{key}=hidden")
        }
        _ => option.to_owned(),
    };
    field.split(',').map(option).collect::<Vec<_>>().join(",")
}
