//! Loads that were measured in several pieces, with others in between: together the figures, apart
//! what shows whether something disturbed them.

use drivelab_core::measurements::{Figures, MeasuredLoad};
use drivelab_core::record::{Mark, MarkId};
use drivelab_core::units::Span;

use crate::load::{Piece, RandomLoad, float};

/// Fewer requests than this are no load.
const FEWEST: usize = 32;

/// Two rates that differ by more of their standard errors do not differ by chance: of the 30 parts
/// that the errors rest on, one pair in ten thousand does (Student).
const CLEAR: f64 = 4.5;
/// A smaller difference, as a logarithm, matters to no fit.
const SMALL: f64 = 0.03;

/// The pieces of all loads.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Piece>);

/// The pieces of one load.
struct Of<'a>(Vec<&'a Piece>);

impl Pieces {
    pub(crate) fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    /// What each load showed, in the order in which they were first measured; without those that
    /// were stopped before they had shown anything.
    pub(crate) fn loads(&self) -> Vec<MeasuredLoad> {
        self.each().iter().filter_map(Of::figures).collect()
    }

    /// That the pieces of a load differ by more than chance, where they do.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let apart = |of: Of<'_>| of.apart().map(|off| (of.0[0].load, of.rates(), off));
        let apart: Vec<_> = self.each().into_iter().filter_map(apart).collect();
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

    fn each(&self) -> Vec<Of<'_>> {
        let mut all: Vec<Of<'_>> = Vec::new();
        for piece in &self.0 {
            match all.iter_mut().find(|of| of.0[0].load == piece.load) {
                // What was cut short adds nothing to a whole piece.
                Some(of) if piece.is_whole => of.0.push(piece),
                Some(_) => {}
                None => all.push(Of(vec![piece])),
            }
        }
        all
    }
}

impl Of<'_> {
    fn figures(&self) -> Option<MeasuredLoad> {
        let mut times: Vec<Span> = self.0.iter().flat_map(|piece| &piece.times).copied().collect();
        let elapsed = self.0.iter().fold(Span::ZERO, |sum, piece| sum + piece.elapsed);
        if times.len() < FEWEST || elapsed.is_zero() {
            return None;
        }
        times.sort_unstable();
        let iops = float(times.len() as u64) / seconds(elapsed);
        let RandomLoad { write, state, span, whole, iodepth, .. } = self.0[0].load;
        let span_bytes = (!whole).then(|| span.bytes().get());
        let is_whole = self.0.iter().all(|piece| piece.is_whole);
        let parts: Vec<u32> = self.0.iter().flat_map(|piece| &piece.parts).copied().collect();
        // Pieces that differ say more of the error than the parts of each.
        let error = relative_error(&parts).max(self.apart().unwrap_or(0.0) / 2.0);
        Some(MeasuredLoad {
            state,
            requests: Some(times.len() as u64),
            rate_error: is_whole.then_some(error),
            figures: Figures::of_times(&times, iops),
            ..MeasuredLoad::new(write, span_bytes, iodepth)
        })
    }

    fn rates(&self) -> Vec<f64> {
        let rate = |piece: &&Piece| float(piece.times.len() as u64) / seconds(piece.elapsed);
        self.0.iter().map(rate).collect()
    }

    /// By how much the logarithms of the rates differ, where that is not chance.
    fn apart(&self) -> Option<f64> {
        let rates = self.rates();
        let (low, high) = (0..rates.len()).fold((0, 0), |(low, high), at| {
            let low = if rates[at] < rates[low] { at } else { low };
            (low, if rates[at] > rates[high] { at } else { high })
        });
        let off = libm::log(rates[high] / rates[low]);
        let errors = [low, high].map(|at| relative_error(&self.0[at].parts));
        let chance = libm::hypot(errors[0], errors[1]);
        (off > SMALL && off > CLEAR * chance).then_some(off)
    }
}

fn seconds(span: Span) -> f64 {
    float(span.ns()) / 1e9
}

/// The standard error of the mean of `counts`, as a share of it: batch means, which see whatever
/// correlation there is within a part.
fn relative_error(counts: &[u32]) -> f64 {
    let n = float(counts.len() as u64);
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
    let off = |count: &u32| (f64::from(*count) - mean) * (f64::from(*count) - mean);
    let variance = counts.iter().map(off).sum::<f64>() / (n - 1.0);
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
