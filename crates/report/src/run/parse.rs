//! Stored runs from JSON.

use drivelab_core::record::{RUN_SCHEMA, RunRecord};
use serde_json::{Deserializer, Value};

use drivelab_core::csv::{ParseError, quote};

/// Reads stored runs: one document, several one after another (a line each, say), or an array.
pub fn parse(text: &str) -> Result<Vec<RunRecord>, ParseError> {
    let mut records = Vec::new();
    let mut documents = Deserializer::from_str(text).into_iter::<Value>();
    loop {
        let from = documents.byte_offset();
        let Some(document) = documents.next() else { break };
        // Where the document starts; errors in its contents have no better place.
        let blank = text[from..].len() - text[from..].trim_start().len();
        let line = 1 + text[..from + blank].matches('\n').count();
        let document = document.map_err(|error| malformed(&error))?;
        match document {
            Value::Array(items) => {
                for item in items {
                    records.push(record(item, line)?);
                }
            }
            document => records.push(record(document, line)?),
        }
    }
    if records.is_empty() {
        let hint = "store the output of `drivelab run --json`";
        return Err(ParseError::new(0, "it contains no runs", hint));
    }
    Ok(records)
}

fn malformed(error: &serde_json::Error) -> ParseError {
    let hint = if error.is_eof() {
        "the file is truncated: check whether the run was stopped or the disk was full"
    } else {
        "give the unchanged output of `drivelab run --json`"
    };
    ParseError::new(error.line(), format!("not JSON ({error})"), hint)
}

fn record(document: Value, line: usize) -> Result<RunRecord, ParseError> {
    let Some(schema) = document.get("schema").and_then(Value::as_str) else {
        let hint = "give the unchanged output of `drivelab run --json`";
        return Err(ParseError::new(
            line,
            "this JSON has no `schema`, so it is not a stored run",
            hint,
        ));
    };
    if schema != RUN_SCHEMA {
        let what = format!("the schema is {}, not `{RUN_SCHEMA}`", quote(schema));
        let hint = "compare runs with runs; check whether a newer drivelab wrote it";
        return Err(ParseError::new(line, what, hint));
    }
    if let Some(several) = several(&document) {
        let hint = "compare single runs: `drivelab run --json` of one job each, stored one by one";
        return Err(ParseError::new(line, format!("this is {several}, not one run"), hint));
    }
    let wrong = |why: String| {
        let hint = "give the unchanged output of `drivelab run --json`";
        ParseError::new(line, format!("not a stored run ({why})"), hint)
    };
    let record: RunRecord =
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?;
    if record.total.is_none() && record.phases.is_empty() {
        return Err(wrong("missing field `total`".to_owned()));
    }
    Ok(record)
}

/// What a document of `drivelab run` is that holds more than one run.
fn several(document: &Value) -> Option<String> {
    if let Some(cells) = document.get("cells").and_then(Value::as_array) {
        return Some(format!("a matrix of {} cells", cells.len()));
    }
    document.get("config")?.get("file")?;
    let jobs = document.get("jobs")?.as_array()?;
    Some(format!("the result of a job file with {} jobs", jobs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::record as sample;

    #[test]
    fn runs_are_read_as_they_are_stored() {
        let one = serde_json::to_string_pretty(&sample(100, "a host")).unwrap();
        let check = |text: &str, expected: usize| {
            let records = parse(text).unwrap();
            assert_eq!(records, vec![sample(100, "a host"); expected]);
        };
        check(&one, 1);
        check(&format!("{one}\n{one}\n"), 2);
        check(&format!("[{one}, {one}]"), 2);
    }

    #[test]
    fn what_is_no_run_is_named_with_its_place() {
        let one = serde_json::to_string(&sample(100, "a host")).unwrap();
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("", "it contains no runs");
        check("[]", "it contains no runs");
        check("{\"a\": 1}", "line 1: this JSON has no `schema`");
        check(&format!("{one}\n{{}}"), "line 2: this JSON has no `schema`");
        check(&one[..one.len() / 2], "line 1: not JSON (EOF");
        check("\0\u{1}", "line 1: not JSON");
        let newer = one.replace("drivelab.run/1", "drivelab.run/2");
        check(&newer, "line 1: the schema is `drivelab.run/2`, not `drivelab.run/1`");
        check(&one.replace("\"iops\"", "\"iop\""), "line 1: not a stored run (missing field");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn no_damage_panics(at in 0..2000_usize, put in "[-0-9a-z\\[{}\\],:\"]{0,4}") {
            let mut text = serde_json::to_string(&sample(1000, "a host")).unwrap();
            let at = at.min(text.len());
            text.insert_str(at, &put);
            let _ = parse(&text);
        }
    }
}
