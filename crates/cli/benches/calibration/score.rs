//! What both kinds of drive share: how often ranges held the truth.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use drivelab_core::Rng;
use drivelab_stats::predict;

/// How often ranges held the truth.
#[derive(Default)]
pub(crate) struct Score {
    inside: u32,
    of: u32,
    squares: f64,
    widths: Vec<f64>,
}

impl Score {
    pub(crate) fn add(&mut self, drives: &[f64], truth: f64, model_sigma: f64) {
        let found = predict(drives, model_sigma).unwrap();
        let [low, high] = found.range95;
        self.inside += u32::from((low..=high).contains(&truth));
        self.of += 1;
        self.widths.push((high / low).ln() / 3.92);
        let sigma = ((1.0 + 1.0 / drives.len() as f64) * found.sigma * found.sigma
            + model_sigma * model_sigma)
            .sqrt();
        self.squares += ((truth / found.median).ln() / sigma).powi(2);
    }

    pub(crate) fn share(&self) -> f64 {
        100.0 * f64::from(self.inside) / f64::from(self.of)
    }

    /// Median width as a deviation, and the error in deviations: 1 where they agree.
    pub(crate) fn sizes(&self) -> [f64; 2] {
        let mut widths = self.widths.clone();
        widths.sort_unstable_by(f64::total_cmp);
        [widths[widths.len() / 2], (self.squares / f64::from(self.of)).sqrt()]
    }
}

/// What `ask` says of each of `count` drives, on all processors, in the order of their numbers.
pub(crate) fn in_parallel<T: Send>(count: u32, ask: impl Fn(u32) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicU32::new(0), Mutex::new(Vec::<(u32, T)>::new()));
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let asked = ask(number);
                    done.lock().unwrap().push((number, asked));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, asked)| asked).collect()
}

/// A standard normal deviate (Box and Muller 1958).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}
