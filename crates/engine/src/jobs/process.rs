//! This process: the processors that it may use, and its processor time.

use std::fs;

use drivelab_core::units::Span;
use rustix::time::ClockId;

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

pub(crate) fn usable_cpus() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Processor time of the whole process, user and system: the kernel does part of a ring's work in
/// threads that belong to the process but are not ours.
pub(crate) fn process_cpu() -> Span {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let [seconds, rest] = [time.tv_sec, time.tv_nsec].map(|it| u64::try_from(it).unwrap_or(0));
    Span::from_secs(seconds) + Span::from_ns(rest)
}

/// Returns the time in which this thread has been runnable but had no processor.
pub(crate) fn waited() -> Span {
    // The file is missing without CONFIG_SCHED_INFO: nothing is then known to have waited.
    waited_in(&fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default())
}

/// Linux, `Documentation/scheduler/sched-stats.rst`: time on a processor, time waiting for one,
/// both in nanoseconds, and time slices.
fn waited_in(schedstat: &str) -> Span {
    let waited = schedstat.split_ascii_whitespace().nth(1);
    Span::from_ns(waited.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_processor_is_read() {
        assert_eq!(waited_in("1200 34 5\n"), Span::from_ns(34));
        assert_eq!(waited_in(""), Span::ZERO);
        assert!(!usable_cpus().is_empty());
    }

    #[test]
    fn processor_time_grows_while_we_work() {
        let before = process_cpu();
        let mut sum = 0_u64;
        while process_cpu() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(process_cpu() > before);
    }
}
