//! One random history from its seed.

use drivelab_core::{Device, Lba, Op, Request, RequestId, Rng, Sectors, Span, Time};
use drivelab_model::Drive;

use super::plan::Plan;
use super::rule::{Tally, Violation};
use super::watcher::Watcher;

/// Requests of one history.
const REQUESTS: u64 = 600;

/// A drive under watch.
struct Play<'a> {
    drive: Drive,
    watcher: Watcher<'a>,
    steps: Vec<drivelab_model::Step>,
    completed: Vec<drivelab_core::Completion>,
    finished: u64,
}

impl Play<'_> {
    fn look(&mut self) -> Result<(), Violation> {
        self.drive.watch(&mut self.steps);
        for step in self.steps.drain(..) {
            self.watcher.saw(step)?;
        }
        for done in self.completed.drain(..) {
            self.finished += 1;
            self.watcher.completed(done)?;
        }
        Ok(())
    }

    /// Lets the next event happen, if it is due by `until`; gives when it was.
    fn step(&mut self, until: Time) -> Result<Option<Time>, Violation> {
        let Some(next) = self.drive.next_event().filter(|next| *next <= until) else {
            return Ok(None);
        };
        self.drive.advance(next, &mut self.completed);
        self.look()?;
        Ok(Some(next))
    }
}

/// Plays the history of `seed`, and counts what was checked.
pub(crate) fn play(seed: u64, tally: &mut Tally) -> Result<(), Violation> {
    let plan = Plan::of(seed);
    let mut rng = Rng::for_part(seed, 1);
    let mut game = Play {
        drive: plan.drive(),
        watcher: Watcher::new(&plan, tally),
        steps: Vec::new(),
        completed: Vec::new(),
        finished: 0,
    };
    game.look()?;
    let (mut now, mut asked, mut recent) = (Time::ZERO, 0, 0);
    while asked < REQUESTS {
        if asked - game.finished >= plan.depth {
            match game.step(Time::MAX)? {
                Some(next) => now = next,
                // Nothing will ever happen again: what is missing is found at the end.
                None => break,
            }
            continue;
        }
        let request = request(&mut rng, asked, plan.capacity, recent);
        recent = request.lba.get();
        asked += 1;
        game.watcher.submitted(now);
        game.drive.submit(now, request).expect("far fewer than may wait");
        game.look()?;
        if rng.below(4) == 0 {
            let until = now + rng.exponential(Span::from_us(plan.pause_us));
            while game.step(until)?.is_some() {}
            now = until;
        }
    }
    while game.step(Time::MAX)?.is_some() {}
    game.watcher.at_rest()
}

/// One request out of a mix that meets itself often.
fn request(rng: &mut Rng, id: u64, capacity: u64, recent: u64) -> Request {
    let op = match rng.below(100) {
        0..3 => return Request::flush(id),
        3 => Op::Trim,
        4..45 => Op::Read,
        _ => Op::Write,
    };
    let sectors = match rng.below(16) {
        0 => 1 + rng.below(300),
        1..6 => 1 + rng.below(40),
        _ => 8,
    };
    let lba = match rng.below(8) {
        // What goes on, comes back, lies near, lies at the end, or anywhere.
        0 | 1 => recent + 8,
        2 | 3 => recent,
        4 => recent.saturating_sub(rng.below(24)),
        5 => capacity - 1 - rng.below(64),
        _ => rng.below(capacity),
    };
    let lba = Lba::new(lba.min(capacity - sectors));
    let fua = op == Op::Write && rng.below(12) == 0;
    Request { id: RequestId(id), op, lba, sectors: Sectors::new(sectors), fua, submitter: 0 }
}
