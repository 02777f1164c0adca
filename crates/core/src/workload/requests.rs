//! The endless seeded sequence of a workload's requests.

use super::address::{Addresses, Order, Region, Slots, Walk};
use super::block::BlockSizes;
use super::options::WorkloadError;
use super::{Rw, Workload};
use crate::request::{Op, Request, RequestId};
use crate::rng::Rng;
use crate::units::{Bytes, Lba, Ratio, Sectors};

/// Makes a workload's requests one by one; never ends, never allocates.
///
/// The generators of kinds, sizes and addresses are separate: neither a block-size split nor the
/// read share of a mixture changes the addresses.
#[derive(Debug, Clone)]
pub struct Requests {
    rw: Rw,
    read_share: Ratio,
    blocks: BlockSizes,
    addresses: Addresses,
    /// The addresses of writes, if they are separate from those of reads.
    write_addresses: Option<Addresses>,
    /// Used if only a share of random addresses is drawn.
    in_order: Option<InOrder>,
    /// Used if the addresses are those of one zone after the other.
    zones: Option<Walk>,
    /// A block that was trimmed, and is written next.
    trimmed: Option<(Lba, Sectors)>,
    fsync: u32,
    fsync_between: bool,
    sync: bool,
    writes_since_flush: u32,
    kinds: Rng,
    sizes: Rng,
    positions: Rng,
}

impl Requests {
    /// The requests of `workload` on a target of `capacity`, as drawn by `seed`.
    ///
    /// # Errors
    /// The region does not fit the target, or cannot contain one block for each stream.
    pub fn new(workload: &Workload, capacity: Bytes, seed: u64) -> Result<Self, WorkloadError> {
        let used = region(workload, capacity)?;
        Ok(Self {
            rw: workload.rw,
            read_share: workload.read_share,
            blocks: workload.blocks.clone(),
            addresses: addresses(workload, zone(workload, used))?,
            write_addresses: (workload.own_cursors && workload.rw == Rw::ReadWrite)
                .then(|| addresses(workload, zone(workload, used)))
                .transpose()?,
            in_order: InOrder::of(workload, used, seed),
            zones: workload.strided.map(|zones| Walk::new(zones, used.first, used.end)),
            trimmed: None,
            fsync: workload.fsync,
            fsync_between: workload.fsync_between,
            sync: workload.sync,
            writes_since_flush: 0,
            kinds: Rng::for_part(seed, 0),
            sizes: Rng::for_part(seed, 1),
            positions: Rng::for_part(seed, 2),
        })
    }

    /// The next request, under the submitter's name `id`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call hands the request over through memory, which costs 5 ns of some 90 a \
                  request that reaches nothing"
    )]
    pub fn next(&mut self, id: RequestId) -> Request {
        // A flush is due at the same time as the write before it, so it is a separate request.
        if self.flush_next() {
            self.writes_since_flush = 0;
            return Request::flush(id.0);
        }
        let op = self.next_op();
        self.writes_since_flush += u32::from(op == Op::Write && self.fsync > 0);
        if let Some((lba, sectors)) = self.trimmed.take() {
            return Request { id, op, lba, sectors, fua: self.sync, submitter: 0 };
        }
        let sectors = self.blocks.draw(&mut self.sizes);
        let shift = self.turn_to_zone(sectors);
        let addresses = match &mut self.write_addresses {
            Some(addresses) if op == Op::Write => addresses,
            _ => &mut self.addresses,
        };
        let lba = match &mut self.in_order {
            None => addresses.next(&mut self.positions, sectors),
            Some(in_order) => {
                in_order.next(sectors, || addresses.next(&mut self.positions, sectors))
            }
        };
        let lba = lba + shift;
        if self.rw.trims_and_writes() {
            self.trimmed = Some((lba, sectors));
        }
        Request { id, op, lba, sectors, fua: self.sync && op == Op::Write, submitter: 0 }
    }

    /// True if the next request is a flush.
    #[inline]
    pub fn flush_next(&self) -> bool {
        self.fsync > 0 && self.writes_since_flush >= self.fsync
    }

    /// True if the flush that is next must be sent even if no request follows it.
    #[inline]
    pub fn must_flush(&self) -> bool {
        self.flush_next() && !self.fsync_between
    }

    /// The distance of the zone that the next request is in from the first.
    #[inline]
    fn turn_to_zone(&mut self, block: Sectors) -> Sectors {
        let Some(zones) = &mut self.zones else { return Sectors::ZERO };
        if zones.turn(block) {
            self.addresses.begin_zone();
            self.write_addresses.iter_mut().for_each(Addresses::begin_zone);
        }
        zones.shift()
    }

    fn next_op(&mut self) -> Op {
        let reads = match self.rw {
            Rw::Read | Rw::RandRead => true,
            Rw::ReadWrite | Rw::RandRw => self.kinds.chance(self.read_share),
            Rw::Trim | Rw::RandTrim => return Op::Trim,
            Rw::TrimWrite | Rw::RandTrimWrite if self.trimmed.is_none() => return Op::Trim,
            Rw::Write | Rw::RandWrite | Rw::TrimWrite | Rw::RandTrimWrite => false,
        };
        if reads { Op::Read } else { Op::Write }
    }
}

/// Random I/O of which a share follows the previous request.
#[derive(Debug, Clone)]
struct InOrder {
    drawn: Ratio,
    region: Region,
    /// End of the previous request.
    behind: Lba,
    orders: Rng,
}

impl InOrder {
    fn of(workload: &Workload, region: Region, seed: u64) -> Option<Self> {
        // A part of the seed that no other generator of the job uses.
        let orders = Rng::for_part(seed, 5);
        let (drawn, behind) = (workload.random_share, region.first);
        (drawn < Ratio::ONE).then_some(Self { drawn, region, behind, orders })
    }

    fn next(&mut self, sectors: Sectors, draw: impl FnOnce() -> Lba) -> Lba {
        let Region { first, end } = self.region;
        debug_assert!(first + sectors <= end, "the region has room for every block");
        let lba = if self.orders.chance(self.drawn) {
            draw()
        } else if self.behind + sectors > end {
            // No room before the end: as a sequential stream does, from the beginning.
            first
        } else {
            self.behind
        };
        self.behind = lba + sectors;
        lba
    }
}

/// The first zone of a region; all of it without zones.
fn zone(workload: &Workload, region: Region) -> Region {
    let Some(zones) = workload.strided else { return region };
    let end = region.first + Sectors::holding(zones.length);
    Region { end: end.min(region.end), ..region }
}

/// The whole sectors of the workload's region; what is left of its last one is not used.
fn region(workload: &Workload, capacity: Bytes) -> Result<Region, WorkloadError> {
    let offset = workload.offset;
    let size = workload.size.unwrap_or(Bytes::new(capacity.get().saturating_sub(offset.get())));
    let end = offset.get().checked_add(size.get()).filter(|end| *end <= capacity.get());
    let Some(end) = end else {
        return Err(WorkloadError::RegionBeyondTarget { offset, size, capacity });
    };
    Ok(Region { first: Lba::at_byte(offset), end: Lba::at_byte(Bytes::new(end)) })
}

fn addresses(workload: &Workload, region: Region) -> Result<Addresses, WorkloadError> {
    let Region { first, end } = region;
    let largest = Sectors::holding(workload.blocks.largest());
    let streams = if workload.rw.is_random() { 1 } else { workload.streams };
    let size = (end - first).bytes();
    if (end - first).get() / u64::from(streams) < largest.get() {
        let block = workload.blocks.largest();
        return Err(WorkloadError::RegionTooSmall { size, block, streams });
    }
    if !workload.rw.is_random() {
        let stride = workload.stride.map(Sectors::holding);
        let order = Order { stride, backwards: workload.backwards };
        return Ok(Addresses::sequential(region, streams, largest, order));
    }
    // Slots are spaced by the smallest block, and the last one still has room for the largest.
    let step = workload.blockalign.unwrap_or(workload.blocks.smallest());
    let step = Sectors::holding(step);
    let count = ((end - first).get() - largest.get()) / step.get() + 1;
    let slots = Slots { first, step, count };
    debug_assert!(slots.first + Sectors::new((count - 1) * step.get()) + largest <= end);
    Ok(if workload.each_once {
        Addresses::shuffled(slots)
    } else {
        Addresses::random(&workload.distribution, slots)
    })
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadOptions;
    use super::*;

    fn requests(options: WorkloadOptions, capacity: Bytes, seed: u64) -> Requests {
        Requests::new(&options.check().unwrap(), capacity, seed).unwrap()
    }

    fn draw(requests: &mut Requests, count: u64) -> Vec<Request> {
        (0..count).map(|id| requests.next(RequestId(id))).collect()
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let options = || WorkloadOptions { rw: Some(Rw::RandRw), ..Default::default() };
        let first = draw(&mut requests(options(), Bytes::gib(1), 1), 100);
        assert_eq!(first, draw(&mut requests(options(), Bytes::gib(1), 1), 100));
        assert_ne!(first, draw(&mut requests(options(), Bytes::gib(1), 2), 100));
    }

    #[test]
    fn the_read_share_does_not_move_the_addresses() {
        let with = |rwmixread| WorkloadOptions {
            rw: Some(Rw::RandRw),
            rwmixread: Some(rwmixread),
            ..Default::default()
        };
        let places = |options| -> Vec<Lba> {
            draw(&mut requests(options, Bytes::gib(1), 1), 50).iter().map(|r| r.lba).collect()
        };
        assert_eq!(places(with(10)), places(with(90)));
    }

    #[test]
    fn a_share_of_random_requests_follows_the_one_before() {
        let followers = |percentage_random| {
            let options = WorkloadOptions {
                percentage_random: Some(percentage_random),
                ..Default::default()
            };
            let drawn = draw(&mut requests(options, Bytes::gib(1), 3), 10_000);
            drawn.windows(2).filter(|pair| pair[0].end() == pair[1].lba).count()
        };
        // Of 9,999 pairs; the standard deviation at 70 % is 46.
        assert_eq!(followers(0), 9_999);
        assert!(followers(30).abs_diff(6_999) < 200, "{}", followers(30));
        assert!(followers(100) < 10, "{}", followers(100));
    }

    #[test]
    fn without_repetition_a_pass_touches_every_block_once() {
        let options = WorkloadOptions {
            norandommap: Some(false),
            offset: Some(Bytes::kib(64)),
            size: Some(Bytes::mib(1)),
            ..Default::default()
        };
        let mut requests = requests(options, Bytes::gib(1), 4);
        for _ in 0..2 {
            let drawn = draw(&mut requests, 256);
            let mut places: Vec<u64> =
                drawn.iter().map(|request| request.lba.byte_offset().get()).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq((16..272).map(|block| block * 4096)));
        }
    }

    #[test]
    fn random_addresses_lie_at_multiples_of_the_alignment() {
        let options = WorkloadOptions {
            blockalign: Some(Bytes::kib(64)),
            offset: Some(Bytes::kib(4)),
            size: Some(Bytes::mib(4)),
            ..Default::default()
        };
        for request in draw(&mut requests(options, Bytes::gib(1), 4), 100) {
            let place = request.lba.byte_offset().get() - 4096;
            assert!(place.is_multiple_of(64 << 10) && place < 4 << 20, "{place}");
        }
    }

    #[test]
    fn reads_and_writes_in_order_can_each_have_a_cursor() {
        let options = WorkloadOptions {
            rw: Some(Rw::ReadWrite),
            own_cursors: Some(true),
            ..Default::default()
        };
        let drawn = draw(&mut requests(options, Bytes::gib(1), 1), 100);
        for op in [Op::Read, Op::Write] {
            let places = drawn.iter().filter(|request| request.op == op).map(|it| it.lba.get());
            assert!(places.enumerate().all(|(number, place)| place == number as u64 * 8));
        }
    }

    #[test]
    fn a_flush_follows_every_nth_write() {
        let options = WorkloadOptions { rw: Some(Rw::Write), fsync: Some(2), ..Default::default() };
        let ops: Vec<Op> = draw(&mut requests(options, Bytes::gib(1), 1), 6)
            .iter()
            .map(|request| request.op)
            .collect();
        assert_eq!(ops, [Op::Write, Op::Write, Op::Flush, Op::Write, Op::Write, Op::Flush]);
    }

    #[test]
    fn each_trimmed_block_is_written_next() {
        for rw in [Rw::TrimWrite, Rw::RandTrimWrite] {
            let options = WorkloadOptions { rw: Some(rw), fsync: Some(1), ..Default::default() };
            let drawn = draw(&mut requests(options, Bytes::gib(1), 1), 30);
            for turn in drawn.chunks(3) {
                let ops: Vec<Op> = turn.iter().map(|request| request.op).collect();
                assert_eq!(ops, [Op::Trim, Op::Write, Op::Flush]);
                assert_eq!((turn[0].lba, turn[0].sectors), (turn[1].lba, turn[1].sectors));
            }
            assert_ne!(drawn[0].lba, drawn[3].lba);
        }
    }

    #[test]
    fn zones_follow_one_another_with_gaps() {
        let with = |rw, count| -> Vec<u64> {
            let options = WorkloadOptions {
                rw: Some(rw),
                strided: Some("8k/8k/24k".parse().unwrap()),
                size: Some(Bytes::kib(96)),
                ..Default::default()
            };
            let drawn = draw(&mut requests(options, Bytes::gib(1), 1), count);
            drawn.iter().map(|request| request.lba.byte_offset().get() / 4096).collect()
        };
        assert_eq!(with(Rw::Read, 8), [0, 1, 8, 9, 16, 17, 0, 1]);
        assert!(with(Rw::RandRead, 60).iter().enumerate().all(|(n, block)| {
            let zone = (n as u64 / 2 % 3) * 8;
            (zone..zone + 2).contains(block)
        }));
    }

    #[test]
    fn a_region_may_end_within_a_sector() {
        let options = WorkloadOptions {
            rw: Some(Rw::Read),
            bs: Some(Bytes::kib(64)),
            size: Some(Bytes::new(10_000_000)),
            ..Default::default()
        };
        let drawn = draw(&mut requests(options, Bytes::new(10_000_000), 1), 153);
        assert_eq!(drawn[151].end().byte_offset(), Bytes::new(152 << 16));
        assert_eq!(drawn[152].lba, Lba::new(0), "the part of a block at the end is not used");
    }

    #[test]
    fn regions_that_do_not_fit_are_refused() {
        let refuse = |options: WorkloadOptions, capacity| {
            Requests::new(&options.check().unwrap(), capacity, 0).unwrap_err().to_string()
        };
        let beyond = WorkloadOptions {
            offset: Some(Bytes::gib(400)),
            size: Some(Bytes::gib(200)),
            ..Default::default()
        };
        assert!(refuse(beyond, Bytes::gib(500)).contains("past the end"));
        let tiny = WorkloadOptions { size: Some(Bytes::new(512)), ..Default::default() };
        assert!(refuse(tiny, Bytes::gib(1)).contains("too small for"));
        assert!(refuse(WorkloadOptions::default(), Bytes::ZERO).contains("too small for"));
    }

    proptest::proptest! {
        #[test]
        fn every_request_lies_inside_the_region(
            offset in 0_u64..64, blocks in 1_u64..64, random: bool, streams in 1_u32..4, seed: u64,
        ) {
            let options = WorkloadOptions {
                rw: Some(if random { Rw::RandRead } else { Rw::Read }),
                bssplit: Some("4k/1:16k/1".parse().unwrap()),
                offset: Some(Bytes::kib(offset)),
                size: Some(Bytes::kib(16 * blocks)),
                streams: Some(streams),
                ..Default::default()
            };
            let workload = options.check().unwrap();
            let Ok(mut requests) = Requests::new(&workload, Bytes::gib(1), seed) else {
                proptest::prop_assert!(blocks < u64::from(streams));
                return Ok(());
            };
            for request in draw(&mut requests, 200) {
                proptest::prop_assert!(request.lba.byte_offset() >= Bytes::kib(offset));
                let end = Bytes::kib(offset + 16 * blocks);
                proptest::prop_assert!(request.end().byte_offset() <= end);
            }
        }
    }
}
