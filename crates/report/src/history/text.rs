//! The list as a table.

use drivelab_analysis::history::minute;
use drivelab_analysis::metric;
use drivelab_core::record::Kept;
use drivelab_core::shown_in_line;

use crate::text::{Align, Look, Table};

/// Characters of an id that are shown: the time to a second and a little of the chance.
const ID_SHOWN: usize = 14;

/// Characters of a name and marks of a course that a line may have: as many as leave all columns
/// their room. With less than the last, columns are left out.
const ROOMS: [Room; 4] = [
    Room { name: 40, course: 20 },
    Room { name: 28, course: 20 },
    Room { name: 20, course: 20 },
    Room { name: 16, course: 10 },
];

#[derive(Debug, Clone, Copy)]
struct Room {
    name: usize,
    course: usize,
}

/// One line a run, the latest last, where a terminal leaves the eye.
pub fn text(runs: &[Kept], look: Look) -> String {
    if runs.is_empty() {
        return "no runs\n".to_owned();
    }
    let [first, others @ ..] = ROOMS;
    let mut table = listed(runs, first);
    for room in others {
        if table.fits(look) {
            break;
        }
        table = listed(runs, room);
    }
    table.render(look)
}

fn listed(runs: &[Kept], room: Room) -> Table {
    let has_suites = runs.iter().any(|run| run.suite.is_some());
    let mut columns = vec![
        ("run", Align::Left, 0),
        ("time (UTC)", Align::Left, 0),
        ("label", Align::Left, 4),
        ("suite", Align::Left, 2),
        ("target", Align::Left, 3),
        ("figure", Align::Left, 0),
        ("", Align::Right, 0),
        ("over time", Align::Left, 1),
    ];
    columns.retain(|(title, ..)| has_suites || *title != "suite");
    let mut table = Table::new(&columns);
    for run in runs {
        let of = |text: &Option<String>| plain(text.as_deref().unwrap_or_default(), room.name);
        let (name, value) = run.figure.as_ref().map_or_else(Default::default, |figure| {
            metric::named(&figure.name, figure.value, &figure.unit)
        });
        let begin = [run.id.chars().take(ID_SHOWN).collect(), minute(run.time_ms), of(&run.label)];
        let suite = has_suites.then(|| of(&run.suite));
        let what = plain(&parts(run), room.name);
        let end = [what, plain(&name, room.name), value, thinned(&run.spark, room.course)];
        table.row(begin.into_iter().chain(suite).chain(end));
    }
    table
}

/// A course in `most` marks at most, of which each is the highest of those that it stands for.
fn thinned(spark: &str, most: usize) -> String {
    let marks: Vec<char> = spark.chars().collect();
    let each = marks.len().div_ceil(most).max(1);
    // Unicode has the blocks in the order of their heights.
    marks.chunks(each).filter_map(|marks| marks.iter().max()).collect()
}

/// The measured target, with the number of runs if they are parts of one.
fn parts(run: &Kept) -> String {
    match run.parts {
        0 => run.target.clone(),
        1 => format!("{} (1 run)", run.target),
        parts => format!("{} ({parts} runs)", run.target),
    }
}

/// Text of other people as it may stand in a line of a terminal, in `room` characters at most.
/// Keeps its end, because names often differ only there.
fn plain(text: &str, room: usize) -> String {
    let shown = shown_in_line(text);
    let count = shown.chars().count();
    if count <= room {
        return shown.into_owned();
    }
    // The end of a name often distinguishes it, so it keeps a third.
    debug_assert!(room > 3, "room for more than the dots");
    let end = (room - 3) / 3;
    let begin: String = shown.chars().take(room - 3 - end).collect();
    let end: String = shown.chars().skip(count - end).collect();
    format!("{begin}...{end}")
}
