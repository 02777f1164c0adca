//! Runs that are made twice, to see that both are the same.

use drivelab_core::Refusal;
use drivelab_core::record::RunRecord;
use serde_json::Value;

use crate::stage::{Evidence, PlannedRun, Stage};

/// Characters of a line that a message shows.
const SHOWN: usize = 120;

/// Makes runs twice; gives the first ones.
///
/// # Errors
/// A run could not be made, or the second differs: the message names the first difference.
pub(super) fn make_twice<S: Stage + ?Sized>(
    stage: &mut S,
    requests: &[PlannedRun],
) -> Result<Vec<RunRecord>, S::Error> {
    let (first, first_evidence) = (stage.run_all(requests)?, stage.evidence());
    let (second, second_evidence) = (stage.run_all(requests)?, stage.evidence());
    // The evidence first: a line of a trace says more than a figure that follows from it.
    let evidence = first_evidence.iter().zip(&second_evidence);
    let records = first.iter().zip(&second);
    let found = evidence
        .filter_map(|(one, other)| of_evidence(one, other))
        .chain(records.filter_map(|(one, other)| of_records(one, other)))
        .next();
    match found {
        None => Ok(first),
        Some(difference) => {
            let message = format!("two runs of one configuration differ: {difference}");
            let hint = "report this, with the study and `drivelab --version`";
            Err(Refusal::bug(message).hint(hint).into())
        }
    }
}

/// The first line that differs.
fn of_evidence(one: &Evidence, other: &Evidence) -> Option<String> {
    let (mut ours, mut theirs) = (one.text.lines(), other.text.lines());
    for number in 1.. {
        let (our, their) = (ours.next(), theirs.next());
        if our.is_none() && their.is_none() {
            break;
        }
        if our != their {
            return Some(format!(
                "line {number} of the {} is {} and {}",
                one.name,
                shown(our),
                shown(their)
            ));
        }
    }
    None
}

fn shown(line: Option<&str>) -> String {
    match line {
        Some(line) => format!("`{}`", line.chars().take(SHOWN).collect::<String>()),
        None => "missing".into(),
    }
}

fn of_records(one: &RunRecord, other: &RunRecord) -> Option<String> {
    let one = serde_json::to_value(one).expect("plain data is always JSON");
    let other = serde_json::to_value(other).expect("plain data is always JSON");
    of_values("record", &one, &other)
}

/// The first value that differs, with the path to it.
fn of_values(path: &str, one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(ours), Value::Object(theirs)) => {
            // The keys of both: one may lack a figure of the other.
            let keys = ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let our = ours.get(key).unwrap_or(&Value::Null);
                of_values(&format!("{path}.{key}"), our, theirs.get(key).unwrap_or(&Value::Null))
            })
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let mut pairs = ours.iter().zip(theirs).enumerate();
            pairs.find_map(|(at, (our, their))| of_values(&format!("{path}[{at}]"), our, their))
        }
        _ if one == other => None,
        _ => Some(format!(
            "`{path}` is {} and {}",
            shown(Some(&one.to_string())),
            shown(Some(&other.to_string()))
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        let check = |one: &str, other: &str, expected: Option<&str>| {
            let evidence = |text: &str| Evidence { name: "trace", text: text.into() };
            let found = of_evidence(&evidence(one), &evidence(other));
            assert_eq!(found.as_deref(), expected, "{one:?} and {other:?}");
        };
        check("a\nb\n", "a\nb\n", None);
        check("a\nb\nc\n", "a\nx\ny\n", Some("line 2 of the trace is `b` and `x`"));
        check("a\n", "a\nb\n", Some("line 2 of the trace is missing and `b`"));
    }

    #[test]
    fn the_first_value_that_differs_is_named_by_its_path() {
        let check = |one: &str, other: &str, expected: Option<&str>| {
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let found = of_values("record", &value(one), &value(other));
            assert_eq!(found.as_deref(), expected, "{one} and {other}");
        };
        check(r#"{"a": [1, {"b": 2}]}"#, r#"{"a": [1, {"b": 2}]}"#, None);
        let path = "`record.a[1].b` is `2` and `3`";
        check(r#"{"a": [1, {"b": 2}]}"#, r#"{"a": [1, {"b": 3}]}"#, Some(path));
        check("{}", r#"{"a": 1}"#, Some("`record.a` is `null` and `1`"));
        check("[1]", "[1, 2]", Some("`record` is `[1]` and `[1,2]`"));
    }
}
