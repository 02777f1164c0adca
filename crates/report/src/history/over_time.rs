//! A metric over time, and where it may have changed.

use drivelab_analysis::history::{Course, Moment, minute};
use drivelab_analysis::{figures, metric, run};
use drivelab_core::counted;
use drivelab_stats::{CHANGE_VALUES_MAX, Change, changes};

use super::Asked;
use super::page::left_out;
use super::picture::picture;
use crate::page::html::{escape, fold, scroll, section, short, table};
use crate::page::skeleton;

/// The seed of all permutations: the same history gives the same page.
const SEED: u64 = 1;
/// Courses that are drawn, those with the most runs; more are counted.
const COURSES_MAX: usize = 12;

/// A page of courses with their hints; `damage` names the runs that cannot be read.
pub fn course_page(courses: &[Course], damage: &[String], asked: &Asked) -> String {
    let drawn = &courses[..courses.len().min(COURSES_MAX)];
    let mut body = asked.form("/course") + &left_out(damage);
    body += &drawn.iter().map(course).collect::<String>();
    let left_out = courses.len() - drawn.len();
    if courses.is_empty() {
        body += "<p class=\"about\">No run matches.</p>\n";
    } else if left_out > 0 {
        body += &format!(
            "<p class=\"about\">{left_out} more kinds of work have fewer runs; add a filter to see \
             them.</p>\n"
        );
    }
    let title = match drawn.first() {
        Some(first) => figures::capital(&format!("{} over time", metric::label(&first.metric))),
        None => "Over time".to_owned(),
    };
    skeleton("view", &title, &["times are UTC".to_owned()], &body)
}

fn course(course: &Course) -> String {
    let values: Vec<f64> = course.moments.iter().map(|moment| moment.value).collect();
    let found = changes(&values, SEED);
    let host = course.host.as_ref().map(|host| format!(" on host {}", short(host)));
    let left_out = match course.left_out {
        0 => String::new(),
        count => format!(
            " {} left out: its requests failed, or its figures are of something else.",
            counted(count, "run")
        ),
    };
    let about = format!(
        "{}, {}{}. In the order in which they were kept.{left_out}",
        escape(&figures::capital(&metric::label(&course.metric))),
        counted(values.len(), "run"),
        escape(&host.unwrap_or_default())
    );
    let body = [picture(course, &found), hints(course, &found), numbers(course)].concat();
    section(&escape(&short(&course.what)), &about, &body)
}

fn hints(course: &Course, found: &[Change]) -> String {
    let examined = match course.moments.len() {
        0..=9 => "Too few runs to look for changes: ten are needed.".to_owned(),
        n if n > CHANGE_VALUES_MAX => format!(
            "Changes were looked for in the last {CHANGE_VALUES_MAX} runs. A history shows when \
             something changed, not what."
        ),
        _ if found.is_empty() => "No change stands out from the noise of this history.".to_owned(),
        _ => "Hints, not verdicts: a history shows when something changed, not what. A fresh \
              comparison of both states decides."
            .to_owned(),
    };
    let hints: String = found.iter().map(|change| hint(course, change)).collect();
    format!("<p class=\"about\">{examined}</p>\n{hints}")
}

fn hint(course: &Course, change: &Change) -> String {
    let [before, after] = [change.at - 1, change.at].map(|index| &course.moments[index]);
    let words = format!(
        "<b>Between {} and {}</b> the median went from {} to {} ({} {}; \
         p {} by permutation of blocks).",
        minute(before.time_ms),
        minute(after.time_ms),
        escape(&course.show(change.before)),
        escape(&course.show(change.after)),
        figures::percent_change(change.after / change.before),
        if change.after > change.before { "more" } else { "less" },
        figures::p_value(change.p),
    );
    let fresh = match fresh(&course.metric, before, after) {
        Some(command) => format!("<pre><code>{}</code></pre>\n", escape(&command)),
        None => {
            "<p>To confirm it, run both states again in turn and compare the results.</p>\n".into()
        }
    };
    format!("<div class=\"hint\"><p>{words}</p>\n{fresh}</div>\n")
}

/// The commands to compare both states again: ten blocks whose order alternates, then the verdict.
fn fresh(metric: &str, before: &Moment, after: &Moment) -> Option<String> {
    let [first, second] = [(before, "before"), (after, "after")].map(|(moment, name)| {
        let state = match &moment.commit {
            Some(commit) => format!("git checkout -q {}  # and build", run::quoted(commit)),
            None => format!("# restore the state of {}", minute(moment.time_ms)),
        };
        let command = moment.command.as_ref()?;
        Some(format!("  {state}\n  {command} --label fresh-{name}\n"))
    });
    let (first, second) = (first?, second?);
    // A run is repeated from the option that gives each block its own addresses.
    let turned = |text: &str| text.replace("$block", "$((block + 1))");
    Some(format!(
        "for block in 1 3 5 7 9; do\n{first}{second}{}{}done\ndrivelab compare label:fresh-before \
         label:fresh-after --primary {}\n",
        turned(&second),
        turned(&first),
        run::quoted(metric),
    ))
}

fn numbers(course: &Course) -> String {
    let heads = ["kept", "label", "commit", "value"];
    let rows = course.moments.iter().rev().map(|moment| {
        let of = |text: &Option<String>| escape(&short(text.as_deref().unwrap_or_default()));
        vec![
            format!("<a href=\"/run/{}\">{}</a>", escape(&moment.id), minute(moment.time_ms)),
            of(&moment.label),
            of(&moment.commit),
            escape(&course.show(moment.value)),
        ]
    });
    let rows = table(&heads, rows);
    fold("Every run", &scroll("Every run", &rows))
}
