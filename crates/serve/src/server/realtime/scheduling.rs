//! The host's scheduling of the loop.

use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Scheduling {
    Fifo,
    /// Like any other program, for the reason given.
    Normal(String),
}

/// Low among real-time threads: above every normal one, below the kernel's own.
const PRIORITY: u8 = 10;

fn reason(error: &Error) -> String {
    match error {
        Error::OS(code) => std::io::Error::from_raw_os_error(*code).to_string(),
        other => other.to_string(),
    }
}

impl Scheduling {
    pub(in crate::server) fn name(&self) -> &'static str {
        if *self == Self::Fifo { "fifo" } else { "normal" }
    }

    pub(in crate::server) fn ask_for_fifo() -> Self {
        let value = ThreadPriorityValue::try_from(PRIORITY).expect("between 0 and 99");
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        let priority = ThreadPriority::Crossplatform(value);
        match set_thread_priority_and_policy(thread_native_id(), priority, policy) {
            Ok(()) => Self::Fifo,
            Err(error) => Self::Normal(format!(
                "SCHED_FIFO was refused ({}): run as root, or with CAP_SYS_NICE",
                reason(&error)
            )),
        }
    }
}
