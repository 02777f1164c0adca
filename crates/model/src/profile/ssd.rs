//! Conversion of a solid-state drive's profile keys to checked parts.

use drivelab_core::numbers::float;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{Invalid, Ratio, Sectors, Span, invalid};

use super::hdd::ScsiBus;
use super::raw::{Raw, required};
use super::values::{Factor, Interface, VictimsName};
use crate::controller::Link;
use crate::options::Switch;
use crate::ssd::flash::{FlashRules, PageTimes, Retry, Suspend};
use crate::ssd::ftl::{Choice, Rules, Shape};
use crate::ssd::{
    BackendRules, CommitRules, DynamicSlc, MapCache, Precondition, Scale, SlcRules, SsdParts,
    Throttle,
};

/// A checked solid-state drive, which can be built at the profile's scale.
#[derive(Debug, Clone)]
pub(crate) struct SsdProfile {
    pub(crate) capacity: Sectors,
    pub(crate) interface: Interface,
    pub(crate) link: Link,
    pub(crate) queue_depth: usize,
    /// Commands in progress, from all queues of an `NVMe` controller.
    pub(crate) commands_at_once: usize,
    pub(crate) write_cache: Switch,
    pub(crate) protected: bool,
    /// A volatile cache is reported, if the profile states it.
    reports_write_cache: Option<Switch>,
    pub(crate) scale: Scale,
    pub(crate) precondition: Precondition,
    /// Serial processing of a command by the controller.
    pub(crate) command_processing: Span,
    flash: FlashRules,
    chip: Chip,
    times: Processing,
    choice: Choice,
    low_water: u32,
    buffer: Bytes,
    map_cache: Option<Bytes>,
    /// Size of the SLC blocks; zero for none.
    slc: Bytes,
    /// The share of the free space that is written as SLC, and the bits of a cell.
    slc_free: Ratio,
    cell_bits: u32,
    fold_after: Span,
    /// Pages of the map that a flush writes.
    map_pages: Option<u32>,
    throttle: Option<Throttle>,
    /// The bus of a card or a stick, which is behind no link.
    pub(crate) bus: ScsiBus,
}

/// The requested model of a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modelled {
    pub(crate) scale: Scale,
    /// Flash beyond the capacity; replaces that of the profile.
    pub(crate) spare: Option<Ratio>,
    pub(crate) seed: u64,
}

/// Sizes of the flash.
#[derive(Debug, Clone, Copy)]
struct Chip {
    planes: u32,
    units_per_page: u32,
    /// Pages of one plane in a block.
    pages: u32,
    raw: u64,
}

#[derive(Debug, Clone, Copy)]
struct Processing {
    read: Span,
    write: Span,
    flush: Span,
}

/// Bytes of a mapping unit.
const UNIT: u64 = 4096;
const UNIT_SECTORS: u64 = UNIT / 512;
/// Default idle time before folding: an estimate.
const FOLD_AFTER: Span = Span::from_ms(100);
/// Default number of commands in progress: that of `MQSim` 7ec40e3 (`Queue_Fetch_Size`), there for
/// each queue.
const COMMANDS_AT_ONCE: usize = 512;
/// Units of a drive that is only read, above which a smaller part is as good.
const READ_UNITS: u64 = 1 << 21;
/// Map entries in a page of 4 KiB, at 4 bytes each.
const MAP_UNITS: u32 = 1024;

impl SsdProfile {
    pub(super) fn assemble(raw: &Raw) -> Result<Self, Invalid> {
        let page_bytes = required(raw.page_bytes, "page_bytes")?.0.bytes().get();
        if page_bytes < UNIT || !page_bytes.is_multiple_of(UNIT) {
            return Err(invalid!("`page_bytes` is not a multiple of {UNIT}"));
        }
        let interface = raw.interface.unwrap_or(Interface::Sata);
        let kinds = raw.page_read.as_ref().map_or(1, Vec::len);
        let kinds = u32::try_from(kinds).expect("a list in a file is short");
        // PCIe 3.0 x4 and the depth of Linux' queues; SATA has 32 tags in its protocol.
        let (link, queue_depth) = match interface {
            Interface::Nvme => (Link::Pcie { generation: 3, lanes: 4 }, 1023),
            Interface::Sata | Interface::Scsi => (Link::Sata3, 32),
        };
        let map_access = raw.map_access.map_or(Span::ZERO, |span| span.0);
        let profile = Self {
            capacity: required(raw.capacity_bytes, "capacity_bytes")?.0,
            interface,
            link: raw.link.unwrap_or(link),
            queue_depth: raw.queue_depth.map_or(queue_depth, |count| count.0 as usize),
            commands_at_once: raw
                .commands_at_once
                .map_or(COMMANDS_AT_ONCE, |count| count.0 as usize),
            write_cache: raw.write_cache.unwrap_or(Switch::On),
            protected: raw.power_loss_protection.is_some_and(Switch::is_on),
            reports_write_cache: raw.reports_write_cache,
            scale: raw.scale.unwrap_or(Scale::WHOLE),
            precondition: raw.precondition.unwrap_or_default(),
            command_processing: raw.command_processing.map_or(Span::ZERO, |span| span.0),
            flash: flash_rules(raw)?,
            chip: Chip {
                planes: raw.planes.map_or(1, |count| count.0),
                units_per_page: u32::try_from(page_bytes / UNIT).expect("a page is small"),
                pages: required(raw.block_pages, "block_pages")?.0,
                raw: total_bytes(raw)?,
            },
            times: Processing {
                read: required(raw.read_processing, "read_processing")?.0 + map_access,
                write: required(raw.write_processing, "write_processing")?.0 + map_access,
                flush: required(raw.flush_processing, "flush_processing")?.0,
            },
            choice: victim_choice(raw)?,
            low_water: raw.low_water.map_or(2, |count| count.0),
            buffer: required(raw.write_cache_bytes, "write_cache_bytes")?.0.bytes(),
            map_cache: raw.map_cache_bytes.map(|bytes| bytes.0.bytes()),
            slc: raw.slc_bytes.map_or(Bytes::new(0), |bytes| bytes.0),
            slc_free: raw.slc_free_share.map_or(Ratio::ZERO, |share| share.0),
            cell_bits: raw.cell_bits.map_or(kinds, |count| count.0),
            fold_after: raw.slc_fold_after.map_or(FOLD_AFTER, |patience| patience.0),
            map_pages: raw.flush_map_pages.map(|count| count.0),
            throttle: throttle(raw)?,
            bus: ScsiBus {
                bytes_per_s: raw.bus_mb_per_s.map_or(25, |rate| u64::from(rate.0)) * 1_000_000,
                per_command: raw.bus_overhead.map_or(Span::ZERO, |span| span.0),
            },
        };
        let sata = interface == Interface::Sata;
        if interface != Interface::Scsi && sata != profile.link.is_sata() {
            return Err(invalid!("a link of `{}` does not fit the interface", profile.link));
        }
        // Built once here, so that later builds at the profile's scale cannot fail.
        profile.parts(Modelled { scale: profile.scale, spare: None, seed: 0 })?;
        Ok(profile)
    }

    /// Flash beyond the capacity: `spare`, or that of the profile.
    pub(crate) fn spare_bytes(&self, spare: Option<Ratio>) -> u64 {
        let capacity = self.capacity.bytes().get();
        match spare {
            Some(spare) => share_of(capacity, spare),
            None => self.chip.raw.saturating_sub(capacity),
        }
    }

    /// The parts at a scale: blocks have fewer pages, and all sizes are in proportion.
    pub(crate) fn parts(&self, asked: Modelled) -> Result<SsdParts, Invalid> {
        let Modelled { scale, spare, seed } = asked;
        let (chip, parts) = (&self.chip, scale.parts());
        let raw = self.capacity.bytes().get() + self.spare_bytes(spare);
        // Scaling reduces the pages of a block, not the blocks: the number of victims to choose
        // from decides write amplification.
        if !chip.pages.is_multiple_of(parts) {
            return Err(invalid!(
                "a scale of {scale} does not leave whole pages: `block_pages` is {}",
                chip.pages
            ));
        }
        let page_slots = chip.units_per_page * chip.planes;
        let (dies, slots_per_block) = (self.flash.dies, chip.pages / parts * page_slots);
        let die_units = raw / UNIT / u64::from(dies);
        let slc = self.slc_rules(scale);
        let slc_blocks = slc.map_or(0, |slc| {
            u64::from(slc.dynamic.map_or(slc.blocks, |dynamic| dynamic.set_aside))
        });
        // SLC blocks that are set aside come out of the same flash.
        let blocks = (die_units / u64::from(chip.pages * page_slots)).saturating_sub(slc_blocks);
        let units = self.capacity.get() / UNIT_SECTORS / u64::from(parts);
        let (Ok(units), Ok(blocks_per_die)) = (u32::try_from(units), u32::try_from(blocks)) else {
            return Err("more than 2^32 units: choose a smaller scale, for example `1/32`".into());
        };
        let shape = Shape { dies, blocks_per_die, slots_per_block, units };
        let rules = Rules { choice: self.choice, low_water: self.low_water, page_slots, seed };
        shape.check(self.low_water, page_slots).map_err(Invalid::new)?;
        let ssd = SsdParts {
            backend: BackendRules {
                shape,
                ftl: rules,
                flash: FlashRules { seed, ..self.flash.clone() },
                units_per_page: chip.units_per_page,
                erase_every: parts,
                planes: chip.planes,
                slc,
            },
            sectors_per_unit: UNIT_SECTORS,
            read_processing: self.times.read,
            write_processing: self.times.write,
            flush_processing: self.times.flush,
            buffer_units: u32::try_from(self.buffer.get() / UNIT).expect("at most 1 GiB"),
            write_cache: self.write_cache.is_on(),
            protected: self.protected,
            fold_after: self.fold_after,
            commit: self.map_pages.map(|map_pages| CommitRules { map_pages }),
            throttle: self.throttle.map(|hot| Throttle {
                // In proportion, so that heat and full caches come in the same order.
                after: hot.after / u64::from(parts),
                ..hot
            }),
            map_cache: self.map_cache.map(|memory| MapCache {
                units: MAP_UNITS,
                // A smaller model has the same share of its map in memory.
                pages: u32::try_from(memory.get() / UNIT / u64::from(parts))
                    .expect("at most 1 GiB")
                    .max(1),
            }),
        };
        ssd.check().map_err(Invalid::new)?;
        Ok(ssd)
    }

    /// The SLC blocks of a die. A cell stores one of its bits in them.
    fn slc_rules(&self, scale: Scale) -> Option<SlcRules> {
        let (chip, bits) = (&self.chip, self.cell_bits);
        let pages = u64::from(chip.pages / scale.parts()) / u64::from(bits);
        let slots_per_block = pages.max(1) * u64::from(chip.units_per_page * chip.planes);
        let blocks_of = |bytes: u64| {
            let die_units = bytes / UNIT / u64::from(self.flash.dies);
            let blocks = die_units / u64::from(scale.parts()) / slots_per_block;
            u32::try_from(blocks).expect("a share of a die")
        };
        let set_aside = blocks_of(self.slc.get());
        let free = share_of(self.capacity.bytes().get(), self.slc_free) / u64::from(bits);
        let dynamic = (self.slc_free > Ratio::ZERO).then_some(DynamicSlc {
            set_aside,
            share: self.slc_free,
            bits,
        });
        let blocks = set_aside + if dynamic.is_some() { blocks_of(free) } else { 0 };
        let slots_per_block = u32::try_from(slots_per_block).expect("a share of a die");
        (blocks > 0).then_some(SlcRules { blocks, slots_per_block, dynamic })
    }

    /// The smallest part, from that of the profile on, of which a map of two million units is
    /// enough: random reads of it meet all dies, and hardly meet again.
    pub(crate) fn scale_for_reads(&self) -> Scale {
        let units = self.capacity.get() / UNIT_SECTORS;
        let mut scale = self.scale;
        while units / u64::from(scale.parts()) > READ_UNITS {
            let Some(half) = scale.halved() else { break };
            if self.parts(Modelled { scale: half, spare: None, seed: 0 }).is_err() {
                break;
            }
            scale = half;
        }
        scale
    }

    /// The requests a second that all dies together can read or program; `None` where memory may
    /// answer.
    pub(crate) fn dies_per_s(
        &self,
        workload: &Workload,
        state: Precondition,
        lasting: bool,
    ) -> Option<f64> {
        let (rw, block) = (workload.rw, workload.blocks.mean().get());
        let pages = &self.flash.pages;
        let slc = self.flash.slc.filter(|_| self.has_slc(state));
        let of: fn(&PageTimes) -> Span = match (rw.reads(), rw.writes()) {
            // A sector that was never written is answered without the flash.
            (true, false) if state != Precondition::Fresh => |times| times.read,
            (false, true) if lasting => |times| times.program,
            _ => return None,
        };
        let sum: u64 = pages.iter().map(|times| of(times).ns()).sum();
        let own = float(sum) / float(pages.len() as u64);
        let per_page = slc.map_or(own, |slc| own.min(float(of(&slc).ns())));
        let page = u64::from(self.chip.units_per_page * self.chip.planes) * UNIT;
        // Random reads take a page each, and the rest as many as hold it.
        let taken = if rw.writes() || !rw.is_random() { block } else { block.max(page) };
        let pages_per_s = float(u64::from(self.flash.dies)) * 1e9 / per_page.max(1.0);
        Some(pages_per_s * float(page) / float(taken.max(1)))
    }

    /// Returns true if a part of the flash is written as SLC in `state`.
    pub(crate) fn has_slc(&self, state: Precondition) -> bool {
        let in_free_space = self.slc_free > Ratio::ZERO && state == Precondition::Fresh;
        self.slc > Bytes::new(0) || in_free_space
    }

    /// Returns true if a flush writes the map.
    pub(crate) fn writes_map(&self) -> bool {
        self.map_pages.is_some()
    }

    pub(crate) fn buffer(&self) -> Bytes {
        self.buffer
    }

    /// Size of its volatile cache; `None` if acknowledged data is durable.
    pub(crate) fn volatile_cache(&self) -> Option<Bytes> {
        (!self.protected).then_some(self.buffer)
    }

    /// Returns true if a host reads that the cache is volatile. ATA has no word for a cache that
    /// capacitors protect, so such drives report a cache like any other; on `NVMe` (base
    /// specification 2.0, field VWC) and SCSI it does not count as volatile.
    pub(crate) fn reports_cache(&self) -> bool {
        let usual = !self.protected || self.interface == Interface::Sata;
        self.reports_write_cache.map_or(usual, Switch::is_on)
    }
}

fn throttle(raw: &Raw) -> Result<Option<Throttle>, Invalid> {
    match (raw.throttle_after, raw.throttle_mb_per_s) {
        (None, None) => Ok(None),
        (Some(after), Some(rate)) => {
            let bytes_per_s = u64::from(rate.0) * 1_000_000;
            Ok(Some(Throttle { after: after.0.get(), bytes_per_s }))
        }
        _ => Err("`throttle_after` and `throttle_mb_per_s` need each other".into()),
    }
}

/// The total size of the flash.
fn total_bytes(raw: &Raw) -> Result<u64, Invalid> {
    let Some(spare) = raw.spare else {
        const MISSING: &str =
            "`raw_bytes` is missing; add a line `raw_bytes = ...` or `spare = ...`";
        return Ok(raw.raw_bytes.ok_or(MISSING)?.0.bytes().get());
    };
    if raw.raw_bytes.is_some() {
        return Err("`raw_bytes` and `spare` both say how much flash there is: remove one".into());
    }
    let capacity = required(raw.capacity_bytes, "capacity_bytes")?.0.bytes().get();
    Ok(capacity + share_of(capacity, spare.0))
}

fn share_of(bytes: u64, share: Ratio) -> u64 {
    let part =
        u128::from(bytes) * u128::from(share.billionths()) / u128::from(Ratio::ONE.billionths());
    u64::try_from(part).expect("three times 64 TiB at most")
}

fn flash_rules(raw: &Raw) -> Result<FlashRules, Invalid> {
    let reads = required(raw.page_read.clone(), "page_read")?;
    let programs = required(raw.page_program.clone(), "page_program")?;
    if reads.is_empty() || reads.len() != programs.len() {
        return Err("`page_read` and `page_program` need a time for each kind of page".into());
    }
    let pages = reads.into_iter().zip(programs).map(|(read, program)| PageTimes {
        read: scaled(raw.page_read_factor, read),
        program: scaled(raw.page_program_factor, program),
    });
    let rate = u64::from(required(raw.channel_mb_per_s, "channel_mb_per_s")?.0);
    let suspend = raw.suspend_stop.map(|stop| Suspend {
        stop: stop.0,
        // Resuming takes as long as stopping unless the data sheet says otherwise.
        resume: raw.suspend_resume.map_or(stop.0, |span| span.0),
        most: raw.suspend_most.map_or(8, |count| count.0),
    });
    let share = raw.read_retry_share.map_or(Ratio::ZERO, |share| share.0);
    let retry = match raw.read_retry {
        Some(again) if share != Ratio::ZERO => Some(Retry { share, again: again.0 }),
        _ => None,
    };
    let dies = required(raw.dies, "dies")?.0;
    let channels = required(raw.channels, "channels")?.0;
    if channels > dies {
        return Err(invalid!("{channels} channels for {dies} dies: some would have none"));
    }
    Ok(FlashRules {
        channels,
        dies,
        pages: pages.collect(),
        slc: slc_times(raw)?,
        commit: raw.flush_program.map(|span| span.0),
        erase: required(raw.erase, "erase")?.0,
        // 4096 bytes at MB/s, in ns: 4096 / (rate * 10^6) * 10^9.
        transfer: Span::from_ns(UNIT * 1000 / rate),
        channel_command: raw.channel_command.map_or(Span::ZERO, |span| span.0),
        suspend,
        overtaking_reads: raw.overtaking_reads.map_or(8, |count| count.0),
        retry,
        seed: 0,
    })
}

fn scaled(factor: Option<Factor>, time: Span) -> Span {
    factor.map_or(time, |factor| factor.times(time))
}

fn slc_times(raw: &Raw) -> Result<Option<PageTimes>, Invalid> {
    if raw.slc_bytes.is_none() && raw.slc_free_share.is_none() {
        return match raw.slc_read.or(raw.slc_program) {
            Some(_) => Err("`slc_read` and `slc_program` need `slc_bytes`".into()),
            None => Ok(None),
        };
    }
    let read = required(raw.slc_read, "slc_read")?.0;
    Ok(Some(PageTimes { read, program: required(raw.slc_program, "slc_program")?.0 }))
}

fn victim_choice(raw: &Raw) -> Result<Choice, Invalid> {
    let draws = raw.victim_draws.map(|count| count.0);
    match (raw.victims.unwrap_or(VictimsName::Greedy), draws) {
        (VictimsName::BestOf, Some(draws)) => Ok(Choice::BestOf(draws)),
        (VictimsName::BestOf, None) => Err("`victims = \"best-of\"` needs `victim_draws`".into()),
        (_, Some(_)) => Err("`victim_draws` needs `victims = \"best-of\"`".into()),
        (VictimsName::Greedy, None) => Ok(Choice::Greedy),
        (VictimsName::Fifo, None) => Ok(Choice::Fifo),
        (VictimsName::Random, None) => Ok(Choice::Random),
    }
}
