//! diskspd's XML (`-Rxml`), versions 2.0 to 2.2.
//!
//! Each measured time span is a run. Its rates are computed as in diskspd's own text: the requests
//! and bytes of all threads and targets divided by the measured seconds.

mod profile;
pub mod text;

use drivelab_core::csv::{ParseError, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Nature, Phase, Remark, Work};

use crate::found::{Found, decimal, detail, figure, put, transfer};
use crate::xml::{Step, walk};
use profile::Profile;

/// Percentiles that are compared, as diskspd writes them.
const PERCENTILES: [(&str, &str); 4] =
    [("50", "p50"), ("99", "p99"), ("99.9", "p99_9"), ("100", "max")];

/// True if a text is such a document.
pub fn is_diskspd(text: &str) -> bool {
    text.contains("<Results>") && text.contains("<TestTimeSeconds>")
}

/// Reads every time span of a document.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("diskspd");
    let (mut span, mut profile) = (Span::default(), Profile::default());
    walk(text, |path, line, step| {
        if path.first() != Some(&"Results") {
            let hint = "give the complete output of diskspd with `-Rxml`";
            return Err(ParseError::new(line, "not a result of diskspd", hint));
        }
        match (&path[1..], step) {
            (["System", "Tool", "Version"], Step::Close(text)) => found.version(&text),
            (["Profile", inner @ ..], step) => profile.take(inner, step),
            (["TimeSpan"], Step::Open) => span = Span { line, ..Span::default() },
            (["TimeSpan"], Step::Close(_)) => {
                std::mem::take(&mut span).finish(profile.next(), &mut found);
            }
            (["TimeSpan", inner @ ..], Step::Close(text)) => span.take(inner, line, &text)?,
            _ => {}
        }
        Ok(())
    })?;
    found.finish("give the complete output of diskspd with `-Rxml`")
}

/// Reads or writes.
#[derive(Debug, Default)]
struct Side {
    bytes: f64,
    requests: f64,
}

impl Side {
    fn rates(&self, prefix: &str, seconds: f64) -> [Figure; 2] {
        [("iops", self.requests), ("bytes_per_s", self.bytes)].map(|(name, count)| {
            figure(&format!("{prefix}{name}"), count / seconds, "", Better::More)
        })
    }
}

/// One measured time span during reading.
#[derive(Debug, Default)]
struct Span {
    line: usize,
    seconds: f64,
    reads: Side,
    writes: Side,
    /// The percentile of the current bucket.
    percentile: String,
    details: Vec<Figure>,
}

impl Span {
    fn take(&mut self, path: &[&str], line: usize, text: &str) -> Result<(), ParseError> {
        match path {
            ["TestTimeSeconds"] => self.seconds = number(line, text)?,
            ["Thread", "Target", "ReadBytes"] => self.reads.bytes += number(line, text)?,
            ["Thread", "Target", "ReadCount"] => self.reads.requests += number(line, text)?,
            ["Thread", "Target", "WriteBytes"] => self.writes.bytes += number(line, text)?,
            ["Thread", "Target", "WriteCount"] => self.writes.requests += number(line, text)?,
            ["CpuUtilization", "Average", "UsagePercent"] => {
                let load = detail("cpu", number(line, text)?, "%", Better::Less);
                put(&mut self.details, Figure { nature: Some(Nature::Cpu), ..load }, line)?;
            }
            ["Latency", "AverageReadMilliseconds"] => self.latency("read_lat_mean", line, text)?,
            ["Latency", "AverageWriteMilliseconds"] => {
                self.latency("write_lat_mean", line, text)?;
            }
            ["Latency", "AverageTotalMilliseconds"] => self.latency("lat_mean", line, text)?,
            ["Latency", "Bucket", "Percentile"] => text.clone_into(&mut self.percentile),
            ["Latency", "Bucket", "TotalMilliseconds"] => {
                let known = PERCENTILES.iter().find(|(written, _)| *written == self.percentile);
                if let Some((_, name)) = known {
                    self.latency(&format!("lat_{name}"), line, text)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a latency in milliseconds.
    fn latency(&mut self, name: &str, line: usize, text: &str) -> Result<(), ParseError> {
        let latency = detail(&format!("{name}_ms"), number(line, text)?, "ms", Better::Less);
        put(&mut self.details, latency, line)
    }

    fn finish(self, work: Work, found: &mut Found) {
        let (reads, writes) = (&self.reads, &self.writes);
        if !(self.seconds > 0.0 && reads.requests + writes.requests > 0.0) {
            return found.unknown(self.line, "a time span without requests");
        }
        let bytes = reads.bytes + writes.bytes;
        let all = Side { bytes, requests: reads.requests + writes.requests };
        let mut figures = Vec::from(all.rates("", self.seconds));
        // A run of one kind needs no prefix: its figures then compare with those of other tools.
        if reads.requests > 0.0 && writes.requests > 0.0 {
            figures.extend(reads.rates("read_", self.seconds));
            figures.extend(writes.rates("write_", self.seconds));
        }
        figures.extend(self.details);
        // A time span of almost no time has no rate.
        figures.retain(|figure| figure.value.is_finite());
        let mut phase: Phase = transfer("", bytes / self.seconds, figures);
        if profile::is_cached(&work) && phase.nature == Nature::Disk {
            let why = "it ran without `-Sh` or `-Su`: the cache of the system may have answered";
            phase.nature = Nature::PageCache;
            phase.remarks.push(Remark::new(Label::Nature(Nature::PageCache), why));
        }
        found.run_of(self.line, "", work, vec![phase]);
    }
}

fn number(line: usize, text: &str) -> Result<f64, ParseError> {
    decimal(text).ok_or_else(|| {
        let what = format!("{} is not a number", quote(text));
        let hint = "check whether the file is damaged or edited";
        ParseError::new(line, what, hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Of two threads, with the profile that diskspd repeats before the results.
    const RUN: &str = r#"<Results>
  <System><ComputerName>PC</ComputerName><Tool><Version>2.0.21a</Version></Tool></System>
  <Profile><TimeSpans><TimeSpan><Duration>10</Duration><Targets><Target><Path>a.dat</Path>
  <BlockSize>4096</BlockSize></Target></Targets></TimeSpan></TimeSpans></Profile>
  <TimeSpan>
    <TestTimeSeconds>10.00</TestTimeSeconds>
    <ThreadCount>2</ThreadCount>
    <CpuUtilization>
      <CPU><Id>0</Id><UsagePercent>50.00</UsagePercent></CPU>
      <Average><UsagePercent>25.50</UsagePercent></Average>
    </CpuUtilization>
    <Latency>
      <AverageReadMilliseconds>0.500</AverageReadMilliseconds>
      <AverageTotalMilliseconds>0.750</AverageTotalMilliseconds>
      <Bucket><Percentile>50</Percentile><TotalMilliseconds>0.600</TotalMilliseconds></Bucket>
      <Bucket><Percentile>51</Percentile><TotalMilliseconds>0.610</TotalMilliseconds></Bucket>
      <Bucket><Percentile>99.9</Percentile><TotalMilliseconds>9.000</TotalMilliseconds></Bucket>
    </Latency>
    <Iops><Bucket SampleMillisecond="1000" Read="400"/></Iops>
    <Thread><Id>0</Id><Target><Path>a.dat</Path><BytesCount>16384000</BytesCount>
      <IOCount>4000</IOCount><ReadBytes>12288000</ReadBytes><ReadCount>3000</ReadCount>
      <WriteBytes>4096000</WriteBytes><WriteCount>1000</WriteCount></Target></Thread>
    <Thread><Id>1</Id><Target><Path>a.dat</Path><ReadBytes>4096000</ReadBytes>
      <ReadCount>1000</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target>
    </Thread>
  </TimeSpan>
</Results>
"#;

    #[test]
    fn rates_are_those_of_all_threads() {
        let imported = parse(RUN).unwrap();
        assert_eq!(
            (imported.tool.as_str(), imported.tool_version.as_str()),
            ("diskspd", "2.0.21a")
        );
        let metrics: Vec<Figure> =
            imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect();
        let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
        let expected = [
            ("iops", 500.0),
            ("bytes_per_s", 2_048_000.0),
            ("read_iops", 400.0),
            ("read_bytes_per_s", 1_638_400.0),
            ("write_iops", 100.0),
            ("write_bytes_per_s", 409_600.0),
            ("cpu", 25.5),
            ("read_lat_mean_ms", 0.5),
            ("lat_mean_ms", 0.75),
            ("lat_p50_ms", 0.6),
            ("lat_p99_9_ms", 9.0),
        ];
        assert_eq!(found, expected);
        let labels = |text: &str| {
            let phase = parse(text).unwrap().runs.remove(0).phases.remove(0);
            phase.remarks.iter().map(|remark| remark.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(RUN), [Label::Nature(Nature::PageCache), Label::SingleRun]);
        let direct = "<BlockSize>4096</BlockSize><DisableOSCache>true</DisableOSCache>";
        let direct = RUN.replace("<BlockSize>4096</BlockSize>", direct);
        assert_eq!(labels(&direct), [Label::SingleRun]);
        assert_eq!(imported.runs[0].line, 5);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(&RUN.replace("10.00", "fast"), "line 6: `fast` is not a number; check whether");
        check("<html></html>", "line 1: not a result of diskspd; give the complete");
        check("<Results></Results>", "it contains no results of diskspd; give the complete");
        check(&RUN.replace("10.00", "0.00"), "it contains no results of diskspd; give");
    }

    proptest::proptest! {
        #[test]
        fn no_damage_panics(at in 0..1600_usize, cut in 0..30_usize, put in "[<>/a0-9.&;]{0,8}") {
            let mut text = RUN.to_owned();
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.replace_range(at..end, &put);
            let _ = parse(&text);
        }
    }
}
