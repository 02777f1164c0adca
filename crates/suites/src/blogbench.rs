//! Blogbench: blogs that are written, changed, commented on and read at the same time.
//!
//! After Blogbench 1.1, whose readers read 64 KiB in one call; those of 1.2 read 8 bytes, so that
//! its score of reads counts system calls.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drivelab_core::control::{Control, Event};
use drivelab_core::numbers::float;
use drivelab_core::record::{Better, Figure, WrittenFiles};
use drivelab_core::{Bytes, Histogram, Invalid, Rng, Span};
use drivelab_files::Folder;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::bench::{
    At as _, Bench, Buffer, CacheDrop, Done, Laps, Measured, Stopwatch, Watch, merged,
    suite_options,
};
use crate::plan::{Plan, named_alike, within};

suite_options! {
    /// The threads of a blog server, for some time.
    Blogbench {
        /// Threads that write new blogs (-w).
        writers: u32 = "3",
        /// Threads that rewrite articles and pictures (-W).
        rewriters: u32 = "1",
        /// Threads that write comments (-c).
        commenters: u32 = "5",
        /// Threads that read blogs (-r).
        readers: u32 = "100",
        /// Intervals (-i).
        iterations: u32 = "30",
        /// Length of an interval (-s).
        interval: Span = "10s",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "run",
    }
}

/// Files of a kind: how they are called, and their least size and the first beyond the greatest.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    ending: &'static str,
    sizes: [u64; 2],
}

/// The content of every file.
#[repr(align(4096))]
struct Garbage([u8; WRITE_BYTES]);

const ARTICLE: Kind = Kind { name: "article", ending: "xml", sizes: [1024, 32_768] };
const PICTURE: Kind = Kind { name: "picture", ending: "jpg", sizes: [8192, 65_536] };
const COMMENT: Kind = Kind { name: "comment", ending: "xml", sizes: [2048, 10_240] };
/// Most files of a kind in one blog.
const FILES_MAX: u64 = 100;
const WRITE_BYTES: usize = 8192;
static GARBAGE: Garbage = Garbage([0; WRITE_BYTES]);
const READ_CHUNK: Bytes = Bytes::kib(64);
/// Intervals that are shown one by one, as many as the original has.
const INTERVALS_SHOWN: u32 = 30;
/// Most intervals that are kept.
const INTERVALS_KEPT: usize = 100_000;
/// Rest of a thread that found nothing to do.
const REST: Duration = Duration::from_secs(1);
/// Time between two views of the time that is left.
const SLICE: Duration = Duration::from_millis(50);

impl Plan for Blogbench {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("writers", self.writers, [1, 1000])?;
        within("rewriters", self.rewriters, [0, 1000])?;
        within("commenters", self.commenters, [0, 1000])?;
        within("readers", self.readers, [0, 1000])?;
        within("iterations", self.iterations, [1, 1_000_000])?;
        within("interval", self.interval, [Span::from_ms(1), Span::from_secs(86_400)])
    }

    /// An estimate: it writes as much as it can in the time.
    fn needs(&self, _: Bytes) -> Bytes {
        Bytes::mib(64)
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        let mut phases = named_alike(["reads", "writes"]);
        let shown = (1..=self.shown()).map(|number| format!("written_{number}"));
        let figures = ["held_until", "articles_last"].map(str::to_owned).into_iter().chain(shown);
        phases.push(("intervals".to_owned(), figures.collect()));
        phases
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let folder = bench.workspace.fresh("blogs")?;
        bench.begin()?;
        // As the original does, so that what was written before does not disturb the first
        // interval.
        rustix::fs::sync();
        let server = Server {
            folder,
            next: AtomicU64::new(0),
            over: AtomicBool::new(false),
            resting: Mutex::new(()),
            ended: Condvar::new(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            articles: [AtomicU64::new(0), AtomicU64::new(0)],
            bytes: AtomicU64::new(0),
        };
        // Only the clock knows how much is left.
        let quiet = Control::silent(bench.control.flag());
        let watch = Watch::new(quiet, "blogs", 0);
        let scores = [AtomicU64::new(0), AtomicU64::new(0)];
        let intervals = Mutex::new(Vec::new());
        let clock = Stopwatch::start();
        let [writers, rewriters, commenters, readers] = self.ends();
        debug_assert!(writers <= rewriters && commenters <= readers, "roles are ranges of threads");
        let lat = watch.threads(readers + 1, |number, laps| {
            let own = Own { rng: bench.rng(u64::from(number)), name: String::new() };
            match number {
                _ if number < writers => server.write(own, laps),
                _ if number < rewriters => server.rewrite(own, laps),
                _ if number < commenters => server.comment(own, laps),
                _ if number < readers => server.read(own, laps),
                _ => {
                    // The last thread keeps the time, and ends the others when it is over.
                    let ended = self.keep_time(bench.control, laps, &server, &intervals);
                    server.scores(&scores);
                    server.end();
                    ended
                }
            }
        })?;
        let took = clock.stop();
        let parts = [
            ("writes", &lat[..writers as usize]),
            ("reads", &lat[commenters as usize..readers as usize]),
        ];
        for ((name, lat), score) in parts.into_iter().zip(&scores) {
            let blogs = float(score.load(Ordering::Relaxed));
            let figures =
                vec![Figure { unit: "blogs".into(), ..Figure::new(name, blogs, Better::More) }];
            let lat: Histogram = merged(lat);
            let nature = WrittenFiles::NotSynced.nature();
            bench.record(Measured { name, nature, figures, took, lat });
        }
        let counted = intervals.into_inner().unwrap_or_else(PoisonError::into_inner);
        let figures = self.figures_of(&counted);
        // Files that are larger than memory are written while it runs, and read from the disk.
        let nature = bench.reading(Bytes::new(server.bytes.into_inner()));
        let lat = Histogram::default();
        bench.record(Measured { name: "intervals", nature, figures, took, lat });
        Ok(())
    }
}

fn named(name: &str, unit: &str, value: f64) -> Figure {
    Figure { unit: unit.into(), ..Figure::new(name, value, Better::More) }
}

/// The counts of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    /// Blogs that were begun by its end.
    blogs: u64,
    /// Articles that were written and read in it.
    articles: [u64; 2],
}

/// Returns the number of blogs that were begun when the rate of writing fell below half of its mean
/// until then; that of all blogs where it never did.
fn held_until(intervals: &[Interval]) -> u64 {
    let (mut written, mut blogs) = (0, 0);
    for (before, interval) in (0_u64..).zip(intervals) {
        if 2 * before * interval.articles[0] < written {
            break;
        }
        written += interval.articles[0];
        blogs = interval.blogs;
    }
    blogs
}

impl Blogbench {
    /// Intervals that are shown one by one.
    fn shown(&self) -> u32 {
        self.iterations.min(INTERVALS_SHOWN)
    }

    /// The figures of all intervals together, and of each where there are few.
    fn figures_of(&self, intervals: &[Interval]) -> Vec<Figure> {
        let seconds = float(self.interval.ns()) / 1e9;
        let last = intervals.last().map_or(0, |it| it.articles[1]);
        let mut figures = vec![
            named("held_until", "blogs", float(held_until(intervals))),
            named("articles_last", "1/s", float(last) / seconds),
        ];
        for (number, it) in (1..=self.shown()).zip(intervals) {
            let rate = float(it.articles[0]) / seconds;
            let written = named(&format!("written_{number}"), "1/s", rate);
            figures.push(Figure { is_detail: true, ..written });
        }
        figures
    }

    /// The number after the last thread of each role.
    fn ends(&self) -> [u32; 4] {
        // Roles are ranges of thread numbers, in the order in which the original starts them.
        let rewriters = self.writers + self.rewriters;
        let commenters = rewriters + self.commenters;
        [self.writers, rewriters, commenters, commenters + self.readers]
    }

    /// Waits for the end of the last interval, counts each, and shows how far it is.
    fn keep_time(
        &self,
        control: Control<'_>,
        laps: &Laps<'_>,
        server: &Server,
        intervals: &Mutex<Vec<Interval>>,
    ) -> Done {
        // The intervals follow one another without a gap.
        let one = Duration::from_nanos(self.interval.ns());
        let all = one.saturating_mul(self.iterations);
        let begin = Instant::now();
        let (mut next, mut before) = (one, [0, 0]);
        loop {
            laps.check()?;
            let elapsed = begin.elapsed();
            let (done, of) = (in_ms(elapsed), in_ms(all));
            control.report(Event::Steps { what: "blogs", done, of });
            if elapsed >= next {
                let so_far = server.articles.each_ref().map(|it| it.load(Ordering::Relaxed));
                let articles = [so_far[0] - before[0], so_far[1] - before[1]];
                let blogs = server.next.load(Ordering::Relaxed);
                let mut all = intervals.lock().unwrap_or_else(PoisonError::into_inner);
                // A million intervals would take memory from what is measured.
                if all.len() < INTERVALS_KEPT {
                    all.push(Interval { blogs, articles });
                }
                (next, before) = (next + one, so_far);
            }
            let Some(left) = all.checked_sub(elapsed).filter(|left| !left.is_zero()) else { break };
            let to_next = next.saturating_sub(elapsed).max(Duration::from_millis(1));
            std::thread::sleep(left.min(to_next).min(SLICE));
        }
        Ok(())
    }
}

/// The state that the threads share.
#[derive(Debug)]
struct Server {
    folder: Folder,
    /// The number of the next new blog.
    next: AtomicU64,
    over: AtomicBool,
    /// Held by a thread that goes to rest, and by the one that ends them all.
    resting: Mutex<()>,
    ended: Condvar,
    written: AtomicU64,
    read: AtomicU64,
    /// Single articles: those that were written, and those that were read.
    articles: [AtomicU64; 2],
    /// Bytes of all files that were written.
    bytes: AtomicU64,
}

/// The state of one thread.
#[derive(Debug)]
struct Own {
    rng: Rng,
    /// The file that it works on. Kept from one to the next: a name that is allocated for each file
    /// takes a lock of the allocator, and a hundred readers wait for one another there.
    name: String,
}

impl Server {
    fn scores(&self, scores: &[AtomicU64; 2]) {
        for (score, counted) in scores.iter().zip([&self.written, &self.read]) {
            score.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        // With the lock held no thread goes to rest between the store and the wakeup.
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Ordering::Relaxed);
        drop(resting);
        self.ended.notify_all();
    }

    /// One sleep and not several: while the readers rest that found no blog yet, a second brings as
    /// many blogs as nine later ones, so what a rest takes too long shows in the score.
    fn rest(&self, laps: &Laps<'_>) -> Done {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = self.ended.wait_timeout_while(resting, REST, |()| self.goes_on());
        drop(woken);
        laps.check()
    }

    /// Returns the number of a blog that may exist; 0 while there are fewer than two, and now
    /// and then as in the original, for which number 0 means none.
    fn random_blog(&self, rng: &mut Rng) -> u64 {
        // The newest blog is left out: its writer may still be at work on it.
        match self.next.load(Ordering::Relaxed).saturating_sub(1) {
            0 => 0,
            last => rng.below(last),
        }
    }

    fn write(&self, mut own: Own, laps: &mut Laps<'_>) -> Done {
        while self.goes_on() {
            let blog = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("blog-{blog}");
            match rustix::fs::mkdirat(&self.folder, &name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).at("create", &self.folder.path().join(name)),
            }
            let written = laps.time(|| {
                let articles = self.create_all(blog, ARTICLE, &mut own)?;
                Ok(articles && self.create_all(blog, PICTURE, &mut own)?)
            })?;
            if written {
                self.written.fetch_add(1, Ordering::Relaxed);
            } else {
                self.rest(laps)?;
            }
        }
        Ok(())
    }

    fn rewrite(&self, mut own: Own, laps: &mut Laps<'_>) -> Done {
        while self.goes_on() {
            laps.check()?;
            let blog = self.random_blog(&mut own.rng);
            // Half of the time a picture first, always an article, as in the original.
            let mut worked = blog != 0;
            if worked && own.rng.below(2) == 0 {
                let number = own.rng.between(1, FILES_MAX);
                worked = self.create(blog, PICTURE, number, &mut own)?;
            }
            if worked {
                let number = own.rng.between(1, FILES_MAX);
                worked = self.create(blog, ARTICLE, number, &mut own)?;
            }
            if !worked {
                self.rest(laps)?;
            }
        }
        Ok(())
    }

    fn comment(&self, mut own: Own, laps: &mut Laps<'_>) -> Done {
        while self.goes_on() {
            laps.check()?;
            let blog = self.random_blog(&mut own.rng);
            if !self.create_all(blog, COMMENT, &mut own)? {
                self.rest(laps)?;
            }
        }
        Ok(())
    }

    fn read(&self, mut own: Own, laps: &mut Laps<'_>) -> Done {
        let mut buffer = Buffer::new(READ_CHUNK);
        while self.goes_on() {
            let blog = self.random_blog(&mut own.rng);
            if blog == 0 {
                self.rest(laps)?;
                continue;
            }
            laps.time(|| {
                if own.rng.below(2) == 0 {
                    let mut number = 1;
                    while self.read_one(blog, COMMENT, number, &mut own.name, &mut buffer)? {
                        number += 1;
                    }
                }
                // The first missing article ends the blog; a missing picture is passed over.
                let mut number = 1;
                loop {
                    self.read_one(blog, PICTURE, number, &mut own.name, &mut buffer)?;
                    if !self.read_one(blog, ARTICLE, number, &mut own.name, &mut buffer)? {
                        return Ok(());
                    }
                    self.articles[1].fetch_add(1, Ordering::Relaxed);
                    number += 1;
                }
            })?;
            self.read.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes up to a hundred files, the last first; returns false if the blog is missing.
    fn create_all(&self, blog: u64, kind: Kind, own: &mut Own) -> Done<bool> {
        // Backwards, as in the original: readers count upwards and meet a blog in the making.
        for number in (1..=own.rng.between(1, FILES_MAX)).rev() {
            if !self.create(blog, kind, number, own)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a file under another name and renames it; returns false if the blog is missing.
    fn create(&self, blog: u64, kind: Kind, number: u64, own: &mut Own) -> Done<bool> {
        kind.name_file(blog, number, &mut own.name);
        let end = own.name.len();
        own.name.push_str(".tmp");
        let (temporary, name) = (own.name.as_str(), &own.name[..end]);
        let size = own.rng.between(kind.sizes[0], kind.sizes[1] - 1);
        debug_assert!(size <= 64 << 10, "{size} bytes");
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match rustix::fs::openat(&self.folder, temporary, flags, mode) {
            Err(Errno::NOENT) => return Ok(false),
            file => file.at_path("create", || self.folder.path().join(temporary))?,
        };
        let mut left = usize::try_from(size).expect("at most 64 KiB");
        while left > 0 {
            let length = left.min(WRITE_BYTES);
            let written = rustix::io::write(&file, &GARBAGE.0[..length]);
            left -= written.at_path("write", || self.folder.path().join(temporary))?;
        }
        drop(file);
        match rustix::fs::renameat(&self.folder, temporary, &self.folder, name) {
            // Another thread renamed the same file; as in the original neither is kept.
            Err(Errno::NOENT) => {
                for name in [temporary, name] {
                    let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
                }
                Ok(false)
            }
            renamed => {
                renamed.at_path("rename", || self.folder.path().join(temporary))?;
                self.bytes.fetch_add(size, Ordering::Relaxed);
                if kind.name == ARTICLE.name {
                    self.articles[0].fetch_add(1, Ordering::Relaxed);
                }
                Ok(true)
            }
        }
    }

    /// Reads a whole file; returns false if it is missing.
    fn read_one(
        &self,
        blog: u64,
        kind: Kind,
        number: u64,
        name: &mut String,
        buffer: &mut [u8],
    ) -> Done<bool> {
        kind.name_file(blog, number, name);
        let name = name.as_str();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(false),
            file => file.at_path("open", || self.folder.path().join(name))?,
        };
        loop {
            let length = rustix::io::read(&file, &mut *buffer);
            if length.at_path("read", || self.folder.path().join(name))? == 0 {
                return Ok(true);
            }
        }
    }
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Kind {
    /// Writes the name of a file of a blog over `name`.
    fn name_file(self, blog: u64, number: u64, name: &mut String) {
        name.clear();
        write!(name, "blog-{blog}/{}-{number}.{}", self.name, self.ending)
            .expect("memory is enough for a name");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_is_held_until_it_falls_below_half_of_its_mean() {
        let intervals = |written: &[u64]| -> Vec<Interval> {
            let all = (1..).zip(written);
            all.map(|(blogs, written)| Interval { blogs, articles: [*written, 0] }).collect()
        };
        assert_eq!(held_until(&intervals(&[100, 90, 110, 49, 100])), 3);
        assert_eq!(held_until(&intervals(&[100, 90, 110, 51, 10])), 4);
        assert_eq!(held_until(&intervals(&[100, 100])), 2);
        assert_eq!(held_until(&intervals(&[])), 0);
    }

    #[test]
    fn intervals_are_shown_one_by_one_where_they_are_few() {
        let plan =
            Blogbench { iterations: 2, interval: Span::from_ms(500), ..Blogbench::default() };
        let interval = Interval { blogs: 7, articles: [10, 20] };
        let figures = plan.figures_of(&[interval, interval]);
        let values: Vec<(&str, f64)> =
            figures.iter().map(|it| (it.name.as_str(), it.value)).collect();
        let expected = [
            ("held_until", 7.0),
            ("articles_last", 40.0),
            ("written_1", 20.0),
            ("written_2", 20.0),
        ];
        assert_eq!(values, expected);
        let (name, names) = plan.measures().pop().unwrap();
        assert_eq!((name.as_str(), names.len()), ("intervals", 4));
    }
}
