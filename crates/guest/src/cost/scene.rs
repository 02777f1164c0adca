//! The script of a guest whose command has a bill.

use drivelab_core::units::Bytes;

use crate::chance::Chance;
use crate::mounted::{FileSystem, MOUNTED, Mounted, unmount};

/// Lines that the guest prints between its phases.
pub(super) const START: &str = "drivelab-cost-start";
pub(super) const END: &str = "drivelab-cost-end";
pub(super) const LEFT: &str = "drivelab-cost-left";
pub(super) const SETTLED: &str = "drivelab-cost-settled";
pub(super) const CALLS: &str = "drivelab-cost-calls";
pub(super) const EXTENTS: &str = "drivelab-cost-extents";

/// The size of the file system, unless the user names another one.
pub const FILESYSTEM_SIZE: Bytes = Bytes::gib(2);

/// The exit code of the script if the preparation failed.
pub(super) const NOT_PREPARED: u8 = 103;

/// The record of a traced guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing: the command runs by itself.
    Nothing,
    /// The system calls of the command.
    Calls,
    /// The system calls, each with its stack.
    Stacks,
}

/// The options with which strace records the calls of a command that can reach a file, with times
/// of the guest's clock in nanoseconds. The data themselves are left out, and so are the paths of
/// programs and libraries.
const STRACE: &str = "-f -y --decode-pids=comm -s 0 -e signal=none \
    --absolute-timestamps=format:unix,precision:ns --syscall-times=ns -o /tmp/calls \
    -e trace=%file,read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,\
sendfile,copy_file_range,ftruncate,fallocate,fsync,fdatasync,sync,syncfs,sync_file_range,msync,\
mmap,io_uring_enter,getdents64,close,ioctl,fadvise64,readahead,mkdirat,dup,fchmod,fchown ";
/// Bytes of calls that are printed: half of what the console of results keeps.
const CALLS_MAX: u64 = 8 << 20;

/// A command on a file system, whose bill is made out.
#[derive(Debug, Clone)]
pub struct CostScene<'a> {
    /// The name of the disk in the guest.
    pub disk: &'a str,
    /// Commands that set its queue.
    pub settings: Vec<String>,
    /// Its file system.
    pub mounted: &'a Mounted,
    /// The size of the file system.
    pub size: Bytes,
    /// Chooses what differs between two machines that are set up alike.
    pub seed: u64,
    /// The part of the command's work that is recorded.
    pub recorded: Recorded,
}

impl CostScene<'_> {
    /// The programs of this machine that the script needs in a guest, apart from `mkfs`.
    pub fn programs(&self) -> &'static [&'static str] {
        match self.recorded {
            Recorded::Nothing => &[],
            Recorded::Calls | Recorded::Stacks => &["strace", "filefrag"],
        }
    }

    /// The path of the user's preparation in the guest's root, and that of the command.
    pub const FILES: [&'static str; 2] = ["cost/prepare", "cost/command"];

    /// The file system without what it does at a time that it draws: ext4 reads the bitmaps of all
    /// groups ahead up to five seconds after the mount, so that their first use has a read, or not.
    fn without_chance(&self) -> Mounted {
        let mut mounted = self.mounted.clone();
        if mounted.file_system == FileSystem::Ext4 {
            let separator = if mounted.options.is_empty() { "" } else { "," };
            mounted.options += separator;
            mounted.options += "no_prefetch_block_bitmaps";
        }
        mounted
    }

    /// Returns the script. What it does before the first mark and after the last one is in no bill.
    pub fn script(&self) -> String {
        debug_assert!(!self.disk.contains('/'), "a name below /dev");
        let mounted = self.without_chance();
        let [make, mount] = mounted.commands(self.disk, self.size).try_into().expect("two");
        let mut lines = self.settings.clone();
        lines.extend([make, mount.clone(), format!("cd {MOUNTED}")]);
        lines.push(format!(
            "sh /cost/prepare >&2 || {{ echo \"\\`prepare\\` ended with exit code $?\"; exit \
             {NOT_PREPARED}; }}"
        ));
        // A file system that was just mounted has nothing left to write and nothing in memory. A
        // program that `prepare` left running keeps it mounted.
        lines.push(format!("cd /\nsync\numount {MOUNTED} 2> /dev/null && {{ {mount}; }}"));
        lines.push(format!("sync\necho 3 > /proc/sys/vm/drop_caches\ncd {MOUNTED}"));
        lines.extend(Chance::of(self.seed).commands());
        // A short sleep ends the guest's turn, so that the line before it has its own time.
        let nap = "sleep 0.00001";
        let strace = match self.recorded {
            Recorded::Nothing => String::new(),
            Recorded::Calls => format!("/bin/strace {STRACE}"),
            Recorded::Stacks => format!("/bin/strace -k {STRACE}"),
        };
        lines.push(format!("echo {START}\n{nap}"));
        lines.push(format!("{strace}sh /cost/command >&2 < /dev/null"));
        lines.push(format!("echo \"{END} $?\"\n{nap}\nsync\necho {LEFT}\n{nap}"));
        // Has the drive write what it still holds, for its own account.
        lines.push(format!("sync /dev/{} 2> /dev/null\necho {SETTLED}\n{nap}", self.disk));
        match self.recorded {
            Recorded::Nothing => {}
            Recorded::Calls => lines.push(shown(&without_outside())),
            Recorded::Stacks => lines.push(shown(&without_outside_stacks())),
        }
        lines.push(format!("cd /\n{}\nexit 0", unmount()));
        lines.join("\n")
    }
}

/// The beginnings of paths outside the file system: programs and libraries are in the guest's
/// memory and cost nothing.
const OUTSIDE: [&str; 7] =
    ["\"/bin/", "\"/lib", "\"/usr/", "\"/etc/", "\"/proc/", "\"/sys/", "\"/tmp/"];

/// Prints the lines of the calls without those on files outside.
fn without_outside() -> String {
    let outside: Vec<String> = OUTSIDE.iter().map(|path| format!("-e '{path}'")).collect();
    format!("grep -v {} /tmp/calls", outside.join(" "))
}

/// Does the same where a stack follows each call, which goes with it.
fn without_outside_stacks() -> String {
    let outside: Vec<String> = OUTSIDE.iter().map(|path| path.replace('/', "\\/")).collect();
    format!("awk '!/^ > / {{ kept = !/{}/ }} kept' /tmp/calls", outside.join("|"))
}

/// Prints the calls that a command selects, and where the files are.
fn shown(calls: &str) -> String {
    format!(
        "{calls} > /tmp/shown\n\
         echo \"{CALLS} $(wc -c < /tmp/shown)\"\n\
         tail -c {CALLS_MAX} /tmp/shown\n\
         echo\n\
         echo {EXTENTS}\n\
         find {MOUNTED} -xdev -type f -size +0 -print0 | xargs -0 -r /bin/filefrag -v -b512 2>&1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script_of(recorded: Recorded) -> String {
        let mounted = Mounted { file_system: FileSystem::Ext4, options: "noatime".into() };
        let scene = CostScene {
            disk: "sda",
            settings: vec!["echo none > queue".into()],
            mounted: &mounted,
            size: Bytes::gib(1),
            seed: 1,
            recorded,
        };
        scene.script()
    }

    #[test]
    fn only_the_command_is_between_the_first_two_marks() {
        let script = script_of(Recorded::Calls);
        let order = [
            "echo none",
            "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda 1024M",
            "-o noatime,no_prefetch_block_bitmaps /dev/sda /mnt",
            "cost/prepare",
            "umount /mnt",
            "drop_caches",
            START,
            "strace",
            "cost/command",
            END,
            LEFT,
            "sync /dev/sda",
            SETTLED,
            CALLS,
            EXTENTS,
            "umount -a",
        ];
        let found: Vec<_> = order.iter().map(|part| script.find(part).unwrap()).collect();
        assert!(found.is_sorted(), "{found:?} in {script}");
    }

    #[test]
    fn a_command_that_is_not_recorded_runs_without_strace() {
        let script = script_of(Recorded::Nothing);
        assert!(!script.contains("strace") && !script.contains(EXTENTS), "{script}");
        assert!(script.contains(SETTLED));
    }
}
