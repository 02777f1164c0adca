//! A prediction in words.

use drivelab_analysis::figures;
use drivelab_analysis::specimens::{Foreseen, Opened};
use drivelab_core::record::{Specimen, unknown};
use drivelab_stats::{Cause, Forecast, Part};

/// Parts of the spread that are named, at most.
const NAMED_MAX: usize = 3;
/// A part smaller than this decides nothing.
const PART_MIN: f64 = 0.03;

/// Below this share drives are counted in hundreds, and below the next not at all.
const OF_TEN_MIN: f64 = 0.05;
const NAMED_MIN: f64 = 0.005;

/// On how many drives it is what: `faster on 7 of 10 such drives, slower on 2 of 10`.
pub(crate) fn on_drives(forecast: &Forecast) -> String {
    let shares = forecast.shares;
    let mut each = [
        ("faster", shares.faster),
        ("slower", shares.slower),
        ("practically the same", shares.no_practical_difference),
    ];
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<(&str, f64)> = each.into_iter().filter(|it| it.1 >= NAMED_MIN).collect();
    let all = if named.iter().all(|it| it.1 >= OF_TEN_MIN) { 10.0 } else { 100.0 };
    let parts =
        named.iter().zip(counts(&named, all)).enumerate().map(|(at, ((what, _), count))| {
            let such = if at == 0 { " such drives" } else { "" };
            let count =
                if count < all { format!("{count} of {all}") } else { "nearly all".to_owned() };
            format!("{what} on {count}{such}")
        });
    parts.collect::<Vec<String>>().join(", ")
}

/// Whole numbers that add up to `all`: what rounding down leaves goes to the largest remainders.
fn counts(named: &[(&str, f64)], all: f64) -> Vec<f64> {
    let sum: f64 = named.iter().map(|it| it.1).sum();
    let exact: Vec<f64> = named.iter().map(|it| all * it.1 / sum).collect();
    let mut counts: Vec<f64> = exact.iter().map(|count| libm::floor(*count)).collect();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| (exact[*b] - counts[*b]).total_cmp(&(exact[*a] - counts[*a])));
    for at in order {
        if counts.iter().sum::<f64>() < all - 0.5 {
            counts[at] += 1.0;
        }
    }
    debug_assert!(
        named.is_empty() || (counts.iter().sum::<f64>() - all).abs() < 0.5,
        "{counts:?} do not add up to {all}"
    );
    counts
}

/// Sums up a prediction apart from its mean, in a few words.
pub(crate) fn forecast(foreseen: &Foreseen) -> String {
    format!("95 % of such drives: {}", figures::range(foreseen.forecast.prediction95))
}

/// Names the causes of the spread between drives, the largest first; `None` if there are too
/// few drives.
pub(crate) fn decides(foreseen: &Foreseen) -> Option<String> {
    let parts = foreseen.forecast.parts.iter().filter(|part| part.share >= PART_MIN);
    let named = parts.take(NAMED_MAX).enumerate().map(|(at, part)| {
        let [lo, hi] = part.ci95.map(|limit| format!("{:.0}", 100.0 * limit));
        let interval =
            if lo == hi { String::new() } else { format!(" (95 % interval {lo} to {hi})") };
        let of_what = if at == 0 { " of the spread between such drives comes" } else { "" };
        format!(
            "{:.0} %{of_what} from {}{interval}",
            100.0 * part.share,
            cause(part, &foreseen.unknowns),
        )
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Names the specimen that a run simulated among all drives that fit its profile, and its model's
/// deviation.
pub(crate) fn which(specimen: &Specimen) -> Option<String> {
    let open: Vec<String> =
        specimen.drawn.iter().map(|drawn| unknown::in_words(&drawn.name)).collect();
    let (last, others) = open.split_last()?;
    let open = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let drive = match specimen.number {
        Some(number) => format!("specimen {number} of the drives that fit the profile"),
        None => "the median of the drives that fit the profile".to_owned(),
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

/// The same of a drive that is used alone, with the command that shows how far others of `drive`,
/// as it is named on the command line, are from it.
pub fn one_drive(specimen: &Specimen, drive: &str) -> Option<String> {
    let which = which(specimen)?;
    Some(format!("this is {which} `drivelab drive predict {drive}` shows the range."))
}

/// A cause in words.
pub(super) fn cause(part: &Part, unknowns: &[Opened]) -> String {
    match part.cause {
        Cause::Unknown(index) => {
            let words = unknown::in_words(&unknowns[index].key);
            match &unknowns[index].arm {
                Some(arm) => format!("{words} (`{arm}`)"),
                None => words,
            }
        }
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
    fn a_run_says_which_drive_it_is_and_what_is_open() {
        let drawn = |name: &str| Drawn { name: name.into(), value: 1.0, score: 0.0 };
        let mut it =
            Specimen { number: None, drawn: Vec::new(), model_sigma: 0.05, variant_of: None };
        assert_eq!(which(&it), None);
        it.drawn = vec![drawn("seek_short"), drawn("guard_growth")];
        assert_eq!(
            which(&it).unwrap(),
            "the median of the drives that fit the profile, which leaves open how long its short \
             seeks take and how its firmware orders its queue; other drives differ; even a drive of \
             exactly these numbers may be a factor of 1.10 off."
        );
    }

    #[test]
    fn drives_are_counted_the_largest_share_first_and_add_up() {
        let forecast = |faster, slower| Forecast {
            n: 20,
            prediction95: [0.9, 1.5],
            shares: Shares { faster, slower, no_practical_difference: 1.0 - faster - slower },
            parts: Vec::new(),
            verdict: Verdict::Inconclusive,
        };
        let check = |faster, slower, words: &str| {
            assert_eq!(on_drives(&forecast(faster, slower)), words, "{faster} {slower}");
        };
        check(
            0.7,
            0.1,
            "faster on 7 of 10 such drives, practically the same on 2 of 10, slower on 1 of 10",
        );
        check(
            0.56,
            0.27,
            "faster on 5 of 10 such drives, slower on 3 of 10, practically the same on 2 of 10",
        );
        check(0.02, 0.98, "slower on 98 of 100 such drives, faster on 2 of 100");
        check(0.0, 0.997, "slower on nearly all such drives");
    }
}
