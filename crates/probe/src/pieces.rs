//! Loads that were measured in several pieces, with others in between: combined they give the
//! figures, compared they show disturbances.

use drivelab_core::measurements::{Figures, MeasuredLoad};
use drivelab_core::numbers::float;
use drivelab_core::record::{Mark, MarkId};
use drivelab_core::units::Span;

use crate::load::{Piece, RandomLoad};

/// Minimum number of requests for figures.
const REQUESTS_MIN: usize = 32;

/// Difference of two rates, in standard errors, that is not chance: the errors rest on 30 parts,
/// for which one pair in ten thousand differs by as much (Student's t).
const CLEAR_ERRORS: f64 = 4.5;
/// Smallest difference, as a logarithm, that affects a fit.
const SHIFT_MIN: f64 = 0.03;

/// The pieces of all loads.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Piece>);

/// The pieces of one load.
struct LoadPieces<'a>(Vec<&'a Piece>);

impl Pieces {
    pub(crate) fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    /// Returns the figures of each load, in the order in which they were first measured, without
    /// those that were stopped before they had enough requests.
    pub(crate) fn loads(&self) -> Vec<MeasuredLoad> {
        self.each().iter().filter_map(LoadPieces::figures).collect()
    }

    /// Returns a mark if the pieces of a load differ by more than chance.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let loads = self.each().into_iter();
        let apart: Vec<_> = loads
            .filter_map(|of| of.shift().map(|shift| (of.0[0].load, of.rates(), shift)))
            .collect();
        // The message names the load with the largest difference.
        let (load, rates, _) = apart.iter().max_by(|one, other| one.2.total_cmp(&other.2))?;
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.1}")).collect();
        let verb = if load.write { "writes" } else { "reads" };
        let within = if load.whole {
            "the whole drive".to_owned()
        } else {
            format!("the first {} GB", load.span.bytes().get() / 1_000_000_000)
        };
        let others = match apart.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} other loads likewise"),
        };
        let (apart, cause) = match load.state {
            Some(_) => ("one after the other", "the drive had not reached the state that was said"),
            None => ("a minute apart", "something else used the drive or the machine"),
        };
        let message = format!(
            "random {verb} of {within} at depth {} made {} IOPS in pieces {apart}, which is not \
             chance{others}: {cause}",
            load.iodepth,
            rates.join(" and "),
        );
        Some(Mark { id: MarkId::Unsteady, message })
    }

    fn each(&self) -> Vec<LoadPieces<'_>> {
        let mut all: Vec<LoadPieces<'_>> = Vec::new();
        for piece in &self.0 {
            match all.iter_mut().find(|of| of.0[0].load == piece.load) {
                // A stopped piece adds nothing to a complete one.
                Some(of) if piece.is_whole => of.0.push(piece),
                Some(_) => {}
                None => all.push(LoadPieces(vec![piece])),
            }
        }
        all
    }
}

impl LoadPieces<'_> {
    fn figures(&self) -> Option<MeasuredLoad> {
        let mut times: Vec<Span> = self.0.iter().flat_map(|piece| &piece.times).copied().collect();
        let elapsed = self.0.iter().fold(Span::ZERO, |sum, piece| sum + piece.elapsed);
        if times.len() < REQUESTS_MIN || elapsed.is_zero() {
            return None;
        }
        // Sorted once here: all quantiles of the load are read from this order.
        times.sort_unstable();
        let iops = float(times.len() as u64) / seconds(elapsed);
        let RandomLoad { write, state, span, whole, iodepth, .. } = self.0[0].load;
        let span_bytes = (!whole).then(|| span.bytes().get());
        let is_whole = self.0.iter().all(|piece| piece.is_whole);
        let parts: Vec<u32> = self.0.iter().flat_map(|piece| &piece.parts).copied().collect();
        // Pieces that differ say more of the error than the parts of each.
        let error = relative_error(&parts).max(self.shift().unwrap_or(0.0) / 2.0);
        Some(MeasuredLoad {
            state,
            requests: Some(times.len() as u64),
            rate_error: is_whole.then_some(error),
            figures: Figures::of_times(&times, iops),
            ..MeasuredLoad::new(write, span_bytes, iodepth)
        })
    }

    fn rates(&self) -> Vec<f64> {
        let counted = self.0.iter().map(|piece| (piece.times.len() as u64, piece.elapsed));
        counted.map(|(count, elapsed)| float(count) / seconds(elapsed)).collect()
    }

    /// Returns the difference of the logarithms of the lowest and highest rate, if it is not
    /// chance.
    fn shift(&self) -> Option<f64> {
        let per_second = self.rates();
        debug_assert!(!per_second.is_empty(), "a load has at least one piece");
        let (low, high) = (0..per_second.len()).fold((0, 0), |(low, high), at| {
            let low = if per_second[at] < per_second[low] { at } else { low };
            (low, if per_second[at] > per_second[high] { at } else { high })
        });
        let off = libm::log(per_second[high] / per_second[low]);
        let errors = [low, high].map(|at| relative_error(&self.0[at].parts));
        let chance = libm::hypot(errors[0], errors[1]);
        (off > SHIFT_MIN && off > CLEAR_ERRORS * chance).then_some(off)
    }
}

fn seconds(span: Span) -> f64 {
    float(span.ns()) / 1e9
}

/// Returns the standard error of the mean of `counts`, relative to it: batch means, which include
/// any correlation within a part.
fn relative_error(counts: &[u32]) -> f64 {
    debug_assert!(counts.len() > 1, "a variance needs two values");
    let n = float(counts.len() as u64);
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
    let deviations = counts.iter().map(|count| f64::from(*count) - mean);
    let variance = deviations.map(|off| off * off).sum::<f64>() / (n - 1.0);
    libm::sqrt(variance / n) / mean
}

#[cfg(test)]
mod tests {
    use drivelab_core::units::Sectors;

    use super::*;

    #[test]
    fn the_error_of_a_rate_is_that_of_its_parts() {
        assert!(relative_error(&[10; 16]) < 1e-12);
        // Variance 1 of 4 values about 10: a standard error of a half, which is 5 %.
        let spread = relative_error(&[9, 11, 9, 11]);
        assert!((spread - libm::sqrt(4.0 / 3.0 / 4.0) / 10.0).abs() < 1e-12, "{spread}");
    }

    const LOAD: RandomLoad = RandomLoad {
        write: false,
        state: None,
        span: Sectors::new(1 << 30),
        whole: true,
        iodepth: 1,
        ramp: Span::ZERO,
        time: Span::from_secs(10),
    };

    /// A piece whose sixteen parts have about so many requests each.
    fn piece(iodepth: u32, each: u32) -> Piece {
        let parts: Vec<u32> = (0..16).map(|part| each + part % 3).collect();
        let count = parts.iter().sum::<u32>() as usize;
        let load = RandomLoad { iodepth, ..LOAD };
        let times = vec![Span::from_ms(13); count];
        Piece { load, times, parts, elapsed: LOAD.time, is_whole: true }
    }

    #[test]
    fn pieces_are_one_load_and_mark_what_is_not_chance() {
        let mut pieces = Pieces::default();
        for it in [piece(1, 45), piece(32, 80), piece(1, 46), piece(32, 81)] {
            pieces.push(it);
        }
        let loads = pieces.loads();
        let found: Vec<(u32, u64)> =
            loads.iter().map(|load| (load.iodepth, load.requests.unwrap())).collect();
        assert_eq!(found, [(1, 2 * 735 + 16), (32, 2 * 1295 + 16)]);
        assert!(loads.iter().all(|load| load.rate_error.unwrap() < 0.01), "{loads:?}");
        assert_eq!(pieces.mark(), None);
        // Something took a quarter of one piece.
        pieces.push(piece(1, 34));
        let mark = pieces.mark().expect("it is not chance");
        assert_eq!(mark.id, MarkId::Unsteady);
        assert!(mark.message.contains("depth 1 made 73.5 and 75.1 and 55.9 IOPS"), "{mark:?}");
        let error = pieces.loads()[0].rate_error.unwrap();
        assert!((error - libm::log(75.1 / 55.9) / 2.0).abs() < 1e-3, "{error}");
    }

    #[test]
    fn what_was_cut_short_adds_nothing_to_a_whole_piece() {
        let cut =
            |count| Piece { times: vec![Span::from_ms(9); count], is_whole: false, ..piece(1, 3) };
        let mut pieces = Pieces::default();
        pieces.push(piece(1, 45));
        pieces.push(cut(40));
        assert_eq!(pieces.loads()[0].requests, Some(735));
        let alone = |count| {
            let mut pieces = Pieces::default();
            pieces.push(cut(count));
            pieces.loads().pop().map(|load| (load.requests, load.rate_error))
        };
        assert_eq!(alone(40), Some((Some(40), None)));
        assert_eq!(alone(31), None);
    }
}
