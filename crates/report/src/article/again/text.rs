//! The articles on a terminal.

use super::answer::answer;
use super::{Again, Counts};
use crate::text::{Align, Look, Table};

impl Again {
    /// Counts the findings that hold, an article a line.
    pub fn text(&self, look: Look) -> String {
        let mut table = Table::new(&[
            ("", Align::Right, 0),
            ("article", Align::Left, 1),
            ("study", Align::Left, 0),
            ("stage", Align::Left, 0),
            ("holds", Align::Right, 0),
            ("consistent", Align::Right, 0),
            ("does not", Align::Right, 0),
            ("no evidence", Align::Right, 0),
            ("cannot tell", Align::Right, 0),
        ]);
        for one in &self.articles {
            let Counts { holds, consistent, does_not_hold, no_evidence, cannot_tell } = one.counts;
            table.row(vec![
                one.number.to_string(),
                one.article.title.clone(),
                one.study.clone(),
                one.stage.to_string(),
                holds.to_string(),
                consistent.to_string(),
                does_not_hold.to_string(),
                no_evidence.to_string(),
                cannot_tell.to_string(),
            ]);
        }
        let mut text = format!("{}\n\n{}", look.wrap(&self.scored(), 0), table.render(look));
        for stages in self.by_number() {
            let line = format!("{}: {}", stages[0].number, answer(stages));
            text += &format!("\n\n{}", look.wrap(&line, 3));
        }
        text
    }
}
