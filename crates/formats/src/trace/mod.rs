//! Recorded requests, read line by line, so that a trace of any length takes constant memory.

mod blkparse;
mod device;
mod disksim;
mod fields;
mod iolog;
mod issued;
mod msr;
mod spc;
mod systor;

use std::collections::VecDeque;

pub use blkparse::Events;
use device::Device;
use drivelab_core::config::Choice;
use drivelab_core::{Invalid, Request, Time, TraceEntry as Entry, choice_as_text, invalid};
use fields::{Parsed, is_device};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `R|W action LBN sectors measured_us think_us`, the validation traces of `DiskSim`.
    DiskSim,
    /// `arrival_ms device LBN sectors flags`, the default format of `DiskSim`.
    DiskSimAscii,
    /// The text output of `blkparse`.
    Blkparse,
    /// The I/O log of fio, versions 2 and 3.
    Iolog,
    /// `ASU,LBA,bytes,opcode,seconds`, as specified by the Storage Performance Council.
    Spc,
    /// `time,host,disk,Read|Write,offset,bytes,response`, traces of Microsoft Research Cambridge.
    Msr,
    /// `Timestamp,Response,IOType,LUN,Offset,Size`, traces of SYSTOR '17.
    Systor,
}

impl Choice for Format {
    const WHAT: &'static str = "trace format";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("disksim", Self::DiskSim),
        ("disksim-ascii", Self::DiskSimAscii),
        ("blkparse", Self::Blkparse),
        ("fio", Self::Iolog),
        ("spc", Self::Spc),
        ("msr", Self::Msr),
        ("systor", Self::Systor),
    ];
}
choice_as_text!(Format);

/// The reason why a line of a trace is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: u64,
    /// The expected text.
    pub message: String,
}

/// The part of a trace to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The format, if it is not to be detected from the first line.
    pub format: Option<Format>,
    /// The device of the requests: `major,minor` of blkparse, a file of a fio log, a unit of SPC
    /// or SYSTOR, `host.disk` of MSR Cambridge.
    /// Without one, a trace of several devices is refused.
    pub device: Option<String>,
    /// The events of blkparse.
    pub events: Option<Events>,
    /// True if service times are needed: then the default of `events` is those that have them.
    pub measured: bool,
}

/// The content of a trace apart from the requests that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Requests of devices that were not chosen.
    pub others: u64,
    /// Commands that are neither read, write, trim nor flush.
    pub commands: u64,
    /// Completions of requests whose issue the trace does not contain.
    pub unmatched: u64,
    /// Issued requests whose completion the trace does not contain.
    pub unanswered: u64,
    /// Requests that the recorded drive failed.
    pub failed: u64,
}

/// Reads a trace line by line.
#[derive(Debug)]
pub struct Parser {
    selection: Selection,
    format: Option<Format>,
    line: u64,
    requests: u64,
    device: Device,
    iolog: iolog::State,
    blkparse: blkparse::State,
    /// The first recorded arrival: times count from there.
    origin: Option<u64>,
    latest: u64,
}

/// Requests in order. Most lines give none, one, or a flush and the following write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    flush: Option<Entry>,
    entry: Option<Entry>,
    more: VecDeque<Entry>,
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.flush.take().or_else(|| self.entry.take()).or_else(|| self.more.pop_front())
    }
}

impl Parser {
    /// A reader of `format`, or of the format detected from the first line.
    pub fn new(format: Option<Format>) -> Self {
        Self::with(Selection { format, ..Selection::default() })
    }

    /// A reader of `selection`.
    pub fn with(selection: Selection) -> Self {
        let usual = if selection.measured { Events::Issued } else { Events::Queued };
        Self {
            format: selection.format,
            line: 0,
            requests: 0,
            device: Device::new(selection.device.clone()),
            iolog: iolog::State::default(),
            blkparse: blkparse::State::new(selection.events.unwrap_or(usual)),
            origin: None,
            latest: 0,
            selection,
        }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// The content of the lines so far apart from the requests.
    pub fn left_out(&self) -> LeftOut {
        let issued = &self.blkparse.issued;
        LeftOut {
            others: self.device.others(),
            commands: self.blkparse.left_out,
            unmatched: issued.unmatched,
            unanswered: issued.unanswered,
            failed: issued.failed,
        }
    }

    /// The reason why the trace holds no requests, and a hint, if it holds others.
    pub fn why_empty(&self) -> Option<(String, String)> {
        if let (Some(chosen), Some(first)) = (self.device.chosen(), self.device.first())
            && self.device.others() > 0
        {
            let what = format!("contains requests of `{first}`, but none of `{chosen}`");
            return Some((what, format!("name its device: `--device {first}`")));
        }
        let (has, other) = match self.blkparse.events() {
            Events::Queued => ("issued requests (D), but none that were queued (Q)", "issued"),
            Events::Issued => ("queued requests (Q), but none that were issued (D)", "queued"),
        };
        self.blkparse.has_other_events.then(|| {
            let mut hint = format!("replay them with `--events {other}`");
            if self.selection.measured && other == "queued" {
                hint += ", without `--score`: they have no service times";
            }
            (format!("contains {has}"), hint)
        })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// The line is not in this format, its time runs backwards by more than a second, or it belongs
    /// to another device than those before and none was chosen.
    pub fn line(&mut self, text: &str) -> Result<Entries, TraceError> {
        self.line += 1;
        self.read(text).map_err(|Invalid(message)| TraceError { line: self.line, message })
    }

    /// The requests that still waited for their completion when the trace ended.
    ///
    /// # Errors
    /// As of [`Parser::line`].
    pub fn end(&mut self) -> Result<Entries, TraceError> {
        self.blkparse.issued.end();
        self.completed().map_err(|Invalid(message)| TraceError { line: self.line, message })
    }

    fn read(&mut self, text: &str) -> Result<Entries, Invalid> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(Entries::default());
        }
        let format = match self.format {
            Some(format) => format,
            None => *self.format.insert(guess(text)?),
        };
        if self.requests == 0 {
            self.refuse_unusable(format)?;
        }
        let device = &mut self.device;
        let parsed = match format {
            Format::DiskSim => disksim::read(text)?,
            Format::DiskSimAscii => disksim::read_ascii(text, device)?,
            Format::Blkparse => self.blkparse.read(text, self.line, device)?,
            Format::Iolog => self.iolog.read(text, device)?,
            Format::Spc => spc::read(text, device)?,
            Format::Msr => msr::read(text, device)?,
            Format::Systor => systor::read(text, device)?,
        };
        match parsed {
            Some(parsed) => self.entries(&parsed),
            None => self.completed(),
        }
    }

    /// Refuses a selection that means nothing in this format.
    fn refuse_unusable(&self, format: Format) -> Result<(), Invalid> {
        if self.selection.events.is_some() && format != Format::Blkparse {
            return Err(invalid!(
                "`--events` selects events of blkparse, but the format is {format}: omit it"
            ));
        }
        if self.selection.device.is_some() && format == Format::DiskSim {
            return Err("a validation trace of DiskSim names no devices: omit `--device`".into());
        }
        Ok(())
    }

    /// The requests whose completion is known by now.
    fn completed(&mut self) -> Result<Entries, Invalid> {
        let mut entries = Entries::default();
        while let Some(parsed) = self.blkparse.issued.next() {
            entries.more.extend(self.entries(&parsed)?);
        }
        Ok(entries)
    }

    fn entries(&mut self, parsed: &Parsed) -> Result<Entries, Invalid> {
        let Parsed { mut entry, flushes_before, arrival_ns } = *parsed;
        if let Some(arrival) = arrival_ns {
            // Events of several processors are printed slightly out of order.
            const SLACK_NS: u64 = 1_000_000_000;
            let origin = *self.origin.get_or_insert(arrival);
            let since = arrival.saturating_sub(origin);
            if arrival.saturating_add(SLACK_NS) < origin + self.latest {
                return Err(
                    "the times run backwards: check whether the file contains more than one trace"
                        .into(),
                );
            }
            // Never backwards: a replay sends requests in the order of the trace.
            self.latest = self.latest.max(since);
            entry.at = Some(Time::from_ns(self.latest));
        }
        // The time until the completion includes the flush, which has no separate one.
        let flush = Entry { request: Request::flush(0), measured: None, ..entry };
        Ok(Entries {
            flush: flushes_before.then(|| self.number(flush)),
            entry: Some(self.number(entry)),
            more: VecDeque::new(),
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
fn guess(first: &str) -> Result<Format, Invalid> {
    let mut words = first.split_whitespace();
    match (words.next().unwrap_or_default(), words.next()) {
        ("fio", Some("version")) => Ok(Format::Iolog),
        ("R" | "W", Some(_)) => Ok(Format::DiskSim),
        (device, Some(_)) if is_device(device) => Ok(Format::Blkparse),
        // SPC has no signature, so it is tried last.
        _ if msr::is(first) => Ok(Format::Msr),
        _ if systor::is(first) => Ok(Format::Systor),
        _ if disksim::is_ascii(first) => Ok(Format::DiskSimAscii),
        _ if first.split(',').count() >= 5 => Ok(Format::Spc),
        _ => {
            Err("unknown trace format; known: DiskSim (`R Hit 12 8 900 100`, or \
                  `0.5 0 12 8 1`), blkparse text (`8,0 1 1 0.0 99 Q R 12 + 8 [dd]`), a fio iolog \
                  (`fio version 3 iolog`), SPC (`0,12,4096,R,0.5`), MSR Cambridge (`128166372003061629,hm,1,Read,4096,512,9`), \
                  SYSTOR '17 (`1455600000.03,0.0002,R,1,8192,4096`)"
                .into())
        }
    }
}

#[cfg(test)]
mod tests;
