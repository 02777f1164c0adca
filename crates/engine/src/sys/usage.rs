//! The use of processor and memory by this thread.

use std::mem::MaybeUninit;

use drivelab_core::record::Usage;
use drivelab_core::units::Span;

/// The use of this thread so far; nothing where the kernel does not say.
pub(crate) fn of_this_thread() -> Option<Usage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one `rusage` to where it lives until the call returns.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: zeroes are a valid `rusage`, and so is what the kernel wrote over them.
    let usage = unsafe { usage.assume_init() };
    Some(Usage {
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
        switches: count(usage.ru_nvcsw).saturating_add(count(usage.ru_nivcsw)),
        faults_major: count(usage.ru_majflt),
        faults_minor: count(usage.ru_minflt),
    })
}

fn count(number: libc::c_long) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A time of the kernel.
pub(super) fn span(time: libc::timeval) -> Span {
    let [seconds, rest] = [time.tv_sec, time.tv_usec].map(|it| u64::try_from(it).unwrap_or(0));
    Span::from_secs(seconds) + Span::from_us(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_thread_does_is_counted() {
        let before = of_this_thread().unwrap();
        let mut pages = Vec::new();
        let mut used = Usage::default();
        // New memory is faulted in, and filling it takes time.
        while used.faults_minor == 0 || used.user + used.system == Span::ZERO {
            pages.push(std::hint::black_box(vec![1_u8; 1 << 20]));
            pages.truncate(64);
            used = of_this_thread().unwrap().since(before);
        }
        assert!(used.faults_minor > 0);
    }
}
