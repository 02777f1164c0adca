//! The kernel's log of this boot: from the kernel, or where that is closed, from the journal.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use drivelab_host::KernelLog;
use rustix::process::{Pid, Signal, kill_process};

/// Size limit of the journal of one boot.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;
/// The time limit of the journal: ten times what it needs on a slow disk. It lies on a disk itself,
/// which may be the one that hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// The log as it is now; `None` without permission to read it.
pub fn of_this_boot() -> Option<KernelLog> {
    drivelab_host::log::ring(Path::new("/dev/kmsg")).or_else(|| {
        // The journal takes a program and up to a second: once is enough, even for a long study.
        static JOURNAL: OnceLock<Option<KernelLog>> = OnceLock::new();
        JOURNAL.get_or_init(|| journal(Path::new("journalctl"), DEADLINE)).clone()
    })
}

/// The kernel log of this boot from `journalctl`, up to the size limit of a log; `None` if it
/// fails, has nothing, or does not end in time.
fn journal(journalctl: &Path, deadline: Duration) -> Option<KernelLog> {
    let mut journal = Command::new(journalctl);
    journal.args(["--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-monotonic"]);
    journal.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = journal.spawn().ok()?;
    let pid = Pid::from_child(&child);
    // With room for the text: the thread must end even if the wait was given up.
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        // Without a receiver the wait was given up.
        let _ = sender.send(all_of(child));
    });
    let Ok(log) = receiver.recv_timeout(deadline) else {
        // The thread takes note of its end, whenever that comes.
        let _ = kill_process(pid, Signal::KILL);
        return None;
    };
    log.filter(|log| log.present)
}

/// The log that a program prints, until it ends or prints more than the limit.
fn all_of(mut child: Child) -> Option<KernelLog> {
    let log = KernelLog::read(child.stdout.take()?.take(JOURNAL_BYTES_MAX)).ok();
    // A program that prints more would wait for a reader.
    let _ = child.kill();
    let success = child.wait().is_ok_and(|status| status.success() || status.code().is_none());
    log.filter(|_| success)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program called `journalctl` that runs `script`.
    fn program(folder: &tempfile::TempDir, script: &str) -> std::path::PathBuf {
        let path = folder.path().join("journalctl");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_journal_is_asked_for_the_kernels_lines_of_this_boot() {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        let line = "[    3.1] tower kernel: ata2.00: limiting SATA link speed to 1.5 Gbps";
        let journal =
            program(&folder, &format!("echo \"$@\" > {}\necho '{line}'", asked.display()));
        let log = super::journal(&journal, DEADLINE).unwrap();
        assert!(log.port(2).is_some_and(|port| !port.links.is_empty()), "{log:?}");
        let asked = std::fs::read_to_string(asked).unwrap();
        assert!(asked.contains("--dmesg --boot --no-pager"), "{asked}");
    }

    #[test]
    fn a_journal_that_fails_or_is_empty_or_missing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(journal(&program(&folder, "echo half; exit 1"), DEADLINE), None);
        assert_eq!(journal(&program(&folder, "true"), DEADLINE), None);
        assert_eq!(journal(&folder.path().join("nowhere"), DEADLINE), None);
    }

    #[test]
    fn a_journal_that_does_not_end_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let hangs = program(&folder, &format!("echo $$ > {}/pid\nexec sleep 1000", path(&folder)));
        // A busy machine may not have started it by then.
        let pid = (1..).find_map(|tries| {
            assert_eq!(journal(&hangs, Duration::from_millis(100 * tries)), None);
            let pid = std::fs::read_to_string(folder.path().join("pid")).ok()?;
            pid.ends_with('\n').then_some(pid)
        });
        let pid = pid.unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // Killed; a zombie until the thread takes note of it.
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_journal_without_an_end_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let endless = program(&folder, "exec yes 'ata1: x'");
        assert_eq!(journal(&endless, Duration::from_millis(200)), None);
    }

    fn path(folder: &tempfile::TempDir) -> std::path::Display<'_> {
        folder.path().display()
    }
}
