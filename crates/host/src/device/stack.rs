//! Devices built on other devices or on files: device mapper, md, loop.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::root::Node;

/// Facts of a device of the device mapper.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// Its name below `/dev/mapper`.
    pub name: Option<String>,
    /// The owner, from the start of its uuid: `LVM`, `CRYPT-LUKS2`, `mpath`.
    pub owner: Option<String>,
    /// True if it is suspended.
    pub suspended: Option<bool>,
}

/// Facts of a software RAID array.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raid {
    /// `raid1`.
    pub level: Option<String>,
    /// Disks it should have.
    pub disks: Option<u32>,
    /// Number of missing disks.
    pub degraded: Option<u32>,
    /// `clean`, `active`, `readonly`, `inactive`.
    pub array_state: Option<String>,
    /// `idle`, `resync`, `recover`, `check`, `repair`, `reshape`.
    pub sync_action: Option<String>,
    /// Its progress, as the kernel reports it: `1024 / 4096` sectors, or `12.6%`.
    pub sync_completed: Option<String>,
    /// Bytes on one disk before the next one's turn.
    pub chunk_bytes: Option<u64>,
    /// Sectors that differed between the copies.
    pub mismatch_count: Option<u64>,
    /// True if it must be resynchronised, and waits for its first write.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub resync_pending: bool,
    /// True if only `/proc/mdstat` shows it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub table_only: bool,
}

/// The file behind a loop device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackingFile {
    /// Its path.
    pub path: Option<String>,
    /// True if the loop device bypasses the page cache.
    pub direct_io: Option<bool>,
    /// Offset in the file at which the device starts.
    pub offset_bytes: Option<u64>,
}

impl Mapped {
    pub(crate) fn read(node: &Node<'_>) -> Self {
        Self {
            name: node.text("name"),
            owner: node.text("uuid").and_then(|uuid| owner(&uuid)),
            suspended: node.flag("suspended"),
        }
    }
}

/// The part of a uuid that names the owner: `LVM-abc` is LVM's, `CRYPT-LUKS2-abc-name` that of
/// cryptsetup.
pub(crate) fn owner(uuid: &str) -> Option<String> {
    let mut parts = uuid.split('-');
    let first = parts.next().filter(|first| !first.is_empty())?;
    let second = parts.next().filter(|_| first == "CRYPT");
    Some(second.map_or_else(|| first.to_owned(), |second| format!("{first}-{second}")))
}

impl Raid {
    /// Reads the array in folder `node` (`md/`), and what `/proc/mdstat` adds to it.
    pub(crate) fn read(node: Option<&Node<'_>>, stat: Option<&Self>) -> Self {
        let mut raid = node.map(Self::attributes).unwrap_or_default();
        raid.table_only = node.is_none();
        let Some(stat) = stat else { return raid };
        raid.level = raid.level.or_else(|| stat.level.clone());
        raid.disks = raid.disks.or(stat.disks);
        raid.degraded = raid.degraded.or(stat.degraded);
        raid.array_state = raid.array_state.or_else(|| stat.array_state.clone());
        raid.sync_action = raid.sync_action.or_else(|| stat.sync_action.clone());
        raid.sync_completed = raid.sync_completed.or_else(|| stat.sync_completed.clone());
        raid.resync_pending = stat.resync_pending;
        raid
    }

    fn attributes(node: &Node<'_>) -> Self {
        Self {
            level: node.text("level"),
            // `2`, or `4 (3)` while the array is reshaped.
            disks: node.text("raid_disks").and_then(|text| text.split(' ').next()?.parse().ok()),
            degraded: node.number("degraded"),
            array_state: node.text("array_state"),
            sync_action: node.text("sync_action"),
            sync_completed: node.text("sync_completed").filter(|text| text != "none"),
            chunk_bytes: node.number("chunk_size").filter(|bytes| *bytes > 0),
            mismatch_count: node.number("mismatch_cnt"),
            ..Self::default()
        }
    }

    /// Its background operation; `None` if there is none.
    pub(crate) fn busy_with(&self) -> Option<&str> {
        self.sync_action.as_deref().filter(|action| !matches!(*action, "idle" | "frozen"))
    }
}

impl BackingFile {
    pub(crate) fn read(node: &Node<'_>) -> Self {
        Self {
            path: node.text("backing_file"),
            direct_io: node.flag("dio"),
            offset_bytes: node.number("offset"),
        }
    }
}

/// Reads `/proc/mdstat`: arrays by name.
///
/// ```text
/// md0 : active raid1 sdb1[1] sda1[0]
///       1048512 blocks super 1.2 [2/1] [U_]
///       [==>..................]  recovery = 12.6% (132160/1048512) finish=0.5min speed=26432K/sec
/// ```
pub(crate) fn parse_mdstat(text: &str) -> BTreeMap<String, Raid> {
    let mut arrays: BTreeMap<String, Raid> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((name, rest)) = line.split_once(" : ")
            && name.starts_with("md")
            && !name.contains(' ')
        {
            // `(read-only)` or `(auto-read-only)` may follow the state.
            let mut words = rest.split_whitespace().filter(|word| !word.starts_with('('));
            let array_state = words.next().map(str::to_owned);
            // An inactive array has no level: the next word is already a disk.
            let level = words.next().filter(|word| !word.contains('[')).map(str::to_owned);
            arrays.insert(name.to_owned(), Raid { level, array_state, ..Raid::default() });
            current = Some(name.to_owned());
        } else if let Some(array) = current.as_ref().and_then(|name| arrays.get_mut(name)) {
            array.stat_line(line);
        }
    }
    arrays
}

impl Raid {
    fn stat_line(&mut self, line: &str) {
        self.resync_pending |= line.contains("resync=PENDING");
        for word in line.split_whitespace() {
            // `[2/1]`: disks of the array, and those that work; `[U_]` has no slash.
            let inside = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
            if let Some((disks, working)) = inside.and_then(|text| text.split_once('/'))
                && let (Ok(disks), Ok(working)) = (disks.parse::<u32>(), working.parse::<u32>())
            {
                self.disks = Some(disks);
                self.degraded = Some(disks.saturating_sub(working));
            }
        }
        for action in ["resync", "recovery", "check", "repair", "reshape"] {
            if let Some((_, rest)) = line.split_once(&format!("{action} =")) {
                // The kernel's own attribute calls a recovery `recover`.
                let action = if action == "recovery" { "recover" } else { action };
                self.sync_action = Some(action.to_owned());
                self.sync_completed = rest.split_whitespace().next().map(str::to_owned);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mdstat_tells_what_is_missing_and_what_is_under_way() {
        let arrays = parse_mdstat(
            "Personalities : [raid1]\n\
             md0 : active raid1 sdb1[1](F) sda1[0]\n      1048512 blocks super 1.2 [2/1] [U_]\n\
             \x20     [==>..................]  recovery = 12.6% (132160/1048512) finish=0.5min\n\n\
             md1 : active (auto-read-only) raid5 sdc[0]\n      10 blocks [3/3] [UUU]\n\n\
             unused devices: <none>\n",
        );
        let first = &arrays["md0"];
        assert_eq!((first.level.as_deref(), first.degraded), (Some("raid1"), Some(1)));
        assert_eq!(first.busy_with(), Some("recover"));
        assert_eq!(first.sync_completed.as_deref(), Some("12.6%"));
        let second = &arrays["md1"];
        assert_eq!((second.level.as_deref(), second.degraded), (Some("raid5"), Some(0)));
        assert_eq!((arrays.len(), second.busy_with()), (2, None));
    }

    #[test]
    fn uuids_tell_the_owner_and_no_more() {
        let check = |uuid, expected: Option<&str>| assert_eq!(owner(uuid).as_deref(), expected);
        check("LVM-pO8xDq2fw", Some("LVM"));
        check("CRYPT-LUKS2-0123456789abcdef-home", Some("CRYPT-LUKS2"));
        check("mpath-3600508b1", Some("mpath"));
        check("", None);
    }
}
