//! The findings of `durability`, in words and as JSON.

use drivelab_core::verification::{Judgement, PromiseRate};
use drivelab_core::{Span, counted};
use serde_json::{Value, json};

/// The knowledge at the end of a test.
#[derive(Debug, Clone, Copy, Default)]
pub struct Findings {
    /// The number and rate of promises.
    pub pace: PromiseRate,
    /// True if the drive went away while it was written; `None` if that was not observed.
    pub went_away: Option<bool>,
    /// The state of the pages, if they were examined.
    pub pages: Option<Judgement>,
    /// The drive's revolutions a minute, where they are known.
    pub rpm: Option<u64>,
}

/// The judgement of a drive that promises faster than it turns.
pub const BEYOND_THE_MEDIUM: &str = "more flushes per second than revolutions: they are acknowledged from a cache (protected or \
     not)";

impl Findings {
    /// True if more was promised than the drive can have put on its medium.
    pub fn is_beyond_medium(&self) -> bool {
        self.rpm.is_some_and(|rpm| self.pace.is_beyond(rpm))
    }

    /// Pages with a promise.
    pub fn promised(&self) -> u64 {
        self.pages.map_or(self.pace.promised, |pages| pages.promised)
    }

    /// True if nothing speaks against the drive.
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
        let unknown = "no page was acknowledged, so there is no result\n";
        format!("{text}{}", if self.promised() == 0 { unknown } else { "" })
    }
}

/// The location of the ledger of pages that were only written.
#[derive(Debug, Clone, Copy)]
pub enum LedgerPlace<'a> {
    /// In this file.
    File(&'a str),
    /// On another machine.
    Server(&'a str),
}

/// Describes what was written to `target`, and what to do next.
pub fn of_writing(pace: &PromiseRate, target: &str, ledger: LedgerPlace<'_>) -> String {
    let mut text = format!("{}\n", rate(pace));
    if pace.promised == 0 {
        return text;
    }
    text.push_str("none of them was verified yet\n");
    text.push_str(&match ledger {
        LedgerPlace::File(path) => {
            format!("after the power cut: drivelab durability {target} --verify --ledger {path}\n")
        }
        LedgerPlace::Server(address) => format!(
            "after the power cut, with the ledger copied from {address}: drivelab durability \
             {target} --verify --ledger FILE\n"
        ),
    });
    text
}

/// Describes the fate of a modelled drive, whose writing ended for the reason `why`.
pub fn of_model(pace: &PromiseRate, why: &str, pages: &Judgement) -> String {
    format!("{}, until {why}\n{}", rate(pace), of_pages(pages))
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(pace: &PromiseRate) -> String {
    // Without a promise no time may have passed.
    let a_second = pace.promised as f64 * 1e9 / pace.took.ns().max(1) as f64;
    // A page that was written twice is two of them.
    format!("{} acknowledged, {a_second:.0} per second", counted(pace.promised, "write"))
}

fn of_pages(pages: &Judgement) -> String {
    let Judgement { promised, survived, lost, torn, misdirected, unknown, oldest_loss_ns } = *pages;
    // A page that was in flight may have no acknowledged write, and neither may one with data of
    // another: the sum is of all.
    let all = survived + lost + torn + misdirected + unknown;
    debug_assert!(promised <= all, "{pages:?}");
    let mut text = format!(
        "of {}: {survived} survived, {lost} lost, {torn} torn, {misdirected} misdirected, {unknown} \
         in flight\n",
        counted(all, "written page"),
    );
    if let Some(ns) = oldest_loss_ns {
        let age = Span::from_us(ns / 1000);
        text.push_str(&format!("the oldest lost page was acknowledged {age} before the end\n"));
    }
    text.push_str(match (pages.is_kept(), promised) {
        (false, _) => "ACKNOWLEDGED WRITES WERE LOST OR DAMAGED\n",
        // Findings say it.
        (true, 0) => "",
        (true, _) => "all acknowledged pages are intact\n",
    });
    text
}

/// Describes what the pages of a real file say about its drive.
pub fn of_real_file(pages: &Judgement) -> String {
    let mut text = of_pages(pages);
    if pages.promised > 0 && pages.is_kept() {
        text.push_str(
            "this is a test of the drive only if its power was cut after the pages were written: \
             before that, caches may answer\n",
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
            let pace = PromiseRate { promised: 40, took: Span::from_secs(2) };
            let text = of_writing(&pace, "/mnt/pages", ledger);
            assert!(text.starts_with("40 writes acknowledged, 20 per second\n"), "{text}");
            assert!(text.contains("none of them was verified"), "{text}");
            assert!(text.contains("--verify --ledger"), "{text}");
            let nothing = of_writing(&PromiseRate::default(), "/mnt/pages", ledger);
            assert!(!nothing.contains("checked"), "there is nothing to check");
        }
    }

    #[test]
    fn writes_and_pages_are_counted_apart() {
        let pace = PromiseRate { promised: 364, took: Span::from_secs(5) };
        let pages = Judgement {
            promised: 351,
            survived: 350,
            lost: 1,
            unknown: 1,
            oldest_loss_ns: Some(1_234_567_891),
            ..Judgement::default()
        };
        let text = of_model(&pace, "the power was cut", &pages);
        assert!(text.contains("364 writes acknowledged, 73 per second"), "{text}");
        assert!(text.contains("of 352 written pages: 350 survived"), "{text}");
        assert!(text.contains("0 misdirected, 1 in flight"), "{text}");
        assert!(text.contains("acknowledged 1.234567s before"), "{text}");
    }

    #[test]
    fn a_kept_promise_is_one_that_a_power_cut_tried() {
        let kept = Judgement { promised: 3, survived: 3, ..Judgement::default() };
        let text = of_real_file(&kept);
        assert!(text.contains("all acknowledged pages are intact\n"), "{text}");
        assert!(text.contains("only if its power was cut"), "{text}");
        let broken = Judgement { promised: 3, survived: 2, lost: 1, ..Judgement::default() };
        for pages in [broken, Judgement::default()] {
            assert!(!of_real_file(&pages).contains("only if"), "{pages:?}");
        }
    }
}
