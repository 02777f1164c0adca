//! The offset between the clocks of two hosts.
//!
//! Cristian's estimate (Distributed Computing 3, 1989, p. 146), with the rule of NTP (RFC 5905,
//! section 10, clock filter) that of many exchanges the one with the shortest round trip is right:
//! delays of the others are rarely the same in both directions.

use drivelab_core::record::ClockOffset;
use drivelab_core::units::{Span, Time};

use super::{Crew, Ranks};

/// Exchanges with each rank. The shortest of 64 is free of queueing on any network that is not
/// busy all the time, and a thousand ranks at 100 us take less than seven seconds.
const ROUNDS: usize = 64;
/// Limit where even the shortest took longer than [`LONG`], as a host is too busy to answer at
/// once: more exchanges find an idle moment.
const ROUNDS_MAX: usize = 8 * ROUNDS;
/// An offset that is known to half of it is good enough for a common start.
const LONG: Span = Span::from_ms(1);

/// One exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Time of the question, by the clock of the asker.
    pub sent: Time,
    /// The time that the other clock showed in between.
    pub other: Time,
    /// Time of the answer, by the clock of the asker.
    pub back: Time,
}

impl Round {
    fn trip_ns(&self) -> u64 {
        self.back.ns().saturating_sub(self.sent.ns())
    }
}

/// The offset of the other clock, from the shortest of the exchanges.
pub fn best(rounds: &[Round]) -> Option<ClockOffset> {
    let shortest = rounds.iter().min_by_key(|round| round.trip_ns())?;
    // The other clock was read half way, give or take half of the round trip.
    let middle = i128::from(shortest.sent.ns()) + i128::from(shortest.trip_ns() / 2);
    let ns = i128::from(shortest.other.ns()) - middle;
    Some(ClockOffset {
        ns: i64::try_from(ns).unwrap_or(i64::MAX),
        error_ns: shortest.trip_ns().div_ceil(2),
    })
}

/// Measures the clocks of all ranks against that of rank 0, which calls this; `None` for one that
/// does not answer.
pub(super) fn measure<R: Ranks>(crew: &mut Crew<'_, R>) -> Vec<Option<ClockOffset>> {
    let mut offsets = vec![Some(ClockOffset::default())];
    for rank in 1..crew.size() {
        offsets.push(rounds(|| ask(crew, rank)).and_then(|rounds| best(&rounds)));
    }
    offsets
}

/// Enough exchanges for a short one; `None` where one fails.
fn rounds(mut ask: impl FnMut() -> Option<Round>) -> Option<Vec<Round>> {
    let (mut rounds, mut shortest) = (Vec::with_capacity(ROUNDS), Span::MAX);
    while rounds.len() < ROUNDS || (rounds.len() < ROUNDS_MAX && shortest > LONG) {
        let round = ask()?;
        shortest = shortest.min(round.back.since(round.sent));
        rounds.push(round);
    }
    Some(rounds)
}

fn ask<R: Ranks>(crew: &mut Crew<'_, R>, rank: u32) -> Option<Round> {
    let sent = crew.now();
    crew.send(rank, &[]).then_some(())?;
    let answer = crew.receive(rank)?;
    // Before the answer is read: the error is half of the round trip.
    let back = crew.now();
    let other = Time::from_ns(u64::from_le_bytes(answer.try_into().ok()?));
    Some(Round { sent, other, back })
}

/// Answers rank 0, which has asked for the time.
pub(super) fn answer<R: Ranks>(crew: &mut Crew<'_, R>) {
    let now = crew.now().ns().to_le_bytes();
    crew.send(0, &now);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(sent: u64, other: u64, back: u64) -> Round {
        let [sent, other, back] = [sent, other, back].map(Time::from_ns);
        Round { sent, other, back }
    }

    #[test]
    fn the_shortest_round_trip_is_right() {
        // The other clock is 1,000 ahead. Ways there and back take 10 and 10, then 500 and 10.
        let rounds = [round(0, 1_500, 510), round(1_000, 2_010, 1_020), round(2_000, 3_010, 2_510)];
        assert_eq!(best(&rounds), Some(ClockOffset { ns: 1_000, error_ns: 10 }));
        assert_eq!(best(&[round(5_000, 1_000, 5_001)]).map(|it| it.ns), Some(-4_000));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn a_busy_host_is_asked_until_it_answers_at_once() {
        let asked = |trips: &dyn Fn(usize) -> Option<u64>| {
            let mut count = 0;
            let rounds = rounds(|| {
                count += 1;
                trips(count).map(|trip| round(0, 0, trip))
            });
            (rounds.is_some(), count)
        };
        assert_eq!(asked(&|_| Some(80_000)), (true, ROUNDS));
        let slow = 4_000_000;
        assert_eq!(asked(&|_| Some(slow)), (true, ROUNDS_MAX));
        assert_eq!(asked(&|count| Some(if count == 200 { 80_000 } else { slow })), (true, 200));
        assert_eq!(asked(&|count| (count < 9).then_some(slow)), (false, 9));
    }

    proptest::proptest! {
        #[test]
        fn the_offset_is_within_its_error(
            ahead in -1_000_000_i64..1_000_000,
            ways: Vec<(u16, u16)>,
        ) {
            let mut now = 2_000_000_u64;
            let mut rounds = Vec::new();
            for (there, back) in ways {
                let other = (now + u64::from(there)).checked_add_signed(ahead).unwrap();
                let end = now + u64::from(there) + u64::from(back);
                rounds.push(round(now, other, end));
                now = end + 1;
            }
            if let Some(found) = best(&rounds) {
                proptest::prop_assert!(found.ns.abs_diff(ahead) <= found.error_ns);
            }
        }
    }
}
