//! Registers of an AHCI host bus adapter with one port (AHCI 1.3.1, section 3).

/// `GHC`: global control.
pub(super) const GHC: u64 = 0x04;
/// `CAP`: the capabilities of the adapter.
pub(super) const CAP: u64 = 0x00;
/// `IS`: ports with an interrupt.
pub(super) const IS: u64 = 0x08;
/// `PI`: ports that exist.
pub(super) const PI: u64 = 0x0C;
/// `VS`: the version.
pub(super) const VS: u64 = 0x10;
/// The first port; its registers are relative to this.
pub(super) const PORT: u64 = 0x100;

pub(super) const CLB: u64 = 0x00;
pub(super) const CLBU: u64 = 0x04;
pub(super) const FB: u64 = 0x08;
pub(super) const FBU: u64 = 0x0C;
pub(super) const PXIS: u64 = 0x10;
pub(super) const IE: u64 = 0x14;
pub(super) const CMD: u64 = 0x18;
pub(super) const TFD: u64 = 0x20;
pub(super) const SIG: u64 = 0x24;
pub(super) const SSTS: u64 = 0x28;
pub(super) const SCTL: u64 = 0x2C;
pub(super) const SERR: u64 = 0x30;
pub(super) const SACT: u64 = 0x34;
pub(super) const CI: u64 = 0x38;

/// The version: 1.3.1 is read as 1.3 with 1 below.
pub(super) const VERSION: u32 = 0x0001_0301;

/// `GHC.HR`: reset.
pub(super) const RESET: u32 = 1;
/// `GHC.IE`: interrupts leave the adapter.
pub(super) const INTERRUPTS: u32 = 1 << 1;
/// `GHC.AE`: always set, for an adapter without legacy registers.
pub(super) const AHCI_ENABLE: u32 = 1 << 31;

/// `PxIS.DHRS`: a register FIS with the interrupt bit.
pub(super) const REGISTER_FIS: u32 = 1;
/// `PxIS.PSS`: a PIO setup FIS.
pub(super) const PIO_SETUP: u32 = 1 << 1;
/// `PxIS.SDBS`: a set device bits FIS.
pub(super) const DEVICE_BITS: u32 = 1 << 3;
/// `PxIS.PCS`: the port changed; it follows `SERR.DIAG.X`.
pub(super) const PORT_CHANGED: u32 = 1 << 6;
/// `PxIS.HBFS`: memory could not be reached.
pub(super) const BUS_ERROR: u32 = 1 << 29;
/// `PxIS.TFES`: the drive reported an error.
pub(super) const TASK_FILE_ERROR: u32 = 1 << 30;

/// `PxCMD.ST`: commands are fetched.
pub(super) const START: u32 = 1;
/// `PxCMD.SUD` and `.POD`: the drive has power and spins.
pub(super) const POWERED: u32 = 1 << 1 | 1 << 2;
/// `PxCMD.CLO`: forget that the drive is busy.
pub(super) const OVERRIDE: u32 = 1 << 3;
/// `PxCMD.FRE`: frames are received.
pub(super) const RECEIVE: u32 = 1 << 4;
/// `PxCMD.FR`: follows [`RECEIVE`].
pub(super) const RECEIVES: u32 = 1 << 14;
/// `PxCMD.CR`: follows [`START`].
pub(super) const RUNS: u32 = 1 << 15;
/// Bits of `PxCMD` that a guest may set; the others follow, or do not exist.
pub(super) const CMD_WRITABLE: u32 = START | RECEIVE;

/// `PxTFD` with nothing attached.
pub(super) const NO_DRIVE: u32 = 0x7F;
/// `PxSIG` of a disk.
pub(super) const SIGNATURE: u32 = 0x0000_0101;
/// `PxSERR.DIAG.X`: a device was found.
pub(super) const EXCHANGED: u32 = 1 << 26;

/// The commands of the list.
pub(super) const SLOTS: u32 = 32;

/// `CAP` of an adapter whose link has generation `speed`: 32 slots, partial and slumber states,
/// command list override, native command queuing, 64-bit addresses.
pub(super) const fn capabilities(speed: u8) -> u32 {
    assert!(speed <= 3, "the field of generations 1 to 3");
    let slots = (SLOTS - 1) << 8;
    let power_states = 1 << 13 | 1 << 14;
    let (clo, ncq, wide) = (1 << 24, 1 << 30, 1 << 31);
    slots | power_states | (speed as u32) << 20 | clo | ncq | wide
}
