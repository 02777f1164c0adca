//! Registers of a device that a guest reads in the calendar's page, without a message.
//!
//! Guest and machine take turns, so that a register has one value for the whole turn of the guest
//! unless the guest itself writes to the device. Reads must have no effect on the device.

use drivelab_core::Span;

/// Registers of one mirror (`UM_TIMETRAVEL_MIRRORED` of `kernel/patches/registers-in-page.patch`).
pub const REGISTERS_MAX: usize = 6;

/// A register of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirroredRegister {
    /// Its offset from the base address.
    pub at: u32,
    /// Its value.
    pub value: u32,
    /// The effect of a write.
    pub write: Write,
}

/// The effect of a write to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// An effect that only the device knows.
    Acts,
    /// It clears the bits that are written as 1, which acknowledge an interrupt, and nothing else.
    Clears,
    /// The same, and it raises the interrupt again if a register of these two kinds is not zero
    /// then.
    ClearsAndRepeats,
}

/// The registers of a device that can be read in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mirror {
    /// The base address of all registers.
    pub bar: u8,
    /// Time that the processor waits for a register.
    pub read: Span,
    /// The registers that a driver reads most: at each interrupt.
    pub registers: [MirroredRegister; Self::COUNT],
}

impl Write {
    pub(crate) fn acknowledges(self) -> bool {
        self != Self::Acts
    }
}

impl Mirror {
    /// The number of registers.
    pub const COUNT: usize = 4;

    /// One bit for each register that `is_wanted`.
    pub(crate) fn mask(&self, is_wanted: impl Fn(&MirroredRegister) -> bool) -> u8 {
        const { assert!(Self::COUNT <= REGISTERS_MAX, "the page has room for these") };
        let bits = self.registers.iter().zip(0..).filter(|(register, _)| is_wanted(register));
        bits.fold(0, |mask, (_, bit)| mask | 1 << bit)
    }
}
