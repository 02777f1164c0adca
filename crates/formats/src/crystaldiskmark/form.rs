//! The format of the lines of each generation.

use drivelab_core::csv::Line;
use drivelab_core::record::Figure;

use super::row::{Direction, Row};

/// A generation of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// 2: only rates.
    V2,
    /// 3 and 4: `(QD=32)`, and IOPS.
    V3,
    /// 5 and 6: `(Q= 32,T= 1)`.
    V5,
    /// From 7 on: sections for reads and writes, and latencies.
    V8,
}

impl Form {
    pub(super) fn of(version: &str) -> Self {
        match version.split('.').next().and_then(|major| major.parse::<u32>().ok()) {
            Some(..=2) => Self::V2,
            Some(3 | 4) => Self::V3,
            Some(5 | 6) => Self::V5,
            _ => Self::V8,
        }
    }

    /// Width of the rules, and of the address that ends with them.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::V2 => 50,
            Self::V3 | Self::V5 => 71,
            Self::V8 => 78,
        }
    }

    pub(super) const fn address(self) -> &'static str {
        match self {
            Self::V2 | Self::V3 | Self::V5 => "Crystal Dew World : http://crystalmark.info/",
            Self::V8 => "Crystal Dew World: https://crystalmark.info/",
        }
    }

    pub(super) const fn has_sections(self) -> bool {
        matches!(self, Self::V8)
    }

    /// Its units.
    pub(super) const fn units(self) -> &'static [&'static str] {
        match self {
            Self::V2 => &[],
            Self::V3 => &["* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]"],
            Self::V5 | Self::V8 => &[
                "* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]",
                "* KB = 1000 bytes, KiB = 1024 bytes",
            ],
        }
    }

    pub(super) fn line(self, rate: &Rate) -> String {
        let label = match self {
            Self::V8 => rate.short(),
            Self::V2 => format!("{:>18}", rate.long("KB", "")),
            Self::V3 => format!("{:>25}", rate.long("KB", &rate.depth(self))),
            Self::V5 => format!("{:>32}", rate.long("KiB", &rate.depth(self))),
        };
        // Widths and blanks are those of each version, which other programs rely on.
        let colon = if self == Self::V8 { ":" } else { " :" };
        let width = if self == Self::V2 { 8 } else { 9 };
        let value = format!("{:width$.3} MB/s", rate.mb_per_s);
        let iops = rate.iops.map_or_else(String::new, |iops| format!(" [{iops:9.1} IOPS]"));
        let latency = rate.latency.map_or_else(String::new, |us| format!(" <{us:9.2} us>"));
        format!("{label}{colon} {value}{iops}{latency}")
    }

    /// True if the line of a test names it: early versions have no mixtures and no threads, and the
    /// first no queues.
    pub(super) fn holds(self, rate: &Rate) -> bool {
        // Written and read back: a line is only used if it names the same test again.
        let line = Line { number: 1, text: &self.line(rate) };
        let section = self.has_sections().then_some(rate.direction);
        Row::new(line, section).is_ok_and(|row| row.is_some_and(|row| row.name == rate.name))
    }

    /// A line about a setting; a comment may have several lines.
    pub(super) fn setting(self, name: &str, value: &str) -> String {
        match (self, name) {
            (Self::V2, "Comment") => format!("::Comment::\r\n{}", value.replace('\n', "\r\n")),
            (Self::V2, _) => format!("{name:>18} : {value}"),
            (Self::V3 | Self::V5, _) => format!("{name:>6} : {value}"),
            (Self::V8, _) => format!("{name:>7}: {value}"),
        }
    }
}

/// A test with the content of its line.
pub(super) struct Rate<'a> {
    pub(super) name: &'a str,
    pub(super) is_sequential: bool,
    /// Size of a request, `1` and `m`; empty in version 2 for sequential tests.
    pub(super) size: &'a str,
    pub(super) unit: &'a str,
    pub(super) queue: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) direction: Direction,
    pub(super) mb_per_s: f64,
    pub(super) iops: Option<f64>,
    pub(super) latency: Option<f64>,
}

impl<'a> Rate<'a> {
    pub(super) fn new(figure: &'a Figure, all: &[Figure]) -> Option<Self> {
        let name = figure.name.as_str();
        // `seq1m_q8t1_read`: kind and size, depth unless the version had none, direction.
        let mut parts = name.split('_');
        let kind = parts.next()?;
        let is_sequential = kind.starts_with("seq");
        let size = kind.strip_prefix("seq").or_else(|| kind.strip_prefix("rnd"))?;
        let digits = size.len() - size.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (size, unit) = size.split_at(digits);
        let last = parts.next_back()?;
        let direction = [Direction::Read, Direction::Write, Direction::Mix]
            .into_iter()
            .find(|direction| direction.name() == last)?;
        let depth = parts.next();
        let (queue, threads) = match depth.map(|depth| depth.strip_prefix('q')) {
            None => (None, None),
            Some(depth) => match depth?.split_once('t') {
                Some((queue, threads)) => (Some(queue.parse().ok()?), Some(threads.parse().ok()?)),
                None => (Some(depth?.parse().ok()?), None),
            },
        };
        let is_one = figure.unit == "MB/s" && depth.is_none_or(|_| parts.next().is_none());
        let is_size = matches!((size, unit), ("", "") | (_, "k" | "m"));
        let iops = value_of(all, &format!("{name}_iops"));
        let latency = value_of(all, &format!("{name}_latency"));
        let mb_per_s = figure.value;
        let test = Self {
            name,
            is_sequential,
            size,
            unit,
            queue,
            threads,
            direction,
            mb_per_s,
            iops,
            latency,
        };
        (is_one && is_size).then_some(test)
    }

    /// `  SEQ    1MiB (Q=  8, T= 1)`.
    fn short(&self) -> String {
        let kind = if self.is_sequential { "SEQ" } else { "RND" };
        let size = match self.unit {
            "" => String::new(),
            unit => format!("{:>5}{}", self.size, if unit == "k" { "KiB" } else { "MiB" }),
        };
        let queue = self.depth(Form::V8);
        format!("  {kind}{size}{}{queue}", if queue.is_empty() { "" } else { " " })
    }

    /// `Random Read 4KB (QD=32)`.
    fn long(&self, kilo: &str, depth: &str) -> String {
        let kind = if self.is_sequential { "Sequential" } else { "Random" };
        let direction = if self.direction == Direction::Write { "Write" } else { "Read" };
        let unit = match self.unit {
            "" => "",
            "k" => kilo,
            _ if kilo == "KB" => "MB",
            _ => "MiB",
        };
        let gap = if unit.is_empty() { "" } else { " " };
        let before = if depth.is_empty() { "" } else { " " };
        format!("{kind} {direction}{gap}{}{unit}{before}{depth}", self.size)
    }

    fn depth(&self, form: Form) -> String {
        match (form, self.queue, self.threads) {
            (_, None, _) => String::new(),
            (Form::V2 | Form::V3, Some(queue), _) | (_, Some(queue), None) => {
                format!("(QD={queue})")
            }
            (Form::V5, Some(queue), Some(threads)) => format!("(Q={queue:3},T={threads:2})"),
            (Form::V8, Some(queue), Some(threads)) => format!("(Q={queue:3}, T={threads:2})"),
        }
    }
}

/// The value of the figure with this name.
fn value_of(figures: &[Figure], name: &str) -> Option<f64> {
    figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}
