//! The ways in which requests reach the kernel.

use std::io;

use drivelab_core::record::{Mark, MarkId};
use drivelab_core::workload::Pace;
use drivelab_core::{IoEngine, Polling};

/// Why the requested way of doing I/O is not available.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum IoEngineError {
    #[error("io_uring cannot be used here")]
    NoRing {
        #[source]
        source: io::Error,
    },
    #[error("io_uring of this kernel cannot discard blocks of a device")]
    NoDiscards { iodepth: u32 },
    #[error("`{0}` cannot poll: `hipri` and `sqthread_poll` need io_uring")]
    NothingToPoll(IoEngine),
    #[error("a synchronous engine keeps one request outstanding, but `iodepth` is {iodepth}")]
    OneAtATime {
        iodepth: u32,
        /// Why psync must be used, if it was not requested.
        #[source]
        source: Option<io::Error>,
    },
}

impl IoEngineError {
    /// Returns the next command to type.
    pub fn hint(&self) -> String {
        match self {
            Self::NoRing { source } => format!("{}, or use `--ioengine=psync`", remedy(source)),
            Self::NoDiscards { iodepth: 1 } => {
                "boot Linux 6.12 or later, or use `--ioengine=psync`".into()
            }
            Self::NoDiscards { iodepth } => {
                let psync = format!("--ioengine=psync --iodepth=1 --numjobs={iodepth}");
                format!("boot Linux 6.12 or later, or use `{psync}`")
            }
            Self::NothingToPoll(_) => "use `--ioengine=io_uring`".into(),
            Self::OneAtATime { iodepth, source: None } => {
                format!("use `--ioengine=io_uring`, or `--iodepth=1 --numjobs={iodepth}`")
            }
            Self::OneAtATime { iodepth, source: Some(source) } => {
                format!("{}, or use `--iodepth=1 --numjobs={iodepth}`", remedy(source))
            }
        }
    }
}

fn remedy(refused: &io::Error) -> &'static str {
    match refused.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "allow io_uring with `sysctl kernel.io_uring_disabled=0`, and in a container in its \
             seccomp profile"
        }
        Some(libc::ENOSYS | libc::EOPNOTSUPP) => {
            "boot Linux 5.11 or later with CONFIG_IO_URING, and allow io_uring in the sandbox if \
             there is one"
        }
        Some(libc::ENOMEM) => "raise the limit for locked memory with `ulimit -l unlimited`",
        _ => "find out why io_uring does not work here",
    }
}

/// Chooses the way of doing I/O; `probe` says whether rings are available.
///
/// Without a ring, psync replaces it only where it is equivalent: in an open loop, where requests
/// that it cannot send in time show as lateness, and at depth 1. At greater depths it would measure
/// something else than was requested.
pub(crate) fn choose(
    asked: Option<IoEngine>,
    polling: Polling,
    pace: Pace,
    probe: impl FnOnce() -> io::Result<()>,
) -> Result<(IoEngine, Option<Mark>), IoEngineError> {
    let depth = too_deep(pace);
    let polled = polling != Polling::default();
    // Checked first: a polled run must not fall back to an engine that cannot poll.
    if let Some(other) = asked.filter(|asked| polled && *asked != IoEngine::IoUring) {
        return Err(IoEngineError::NothingToPoll(other));
    }
    // Before the ring is probed: these three work where io_uring is forbidden.
    if asked == Some(IoEngine::Null) {
        return Ok((IoEngine::Null, None));
    }
    if asked == Some(IoEngine::Libaio) {
        return Ok((IoEngine::Libaio, None));
    }
    if let Some(engine) = asked.filter(|asked| asked.is_synchronous()) {
        return match depth {
            Some(iodepth) => Err(IoEngineError::OneAtATime { iodepth, source: None }),
            None => Ok((engine, None)),
        };
    }
    let source = match probe() {
        Ok(()) => return Ok((IoEngine::IoUring, None)),
        Err(source) => source,
    };
    // No fallback from what was asked for by name: the figures would be another engine's.
    if polled || asked == Some(IoEngine::IoUring) {
        return Err(IoEngineError::NoRing { source });
    }
    if let Some(iodepth) = depth {
        return Err(IoEngineError::OneAtATime { iodepth, source: Some(source) });
    }
    let message = format!("psync instead of io_uring ({source}): {}", remedy(&source));
    Ok((IoEngine::Psync, Some(Mark { id: MarkId::Fallback, message })))
}

/// If rings cannot discard blocks, psync replaces them, as in [`choose`].
pub(crate) fn without_discards(
    asked: Option<IoEngine>,
    pace: Pace,
) -> Result<(IoEngine, Option<Mark>), IoEngineError> {
    if asked.is_some() || too_deep(pace).is_some() {
        return Err(IoEngineError::NoDiscards { iodepth: pace.iodepth() });
    }
    let message = "psync instead of io_uring, which can discard blocks since Linux 6.12".to_owned();
    Ok((IoEngine::Psync, Some(Mark { id: MarkId::Fallback, message })))
}

/// The depth that psync could not maintain.
fn too_deep(pace: Pace) -> Option<u32> {
    match pace {
        Pace::Closed { iodepth, .. } if iodepth > 1 => Some(iodepth),
        _ => None,
    }
}

/// For a file in memory psync is better wherever it is equivalent: a ring passes such reads to
/// kernel threads, which cost more than the copying.
pub(crate) fn in_memory(chosen: IoEngine, asked: Option<IoEngine>, pace: Pace) -> IoEngine {
    if asked.is_none() && too_deep(pace).is_none() { IoEngine::Psync } else { chosen }
}

#[cfg(test)]
mod tests {
    use drivelab_core::units::Span;

    use super::*;

    fn closed(iodepth: u32) -> Pace {
        Pace::Closed { iodepth, think_time: Span::ZERO }
    }

    fn refuse(errno: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn a_ring_is_taken_where_there_is_one() {
        for asked in [None, Some(IoEngine::IoUring)] {
            assert_eq!(
                choose(asked, Polling::default(), closed(32), || Ok(())).unwrap(),
                (IoEngine::IoUring, None)
            );
        }
    }

    #[test]
    fn on_files_in_memory_psync_steps_in_where_it_does_the_same() {
        let check = |asked, depth, expected| {
            assert_eq!(in_memory(IoEngine::IoUring, asked, closed(depth)), expected);
        };
        check(None, 1, IoEngine::Psync);
        check(None, 8, IoEngine::IoUring);
        check(Some(IoEngine::IoUring), 1, IoEngine::IoUring);
    }

    #[test]
    fn without_rings_psync_steps_in_and_says_so() {
        for (errno, remedy) in [(libc::EPERM, "io_uring_disabled=0"), (libc::ENOSYS, "5.11")] {
            let (engine, mark) =
                choose(None, Polling::default(), closed(1), || refuse(errno)).unwrap();
            let mark = mark.unwrap();
            assert_eq!((engine, mark.id), (IoEngine::Psync, MarkId::Fallback));
            assert!(mark.message.contains(remedy), "{}", mark.message);
        }
    }

    #[test]
    fn where_rings_discard_nothing_psync_steps_in_at_depth_one_unless_a_ring_was_asked_for() {
        let (engine, mark) = without_discards(None, closed(1)).unwrap();
        assert_eq!((engine, mark.unwrap().id), (IoEngine::Psync, MarkId::Fallback));
        for (asked, depth) in [(Some(IoEngine::IoUring), 1), (None, 8)] {
            let hint = without_discards(asked, closed(depth)).unwrap_err().hint();
            assert!(hint.contains("--ioengine=psync"), "{hint}");
        }
    }

    #[test]
    fn what_was_asked_for_by_name_is_not_replaced() {
        let error =
            choose(Some(IoEngine::IoUring), Polling::default(), closed(1), || refuse(libc::EPERM))
                .unwrap_err();
        assert!(matches!(error, IoEngineError::NoRing { .. }));
        assert!(error.hint().contains("sysctl kernel.io_uring_disabled=0"), "{}", error.hint());
    }

    #[test]
    fn a_depth_that_psync_cannot_keep_is_refused() {
        let check = |asked, probe: io::Result<()>, hint: &str| {
            let error = choose(asked, Polling::default(), closed(32), || probe).unwrap_err();
            assert!(matches!(error, IoEngineError::OneAtATime { iodepth: 32, .. }));
            assert!(error.hint().contains(hint), "{}", error.hint());
        };
        check(Some(IoEngine::Psync), Ok(()), "--ioengine=io_uring");
        check(Some(IoEngine::Pvsync2), Ok(()), "--ioengine=io_uring");
        check(None, refuse(libc::ENOSYS), "--iodepth=1 --numjobs=32");
        let open = Pace::Fixed { per_s: 1000, iodepth: 1024 };
        assert_eq!(
            choose(Some(IoEngine::Psync), Polling::default(), open, || Ok(())).unwrap().0,
            IoEngine::Psync
        );
    }

    #[test]
    fn polling_is_never_given_up_silently() {
        let polling = Polling { submissions: true, ..Polling::default() };
        for other in [IoEngine::Libaio, IoEngine::Psync, IoEngine::Pvsync2, IoEngine::Null] {
            let error = choose(Some(other), polling, closed(1), || Ok(())).unwrap_err();
            assert!(error.hint().contains("io_uring"), "{error}");
        }
        let error = choose(None, polling, closed(1), || refuse(libc::EPERM)).unwrap_err();
        assert!(matches!(error, IoEngineError::NoRing { .. }), "{error}");
        let taken = choose(None, polling, closed(1), || Ok(())).unwrap();
        assert_eq!(taken, (IoEngine::IoUring, None));
    }
}
