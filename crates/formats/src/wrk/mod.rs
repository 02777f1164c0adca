//! wrk's output (4.x), and that of wrk2, which sends at a given rate (`-R`).
//!
//! wrk2 shows itself by `Thread calibration` and by the spectrum of its histogram.

use drivelab_core::csv::{Line, ParseError, lines, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Remark, Work};

use crate::found::{Found, decimal, detail, figure, put, seconds};
use crate::sign::in_a_line;
use crate::web::{self, Answers};

// Units that end with the letter of another come before it.
/// Units of time in milliseconds, and of amounts, which are binary.
const TIMES: [(&str, f64); 5] =
    [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3_600e3)];
const AMOUNTS: [(&str, f64); 5] = [
    ("KB", 1.0),
    ("MB", 1024.0),
    ("GB", 1_048_576.0),
    ("TB", 1_073_741_824.0),
    ("B", 1.0 / 1024.0),
];
/// Lines that describe the settings, and the heads of tables.
const SETTINGS: [&str; 4] =
    ["Thread Stats", "Latency Distribution", "Thread calibration", "Initialised "];

/// `Running 30s test @ http://...`
fn is_begin(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    line.starts_with("Running ") && line.contains(" test @ ")
}

/// True if a text contains the output of wrk.
pub fn is_wrk(text: &str) -> bool {
    in_a_line(text, " test @ ", is_begin)
        || text.contains("Requests/sec:") && in_a_line(text, " connections", is_load)
}

/// `12 threads and 400 connections`, with which a report begins that was pasted without its head.
fn is_load(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    matches!(words[..], [threads, "threads", "and", connections, "connections"]
        if threads.parse::<u32>().is_ok() && connections.parse::<u32>().is_ok())
}

/// Reads every run of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("wrk");
    let (mut run, mut is_paced) = (Run::default(), false);
    for line in lines(text)? {
        let text = line.text.trim();
        if is_command(text) {
            // Only wrk2 has a rate.
            is_paced = text.contains(" -R") || text.contains(" --rate");
        } else if is_begin(text) {
            std::mem::take(&mut run).finish(&mut found);
            (run.line, run.is_paced) = (line.number, std::mem::take(&mut is_paced));
            of_banner(&mut run.work, text);
        } else if is_load(text) && (run.line == 0 || !run.figures.is_empty()) {
            std::mem::take(&mut run).finish(&mut found);
            (run.line, run.is_paced) = (line.number, std::mem::take(&mut is_paced));
            of_load(&mut run.work, text);
        } else if run.skips(text) {
        } else if let Some(failed) = text.strip_prefix("Non-2xx or 3xx responses:") {
            run.failed = failed.trim().parse().unwrap_or(0);
            found.note(format!("Line {}: {text}.", line.number));
        } else if text.starts_with("Socket errors:") {
            found.note(format!("Line {}: {text}.", line.number));
        } else if let Some(row) = row(line, run.distribution())? {
            row.into_iter().try_for_each(|figure| put(&mut run.figures, figure, line.number))?;
        } else if is_setting(text) {
            of_load(&mut run.work, text);
            run.count(text);
        } else {
            found.unknown(line.number, text);
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of a call of wrk that finished")
}

/// True for the command above an output.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
    let command = words.find(|word| !["sudo", "time"].contains(word));
    ["wrk", "wrk2"].contains(&command.unwrap_or_default())
}

/// One run during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    figures: Vec<Figure>,
    work: Work,
    /// Answers, and those that were errors.
    requests: u64,
    failed: u64,
    /// It is of wrk2, which sends at a given rate.
    is_paced: bool,
    /// The spectrum of the latencies, which follows their percentiles.
    in_spectrum: bool,
    /// The percentiles of `--u_latency`, from when a request was sent and not from when it was due.
    is_uncorrected: bool,
}

impl Run {
    /// True for the spectrum of wrk2's histogram, a hundred lines of it.
    fn skips(&mut self, text: &str) -> bool {
        self.is_paced |= text.contains("HdrHistogram") || text.starts_with("Thread calibration");
        if text.starts_with("Detailed Percentile spectrum") {
            self.in_spectrum = true;
        } else if text.starts_with("Latency Distribution") {
            self.in_spectrum = false;
            self.is_uncorrected = text.contains("- Uncorrected");
        }
        let is_part = self.in_spectrum;
        self.in_spectrum &= !text.starts_with("----");
        is_part
    }

    /// The part of the names of the percentiles that follow.
    fn distribution(&self) -> &'static str {
        if self.is_uncorrected { "uncorrected_" } else { "" }
    }

    /// `1000 requests in 10.00s, 1.00MB read`.
    fn count(&mut self, text: &str) {
        if let Some((count, _)) = text.split_once(" requests in ") {
            self.requests = count.trim().parse().unwrap_or(0);
        }
    }

    fn finish(mut self, found: &mut Found) {
        let why = "pages are served from memory: it measures the CPU";
        if self.is_paced {
            let why = "wrk2 sends at a given rate: the latency is the result";
            for figure in &mut self.figures {
                if figure.better == Better::More {
                    figure.remarks.push(Remark::new(Label::SetRate, why));
                } else if ["requests_latency_avg", "requests_latency_p99"]
                    .contains(&figure.name.as_str())
                {
                    figure.is_detail = false;
                }
            }
        }
        let (failed, requests) = (self.failed, self.requests.max(self.failed));
        if failed > 0 && failed == requests {
            found.note(
                "Every answer was an error: the rate is that of errors, not of pages.".to_owned(),
            );
        }
        let answers = Answers { failed, requests };
        found.add(web::run(self.line, self.work, (self.figures, why), answers));
    }
}

/// `12 threads and 400 connections`, `5 requests in 30.00s, 17.76GB read`, heads of tables.
fn is_setting(text: &str) -> bool {
    // These lines begin with a number that varies.
    let counted = [" threads and ", " requests in "].iter().any(|what| text.contains(what));
    counted && text.starts_with(|c: char| c.is_ascii_digit())
        || SETTINGS.iter().any(|start| text.starts_with(start))
}

/// `Running 30s test @ http://127.0.0.1:8080/index.html`: the duration, and the page of any server.
fn of_banner(work: &mut Work, text: &str) {
    let Some((time, url)) = text.split_once(" test @ ") else { return };
    let time = time.trim_start_matches('\u{feff}').trim_start().trim_start_matches("Running ");
    work.set("runtime", seconds(time));
    let behind_host = url.split_once("://").map_or(url, |(_, rest)| rest).split_once('/');
    work.set("path", format!("/{}", behind_host.map_or("", |(_, path)| path.trim())));
}

/// `12 threads and 400 connections`.
fn of_load(work: &mut Work, text: &str) {
    if let [threads, "threads", "and", connections, "connections"] =
        text.split_whitespace().collect::<Vec<_>>()[..]
    {
        work.set("threads", threads);
        work.set("connections", connections);
    }
}

/// A number with its unit.
fn scaled(line: Line, text: &str, units: &[(&str, f64)]) -> Result<f64, ParseError> {
    let split = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let value = split.and_then(|(number, scale)| Some(decimal(number)? * scale));
    value.ok_or_else(|| {
        let what = format!("{} is not a number with its unit", quote(text));
        let hint = "check whether the file is damaged or edited: wrk writes `635.91us` or \
                    `606.33MB` here";
        ParseError::new(line.number, what, hint)
    })
}

/// The figures of a line, if it has any; percentiles are of this distribution.
fn row(line: Line, distribution: &str) -> Result<Option<Vec<Figure>>, ParseError> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let figures = match words[..] {
        // A call of wrk2 that ends before its calibration prints no number.
        ["Latency", avg, ..] if avg.starts_with("-nan") => Vec::new(),
        ["Latency", avg, stddev, max, _] => {
            vec![time(line, "avg", avg)?, time(line, "stddev", stddev)?, time(line, "max", max)?]
        }
        // A mean over threads: their sum is the rate below.
        ["Req/Sec", ..] => Vec::new(),
        ["Requests/sec:", rate] => {
            vec![figure("requests", crate::found::number(line, rate)?, "1/s", Better::More)]
        }
        ["Transfer/sec:", rate] => {
            let rate = scaled(line, rate, &AMOUNTS)?;
            vec![detail("requests_transfer_rate", rate, "KiB/s", Better::More)]
        }
        [percent, value] => match percent.strip_suffix('%') {
            Some(percent) if decimal(percent).is_some() => {
                // wrk2 writes `50.000%` where wrk writes `50%`.
                let short = match percent.split_once('.') {
                    Some(_) => percent.trim_end_matches('0').trim_end_matches('.'),
                    None => percent,
                };
                vec![time(line, &format!("{distribution}p{short}"), value)?]
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(figures))
}

fn time(line: Line, name: &str, text: &str) -> Result<Figure, ParseError> {
    let value = scaled(line, text, &TIMES)?;
    Ok(detail(&format!("requests_latency_{name}"), value, "ms", Better::Less))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::{Flaw, Nature, Phase};

    const RUN: &str = "Running 30s test @ http://127.0.0.1:8080/index.html
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     99%    5.80ms
  22464657 requests in 30.00s, 17.76GB read
  Socket errors: connect 0, read 0, write 0, timeout 5
Requests/sec: 748868.53
Transfer/sec:    606.33MB
";

    #[test]
    fn figures_are_in_one_unit_each() {
        let imported = parse(RUN).unwrap();
        let metrics = imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics);
        let metrics: Vec<Figure> = metrics.collect();
        let expected = [
            ("requests_latency_avg", 0.635_91),
            ("requests_latency_stddev", 0.89),
            ("requests_latency_max", 12.92),
            ("requests_latency_p50", 0.25),
            ("requests_latency_p99", 5.8),
            ("requests", 748_868.53),
            ("requests_transfer_rate", 620_881.92),
        ];
        assert_eq!(metrics.len(), expected.len());
        for (figure, (name, value)) in metrics.iter().zip(expected) {
            assert_eq!(figure.name, name);
            assert!((figure.value - value).abs() < 1e-9 * value, "{figure:?}");
        }
        let labels: Vec<_> = metrics[0].remarks.iter().map(|remark| remark.label).collect();
        assert_eq!(labels, [Label::Nature(Nature::Cpu), Label::NotDisk, Label::SingleRun]);
        let note = "Line 10: Socket errors: connect 0, read 0, write 0, timeout 5.";
        assert_eq!((imported.notes, imported.unknown), (vec![note.to_owned()], vec![]));
        assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
    }

    #[test]
    fn a_report_without_its_first_line_is_read() {
        let without = RUN.split_once('\n').unwrap().1;
        let imported = parse(without).unwrap();
        assert!(is_wrk(without) && imported.unknown.is_empty());
        assert_eq!(imported.runs[0].phases[0].figures.len(), 7);
        assert_eq!(parse(&format!("{without}{without}{RUN}")).unwrap().runs.len(), 3);
        assert!(!is_wrk("12 threads and 400 connections\n"));
    }

    #[test]
    fn answers_that_are_errors_and_a_given_rate_are_marked() {
        let failed = RUN.replace(
            "  Socket errors: connect 0",
            "  Non-2xx or 3xx responses: 5\n  Socket errors: connect 0",
        );
        let imported = parse(&failed).unwrap();
        let flaw = Flaw::Failed { failed: 5, requests: 22_464_657 };
        assert_eq!(imported.runs[0].flaws, [flaw]);
        let spectrum = "  Detailed Percentile spectrum:\n  0.022 0.000000 1 1.00\n#[Mean = 0.6]\n\
                        ----------\n";
        let paced = RUN.replace(
            "  Latency Distribution\n     50%",
            "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%",
        );
        let paced = paced.replace("99%    5.80ms\n", &format!("99.900%    5.80ms\n{spectrum}"));
        let imported = parse(&paced).unwrap();
        assert_eq!(imported.unknown, [""; 0]);
        let figures = &imported.runs[0].phases[0].figures;
        let find = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        assert_eq!(find("requests").remarks[0].label, Label::SetRate);
        assert!(!find("requests_latency_avg").is_detail);
        let command = parse(&format!("wrk -t4 -R1000 http://a\n{RUN}")).unwrap();
        let rate = command.runs[0].phases[0].figures.iter().find(|it| it.name == "requests");
        assert_eq!(rate.unwrap().remarks[0].label, Label::SetRate);
        let command = parse(&format!("sudo /opt/wrk2 -t4 --rate 1000 http://a\n{RUN}")).unwrap();
        assert_eq!(command.runs[0].phases[0].figures[5].remarks[0].label, Label::SetRate);
        find("requests_latency_p50");
        find("requests_latency_p99.9");
    }

    #[test]
    fn latencies_of_requests_that_were_sent_late_are_figures_of_their_own() {
        let head = "  Latency Distribution (HdrHistogram - ";
        let both = format!(
            "{head}Recorded Latency)\n 99.000%   10.52ms\n  Detailed Percentile spectrum:\n\
             11.319 1.000000 39500 inf\n----------\n{head}Uncorrected Latency (measured without \
             taking delayed starts into account))\n 99.000%    5.43ms\n"
        );
        let imported = parse(&RUN.replace("  Latency Distribution\n", &both)).unwrap();
        let figures = &imported.runs[0].phases[0].figures;
        let value = |name: &str| figures.iter().find(|it| it.name == name).map(|it| it.value);
        assert_eq!(value("requests_latency_p99"), Some(10.52));
        assert_eq!(value("requests_latency_uncorrected_p99"), Some(5.43));
    }

    #[test]
    fn a_call_without_latencies_has_its_rate() {
        let latency = RUN.lines().find(|line| line.starts_with("    Latency ")).unwrap();
        let text = RUN.replace(latency, "    Latency    -nanus    -nanus   0.00us    0.00%");
        let [fewer, all] =
            [text.as_str(), RUN].map(|it| parse(it).unwrap().runs[0].phases[0].metrics().count());
        assert_eq!(fewer + 3, all);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            &RUN.replace("606.33MB", "606.33"),
            "line 12: `606.33` is not a number with its unit",
        );
        check(&RUN.replace("748868.53", "fast"), "line 11: `fast` is not a number; check");
        check("Running 30s test @ http://a", "it contains no results of wrk; give");
        let imported = parse(&format!("{RUN}odd: 5 of 7\n")).unwrap();
        assert_eq!(imported.unknown, ["line 13: `odd: 5 of 7`"]);
    }

    proptest::proptest! {
        #[test]
        fn no_damage_panics(at in 0..550_usize, cut in 0..30_usize, put in "[0-9.%kmsMB: ]{0,8}") {
            let mut text = RUN.to_owned();
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.replace_range(at..end, &put);
            let _ = parse(&text);
        }
    }
}
