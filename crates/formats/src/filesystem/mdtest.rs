//! mdtest's summary, versions 1 to 4: operations on metadata a second, over all tasks.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase, Work};

use super::METADATA;
use crate::found::{Found, decimal, detail, figure, labelled, put, slug};
use crate::sign::in_a_line;

const SUMMARY: &str = "SUMMARY";
/// The operations begin with what they are about.
const ABOUT: [&str; 3] = ["Directory ", "File ", "Tree "];

/// True for `SUMMARY rate (in ops/sec): (of 1 iterations)` and its older forms.
fn is_summary(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(SUMMARY) && line.contains(" iterations)") && !line.starts_with("SUMMARY time")
}

/// True if a text contains such a line.
pub fn is_mdtest(text: &str) -> bool {
    in_a_line(text, SUMMARY, is_summary)
}

/// Reads every summary of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("mdtest");
    let (mut work, mut begin, mut phases) = (Work::default(), 0, Vec::new());
    let mut syncs = Syncs::default();
    for line in lines(text)? {
        let text = line.text.trim();
        if is_summary(text) {
            found.run_of(begin, "", work.clone(), std::mem::take(&mut phases));
            begin = line.number;
            let trials = text.rsplit_once("(of ").map_or("", |(_, rest)| rest);
            work.set("iterations", trials.split(' ').next().unwrap_or_default());
        } else if text.starts_with(SUMMARY) || text.starts_with("-- finished") {
            found.run_of(begin, "", work.clone(), std::mem::take(&mut phases));
            begin = 0;
        } else if let Some((version, rest)) =
            text.strip_prefix("mdtest-").and_then(|it| it.split_once(" was launched with "))
        {
            found.version(version);
            work = Work::default().with("tasks", rest.split(' ').next().unwrap_or_default());
            syncs = Syncs::default();
        } else if let Some(command) = text.strip_prefix("Command line used:") {
            syncs = Syncs::read(command);
        } else if begin > 0 {
            row(line, syncs, &mut phases, &mut found)?;
        }
    }
    found.run_of(begin, "", work, phases);
    found.finish("give the complete output of a call of `mdtest` that finished")
}

/// The options that sync.
#[derive(Debug, Clone, Copy, Default)]
struct Syncs {
    /// Each file after it was written (`-y`).
    files: bool,
    /// All after each phase, within its time (`-Y`).
    phases: bool,
}

impl Syncs {
    /// `./mdtest '-n' '100' '-y'`: letters may be joined.
    fn read(command: &str) -> Self {
        let mut syncs = Self::default();
        let words = command.split_whitespace().map(|word| word.trim_matches('\''));
        for letters in words.filter_map(|word| word.strip_prefix('-')) {
            let is_short = !letters.starts_with('-');
            syncs.files |= is_short && letters.contains('y');
            syncs.phases |= is_short && letters.contains('Y');
        }
        syncs
    }

    fn phase(self, name: &str, figures: Vec<Figure>) -> Phase {
        let why = match () {
            () if self.phases => "all is synced after each phase, within its time (`-Y`)",
            () if self.files && name == "file-creation" => {
                "each file is synced after it was written (`-y`)"
            }
            () => return labelled(name, Nature::PageCache, METADATA, figures),
        };
        labelled(name, Nature::JournalSync, why, figures)
    }
}

/// `File creation   42024.989   28731.061   35378.025   6646.964`: most, least, mean, deviation.
fn row(
    line: Line,
    syncs: Syncs,
    phases: &mut Vec<Phase>,
    found: &mut Found,
) -> Result<(), ParseError> {
    let text = line.text.trim();
    if !ABOUT.iter().any(|start| text.starts_with(start)) {
        return Ok(());
    }
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != ":").take(20).collect();
    let names = words.len().saturating_sub(4);
    let values: Vec<f64> = words[names..].iter().filter_map(|word| decimal(word)).collect();
    let [max, min, mean, _] = values[..] else {
        found.unknown(line.number, text);
        return Ok(());
    };
    // An operation that was not tested is reported as zero.
    if mean <= 0.0 {
        return Ok(());
    }
    let name = slug(words[..names].join(" ").trim_end_matches(':'));
    let mut figures = vec![figure(&name, mean, "1/s", Better::More)];
    // One iteration has no spread.
    if max > min {
        figures.push(detail(&format!("{name}_max"), max, "1/s", Better::More));
        figures.push(detail(&format!("{name}_min"), min, "1/s", Better::More));
    }
    put(phases, syncs.phase(&name, figures), line.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\
-- started at 05/03/2024 09:58:45 --

mdtest-4.1.0+dev was launched with 640 total task(s) on 80 node(s)

SUMMARY rate (in ops/sec): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation               42024.989      28731.061      35378.025      6646.964
   File stat                       0.000          0.000          0.000          0.000
   Tree removal      :             3.331          3.331          3.331          0.000

SUMMARY time (in ops/sec): (of 2 iterations)
   File creation                 458.656        458.656        458.656          0.000
-- finished at 05/03/2024 10:06:25 --
";

    fn values(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
    }

    #[test]
    fn rates_are_figures_and_times_are_left_out() {
        let found = values(RUN);
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let expected = [
            ("file-creation", 35_378.025),
            ("file-creation_max", 42_024.989),
            ("file-creation_min", 28_731.061),
            ("tree-removal", 3.331),
        ];
        assert_eq!(found, expected);
        let imported = parse(RUN).unwrap();
        assert_eq!(imported.tool_version, "4.1.0+dev");
        assert_eq!(imported.runs[0].work.to_string(), "iterations=2 tasks=640");
        assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
    }

    #[test]
    fn options_that_sync_are_known() {
        let natures = |options: &str| {
            let command = format!("node(s)\nCommand line used: ./mdtest {options}\n");
            let imported = parse(&RUN.replacen("node(s)\n", &command, 1)).unwrap();
            imported.runs[0].phases.iter().map(|phase| phase.nature).collect::<Vec<_>>()
        };
        let (cache, sync) = (Nature::PageCache, Nature::JournalSync);
        assert_eq!(natures("'-n' '10' '-d' '/mnt/y-Y'"), [cache, cache]);
        assert_eq!(natures("'-n' '10' '-y'"), [sync, cache]);
        assert_eq!(natures("-FY -n 10"), [sync, sync]);
    }

    #[test]
    fn the_old_form_has_colons() {
        let old = RUN
            .replace("SUMMARY rate (in ops/sec):", "SUMMARY:")
            .replace("creation  ", "creation: ");
        assert!(is_mdtest(&old));
        assert_eq!(values(&old)[0], ("file-creation".to_owned(), 35_378.025));
        let imported = parse(&RUN.replace("35378.025", "3537x")).unwrap();
        assert!(
            imported.unknown[0].starts_with("line 8: `File creation"),
            "{:?}",
            imported.unknown
        );
        assert!(!is_mdtest("SUMMARY of 5 iterations\n"));
    }

    fn is_row(line: &str) -> bool {
        line.starts_with("   ")
    }

    #[test]
    fn a_row_that_is_cut_off_never_has_another_number() {
        let wrong = crate::found::damage::misread(RUN, is_row, parse);
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.a-zF: ()\n]{0,30}") {
            let _ = parse(&text);
            let _ = parse(&RUN.replace("35378.025", &put));
            let _ = parse(&RUN.replace("File creation", &put));
        }

        #[test]
        fn what_is_written_comes_back(mille in 1_u32..99_999_999) {
            let text = format!("{}.{:03}", mille / 1000, mille % 1000);
            let value = values(&RUN.replace("35378.025", &text))[0].1;
            proptest::prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
