//! `drivelab serve` as a process of a study.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use drivelab_core::record::Served;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use drivelab_core::{AtPath as _, Refusal};

/// A drive that is being served; it ends with this process, however that ends.
#[derive(Debug)]
pub(super) struct Server {
    child: Option<Child>,
    path: PathBuf,
    /// The socket that takes requests about it.
    control: PathBuf,
}

/// The summary that the server prints at its end.
#[derive(Deserialize)]
struct Summary {
    stats: Served,
}

impl Server {
    /// Serves the drive that `spec` names as the file at `path`.
    pub(super) fn start(spec: &str, seed: u64, path: &Path) -> Result<Self, Refusal> {
        let own = std::env::current_exe()?;
        let mut command = Command::new(&own);
        command.args(["serve", spec, "--json", "--end-with-parent", "--seed"]);
        let control = path.with_extension("control");
        let mut endpoint = OsString::from("unix:");
        endpoint.push(&control);
        command.arg(seed.to_string()).arg("--fuse").arg(path).arg("--control").arg(endpoint);
        // Ctrl-C reaches this process alone, which ends the server when its own run has ended.
        command.process_group(0).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().at_path("start", &own)?;
        let mut said = BufReader::new(child.stderr.take().expect("it was piped"));
        let mut first = String::new();
        said.read_line(&mut first)?;
        if !first.starts_with("serving ") {
            said.read_to_string(&mut first)?;
            child.wait()?;
            return Err(refused(&first));
        }
        // What it says later is said into the void, and does not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Ok(Self { child: Some(child), path: path.to_owned(), control })
    }

    /// The file that is the drive.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins its counts again; returns them as counted until then.
    pub(super) fn reset_stats(&self) -> Result<Served, Refusal> {
        let asked = UnixStream::connect(&self.control).and_then(|mut stream| {
            stream.write_all(b"POST /stats/reset HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            std::io::read_to_string(stream)
        });
        let answer = asked.at_path("ask the server of the modelled drive at", &self.control)?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).map_err(silent)
    }

    /// Ends it: how late it was.
    pub(super) fn end(mut self) -> Result<Served, Refusal> {
        let child = self.child.as_mut().expect("it ends once");
        ask_to_end(child);
        let mut said = String::new();
        child.stdout.take().expect("it was piped").read_to_string(&mut said)?;
        child.wait()?;
        self.child = None;
        let summary: Summary = serde_json::from_str(&said).map_err(silent)?;
        Ok(summary.stats)
    }
}

/// It ended before it said what was asked of it.
fn silent(error: serde_json::Error) -> Refusal {
    Refusal::machine("the server of the modelled drive failed").because(error)
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            ask_to_end(child);
            // It is gone either way.
            let _ = child.wait();
        }
    }
}

fn ask_to_end(child: &Child) {
    // One that has ended already is not there to be asked.
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// The server's own error, which says what this host lacks.
fn refused(said: &str) -> Refusal {
    let lines = said.lines().map(|line| line.split_once(": ").unwrap_or(("", line)));
    let (mut message, mut hints) = (String::new(), Vec::new());
    for (what, text) in lines {
        match what {
            "error" => text.clone_into(&mut message),
            "hint" => hints.push(text.to_owned()),
            _ => {}
        }
    }
    let failure = Refusal::machine(message);
    hints.into_iter().fold(failure, Refusal::hint)
}
