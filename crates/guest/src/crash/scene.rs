//! The scripts of the guests in a crash test.

use drivelab_core::crash::{FileSystem, FileSystemKind, Fsck};

/// The file with the acknowledged lines, in the guest that checks.
pub const ACKNOWLEDGED: &str = "acknowledged";

/// Lines that the guest prints before and after its workload.
pub(super) const BEGIN: &str = "drivelab-workload-begin";
pub(super) const END: &str = "drivelab-workload-end";

/// Exit codes of these scripts, in a range that users' commands do not return by convention.
pub(super) const NOT_MADE: u8 = 101;
pub(super) const NOT_MOUNTED: u8 = 102;
pub(super) const NOT_PREPARED: u8 = 103;
pub(super) const DAMAGED: u8 = 104;
pub(super) const FAILED: u8 = 105;

/// Runs a command with its calls that change files, their times in microseconds since 1970.
const STRACE: &str = "/bin/strace -f -ttt -s 40 -e signal=none -o /tmp/calls -e trace=%file,write,\
                      writev,pwrite64,pwritev,pwritev2,sendfile,copy_file_range,ftruncate,fallocate,\
                      fsync,fdatasync,sync,syncfs,sync_file_range,msync,io_uring_enter,close ";
/// Prints them; the console of results has room for twice as much.
const SHOW_CALLS: &str = "tail -c 8388608 /tmp/calls\n";

/// The commands of the shell that make a stack of disks, and put it together again.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The lines that make it, or end the shell.
    pub make: Vec<String>,
    /// The line that puts it together after a cut, or fails.
    pub again: String,
    /// The line that takes it apart.
    pub end: String,
    /// True if it is the file system itself, over all disks.
    pub is_file_system: bool,
}

/// A disk with a file system, and the commands of the shell that use it.
#[derive(Debug, Clone)]
pub struct Scene<'a> {
    /// The name of the disk in the guest.
    pub disk: &'a str,
    /// Commands that set its queue.
    pub settings: Vec<String>,
    /// The stack that it is, unless it is a drive.
    pub assembly: Option<Assembly>,
    /// Its file system.
    pub file_system: &'a FileSystem,
    /// Commands before the workload.
    pub prepare: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The check.
    pub check: &'a str,
    /// True if the system calls of the workload are recorded.
    pub strace: bool,
}

impl Scene<'_> {
    /// The programs of this machine that the scripts need in a guest.
    pub fn programs(&self) -> impl Iterator<Item = &'static str> + use<> {
        let of_file_system: &[_] = match self.file_system.kind {
            FileSystemKind::Ext4 => &["mke2fs", "e2fsck"],
            FileSystemKind::Xfs => &["mkfs.xfs", "xfs_repair"],
            FileSystemKind::Btrfs => &["mkfs.btrfs", "btrfs"],
            FileSystemKind::None => &[],
        };
        of_file_system.iter().copied().chain(self.strace.then_some("strace"))
    }

    /// The files that the scripts run, by name.
    pub fn files(&self) -> [(&'static str, &str); 3] {
        [
            ("crash/prepare", self.prepare),
            ("crash/workload", self.workload),
            ("crash/check", self.check),
        ]
    }

    fn lead(&self) -> String {
        debug_assert!(!self.disk.contains('/'), "a name below /dev");
        let settings = self.settings.join("\n");
        format!(
            "{settings}\nexport DISK=/dev/{}\n\
             fail() {{ code=$1; shift; echo \"$*\"; exit $code; }}\n",
            self.disk
        )
    }

    /// Makes the stack, if there is one.
    fn make_stack(&self) -> String {
        self.assembly.as_ref().map_or_else(String::new, |it| it.make.join("\n") + "\n")
    }

    /// Puts the stack together again, if there is one.
    fn assemble(&self) -> String {
        let Some(Assembly { again, .. }) = &self.assembly else { return String::new() };
        format!("{again} || fail {DAMAGED} \"the stack cannot be put together\"\n")
    }

    fn end_stack(&self) -> String {
        self.assembly.as_ref().map_or_else(String::new, |it| format!("{}\n", it.end))
    }

    fn make(&self) -> String {
        let FileSystem { kind, size, mkfs, .. } = self.file_system;
        if self.assembly.as_ref().is_some_and(|it| it.is_file_system) {
            return String::new();
        }
        let make = match kind {
            FileSystemKind::Ext4 => {
                format!("/bin/mke2fs -q -F -t ext4 {mkfs} $DISK {}k", size.get() >> 10)
            }
            FileSystemKind::Xfs => {
                format!("/bin/mkfs.xfs -q -f -d size={} {mkfs} $DISK", size.get())
            }
            FileSystemKind::Btrfs => {
                format!("/bin/mkfs.btrfs -q -f -b {} {mkfs} $DISK", size.get())
            }
            FileSystemKind::None => return String::new(),
        };
        format!("{make} >&2 || fail {NOT_MADE} \"the file system was not made\"\n")
    }

    fn mount(&self) -> String {
        let FileSystem { kind, mount, .. } = self.file_system;
        if *kind == FileSystemKind::None {
            return String::new();
        }
        // An `-o` without options would take the next word as one.
        let options = if mount.is_empty() { String::new() } else { format!("-o {mount} ") };
        format!(
            "mount -t {kind} {options}$DISK /mnt >&2 || fail {NOT_MOUNTED} \"the file system \
             cannot be mounted\"\ncd /mnt\n"
        )
    }

    fn unmount(&self) -> &'static str {
        if self.file_system.kind == FileSystemKind::None { "" } else { "cd /\numount /mnt >&2\n" }
    }

    /// Returns the repair that a boot would do; XFS and btrfs have none.
    fn repair(&self) -> String {
        let FileSystem { kind, fsck, .. } = self.file_system;
        if *kind != FileSystemKind::Ext4 || !matches!(fsck, Fsck::Before | Fsck::Both) {
            return String::new();
        }
        // 0 is clean and 1 corrected (e2fsck(8)); anything above stops a boot.
        format!(
            "/bin/e2fsck -p $DISK >&2\n\
             [ $? -le 1 ] || fail {DAMAGED} \"the file system cannot be repaired at boot\"\n"
        )
    }

    fn verify(&self) -> String {
        let FileSystem { kind, fsck, .. } = self.file_system;
        let verify = match kind {
            _ if !matches!(fsck, Fsck::After | Fsck::Both) => return String::new(),
            FileSystemKind::Ext4 => "/bin/e2fsck -fn $DISK",
            FileSystemKind::Xfs => "/bin/xfs_repair -n $DISK",
            // Without `--repair` it reads alone.
            FileSystemKind::Btrfs => "/bin/btrfs check $DISK",
            FileSystemKind::None => return String::new(),
        };
        format!("{verify} >&2 || fail {DAMAGED} \"the file system is damaged\"\n")
    }

    /// Returns the script of the guest with the workload: it makes the file system, prepares it,
    /// and reports the beginning and the end of the workload.
    pub fn workload_script(&self) -> String {
        let (lead, make, mount) = (self.lead(), self.make(), self.mount());
        let (stack, end, end_stack) = (self.make_stack(), self.unmount(), self.end_stack());
        let (strace, show) = if self.strace { (STRACE, SHOW_CALLS) } else { ("", "") };
        // Synced before the workload, so that a cut can only break what the workload wrote.
        format!(
            "{lead}{stack}{make}{mount}\
             sh /crash/prepare >&2 || fail {NOT_PREPARED} \"\\`prepare\\` ended with exit code $?\"\n\
             sync\n\
             echo {BEGIN}\n\
             {strace}sh /crash/workload\n\
             echo \"{END} $?\"\n\
             {show}{end}sync\n{end_stack}"
        )
    }

    /// Returns the script of a guest whose disk is examined afterwards: only the journal is
    /// replayed.
    pub fn look_script(&self) -> String {
        format!("{}{}{}{}", self.lead(), self.assemble(), self.mount(), self.unmount())
    }

    /// Returns the script of the guest after a cut.
    pub fn check_script(&self) -> String {
        let (lead, mount, unmount) = (self.lead(), self.mount(), self.unmount());
        let (stack, repair, verify) = (self.assemble(), self.repair(), self.verify());
        // The code of the check is kept, because the commands after it return others.
        format!(
            "{lead}{stack}{repair}{mount}\
             sh /crash/check\n\
             code=$?\n\
             {unmount}{verify}\
             [ $code -le 2 ] || fail {FAILED} \"the check ended with exit code $code\"\n\
             exit $code\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Bytes;

    use super::*;

    fn scripts(kind: FileSystemKind, fsck: Fsck) -> (String, String) {
        scripts_on(kind, fsck, None)
    }

    fn scripts_on(
        kind: FileSystemKind,
        fsck: Fsck,
        assembly: Option<Assembly>,
    ) -> (String, String) {
        let file_system = FileSystem {
            kind,
            size: Bytes::mib(512),
            mkfs: "-K".into(),
            mount: "noatime".into(),
            fsck,
        };
        let scene = Scene {
            disk: "sda",
            settings: vec!["echo none > queue".into()],
            assembly,
            file_system: &file_system,
            prepare: "",
            workload: "true",
            check: "true",
            strace: fsck == Fsck::Both,
        };
        (scene.workload_script(), scene.check_script())
    }

    #[test]
    fn a_workload_is_between_its_marks_and_on_its_file_system() {
        let (script, _) = scripts(FileSystemKind::Ext4, Fsck::After);
        let order = [
            "echo none",
            "/bin/mke2fs -q -F -t ext4 -K $DISK 524288k",
            "-o noatime $DISK /mnt",
            "crash/prepare",
            "\nsync\n",
            BEGIN,
            "crash/workload",
            END,
            "umount",
        ];
        let places: Vec<_> = order.iter().map(|part| script.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?} in {script}");
        let (script, _) = scripts(FileSystemKind::Xfs, Fsck::After);
        assert!(script.contains("mkfs.xfs -q -f -d size=536870912 -K $DISK"), "{script}");
    }

    fn is_in_order(script: &str, order: &[&str]) {
        let places: Vec<_> = order.iter().map(|part| script.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?} in {script}");
    }

    #[test]
    fn a_stack_is_made_before_its_file_system_and_put_together_before_a_check() {
        let assembly = Assembly {
            make: vec!["make-it".into()],
            again: "again".into(),
            end: "take-it-apart".into(),
            is_file_system: false,
        };
        let (work, check) = scripts_on(FileSystemKind::Ext4, Fsck::Before, Some(assembly));
        is_in_order(&work, &["echo none", "make-it", "mke2fs", END, "umount", "take-it-apart"]);
        is_in_order(&check, &["echo none", "again || fail 104", "e2fsck -p", "mount -t"]);
    }

    #[test]
    fn a_check_mounts_and_verifies_what_there_is() {
        let (_, script) = scripts(FileSystemKind::Ext4, Fsck::After);
        let order = ["mount -t ext4", "crash/check", "umount", "e2fsck -fn", "fail 105"];
        let places: Vec<_> = order.iter().map(|part| script.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?} in {script}");
        assert!(!scripts(FileSystemKind::Ext4, Fsck::None).1.contains("e2fsck"));
        let (_, script) = scripts(FileSystemKind::Ext4, Fsck::Before);
        assert!(script.find("e2fsck -p") < script.find("mount -t ext4"), "{script}");
        assert!(!script.contains("e2fsck -fn"));
        let (workload, check) = scripts(FileSystemKind::None, Fsck::Both);
        for script in [&workload, &check] {
            assert!(!script.contains("mount") && !script.contains("mkfs"), "{script}");
        }
        let calls = workload.find("strace -f -ttt").unwrap();
        assert!(calls < workload.find(END).unwrap() && workload.contains(SHOW_CALLS));
    }
}
