//! Progress with an estimate, on stderr; bars on a terminal only.

use std::io::Write as _;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use drivelab_core::control::{Control, Event, Observer, Phase, Progress as Load};
use drivelab_core::numbers::float;
use drivelab_core::{Span, shown_in_line, shown_json};
use drivelab_lab::interrupt;
use drivelab_study::in_words as in_time;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use super::estimate::{Estimate, in_words};

/// How progress is shown, on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Show {
    /// A bar, on a terminal only.
    #[default]
    Bar,
    /// A line for each finished run: `done 17 of 48: ...`; of smaller steps at most one a second.
    Lines,
    /// A JSON document a line, at most one a second.
    Json,
    /// Nothing.
    None,
}

/// The form of progress of this process; unset, a bar.
static SHOWN: OnceLock<Show> = OnceLock::new();

/// Shows the progress of every verb so, from here on.
pub(crate) fn show(how: Show) {
    // The command line is read once.
    let _ = SHOWN.set(how);
}

/// Lines are at least this far apart, unless each is asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// A shorter rest is over before it is read.
const WORTH_SAYING: Span = Span::from_secs(30);

/// Seconds after which the first steps are taken for a sample of the others.
const SETTLED_S: f64 = 2.0;

/// The interval between moves of a bar of unknown length.
const STILL: Duration = Duration::from_millis(200);

/// The unit of the counted work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Steps that are made.
    Step,
    /// Time that passes, in milliseconds.
    Ms,
}

/// Progress over a known amount of work.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    what: String,
    unit: Unit,
    show: Show,
    since: Instant,
    /// The interval between lines about a load, where they are asked for.
    every: Option<Duration>,
    course: Mutex<Course>,
}

/// The observed course, and the last message about it.
#[derive(Debug, Default)]
struct Course {
    estimate: Estimate,
    at: String,
    said: Option<Instant>,
    /// Position of the last line, and what it said.
    last: (u64, String),
    /// Requests and bytes of a load at the last line.
    counted: [u64; 2],
    /// Steps in the end, at most, where that is not known exactly.
    most: Option<u64>,
    /// Runs are reported one by one as they finish.
    is_exact: bool,
    /// The remaining time was announced, or is known otherwise.
    is_announced: bool,
}

const HELD: &str = "no thread panics while it holds the course";

impl Progress {
    /// A bar over `steps` equal steps.
    pub(crate) fn steps(steps: u64, what: &str) -> Self {
        Self::rounds(steps, 1, what)
    }

    /// A bar over `steps` steps that differ, but of which each `round` are like the next ones.
    pub(crate) fn rounds(steps: u64, round: u64, what: &str) -> Self {
        let template = "{spinner} {prefix} [{bar:30}] {pos}/{len}  {wide_msg}";
        let progress = Self::new(ProgressBar::new(steps), Unit::Step, template, what);
        progress.course.lock().expect(HELD).estimate = Estimate::of_rounds(float(round));
        progress
    }

    /// A bar over steps of which only a range is known, which [`Self::at_of`] says.
    pub(crate) fn between(what: &str) -> Self {
        Self::steps(1, what)
    }

    /// Moves to `position` of a number of steps between `least` and `most`.
    pub(crate) fn at_of(&self, position: u64, [least, most]: [u64; 2]) {
        self.bar.set_length(least);
        self.course.lock().expect(HELD).most = Some(most);
        self.at(position, &format!("{least} to {most} are needed"));
    }

    /// A bar over a stretch of time, in milliseconds.
    pub(crate) fn time(total: Duration, what: &str) -> Self {
        let length = u64::try_from(total.as_millis()).unwrap_or(u64::MAX);
        let template = "{spinner} {prefix} [{bar:30}] {percent}%  {wide_msg}";
        let progress = Self::new(ProgressBar::new(length), Unit::Ms, template, what);
        progress.course.lock().expect(HELD).estimate = Estimate::of_time();
        progress
    }

    /// A spinner for work of unknown duration.
    pub(crate) fn waiting(what: &str) -> Self {
        let template = "{spinner} {prefix}  {elapsed}";
        let progress = Self::new(ProgressBar::new(0), Unit::Step, template, what);
        if progress.show == Show::Bar {
            progress.bar.enable_steady_tick(STILL);
        }
        progress.at(0, "");
        progress
    }

    fn new(bar: ProgressBar, unit: Unit, template: &str, what: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(shown_in_line(what).into_owned());
        let show = SHOWN.get().copied().unwrap_or_default();
        if show != Show::Bar {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let course = Mutex::default();
        let (what, since, every) = (what.to_owned(), Instant::now(), None);
        Self { bar, what, unit, show, since, every, course }
    }

    /// The same where the user knows how long it takes.
    pub(crate) fn announced(self) -> Self {
        self.course.lock().expect(HELD).is_announced = true;
        self
    }

    /// The same, with a line about a load in each interval and no bar.
    pub(crate) fn in_lines(mut self, every: Duration) -> Self {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.every = Some(every);
        self.show = Show::None;
        self
    }

    /// Prints a line if the interval is over.
    fn line(&self, load: &Load, every: Duration) {
        let mut course = self.course.lock().expect(HELD);
        let passed = course.said.unwrap_or(self.since).elapsed();
        if passed < every || load.phase == Phase::LayOut {
            return;
        }
        let all = Duration::from_millis(self.bar.length().unwrap_or_default());
        // Rates are those of the interval, not of the run so far.
        let counts = [load.ios, load.bytes];
        let made = [0, 1].map(|at| counts[at].saturating_sub(course.counted[at]));
        print(&eta_line(&self.what, made, passed, [self.since.elapsed(), all]));
        (course.said, course.counted) = (Some(Instant::now()), counts);
    }

    /// The same, not shown.
    pub(crate) fn silent(mut self) -> Self {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.show = Show::None;
        self
    }

    /// Says that a run is finished and on the disk, as `count` of `all`.
    fn done(&self, count: u64, all: u64, what: &str) {
        let mut course = self.course.lock().expect(HELD);
        course.is_exact = true;
        self.move_to(&mut course, count, what);
        if self.show == Show::Lines {
            print(&format!("done {count} of {all}: {}", shown_in_line(what)));
        }
    }

    /// Moves to `position`, with a word on what goes on.
    pub(crate) fn at(&self, position: u64, message: &str) {
        let mut course = self.course.lock().expect(HELD);
        self.move_to(&mut course, position, message);
        let is_due = course.said.is_none_or(|said| said.elapsed() >= PAUSE);
        if self.show == Show::Lines && self.unit == Unit::Step && !course.is_exact && is_due {
            if position == course.last.0 {
                return;
            }
            course.said = Some(Instant::now());
            course.last.0 = position;
            let all = self.bar.length().unwrap_or_default();
            print(&format!("done {position} of {all}: {}", shown_in_line(message)));
        }
    }

    fn move_to(&self, course: &mut Course, position: u64, message: &str) {
        let elapsed_s = self.since.elapsed().as_secs_f64();
        course.estimate.observe(self.units(position), elapsed_s);
        if course.at != message {
            message.clone_into(&mut course.at);
        }
        self.bar.set_position(position);
        if self.show == Show::Bar && !self.bar.is_hidden() {
            self.bar.set_message(match self.left_s(course) {
                Some(left) => format!("{}  {}", in_words(left), shown_in_line(message)),
                None => match self.rough(course) {
                    Some(left) => format!("about {left} left  {}", shown_in_line(message)),
                    None => shown_in_line(message).into_owned(),
                },
            });
        } else {
            self.announce(course, elapsed_s);
        }
        let is_due = course.said.is_none_or(|said| said.elapsed() >= PAUSE);
        if self.show == Show::Json && is_due {
            self.print_json(course, elapsed_s);
        }
    }

    /// A position in the unit of the estimate: steps or seconds.
    fn units(&self, position: u64) -> f64 {
        match self.unit {
            Unit::Step => float(position),
            Unit::Ms => float(position) / 1e3,
        }
    }

    fn left_s(&self, course: &Course) -> Option<[f64; 2]> {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let left = |all: u64| course.estimate.left_s(self.units(done), self.units(all));
        let ([least, _], [_, most]) = (left(all)?, left(course.most.unwrap_or(all))?);
        Some([least, most])
    }

    /// Roughly how long the rest takes, in words, where that is worth saying.
    fn rough(&self, course: &Course) -> Option<String> {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let left_s = course.estimate.rough_s(self.units(done), self.units(all))?;
        let left = Duration::try_from_secs_f64(left_s).ok()?;
        let left = Span::from_secs(left.as_secs());
        (left >= WORTH_SAYING).then(|| in_time(left))
    }

    /// Announces once how long the rest takes where no bar shows it.
    fn announce(&self, course: &mut Course, elapsed_s: f64) {
        let has_lines = matches!(self.show, Show::Bar | Show::Lines);
        if course.is_announced || !has_lines || elapsed_s < SETTLED_S {
            return;
        }
        if let Some(left) = self.rough(course) {
            course.is_announced = true;
            let all = self.bar.length().unwrap_or_default();
            print(&match self.unit {
                Unit::Step => {
                    format!("about {left} left, {} of {all} done", self.bar.position())
                }
                Unit::Ms => format!("about {left} left"),
            });
        }
    }

    fn print_json(&self, course: &mut Course, elapsed_s: f64) {
        let position = self.bar.position();
        let is_news = course.said.is_none() || course.last != (position, course.at.clone());
        if !is_news {
            return;
        }
        course.said = Some(Instant::now());
        course.last = (position, course.at.clone());
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        let all = self.bar.length().unwrap_or_default();
        let mut line = Map::new();
        line.insert("schema".into(), "drivelab.progress/1".into());
        line.insert("what".into(), self.what.clone().into());
        line.insert("at".into(), course.at.clone().into());
        match self.unit {
            Unit::Step => {
                line.insert("done".into(), position.into());
                line.insert("of".into(), all.into());
            }
            Unit::Ms => {
                line.insert("done_s".into(), rounded(self.units(position)).into());
                line.insert("of_s".into(), rounded(self.units(all)).into());
            }
        }
        line.insert("elapsed_s".into(), rounded(elapsed_s).into());
        let left = self.left_s(course).map(|left| json!(left.map(rounded)));
        line.insert("left_s".into(), left.unwrap_or(Value::Null));
        print(&shown_json(&Value::Object(line).to_string()));
    }
}

/// A line in one piece, so that a kill leaves no half; where stderr is closed it is lost.
fn print(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

impl Progress {
    /// The control of work whose progress is shown.
    pub(crate) fn control(&self) -> Control<'_> {
        interrupt::control(self)
    }
}

impl Observer for Progress {
    fn observe(&self, event: Event<'_>) {
        match event {
            Event::Load(load) => match self.every {
                Some(every) => self.line(&load, every),
                None => self.at(load.elapsed.ns() / 1_000_000, &message(&load)),
            },
            Event::Test { name, progress } => {
                let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.at(passed, &format!("{name}: {}", message(&progress)));
            }
            Event::Steps { what, done, of } => {
                self.bar.set_length(of);
                self.at(done, what);
            }
            Event::Time { what, done, .. } => self.at(done.ns() / 1_000_000, what),
            Event::Begins { run, done } => self.at(done, run),
            Event::Finished { run, done, of } => self.done(done, of, run),
            // A console shows these.
            Event::Note(_) | Event::Warning(_) => {}
        }
    }
}

/// A line as fio shows it, of requests and bytes in the time `passed`; of the whole time, unless it
/// is not known, the share that is over and the rest.
fn eta_line(
    what: &str,
    [ios, bytes]: [u64; 2],
    passed: Duration,
    [elapsed, all]: [Duration; 2],
) -> String {
    debug_assert!(ios == 0 || !passed.is_zero(), "requests take time");
    let per_s = passed.as_secs_f64().max(1e-3);
    let [ios, mib] = [float(ios) / per_s, float(bytes) / per_s / 1_048_576.0];
    let rates = format!("[{mib:.1}MiB/s][{ios:.0} IOPS]");
    if all.is_zero() {
        return format!("{}: {rates}", shown_in_line(what));
    }
    let share = (elapsed.as_secs_f64() / all.as_secs_f64()).min(1.0) * 100.0;
    let left = all.saturating_sub(elapsed).as_secs();
    let (minutes, seconds) = (left / 60, left % 60);
    format!("{}: [{share:.1}%]{rates}[eta {minutes:02}m:{seconds:02}s]", shown_in_line(what))
}

/// The progress of a load in words.
fn message(load: &Load) -> String {
    match load.phase {
        Phase::LayOut => format!("laying out, {} MiB written", load.bytes >> 20),
        Phase::Ramp => "warming up".into(),
        Phase::Measure => format!("{} requests", load.ios),
        Phase::Drain => "waiting for outstanding requests".into(),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // It may run during a panic, when the lock is poisoned.
        if let (Show::Json, Ok(mut course)) = (self.show, self.course.lock())
            && course.said.is_some()
        {
            let elapsed_s = self.since.elapsed().as_secs_f64();
            self.print_json(&mut course, elapsed_s);
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rates_of_its_interval_and_the_rest_of_the_time() {
        let two = Duration::from_secs(2);
        for (all, expected) in [
            (100, "a: [2.0%][2.0MiB/s][250 IOPS][eta 01m:38s]"),
            (1, "a: [100.0%][2.0MiB/s][250 IOPS][eta 00m:00s]"),
            (0, "a: [2.0MiB/s][250 IOPS]"),
        ] {
            let times = [two, Duration::from_secs(all)];
            assert_eq!(eta_line("a", [500, 4 << 20], two, times), expected);
        }
    }
}
