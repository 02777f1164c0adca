//! Kinds of drives: values of an unknown that stand apart.

use crate::numbers::mean;

/// Up to this many different values are a choice.
const CHOICES_MAX: usize = 4;
/// A gap this wide, as a share of the range, separates two kinds. Of 20 draws from one normal,
/// log-normal or uniform distribution fewer than one set in a hundred has such a gap with at
/// least two values on either side.
const GAP: f64 = 0.4;
/// A kind has at least as many specimens.
const KIND_MIN: usize = 2;

/// The kind of each value, from 0; `None` where all are of one kind.
pub(super) fn of(values: &[f64]) -> Option<Vec<usize>> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut starts: Vec<f64> = sorted.clone();
    // Few distinct values are a choice between settings, not draws from a continuous prior.
    starts.dedup_by(|a, b| a.total_cmp(b).is_eq());
    if starts.len() > CHOICES_MAX {
        starts = vec![sorted[0], split(&sorted)?];
    }
    if starts.len() < 2 {
        return None;
    }
    let mut kinds = Vec::with_capacity(values.len());
    for value in values {
        // The last kind that begins at or below the value.
        kinds.push(starts.iter().rposition(|start| start <= value).unwrap_or(0));
    }
    Some(kinds)
}

/// The distance of each value from the mean of its kind; `None` where all values of a kind are
/// equal.
pub(super) fn scatter(values: &[f64], kinds: &[usize]) -> Option<Vec<f64>> {
    debug_assert_eq!(values.len(), kinds.len());
    let count = kinds.iter().max().map_or(0, |most| most + 1);
    let mut members: Vec<Vec<f64>> = vec![Vec::new(); count];
    for (value, kind) in values.iter().zip(kinds) {
        members[*kind].push(*value);
    }
    // Values of a choice: the kind says all that the value does.
    if members.iter().all(|own| own.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq())) {
        return None;
    }
    let means: Vec<f64> = members.iter().map(|own| mean(own)).collect();
    Some(values.iter().zip(kinds).map(|(value, kind)| value - means[*kind]).collect())
}

/// The first value of the second kind.
fn split(sorted: &[f64]) -> Option<f64> {
    let range = sorted.last()? - sorted.first()?;
    // Gaps that leave fewer than `KIND_MIN` values on a side are outliers, not kinds.
    let inner = sorted.get(KIND_MIN - 1..=sorted.len().checked_sub(KIND_MIN)?)?;
    let widest = inner.windows(2).max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0])))?;
    (widest[1] - widest[0] > GAP * range).then_some(widest[1])
}

#[cfg(test)]
mod tests {
    use super::{of, scatter};

    #[test]
    fn choices_and_gaps_make_kinds() {
        let check = |values: &[f64], kinds: Option<&[usize]>| {
            assert_eq!(of(values).as_deref(), kinds, "{values:?}");
        };
        check(&[0.0, 1.0, 0.0, 1.0], Some(&[0, 1, 0, 1]));
        check(&[2.0, 0.0, 1.0, 1.0], Some(&[2, 0, 1, 1]));
        check(&[1.0, 1.0, 1.0], None);
        check(&[], None);
        check(&[1.0, 9.0, 1.1, 9.1, 1.2, 9.2], Some(&[0, 1, 0, 1, 0, 1]));
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], None);
        // One value apart from all others is the end of a tail.
        check(&[1.0, 1.1, 1.2, 1.3, 1.4, 9.0], None);
    }

    #[test]
    fn only_kinds_with_different_values_scatter() {
        assert_eq!(scatter(&[1.0, 5.0, 1.0, 5.0], &[0, 1, 0, 1]), None);
        let expected = Some(vec![-0.5, -1.0, 0.5, 1.0]);
        assert_eq!(scatter(&[1.0, 5.0, 2.0, 7.0], &[0, 1, 0, 1]), expected);
    }
}
