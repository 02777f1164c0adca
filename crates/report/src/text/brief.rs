//! The few lines of an answer that matter most.

use super::Look;

/// Lines of text behind the answer, at most.
const LINES_MAX: usize = 6;

/// Lines chosen in the order of their importance, until there is no room.
#[derive(Debug, Default)]
pub(crate) struct Brief {
    text: String,
    lines: usize,
    left_out: usize,
}

impl Brief {
    /// Adds a paragraph that must be read, however long it is.
    pub(crate) fn must(&mut self, paragraph: &str) {
        self.lines += paragraph.lines().count();
        self.text += paragraph;
    }

    /// Adds a paragraph if there is room for all of it.
    pub(crate) fn add(&mut self, paragraph: &str) {
        if self.lines + paragraph.lines().count() > LINES_MAX {
            self.left_out += 1;
        } else {
            self.must(paragraph);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// The line that says where the rest is.
pub(crate) fn rest(look: Look, how: &str) -> String {
    look.wrap(&format!("Causes, notes and how to read this: {how}."), 2) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_six_lines_but_for_what_must_be_read() {
        let mut brief = Brief::default();
        for paragraph in ["1\n2\n", "3\n4\n5\n", "6\n7\n", "6\n", "8\n"] {
            brief.add(paragraph);
        }
        assert_eq!(brief.left_out, 2);
        assert_eq!(brief.into_text(), "1\n2\n3\n4\n5\n6\n");
        let mut brief = Brief::default();
        brief.must("1\n2\n3\n4\n5\n6\n7\n");
        brief.add("8\n");
        assert_eq!(brief.into_text().lines().count(), 7);
    }
}
