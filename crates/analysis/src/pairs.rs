//! Pairs from a CSV file: `block,arm,value[,metric[,better]]`.

use std::collections::BTreeSet;

use drivelab_stats::{BLOCKS_MAX, Better};

use crate::suggest;
use drivelab_core::csv::{Line, ParseError, fields, lines, quote};

/// The metric of rows that name none.
pub const METRIC_DEFAULT: &str = "value";
/// Values outside are slips of a unit or a broken file, not measurements of anything.
const VALUE_MIN: f64 = 1e-30;
const VALUE_MAX: f64 = 1e30;

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct PairRow {
    /// Its line, from 1.
    pub line: usize,
    /// Its block: arms are compared within one.
    pub block: String,
    /// Its arm.
    pub arm: String,
    /// The value, above zero.
    pub value: f64,
    /// Its metric.
    pub metric: String,
    /// The better direction, where the line says it.
    pub better: Option<Better>,
}

/// The indices of the columns.
#[derive(Debug, Clone, Copy)]
struct Columns {
    block: usize,
    arm: usize,
    value: usize,
    metric: Option<usize>,
    better: Option<usize>,
    count: usize,
}

const HEADER: &str = "block,arm,value[,metric[,better]]";
const NAMES: [&str; 5] = ["block", "arm", "value", "metric", "better"];

/// Reads `block,arm,value[,metric[,better]]`, with or without these names in the first line.
///
/// With names, columns may stand in any order. Lines that start with `#` are comments.
pub fn parse(text: &str) -> Result<Vec<PairRow>, ParseError> {
    let lines: Vec<Line> =
        lines(text)?.filter(|line| !line.text.trim_start().starts_with('#')).collect();
    let Some(first) = lines.first() else {
        let hint = format!("write one line per run, `{HEADER}`, for example `1,ide,75.1`");
        return Err(ParseError::new(0, "it is empty", hint));
    };
    let names = fields(*first)?;
    let (columns, data) = match header(first.number, &names)? {
        Some(columns) => (columns, &lines[1..]),
        None => (Columns::plain(*first, &names)?, &lines[..]),
    };
    if data.is_empty() {
        let hint = "add one line per run below the header, for example `1,ide,75.1`";
        return Err(ParseError::new(first.number, "there is a header but no values", hint));
    }
    let (mut rows, mut blocks) = (Vec::new(), BTreeSet::new());
    for line in data {
        let parsed = row(*line, columns)?;
        if !blocks.contains(&parsed.block) {
            // Here and not once all are read: a file of every request has millions of lines.
            if blocks.len() == BLOCKS_MAX {
                let what = format!("there are more than {BLOCKS_MAX} blocks");
                let hint = "a block is one run of each arm, not one request or second";
                return Err(ParseError::new(line.number, what, hint));
            }
            blocks.insert(parsed.block.clone());
        }
        rows.push(parsed);
    }
    Ok(rows)
}

impl Columns {
    fn plain(first: Line, fields: &[String]) -> Result<Self, ParseError> {
        let count = fields.len();
        if !(3..=5).contains(&count) {
            return Err(ParseError::new(
                first.number,
                format!("there are {count} columns, but `{HEADER}` has 3 to 5"),
                separator_hint(first.text),
            ));
        }
        let (metric, better) = ((count > 3).then_some(3), (count > 4).then_some(4));
        Ok(Self { block: 0, arm: 1, value: 2, metric, better, count })
    }
}

fn separator_hint(text: &str) -> String {
    match [';', '\t'].into_iter().find(|separator| text.contains(*separator)) {
        Some('\t') => "separate columns by commas, not tabs".to_owned(),
        Some(separator) => format!("separate columns by commas, not `{separator}`"),
        None => "a line looks like `1,ide,75.1`".to_owned(),
    }
}

/// The columns by name, or `None` where the first line already holds values.
fn header(number: usize, names: &[String]) -> Result<Option<Columns>, ParseError> {
    let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    // A single word may be the name of an arm or a block.
    let is_header = lower.iter().filter(|name| NAMES.contains(&name.as_str())).count() >= 2;
    if !is_header {
        return Ok(None);
    }
    for (index, name) in lower.iter().enumerate() {
        let error =
            |what: String, hint: String| Err(ParseError::new(number, what, hint).at(index + 1));
        if !NAMES.contains(&name.as_str()) {
            let what = format!("{} is not a column", quote(name));
            return error(what, suggest::among(name, &NAMES));
        }
        if lower[..index].contains(name) {
            return error(format!("the column `{name}` occurs twice"), "remove one".to_owned());
        }
    }
    Ok(Some(Columns {
        block: needed_column(number, &lower, "block")?,
        arm: needed_column(number, &lower, "arm")?,
        value: needed_column(number, &lower, "value")?,
        metric: lower.iter().position(|name| name == "metric"),
        better: lower.iter().position(|name| name == "better"),
        count: names.len(),
    }))
}

fn needed_column(number: usize, names: &[String], name: &str) -> Result<usize, ParseError> {
    names.iter().position(|it| it == name).ok_or_else(|| {
        let hint = format!("the columns are `{HEADER}`");
        ParseError::new(number, format!("the column `{name}` is missing"), hint)
    })
}

fn row(line: Line, columns: Columns) -> Result<PairRow, ParseError> {
    let texts = fields(line)?;
    if texts.len() != columns.count {
        let what = format!("there are {} fields instead of {}", texts.len(), columns.count);
        let hint = if texts.len() < columns.count {
            "check whether the file is truncated here"
        } else {
            "write a decimal point, and quote names that contain a comma"
        };
        return Err(ParseError::new(line.number, what, hint));
    }
    Ok(PairRow {
        line: line.number,
        block: named(line, &texts, columns.block, "block")?,
        arm: named(line, &texts, columns.arm, "arm")?,
        value: value(&texts[columns.value]).map_err(|(what, hint)| {
            ParseError::new(line.number, what, hint).at(columns.value + 1)
        })?,
        metric: match columns.metric {
            Some(index) => named(line, &texts, index, "metric")?,
            None => METRIC_DEFAULT.to_owned(),
        },
        better: match columns.better {
            Some(index) => better(&texts[index])
                .map_err(|(what, hint)| ParseError::new(line.number, what, hint).at(index + 1))?,
            None => None,
        },
    })
}

/// The name in a field, which must not be empty.
fn named(line: Line, texts: &[String], index: usize, what: &str) -> Result<String, ParseError> {
    match texts[index].as_str() {
        "" => {
            let hint = format!("every line needs its {what}");
            Err(ParseError::new(line.number, format!("the {what} is missing"), hint).at(index + 1))
        }
        name => Ok(name.to_owned()),
    }
}

/// A direction, or what is wrong with it and a hint; nothing says nothing.
fn better(text: &str) -> Result<Option<Better>, (String, &'static str)> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "more" => Ok(Some(Better::More)),
        "less" => Ok(Some(Better::Less)),
        _ => {
            let what = format!("{} is not a direction", quote(text));
            Err((what, "the column `better` takes `more`, `less` or nothing"))
        }
    }
}

fn value(text: &str) -> Result<f64, (String, &'static str)> {
    let Ok(value) = text.parse::<f64>() else {
        let what = if text.is_empty() {
            "the value is missing".to_owned()
        } else {
            format!("{} is not a number", quote(text))
        };
        return Err((what, "values look like `75.1` or `1.5e3`, without a unit"));
    };
    if value <= 0.0 || value.is_nan() {
        let hint = "ratios need values above zero: a zero is often a failed run: find out why, and \
                    repeat its block";
        return Err((format!("{} is not above zero", quote(text)), hint));
    }
    if !(VALUE_MIN..=VALUE_MAX).contains(&value) {
        let hint = "no measurement is this large or small: check the unit and the file";
        return Err((format!("{} is absurd", quote(text)), hint));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_at_the_first_block_too_many() {
        let lines: Vec<String> = (0..BLOCKS_MAX).map(|block| format!("{block},a,1\n")).collect();
        let mut text = lines.concat();
        assert_eq!(parse(&text).unwrap().len(), BLOCKS_MAX);
        text += "0,b,1\nmore,a,1\nthis is not read\n";
        let refused = parse(&text).unwrap_err();
        assert_eq!(refused.line, BLOCKS_MAX + 2);
        assert!(refused.what.contains("more than 100000 blocks"), "{refused:?}");
    }

    #[test]
    fn columns_are_found_with_and_without_names() {
        let check = |text: &str, expected: &[(&str, &str, f64, &str)]| {
            let rows = parse(text).unwrap();
            let rows: Vec<_> = rows
                .iter()
                .map(|r| (r.block.as_str(), r.arm.as_str(), r.value, r.metric.as_str()))
                .collect();
            assert_eq!(rows, expected, "{text}");
        };
        check("block,arm,value\n1,ide,75.1\n", &[("1", "ide", 75.1, "value")]);
        check("1,ide,75.1", &[("1", "ide", 75.1, "value")]);
        check("1,ide,75.1,iops\r\n", &[("1", "ide", 75.1, "iops")]);
        check("Value,Arm,Block\n7.5e1,ide,a\n", &[("a", "ide", 75.0, "value")]);
        check("\u{feff}# made by hand\n\n1,\"ide, old\",75\n", &[("1", "ide, old", 75.0, "value")]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
        };
        check(
            "",
            "it is empty; write one line per run, `block,arm,value[,metric[,better]]`, for example \
             `1,ide,75.1`",
        );
        check(
            "block,arm,value\n",
            "line 1: there is a header but no values; add one line per run below the header, for \
             example `1,ide,75.1`",
        );
        check(
            "1,ide,75.1\n1,ahci,fast\n",
            "line 2, column 3: `fast` is not a number; values look like `75.1` or `1.5e3`, \
             without a unit",
        );
        check(
            "1,ide,75.1\n1,ahci,0\n",
            "line 2, column 3: `0` is not above zero; ratios need values above zero: a zero is \
             often a failed run: find out why, and repeat its block",
        );
        check(
            "1,ide,1e40\n",
            "line 1, column 3: `1e40` is absurd; no measurement is this large or small: check the \
             unit and the file",
        );
        check(
            "1,ide,75.1\n,ahci,75.1\n",
            "line 2, column 1: the block is missing; every line needs its block",
        );
        check(
            "1,ide,75.1\n2,ide\n",
            "line 2: there are 2 fields instead of 3; check whether the file is truncated here",
        );
        check(
            "1;ide;75,1",
            "line 1: there are 2 columns, but `block,arm,value[,metric[,better]]` has 3 to 5; \
             separate columns by commas, not `;`",
        );
        check(
            "block,arm,valu\n",
            "line 1, column 3: `valu` is not a column; did you mean `value`?",
        );
        check(
            "block,value\n1,75",
            "line 1: the column `arm` is missing; the columns are \
             `block,arm,value[,metric[,better]]`",
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn nothing_like_it_panics(text in "[0-9a-e,\"\n.#;-]{0,60}") {
            if let Ok(rows) = parse(&text) {
                proptest::prop_assert!(rows.iter().all(|row| row.value > 0.0));
            }
        }
    }
}
