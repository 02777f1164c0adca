//! Runs as a page: what was measured, over time and as a distribution, and what it may be taken
//! for.

use drivelab_analysis::run::{command, metrics, pass, record_name};
use drivelab_analysis::study::LatencyCurve;
use drivelab_analysis::{attachment, figures, metric};
use drivelab_core::record::{JobRecord, RunRecord};

use super::several::{HEADS, row};
use super::span;
use super::text::{STEADY_MARGIN, conditions, summary};
use crate::outcome::Sentence;
use crate::page::data::{Data, latency};
use crate::page::html::{
    self, each, escape, fold, inline, latency_plot, legend, scroll, section, short, table,
};
use crate::page::time::{Time, figure};
use crate::page::{answer, details, scripted};
use crate::suite;

/// Runs with separate pictures: more are only in the tables.
const DRAWN_MAX: usize = 12;

/// A page of one run, or of several side by side; `more` is what else is known of when and where
/// they were made. The same runs, the same bytes.
pub(crate) fn page(records: &[&RunRecord], more: &[String]) -> String {
    let Some(first) = records.first() else {
        return scripted("run", "no runs", &[], "", &Data::default());
    };
    let names: Vec<String> = names(records);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let suite = first.config.suite.as_ref().map(|suite| format!("{} on ", suite.name));
    let title = match records {
        [one] => one.label.clone().unwrap_or_else(|| suite.unwrap_or_default() + &one.target),
        several => format!("{} runs", several.len()),
    };
    let mut facts = when_and_where(first);
    facts.extend_from_slice(more);
    let mut data = Data::of(names.clone());
    let body = [
        first_screen(records, &names),
        several(records),
        over_time(records, &names, &mut data),
        distribution(records, &names, &mut data),
        records.iter().map(|one| transfer(one)).collect(),
        suites(records, &names),
        kinds(records, &names),
        numbers(records, &names),
        made(records),
    ]
    .concat();
    scripted("run", &title, &facts, &body, &data)
}

/// The machine and what the target is, as far as that is known.
pub(crate) fn when_and_where(record: &RunRecord) -> Vec<String> {
    let host = record.host.as_ref().map(|host| format!("{} on {}", host.kernel, host.cpu));
    let mut facts = vec![record.target.clone(), host.unwrap_or_else(|| "in virtual time".into())];
    facts.extend(attachment::line(record));
    facts
}

/// The names of runs, with their numbers where two names are alike.
fn names(records: &[&RunRecord]) -> Vec<String> {
    let plain: Vec<String> = records.iter().map(|it| short(record_name(it))).collect();
    let names = plain.iter().zip(1..).map(|(name, number): (&String, usize)| {
        match plain.iter().filter(|other| *other == name).count() {
            1 => name.clone(),
            _ => format!("{name} #{number}"),
        }
    });
    names.collect()
}

/// Describes the measurement in words, with the doubts about it.
fn first_screen(records: &[&RunRecord], names: &[&str]) -> String {
    let mut sentences = Vec::new();
    for (record, name) in records.iter().zip(names).take(DRAWN_MAX) {
        let whose = if records.len() == 1 { String::new() } else { format!("{name}: ") };
        let body = match &record.total {
            Some(total) => summary(total),
            None => headline(record),
        };
        let (lead, body) = body.split_once(", ").map_or((body.as_str(), ""), |it| it);
        sentences.push(Sentence::new(&format!("{whose}{lead}"), body.to_owned(), None));
    }
    for (lead, is_warning) in [("What this is", false), ("Warning", true)] {
        let marks = |record: &RunRecord| {
            let of_lead = record.marks.iter().filter(|mark| mark.id.is_warning() == is_warning);
            of_lead.map(|mark| mark.message.clone()).collect()
        };
        for (mark, whose) in said_of(records, names, marks) {
            sentences.push(Sentence::new(lead, whose + &mark, None));
        }
    }
    let warning = |record: &RunRecord| {
        drivelab_analysis::run::steady::warning(record, STEADY_MARGIN).into_iter().collect()
    };
    for (warning, whose) in said_of(records, names, warning) {
        sentences.push(Sentence::new("Warning", whose + &warning, None));
    }
    answer::card("same", &sentences, |it| if it.lead == "Warning" { "open" } else { "" }, "")
}

/// Remarks on runs, each once, with the runs they apply to unless these are all.
fn said_of(
    records: &[&RunRecord],
    names: &[&str],
    said: impl Fn(&RunRecord) -> Vec<String>,
) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        for text in said(record) {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, whose)) => whose.push(name),
                None => found.push((text, vec![name])),
            }
        }
    }
    let whose = |names: Vec<&str>| match names.len() {
        count if count == records.len() => String::new(),
        1..=DRAWN_MAX => format!("{}: ", names.join(", ")),
        count => format!("{count} runs: "),
    };
    found.into_iter().map(|(text, names)| (text, whose(names))).collect()
}

/// The first figure of each phase of a benchmark.
fn headline(record: &RunRecord) -> String {
    let shown = record
        .phases
        .iter()
        .filter_map(|phase| phase.figures.iter().find(|it| !it.is_detail).cloned())
        // More would not be read at a glance.
        .take(4);
    let words = shown.map(|figure| {
        let (name, value) = metric::named(&figure.name, figure.value, &figure.unit);
        format!("{name} {value}")
    });
    words.collect::<Vec<_>>().join(", ")
}

/// One table of several runs.
fn several(records: &[&RunRecord]) -> String {
    if records.len() < 2 {
        return String::new();
    }
    let rows = records.iter().map(|record| row(record).iter().map(|cell| escape(cell)).collect());
    section("All runs", "", &scroll("All runs", &table(&HEADS, rows)))
}

fn over_time(records: &[&RunRecord], names: &[&str], data: &mut Data<'_>) -> String {
    let mut drawn = String::new();
    for (arm, (record, name)) in records.iter().zip(names).enumerate().take(DRAWN_MAX) {
        let Some(total) = &record.total else { continue };
        let id = format!("time-{arm}");
        if let Some(time) = Time::of(&id, arm, total) {
            data.time.push(time);
            drawn += &figure(&id, &format!("<b>{}</b>", escape(name)), total);
        }
    }
    if drawn.is_empty() {
        return drawn;
    }
    section(
        "Over time",
        crate::page::time::ABOUT,
        &format!("<div class=\"plots\">\n{drawn}</div>\n"),
    )
}

fn distribution(records: &[&RunRecord], names: &[&str], data: &mut Data<'_>) -> String {
    let curves: Vec<LatencyCurve> = records
        .iter()
        .enumerate()
        .filter_map(|(arm, record)| LatencyCurve::of(0, arm, &record.total.as_ref()?.lat_histogram))
        .collect();
    let drawn = latency("latency-0".to_owned(), names.len(), &curves.iter().collect::<Vec<_>>());
    let Some(drawn) = drawn else { return String::new() };
    data.latency.push(drawn);
    let about = "The share of requests that were done within a time: the farther left, the better. \
                 Time is on a logarithmic scale.";
    let plot = latency_plot("latency-0", "the runs", "");
    let legend = if names.len() > 1 { legend(names) } else { String::new() };
    let body = legend
        + &format!("<div class=\"plots\">\n{plot}</div>\n")
        + &details::quantiles_of(&curves, &["all requests"], names);
    section("Latency", about, &body)
}

/// Rates over the offsets of the target, if the run passed it from one end on.
fn transfer(record: &RunRecord) -> String {
    let points = pass::points(record);
    if points.is_empty() {
        return String::new();
    }
    let about = "Where the requests were, from the rate of each second of the first pass.";
    let body = format!("<div class=\"suite\">\n{}</div>\n", suite::transfer(points));
    section("Rate over the target", about, &body)
}

fn suites(records: &[&RunRecord], names: &[&str]) -> String {
    match records {
        [one] => suite::section(one),
        several => several
            .iter()
            .zip(names)
            .map(|(record, name)| {
                let html = suite::section(record);
                if html.is_empty() { html } else { fold(&escape(name), &html) }
            })
            .collect(),
    }
}

/// Kinds of requests, where there were several.
fn kinds(records: &[&RunRecord], names: &[&str]) -> String {
    let of_run = |(record, name): (&&RunRecord, &&str)| {
        let kinds = record.total.iter().flat_map(JobRecord::kinds);
        kinds
            .map(|(kind, it)| {
                let lat = &it.lat_ns;
                let moved = match it.bytes_per_s {
                    0.0 => "\u{2013}".to_owned(),
                    moved => figures::bytes_per_s(moved),
                };
                let figures = [figures::count(it.iops), moved, span(lat.mean), span(lat.p50)];
                let tail = [span(lat.p99), span(lat.max)];
                let names = [escape(name), kind.to_owned()];
                names.into_iter().chain(figures).chain(tail).collect::<Vec<String>>()
            })
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = records.iter().zip(names).flat_map(of_run).collect();
    // With one kind of request a run, this is what the other tables say.
    if rows.len() <= records.len() {
        return String::new();
    }
    let heads = ["run", "requests", "per second", "throughput", "mean", "p50", "p99", "max"];
    let about = "Each kind of request by itself.";
    section("Reads, writes, flushes", about, &scroll("Kinds", &table(&heads, rows.into_iter())))
}

/// Every metric of every run.
fn numbers(records: &[&RunRecord], names: &[&str]) -> String {
    let rows = records.iter().zip(names).flat_map(|(record, name)| {
        let row = metrics(record).into_iter().map(|it| {
            let value = match it.unit.as_str() {
                "" => metric::show(&it.name, it.value),
                unit => format!("{} {unit}", figures::significant(it.value)),
            };
            vec![escape(&it.name), escape(name), escape(&value), figures::plain(it.value)]
        });
        row.collect::<Vec<_>>()
    });
    let every = table(&["metric", "run", "value", "in full"], rows);
    section("Every number", "", &details::folded("All metrics", &every))
}

/// Describes how each run was made and attached, and how to make it again.
fn made(records: &[&RunRecord]) -> String {
    let mut commands: Vec<String> = records.iter().map(|record| command(record)).collect();
    commands.dedup();
    let mut ways: Vec<String> = Vec::new();
    for record in records {
        let drive = record.specimen.as_ref().and_then(crate::specimens::which);
        let attached = attachment::line(record).map(|line| format!("Attached: {line}."));
        let checked = record.verification.as_ref().map(|found| {
            let damaged = if found.is_good() { "intact" } else { "DAMAGED" };
            format!("Read back: the data is {damaged}.")
        });
        let all = [Some(conditions(record) + "."), attached, drive, checked];
        for way in all.into_iter().flatten() {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    let ways = each("<li>", ways.iter().map(|way| inline(way)), "</li>");
    let facts = attached_facts(records);
    format!(
        "{facts}<section>\n<h2>How to repeat it</h2>\n<pre><code>{}</code></pre>\n<ul>{ways}</ul>\n\
         </section>\n",
        escape(&commands.join("\n"))
    )
}

/// Every setting that was seen, of the first run.
fn attached_facts(records: &[&RunRecord]) -> String {
    let facts = attachment::facts(records[0]);
    let rows = facts.iter().map(|(name, value)| vec![escape(name), escape(value)]);
    let title = if records.len() > 1 {
        "Settings seen before the first run"
    } else {
        "Settings seen before the run"
    };
    html::section(
        "How it was attached",
        "",
        &details::folded(title, &table(&["setting", "value"], rows)),
    )
}
