//! Frames between drive and adapter (Serial ATA 3.0, section 10.3).

use crate::machine::ata::TaskFile;

/// A frame of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FromHost {
    /// A command.
    Command(TaskFile),
    /// The control register: whether the drive is held in reset.
    Control {
        /// `SRST`.
        reset: bool,
    },
    /// Another frame, which a host does not send.
    Unknown,
}

/// The number of bytes of a register FIS.
pub(super) const REGISTER_BYTES: usize = 20;

const HOST_TO_DRIVE: u8 = 0x27;
const IS_COMMAND: u8 = 0x80;
const SRST: u8 = 4;

/// Offset of PIO setup frames in the received FIS structure (AHCI 1.3.1, section 4.2.1).
pub(super) const PIO_SETUP_AT: u64 = 0x20;
/// Offset of register frames.
pub(super) const REGISTER_AT: u64 = 0x40;
/// Offset of set device bits frames.
pub(super) const DEVICE_BITS_AT: u64 = 0x58;

/// Reads a frame in a command table.
pub(super) fn from_host(fis: &[u8; REGISTER_BYTES]) -> FromHost {
    if fis[0] != HOST_TO_DRIVE {
        return FromHost::Unknown;
    }
    if fis[1] & IS_COMMAND == 0 {
        return FromHost::Control { reset: fis[15] & SRST != 0 };
    }
    // The device register, byte 7, divides the address in two halves.
    let lba = [fis[4], fis[5], fis[6], fis[8], fis[9], fis[10], 0, 0];
    FromHost::Command(TaskFile {
        command: fis[2],
        features: u16::from_le_bytes([fis[3], fis[11]]),
        lba: u64::from_le_bytes(lba),
        device: fis[7],
        count: u16::from_le_bytes([fis[12], fis[13]]),
    })
}

/// The registers of the drive, as sent in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Registers {
    pub(super) status: u8,
    pub(super) error: u8,
    pub(super) lba: u64,
    pub(super) count: u16,
}

fn registers(kind: u8, flags: u8, of: Registers) -> [u8; REGISTER_BYTES] {
    let [l0, l1, l2, l3, l4, l5, ..] = of.lba.to_le_bytes();
    let [c0, c1] = of.count.to_le_bytes();
    let mut fis = [0; REGISTER_BYTES];
    // 0x40 in the device register: the address is an LBA.
    fis[..14].copy_from_slice(&[
        kind, flags, of.status, of.error, l0, l1, l2, 0x40, l3, l4, l5, 0, c0, c1,
    ]);
    fis
}

const INTERRUPT: u8 = 0x40;
const TO_HOST: u8 = 0x20;

/// A register FIS of the drive.
pub(super) fn register(of: Registers, interrupt: bool) -> [u8; REGISTER_BYTES] {
    registers(0x34, if interrupt { INTERRUPT } else { 0 }, of)
}

/// A PIO setup FIS for `bytes` to the host, with the status before and after the transfer.
pub(super) fn pio_setup(of: Registers, after: u8, bytes: u16) -> [u8; REGISTER_BYTES] {
    let mut fis = registers(0x5F, INTERRUPT | TO_HOST, of);
    fis[15] = after;
    fis[16..18].copy_from_slice(&bytes.to_le_bytes());
    fis
}

/// A set device bits FIS: the queued commands in `finished` are done.
pub(super) fn device_bits(status: u8, error: u8, finished: u32) -> [u8; 8] {
    // The busy and request bits are not the drive's to change here.
    let [f0, f1, f2, f3] = finished.to_le_bytes();
    [0xA1, INTERRUPT, status & 0x77, error, f0, f1, f2, f3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_from_its_frame() {
        let mut fis = [0; REGISTER_BYTES];
        fis[..14].copy_from_slice(&[0x27, 0x80, 0x60, 8, 1, 2, 3, 0x40, 4, 5, 6, 9, 0x18, 7]);
        let task = TaskFile {
            command: 0x60,
            features: 0x0908,
            lba: 0x0605_0403_0201,
            device: 0x40,
            count: 0x0718,
        };
        assert_eq!(from_host(&fis), FromHost::Command(task));
        fis[1] = 0;
        assert_eq!(from_host(&fis), FromHost::Control { reset: false });
        fis[15] = 4;
        assert_eq!(from_host(&fis), FromHost::Control { reset: true });
        fis[0] = 0x34;
        assert_eq!(from_host(&fis), FromHost::Unknown);
    }

    #[test]
    fn frames_of_the_drive_lie_as_the_standard_has_them() {
        let of = Registers { status: 0x50, error: 0, lba: 0x0605_0403_0201, count: 0x0A09 };
        let expected = [0x34, 0x40, 0x50, 0, 1, 2, 3, 0x40, 4, 5, 6, 0, 9, 10];
        assert_eq!(register(of, true)[..14], expected);
        let setup = pio_setup(of, 0x50, 512);
        assert_eq!((setup[0], setup[1], setup[15], setup[17]), (0x5F, 0x60, 0x50, 2));
        assert_eq!(device_bits(0xD0, 0x40, 5), [0xA1, 0x40, 0x50, 0x40, 5, 0, 0, 0]);
    }
}
