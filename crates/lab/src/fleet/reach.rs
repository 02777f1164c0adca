//! Starts drivelab on a host, here or over ssh, and reads its output.

use drivelab_analysis::run::quoted;
use drivelab_core::units::Span;
use drivelab_core::{Invalid, Refusal, invalid};
use drivelab_engine::{Program, ProgramEnd, Ran};

use crate::interrupt;

/// The exit code of `ssh` without a connection, by its manual.
const SSH_FAILED: i32 = 255;
/// The exit code of a shell that does not find the program (POSIX.1-2017, 2.8.2).
const NOT_FOUND: i32 = 127;

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, and its name.
    Here(String),
    /// Another one, as `ssh` names it.
    There(String),
}

/// The way to reach other hosts.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// The command, with its options.
    pub command: String,
    /// drivelab there, with what stands in front of it.
    pub program: String,
}

impl Reach {
    /// Another host by what was typed.
    pub fn there(typed: &str) -> Result<Self, Invalid> {
        let is_odd = typed.contains(|c: char| c.is_whitespace() || c.is_control());
        // `ssh` would take it for an option.
        if typed.is_empty() || typed.starts_with('-') || is_odd {
            return Err(invalid!("`{}` is not the name of a host", typed.escape_debug()));
        }
        Ok(Self::There(typed.to_owned()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Here(name) | Self::There(name) => name,
        }
    }

    /// Runs drivelab there with these words; what it printed, or why there is nothing.
    pub fn drivelab(&self, ssh: &Ssh, words: &[String], timeout: Span) -> Result<String, Refusal> {
        let command = self.shell_command(ssh, words)?;
        let program = Program { command: &command, timeout, stop: interrupt::flag() };
        let ran = program
            .run()
            .map_err(|error| Refusal::machine(format!("no shell can be started: {error}")))?;
        match ran.end {
            ProgramEnd::Exited(0) => Ok(ran.stdout),
            end => Err(Refusal::machine(self.why(end, &ran, timeout))),
        }
    }

    /// The command for a shell of this machine.
    fn shell_command(&self, ssh: &Ssh, words: &[String]) -> Result<String, Refusal> {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let words = words.join(" ");
        match self {
            Self::Here(_) => {
                let own = std::env::current_exe()?;
                let own = own
                    .to_str()
                    .ok_or_else(|| Refusal::machine("the name of this program is not text"))?;
                // With `exec` a signal reaches the program and not a shell.
                Ok(format!("exec {} {words}", quoted(own)))
            }
            Self::There(host) => {
                // Quoted twice, as the shell of the other host reads the words again.
                let there = quoted(&format!("{} {words}", ssh.program));
                Ok(format!("exec {} {} {there}", ssh.command, quoted(host)))
            }
        }
    }

    fn why(&self, end: ProgramEnd, ran: &Ran, timeout: Span) -> String {
        let last = ran.stderr.lines().rfind(|line| !line.trim().is_empty());
        let error = ran.stderr.lines().find(|line| line.starts_with("error: "));
        // The last line may be a hint; `error:` has the cause.
        let words = error.or(last).map(|line| format!(": {}", line.trim())).unwrap_or_default();
        let is_there = matches!(self, Self::There(_));
        match end {
            ProgramEnd::Exited(SSH_FAILED) if is_there => format!("cannot be reached{words}"),
            ProgramEnd::Exited(NOT_FOUND) if is_there => {
                format!("drivelab is not installed{words}")
            }
            ProgramEnd::Exited(code) => format!("drivelab ended with {code}{words}"),
            ProgramEnd::Signalled(signal) => {
                format!("drivelab was ended by signal {signal}{words}")
            }
            ProgramEnd::TimedOut => format!("no answer within {timeout}"),
            ProgramEnd::TooLoud => "the answer is too long".to_owned(),
            ProgramEnd::Stopped => "interrupted".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh() -> Ssh {
        Ssh { command: "ssh -o BatchMode=yes".into(), program: "sudo drivelab".into() }
    }

    #[test]
    fn words_reach_the_shell_of_the_host_as_they_were_typed() {
        let words = ["run", "/dev/sda", "--bs", "a b;'c'"].map(str::to_owned);
        let command = Reach::there("root@web1").unwrap().shell_command(&ssh(), &words).unwrap();
        // One word for this shell, of which that of the host makes the same four again.
        let there =
            "'sudo drivelab run /dev/sda --bs '\\''a b;'\\''\\'\\'''\\''c'\\''\\'\\'''\\'''\\'''";
        assert_eq!(command, format!("exec ssh -o BatchMode=yes root@web1 {there}"));
    }

    #[test]
    fn no_name_of_a_host_is_an_option() {
        for odd in ["", "-oProxyCommand=reboot", "a b", "a\nb"] {
            assert!(Reach::there(odd).is_err(), "{odd}");
        }
        assert_eq!(Reach::there("web1").unwrap().name(), "web1");
    }

    #[test]
    fn a_host_that_fails_says_why() {
        let check = |command: &str, expected: &str| {
            let ssh = Ssh { command: command.into(), program: String::new() };
            let why = Reach::there("web1").unwrap().drivelab(&ssh, &[], Span::from_secs(60));
            assert_eq!(why.unwrap_err().to_string(), expected);
        };
        check(
            "sh -c 'echo error: no disk >&2; echo hint: x >&2; exit 3'",
            "drivelab ended with 3: error: no disk",
        );
        check("sh -c 'echo refused >&2; exit 255'", "cannot be reached: refused");
        check("sh -c 'exit 127'", "drivelab is not installed");
        check("sh -c 'kill -9 $$'", "drivelab was ended by signal 9");
    }
}
