//! `composite.xml` in the order of its schema (`result-file.xsd` of the suite's own sources).

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Label, Remark, Work};

use super::own::{CLIENT, ORIGIN, Own};
use crate::date;
use crate::exported::Exported;
use crate::series::{Series, Table};
use crate::single_run::SINGLE_RUN;
use drivelab_stats::numbers::mean;

/// Writes one system per arm, one result per metric, and one trial per run.
pub fn write(results: &Imported) -> Exported {
    let table = Table::new(results);
    let tool = [results.tool.as_str(), &results.tool_version].join(" ");
    let mut text = String::from("<?xml version=\"1.0\"?>\n<PhoronixTestSuite>\n  <Generated>\n");
    element(&mut text, 4, "Title", &limited(&format!("Results of {}", tool.trim()), 126));
    // The file is as old as its latest run.
    let times = results.runs.iter().filter_map(|run| run.ended_unix_s);
    element(&mut text, 4, "LastModified", &date::text(times.max()));
    element(&mut text, 4, "TestClient", &format!("{CLIENT}{}", results.tool));
    element(&mut text, 4, "Description", "Exported by drivelab");
    text += "  </Generated>\n";
    for arm in &table.arms {
        text += "  <System>\n";
        element(&mut text, 4, "Identifier", &system(arm));
        for name in ["Hardware", "Software", "User"] {
            element(&mut text, 4, name, "");
        }
        let times = results.runs.iter().filter(|run| run.arm == *arm);
        let last = times.filter_map(|run| run.ended_unix_s).max();
        element(&mut text, 4, "TimeStamp", &date::text(last));
        element(&mut text, 4, "TestClientVersion", &results.tool_version);
        element(&mut text, 4, "Notes", "");
        text += "  </System>\n";
    }
    for series in &table.series {
        result(&mut text, series, &table.arms, results);
    }
    text += "</PhoronixTestSuite>\n";
    Exported { text, ..Exported::default() }
}

fn result(text: &mut String, series: &Series, arms: &[String], results: &Imported) {
    let figure = &series.figure;
    *text += "  <Result>\n";
    element(text, 4, "Identifier", &format!("{ORIGIN}{}", figure.name));
    // The schema requires at least two characters.
    element(text, 4, "Title", &format!("{:<2}", limited(&figure.name, 50)));
    element(text, 4, "AppVersion", "");
    element(text, 4, "Arguments", "");
    element(text, 4, "Description", &figure.name);
    element(text, 4, "Scale", figure.unit());
    let proportion = match figure.better {
        Better::More => "HIB",
        Better::Less => "LIB",
        Better::Neither => "",
    };
    element(text, 4, "Proportion", proportion);
    element(text, 4, "DisplayFormat", "BAR_GRAPH");
    *text += "    <Data>\n";
    for (arm, values) in arms.iter().zip(&series.values).filter(|(_, values)| !values.is_empty()) {
        let trials: Vec<f64> = values.iter().map(|(_, figure)| figure.value).collect();
        let raw: Vec<String> = trials.iter().map(f64::to_string).collect();
        *text += "      <Entry>\n";
        element(text, 8, "Identifier", &system(arm));
        element(text, 8, "Value", &mean(&trials).to_string());
        element(text, 8, "RawString", &raw.join(":"));
        let work = common_work(results, arm);
        element(text, 8, "JSON", &Own::new(&without_own(&values[0].1), &work).to_json());
        *text += "      </Entry>\n";
    }
    *text += "    </Data>\n  </Result>\n";
}

/// The work of the runs of an arm, where all did the same.
fn common_work(results: &Imported, arm: &str) -> Work {
    let mut works = results.runs.iter().filter(|run| run.arm == arm).map(|run| &run.work);
    let first = works.next().cloned().unwrap_or_default();
    if works.all(|work| *work == first) { first } else { Work::default() }
}

/// A figure without the remark that follows from the number of trials.
fn without_own(figure: &Figure) -> Figure {
    let follows = Remark::new(Label::SingleRun, SINGLE_RUN);
    let mut figure = figure.clone();
    figure.remarks.retain(|remark| *remark != follows);
    figure
}

/// The name of a system: 1 to 128 characters.
fn system(arm: &str) -> String {
    limited(if arm.is_empty() { "results" } else { arm }, 128)
}

fn limited(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn element(text: &mut String, indent: usize, name: &str, content: &str) {
    *text += &format!("{:indent$}<{name}>{}</{name}>\n", "", escaped(content));
}

/// Text without XML markup; other control characters cannot be represented in XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            sign if sign.is_control() => escaped.push(' '),
            sign => escaped.push(sign),
        }
    }
    escaped
}
