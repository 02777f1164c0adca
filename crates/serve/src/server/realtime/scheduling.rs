//! How the loop is scheduled by the host.

use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// How the loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduling {
    /// `SCHED_FIFO`: it runs as soon as it has something to do.
    Fifo,
    /// Like any other program, for the reason given.
    Normal(String),
}

/// Low among real-time threads: above every normal one, below the kernel's own.
const PRIORITY: u8 = 10;

/// What the system said, in its words.
fn reason(error: &Error) -> String {
    match error {
        Error::OS(code) => std::io::Error::from_raw_os_error(*code).to_string(),
        other => other.to_string(),
    }
}

impl Scheduling {
    /// Asks for `SCHED_FIFO` for the calling thread.
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
