//! HD Tune's text: the free 2.55, and Pro 3 to 5.
//!
//! The program is closed source: whether its MB are 10⁶ or 2²⁰ bytes, and how many points the curve
//! has, is unknown.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase};

use crate::found::{Found, detail, figure, labelled, number, phase, put};
use crate::sign::in_a_line;

/// The drive in the first line of a result: `HD Tune: <model> Benchmark`.
fn model(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let rest = line.strip_prefix("HD Tune")?;
    let rest = rest.strip_prefix(" Pro").unwrap_or(rest).strip_prefix(':')?;
    rest.strip_suffix("Benchmark").map(str::trim)
}

/// True if a text contains such a line.
pub fn is_hdtune(text: &str) -> bool {
    in_a_line(text, "HD Tune", |line| model(line).is_some())
}

/// Reads every result of a text, each as a run of the drive that it names.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("HD Tune");
    let (mut begin, mut arm, mut phases) = (0, "", Vec::new());
    for line in lines(text)? {
        if let Some(model) = model(line.text) {
            found.run(begin, arm, std::mem::take(&mut phases));
            (begin, arm) = (line.number, model);
        } else if !row(line, &mut phases)? {
            found.unknown(line.number, line.text);
        }
    }
    found.run(begin, arm, phases);
    let note = "Whether a MB of HD Tune is 1,000,000 or 1,048,576 bytes is unknown: compare its \
                rates only with its own.";
    found.note(note.to_owned());
    found.finish("copy the text of a benchmark that finished")
}

/// Takes a figure; returns whether the line is one.
fn row(line: Line, phases: &mut Vec<Phase>) -> Result<bool, ParseError> {
    let Some((key, value)) = line.text.split_once(" :").or_else(|| line.text.split_once(':'))
    else {
        return Ok(false);
    };
    let figure = match key.trim() {
        "Transfer Rate Minimum" => Figure { is_detail: true, ..rate(line, "transfer_min", value)? },
        "Transfer Rate Maximum" => Figure { is_detail: true, ..rate(line, "transfer_max", value)? },
        "Transfer Rate Average" => rate(line, "transfer", value)?,
        "Burst Rate" => {
            let why = "the same small area is read again and again: the cache of the drive or of \
                       the controller answers";
            let figures = vec![rate(line, "burst_rate", value)?];
            put(phases, labelled("burst_rate", Nature::DriveCache, why, figures), line.number)?;
            return Ok(true);
        }
        "Access Time" => {
            let value = number(line, value.trim().trim_end_matches("ms"))?;
            let figures = vec![figure("access_time", value, "ms", Better::Less)];
            put(phases, phase("access_time", Nature::Disk, figures), line.number)?;
            return Ok(true);
        }
        "CPU Usage" => {
            let value = number(line, value.trim().trim_end_matches('%'))?;
            let usage = detail("transfer_cpu", value, "%", Better::Less);
            Figure { nature: Some(Nature::Cpu), ..usage }
        }
        _ => return Ok(false),
    };
    match phases.iter_mut().find(|phase| phase.name == "transfer") {
        Some(phase) => put(&mut phase.figures, figure, line.number)?,
        None => put(phases, phase("transfer", Nature::Disk, vec![figure]), line.number)?,
    }
    Ok(true)
}

fn rate(line: Line, name: &str, value: &str) -> Result<Figure, ParseError> {
    Ok(figure(name, number(line, without_unit(value))?, "MB/s", Better::More))
}

/// A rate without its unit: `MB/sec`, or `MB/s` as Pro 5 writes it.
fn without_unit(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix("MB/sec").or_else(|| text.strip_suffix("MB/s")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::Label;

    const RUN: &str = "HD Tune: WDC WD5000AAKS Benchmark\r
\r
Transfer Rate Minimum : 1.0 MB/sec\r
Transfer Rate Maximum : 449.1 MB/sec\r
Transfer Rate Average : 308.1 MB/sec\r
Access Time           : 0.4 ms\r
Burst Rate            : 196.7 MB/sec\r
CPU Usage             : 27.2%\r
";

    #[test]
    fn every_row_is_a_figure() {
        let imported = parse(RUN).unwrap();
        assert_eq!(imported.runs[0].arm, "WDC WD5000AAKS");
        let metrics: Vec<Figure> =
            imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect();
        let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
        let expected = [
            ("transfer_min", 1.0),
            ("transfer_max", 449.1),
            ("transfer", 308.1),
            ("transfer_cpu", 27.2),
            ("access_time", 0.4),
            ("burst_rate", 196.7),
        ];
        assert_eq!(found, expected);
        assert_eq!(metrics[5].remarks[0].label, Label::Nature(Nature::DriveCache));
        assert_eq!(imported.unknown, Vec::<String>::new());
        assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let error = parse(&RUN.replace("308.1", "30x")).unwrap_err().to_string();
        assert!(error.starts_with("line 5: `30x` is not a number; check"), "{error}");
        let error = parse("HD Tune: a Benchmark").unwrap_err().to_string();
        assert!(error.starts_with("it contains no results of HD Tune; copy"), "{error}");
        let imported = parse(&RUN.replace("Burst Rate ", "Bust Rate  ")).unwrap();
        assert_eq!(imported.unknown, ["line 7: `Bust Rate             : 196.7 MB/sec`"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.:MB/sec% ]{0,20}") {
            let _ = parse(&text);
            let _ = parse(&RUN.replace("0.4 ms", &put));
        }
    }
}
