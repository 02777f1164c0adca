//! Client round-trip time, and drives too fast to be served across it.

use drivelab_core::Span;
use drivelab_core::record::Served;

/// Time that even a loop that never sleeps takes per request: a round trip over a unix socket took
/// 13 us (`cargo bench -p drivelab --bench emulation`).
pub(super) const ROUND_TRIP: Span = Span::from_us(15);

/// Time that a request takes in addition to the drive and the median lateness, with the work of the
/// client: 18 to 43 us in six runs of fio over NBD (`docs/internals/emulation-error.md`). Close to
/// the longest, so that a run that counts as valid is.
pub(super) const CLIENT_OVERHEAD: Span = Span::from_us(40);

/// The share of a typical read by which an answer may be late: a twentieth. It moves a quantile of
/// the answers by less than two streams of random addresses differ (up to 8 %, see
/// `docs/internals/emulation-error.md`), and is four times what an idle host adds to a disk of
/// 12 ms.
pub(super) const SHARE: u64 = 20;

/// Returns whether serving adds more than a twentieth of the time that the drive takes.
pub(super) fn distorts(added: Span, drive: Span) -> bool {
    added > drive / SHARE
}

/// Describes the round trip if it takes more than a twentieth of the drive's typical answer.
pub fn falls_short(typical: Span) -> Option<String> {
    let percent = 100 * ROUND_TRIP.ns() / typical.ns().max(1);
    distorts(ROUND_TRIP, typical).then(|| {
        format!(
            "a round trip to a client takes {ROUND_TRIP} or more, {percent} % of the {typical} \
             that this drive takes for a random read"
        )
    })
}

/// Returns the reason why a run measured the host and not the drive; `None` if it is valid.
pub fn why_void(served: &Served) -> Option<String> {
    if served.valid {
        return None;
    }
    let added = Span::from_ns(served.added_ns.unwrap_or(0));
    let own = Span::from_ns(served.model_ns.map_or(0, |model| model.mean));
    if served.ios == 0 {
        return Some(
            "no request reached the drive: memory answered all of it, so nothing was measured of \
             the drive"
                .into(),
        );
    }
    Some(if own > Span::ZERO && distorts(added, own) {
        // Whole microseconds: more digits would suggest a precision that the model has not.
        let [added, own] = [added, own].map(|span| Span::from_us(span.ns() / 1000));
        format!(
            "serving adds about {added} to a request, and the drive takes {own} on average: more \
             than a twentieth, so this measured the host, not the drive; more requests at once, \
             or virtual time (drivelab run drive:NAME, `--stage simulate`), measure the drive"
        )
    } else {
        format!(
            "{} of {} completions were sent more than {} after the time the model gave: this \
             measured the host, not the drive",
            served.late,
            served.ios,
            Span::from_ns(served.lateness_bound_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::{Latency, LatenessNs};

    use super::*;

    #[test]
    fn a_drive_faster_than_twenty_times_the_way_falls_short() {
        assert_eq!(falls_short(Span::from_us(300)), None);
        let short = falls_short(Span::from_us(92)).unwrap();
        assert!(short.contains("15us or more, 16 % of the 92us"), "{short}");
    }

    #[test]
    fn what_serving_adds_may_be_a_twentieth_of_what_the_drive_takes() {
        assert!(!distorts(Span::from_us(30), Span::from_us(600)));
        assert!(distorts(Span::from_us(30), Span::from_us(599)));
        assert!(distorts(Span::from_us(1), Span::ZERO));
    }

    #[test]
    fn a_void_run_says_what_was_too_slow() {
        let run = |added_ns, mean, valid| Served {
            ios: 1000,
            lateness_ns: LatenessNs { p50: Some(0), p99: Some(900_000), max: Some(900_000) },
            model_ns: Some(Latency { mean, ..Latency::default() }),
            lateness_bound_ns: 500_000,
            late: 20,
            added_ns,
            valid,
            scheduling: "fifo".into(),
        };
        assert_eq!(why_void(&run(Some(30_000), 92_000, true)), None);
        let said = why_void(&run(Some(30_000), 92_000, false)).unwrap();
        assert!(said.contains("adds about 30us") && said.contains("takes 92us"), "{said}");
        let none = Served { ios: 0, late: 0, model_ns: None, ..run(None, 0, false) };
        let said = why_void(&none).unwrap();
        assert!(said.starts_with("no request reached the drive"), "{said}");
        for late in [run(Some(30_000), 12_000_000, false), run(None, 92_000, false)] {
            let said = why_void(&late).unwrap();
            assert!(said.contains("20 of 1000") && said.contains("500us"), "{said}");
        }
    }
}
