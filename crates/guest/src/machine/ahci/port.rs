//! The registers of the adapter and its port.

use drivelab_core::{Span, Time};

use super::registers as at;

/// From the end of a reset to a link and a drive that has sent its signature: a drive answers
/// within 10 ms (Serial ATA 3.0, section 8.4.1), and it spins already.
const LINK: Span = Span::from_ms(10);

/// The effect of a write to a register on the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortRequest {
    /// None.
    Nothing,
    /// The commands in these slots are issued.
    Commands(u32),
    /// All issued commands are dropped.
    Stop,
    /// All issued commands are dropped, and the drive is reset.
    Reset,
}

/// The registers of an adapter with one port.
#[derive(Debug)]
pub(super) struct Port {
    /// The generation of the link that both sides support.
    speed: u8,
    ghc: u32,
    /// `IS`: bit 0 for the only port.
    is: u32,
    pub(super) command_list: u64,
    pub(super) frames: u64,
    pub(super) status: u32,
    enabled: u32,
    cmd: u32,
    pub(super) task_file: u32,
    signature: u32,
    link: u32,
    control: u32,
    errors: u32,
    pub(super) active: u32,
    pub(super) issued: u32,
    /// Time at which the link comes up.
    link_at: Option<Time>,
    /// Time at which an interrupt leaves the adapter: never while the guest runs.
    pub(super) interrupt: Option<Time>,
}

impl Port {
    pub(super) fn new(speed: u8) -> Self {
        Self {
            speed: speed.clamp(1, 3),
            ghc: at::AHCI_ENABLE,
            is: 0,
            command_list: 0,
            frames: 0,
            status: 0,
            enabled: 0,
            cmd: at::POWERED,
            task_file: at::NO_DRIVE,
            // All ones until the drive has sent its signature (section 3.3.9).
            signature: u32::MAX,
            link: 0,
            control: 0,
            errors: 0,
            active: 0,
            issued: 0,
            link_at: Some(Time::ZERO + LINK),
            interrupt: None,
        }
    }

    /// Returns whether commands reach the drive.
    pub(super) fn is_ready(&self) -> bool {
        self.link & 0xF == 3 && self.cmd & at::START != 0
    }

    /// Returns whether frames of the drive are received.
    pub(super) fn receives(&self) -> bool {
        self.cmd & at::RECEIVE != 0
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        self.link_at.into_iter().chain(self.interrupt).min()
    }

    pub(super) fn read(&self, offset: u64) -> u32 {
        match offset {
            at::CAP => at::capabilities(self.speed),
            at::GHC => self.ghc,
            at::IS => self.is,
            at::PI => 1,
            at::VS => at::VERSION,
            at::PORT.. => self.read_port(offset - at::PORT),
            _ => 0,
        }
    }

    fn read_port(&self, offset: u64) -> u32 {
        match offset {
            at::CLB => low(self.command_list),
            at::CLBU => high(self.command_list),
            at::FB => low(self.frames),
            at::FBU => high(self.frames),
            at::PXIS => self.pending(),
            at::IE => self.enabled,
            at::CMD => self.cmd,
            at::TFD => self.task_file,
            at::SIG => self.signature,
            at::SSTS => self.link,
            at::SCTL => self.control,
            at::SERR => self.errors,
            at::SACT => self.active,
            at::CI => self.issued,
            _ => 0,
        }
    }

    /// `PxIS`.
    fn pending(&self) -> u32 {
        let changed = if self.errors & at::EXCHANGED != 0 { at::PORT_CHANGED } else { 0 };
        self.status | changed
    }

    /// Returns whether a write to `PxIS` clears all bits that are written: one follows `PxSERR`.
    pub(super) fn is_cleared_by_writes(&self) -> bool {
        self.errors & at::EXCHANGED == 0
    }

    pub(super) fn write(&mut self, now: Time, offset: u64, value: u32) -> PortRequest {
        match offset {
            at::GHC if value & at::RESET != 0 => {
                let speed = self.speed;
                // A reset of the adapter restores the state after power-on.
                *self = Self { link_at: Some(now + LINK), ..Self::new(speed) };
                return PortRequest::Reset;
            }
            at::GHC => {
                self.ghc = at::AHCI_ENABLE | value & at::INTERRUPTS;
                self.interrupt_if_pending(now, true);
            }
            at::IS => {
                self.is &= !value;
                self.interrupt_if_pending(now, true);
            }
            at::PORT.. => return self.write_port(now, offset - at::PORT, value),
            _ => {}
        }
        PortRequest::Nothing
    }

    fn write_port(&mut self, now: Time, offset: u64, value: u32) -> PortRequest {
        let wide = u64::from(value);
        match offset {
            // Command lists are aligned to 1 KiB, and received frames to 256 bytes.
            at::CLB => self.command_list = self.command_list & !LOW | wide & !0x3FF,
            at::CLBU => self.command_list = self.command_list & LOW | wide << 32,
            at::FB => self.frames = self.frames & !LOW | wide & !0xFF,
            at::FBU => self.frames = self.frames & LOW | wide << 32,
            // Writing 1 clears a bit.
            at::PXIS => self.status &= !value,
            at::IE => {
                self.enabled = value;
                self.interrupt_if_pending(now, false);
            }
            at::CMD => return self.write_command(value),
            at::SCTL => return self.write_control(now, value),
            at::SERR => self.errors &= !value,
            // While the port is stopped these two ignore writes (sections 3.3.13 and 3.3.14).
            at::SACT if self.cmd & at::START != 0 => self.active |= value,
            at::CI if self.cmd & at::START != 0 => {
                // Software can only set bits; the adapter clears them.
                let new = value & !self.issued;
                self.issued |= new;
                return PortRequest::Commands(new);
            }
            _ => {}
        }
        PortRequest::Nothing
    }

    fn write_command(&mut self, value: u32) -> PortRequest {
        // Command list override clears BSY and DRQ.
        if value & at::OVERRIDE != 0 {
            self.task_file &= !0x88;
        }
        let stops = self.cmd & at::START != 0 && value & at::START == 0;
        // CR and FR report that the engines run: here they start and stop at once.
        let runs = if value & at::START != 0 { at::RUNS } else { 0 };
        let receives = if value & at::RECEIVE != 0 { at::RECEIVES } else { 0 };
        let running = runs | receives;
        self.cmd = value & at::CMD_WRITABLE | running | at::POWERED;
        if !stops {
            return PortRequest::Nothing;
        }
        // The adapter forgets all commands when ST is cleared (section 3.3.14).
        (self.issued, self.active) = (0, 0);
        PortRequest::Stop
    }

    /// `PxSCTL`: 1 in its lowest bits resets the link, and 4 turns it off; back at 0 it comes up.
    fn write_control(&mut self, now: Time, value: u32) -> PortRequest {
        // DET: 1 is COMRESET, 4 disables the interface (section 3.3.11).
        let (before, after) = (self.control & 0xF, value & 0xF);
        self.control = value & 0xFFF;
        if before == after {
            return PortRequest::Nothing;
        }
        if after == 0 {
            self.link_at = Some(now + LINK);
            return PortRequest::Nothing;
        }
        self.link = if after == 4 { 4 } else { 0 };
        (self.link_at, self.task_file, self.signature) = (None, at::NO_DRIVE, u32::MAX);
        (self.issued, self.active) = (0, 0);
        PortRequest::Reset
    }

    /// Brings the link up, if that is due; returns whether it did.
    pub(super) fn connect(&mut self, now: Time) -> bool {
        if self.link_at.is_none_or(|at| at > now) {
            return false;
        }
        self.link_at = None;
        let limit = u8::try_from(self.control >> 4 & 0xF).expect("four bits");
        let speed = if limit == 0 { self.speed } else { self.speed.min(limit) };
        debug_assert!((1..=3).contains(&speed), "a generation of Serial ATA");
        // Interface active (IPM 1), speed, device present with communication (DET 3).
        self.link = 0x103 | u32::from(speed) << 4;
        self.errors |= at::EXCHANGED;
        self.sign();
        true
    }

    /// Sets the signature of a disk.
    pub(super) fn sign(&mut self) {
        (self.task_file, self.signature) = (0x0150, at::SIGNATURE);
    }

    /// Plans an interrupt where the port has a new reason, or still has one after `again`.
    pub(super) fn interrupt_if_pending(&mut self, now: Time, again: bool) {
        // Edge triggered: a bit that is already set raises no second message.
        let before = self.is;
        if self.pending() & self.enabled != 0 {
            self.is |= 1;
        }
        let is_new = self.is & !before != 0;
        if (is_new || again && self.is != 0) && self.ghc & at::INTERRUPTS != 0 {
            self.interrupt = Some(now);
        }
    }
}

const LOW: u64 = 0xFFFF_FFFF;

fn low(wide: u64) -> u32 {
    u32::try_from(wide & LOW).expect("32 bits")
}

fn high(wide: u64) -> u32 {
    u32::try_from(wide >> 32).expect("32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CMD: u64 = at::PORT + at::CMD;
    const SSTS: u64 = at::PORT + at::SSTS;

    fn up(speed: u8) -> Port {
        let mut port = Port::new(speed);
        assert!(!port.connect(Time::ZERO));
        assert!(port.connect(port.next_event().unwrap()));
        port
    }

    #[test]
    fn the_adapter_says_what_it_can_do() {
        let port = up(2);
        let cap = port.read(at::CAP);
        assert_eq!((cap >> 8 & 31, cap >> 20 & 15, cap >> 30), (31, 2, 3), "{cap:#x}");
        assert_eq!((port.read(at::PI), port.read(at::VS)), (1, 0x1_0301));
        assert_eq!((port.read(SSTS), port.read(at::PORT + at::SIG)), (0x123, 0x101));
        assert_eq!(up(3).read(SSTS), 0x133);
    }

    #[test]
    fn a_link_is_reset_and_comes_up_no_faster_than_it_may() {
        let mut port = up(3);
        let (control, now) = (at::PORT + at::SCTL, Time::from_ns(1 << 30));
        assert_eq!(port.write(now, control, 0x311), PortRequest::Reset);
        assert_eq!((port.read(SSTS), port.read(at::PORT + at::TFD)), (0, 0x7F));
        assert_eq!(port.next_event(), None, "it is held in reset");
        assert_eq!(port.write(now, control, 0x310), PortRequest::Nothing);
        assert_eq!(port.next_event(), Some(now + LINK));
        assert!(port.connect(now + LINK));
        assert_eq!(port.read(SSTS), 0x113);
        assert_eq!(port.read(at::PORT + at::PXIS), at::PORT_CHANGED);
        port.write(now, at::PORT + at::SERR, at::EXCHANGED);
        assert_eq!(port.read(at::PORT + at::PXIS), 0);
    }

    #[test]
    fn commands_are_taken_only_while_the_port_runs() {
        let mut port = up(2);
        let (ci, now) = (at::PORT + at::CI, Time::ZERO);
        assert_eq!(port.write(now, ci, 1), PortRequest::Nothing);
        port.write(now, CMD, at::START | at::RECEIVE);
        let runs = at::START | at::RECEIVE | at::RUNS | at::RECEIVES | at::POWERED;
        assert_eq!(port.read(CMD), runs);
        assert_eq!(port.write(now, ci, 5), PortRequest::Commands(5));
        assert_eq!(port.write(now, ci, 7), PortRequest::Commands(2), "5 were there");
        port.write(now, at::PORT + at::SACT, 7);
        assert_eq!(port.write(now, CMD, at::RECEIVE), PortRequest::Stop);
        assert_eq!((port.read(ci), port.read(at::PORT + at::SACT)), (0, 0));
    }

    #[test]
    fn one_interrupt_is_sent_for_a_reason_and_one_more_where_it_stays() {
        let mut port = up(2);
        let (now, later) = (Time::from_ns(5), Time::from_ns(9));
        port.write(now, at::PORT + at::SERR, u32::MAX);
        port.write(now, at::PORT + at::IE, at::DEVICE_BITS);
        port.write(now, at::GHC, at::INTERRUPTS);
        assert_eq!(port.interrupt, None);
        port.status |= at::DEVICE_BITS;
        port.interrupt_if_pending(now, false);
        assert_eq!(port.interrupt.take(), Some(now));
        port.interrupt_if_pending(now, false);
        assert_eq!(port.interrupt, None, "it was sent");
        port.write(later, at::IS, 1);
        assert_eq!(port.interrupt.take(), Some(later), "the reason is still there");
        port.write(later, at::PORT + at::PXIS, at::DEVICE_BITS);
        port.write(later, at::IS, 1);
        assert_eq!((port.interrupt, port.read(at::IS)), (None, 0));
    }

    #[test]
    fn a_reset_of_the_adapter_leaves_its_link_alone_to_come_up() {
        let mut port = up(2);
        port.write(Time::ZERO, CMD, at::START);
        assert_eq!(port.write(Time::ZERO, at::GHC, at::RESET), PortRequest::Reset);
        assert_eq!((port.read(at::GHC), port.read(CMD)), (at::AHCI_ENABLE, at::POWERED));
        assert!(port.connect(Time::ZERO + LINK) && port.read(SSTS) == 0x123);
    }
}
