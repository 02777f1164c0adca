//! The calendar's shared memory: `struct um_timetravel_schedshm`, version 2, of Linux 6.12, with
//! the notices of `kernel/patches/notices-in-page.patch` and the mirrors of
//! `kernel/patches/registers-in-page.patch`.

use drivelab_core::Time;

use crate::memory::{Memory, Outside, get, put};
use crate::mirror::{Mirror, REGISTERS_MAX, Write};

/// The length of a page: its header and its two clients.
pub const PAGE_BYTES: u64 = HEADER_BYTES + CLIENTS as u64 * CLIENT_BYTES;

/// The controller, which is this program.
pub const CONTROLLER: u16 = 0;
/// The only guest.
pub const GUEST: u16 = 1;

const VERSION: u32 = 2;
const CLIENTS: u16 = 2;
/// The header and a client are padded to these sizes.
const HEADER_BYTES: u64 = 4096;
const CLIENT_BYTES: u64 = 128;

const LENGTH_AT: u64 = 4;
const FREE_UNTIL_AT: u64 = 8;
const NOW_AT: u64 = 16;
const RUNNING_AT: u64 = 24;
const CLIENTS_AT: u64 = 26;
const NOTICES_AT: u64 = 28;
const KICKS_AT: u64 = 32;
const CALLS_AT: u64 = 40;
const MIRRORS_AT: u64 = 64;
/// The devices that have a mirror (`UM_TIMETRAVEL_MIRRORS`).
const MIRRORS: u16 = 8;
/// `struct um_timetravel_mirror`: its length, and within it.
const MIRROR_BYTES: u64 = 16 + REGISTERS_MAX as u64 * REGISTER_BYTES;
const WAITS_AT: u64 = 0;
const READ_NS_AT: u64 = 8;
const PATIENT_AT: u64 = 10;
const MASKS_AT: u64 = 12;
const REGISTERS_AT: u64 = 16;
const REGISTER_BYTES: u64 = 8;
/// Within a client.
const FLAGS_AT: u64 = 4;
const REQUEST_AT: u64 = 8;

/// `UM_TIMETRAVEL_SCHEDSHM_CAP_TIME_SHARE`: the client reads and writes times in the page.
const TIME_SHARE: u32 = 1;
/// `UM_TIMETRAVEL_SCHEDSHM_CAP_NOTICES`: kicks and calls of the client are in the page.
const NOTICES: u32 = 2;
/// `UM_TIMETRAVEL_SCHEDSHM_FLAGS_REQ_RUN`: the client wants to run.
const WANTS_RUN: u32 = 1;

/// A limit that is never reached, even if a guest calculates with signed times.
const NEVER_NS: u64 = i64::MAX as u64;

/// The page, in any kind of memory.
#[derive(Debug)]
pub struct Page<M>(M);

impl<M: Memory> Page<M> {
    /// Prepares the page in zeroed memory of at least [`PAGE_BYTES`].
    pub fn new(mut memory: M) -> Result<Self, Outside> {
        let length = u32::try_from(PAGE_BYTES).expect("it is a few kilobytes");
        put(&mut memory, 0, &VERSION)?;
        put(&mut memory, LENGTH_AT, &length)?;
        // The guest maps the page only after `Op::Start`, when all fields are set.
        put(&mut memory, FREE_UNTIL_AT, &NEVER_NS)?;
        put(&mut memory, CLIENTS_AT, &CLIENTS)?;
        put(&mut memory, NOTICES_AT, &1_u32)?;
        put(&mut memory, client(CONTROLLER), &TIME_SHARE)?;
        Ok(Self(memory))
    }

    /// Returns the memory of the page.
    pub fn memory(&self) -> &M {
        &self.0
    }

    fn get<T: zerocopy::FromBytes + zerocopy::IntoBytes>(&self, at: u64) -> T {
        get(&self.0, at).expect("the memory was long enough when it was prepared")
    }

    fn put(&mut self, at: u64, value: &(impl zerocopy::IntoBytes + zerocopy::Immutable)) {
        put(&mut self.0, at, value).expect("the memory was long enough when it was prepared");
    }

    /// The time.
    pub fn now(&self) -> Time {
        Time::from_ns(self.get(NOW_AT))
    }

    pub(super) fn set_now(&mut self, now: Time) {
        self.put(NOW_AT, &now.ns());
    }

    /// The first time that the guest may not pass by itself.
    pub fn free_until(&self) -> u64 {
        self.get(FREE_UNTIL_AT)
    }

    pub(super) fn set_free_until(&mut self, limit: Option<Time>) {
        self.put(FREE_UNTIL_AT, &limit.map_or(NEVER_NS, Time::ns));
    }

    /// Lowers the limit, never raises it.
    pub(super) fn limit(&mut self, limit: Time) {
        // A limit that rose here would let the guest pass an event that is already due.
        if limit.ns() < self.free_until() {
            self.set_free_until(Some(limit));
        }
    }

    /// Returns the id of the client that runs.
    pub fn running(&self) -> u16 {
        self.get(RUNNING_AT)
    }

    pub(super) fn set_running(&mut self, id: u16) {
        self.put(RUNNING_AT, &id);
    }

    /// Returns whether the guest uses the page.
    pub(super) fn guest_shares_time(&self) -> bool {
        self.get::<u32>(client(GUEST)) & TIME_SHARE != 0
    }

    /// Returns whether the guest leaves its kicks in the page, and takes its interrupts from there.
    pub fn guest_uses_notices(&self) -> bool {
        self.get::<u32>(client(GUEST)) & NOTICES != 0
    }

    /// Takes the set of queues that the guest has filled since the last call, one bit for each.
    pub fn take_kicks(&mut self) -> u64 {
        let kicks = self.get(KICKS_AT);
        if kicks != 0 {
            self.put(KICKS_AT, &0_u64);
        }
        kicks
    }

    /// Shows the guest the registers of a device, of which all are valid.
    ///
    /// With `patient` acknowledgements may wait for the next message, which then may come later in
    /// virtual time; else it comes before the time moves, as it does after any access.
    pub fn show(&mut self, device: u16, mirror: &Mirror, patient: bool) {
        let base = mirror_at(device);
        let read = u16::try_from(mirror.read.ns()).expect("a read takes less than 65 us");
        self.put(base + READ_NS_AT, &read);
        self.put(base + PATIENT_AT, &u16::from(patient));
        for (register, at) in mirror.registers.iter().zip((REGISTERS_AT..).step_by(8)) {
            self.put(base + at, &[register.at, register.value]);
        }
        let acknowledges = mirror.mask(|register| register.write.acknowledges());
        let repeats = mirror.mask(|register| register.write == Write::ClearsAndRepeats);
        // The guest does not run meanwhile, so that the order is of no account.
        self.put(base + MASKS_AT, &[mirror.bar, acknowledges, repeats, mirror.mask(|_| true)]);
    }

    /// Returns the time until which the guest's processor waits for registers of a device.
    pub fn waits(&self, device: u16) -> Time {
        Time::from_ns(self.get(mirror_at(device) + WAITS_AT))
    }

    /// Sets that time, after reads that were messages.
    pub fn set_waits(&mut self, device: u16, waits: Time) {
        self.put(mirror_at(device) + WAITS_AT, &waits.ns());
    }

    /// Adds an interrupt for a queue to the guest's next turn.
    pub(super) fn add_call(&mut self, queue: u16) {
        assert!(queue < 64, "the page has one bit for each of 64 queues");
        let calls: u64 = self.get(CALLS_AT);
        self.put(CALLS_AT, &(calls | 1 << queue));
    }

    /// Returns the time at which the guest wants to run, if it wants to.
    pub(super) fn request(&self) -> Option<Time> {
        // Linux clears the flag when it gets its turn.
        let wants = self.get::<u32>(client(GUEST) + FLAGS_AT) & WANTS_RUN != 0;
        wants.then(|| Time::from_ns(self.get(client(GUEST) + REQUEST_AT)))
    }

    /// Stores the time that the guest requested in a message.
    pub(super) fn set_request(&mut self, time: Time) {
        self.put(client(GUEST) + REQUEST_AT, &time.ns());
        self.put(client(GUEST) + FLAGS_AT, &WANTS_RUN);
    }
}

/// The address of a mirror.
fn mirror_at(device: u16) -> u64 {
    assert!(device < MIRRORS, "the page has room for a mirror of each adapter");
    MIRRORS_AT + u64::from(device) * MIRROR_BYTES
}

/// The address of a client.
const fn client(id: u16) -> u64 {
    HEADER_BYTES + id as u64 * CLIENT_BYTES
}
