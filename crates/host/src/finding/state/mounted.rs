//! File systems: errors that they have recorded, and options that cost data or speed.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings};
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    recorded(context, findings);
    options(context, findings);
}

/// The names of the disk and of its partitions.
fn names<'a>(context: &'a Context<'_>) -> impl Iterator<Item = &'a str> {
    let device = context.device;
    let parts = device.partitions.iter().map(|part| part.name.as_str());
    parts.chain([device.name.as_str()])
}

/// Errors that ext4 keeps in its superblock until it is checked, across boots.
fn recorded(context: &Context<'_>, findings: &mut Findings) {
    if findings.found.iter().any(|found| found.id == FindingId::FileSystemErrors) {
        return;
    }
    for name in names(context) {
        let Some(ext4) = context.machine.volumes.ext4(name).filter(|it| it.errors > 0) else {
            continue;
        };
        findings
            .add(FindingId::FileSystemErrors, Severity::Warn)
            .says(format!(
                "the ext4 file system on {name} has recorded {} errors since it was last checked",
                ext4.errors
            ))
            .seen(vec![format!("/sys/fs/ext4/{name}/errors_count: {}", ext4.errors)])
            .fix(format!(
                "save the data, find the cause (other findings, older logs), then `sudo e2fsck -f \
                 /dev/{name}` on the unmounted file system, which also clears the count"
            ));
    }
}

fn options(context: &Context<'_>, findings: &mut Findings) {
    let mounts = context.device.all_mounts();
    let risky = mounts.flat_map(|mount| mount.risky().into_iter().map(move |it| (mount, it)));
    for (mount, option) in risky {
        let point = &mount.point;
        let (message, fix) = if option == "sync" {
            (
                format!(
                    "{} on {point} is mounted with sync: each write waits for the disk",
                    mount.file_system
                ),
                format!(
                    "`sudo mount -o remount,async {point}` (undo: `remount,sync`), and change \
                     /etc/fstab; what is not synced then is lost at a power failure"
                ),
            )
        } else {
            (
                format!(
                    "{} on {point} is mounted with {option}: after a crash, files can hold old data \
                     of other files",
                    mount.file_system
                ),
                "remove the option from /etc/fstab (or with `sudo tune2fs -o \
                 ^journal_data_writeback DEVICE`; undo: `-o journal_data_writeback`), and mount it \
                 again"
                    .to_owned(),
            )
        };
        findings
            .add(FindingId::MountOptions, Severity::Info)
            .says(message)
            .seen(vec![format!("options of {point}: {}", mount.options.join(","))])
            .fix(fix);
    }
    for name in names(context) {
        let journal = context.machine.volumes.ext4(name).and_then(|it| it.journal);
        if journal != Some(false) {
            continue;
        }
        findings
            .add(FindingId::MountOptions, Severity::Info)
            .says(format!(
                "the ext4 file system on {name} has no journal: fsync is cheaper, and after a crash \
                 the whole file system must be checked"
            ))
            .seen(vec![format!("/sys/fs/ext4/{name} has no journal_task")])
            .fix(format!(
                "state it with the results; `sudo tune2fs -O has_journal /dev/{name}` on the \
                 unmounted file system adds one (undo: `-O ^has_journal`)"
            ));
    }
}
