//! A prediction in words.

use drivelab_core::record::Specimen;
use drivelab_core::unknown;
use drivelab_stats::{Cause, Forecast, Part};

use super::sampled::Foreseen;
use crate::figures;

/// Parts of the spread that are named, at most.
const NAMED_MAX: usize = 3;
/// A part smaller than this decides nothing.
const PART_MIN: f64 = 0.03;

/// A share of drives as people count them: `7 of 10`.
pub(crate) fn of_drives(share: f64) -> String {
    let tenths = libm::round(10.0 * share);
    let hundredths = libm::round(100.0 * share);
    if (0.05..=0.95).contains(&share) && (1.0..=9.0).contains(&tenths) {
        format!("{tenths:.0} of 10")
    } else if hundredths < 1.0 {
        "fewer than 1 of 100".to_owned()
    } else if hundredths > 99.0 {
        "more than 99 of 100".to_owned()
    } else {
        format!("{hundredths:.0} of 100")
    }
}

/// On how many drives it is what: `faster on 7 of 10 such drives, slower on 2 of 10`.
pub(crate) fn on_drives(forecast: &Forecast) -> String {
    let shares = forecast.shares;
    let mut each = [
        ("faster", shares.faster),
        ("slower", shares.slower),
        ("practically the same", shares.no_practical_difference),
    ];
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named = each.iter().enumerate().filter(|(at, (_, share))| *at == 0 || *share >= 0.01);
    let parts = named.map(|(at, (what, share))| {
        let such = if at == 0 { " such drives" } else { "" };
        format!("{what} on {}{such}", of_drives(*share))
    });
    parts.collect::<Vec<String>>().join(", ")
}

/// What a prediction says beside the mean, in a few words.
pub(crate) fn forecast(foreseen: &Foreseen) -> String {
    format!("one such drive: {}", figures::range(foreseen.forecast.prediction95))
}

/// What the spread between drives goes back to, the largest part first; nothing where there are
/// too few drives to tell.
pub(crate) fn decides(foreseen: &Foreseen) -> Option<String> {
    let parts = foreseen.forecast.parts.iter().filter(|part| part.share >= PART_MIN);
    let named = parts.take(NAMED_MAX).enumerate().map(|(at, part)| {
        let [lo, hi] = part.ci95.map(|limit| format!("{:.0}", 100.0 * limit));
        let interval =
            if lo == hi { String::new() } else { format!(" (95 % interval {lo} to {hi})") };
        let of_what = if at == 0 { " of the spread between such drives" } else { "" };
        format!(
            "{:.0} %{of_what} is {}{interval}",
            100.0 * part.share,
            cause(part, &foreseen.unknowns),
        )
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Which of all drives that fit its profile a run simulated, and how far the figures may be off.
pub(crate) fn which(specimen: &Specimen) -> Option<String> {
    let open: Vec<String> =
        specimen.drawn.iter().map(|drawn| unknown::in_words(&drawn.name)).collect();
    let (last, others) = open.split_last()?;
    let open = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let drive = match specimen.number {
        Some(number) => format!("specimen {number} of the drives that the profile fits"),
        None => "the median of the drives that the profile fits".to_owned(),
    };
    let model = match specimen.model_sigma {
        sigma if sigma > 0.0 => {
            let factor = figures::significant(libm::exp(1.96 * sigma));
            format!("; even a drive of exactly these numbers may be a factor of {factor} off")
        }
        _ => String::new(),
    };
    Some(format!("{drive}, which leaves open {open}; other drives differ{model}."))
}

/// A cause in words.
pub(super) fn cause(part: &Part, unknowns: &[String]) -> String {
    match part.cause {
        Cause::Unknown(place) => unknown::in_words(&unknowns[place]),
        Cause::Addresses => "the addresses of the runs, and unknowns acting together".to_owned(),
        Cause::Model => "what the model leaves out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Drawn;
    use drivelab_stats::{Shares, Verdict};

    use super::*;

    #[test]
    fn drives_are_counted_in_tens_and_few_in_hundreds() {
        let check = |share, expected: &str| assert_eq!(of_drives(share), expected, "{share}");
        check(0.71, "7 of 10");
        check(0.05, "1 of 10");
        check(0.04, "4 of 100");
        check(0.951, "95 of 100");
        check(0.001, "fewer than 1 of 100");
        check(1.0, "more than 99 of 100");
    }

    #[test]
    fn a_run_says_which_drive_it_is_and_what_is_open() {
        let drawn = |name: &str| Drawn { name: name.into(), value: 1.0, score: 0.0 };
        let mut it = Specimen { number: None, drawn: Vec::new(), model_sigma: 0.05 };
        assert_eq!(which(&it), None);
        it.drawn = vec![drawn("seek_short"), drawn("guard_growth")];
        assert_eq!(
            which(&it).unwrap(),
            "the median of the drives that the profile fits, which leaves open how long its short \
             seeks take and how its firmware orders its queue; other drives differ; even a drive of \
             exactly these numbers may be a factor of 1.10 off."
        );
    }

    #[test]
    fn the_largest_share_comes_first_and_nothing_is_left_out() {
        let forecast = |faster, slower| Forecast {
            n: 20,
            prediction95: [0.9, 1.5],
            shares: Shares { faster, slower, no_practical_difference: 1.0 - faster - slower },
            parts: Vec::new(),
            verdict: Verdict::Inconclusive,
        };
        let words = on_drives(&forecast(0.7, 0.1));
        assert_eq!(
            words,
            "faster on 7 of 10 such drives, practically the same on 2 of 10, slower \
                           on 1 of 10"
        );
        assert_eq!(on_drives(&forecast(0.0, 0.996)), "slower on more than 99 of 100 such drives");
    }
}
