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
        // The line where the document starts: errors in its contents have no closer line.
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

/// Reads one stored run, as it was kept. Callers share this function, as reading a run takes the
/// code of hundreds of types.
pub fn from_json(text: &str) -> serde_json::Result<RunRecord> {
    serde_json::from_str(text)
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
    let record: RunRecord =
        serde_json::from_value(document).map_err(|error| not_a_run(line, &error.to_string()))?;
    if record.total.is_none() && record.phases.is_empty() {
        return Err(not_a_run(line, "missing field `total`"));
    }
    Ok(record)
}

/// The name of a `drivelab run` document that holds more than one run.
fn several(document: &Value) -> Option<String> {
    if let Some(cells) = document.get("cells").and_then(Value::as_array) {
        return Some(format!("a matrix of {} cells", cells.len()));
    }
    // Only the result of a job file names a file in its configuration.
    document.get("config")?.get("file")?;
    let jobs = document.get("jobs")?.as_array()?;
    Some(format!("the result of a job file with {} jobs", jobs.len()))
}

fn not_a_run(line: usize, why: &str) -> ParseError {
    let hint = "give the unchanged output of `drivelab run --json`";
    ParseError::new(line, format!("not a stored run ({why})"), hint)
}
