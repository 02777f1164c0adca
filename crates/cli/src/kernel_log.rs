//! The kernel's log of this boot: from the kernel, or where that is closed, from the journal.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The log as it is now; `None` where nobody lets us read it.
pub(crate) fn of_this_boot() -> Option<String> {
    drivelab_host::log::ring(Path::new("/dev/kmsg")).or_else(|| {
        // The journal takes a program and up to a second: once is enough, even for a long study.
        static JOURNAL: OnceLock<Option<String>> = OnceLock::new();
        JOURNAL.get_or_init(|| journal(Path::new("journalctl"))).clone()
    })
}

/// What `journalctl` has of this boot's kernel log.
fn journal(journalctl: &Path) -> Option<String> {
    let mut journal = Command::new(journalctl);
    journal.args(["--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-monotonic"]);
    let said = journal.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    (said.status.success() && !text.is_empty()).then_some(text)
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
        let text = super::journal(&journal).unwrap();
        let log = drivelab_host::KernelLog::parse(&text);
        assert!(log.port(2).is_some_and(|port| !port.links.is_empty()), "{log:?}");
        let asked = std::fs::read_to_string(asked).unwrap();
        assert!(asked.contains("--dmesg --boot --no-pager"), "{asked}");
    }

    #[test]
    fn a_journal_that_fails_or_is_empty_or_missing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(journal(&program(&folder, "echo half; exit 1")), None);
        assert_eq!(journal(&program(&folder, "true")), None);
        assert_eq!(journal(&folder.path().join("nowhere")), None);
    }
}
