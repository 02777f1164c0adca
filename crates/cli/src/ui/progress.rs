//! Progress with an estimate, on stderr, and only where somebody watches.

use std::time::Duration;

use drivelab_engine::Phase;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar over a known amount of work.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar over `steps` equal steps.
    pub(crate) fn steps(steps: u64, what: &str) -> Self {
        let template = "{spinner} {prefix} [{bar:30}] {pos}/{len} {eta_precise} left  {wide_msg}";
        Self::new(ProgressBar::new(steps), template, what)
    }

    /// A bar over a stretch of time, in milliseconds.
    pub(crate) fn time(total: Duration, what: &str) -> Self {
        let length = u64::try_from(total.as_millis()).unwrap_or(u64::MAX);
        let template = "{spinner} {prefix} [{bar:30}] {percent}% {eta_precise} left  {wide_msg}";
        Self::new(ProgressBar::new(length), template, what)
    }

    fn new(bar: ProgressBar, template: &str, what: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        Self(bar)
    }

    /// Moves to `position`, with a word on what goes on.
    pub(crate) fn at(&self, position: u64, message: &str) {
        self.0.set_position(position);
        if self.0.message() != message {
            self.0.set_message(message.to_owned());
        }
    }
}

impl Progress {
    /// Moves to where a run is.
    pub(crate) fn step(&self, step: &drivelab_engine::Progress) {
        let message = match step.phase {
            Phase::LayOut => format!("laying out, {} MiB written", step.bytes >> 20),
            Phase::Ramp => "warming up".into(),
            Phase::Measure => format!("{} requests", step.ios),
            Phase::Drain => "waiting for the last requests".into(),
        };
        self.at(step.elapsed.ns() / 1_000_000, &message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
