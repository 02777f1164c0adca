//! The commands that set arms up, check them and undo them.

use std::io::{self, Read as _};
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use drivelab_engine::LOCALE;

use crate::interrupt;

/// The interval at which a command is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// The longest wait for its last words: a daemon that it left behind never closes them.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Bytes of its words that are kept.
const WORDS_MAX: u64 = 4096;

/// The effect of Ctrl-C on a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// It does.
    UntilInterrupted,
    /// It does not: what was done must be undone.
    ToTheEnd,
}

/// The end of a command.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The beginning of what it said on stderr.
    pub(super) said: String,
}

/// Runs `command` in a shell.
///
/// It stays in the process group of the terminal, so that `sudo` can ask for a password.
pub(super) fn run(command: &str, patience: Patience) -> io::Result<Ended> {
    let mut shell = Command::new("sh");
    shell.env(LOCALE.0, LOCALE.1);
    // Without standard input `sudo` still asks, as it opens the terminal itself.
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = shell.spawn()?;
    let (send, said) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || send.send(words(stderr)));
    }
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if patience == Patience::UntilInterrupted && interrupt::requested() {
            child.kill()?;
        }
        thread::sleep(LOOK);
    };
    let said = said.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ok(Ended { status, said })
}

fn words(mut stderr: ChildStderr) -> String {
    let mut said = Vec::new();
    // What cannot be read was not said; the rest is read so that the command can go on.
    let _ = stderr.by_ref().take(WORDS_MAX).read_to_end(&mut said);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_how_it_ended_and_why() {
        let ended = run("echo no >&2; exit 7", Patience::ToTheEnd).unwrap();
        assert_eq!((ended.status.code(), ended.said.as_str()), (Some(7), "no"));
        let loud = run("yes | head -c 1000000 >&2", Patience::ToTheEnd).unwrap();
        assert!(loud.status.success());
        assert!(loud.said.len() <= 4096);
    }
}
