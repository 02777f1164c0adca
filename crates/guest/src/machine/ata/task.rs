//! Decodes the commands of an ATA drive (ATA8-ACS).

use drivelab_core::{Lba, Op, Sectors};

use super::identify::{self, AtaConfig, TRIM_BLOCKS_MAX};

/// The registers of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::machine) struct TaskFile {
    /// The command.
    pub(in crate::machine) command: u8,
    /// Features, 16 bits with the extended register.
    pub(in crate::machine) features: u16,
    /// 48 bits of address.
    pub(in crate::machine) lba: u64,
    /// The device register, with four bits of a 28-bit address.
    pub(in crate::machine) device: u8,
    /// The count, 16 bits with the extended register.
    pub(in crate::machine) count: u16,
}

/// The action of a drive on a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::machine) enum Action {
    /// Access the medium.
    Medium(MediumCommand),
    /// Read a list of this number of blocks, and trim its ranges.
    Trim {
        /// Blocks of 512 bytes, which the host sends.
        blocks: u16,
    },
    /// Send data to the host, by programmed I/O.
    DataIn(Vec<u8>),
    /// Complete at once, with these registers.
    Done {
        /// Address registers.
        lba: u64,
        /// Count register.
        count: u16,
    },
    /// Refuse, with this error register.
    Refused(u8),
}

/// A command that reaches the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) struct MediumCommand {
    pub(in crate::machine) op: Op,
    pub(in crate::machine) lba: Lba,
    pub(in crate::machine) sectors: Sectors,
    pub(in crate::machine) fua: bool,
    /// The tag, if it is queued.
    pub(in crate::machine) tag: Option<u8>,
}

/// `ABRT`: the command is not known, or cannot be carried out.
pub(in crate::machine) const ABORTED: u8 = 4;
/// `IDNF`: the address does not exist.
pub(in crate::machine) const NO_ADDRESS: u8 = 0x10;
/// `UNC`: the data cannot be read.
pub(in crate::machine) const UNCORRECTABLE: u8 = 0x40;

const DATA_SET: u8 = 0x06;
const READ_QUEUED: u8 = 0x60;
const WRITE_QUEUED: u8 = 0x61;
const READ_DMA_EXT: u8 = 0x25;
const WRITE_DMA_EXT: u8 = 0x35;
const WRITE_DMA_FUA: u8 = 0x3D;
const READ_DMA: u8 = 0xC8;
const WRITE_DMA: u8 = 0xCA;
const READ_VERIFY: u8 = 0x40;
const READ_VERIFY_EXT: u8 = 0x42;
const FLUSH: u8 = 0xE7;
const FLUSH_EXT: u8 = 0xEA;
const IDENTIFY: u8 = 0xEC;
const READ_LOG: u8 = 0x2F;
const SET_FEATURES: u8 = 0xEF;
const SMART: u8 = 0xB0;
const CHECK_POWER: u8 = 0xE5;
/// Standby and idle, immediately or after a time: these have no effect.
const POWER: [u8; 4] = [0xE0, 0xE1, 0xE2, 0xE3];

const FUA: u8 = 0x80;
/// The log of the error of a queued command.
const ERROR_LOG: u8 = 0x10;
/// Address registers that a SMART command must have, and that a healthy drive returns.
const SMART_KEY: u64 = 0xC2_4F00;
const SECTOR_BYTES: usize = 512;

/// The drive behind its commands, without its medium.
#[derive(Debug)]
pub(in crate::machine) struct Ata {
    pub(in crate::machine) config: AtaConfig,
    write_cache: bool,
    smart: bool,
    error_log: [u8; SECTOR_BYTES],
}

impl Ata {
    pub(in crate::machine) fn new(config: AtaConfig) -> Self {
        let write_cache = config.write_cache;
        Self { config, write_cache, smart: true, error_log: no_error() }
    }

    /// Decodes `task`.
    pub(in crate::machine) fn decode(&mut self, task: &TaskFile) -> Action {
        let done = Action::Done { lba: task.lba, count: 0 };
        match task.command {
            READ_QUEUED | WRITE_QUEUED => self.queued(task),
            READ_DMA_EXT | WRITE_DMA_EXT | WRITE_DMA_FUA | READ_DMA | WRITE_DMA => self.dma(task),
            READ_VERIFY | READ_VERIFY_EXT => done,
            DATA_SET => self.data_set(task),
            FLUSH | FLUSH_EXT => self.medium(Op::Flush, 0, 0, false, None),
            IDENTIFY => Action::DataIn(
                identify::identify(&self.config, self.write_cache, self.smart).to_vec(),
            ),
            READ_LOG => self.read_log(task),
            SET_FEATURES => self.set_features(task),
            SMART => self.smart(task),
            // 0xFF is active or idle.
            CHECK_POWER => Action::Done { lba: task.lba, count: 0xFF },
            power if POWER.contains(&power) => done,
            _ => Action::Refused(ABORTED),
        }
    }

    fn queued(&self, task: &TaskFile) -> Action {
        let op = if task.command == READ_QUEUED { Op::Read } else { Op::Write };
        // A count of 0 means the maximum, in this and the other commands.
        let sectors = if task.features == 0 { 1 << 16 } else { u64::from(task.features) };
        // A queued command has its count in the features, and its tag in the count.
        let tag = u8::try_from(task.count >> 3 & 31).expect("five bits");
        self.medium(op, task.lba, sectors, task.device & FUA != 0, Some(tag))
    }

    fn dma(&self, task: &TaskFile) -> Action {
        let op = if matches!(task.command, READ_DMA | READ_DMA_EXT) { Op::Read } else { Op::Write };
        let (lba, sectors) = if matches!(task.command, READ_DMA | WRITE_DMA) {
            // 28-bit commands have address bits 24 to 27 in the device register, and 8 bits of
            // count.
            let high = u64::from(task.device & 15) << 24;
            let count = u64::from(task.count & 0xFF);
            (task.lba & 0xFF_FFFF | high, if count == 0 { 256 } else { count })
        } else {
            let count = u64::from(task.count);
            (task.lba, if count == 0 { 1 << 16 } else { count })
        };
        self.medium(op, lba, sectors, task.command == WRITE_DMA_FUA, None)
    }

    fn data_set(&self, task: &TaskFile) -> Action {
        const TRIM: u16 = 1;
        let blocks = task.count;
        if self.config.trims && task.features == TRIM && (1..=TRIM_BLOCKS_MAX).contains(&blocks) {
            return Action::Trim { blocks };
        }
        Action::Refused(ABORTED)
    }

    fn medium(&self, op: Op, lba: u64, sectors: u64, fua: bool, tag: Option<u8>) -> Action {
        debug_assert!(lba < 1 << 48, "an address has 48 bits, so the sum cannot overflow");
        if lba + sectors > self.config.capacity.get() {
            return Action::Refused(NO_ADDRESS);
        }
        // With its cache off a drive acknowledges a write when it is on the medium.
        let fua = op == Op::Write && (fua || !self.write_cache);
        Action::Medium(MediumCommand {
            op,
            lba: Lba::new(lba),
            sectors: Sectors::new(sectors),
            fua,
            tag,
        })
    }

    /// Returns the directory of logs, or the log of the failed queued command.
    fn read_log(&self, task: &TaskFile) -> Action {
        let mut log = match task.lba.to_le_bytes()[0] {
            0 => {
                let mut directory = vec![0; SECTOR_BYTES];
                // The version, and then for each log a word with its number of pages.
                directory[0] = 1;
                directory[2 * usize::from(ERROR_LOG)] = 1;
                directory
            }
            ERROR_LOG => self.error_log.to_vec(),
            _ => return Action::Refused(ABORTED),
        };
        // A host may read more pages than the log has: those are zero.
        log.resize(SECTOR_BYTES * usize::from(task.count.max(1)), 0);
        Action::DataIn(log)
    }

    fn set_features(&mut self, task: &TaskFile) -> Action {
        let done = Action::Done { lba: task.lba, count: 0 };
        match task.features.to_le_bytes()[0] {
            0x02 if self.config.has_write_cache => self.write_cache = true,
            0x82 => self.write_cache = false,
            // The transfer mode, which a serial link does not have, and look-ahead.
            0x03 | 0xAA | 0x55 => {}
            _ => return Action::Refused(ABORTED),
        }
        done
    }

    fn smart(&mut self, task: &TaskFile) -> Action {
        const READ_DATA: u8 = 0xD0;
        const ENABLE: u8 = 0xD8;
        const DISABLE: u8 = 0xD9;
        const RETURN_STATUS: u8 = 0xDA;
        let sub = task.features.to_le_bytes()[0];
        // ATA8-ACS, section 7.48: every SMART command has this key in its address registers.
        if task.lba & 0xFF_FF00 != SMART_KEY || !self.smart && sub != ENABLE {
            return Action::Refused(ABORTED);
        }
        match sub {
            READ_DATA => Action::DataIn(identify::smart_data().to_vec()),
            ENABLE | DISABLE => {
                self.smart = sub == ENABLE;
                Action::Done { lba: task.lba, count: 0 }
            }
            RETURN_STATUS => Action::Done { lba: SMART_KEY, count: 0 },
            _ => Action::Refused(ABORTED),
        }
    }

    /// Records the failed queued command in the log, for the host to read.
    pub(in crate::machine) fn failed(&mut self, tag: u8, status: u8, error: u8, at: Lba) {
        let mut log = [0; SECTOR_BYTES];
        let [l0, l1, l2, l3, l4, l5, ..] = at.get().to_le_bytes();
        log[..11].copy_from_slice(&[tag, 0, status, error, l0, l1, l2, 0x40, l3, l4, l5]);
        self.error_log = identify::with_checksum(log);
    }

    /// Resets the log: no queued command has failed.
    pub(in crate::machine) fn reset(&mut self) {
        self.error_log = no_error();
    }
}

/// The error log where no queued command has failed: its `NQ` bit is set.
fn no_error() -> [u8; SECTOR_BYTES] {
    let mut log = [0; SECTOR_BYTES];
    log[0] = 0x80;
    identify::with_checksum(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ata() -> Ata {
        Ata::new(AtaConfig::for_tests(Sectors::new(1 << 30)))
    }

    fn task(command: u8, features: u16, lba: u64, count: u16) -> TaskFile {
        TaskFile { command, features, lba, device: 0x40, count }
    }

    fn medium(action: Action) -> MediumCommand {
        match action {
            Action::Medium(command) => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_of_28_and_48_bits_and_queued_ones_name_their_sectors() {
        let mut ata = ata();
        let read = medium(ata.decode(&task(READ_QUEUED, 8, 77, 5 << 3)));
        assert_eq!((read.op, read.lba, read.sectors), (Op::Read, Lba::new(77), Sectors::new(8)));
        assert_eq!((read.tag, read.fua), (Some(5), false));
        let all = medium(ata.decode(&task(WRITE_QUEUED, 0, 0, 0)));
        assert_eq!((all.op, all.sectors), (Op::Write, Sectors::new(65_536)));
        let fua = TaskFile { device: 0xC0, ..task(WRITE_QUEUED, 1, 0, 0) };
        assert!(medium(ata.decode(&fua)).fua);
        let short = TaskFile { device: 0x43, ..task(READ_DMA, 0, 0x11_2233_4455, 0x0100) };
        let short = medium(ata.decode(&short));
        assert_eq!((short.lba.get(), short.sectors.get(), short.tag), (0x0333_4455, 256, None));
        let long = medium(ata.decode(&task(WRITE_DMA_FUA, 0, 0x2000_0000, 0)));
        assert_eq!((long.lba.get(), long.sectors.get(), long.fua), (0x2000_0000, 65_536, true));
    }

    #[test]
    fn what_lies_beyond_the_end_or_is_unknown_is_refused() {
        let mut ata = ata();
        let end = (1 << 30) - 1;
        assert!(matches!(ata.decode(&task(READ_DMA_EXT, 0, end, 1)), Action::Medium(_)));
        let refused = |ata: &mut Ata, task| match ata.decode(&task) {
            Action::Refused(error) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&mut ata, task(READ_DMA_EXT, 0, end, 2)), NO_ADDRESS);
        assert_eq!(refused(&mut ata, task(0x00, 0, 0, 0)), ABORTED);
        assert_eq!(refused(&mut ata, task(SET_FEATURES, 0x10, 0, 0)), ABORTED);
        assert_eq!(refused(&mut ata, task(READ_LOG, 0, 0x30, 1)), ABORTED);
        assert_eq!(refused(&mut ata, task(SMART, 0xD0, 0, 0)), ABORTED);
    }

    #[test]
    fn without_its_cache_the_drive_writes_through() {
        let mut ata = ata();
        let write = task(WRITE_DMA_EXT, 0, 0, 8);
        assert!(!medium(ata.decode(&write)).fua);
        assert!(matches!(ata.decode(&task(SET_FEATURES, 0x82, 0, 0)), Action::Done { .. }));
        assert!(medium(ata.decode(&write)).fua);
        assert!(!medium(ata.decode(&task(READ_DMA_EXT, 0, 0, 8))).fua);
        ata.decode(&task(SET_FEATURES, 0x02, 0, 0));
        assert!(!medium(ata.decode(&write)).fua);
    }

    #[test]
    fn the_error_log_names_the_command_that_failed_until_a_reset() {
        let mut ata = ata();
        let log = |ata: &mut Ata| match ata.decode(&task(READ_LOG, 0, 0x10, 1)) {
            Action::DataIn(log) => log,
            other => panic!("{other:?}"),
        };
        assert_eq!(log(&mut ata)[0], 0x80);
        ata.failed(9, 0x41, UNCORRECTABLE, Lba::new(0x0A_0B0C_0D0E));
        let found = log(&mut ata);
        assert_eq!(found[..7], [9, 0, 0x41, 0x40, 0x0E, 0x0D, 0x0C]);
        assert_eq!(found[8..11], [0x0B, 0x0A, 0]);
        assert_eq!(found.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
        ata.reset();
        assert_eq!(log(&mut ata)[0], 0x80);
    }

    #[test]
    fn a_list_of_ranges_is_taken_by_a_drive_that_trims() {
        let mut ata = ata();
        assert_eq!(ata.decode(&task(DATA_SET, 1, 0, 8)), Action::Trim { blocks: 8 });
        for (features, blocks) in [(1, 0), (1, 9), (0, 1)] {
            let refused = ata.decode(&task(DATA_SET, features, 0, blocks));
            assert_eq!(refused, Action::Refused(ABORTED), "{features} {blocks}");
        }
        ata.config.trims = false;
        assert_eq!(ata.decode(&task(DATA_SET, 1, 0, 8)), Action::Refused(ABORTED));
    }

    #[test]
    fn smart_says_that_the_drive_is_healthy() {
        let mut ata = ata();
        let status = task(SMART, 0xDA, SMART_KEY, 0);
        assert_eq!(ata.decode(&status), Action::Done { lba: SMART_KEY, count: 0 });
        ata.decode(&task(SMART, 0xD9, SMART_KEY, 0));
        assert_eq!(ata.decode(&status), Action::Refused(ABORTED), "it is disabled");
    }
}
