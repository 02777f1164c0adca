//! Kinds of drives: values of an unknown that stand apart.

use crate::interval::mean;

/// Values that are as few as this are a choice.
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
    starts.dedup_by(|a, b| a.total_cmp(b).is_eq());
    if starts.len() > CHOICES_MAX {
        starts = vec![sorted[0], split(&sorted)?];
    }
    // The last kind that begins at or below the value.
    let kind = |value: &f64| starts.iter().rposition(|start| start <= value).unwrap_or(0);
    (starts.len() > 1).then(|| values.iter().map(kind).collect())
}

/// How far each value is from the mean of its kind; `None` where all values of a kind are equal.
pub(super) fn scatter(values: &[f64], kinds: &[usize]) -> Option<Vec<f64>> {
    let mean_of = |kind: usize| {
        let own =
            values.iter().zip(kinds).filter(|(_, own)| **own == kind).map(|(value, _)| *value);
        mean(&own.collect::<Vec<f64>>())
    };
    let count = kinds.iter().max().map_or(0, |most| most + 1);
    let means: Vec<f64> = (0..count).map(mean_of).collect();
    let is_same = |(value, kind): (&f64, &usize)| {
        values.iter().zip(kinds).all(|(other, own)| own != kind || other.total_cmp(value).is_eq())
    };
    let is_choice = values.iter().zip(kinds).all(is_same);
    (!is_choice)
        .then(|| values.iter().zip(kinds).map(|(value, kind)| value - means[*kind]).collect())
}

/// The first value of the second kind.
fn split(sorted: &[f64]) -> Option<f64> {
    let range = sorted.last()? - sorted.first()?;
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
