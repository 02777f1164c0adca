//! The list as a table.

use drivelab_core::record::Kept;

use super::minute;
use crate::metric;
use crate::text::{Align, Look, Table};

/// Characters of an id that are shown: the time to a second and a little of the chance.
const ID_SHOWN: usize = 14;

/// One line a run, the latest last, where a terminal leaves the eye.
pub fn text(runs: &[Kept], look: Look) -> String {
    if runs.is_empty() {
        return "no runs\n".to_owned();
    }
    let mut table = Table::new(&[
        ("run", Align::Left, 0),
        ("time (UTC)", Align::Left, 0),
        ("label", Align::Left, 4),
        ("suite", Align::Left, 2),
        ("target", Align::Left, 3),
        ("figure", Align::Left, 0),
        ("", Align::Right, 0),
        ("over time", Align::Left, 1),
    ]);
    for run in runs {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let (name, value) = run.figure.as_ref().map_or_else(Default::default, |figure| {
            metric::named(&figure.name, figure.value, &figure.unit)
        });
        table.row([
            run.id.chars().take(ID_SHOWN).collect(),
            minute(run.time_ms),
            plain(&of(&run.label)),
            plain(&of(&run.suite)),
            plain(&parts(run)),
            plain(&name),
            value,
            run.spark.clone(),
        ]);
    }
    table.render(look)
}

/// What was measured, and in how many runs where they are parts of one.
fn parts(run: &Kept) -> String {
    match run.parts {
        0 => run.target.clone(),
        parts => format!("{} ({parts} runs)", run.target),
    }
}

/// Text of other people as it may stand in a line of a terminal.
fn plain(text: &str) -> String {
    const WIDTH: usize = 40;
    let shown: String = text.chars().flat_map(char::escape_debug).collect();
    let shown = if text.chars().any(char::is_control) { shown } else { text.to_owned() };
    if shown.chars().count() <= WIDTH {
        return shown;
    }
    let kept: String = shown.chars().take(WIDTH - 3).collect();
    format!("{kept}...")
}
