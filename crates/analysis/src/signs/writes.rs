//! The write cache of a drive and its flushes, from random writes.

use drivelab_core::measurements::{DriveKind, MeasuredFlush, Measurements};

use super::{Confidence, Sign, alone_ms, loads, revolution_ms};

/// A write to the medium of a disk waits half a revolution on average; a cache that takes writes
/// over and is full half of the time still halves that.
const EARLY_REVOLUTIONS: f64 = 0.25;
/// A write that waits for the medium takes about as long as a read, which waits as long.
const WAITS_OF_READS: f64 = 0.8;
/// The fastest tenth of random writes all over a disk seek and settle, too: 0.06 revolutions are
/// less than any of them takes, and far more than a cache.
const FASTEST_REVOLUTIONS: f64 = 0.06;
/// Programming a page of flash takes 0.2 to 3 ms; a buffer answers within this.
const BUFFERED_MS: f64 = 0.12;
/// The shortest way from one random write to the next in a sorted sequence, in revolutions: 64
/// writes that are sorted over a whole disk take ten revolutions at least.
const WRITE_REVOLUTIONS: f64 = 0.15;
/// A flush of flash that programs pages takes at least this.
const PROGRAMMED_MS: f64 = 0.15;

/// The write cache, and what a flush costs.
pub(super) fn all(measured: &Measurements) -> Vec<Sign> {
    let of_cache = cache(measured);
    let is_early = of_cache.value == Some("acknowledges-early");
    let of_flush = flush(measured, is_early);
    vec![of_cache, of_flush]
}

/// The finding about writes that are acknowledged before they are on the medium.
fn cache(measured: &Measurements) -> Sign {
    const ID: &str = "write-cache";
    const UNKNOWN: &str = "cannot tell whether a write cache acknowledges early";
    let mut bursts = measured.bursts.iter().map(|it| it.p50_ms);
    if measured.kind == Some(DriveKind::Ssd) {
        return match bursts.next() {
            Some(ms) if ms <= BUFFERED_MS => early(format!("a write takes {ms:.3} ms")),
            Some(ms) => Sign::unknown(ID, UNKNOWN, format!("a write takes {ms:.3} ms")),
            None => Sign::unknown(ID, UNKNOWN, WRITES_NEEDED),
        };
    }
    let (write, read) = (alone_ms(measured, true), alone_ms(measured, false));
    let (Some(write), Some(revolution)) = (write, revolution_ms(measured)) else {
        return Sign::unknown(ID, UNKNOWN, WRITES_NEEDED);
    };
    let evidence = format!("a random write takes {write:.2} ms, a revolution {revolution:.1} ms");
    if write < EARLY_REVOLUTIONS * revolution {
        return early(evidence);
    }
    // A cache that is full lets most writes wait, but not all.
    let fastest = loads(measured, true).into_iter().find(|it| it.iodepth == 1);
    let fastest = fastest.and_then(|it| it.figures.get("p10_ms"));
    if let Some(ms) = fastest.filter(|ms| *ms < FASTEST_REVOLUTIONS * revolution) {
        return early(format!(
            "one random write of ten takes less than {ms:.2} ms, a revolution {revolution:.1} ms"
        ));
    }
    if read.is_some_and(|read| write > WAITS_OF_READS * read) {
        let words =
            "no write cache acknowledges early: every write waits for the medium".to_owned();
        return Sign::found(ID, "waits", Confidence::Likely, [words, evidence]);
    }
    Sign::unknown(ID, UNKNOWN, evidence)
}

const WRITES_NEEDED: &str = "measure with --allow-destructive: reads do not show it";

fn early(evidence: String) -> Sign {
    let words = "a write cache acknowledges writes before they are on the medium".to_owned();
    Sign::found("write-cache", "acknowledges-early", Confidence::Certain, [words, evidence])
}

/// The finding about a flush, which may wait until the writes before it are on the medium.
fn flush(measured: &Measurements, is_early: bool) -> Sign {
    const ID: &str = "flush";
    const UNKNOWN: &str = "cannot tell whether a flush waits for the medium";
    let most = measured.flushes.iter().max_by_key(|it| it.writes);
    let Some(MeasuredFlush { writes, mean_ms, .. }) = most.copied() else {
        return Sign::unknown(ID, UNKNOWN, WRITES_NEEDED);
    };
    let evidence = format!("after {writes} random writes a flush takes {mean_ms:.2} ms");
    if measured.kind == Some(DriveKind::Ssd) {
        if mean_ms >= PROGRAMMED_MS {
            return waits("a flush programs what the buffer holds".to_owned(), evidence);
        }
        let words =
            "a flush costs nothing: capacitors protect the buffer, or it is not carried out";
        return Sign::found(ID, "free", Confidence::Likely, [words.to_owned(), evidence]);
    }
    let Some(revolution) = revolution_ms(measured) else {
        return Sign::unknown(ID, UNKNOWN, evidence);
    };
    if !is_early {
        return Sign::unknown(
            ID,
            UNKNOWN,
            format!("{evidence}, and no cache is known to hold them"),
        );
    }
    let least = WRITE_REVOLUTIONS * f64::from(writes) * revolution;
    if writes >= 16 && mean_ms < 0.5 * least.min(revolution) {
        let words = "a flush returns before its writes can be on the medium: it is not carried \
                     out, or the cache survives a power cut";
        let both = [words.to_owned(), format!("{evidence}; the writes alone need {least:.0} ms")];
        return Sign::found(ID, "not-carried-out", Confidence::Certain, both);
    }
    if mean_ms >= least {
        let each = mean_ms / f64::from(writes) / revolution;
        let words =
            format!("a flush waits for the medium: {each:.1} revolutions for each write before it");
        return waits(words, evidence);
    }
    Sign::unknown(ID, UNKNOWN, evidence)
}

fn waits(words: String, evidence: String) -> Sign {
    Sign::found("flush", "waits", Confidence::Certain, [words, evidence])
}
