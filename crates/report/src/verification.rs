//! The result of reading back everything that was written, for a terminal.

use drivelab_core::counted;
use drivelab_core::record::{Damage, DamageExample, Verification};
use drivelab_core::units::Bytes;

use crate::text::{BOLD, Look};

/// The result as text: the answer first, then each kind of fault with examples.
pub fn text(found: &Verification, look: Look) -> String {
    let Verification { promised, good, unfinished, .. } = found;
    let mut text = if found.is_good() && *promised == 0 {
        let body = "no block was acknowledged, so there is no result";
        look.led("Nothing to verify:", BOLD, body, 2)
    } else if found.is_good() {
        look.led("Verified:", BOLD, &format!("all {good} blocks are intact"), 2)
    } else {
        let faulty: u64 = found.faults.values().sum();
        let are = if faulty == 1 { "is" } else { "are" };
        let faulty = counted(faulty, "block");
        let body = format!("{faulty} {are} faulty, {good} of {promised} are intact");
        look.led("NOT as written:", BOLD, &body, 2)
    };
    text.push('\n');
    if *unfinished > 0 {
        let (blocks, were) =
            (counted(*unfinished, "block"), if *unfinished == 1 { "was" } else { "were" });
        let body = format!("{blocks} {were} in flight at the end and may hold either version");
        text += &format!("{}\n", look.wrap(&body, 2));
    }
    // A drive that lost everything looks so too, but is rarer.
    if *promised > 1 && found.faults.get(&Damage::Lost) == Some(promised) {
        let body = "no block contains a write of this run: the target was written since, or the \
                    state file belongs to another run";
        text += &format!("{}\n", look.wrap(body, 2));
    }
    for (fault, count) in &found.faults {
        let [name, verb, what] = words(*fault);
        let verb = match (*count, verb) {
            (1, "are") => "is".to_owned(),
            (1, verb) => format!("{verb}s"),
            _ => verb.to_owned(),
        };
        let body = format!("{} {verb} {what}", counted(count, "block"));
        text += &look.led(&format!("{name}:"), BOLD, &body, 2);
        text.push('\n');
        for example in found.examples.iter().filter(|it| it.fault == *fault).take(EXAMPLES_SHOWN) {
            text += &format!("  {}\n", look.wrap(&line(example), 4));
        }
    }
    text
}

/// Examples of one kind on a terminal; all that were kept stand in the JSON.
const EXAMPLES_SHOWN: usize = 5;

/// The name of a kind of damage, then a verb and the rest of a sentence about such blocks.
fn words(damage: Damage) -> [&'static str; 3] {
    match damage {
        Damage::Lost => ["lost", "lack", "the acknowledged write"],
        Damage::Stale => ["stale", "contain", "an older write than acknowledged"],
        Damage::Torn => ["torn", "contain", "parts of two writes"],
        Damage::Misdirected => ["misdirected", "contain", "data written for another address"],
        Damage::Corrupt => ["corrupt", "contain", "bits that were never written"],
        Damage::Truncated => ["truncated", "are", "past the end of the target"],
    }
}

fn line(example: &DamageExample) -> String {
    let DamageExample { offset_bytes, expected_generation, .. } = example;
    let mut line = format!("at byte {offset_bytes}: write {expected_generation} must be there");
    if let Some(found) = example.found_generation {
        line += &format!(", write {found} is");
    }
    if let Some(belongs_at) = example.belongs_at_bytes {
        line += &format!("; its contents belong at byte {belongs_at} ({})", Bytes::new(belongs_at));
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
        assert_eq!(text(&good, LOOK), "Verified: all 7 blocks are intact\n");
    }

    #[test]
    fn that_nothing_was_promised_is_no_good_news() {
        let told = text(&Verification::default(), LOOK);
        assert!(told.starts_with("Nothing to verify: no block was acknowledged"), "{told}");
    }

    #[test]
    fn where_everything_is_lost_another_account_is_thought_of() {
        let mut found = Verification { promised: 2, ..Verification::default() };
        for offset_bytes in [0, 4096] {
            found.add(DamageExample {
                fault: Damage::Lost,
                offset_bytes,
                expected_generation: 1,
                found_generation: None,
                belongs_at_bytes: None,
            });
        }
        assert!(text(&found, LOOK).contains("no block contains a write of this run"));
        found.promised = 3;
        assert!(!text(&found, LOOK).contains("no block contains a write of this run"));
    }

    #[test]
    fn faults_are_named_with_their_places() {
        let mut found = Verification { promised: 9, good: 7, ..Verification::default() };
        found.add(DamageExample {
            fault: Damage::Misdirected,
            offset_bytes: 8192,
            expected_generation: 5,
            found_generation: None,
            belongs_at_bytes: Some(4096),
        });
        found.add(DamageExample {
            fault: Damage::Stale,
            offset_bytes: 4096,
            expected_generation: 4,
            found_generation: Some(2),
            belongs_at_bytes: None,
        });
        let expected = "NOT as written: 2 blocks are faulty, 7 of 9 are intact\nstale: 1 \
        block contains an older write than acknowledged\n  at byte 4096: write 4 must be there, \
        write 2 is\nmisdirected: 1 block contains data written for another address\
         \n  at byte 8192: write 5 must be there; its contents belong at byte 4096 (4k)\n";
        assert_eq!(text(&found, LOOK), expected);
    }
}
