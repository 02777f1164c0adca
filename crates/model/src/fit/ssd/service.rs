//! An analytic approximation of write rates, which the simulation corrects.
//!
//! A write needs its transfer into the buffer. The sustained rate is limited by that or by the
//! dies, which program the host's pages, and read and program the valid data of collected blocks.

use drivelab_core::numbers::float;

use super::pages::Pages;
use super::unknowns::Numbers;
use crate::controller::Link;
use crate::ssd::ftl::closed_form;

/// Units of 4 KiB in a page of one plane, in both classes.
const PAGE_UNITS: f64 = 4.0;
/// Units that the planes of a die program together, in both classes.
const PROGRAM_UNITS: f64 = 8.0;
/// Free blocks of a die (`low_water` of the classes).
const KEPT_FREE: f64 = 2.0;
/// Maximum share of used slots; above it collection gains nothing.
const FULLEST: f64 = 0.995;

/// The numbers of a drive that affect writes only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WriteNumbers {
    pub(super) write_processing_us: f64,
    /// Ratio of the program time to that of the class.
    pub(super) page_program_factor: f64,
    /// Flash beyond the capacity, as a share of it.
    pub(super) spare: f64,
    pub(super) erase_us: f64,
    /// True for collection of the oldest block instead of the one with the fewest valid units.
    pub(super) fifo: bool,
}

/// The two limits of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// Rate of programming by the dies.
    pub(super) dies: f64,
    /// Rate of transfers into a buffer with space.
    pub(super) buffer: f64,
}

impl Limits {
    /// The lower limit.
    #[cfg(test)]
    fn rate(self) -> f64 {
        self.dies.min(self.buffer)
    }
}

/// The known properties of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Service {
    pub(super) link: Link,
    /// From the answer on the wire until the host has it.
    pub(super) notice_us: f64,
    /// The program time of the class.
    pub(super) program_us: f64,
    pub(super) pages: Pages,
    pub(super) capacity_units: f64,
    /// Pages of one plane in a block of the drive.
    pub(super) block_pages: f64,
    /// Ratio of a block to a modelled block.
    pub(super) parts: f64,
}

impl Service {
    /// Transfer time on the wire, in us.
    fn data_us(&self, units: f64) -> f64 {
        1e6 * 4096.0 * units / float(self.link.bytes_per_s())
    }

    fn command_us(&self, numbers: &Numbers) -> f64 {
        float(self.link.per_command().ns()) / 1e3 + numbers.command_processing_us
    }

    /// Time of a write of `units` into a buffer with space, in us.
    pub(super) fn cached_us(&self, numbers: &Numbers, writes: &WriteNumbers, units: f64) -> f64 {
        let controller = writes.write_processing_us + self.command_us(numbers);
        self.data_us(units) + controller + self.notice_us
    }

    /// Units per second into a buffer with space.
    fn buffered(&self, numbers: &Numbers, writes: &WriteNumbers, [depth, units]: [f64; 2]) -> f64 {
        let (data, command) = (self.data_us(units), self.command_us(numbers));
        // A SATA link carries data and answers in turn, an NVMe link both directions at once.
        let wire = if self.link.is_sata() { data + command } else { data.max(command) };
        let alone = self.cached_us(numbers, writes, units);
        1e6 * units * (depth / alone).min(1.0 / wire)
    }

    /// The larger of `time` and the time of a channel for `transfers` units of each of its dies.
    fn shared_us(numbers: &Numbers, time: f64, transfers: f64) -> f64 {
        // Dies of one channel transfer in turn, so the slowest channel has the most of them.
        let sharing = libm::ceil(numbers.dies / numbers.channels());
        time.max(sharing * transfers * numbers.transfer_us())
    }

    /// Rate of sequential writes of 1 MiB at depth 1 to erased blocks, in MB/s: a fresh or full
    /// drive has enough of them for a measurement.
    pub(super) fn stream(&self, numbers: &Numbers, writes: &WriteNumbers) -> Limits {
        let program =
            PROGRAM_UNITS * numbers.transfer_us() + self.program_us * writes.page_program_factor;
        let page = Self::shared_us(numbers, program, PROGRAM_UNITS);
        let dies = 1e6 * numbers.dies * PROGRAM_UNITS / page;
        let buffer = self.buffered(numbers, writes, [1.0, 256.0]);
        Limits { dies: dies * 4096.0 / 1e6, buffer: buffer * 4096.0 / 1e6 }
    }

    /// Rate of random writes of 4 KiB on a steady drive, per second.
    pub(super) fn steady(&self, numbers: &Numbers, writes: &WriteNumbers, depth: u32) -> Limits {
        let slots = self.block_pages / self.parts * PROGRAM_UNITS;
        let valid = self.valid_share(numbers, writes, slots);
        let transfer = numbers.transfer_us();
        let program = self.program_us * writes.page_program_factor;
        let reads = slots / PAGE_UNITS * (1.0 - libm::pow(1.0 - valid, PAGE_UNITS));
        // A page is read if any of its units is valid.
        let cells = self.pages.times_us(numbers.page_read_factor).iter().sum::<f64>() / 4.0;
        let read = cells + transfer * slots * valid / reads.max(1e-9);
        let block = slots * transfer
            + slots / PROGRAM_UNITS * program
            + reads * read
            + writes.erase_us / self.parts;
        let block = Self::shared_us(numbers, block, slots * (1.0 + valid));
        let dies = 1e6 * numbers.dies * slots * (1.0 - valid) / block;
        Limits { dies, buffer: self.buffered(numbers, writes, [f64::from(depth), 1.0]) }
    }

    /// The valid share of a collected block.
    fn valid_share(&self, numbers: &Numbers, writes: &WriteNumbers, slots: f64) -> f64 {
        let flash = self.capacity_units * (1.0 + writes.spare) / numbers.dies;
        let free = KEPT_FREE * self.block_pages * PROGRAM_UNITS;
        let used = self.capacity_units / numbers.dies / (flash - free).max(1.0);
        // More used slots than flash, from an extreme draw, counts as the fullest drive.
        let used = if used > 0.0 { used.min(FULLEST) } else { FULLEST };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "slots of a block are a small whole number"
        )]
        let amplification = if writes.fifo {
            closed_form::fifo(used)
        } else {
            closed_form::greedy(used, slots as u32)
        };
        1.0 - 1.0 / amplification
    }

    /// Rounds `spare` to whole blocks on every die: a drive cannot use parts of a block.
    pub(super) fn whole_blocks(&self, numbers: &Numbers, spare: f64) -> f64 {
        let per_block = self.block_pages * PROGRAM_UNITS * numbers.dies;
        let blocks = libm::round(self.capacity_units * (1.0 + spare) / per_block);
        // A hundredth of a block more, so that later rounding cannot lose a block.
        (blocks + 0.01) * per_block / self.capacity_units - 1.0
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::measurements::Measurements;

    use super::*;

    fn service() -> Service {
        let nothing = Measurements::of_drive(1 << 32, None).unwrap();
        Service {
            link: Link::Sata3,
            notice_us: 0.0,
            program_us: 1200.0,
            pages: Pages::new(&nothing, 60.0),
            capacity_units: 1e6,
            block_pages: 16.0,
            parts: 1.0,
        }
    }

    const WRITES: WriteNumbers = WriteNumbers {
        write_processing_us: 20.0,
        page_program_factor: 1.0,
        spare: 0.25,
        erase_us: 0.0,
        fifo: false,
    };

    fn numbers(dies: f64) -> Numbers {
        Numbers::of(&[dies, 1.0, 24.0, 1.0, 400.0])
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} for {expected}");
    }

    #[test]
    fn a_write_into_the_buffer_costs_the_sum_of_its_parts() {
        // 6.83 us of data, 3.3 us of frames, 1 us of the controller alone, 20 us beside others.
        near(service().cached_us(&numbers(8.0), &WRITES, 1.0), 31.127);
    }

    #[test]
    fn sequential_writes_go_as_fast_as_dies_program_or_the_wire_carries() {
        // 8 dies, 32 KiB in 81.92 + 1200 us each.
        near(service().stream(&numbers(8.0), &WRITES).rate(), 8.0 * 0.032_768 / 1281.92e-6);
        let wire = 1_048_576.0 / (1747.63 + 20.0 + 3.3 + 1.0);
        near(service().stream(&numbers(64.0), &WRITES).rate(), wire);
    }

    #[test]
    fn steady_writes_cost_what_collection_copies() {
        let fresh = 8.0 * 8.0 / 1281.92e-6;
        let steady = service().steady(&numbers(8.0), &WRITES, 32).rate();
        // A write amplification of about 2.7 by the closed form, and the reads of the copies.
        assert!((2.7..3.4).contains(&(fresh / steady)), "{}", fresh / steady);
        let more = WriteNumbers { spare: 0.5, ..WRITES };
        assert!(service().steady(&numbers(8.0), &more, 32).rate() > 1.3 * steady);
        let fifo = WriteNumbers { fifo: true, ..WRITES };
        assert!(service().steady(&numbers(8.0), &fifo, 32).rate() < steady);
        // One write at a time on many dies: the controller.
        let all = WriteNumbers { spare: 0.9, ..WRITES };
        near(service().steady(&numbers(256.0), &all, 1).rate(), 1e6 / 31.127);
    }

    #[test]
    fn spare_flash_is_rounded_to_whole_blocks() {
        let spare = service().whole_blocks(&numbers(8.0), 0.25);
        let blocks = 1e6 * (1.0 + spare) / (16.0 * 8.0 * 8.0);
        let over = blocks - libm::floor(blocks);
        assert!((spare - 0.25).abs() < 0.001 && over > 0.0 && over < 0.02, "{spare} {blocks}");
    }
}
