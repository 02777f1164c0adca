//! Accesses of a disk with shingled tracks: the host's, and those of cleaning.

use drivelab_core::{Lba, Sectors, Time};

use super::Shingled;
use super::cleaning::CleaningStep;
use crate::disk::geometry::Arm;
use crate::disk::mechanics::{Stream, TransferEnd};
use crate::disk::queue::{Candidate, Choosing, Heads, Order};
use crate::disk::{Access, Disk, Passage};
use crate::event::{Event, Events};
use crate::tag::Tag;

/// The access that comes next.
enum Choice {
    Host { work: Candidate, cached: bool },
    Cleaning,
    Nothing,
}

impl Disk {
    fn shingles(&mut self) -> &mut Shingled {
        self.shingled.as_mut().expect("only called for shingled tracks")
    }

    /// Commits the medium like [`Disk::commit`]: to an access of the host, or to cleaning.
    pub(in crate::disk) fn commit_shingled(
        &mut self,
        now: Time,
        order: Order,
        events: &mut Events,
    ) {
        loop {
            let ahead = self.head_of_read_ahead(now);
            let heads = Heads { now, arm: self.arm, next: self.next_lba, ahead };
            match self.choose_shingled(heads, order) {
                Choice::Host { work, cached } => {
                    let continues = !cached && heads.continue_with(&work);
                    if !(continues && self.answer_from_buffer(now, &work, events)) {
                        let shingled = self.shingles();
                        (shingled.host_was_served, shingled.active) = (true, now);
                        self.begin(now, work, cached, continues, events);
                        return;
                    }
                }
                Choice::Cleaning => {
                    self.begin_cleaning_step(now, events);
                    return;
                }
                Choice::Nothing => {
                    self.sleep_until_ready(now, events);
                    self.sleep_until_idle(now, events);
                    return;
                }
            }
        }
    }

    fn choose_shingled(&mut self, heads: Heads, order: Order) -> Choice {
        // Writes keep their order, since nearly all of them go to one end of the log.
        let oldest = self.queue.iter().filter(|it| it.write && it.ready <= heads.now);
        let write = oldest.min_by_key(|it| it.sequence).copied();
        let reads_wait = self.queue.iter().any(|it| !it.write && it.ready <= heads.now);
        let run = if self.destages(heads.now, reads_wait || write.is_some()) {
            let runs = self.writes.as_ref().map_or(&[][..], |cache| cache.runs());
            runs.first().filter(|run| run.ready <= heads.now).copied()
        } else {
            None
        };
        let mut waiting = [write, run].into_iter().flatten();
        let blocked = waiting.any(|it| {
            // Overwritten data may have left space at the end of the log.
            !self.can_write(&it) && {
                self.shingles().log.oldest_band();
                !self.can_write(&it)
            }
        });
        if blocked && (self.shingles().host_was_served || !reads_wait) {
            return Choice::Cleaning;
        }
        let [write, run] = [write, run].map(|it| it.filter(|it| self.can_write(it)));
        let [write_at, run_at] = [write, run].map(|it| it.map(|it| [self.where_written(&it)]));
        let mut choosing = Choosing::new(&self.parts.mechanics, order, heads);
        let mut chosen = choosing.best_read_of(&self.queue).map(|index| (index, false));
        if let (Some(write), Some(at)) = (write, write_at)
            && choosing.best_of(&at).is_some()
        {
            let index = self.queue.iter().position(|it| it.sequence == write.sequence);
            chosen = Some((index.expect("it was found there"), false));
        }
        if let Some(at) = run_at
            && choosing.best_of_cached(&at).is_some()
        {
            chosen = Some((0, true));
        }
        match chosen {
            Some((index, true)) => {
                let cache = self.writes.as_mut().expect("the run is of the cache");
                Choice::Host { work: cache.begin(index), cached: true }
            }
            Some((index, false)) => {
                Choice::Host { work: self.queue.swap_remove(index), cached: false }
            }
            None if self.queue.is_empty() && self.cleans_at(heads.now) => Choice::Cleaning,
            None => Choice::Nothing,
        }
    }

    /// Returns true if the host has been idle for long enough and there is something to clean.
    fn cleans_at(&self, now: Time) -> bool {
        let Some(shingled) = &self.shingled else { return false };
        !shingled.is_clean() && now.since(shingled.active) >= shingled.shape.clean_after
    }

    fn can_write(&self, work: &Candidate) -> bool {
        let shingled = self.shingled.as_ref().expect("only called for shingled tracks");
        shingled.bands.takes(work.lba, work.sectors) || shingled.has_room(work.sectors)
    }

    /// A write as a candidate at the position at which it will be written.
    fn where_written(&self, work: &Candidate) -> Candidate {
        let shingled = self.shingled.as_ref().expect("only called for shingled tracks");
        if shingled.bands.takes(work.lba, work.sectors) {
            return *work;
        }
        let lba = shingled.log.next(work.sectors);
        Candidate { lba, location: self.parts.mechanics.geometry.locate(lba), ..*work }
    }

    /// The passage of an access, with the first sector that the head passes and the one behind the
    /// last.
    pub(in crate::disk) fn pass_shingled(
        &mut self,
        now: Time,
        work: &Candidate,
    ) -> (Passage, [Lba; 2]) {
        let begins = now + self.retry_time();
        if !work.write {
            return self.read_pieces(begins, work);
        }
        let (lba, sectors) = (work.lba, work.sectors);
        let shingled = self.shingles();
        let (at, sectors) = if shingled.bands.takes(lba, sectors) {
            shingled.bands.write(lba, sectors);
            shingled.log.forget(lba.get(), (lba + sectors).get());
            (lba, sectors)
        } else {
            shingled.log.append(lba, sectors)
        };
        let passage = self.passes(begins, self.arm, self.next_lba, (at, sectors, true));
        (passage, [at, at + sectors])
    }

    /// The passage of a read, whose sectors may lie in several places.
    fn read_pieces(&mut self, begins: Time, read: &Candidate) -> (Passage, [Lba; 2]) {
        let shingled = self.shingles();
        let mut pieces = std::mem::take(&mut shingled.pieces);
        shingled.log.pieces(read.lba.get(), (read.lba + read.sectors).get(), &mut pieces);
        let first = pieces.first().expect("a read has sectors").lba;
        let (mut since, mut ended): (Option<Time>, Option<TransferEnd>) = (None, None);
        let mut behind = self.next_lba;
        for piece in &pieces {
            let (at, arm) = ended.map_or((begins, self.arm), |ended| (ended.at, ended.arm));
            let (began, end) = self.passes(at, arm, behind, (piece.lba, piece.sectors, false));
            behind = Some(piece.lba + piece.sectors);
            since = since.or(Some(began));
            ended = Some(end);
        }
        self.shingles().pieces = pieces;
        let passage = since.zip(ended).expect("a read has sectors");
        (passage, [first, behind.expect("it has passed some")])
    }

    /// The head's way over sectors from where it is; `behind` is the sector that comes next to it.
    fn passes(
        &self,
        now: Time,
        arm: Arm,
        behind: Option<Lba>,
        (lba, sectors, write): (Lba, Sectors, bool),
    ) -> Passage {
        let mechanics = &self.parts.mechanics;
        let location = mechanics.geometry.locate(lba);
        let at = if behind == Some(lba) {
            mechanics.arrive_next(now, arm, location, write)
        } else {
            mechanics.arrive(now, arm, location, write)
        };
        (at, mechanics.transfer(Stream { lba, location, at }, sectors))
    }

    fn begin_cleaning_step(&mut self, now: Time, events: &mut Events) {
        assert!(self.access.is_none(), "the medium serves one access at a time");
        let shingled = self.shingles();
        if shingled.job.is_none() {
            if now.since(shingled.active) >= shingled.shape.clean_after {
                shingled.bands.leave_all();
            }
            let begun = shingled.begin_job();
            assert!(begun, "it is called with something to clean");
        }
        let step = shingled.job.as_mut().and_then(super::Job::next);
        let CleaningStep { lba, sectors, write } = step.expect("a job that is done has ended");
        (shingled.at_step, shingled.host_was_served) = (true, false);
        let (streaming_since, ended) =
            self.passes(now, self.arm, self.next_lba, (lba, sectors, write));
        self.ahead = None;
        self.counters.medium_busy += ended.at.since(now);
        let location = self.parts.mechanics.geometry.locate(lba);
        let (tag, sequence) = (Tag::default(), self.sequence);
        let work = Candidate {
            lba,
            sectors,
            location,
            write,
            tag,
            ready: now,
            arrived: now,
            sequence,
            newest: sequence,
        };
        let passed = [lba, lba + sectors];
        let access = Access { work, cached: true, begun: now, streaming_since, ended, passed };
        self.access = Some(access);
        self.note_begun(now, false);
        events.push(ended.at, Event::MediumFree);
    }

    /// Ends a step of cleaning, and commits to the next access; false after one of the host's.
    pub(in crate::disk) fn end_cleaning_step(&mut self, now: Time, events: &mut Events) -> bool {
        let Some(shingled) = &mut self.shingled else { return false };
        if !std::mem::take(&mut shingled.at_step) {
            shingled.active = now;
            return false;
        }
        if shingled.job.as_ref().is_some_and(super::Job::is_done) {
            shingled.end_job();
            self.counters.bands_cleaned += 1;
        }
        self.commit(now, self.parts.order, events);
        self.next_lba = None;
        true
    }

    /// Wakes the disk at the end of the idle time after which it cleans.
    fn sleep_until_idle(&mut self, now: Time, events: &mut Events) {
        let shingled = self.shingles();
        if shingled.is_clean() || shingled.wakes_at.is_some_and(|at| at > now) {
            return;
        }
        let at = shingled.active + shingled.shape.clean_after;
        if at > now {
            shingled.wakes_at = Some(at);
            events.push(at, Event::Wake);
        }
    }
}
