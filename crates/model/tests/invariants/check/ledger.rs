//! Where the newest data of each sector is, and what a flush has promised.

use drivelab_core::{Request, Time};

use super::rule::{Rule, Tally, Violation};

/// The place of a write in the order of steps; 0 is before all.
pub(crate) type Turn = u64;
/// A turn that has not come yet.
const NEVER: Turn = u64::MAX;

/// When a write was sent and done.
#[derive(Debug, Clone, Copy)]
struct Write {
    sent: Turn,
    done: Turn,
}

/// One sector.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one sector")]
struct Sector {
    /// The write whose data the cache holds newest: its index and one, 0 for none.
    cached: u32,
    /// The cache may hold it; surely holds it.
    dirty: bool,
    surely_dirty: bool,
    /// Since when it has been dirty, or what it may have been joined to.
    since: Time,
    /// A write of the dirty data was acknowledged.
    acknowledged: bool,
    /// The write whose data is on the medium, as in `cached`.
    medium: u32,
    /// The newest write that ever was there.
    newest: u32,
    /// The newest acknowledged write was sent in this turn.
    promised: Turn,
    trimmed: Turn,
    /// The read buffer may hold it.
    buffered: bool,
    /// It is in the list of what may be volatile.
    listed: bool,
}

/// What an access takes to the medium.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    first: usize,
    /// Per sector: the write whose data is written, and what the cache held at that time.
    writes: Vec<(u32, u32)>,
    /// Since when the oldest data of it has been waiting.
    pub(crate) since: Time,
}

/// All sectors of a drive.
#[derive(Debug)]
pub(crate) struct Ledger {
    sectors: Vec<Sector>,
    /// By number less one; the first stands for what was there before.
    writes: Vec<Write>,
    /// Sectors that may hold acknowledged data which is not on the medium.
    volatile: Vec<u32>,
    surely_dirty: u64,
}

impl Ledger {
    pub(crate) fn new(capacity: u64) -> Self {
        let count = usize::try_from(capacity).expect("a small drive");
        Self {
            sectors: vec![Sector::default(); count],
            writes: Vec::new(),
            volatile: Vec::new(),
            surely_dirty: 0,
        }
    }

    fn range(&mut self, lba: u64, sectors: u64) -> &mut [Sector] {
        let first = usize::try_from(lba).expect("a small drive");
        let count = usize::try_from(sectors).expect("a small drive");
        &mut self.sectors[first..first + count]
    }

    fn of(&mut self, request: &Request) -> &mut [Sector] {
        self.range(request.lba.get(), request.sectors.get())
    }

    /// A write became a command; gives its number.
    pub(crate) fn write_sent(&mut self, turn: Turn, request: &Request) -> u32 {
        self.writes.push(Write { sent: turn, done: NEVER });
        for sector in self.of(request) {
            sector.buffered = false;
        }
        u32::try_from(self.writes.len()).expect("a short history")
    }

    pub(crate) fn trim_sent(&mut self, turn: Turn, request: &Request) {
        let mut clean = 0;
        for sector in self.of(request) {
            (sector.trimmed, sector.promised, sector.dirty) = (turn, 0, false);
            clean += u64::from(std::mem::take(&mut sector.surely_dirty));
        }
        self.surely_dirty -= clean;
    }

    /// The data of the write `number` is in the cache; gives how many sectors surely are.
    pub(crate) fn write_cached(&mut self, at: Time, number: u32, request: &Request) -> u64 {
        let mut more = 0;
        for sector in self.of(request) {
            if !sector.dirty {
                (sector.since, sector.acknowledged) = (at, false);
            }
            more += u64::from(!sector.surely_dirty);
            (sector.dirty, sector.surely_dirty, sector.cached) = (true, true, number);
        }
        self.surely_dirty += more;
        self.share_age(request);
        self.surely_dirty
    }

    /// What lies together in the cache may be joined, and is then as old as the oldest of it.
    fn share_age(&mut self, request: &Request) {
        let first = usize::try_from(request.lba.get()).expect("a small drive");
        let end = usize::try_from(request.end().get()).expect("a small drive");
        let dirty = |sector: &&Sector| sector.dirty;
        let before = self.sectors[..first].iter().rev().take_while(dirty).count();
        let after = self.sectors[end..].iter().take_while(dirty).count();
        let together = &mut self.sectors[first - before..end + after];
        let since = together.iter().map(|sector| sector.since).min().unwrap_or(Time::ZERO);
        for sector in together {
            sector.since = since;
        }
    }

    pub(crate) fn write_done(&mut self, turn: Turn, number: u32, request: &Request) {
        let sent = self.writes[number as usize - 1].sent;
        self.writes[number as usize - 1].done = turn;
        let first = u32::try_from(request.lba.get()).expect("a small drive");
        for index in (first..).take(usize::try_from(request.sectors.get()).expect("small")) {
            let sector = &mut self.sectors[index as usize];
            sector.acknowledged = true;
            if sector.trimmed < sent {
                sector.promised = sector.promised.max(sent);
            }
            let sector = *sector;
            if !sector.listed && !self.is_durable(&sector) {
                self.sectors[index as usize].listed = true;
                self.volatile.push(index);
            }
        }
    }

    /// What was promised is on the medium, or something that was not older than it.
    fn is_durable(&self, sector: &Sector) -> bool {
        let done = match sector.medium {
            0 => 0,
            number => self.writes[number as usize - 1].done,
        };
        sector.promised == 0 || done > sector.promised
    }

    /// Sectors with acknowledged data that is not on the medium, and which write was promised.
    pub(crate) fn volatile(&mut self) -> Vec<(u32, Turn)> {
        let mut list = std::mem::take(&mut self.volatile);
        list.retain(|index| {
            let sector = self.sectors[*index as usize];
            let stays = !self.is_durable(&sector);
            self.sectors[*index as usize].listed = stays;
            stays
        });
        let promised = |index: &u32| (*index, self.sectors[*index as usize].promised);
        let volatile = list.iter().map(promised).collect();
        self.volatile = list;
        volatile
    }

    /// Holds the medium against what was volatile when a flush was sent.
    pub(crate) fn flushed(
        &self,
        sent: Turn,
        promised: &[(u32, Turn)],
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        for (index, promised) in promised {
            let sector = Sector { promised: *promised, ..self.sectors[*index as usize] };
            let holds = self.is_durable(&sector) || sector.trimmed > sent;
            tally.hold(Rule::Durable, holds, || {
                format!("sector {index} was acknowledged before the flush and is volatile after it")
            })?;
        }
        Ok(())
    }

    /// Whether the write cache may hold all that `request` reads; whether the read buffer may.
    pub(crate) fn may_hit(&mut self, request: &Request, under_way: Option<&Taken>) -> (bool, bool) {
        let on_its_way = |index: usize| under_way.is_some_and(|taken| taken.covers(index));
        let first = usize::try_from(request.lba.get()).expect("a small drive");
        let sectors = self.of(request);
        let mut places = (first..).zip(sectors.iter());
        let cached = places.all(|(index, sector)| sector.dirty || on_its_way(index));
        (cached, sectors.iter().all(|sector| sector.buffered))
    }

    /// The head has passed, or may pass, these sectors.
    pub(crate) fn buffered(&mut self, lba: u64, sectors: u64) {
        for sector in self.range(lba, sectors) {
            sector.buffered = true;
        }
    }

    /// What the write `number` takes to the medium.
    pub(crate) fn take_direct(&mut self, number: u32, lba: u64, sectors: u64) -> Taken {
        let writes = self.range(lba, sectors).iter().map(|_| (number, 0)).collect();
        Taken { first: usize::try_from(lba).expect("small"), writes, since: Time::ZERO }
    }

    /// What data out of the cache takes to the medium.
    pub(crate) fn take_cached(
        &mut self,
        lba: u64,
        sectors: u64,
        tally: &mut Tally,
    ) -> Result<Taken, Violation> {
        let first = usize::try_from(lba).expect("a small drive");
        let count = usize::try_from(sectors).expect("a small drive");
        let (mut since, mut acknowledged) = (Time::MAX, false);
        let mut writes = Vec::with_capacity(count);
        for index in first..first + count {
            let sector = self.sectors[index];
            tally.hold(Rule::Range, sector.dirty, || {
                format!("sector {index} is written out of the cache, which does not hold it")
            })?;
            // Firmware never writes older data over newer.
            writes.push((self.newer(sector.cached, sector.newest), sector.cached));
            since = since.min(sector.since);
            acknowledged |= sector.acknowledged;
        }
        tally.hold(Rule::Arrival, acknowledged, || {
            format!("the data for sector {lba} is written before it has come in")
        })?;
        Ok(Taken { first, writes, since })
    }

    fn newer(&self, one: u32, other: u32) -> u32 {
        let sent = |number: u32| match number {
            0 => 0,
            number => self.writes[number as usize - 1].sent,
        };
        if sent(one) >= sent(other) { one } else { other }
    }

    /// An access that writes is done.
    pub(crate) fn written(&mut self, taken: &Taken, cached: bool) {
        for (index, (write, held)) in (taken.first..).zip(&taken.writes) {
            let superseded = !cached && self.newer(*write, self.sectors[index].cached) == *write;
            let newest = self.newer(*write, self.sectors[index].newest);
            let sector = &mut self.sectors[index];
            (sector.medium, sector.newest) = (*write, newest);
            let clean = cached && sector.cached == *held;
            sector.dirty &= !clean;
            if clean || superseded {
                self.surely_dirty -= u64::from(std::mem::take(&mut sector.surely_dirty));
            }
        }
    }
}

impl Taken {
    fn covers(&self, index: usize) -> bool {
        (self.first..self.first + self.writes.len()).contains(&index)
    }
}
