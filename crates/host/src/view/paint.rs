//! Colour and width of text.

use crate::finding::Severity;

/// How text is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// Whether escape sequences for colour are used.
    pub colour: bool,
    /// Columns of a line.
    pub width: usize,
}

impl Paint {
    /// `text` in the colour of a severity; green for none.
    pub(super) fn severity(self, severity: Option<Severity>, text: &str) -> String {
        // SGR codes (ECMA-48): bold red, yellow, cyan, green.
        let code = match severity {
            Some(Severity::Error) => "1;31",
            Some(Severity::Warn) => "33",
            Some(Severity::Info) => "36",
            None => "32",
        };
        self.code(code, text)
    }

    /// `text` in bold.
    pub(super) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Adds `text` in lines that fit, the first indented by `first` columns, the others by `rest`.
    pub(super) fn wrap(self, out: &mut String, text: &str, first: usize, rest: usize) {
        out.push_str(&" ".repeat(first));
        self.wrap_on(out, text, first, rest);
    }

    /// The same, going on in column `column` of a line that is begun.
    pub(super) fn wrap_on(self, out: &mut String, text: &str, column: usize, rest: usize) {
        let mut at = column;
        let mut begun = false;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let length = word.chars().count();
            if begun && at + 1 + length > self.width {
                out.push('\n');
                out.push_str(&" ".repeat(rest));
                at = rest;
                begun = false;
            }
            if begun {
                out.push(' ');
                at += 1;
            }
            out.push_str(word);
            at += length;
            begun = true;
        }
        out.push('\n');
    }
}

/// The word for a severity, as wide as the longest.
pub(super) fn mark(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Error) => "ERROR",
        Some(Severity::Warn) => "warn ",
        Some(Severity::Info) => "info ",
        None => "ok   ",
    }
}

/// `1 error`, `2 errors`.
pub(super) fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// A size as makers of disks count: `1.0 TB`.
pub(super) fn size(bytes: u64) -> String {
    let units =
        [("TB", 1_000_000_000_000_u64), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    let unit = units.iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, size)| format!("{}.{} {name}", bytes / size, bytes % size / (size / 10)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal() {
        let check = |bytes, expected| assert_eq!(size(bytes), expected);
        check(0, "0 B");
        check(1_000_204_886_016, "1.0 TB");
        check(274_877_906_944, "274.8 GB");
        check(999, "999 B");
        check(u64::MAX, "18446744.0 TB");
    }

    #[test]
    fn lines_fit_the_width() {
        let paint = Paint { colour: false, width: 20 };
        let mut out = String::new();
        paint.wrap(&mut out, "one two three four five six seven", 2, 4);
        assert_eq!(out, "  one two three four\n    five six seven\n");
    }
}
