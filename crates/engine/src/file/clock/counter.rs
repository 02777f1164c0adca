//! The processor's counter, calibrated against the system's clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::sys::tsc::ticks;

/// Fraction bits of the nanoseconds per tick: at 1 GHz and above the factor then has 45 to 49 bits,
/// so rounding it costs less than a nanosecond per day.
const FRACTION: u32 = 48;
/// Length of each half of the calibration: a pair of readings is accurate to about 30 ns, so the
/// rate is accurate to 3 ppm, which is 10 ms in an hour and negligible within a request.
const HALF: Duration = Duration::from_millis(10);
/// Number of readings, of which the fastest is kept; the others were interrupted.
const READINGS: usize = 32;
/// Maximum difference between the two halves of the calibration, in ppm: beyond it the counter is
/// not steady, or this machine is too busy to calibrate it.
const APART_PPM: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counter {
    /// Nanoseconds per tick, in units of 2^-[`FRACTION`].
    factor: u64,
}

impl Counter {
    /// This machine's counter, calibrated once per process; `None` if it is unreliable.
    pub(super) fn of_this_machine() -> Option<Self> {
        static COUNTER: OnceLock<Option<Counter>> = OnceLock::new();
        *COUNTER.get_or_init(|| {
            let [cpuinfo, sources] = [
                "/proc/cpuinfo",
                "/sys/devices/system/clocksource/clocksource0/available_clocksource",
            ]
            .map(|path| std::fs::read_to_string(path).unwrap_or_default());
            reliable(&cpuinfo, &sources).then(calibrated).flatten()
        })
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "584 years of nanoseconds fit")]
    pub(super) fn ns(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.factor)) >> FRACTION) as u64
    }

    /// A counter whose `ticks` took `ns`; `None` if either is zero or the tick is longer than 64
    /// us.
    fn with(ticks: u64, ns: u64) -> Option<Self> {
        let factor = (u128::from(ns) << FRACTION).checked_div(u128::from(ticks))?;
        let factor = u64::try_from(factor).ok().filter(|factor| *factor > 0)?;
        Some(Self { factor })
    }
}

/// Returns true if the counter runs at one rate regardless of the processor's state
/// (`constant_tsc`, `nonstop_tsc`), and the kernel, which monitors it, still accepts it as a clock:
/// a counter that drifts, or differs between processors, is removed from the list (Linux,
/// `kernel/time/clocksource.c`).
fn reliable(cpuinfo: &str, clock_sources: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let flags: Vec<&str> = flags.split_ascii_whitespace().collect();
    let is_steady = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag));
    let is_listed = clock_sources.split_ascii_whitespace().any(|name| name == "tsc");
    cfg!(target_arch = "x86_64") && is_steady && is_listed
}

/// Counts ticks against the system's clock, twice, and takes the rate if both agree.
fn calibrated() -> Option<Counter> {
    let began = Instant::now();
    let readings = [Duration::ZERO, HALF, 2 * HALF].map(|after| {
        std::thread::sleep(after.saturating_sub(began.elapsed()));
        reading(began)
    });
    agreed(readings)
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    ticks: u64,
    ns: u64,
}

/// Counter and clock at the same moment: the fastest of several readings.
fn reading(began: Instant) -> Reading {
    let readings = (0..READINGS).map(|_| {
        let before = ticks();
        let passed = began.elapsed();
        let after = ticks();
        (after.wrapping_sub(before), before + after.wrapping_sub(before) / 2, passed)
    });
    let quickest = readings.min().expect("at least one reading");
    Reading { ticks: quickest.1, ns: u64::try_from(quickest.2.as_nanos()).unwrap_or(u64::MAX) }
}

/// The rate between two readings; none if either runs backwards.
fn rate(from: Reading, to: Reading) -> Option<Counter> {
    Counter::with(to.ticks.checked_sub(from.ticks)?, to.ns.checked_sub(from.ns)?)
}

/// The rate from three readings of counter and nanoseconds, if the halves agree.
fn agreed([first, middle, last]: [Reading; 3]) -> Option<Counter> {
    let (one, other) = (rate(first, middle)?.factor, rate(middle, last)?.factor);
    debug_assert!(one > 0 && other > 0, "a counter counts");
    let apart = one.abs_diff(other);
    if u128::from(apart) * 1_000_000 > u128::from(one) * u128::from(APART_PPM) {
        return None;
    }
    rate(first, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_without_drift() {
        // 2.5 GHz: a day of ticks is a day to within a nanosecond in ten thousand million.
        let counter = Counter::with(2_500_000_000, 1_000_000_000).unwrap();
        assert_eq!(counter.ns(6), 2);
        assert_eq!(counter.ns(0), 0);
        let day = 86_400_u64;
        let off = counter.ns(day * 2_500_000_000).abs_diff(day * 1_000_000_000);
        assert!(off <= 1, "{off} ns in a day");
        assert_eq!(Counter::with(0, 1), None);
        assert_eq!(Counter::with(1, 0), None);
    }

    #[test]
    fn only_a_counter_that_the_kernel_relies_on_is_used() {
        let cpuinfo = |flags: &str| format!("processor\t: 0\nflags\t\t: fpu {flags} sse\n");
        let all = cpuinfo("constant_tsc nonstop_tsc");
        assert_eq!(reliable(&all, "kvm-clock tsc acpi_pm\n"), cfg!(target_arch = "x86_64"));
        assert!(!reliable(&all, "kvm-clock hpet\n"), "the kernel gave it up");
        assert!(!reliable(&cpuinfo("constant_tsc"), "tsc"), "it stops when the processor sleeps");
        assert!(!reliable(&cpuinfo("nonstop_tsc"), "tsc"), "its rate changes");
        assert!(!reliable("", ""));
    }

    #[test]
    fn a_counter_whose_rate_changes_is_refused() {
        // The second half is 40 ppm longer, as after an interrupted reading.
        let agreed =
            |readings: [(u64, u64); 3]| agreed(readings.map(|(ticks, ns)| Reading { ticks, ns }));
        let steady = agreed([(7, 0), (25_000_007, 10_000_000), (50_001_007, 20_000_000)]);
        assert!(steady.is_some());
        let slowed = agreed([(0, 0), (25_000_000, 10_000_000), (49_000_000, 20_000_000)]);
        assert_eq!(slowed, None);
        assert_eq!(agreed([(5, 0), (4, 1), (6, 2)]), None, "it went back");
        assert_eq!(agreed([(5, 0), (5, 1), (5, 2)]), None, "it stands");
    }
}
