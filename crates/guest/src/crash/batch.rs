//! Cuts that are checked in one guest, one after the other.

use drivelab_core::crash::Finding;

use super::check::finding;
use super::scene::Scene;

/// The script of a guest that checks several cuts, after the name of the disk.
const SCRIPT: &str = include_str!("batch.sh");
/// The line that ends a check: number of the cut, exit code, and remains of the check.
const CHECKED: &str = "drivelab-checked ";

/// The file that such a guest runs for each cut: the script of a guest that checks one cut.
pub const ONE: &str = "crash/one";
/// The file that names the cuts.
const CUTS: &str = "crash/cuts";

/// A cut as the guest knows it; a guest has them in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// A number of the caller's.
    pub number: usize,
    /// Lines of the workload that had been printed before it.
    pub lines: usize,
}

/// The result that a guest reports at the end of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The number of the cut.
    pub number: usize,
    /// The finding.
    pub finding: Finding,
    /// Remains of the check in the guest, which then checks no other cut.
    pub left_behind: Option<String>,
}

impl Mark {
    /// The mark in a line, if it is one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(CHECKED)?.splitn(3, ' ');
        let number = words.next()?.parse().ok()?;
        let code = words.next()?.parse().ok()?;
        // The rest of the line may contain spaces: it lists processes and mounts.
        let left = words.next().unwrap_or_default().trim();
        let left_behind = (!left.is_empty()).then(|| left.to_owned());
        Some(Self { number, finding: finding(code), left_behind })
    }
}

impl Scene<'_> {
    /// Returns the script of a guest that checks several cuts.
    pub fn batch_script(&self) -> String {
        format!("export DISK=/dev/{}\n{SCRIPT}", self.disk)
    }
}

/// Returns the file that names the cuts of a guest; the workload had printed `lines`.
pub fn batch_cuts(cuts: &[Numbered], lines: &[&str]) -> (&'static str, String) {
    let (mut text, mut printed) = ("lines=\n".to_owned(), 0);
    for cut in cuts {
        debug_assert!(printed <= cut.lines, "cuts come in order of time, so lines only increase");
        let more = &lines[printed..cut.lines];
        if !more.is_empty() {
            let more = more.iter().flat_map(|line| [line, "\n"]).collect::<String>();
            // Only the new lines: the file would otherwise grow with the square of the cuts.
            text.push_str(&format!("lines=\"$lines\"'{}'\n", more.replace('\'', "'\\''")));
        }
        text.push_str(&format!("check_cut {}\n", cut.number));
        printed = cut.lines;
    }
    (CUTS, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_the_cut_what_was_found_and_what_is_left() {
        let check = |line: &str, expected: Option<(usize, Finding, Option<&str>)>| {
            let mark = Mark::parse(line);
            let found = mark.as_ref().map(|mark| {
                let left = mark.left_behind.as_deref();
                (mark.number, mark.finding, left)
            });
            assert_eq!(found, expected, "{line}");
        };
        check("drivelab-checked 0 0 ", Some((0, Finding::Whole, None)));
        check("drivelab-checked 12 1", Some((12, Finding::Lost, None)));
        check("drivelab-checked 3 2 ", Some((3, Finding::Corrupt, None)));
        check("drivelab-checked 3 104 ", Some((3, Finding::Corrupt, None)));
        check("drivelab-checked 3 137 ", Some((3, Finding::Corrupt, None)));
        let left = Some("/var/my file");
        check("drivelab-checked 4 0 /var/my file", Some((4, Finding::Whole, left)));
        for other in
            ["", "17", "drivelab-checked", "drivelab-checked x 0", "drivelab-checked 1 999"]
        {
            check(other, None);
        }
    }

    #[test]
    fn each_cut_has_the_lines_before_it() {
        let number = |number, lines| Numbered { number, lines };
        let cuts = [number(0, 0), number(1, 2), number(2, 2), number(3, 3)];
        let expected = "lines=\n\
                        check_cut 0\n\
                        lines=\"$lines\"'1\nit'\\''s $HOME\n'\n\
                        check_cut 1\n\
                        check_cut 2\n\
                        lines=\"$lines\"'3\n'\n\
                        check_cut 3\n";
        let lines = ["1", "it's $HOME", "3", "4"];
        assert_eq!(batch_cuts(&cuts, &lines), ("crash/cuts", expected.into()));
        for name in [ONE, CUTS, super::super::ACKNOWLEDGED] {
            assert!(SCRIPT.contains(&format!("/{name}")), "{name}");
        }
        assert!(SCRIPT.contains(CHECKED));
    }
}
