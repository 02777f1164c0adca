//! Plain text for terminals: wrapping, colour, tables.
//!
//! Colour only repeats what the words say.

mod brief;
mod table;
mod terminal;

use anstyle::{AnsiColor, Style};
use drivelab_core::outline::{Line, Severity, Tone};
use drivelab_core::{shown_in_line, shown_json};
use drivelab_stats::Verdict;

pub(crate) use brief::{Brief, rest};
pub(crate) use table::{Align, Cell, Table};
pub use terminal::for_terminal;

/// The appearance of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Characters a line; taken as 40 where it is less.
    pub width: usize,
    /// True to mark coloured text, for [`for_terminal`].
    pub colour: bool,
}

impl Look {
    /// For files and pages.
    pub const PLAIN: Self = Self { width: 100, colour: false };
}

/// Narrower than this nothing can be laid out.
const WIDTH_MIN: usize = 40;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
/// Of what casts doubt on a result.
pub(crate) const DOUBT: Style = AnsiColor::Yellow.on_default();

/// A JSON document as it is printed.
pub fn json_text(document: &serde_json::Value) -> String {
    let text = serde_json::to_string_pretty(document).expect("plain data is always JSON");
    shown_json(&text).into_owned()
}

impl Look {
    pub(crate) fn columns(self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    pub(crate) fn paint(self, text: &str, style: Style) -> String {
        let plain = !self.colour || style.is_plain() || text.is_empty();
        if plain { text.to_owned() } else { terminal::marked(text, style) }
    }

    /// Breaks `text` into lines, later ones indented.
    pub(crate) fn wrap(self, text: &str, indent: usize) -> String {
        self.wrap_from(0, text, indent)
    }

    /// The same for text that goes on in column `column` of a line.
    fn wrap_from(self, column: usize, text: &str, indent: usize) -> String {
        let mut lines = String::new();
        let (mut used, mut is_begun) = (column, false);
        for word in text.split_whitespace() {
            let length = word.chars().count();
            // A word longer than the line stays whole, so that a path or a command can be copied.
            if is_begun && used + 1 + length > self.columns() {
                lines.push('\n');
                lines.push_str(&" ".repeat(indent));
                used = indent;
            } else if is_begun {
                lines.push(' ');
                used += 1;
            }
            lines.push_str(word);
            used += length;
            is_begun = true;
        }
        lines
    }

    /// A command behind words of weight, on one line: a shell would take each line for another.
    pub(crate) fn command(self, lead: &str, command: &str) -> String {
        format!("{} {command}\n", self.paint(lead, BOLD))
    }

    /// Lines that all start with the same words.
    pub(crate) fn each<'a>(
        self,
        lead: &str,
        style: Style,
        lines: impl IntoIterator<Item = &'a String>,
    ) -> String {
        lines.into_iter().map(|line| self.led(lead, style, line, 2) + "\n").collect()
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

/// Lines of another crate, drawn.
pub fn outline(lines: &[Line], look: Look) -> String {
    let mut text = String::new();
    for line in lines {
        let parts = line.parts.iter().map(|part| (shown_in_line(&part.text), part.tone));
        // Marks of colour take no columns.
        let column = parts.clone().map(|(text, _)| text.chars().count()).sum();
        let painted: String = parts.map(|(text, tone)| look.paint(&text, of_tone(tone))).collect();
        let whole = painted + &look.wrap_from(column, &line.body, line.hanging);
        text.push_str(whole.trim_end());
        text.push('\n');
    }
    text
}

fn of_tone(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Bold => BOLD,
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Wrong(Severity::Error) => AnsiColor::Red.on_default().bold(),
        Tone::Wrong(Severity::Warn) => AnsiColor::Yellow.on_default(),
        Tone::Wrong(Severity::Info) => AnsiColor::Cyan.on_default(),
    }
}

pub(crate) fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Faster => AnsiColor::Green.on_default().bold(),
        Verdict::Slower => AnsiColor::Red.on_default().bold(),
        Verdict::Different | Verdict::Inconclusive => DOUBT,
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
    fn an_outline_keeps_to_the_width_and_colour_only_adds_marks() {
        let line = Line::new("one two three four five six seven eight nine ten", 4);
        let lines = [line.part(Tone::Wrong(Severity::Warn), "sda").part(Tone::Plain, "  ")];
        let plain = outline(&lines, Look { width: 40, colour: false });
        assert_eq!(plain, "sda  one two three four five six seven\n    eight nine ten\n");
        let painted = outline(&lines, Look { width: 40, colour: true });
        let coloured = plain.replacen("sda", "\u{1b}[33msda\u{1b}[0m", 1);
        assert_eq!(for_terminal(&painted, true), coloured);
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let plain = Look { width: 60, colour: false };
        let painted = Look { width: 60, colour: true };
        assert_eq!(plain.led("Yes:", BOLD, "it is.", 2), "Yes: it is.");
        let painted = for_terminal(&painted.led("Yes:", BOLD, "it is.", 2), true);
        assert_eq!(painted, "\u{1b}[1mYes:\u{1b}[0m it is.");
    }
}
