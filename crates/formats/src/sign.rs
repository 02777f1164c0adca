//! Recognition of the tool that wrote a text.

/// True if a line of a text is one that a tool writes. Each such line has `part` in it: a text
/// without that, which most are, is not divided into lines.
pub(crate) fn in_a_line(text: &str, part: &str, is: impl Fn(&str) -> bool) -> bool {
    text.contains(part) && text.lines().any(is)
}

#[cfg(test)]
mod tests {
    use super::in_a_line;

    #[test]
    fn the_line_decides_and_not_the_part() {
        let is = |line: &str| line.starts_with("tool ");
        assert!(in_a_line("a\ntool 1\n", "tool", is));
        assert!(!in_a_line("a tool 1\n", "tool", is));
        assert!(!in_a_line("a\n", "tool", is));
    }
}
