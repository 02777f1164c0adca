//! Seek times by distance in cylinders.

use drivelab_core::{Lba, Span};

use super::geometry::Geometry;

/// Seek times by distance.
///
/// Every distance below `NEAR` has an entry. Beyond, seek curves are nearly straight, so every
/// sixteenth distance has one and the others are interpolated (off by less than a nanosecond on
/// any smooth curve). The table then stays in the processor's cache during a choice among many
/// candidates.
#[derive(Debug, Clone)]
pub struct SeekTable {
    /// Index 0 is no movement.
    near: Vec<u32>,
    far: Vec<u32>,
}

/// More cylinders than any drive with a measured seek table here has, so that those stay exact.
const NEAR: u32 = 16_384;
const FAR_STEP: u32 = 16;

/// A smooth curve `short + (full - short) * (w sqrt(x) + (1 - w) x)`, where x is the share of the
/// full stroke.
///
/// The square root is the acceleration of short seeks, the line the coasting of long ones
/// (Ruemmler and Wilkes 1994, "An introduction to disk drive modeling").
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeekCurve {
    /// To the adjacent cylinder, including settling.
    pub(crate) short: Span,
    /// From the first cylinder to the last.
    pub(crate) full: Span,
    /// The share w of the square root, 0 to 2: beyond that the curve would fall again.
    pub(crate) shape: f64,
}

/// Two of the three that fix a curve once the short seek is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CurveFrom {
    AverageAndFull { average: Span, full: Span },
    AverageAndShape { average: Span, shape: f64 },
    FullAndShape { full: Span, shape: f64 },
}

/// Means of the two terms of a [`SeekCurve`] over all pairs of addresses.
#[derive(Debug, Clone, Copy)]
struct MeanStroke {
    root: f64,
    line: f64,
}

impl SeekCurve {
    /// Returns the curve through `short` with the given average over uniformly random addresses.
    ///
    /// # Errors
    /// No rising curve has that average; returns the range of possible averages.
    pub(crate) fn fit(
        geometry: &Geometry,
        short: Span,
        from: CurveFrom,
    ) -> Result<Self, (Span, Span)> {
        let mean = MeanStroke::of(geometry);
        let low = ms(short);
        match from {
            CurveFrom::FullAndShape { full, shape } => Ok(Self { short, full, shape }),
            CurveFrom::AverageAndShape { average, shape } => {
                let share = shape * mean.root + (1.0 - shape) * mean.line;
                let full = low + (ms(average) - low) / share;
                if ms(average) < low {
                    return Err((short, Span::MAX));
                }
                Ok(Self { short, full: span(full), shape })
            }
            CurveFrom::AverageAndFull { average, full } => {
                let stroke = ms(full) - low;
                let shape = ((ms(average) - low) / stroke - mean.line) / (mean.root - mean.line);
                if !(0.0..=2.0).contains(&shape) {
                    let most = 2.0 * mean.root - mean.line;
                    return Err((span(low + stroke * mean.line), span(low + stroke * most)));
                }
                Ok(Self { short, full, shape })
            }
        }
    }

    pub(crate) fn table(&self, cylinders: u32) -> SeekTable {
        let (low, stroke) = (ms(self.short), ms(self.full) - ms(self.short));
        // Distance 1 is the short seek (x = 0), and `cylinders - 1` the full stroke (x = 1).
        let longest = f64::from(cylinders.max(3) - 2);
        SeekTable::sampled(cylinders, |distance| {
            let x = f64::from(distance - 1) / longest;
            nanoseconds(low + stroke * (self.shape * x.sqrt() + (1.0 - self.shape) * x))
        })
    }
}

impl MeanStroke {
    /// Averages over a grid of addresses, each in the middle of an equal share of the drive.
    fn of(geometry: &Geometry) -> Self {
        const GRID: u64 = 512;
        let longest = f64::from(geometry.cylinders().max(3) - 2);
        // Addresses, not cylinders: outer cylinders hold more sectors and are visited more often.
        let capacity = u128::from(geometry.capacity().get());
        let cylinders: Vec<u32> = (0..GRID)
            .map(|index| {
                let sector = capacity * u128::from(2 * index + 1) / u128::from(2 * GRID);
                let lba = Lba::new(u64::try_from(sector).expect("below the capacity"));
                geometry.locate(lba).arm.cylinder
            })
            .collect();
        let (mut root, mut line) = (0.0, 0.0);
        for from in &cylinders {
            for to in &cylinders {
                let x = f64::from(from.abs_diff(*to).saturating_sub(1)) / longest;
                root += x.sqrt();
                line += x;
            }
        }
        let pairs = f64::from(u32::try_from(GRID * GRID).expect("2^18"));
        Self { root: root / pairs, line: line / pairs }
    }
}

impl SeekTable {
    /// A measured curve: ascending distances with their times, interpolated linearly, and
    /// extrapolated beyond the last point with the last slope.
    pub fn interpolated(points: &[(u32, Span)], cylinders: u32) -> Self {
        assert!(points.len() >= 2, "a line needs two points");
        debug_assert!(points.is_sorted_by(|(a, _), (b, _)| a < b), "distances ascend");
        Self::sampled(cylinders, |distance| {
            let after = points.partition_point(|(known, _)| *known < distance);
            let right = after.clamp(1, points.len() - 1);
            let (x0, y0) = points[right - 1];
            let (x1, y1) = points[right];
            // Only the slope between two neighbours counts, so integers suffice.
            let rise = i128::from(y1.ns()) - i128::from(y0.ns());
            let along = i128::from(distance) - i128::from(x0);
            let y = i128::from(y0.ns()) + rise * along / i128::from(x1 - x0);
            u32::try_from(y.max(0)).unwrap_or(u32::MAX)
        })
    }

    /// Tabulates `at`, which returns nanoseconds for distances from 1.
    fn sampled(cylinders: u32, at: impl Fn(u32) -> u32) -> Self {
        let near = std::iter::once(0).chain((1..cylinders.clamp(2, NEAR)).map(&at)).collect();
        let steps = match cylinders.checked_sub(NEAR) {
            None => 0,
            Some(beyond) => beyond / FAR_STEP + 2,
        };
        // Two entries more than whole steps: `time` interpolates between `step` and `step + 1`.
        Self { near, far: (0..steps).map(|step| at(NEAR + step * FAR_STEP)).collect() }
    }

    /// Returns the time to move by `distance` cylinders.
    #[inline]
    pub fn time(&self, distance: u32) -> Span {
        if let Some(ns) = self.near.get(distance as usize) {
            return Span::from_ns(u64::from(*ns));
        }
        let beyond = distance - NEAR;
        let (step, part) = ((beyond / FAR_STEP) as usize, beyond % FAR_STEP);
        let points = &self.far[step..step + 2];
        let (low, high) = (u64::from(points[0]), u64::from(points[1]));
        Span::from_ns(
            (low * u64::from(FAR_STEP - part) + high * u64::from(part)) / u64::from(FAR_STEP),
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "seek times are far below 2^53 ns")]
fn ms(span: Span) -> f64 {
    span.ns() as f64 / 1e6
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate; the profile keeps seeks below 4 s"
)]
fn nanoseconds(ms: f64) -> u32 {
    (ms * 1e6 + 0.5) as u32
}

fn span(ms: f64) -> Span {
    Span::from_ns(u64::from(nanoseconds(ms)))
}

#[cfg(test)]
mod tests {
    use super::super::geometry::ZoneShape;
    use super::*;
    use drivelab_core::Sectors;

    fn geometry(zones: &[(u32, u32)]) -> Geometry {
        let shape = |&(cylinders, per_track): &(u32, u32)| ZoneShape {
            cylinders,
            per_track,
            track_skew: 1,
            cylinder_skew: 1,
        };
        let shapes: Vec<ZoneShape> = zones.iter().map(shape).collect();
        let sectors = zones.iter().map(|&(c, s)| u64::from(c) * u64::from(s) * 2).sum();
        Geometry::new(2, Sectors::new(sectors), &shapes)
    }

    #[test]
    fn the_mean_over_random_addresses_is_the_stated_average() {
        let geometry = geometry(&[(5000, 200), (5000, 150), (5000, 100)]);
        let average = Span::from_us(8500);
        for from in [
            CurveFrom::AverageAndFull { average, full: Span::from_ms(18) },
            CurveFrom::AverageAndShape { average, shape: 0.5 },
        ] {
            let curve = SeekCurve::fit(&geometry, Span::from_us(800), from).unwrap();
            let table = curve.table(geometry.cylinders());
            let mut rng = drivelab_core::Rng::new(1);
            let mut draw =
                || geometry.locate(Lba::new(rng.below(geometry.capacity().get()))).arm.cylinder;
            let pairs = 400_000;
            let total: u64 = (0..pairs).map(|_| table.time(draw().abs_diff(draw())).ns()).sum();
            let mean = total / pairs;
            // Standard deviation of one seek about 3.6 ms: 6 us of the mean.
            assert!(mean.abs_diff(average.ns()) < 25_000, "{from:?}: {mean}");
        }
    }

    #[test]
    fn an_average_that_no_curve_has_is_refused_with_its_limits() {
        let geometry = geometry(&[(15_000, 100)]);
        let check = |average| {
            let from = CurveFrom::AverageAndFull {
                average: Span::from_ms(average),
                full: Span::from_ms(18),
            };
            let (low, high) = SeekCurve::fit(&geometry, Span::from_ms(1), from).unwrap_err();
            assert!(low > Span::from_us(6500) && high < Span::from_us(14_000), "{low} {high}");
        };
        check(3);
        check(16);
    }

    #[test]
    fn far_seeks_lie_on_the_curve_to_the_nanosecond() {
        let curve =
            SeekCurve { short: Span::from_us(800), full: Span::from_us(18_500), shape: 0.5 };
        let table = curve.table(200_000);
        for distance in (1..200_000_u32).step_by(37).chain([16_383, 16_384, 199_999]) {
            let x = f64::from(distance - 1) / 199_998.0;
            let expected = nanoseconds(0.8 + 17.7 * (0.5 * x.sqrt() + 0.5 * x));
            let found = table.time(distance).ns();
            assert!(found.abs_diff(u64::from(expected)) <= 1, "{distance}: {found} {expected}");
        }
    }

    #[test]
    fn measured_points_are_kept_and_joined_by_lines() {
        let points =
            [(1, Span::from_us(900)), (11, Span::from_us(1900)), (111, Span::from_us(2900))];
        let table = SeekTable::interpolated(&points, 200);
        let check =
            |distance, us| assert_eq!(table.time(distance), Span::from_us(us), "{distance}");
        check(0, 0);
        check(1, 900);
        check(6, 1400);
        check(11, 1900);
        check(61, 2400);
        check(111, 2900);
        check(121, 3000);
    }
}
