//! Plain text for terminals: wrapping, colour, tables.
//!
//! Colour only repeats what the words say.

mod table;

use anstyle::{AnsiColor, Style};
use drivelab_stats::Verdict;

pub(crate) use table::{Align, Table};

/// How text is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Characters a line; taken as 40 where it is less.
    pub width: usize,
    /// Whether to add ANSI colours.
    pub colour: bool,
}

/// Narrower than this nothing can be laid out.
const WIDTH_MIN: usize = 40;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

impl Look {
    pub(crate) fn columns(self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// Paints `text`, where colour is wanted.
    pub(crate) fn paint(self, text: &str, style: Style) -> String {
        let plain = !self.colour || style.is_plain() || text.is_empty();
        if plain { text.to_owned() } else { format!("{style}{text}{style:#}") }
    }

    /// Breaks `text` into lines, later ones indented.
    pub(crate) fn wrap(self, text: &str, indent: usize) -> String {
        let mut lines = String::new();
        let mut used = 0;
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > self.columns() {
                lines.push('\n');
                lines.push_str(&" ".repeat(indent));
                used = indent;
            } else if used > 0 {
                lines.push(' ');
                used += 1;
            }
            lines.push_str(word);
            used += length;
        }
        lines
    }

    /// A command behind words of weight, on one line: a shell would take each line for another.
    pub(crate) fn command(self, lead: &str, command: &str) -> String {
        format!("{} {command}\n", self.paint(lead, BOLD))
    }

    /// A line that starts with words of weight: the lead is painted, the whole is wrapped.
    pub(crate) fn led(self, lead: &str, style: Style, body: &str, indent: usize) -> String {
        let wrapped = self.wrap(&format!("{lead} {body}"), indent);
        match wrapped.strip_prefix(lead) {
            Some(rest) => format!("{}{rest}", self.paint(lead, style)),
            // The lead itself was broken over lines.
            None => wrapped,
        }
    }
}

/// The colour that goes with a verdict.
pub(crate) fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Faster => AnsiColor::Green.on_default().bold(),
        Verdict::Slower => AnsiColor::Red.on_default().bold(),
        Verdict::Different | Verdict::Inconclusive => AnsiColor::Yellow.on_default(),
        Verdict::NoPracticalDifference => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let look = Look { width: 40, colour: false };
        let check = |text, indent, expected: &str| assert_eq!(look.wrap(text, indent), expected);
        check("short", 2, "short");
        check("", 2, "");
        check(
            "one two three four five six seven eight nine ten",
            2,
            "one two three four five six seven eight\n  nine ten",
        );
        let long = "x".repeat(50);
        check(&format!("a {long} b"), 0, &format!("a\n{long}\nb"));
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let plain = Look { width: 60, colour: false };
        let painted = Look { width: 60, colour: true };
        assert_eq!(plain.led("Yes:", BOLD, "it is.", 2), "Yes: it is.");
        assert_eq!(painted.led("Yes:", BOLD, "it is.", 2), "\u{1b}[1mYes:\u{1b}[0m it is.");
    }
}
