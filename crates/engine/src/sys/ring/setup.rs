//! Creates a ring, with the best properties that the kernel offers.

use std::io;

use drivelab_core::Polling;
use io_uring::{Builder, IoUring};

/// An optional property of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    /// A batch stays together after a bad request (5.18).
    SubmitAll,
    /// Only one thread uses the ring (6.0).
    SingleIssuer,
    /// Completions are handled when we ask for them and not by interrupting us (6.1).
    DeferTaskrun,
    /// They are handled at the next system call of any kind (5.19).
    CoopTaskrun,
    /// One indirection less per request (6.6).
    NoSqarray,
    /// [`Polling::completions`].
    Iopoll,
    /// [`Polling::submissions`].
    Sqpoll,
}

use Flag::{CoopTaskrun, DeferTaskrun, Iopoll, NoSqarray, SingleIssuer, Sqpoll, SubmitAll};

/// Combinations of flags, best first; an older kernel knows fewer flags and answers EINVAL.
const WAYS: [&[Flag]; 4] = [
    &[SubmitAll, SingleIssuer, DeferTaskrun, NoSqarray],
    &[SubmitAll, SingleIssuer, DeferTaskrun],
    &[SubmitAll, CoopTaskrun],
    &[],
];

/// The same if a kernel thread submits: nothing then interrupts us, and the kernel refuses the
/// flags about that.
const SQPOLL_WAYS: [&[Flag]; 3] = [&[SubmitAll, SingleIssuer, NoSqarray], &[SubmitAll], &[]];

/// Time for which the kernel's thread keeps polling after the last request, in milliseconds: the
/// kernel's default (`io_uring_setup(2)`, `sq_thread_idle`).
const IDLE_MS: u32 = 1000;

impl Flag {
    fn set(self, builder: &mut Builder) {
        match self {
            SubmitAll => builder.setup_submit_all(),
            SingleIssuer => builder.setup_single_issuer(),
            DeferTaskrun => builder.setup_defer_taskrun(),
            CoopTaskrun => builder.setup_coop_taskrun(),
            NoSqarray => builder.setup_no_sqarray(),
            Iopoll => builder.setup_iopoll(),
            Sqpoll => builder.setup_sqpoll(IDLE_MS),
        };
    }
}

/// A ring for `entries` requests at once.
///
/// # Errors
/// ENOSYS: the kernel was built without it, or a sandbox hides it. EPERM: it is switched off
/// (sysctl `kernel.io_uring_disabled`) or a sandbox refuses it. EOPNOTSUPP: the kernel is older
/// than 5.11 and cannot wait for a limited time.
pub(crate) fn ring(entries: u32, polling: Polling) -> io::Result<IoUring> {
    best(polling, |flags| {
        let mut builder = IoUring::builder();
        for flag in flags {
            flag.set(&mut builder);
        }
        let ring = builder.build(entries)?;
        if ring.params().is_feature_ext_arg() {
            return Ok(ring);
        }
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    })
}

/// The result of `kernel` for the first combination all of whose flags it knows.
fn best<R>(polling: Polling, kernel: impl Fn(&[Flag]) -> io::Result<R>) -> io::Result<R> {
    let ways: &[&[Flag]] = if polling.submissions { &SQPOLL_WAYS } else { &WAYS };
    let asked = [(polling.completions, Iopoll), (polling.submissions, Sqpoll)];
    let asked = asked.iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| *flag);
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for way in ways {
        let flags: Vec<Flag> = way.iter().copied().chain(asked.clone()).collect();
        match kernel(&flags) {
            // Only this error depends on the flags; any other would come back with fewer.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
            answer => return answer,
        }
    }
    Err(last)
}

/// Checks that this process may use `io_uring` here and now.
///
/// # Errors
/// As [`ring`].
pub(crate) fn probe(polling: Polling) -> io::Result<()> {
    ring(2, polling).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Flag; 7] =
        [SubmitAll, SingleIssuer, DeferTaskrun, CoopTaskrun, NoSqarray, Iopoll, Sqpoll];
    const COMPLETIONS: Polling = Polling { completions: true, submissions: false };
    const SUBMISSIONS: Polling = Polling { completions: false, submissions: true };

    /// The combination accepted by a kernel without some flags, which refuses what a real one
    /// refuses.
    fn taken(polling: Polling, absent: &[Flag]) -> io::Result<Vec<Flag>> {
        best(polling, |flags| {
            let has = |flag| flags.contains(&flag);
            // Linux, `io_uring/io_uring.c`: the flags that exclude or need one another.
            let excluded = has(Sqpoll) && (has(DeferTaskrun) || has(CoopTaskrun));
            let incomplete = has(DeferTaskrun) && !has(SingleIssuer);
            if excluded || incomplete || absent.iter().any(|flag| has(*flag)) {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            Ok(flags.to_vec())
        })
    }

    #[test]
    fn a_flag_that_the_kernel_lacks_costs_that_flag_and_what_needs_it() {
        let check = |absent: &[Flag], expected: &[Flag]| {
            assert_eq!(taken(Polling::default(), absent).unwrap(), expected, "no {absent:?}");
        };
        check(&[], WAYS[0]);
        check(&[NoSqarray], &[SubmitAll, SingleIssuer, DeferTaskrun]);
        check(&[NoSqarray, DeferTaskrun], &[SubmitAll, CoopTaskrun]);
        check(&[NoSqarray, DeferTaskrun, SingleIssuer], &[SubmitAll, CoopTaskrun]);
        check(&[CoopTaskrun], WAYS[0]);
        check(&[NoSqarray, DeferTaskrun, SingleIssuer, CoopTaskrun], &[]);
        check(&[SubmitAll], &[]);
        check(&ALL, &[]);
    }

    #[test]
    fn polling_is_kept_on_any_kernel_that_has_it_and_never_dropped_silently() {
        assert!(taken(COMPLETIONS, &[]).unwrap().ends_with(&[DeferTaskrun, NoSqarray, Iopoll]));
        assert_eq!(taken(COMPLETIONS, &ALL[..5]).unwrap(), [Iopoll]);
        assert_eq!(taken(SUBMISSIONS, &[]).unwrap(), [SubmitAll, SingleIssuer, NoSqarray, Sqpoll]);
        assert_eq!(taken(SUBMISSIONS, &[NoSqarray]).unwrap(), [SubmitAll, Sqpoll]);
        assert_eq!(taken(SUBMISSIONS, &ALL[..5]).unwrap(), [Sqpoll]);
        for (polling, flag) in [(COMPLETIONS, Iopoll), (SUBMISSIONS, Sqpoll)] {
            let error = taken(polling, &[flag]).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
    }

    #[test]
    fn a_refusal_that_is_not_about_flags_ends_the_search() {
        let asked = std::cell::Cell::new(0);
        let error = best(Polling::default(), |_| {
            asked.set(asked.get() + 1);
            Err::<(), _>(io::Error::from_raw_os_error(libc::EPERM))
        });
        assert_eq!((error.unwrap_err().raw_os_error(), asked.get()), (Some(libc::EPERM), 1));
    }
}
