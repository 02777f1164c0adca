//! The processor's time stamp counter.
//!
//! It is in this folder because reading it is not a safe function, and only this folder may contain
//! such calls.

/// The present value of the counter, read after everything that precedes it in the program.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ticks() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // Without the fence the processor may read the counter before the completion that is to be
    // stamped (Intel SDM, RDTSC); the kernel's own clock fences too.
    // SAFETY: every x86-64 processor has the fence, which touches no memory.
    unsafe { _mm_lfence() };
    // SAFETY: every x86-64 processor has the counter, and reading it changes nothing. Where the
    // system forbids it to programs, it said so by not keeping time by it: see `file::clock`.
    unsafe { _rdtsc() }
}

/// Other processors' counters are not read: the system's clock is as good there.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    0
}
