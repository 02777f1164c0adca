//! What reading back everything that was written found, for a terminal.

use drivelab_core::record::{Fault, FaultExample, Verification};
use drivelab_core::units::Bytes;

use crate::text::{BOLD, Look};

/// What was found as text: the answer first, then each kind of fault with examples.
pub fn text(found: &Verification, look: Look) -> String {
    let Verification { promised, good, unfinished, .. } = found;
    let mut text = if found.is_good() && *promised == 0 {
        let body = "no block had to hold anything, so nothing is known";
        look.led("Nothing to verify:", BOLD, body, 2)
    } else if found.is_good() {
        look.led("Verified:", BOLD, &format!("all {good} blocks hold what they must"), 2)
    } else {
        let faulty: u64 = found.faults.values().sum();
        let body = format!("{faulty} blocks are faulty, {good} of {promised} are as they must be");
        look.led("NOT as written:", BOLD, &body, 2)
    };
    text.push('\n');
    if *unfinished > 0 {
        let body =
            format!("{unfinished} blocks were being written at the end: nothing is promised");
        text += &format!("{}\n", look.wrap(&body, 2));
    }
    // A drive that lost everything looks so too, but is rarer.
    if *promised > 1 && found.faults.get(&Fault::Lost) == Some(promised) {
        let body = "no block holds a write of this run: was the target written since, or is this \
                    the account of another run?";
        text += &format!("{}\n", look.wrap(body, 2));
    }
    for (fault, count) in &found.faults {
        let [name, what] = words(*fault);
        text += &look.led(&format!("{name}:"), BOLD, &format!("{count} blocks {what}"), 2);
        text.push('\n');
        for example in found.examples.iter().filter(|it| it.fault == *fault).take(EXAMPLES_SHOWN) {
            text += &format!("  {}\n", look.wrap(&line(example), 4));
        }
    }
    text
}

/// Examples of one kind on a terminal; all that were kept stand in the JSON.
const EXAMPLES_SHOWN: usize = 5;

/// What a kind of fault is called, and what such blocks do.
fn words(fault: Fault) -> [&'static str; 2] {
    match fault {
        Fault::Lost => ["lost", "never got the acknowledged write"],
        Fault::Stale => ["stale", "hold an older write than was acknowledged"],
        Fault::Torn => ["torn", "hold parts of two writes"],
        Fault::Misdirected => ["misdirected", "hold what was written for another place"],
        Fault::Corrupt => ["corrupt", "hold bits that nobody wrote"],
        Fault::Truncated => ["truncated", "lie beyond the end of the target"],
    }
}

fn line(example: &FaultExample) -> String {
    let FaultExample { offset_bytes, expected_generation, .. } = example;
    let mut line = format!("at byte {offset_bytes}: write {expected_generation} must be there");
    if let Some(found) = example.found_generation {
        line += &format!(", write {found} is");
    }
    if let Some(place) = example.belongs_at_bytes {
        line += &format!("; what is there belongs at byte {place} ({})", Bytes::new(place));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 100, colour: false };

    #[test]
    fn good_is_said_in_a_line() {
        let good = Verification { promised: 7, good: 7, ..Verification::default() };
        assert_eq!(text(&good, LOOK), "Verified: all 7 blocks hold what they must\n");
    }

    #[test]
    fn that_nothing_was_promised_is_no_good_news() {
        let told = text(&Verification::default(), LOOK);
        assert!(told.starts_with("Nothing to verify: no block had to hold"), "{told}");
    }

    #[test]
    fn where_everything_is_lost_another_account_is_thought_of() {
        let mut found = Verification { promised: 2, ..Verification::default() };
        for offset_bytes in [0, 4096] {
            found.add(FaultExample {
                fault: Fault::Lost,
                offset_bytes,
                expected_generation: 1,
                found_generation: None,
                belongs_at_bytes: None,
            });
        }
        assert!(text(&found, LOOK).contains("no block holds a write of this run"));
        found.promised = 3;
        assert!(!text(&found, LOOK).contains("no block holds a write of this run"));
    }

    #[test]
    fn faults_are_named_with_their_places() {
        let mut found = Verification { promised: 9, good: 7, ..Verification::default() };
        found.add(FaultExample {
            fault: Fault::Misdirected,
            offset_bytes: 8192,
            expected_generation: 5,
            found_generation: None,
            belongs_at_bytes: Some(4096),
        });
        found.add(FaultExample {
            fault: Fault::Stale,
            offset_bytes: 4096,
            expected_generation: 4,
            found_generation: Some(2),
            belongs_at_bytes: None,
        });
        let expected = "NOT as written: 2 blocks are faulty, 7 of 9 are as they must be\n\
            stale: 1 blocks hold an older write than was acknowledged\n  \
            at byte 4096: write 4 must be there, write 2 is\n\
            misdirected: 1 blocks hold what was written for another place\n  \
            at byte 8192: write 5 must be there; what is there belongs at byte 4096 (4k)\n";
        assert_eq!(text(&found, LOOK), expected);
    }
}
