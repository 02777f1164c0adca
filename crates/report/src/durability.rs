//! What `durability` found, in words and as JSON.

use drivelab_core::Span;
use drivelab_core::verification::{Judgement, Pace};
use serde_json::{Value, json};

/// What is known at the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Findings {
    /// How much was promised.
    pub pace: Pace,
    /// Whether the drive went away while it was written, where that was seen.
    pub went_away: Option<bool>,
    /// What became of the pages, where they were looked at.
    pub pages: Option<Judgement>,
    /// The drive's revolutions a minute, where they are known.
    pub rpm: Option<u64>,
}

/// What is said of a drive that promises faster than it turns.
pub const BEYOND_THE_MEDIUM: &str =
    "it syncs more often than its platter comes round: it lies, or has a cache";

impl Findings {
    /// Whether more was promised than the drive can have put on its medium.
    pub fn is_beyond_medium(&self) -> bool {
        self.rpm.is_some_and(|rpm| self.pace.is_beyond(rpm))
    }

    /// Pages with a promise.
    pub fn promised(&self) -> u64 {
        self.pages.map_or(self.pace.promised, |pages| pages.promised)
    }

    /// Whether nothing speaks against the drive.
    pub fn is_good(&self) -> bool {
        self.pages.is_none_or(|pages| pages.is_kept()) && !self.is_beyond_medium()
    }

    /// The document of schema `drivelab.durability/1`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "drivelab.durability/1",
            "promises": self.pace.promised,
            "took_ns": self.pace.took.ns(),
            "went_away": self.went_away,
            "pages": self.pages,
            "syncs_beyond_the_medium": self.is_beyond_medium(),
        })
    }

    /// `text`, and that nothing is known where nothing was promised.
    pub fn conclude(&self, text: &str) -> String {
        let unknown = "nothing was promised, so nothing is known\n";
        format!("{text}{}", if self.promised() == 0 { unknown } else { "" })
    }
}

/// Where the ledger of pages that were only written is.
#[derive(Debug, Clone, Copy)]
pub enum LedgerPlace<'a> {
    /// In this file.
    File(&'a str),
    /// On another machine.
    Server(&'a str),
}

/// What was written to `target`, and what to do next.
pub fn of_writing(pace: &Pace, target: &str, ledger: LedgerPlace<'_>) -> String {
    let mut text = format!("{}\n", rate(pace));
    if pace.promised == 0 {
        return text;
    }
    text.push_str("none of them was checked: whether the drive holds them is not known\n");
    text.push_str(&match ledger {
        LedgerPlace::File(path) => format!(
            "once the power has been cut: drivelab durability {target} --verify --ledger {path}\n"
        ),
        LedgerPlace::Server(address) => format!(
            "once the power has been cut, with the ledger of {address} copied over: drivelab \
             durability {target} --verify --ledger FILE\n"
        ),
    });
    text
}

/// What became of a modelled drive, whose writing ended for the reason `why`.
pub fn of_model(pace: &Pace, why: &str, pages: &Judgement) -> String {
    format!("{}, until {why}\n{}", rate(pace), of_pages(pages))
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(pace: &Pace) -> String {
    let a_second = pace.promised as f64 * 1e9 / pace.took.ns().max(1) as f64;
    format!("{} pages promised, {a_second:.0} a second", pace.promised)
}

fn of_pages(pages: &Judgement) -> String {
    let Judgement { promised, survived, lost, torn, misdirected, unknown, oldest_loss_ns } = *pages;
    let mut text = format!(
        "of {promised} pages with a promise: {survived} survived, {lost} lost, {torn} torn, \
         {misdirected} misdirected; {unknown} were being written\n"
    );
    if let Some(ns) = oldest_loss_ns {
        let age = Span::from_ns(ns);
        text.push_str(&format!("the oldest loss had been promised {age} before the end\n"));
    }
    text.push_str(match (pages.is_kept(), promised) {
        (false, _) => "PROMISES WERE BROKEN\n",
        // Findings say it.
        (true, 0) => "",
        (true, _) => "every promise was kept\n",
    });
    text
}

/// What the pages of a real file say of its drive.
pub fn of_real_file(pages: &Judgement) -> String {
    let mut text = of_pages(pages);
    if pages.promised > 0 && pages.is_kept() {
        text.push_str(
            "this says something of the drive only if its power was cut after the pages were \
             written: until then caches answer in its place\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_only_written_are_not_called_safe() {
        for ledger in [LedgerPlace::File("l"), LedgerPlace::Server("other:5400")] {
            let pace = Pace { promised: 40, took: Span::from_secs(2) };
            let text = of_writing(&pace, "/mnt/pages", ledger);
            assert!(text.starts_with("40 pages promised, 20 a second\n"), "{text}");
            assert!(text.contains("none of them was checked"), "{text}");
            assert!(text.contains("--verify --ledger"), "{text}");
            let nothing = of_writing(&Pace::default(), "/mnt/pages", ledger);
            assert!(!nothing.contains("checked"), "there is nothing to check");
        }
    }

    #[test]
    fn a_kept_promise_is_one_that_a_power_cut_tried() {
        let kept = Judgement { promised: 3, survived: 3, ..Judgement::default() };
        let text = of_real_file(&kept);
        assert!(text.contains("every promise was kept\n"), "{text}");
        assert!(text.contains("only if its power was cut"), "{text}");
        let broken = Judgement { promised: 3, survived: 2, lost: 1, ..Judgement::default() };
        for pages in [broken, Judgement::default()] {
            assert!(!of_real_file(&pages).contains("only if"), "{pages:?}");
        }
    }
}
