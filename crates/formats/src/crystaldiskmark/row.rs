//! A row of figures, as written by `CrystalDiskMark` and `KDiskMark`.

use drivelab_core::csv::{Line, ParseError, quote};
use drivelab_core::record::{Better, Phase, Remark};

use crate::found::{detail, figure, number, put, transfer};

/// The operation of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    Mix,
}

impl Direction {
    /// The direction in the line of a section: `[Read]`, `[Mix] Read 70%/Write 30%`.
    pub(crate) fn of_section(line: &str) -> Option<Self> {
        let directions = [("[Read]", Self::Read), ("[Write]", Self::Write), ("[Mix]", Self::Mix)];
        directions.into_iter().find_map(|(name, it)| line.starts_with(name).then_some(it))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mix => "mix",
        }
    }
}

/// One test with its figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// `seq1m_q8t1_read`; without the parts that the row does not state.
    pub(crate) name: String,
    /// Bytes per request, if the row states it.
    pub(crate) request_bytes: Option<f64>,
    /// Million bytes per second.
    pub(crate) rate: f64,
    pub(crate) iops: Option<f64>,
    /// Microseconds.
    pub(crate) latency: Option<f64>,
}

impl Row {
    /// Reads a row; `None` if the line is not one.
    pub(crate) fn new(line: Line, section: Option<Direction>) -> Result<Option<Self>, ParseError> {
        let Some((label, values)) = line.text.split_once(':') else { return Ok(None) };
        let Some((rate, rest)) = values.split_once("MB/s") else { return Ok(None) };
        let Some(test) = Test::new(label) else { return Ok(None) };
        let Some(direction) = test.direction.or(section) else {
            let what = format!("{} is in no section", quote(label.trim()));
            let hint = "keep the line `[Read]` or `[Write]` above it";
            return Err(ParseError::new(line.number, what, hint));
        };
        let name = format!("{}_{}", test.name, direction.name());
        let iops = between(rest, "[", "IOPS]").map(|inside| number(line, inside)).transpose()?;
        let latency = between(rest, "<", "us>").map(|inside| number(line, inside)).transpose()?;
        let rate = number(line, rate)?;
        Ok(Some(Self { name, request_bytes: test.request_bytes, rate, iops, latency }))
    }

    /// Adds its figures to those of a report, which has each test once; returns whether it does.
    pub(crate) fn add(
        &self,
        phases: &mut Vec<Phase>,
        of_rate: Vec<Remark>,
        line: Line,
    ) -> Result<bool, ParseError> {
        let is_new = phases.iter().all(|phase| phase.name != self.name);
        if is_new {
            put(phases, self.phase(of_rate), line.number)?;
        }
        Ok(is_new)
    }

    /// Its figures, with the remarks on the rate.
    fn phase(&self, of_rate: Vec<Remark>) -> Phase {
        let name = &self.name;
        let mut rate = figure(name, self.rate, "MB/s", Better::More);
        rate.remarks = of_rate;
        let iops = self.iops.map(|iops| detail(&format!("{name}_iops"), iops, "1/s", Better::More));
        let latency = self
            .latency
            .map(|latency| detail(&format!("{name}_latency"), latency, "us", Better::Less));
        let figures = [Some(rate), iops, latency].into_iter().flatten().collect();
        transfer(name, self.rate * 1e6, figures)
    }
}

/// The text between the first `start` and the next `end`.
pub(super) fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}

/// The content of a row's label.
#[derive(Debug, PartialEq)]
struct Test {
    name: String,
    direction: Option<Direction>,
    request_bytes: Option<f64>,
}

impl Test {
    fn new(label: &str) -> Option<Self> {
        let label: String = label.chars().filter(|c| !c.is_whitespace()).collect();
        let kinds = [("Sequential", "seq"), ("SEQ", "seq"), ("Random", "rnd"), ("RND", "rnd")];
        let (kind, rest) = strip_any(&kinds, &label)?;
        // Only early versions name the direction in the row; later ones have a section for each.
        let (direction, rest) = match strip_any(&[("Read", ""), ("Write", "")], &rest) {
            Some((_, after)) if rest.starts_with('R') => (Some(Direction::Read), after),
            Some((_, after)) => (Some(Direction::Write), after),
            None => (None, rest),
        };
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (size, rest) = rest.split_at(digits);
        let units = [("KiB", "k"), ("KB", "k"), ("MiB", "m"), ("MB", "m")];
        let (unit, rest) = match strip_any(&units, rest) {
            Some(found) if !size.is_empty() => found,
            None if size.is_empty() => ("", rest.to_owned()),
            _ => return None,
        };
        let unit_bytes = if unit == "k" { 1024.0 } else { 1_048_576.0 };
        let request_bytes = size.parse::<f64>().ok().map(|size| size * unit_bytes);
        let suffix = depth(&rest)?;
        let name = format!("{kind}{size}{unit}{suffix}");
        Some(Self { name, direction, request_bytes })
    }
}

/// The second name of the first entry that `text` begins with, and the rest of the text.
fn strip_any(names: &[(&'static str, &'static str)], text: &str) -> Option<(&'static str, String)> {
    names.iter().find_map(|(name, short)| Some((*short, text.strip_prefix(name)?.to_owned())))
}

/// `(Q=8,T=1)` as `_q8t1`, `(QD=32)` as `_q32t1`, `(T=1)` of 5.x as `_t1`, and an empty text as an
/// empty text.
fn depth(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some(String::new());
    }
    let inside = text.strip_prefix('(')?.strip_suffix(')')?;
    // Without a depth, one request is outstanding.
    if let Some(threads) = inside.strip_prefix("T=") {
        return threads.parse::<u16>().ok().map(|_| format!("_t{threads}"));
    }
    let (queue, threads) = match inside.split_once(',') {
        Some((queue, threads)) => (queue, Some(threads.strip_prefix("T=")?)),
        None => (inside, None),
    };
    let queue = queue.strip_prefix("QD=").or_else(|| queue.strip_prefix("Q="))?;
    let threads = match threads {
        Some(threads) => format!("t{}", threads.parse::<u16>().ok().map(|_| threads)?),
        // Versions up to 4 have one thread, which they do not print: it is the same test.
        None => "t1".to_owned(),
    };
    queue.parse::<u16>().ok().map(|_| format!("_q{queue}{threads}"))
}
