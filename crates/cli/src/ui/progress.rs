//! Progress with an estimate, on stderr, and only where somebody watches.

use std::io::Write as _;
use std::time::{Duration, Instant};

use drivelab_engine::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How progress is shown, on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Show {
    /// A bar, on a terminal only.
    #[default]
    Bar,
    /// A line for each finished run: `done 17 of 48: ...`.
    Lines,
    /// Nothing.
    None,
}

/// Progress over a known amount of work.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    lines: bool,
    since: Instant,
}

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
        Self { bar, lines: false, since: Instant::now() }
    }

    /// The same, shown otherwise.
    pub(crate) fn shown(mut self, show: Show) -> Self {
        if show != Show::Bar {
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        self.lines = show == Show::Lines;
        self
    }

    /// Says that a run is finished and on the disk, as `count` of `all`.
    pub(crate) fn done(&self, count: usize, all: usize, what: &str) {
        if self.lines {
            let line = format!("done {count} of {all}: {what}\n");
            // In one piece, so that a kill leaves no half; nobody is told where stderr is closed.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Moves to `position`, with a word on what goes on.
    pub(crate) fn at(&self, position: u64, message: &str) {
        self.bar.set_position(position);
        if self.bar.message() != message {
            self.bar.set_message(message.to_owned());
        }
    }
}

impl Progress {
    /// Moves to where one of several runs is, all of which began with this.
    pub(crate) fn within(&self, name: &str, step: &drivelab_engine::Progress) {
        let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at(passed, &format!("{name}: {}", Self::message(step)));
    }

    /// Moves to where a run is.
    pub(crate) fn step(&self, step: &drivelab_engine::Progress) {
        self.at(step.elapsed.ns() / 1_000_000, &Self::message(step));
    }

    fn message(step: &drivelab_engine::Progress) -> String {
        match step.phase {
            Phase::LayOut => format!("laying out, {} MiB written", step.bytes >> 20),
            Phase::Ramp => "warming up".into(),
            Phase::Measure => format!("{} requests", step.ios),
            Phase::Drain => "waiting for outstanding requests".into(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
