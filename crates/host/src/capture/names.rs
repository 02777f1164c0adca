//! Replaces the names of mount points and files, which can identify the machine's owner: each by
//! the same name at every occurrence.

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
pub(super) struct Names {
    points: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

impl Names {
    /// Replaces the names in all tables of mounts and of the files behind loop devices.
    pub(super) fn hide(recording: &mut Recording) {
        let mut names = Self::default();
        for (path, item) in &mut recording.items {
            let Item::File(bytes) = item else { continue };
            let text = String::from_utf8_lossy(bytes);
            let hidden = match path.rsplit('/').next() {
                Some("mountinfo") => names.table(&text, &[3, 4]),
                Some("mounts") => names.table(&text, &[1]),
                Some("backing_file") => names.file(&text),
                _ => continue,
            };
            *bytes = hidden.into_bytes();
        }
    }

    /// Replaces names in a table of mounts: in the fields at `columns`, and in options.
    fn table(&mut self, text: &str, columns: &[usize]) -> String {
        let mut hidden = String::new();
        for line in text.lines() {
            let fields = line.split(' ').enumerate().map(|(index, field)| {
                if columns.contains(&index) { self.point(field) } else { options(field) }
            });
            hidden.push_str(&fields.collect::<Vec<String>>().join(" "));
            hidden.push('\n');
        }
        hidden
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

/// Returns the options of a mount, without values that are paths of anything but a device.
fn options(field: &str) -> String {
    let shown = field.split(',').map(|option| match option.split_once('=') {
        Some((key, value)) if value.contains('/') && !value.starts_with("/dev/") => {
            format!("{key}=hidden")
        }
        _ => option.to_owned(),
    });
    shown.collect::<Vec<_>>().join(",")
}
