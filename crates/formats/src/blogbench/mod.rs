//! Blogbench's final scores, versions 1.1 and 1.2.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Phase, Work, WrittenFiles};

use crate::found::{Found, figure, labelled, number, seconds};

const WRITES: &str = "Final score for writes:";
const READS: &str = "Final score for reads :";
/// Lines that describe the settings.
const SETTINGS: [&str; 5] =
    ["Frequency", "Scratch dir", "Spawning", "Benchmarking for", "Nb blogs"];

/// True if a text contains final scores.
pub fn is_blogbench(text: &str) -> bool {
    text.contains(WRITES) || text.contains(READS)
}

/// Reads the scores of every run of a text; the rows of its intervals are skipped.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("blogbench");
    let (mut begin, mut phases, mut work) = (0, Vec::<Phase>::new(), Work::default());
    for line in lines(text)? {
        let text = line.text.trim();
        let score = [(WRITES, "writes"), (READS, "reads")]
            .into_iter()
            .find_map(|(start, name)| Some((name, text.strip_prefix(start)?)));
        // The rows of the table of intervals are numbers alone.
        let is_interval = text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace());
        if let Some((name, score)) = score {
            // A second score of one kind belongs to the next run.
            if phases.iter().any(|phase| phase.name == name) {
                found.run_of(begin, "", work.clone(), std::mem::take(&mut phases));
                begin = 0;
            }
            if begin == 0 {
                begin = line.number;
            }
            let figures = vec![figure(name, number(line, score)?, "blogs", Better::More)];
            let why = "nothing is synced: memory answers until it is full";
            phases.push(labelled(name, WrittenFiles::NotSynced.nature(), why, figures));
        } else if SETTINGS.iter().any(|start| text.starts_with(start)) {
            // Those of the next run come after the scores of this one.
            if begin > 0 && text.starts_with(SETTINGS[0]) {
                found.run_of(begin, "", work.clone(), std::mem::take(&mut phases));
                begin = 0;
            }
            setting(&mut work, text);
        } else if !is_interval {
            found.unknown(line.number, text);
        }
    }
    if phases.iter().any(|phase| phase.name == "reads") {
        let note = "Blogbench 1.2 reads 8 bytes per call, 1.1 reads 64 KiB, and the output does \
                    not say which version it was: compare reads only of the same version.";
        found.note(note.to_owned());
    }
    found.run_of(begin, "", work, phases);
    found.finish("give the complete output: the scores are its last lines")
}

/// `Frequency = 10 secs`, `Spawning 3 writers...`, `Benchmarking for 30 iterations.`
fn setting(work: &mut Work, text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["Frequency", "=", count, _] => work.set("interval", seconds(count)),
        ["Spawning", count, which] => work.set(which.trim_end_matches('.'), count),
        ["Benchmarking", "for", count, _] => work.set("iterations", count),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::record::{Label, Nature};

    const RUN: &str = "
Frequency = 10 secs
Scratch dir = [scratch]
Spawning 3 writers...
Spawning 100 readers...
Benchmarking for 30 iterations.
The test will run during 5 minutes.

  Nb blogs   R articles    W articles    R pictures    W pictures    R comments    W comments
       132       154325          6063        108124          6311         79131         13013
       230       170124          4063        120124          4311         89131         11013

Final score for writes:           230
Final score for reads :         17012
";

    #[test]
    fn the_scores_are_page_cache_figures() {
        let imported = parse(&RUN.repeat(2)).unwrap();
        let runs = imported.runs.iter().map(|run| {
            let figures = run.phases.iter().flat_map(Phase::metrics);
            (run.line, figures.map(|f| (f.name, f.value)).collect::<Vec<_>>())
        });
        let scores = vec![("writes".to_owned(), 230.0), ("reads".to_owned(), 17_012.0)];
        assert_eq!(runs.collect::<Vec<_>>(), [(13, scores.clone()), (27, scores)]);
        let labels = imported.runs[0].phases[0].remarks.iter().map(|remark| remark.label);
        let expected = [Label::Nature(Nature::PageCache), Label::SingleRun];
        assert_eq!(labels.collect::<Vec<_>>(), expected);
        assert!(imported.notes[0].contains("8 bytes per call"));
        assert_eq!(imported.unknown[0], "line 7: `The test will run during 5 minutes.`");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let error = parse(&RUN.replace("17012", "many")).unwrap_err().to_string();
        assert!(error.starts_with("line 14: `many` is not a number; check"), "{error}");
        let error = parse(&RUN[..100]).unwrap_err().to_string();
        assert!(error.starts_with("it contains no results of blogbench; give"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&format!("{WRITES}{text}\n{READS}{text}"));
        }
    }
}
