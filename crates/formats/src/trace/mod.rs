//! Recorded requests, read line by line, so that a trace of any length takes constant memory.

mod blkparse;
mod disksim;
mod fields;
mod iolog;
mod spc;

use drivelab_core::config::Choice;
use drivelab_core::{Request, Time, TraceEntry as Entry, choice_as_text};
use fields::{Parsed, is_device};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `R|W action LBN sectors measured_us think_us`, the validation traces of `DiskSim`.
    DiskSim,
    /// The text output of `blkparse`; the events `Q` (queued) are used.
    Blkparse,
    /// The I/O log of fio, versions 2 and 3.
    Iolog,
    /// `ASU,LBA,bytes,opcode,seconds`, as specified by the Storage Performance Council.
    Spc,
}

impl Choice for Format {
    const WHAT: &'static str = "trace format";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("disksim", Self::DiskSim),
        ("blkparse", Self::Blkparse),
        ("fio", Self::Iolog),
        ("spc", Self::Spc),
    ];
}
choice_as_text!(Format);

/// Why a line of a trace is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: u64,
    /// What was expected.
    pub message: String,
}

/// Reads a trace line by line.
#[derive(Debug)]
pub struct Parser {
    format: Option<Format>,
    line: u64,
    requests: u64,
    iolog: iolog::State,
    blkparse: blkparse::State,
    /// The first recorded arrival: times count from there.
    origin: Option<u64>,
    latest: u64,
}

/// The requests of a line, in order: none, one, or a flush and the following write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    flush: Option<Entry>,
    entry: Option<Entry>,
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.flush.take().or_else(|| self.entry.take())
    }
}

impl Parser {
    /// A reader of `format`, or of the format detected from the first line.
    pub fn new(format: Option<Format>) -> Self {
        Self {
            format,
            line: 0,
            requests: 0,
            iolog: iolog::State::default(),
            blkparse: blkparse::State::default(),
            origin: None,
            latest: 0,
        }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// Reads the next line, which contains at most two requests.
    ///
    /// # Errors
    /// The line is not in this format, or its time runs backwards by more than a second.
    pub fn line(&mut self, text: &str) -> Result<Entries, TraceError> {
        self.line += 1;
        self.read(text).map_err(|message| TraceError { line: self.line, message })
    }

    fn read(&mut self, text: &str) -> Result<Entries, String> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(Entries::default());
        }
        let format = match self.format {
            Some(format) => format,
            None => *self.format.insert(guess(text)?),
        };
        let parsed = match format {
            Format::DiskSim => disksim::read(text)?,
            Format::Blkparse => self.blkparse.read(text)?,
            Format::Iolog => self.iolog.read(text)?,
            Format::Spc => spc::read(text)?,
        };
        let Some(Parsed { mut entry, flushes_before, arrival_ns }) = parsed else {
            return Ok(Entries::default());
        };
        if let Some(arrival) = arrival_ns {
            // Events of several processors are printed slightly out of order.
            const SLACK_NS: u64 = 1_000_000_000;
            let origin = *self.origin.get_or_insert(arrival);
            let since = arrival.saturating_sub(origin);
            if arrival.saturating_add(SLACK_NS) < origin + self.latest {
                return Err(
                    "the times run backwards: check whether the file contains more than one \
                            trace"
                        .into(),
                );
            }
            self.latest = self.latest.max(since);
            entry.at = Some(Time::from_ns(self.latest));
        }
        let flush = flushes_before.then(|| Entry { request: Request::flush(0), ..entry });
        Ok(Entries {
            flush: flush.map(|flush| self.number(flush)),
            entry: Some(self.number(entry)),
        })
    }

    /// Assigns the next id.
    fn number(&mut self, mut entry: Entry) -> Entry {
        entry.request.id.0 = self.requests;
        self.requests += 1;
        entry
    }
}

/// The format of a first line.
fn guess(first: &str) -> Result<Format, String> {
    let mut words = first.split_whitespace();
    match (words.next().unwrap_or_default(), words.next()) {
        ("fio", Some("version")) => Ok(Format::Iolog),
        ("R" | "W", Some(_)) => Ok(Format::DiskSim),
        (device, Some(_)) if is_device(device) => Ok(Format::Blkparse),
        _ if first.split(',').count() >= 5 => Ok(Format::Spc),
        _ => {
            Err("unknown trace format; known: DiskSim (`R Hit 12 8 900 100`), blkparse text (`8,0 \
                  1 1 0.0 99 Q R 12 + 8 [dd]`), a fio iolog (`fio version 3 iolog`), SPC \
                  (`0,12,4096,R,0.5`)"
                .into())
        }
    }
}

#[cfg(test)]
mod tests;
