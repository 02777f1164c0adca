//! Painted text on its way to a terminal.
//!
//! A renderer joins its own words with text of others. If its colours were escape sequences,
//! nothing would distinguish them from those that others wrote. So a painted text stands between
//! two marks, which become escape sequences last, where every other character that a terminal acts
//! on is escaped.

use anstyle::{AnsiColor, Style};
use drivelab_core::shown;

/// Ends a painted text. The marks are noncharacters: Unicode leaves them to the inside of programs,
/// and one that others wrote can do no more than borrow a style.
const END: char = '\u{fdd0}';

/// Begins a painted text: every style that there is.
const BEGINS: [(char, Style); 7] = [
    ('\u{fdd1}', Style::new().bold()),
    ('\u{fdd2}', Style::new().dimmed()),
    ('\u{fdd3}', AnsiColor::Yellow.on_default()),
    ('\u{fdd4}', AnsiColor::Green.on_default()),
    ('\u{fdd5}', AnsiColor::Cyan.on_default()),
    ('\u{fdd6}', AnsiColor::Green.on_default().bold()),
    ('\u{fdd7}', AnsiColor::Red.on_default().bold()),
];

/// The text between the marks of `style`.
pub(super) fn marked(text: &str, style: Style) -> String {
    let begin = BEGINS.iter().find(|(_, known)| *known == style);
    let (begin, _) = begin.expect("every style in use has a mark");
    format!("{begin}{text}{END}")
}

/// Text as it is printed: painted where `colour` is set, and without any other character on which a
/// terminal acts.
pub fn for_terminal(text: &str, colour: bool) -> String {
    if !colour {
        return shown(text).into_owned();
    }
    let mut printed = String::with_capacity(text.len() + text.len() / 8);
    let mut current: Option<Style> = None;
    let mut rest = text;
    while let Some(at) = rest.find(is_mark) {
        let (before, from_mark) = rest.split_at(at);
        let mark = from_mark.chars().next().expect("it has just been found");
        printed.push_str(&shown(before));
        if let Some(style) = current.take() {
            printed.push_str(&format!("{style:#}"));
        }
        current = BEGINS.iter().find(|(begin, _)| *begin == mark).map(|(_, style)| *style);
        if let Some(style) = current {
            printed.push_str(&style.to_string());
        }
        rest = &from_mark[mark.len_utf8()..];
    }
    printed.push_str(&shown(rest));
    if let Some(style) = current {
        printed.push_str(&format!("{style:#}"));
    }
    printed
}

fn is_mark(c: char) -> bool {
    c == END || BEGINS.iter().any(|(begin, _)| *begin == c)
}

#[cfg(test)]
mod tests {
    use super::super::{BOLD, DOUBT, Look};
    use super::*;

    #[test]
    fn own_colours_stay_and_those_of_others_are_shown() {
        let look = Look { width: 80, colour: true };
        let text =
            look.paint("a\u{1b}[31m", BOLD) + "\u{1b}]0;title\u{7}\n" + &look.paint("b", DOUBT);
        let own = "\u{1b}[1ma\\u{1b}[31m\u{1b}[0m\\u{1b}]0;title\\u{7}\n\u{1b}[33mb\u{1b}[0m";
        assert_eq!(for_terminal(&text, true), own);
        let plain = "a\\u{1b}[31m\\u{1b}]0;title\\u{7}\n";
        assert_eq!(for_terminal("a\u{1b}[31m\u{1b}]0;title\u{7}\n", false), plain);
    }

    #[test]
    fn a_mark_of_others_borrows_a_style_and_no_more() {
        assert_eq!(for_terminal("\u{fdd1}x", true), "\u{1b}[1mx\u{1b}[0m");
        assert_eq!(for_terminal("\u{fdd1}x", false), "\\u{fdd1}x");
        assert_eq!(for_terminal("\u{fdef}", true), "\\u{fdef}");
    }
}
