//! What is known at the end, and what that says.

use std::path::Path;

use drivelab_core::units::Span;
use drivelab_serve::durability::{Verdict, Written};

use super::DurabilityArgs;
use crate::failure::{Exit, Outcome};
use crate::ui::Ui;

/// What is known at the end.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) written: Written,
    /// Whether the drive went away while it was written, where that was seen.
    pub(super) went_away: Option<bool>,
    pub(super) verdict: Option<Verdict>,
}

impl Findings {
    /// Prints `text`, or all of it as JSON.
    pub(super) fn show(&self, ui: Ui, rpm: Option<u64>, text: &str) -> Outcome {
        let Self { written, went_away, verdict } = self;
        let lies = rpm.is_some_and(|rpm| written.is_beyond(rpm));
        let promised = verdict.map_or(written.promised, |verdict| verdict.promised);
        if ui.json {
            let document = serde_json::json!({
                "schema": "drivelab.durability/1",
                "promises": written.promised,
                "took_ns": written.took.ns(),
                "went_away": went_away,
                "pages": verdict,
                "syncs_beyond_the_medium": lies,
            });
            ui.result(&crate::commands::json_text(&document))?;
        } else if promised == 0 {
            ui.result(&format!("{text}nothing was promised, so nothing is known\n"))?;
        } else {
            ui.result(text)?;
        }
        if lies {
            ui.warn("it syncs more often than its platter comes round: it lies, or has a cache");
        }
        let kept = verdict.is_none_or(|verdict| verdict.is_kept());
        Ok(match (kept && !lies, promised) {
            (false, _) => Exit::No,
            (true, 0) => Exit::Inconclusive,
            (true, _) => Exit::Done,
        })
    }
}

/// What was written, and what to do next, in words.
pub(super) fn of_writing(written: &Written, path: &Path, arguments: &DurabilityArgs) -> String {
    let mut text = format!("{} pages promised, {:.0} a second\n", written.promised, rate(written));
    let path = path.display();
    if written.promised == 0 {
        return text;
    }
    text.push_str("none of them was checked: whether the drive holds them is not known\n");
    match &arguments.server {
        None => text.push_str(&format!(
            "once the power has been cut: drivelab durability {path} --verify --ledger {}\n",
            arguments.ledger.display(),
        )),
        Some(server) => text.push_str(&format!(
            "once the power has been cut, with the ledger of {server} copied over: drivelab \
             durability {path} --verify --ledger FILE\n",
        )),
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
pub(super) fn rate(written: &Written) -> f64 {
    written.promised as f64 * 1e9 / written.took.ns().max(1) as f64
}

/// What became of the pages, in words.
pub(super) fn of_pages(verdict: &Verdict) -> String {
    let Verdict { promised, survived, lost, torn, misdirected, unknown, oldest_loss_ns } = *verdict;
    let mut text = format!(
        "of {promised} pages with a promise: {survived} survived, {lost} lost, {torn} torn, \
         {misdirected} misdirected; {unknown} were being written\n"
    );
    if let Some(ns) = oldest_loss_ns {
        let age = Span::from_ns(ns);
        text.push_str(&format!("the oldest loss had been promised {age} before the end\n"));
    }
    text.push_str(match (verdict.is_kept(), promised) {
        (false, _) => "PROMISES WERE BROKEN\n",
        // Findings say it.
        (true, 0) => "",
        (true, _) => "every promise was kept\n",
    });
    text
}

/// What the pages of a real file say of its drive, where none is missing.
pub(super) fn of_real_file(verdict: &Verdict) -> &'static str {
    if verdict.promised == 0 || !verdict.is_kept() {
        return "";
    }
    "this says something of the drive only if its power was cut after the pages were written: \
     until then caches answer in its place\n"
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: DurabilityArgs,
    }

    fn written(promised: u64, more: &[&str]) -> String {
        let words = [&["durability", "/mnt/pages"][..], more].concat();
        let arguments = Command::parse_from(words).arguments;
        let written = Written { promised, took: Span::from_secs(2) };
        of_writing(&written, Path::new("/mnt/pages"), &arguments)
    }

    #[test]
    fn pages_that_were_only_written_are_not_called_safe() {
        for more in [&[][..], &["--server", "other:5400"]] {
            let text = written(40, more);
            assert!(text.starts_with("40 pages promised, 20 a second\n"), "{text}");
            assert!(text.contains("none of them was checked"), "{text}");
            assert!(text.contains("--verify --ledger"), "{text}");
        }
        assert!(!written(0, &[]).contains("checked"), "there is nothing to check");
    }

    #[test]
    fn a_kept_promise_is_one_that_a_power_cut_tried() {
        let verdict = Verdict { promised: 3, survived: 3, ..Verdict::default() };
        let text = of_pages(&verdict) + of_real_file(&verdict);
        assert!(text.contains("every promise was kept\n"), "{text}");
        assert!(text.contains("only if its power was cut"), "{text}");
        let broken = Verdict { promised: 3, survived: 2, lost: 1, ..Verdict::default() };
        assert_eq!(of_real_file(&broken), "", "a loss is a loss");
        assert_eq!(of_real_file(&Verdict::default()), "", "nothing was promised");
    }
}
