use drivelab_core::{Span, Time};

use super::*;
use crate::mirror::{Mirror, MirroredRegister, Write};

fn page() -> Page<Vec<u8>> {
    let length = usize::try_from(PAGE_BYTES).unwrap();
    Page::new(vec![0; length]).unwrap()
}

fn message(op: Op, sequence: u32, time: u64) -> Message {
    Message { op, sequence, time }
}

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// A guest as `arch/um/kernel/time.c` behaves: it writes to the page where it may.
struct Guest {
    page: Page<Vec<u8>>,
    calendar: Calendar,
}

impl Guest {
    fn started() -> Self {
        let mut guest = Self { page: page(), calendar: Calendar::new(1_000) };
        let ack = guest.send(message(Op::Start, 1, u64::MAX));
        assert_eq!(ack, Some(message(Op::Ack, 1, 1)));
        // time_travel_setup_shm(): the guest shows that it uses the page.
        let mut bytes = guest.page.memory().clone();
        bytes[4096 + 128] = 1;
        guest.page = Page::new(bytes).unwrap();
        guest.page.set_running(GUEST);
        guest
    }

    fn send(&mut self, message: Message) -> Option<Message> {
        self.calendar.take(&mut self.page, message).unwrap()
    }

    fn waits_for(&mut self, ns: Option<u64>) {
        if let Some(ns) = ns {
            self.page.set_request(at(ns));
            self.page.limit(at(ns));
        }
        assert_eq!(self.send(message(Op::Wait, 7, u64::MAX)), None);
    }

    fn turn(&mut self, event: Option<u64>) -> Result<Turn, CalendarError> {
        self.calendar.turn(&mut self.page, event.map(at))
    }
}

#[test]
fn messages_have_the_bytes_of_the_kernel_header() {
    let sent = message(Op::Run, 3, 0x0102_0304_0506_0708);
    let bytes = sent.to_bytes();
    assert_eq!(bytes, [6, 0, 0, 0, 3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(Message::from_bytes(bytes), Some(sent));
    assert_eq!(Message::from_bytes([10; 16]), None);
}

#[test]
fn a_page_has_the_layout_of_the_kernel_header() {
    let page = page();
    let bytes = page.memory();
    assert_eq!(bytes[..8], [2, 0, 0, 0, 0, 0x11, 0, 0], "version and length");
    assert_eq!(bytes[8..16], i64::MAX.to_le_bytes(), "free_until");
    assert_eq!(bytes[24..28], [0, 0, 2, 0], "running_id and max_clients");
    assert_eq!(bytes[28..32], [1, 0, 0, 0], "notices are offered");
    assert_eq!(bytes[32..48], [0; 16], "kicks and calls");
    assert_eq!(bytes[4096..4100], [1, 0, 0, 0], "the controller shares its time");
}

#[test]
fn a_mirror_has_the_layout_of_the_kernel_header() {
    let mut page = page();
    let register = |at, write| MirroredRegister { at, value: at + 1, write };
    let registers = [
        register(8, Write::ClearsAndRepeats),
        register(0x110, Write::Clears),
        register(5, Write::Acts),
        register(7, Write::Acts),
    ];
    let mirror = Mirror { bar: 5, read: Span::from_ns(547), registers };
    page.show(1, &mirror, true);
    page.set_waits(1, at(9_000));
    let bytes = &page.memory()[64 + 64..64 + 128];
    assert_eq!(bytes[..8], 9_000_u64.to_le_bytes(), "waits");
    assert_eq!(bytes[8..12], [0x23, 2, 1, 0], "read_ns and patient");
    assert_eq!(bytes[12..16], [5, 0b0011, 0b0001, 0b1111], "bar, acks, repeats and valid");
    let words: Vec<u8> =
        [8, 9, 0x110, 0x111, 5, 6, 7, 8_u32].iter().flat_map(|it| it.to_le_bytes()).collect();
    assert_eq!((&bytes[16..48], &bytes[48..]), (&words[..], &[0; 16][..]));
    // The guest writes there, and what is shown to it afterwards leaves that alone.
    assert_eq!((page.waits(1), page.waits(7)), (at(9_000), at(0)));
    page.show(1, &mirror, false);
    assert_eq!((page.waits(1), page.memory()[64 + 74]), (at(9_000), 0));
    let others = [&page.memory()[48..128], &page.memory()[192..4096]].concat();
    assert!(others.iter().all(|byte| *byte == 0), "another field was written");
}

#[test]
fn a_guest_that_sleeps_is_woken_when_it_asked_to_be() {
    let mut guest = Guest::started();
    assert_eq!(guest.turn(None), Ok(Turn::Guest));
    guest.waits_for(Some(5_000));
    assert_eq!(guest.turn(None), Ok(Turn::Run(message(Op::Run, 1, 5_000))));
    assert_eq!((guest.page.now(), guest.page.running()), (at(5_000), GUEST));
    assert_eq!(guest.turn(None), Ok(Turn::Guest));
}

#[test]
fn the_machine_comes_first_and_then_the_guest_at_the_same_instant() {
    let mut guest = Guest::started();
    guest.waits_for(Some(5_000));
    assert_eq!(guest.turn(Some(4_000)), Ok(Turn::Machine(at(4_000))));
    assert_eq!((guest.page.now(), guest.page.running()), (at(4_000), CONTROLLER));
    assert_eq!(guest.turn(Some(5_000)), Ok(Turn::Machine(at(5_000))));
    assert_eq!(guest.turn(Some(9_000)), Ok(Turn::Run(message(Op::Run, 1, 5_000))));
    assert_eq!(guest.page.free_until(), 9_000, "it may run up to the machine's next event");
}

#[test]
fn an_interrupt_makes_a_waiting_guest_run_at_once() {
    let mut guest = Guest::started();
    guest.waits_for(None);
    assert_eq!(guest.turn(Some(700)), Ok(Turn::Machine(at(700))));
    // The handler of the interrupt asks for the present time.
    guest.page.set_request(at(700));
    assert_eq!(guest.turn(None), Ok(Turn::Run(message(Op::Run, 1, 700))));
}

#[test]
fn a_request_that_the_guest_starts_holds_it_back_at_its_end() {
    let mut guest = Guest::started();
    guest.page.set_now(at(100));
    guest.calendar.planned(&mut guest.page, Some(at(8_000_100))).unwrap();
    assert_eq!(guest.page.free_until(), 8_000_100);
    guest.calendar.planned(&mut guest.page, Some(at(9_000_000))).unwrap();
    assert_eq!(guest.page.free_until(), 8_000_100, "a limit is never raised while it runs");
    guest.page.set_now(at(8_000_101));
    let late = guest.calendar.planned(&mut guest.page, Some(at(8_000_100)));
    assert_eq!(late, Err(CalendarError::Overrun));
}

/// As `time_travel_post_kick()` does it.
fn post_kick(guest: &mut Guest, queue: u16) {
    let mut bytes = guest.page.memory().clone();
    bytes[32 + usize::from(queue / 8)] |= 1 << (queue % 8);
    guest.page = Page::new(bytes).unwrap();
    guest.page.set_running(GUEST);
    let now = guest.page.now();
    guest.page.set_free_until(Some(now));
}

#[test]
fn a_kick_in_the_page_is_taken_once_and_may_raise_the_limit() {
    let mut guest = Guest::started();
    assert_eq!(guest.page.take_kicks(), 0);
    guest.page.set_now(at(100));
    post_kick(&mut guest, 0);
    post_kick(&mut guest, 9);
    assert_eq!(guest.page.free_until(), 100, "the guest gives the turn back before time moves");
    assert_eq!((guest.page.take_kicks(), guest.page.take_kicks()), (1 | 1 << 9, 0));
    guest.calendar.noticed(&mut guest.page, Some(at(8_000_100))).unwrap();
    assert_eq!(guest.page.free_until(), 8_000_100);
    guest.calendar.noticed(&mut guest.page, None).unwrap();
    assert_eq!(guest.page.free_until(), i64::MAX as u64);
    let late = guest.calendar.noticed(&mut guest.page, Some(at(99)));
    assert_eq!(late, Err(CalendarError::Overrun));
}

#[test]
fn an_interrupt_in_the_page_gives_a_waiting_guest_its_turn_at_once() {
    let mut guest = Guest::started();
    assert!(!guest.page.guest_uses_notices(), "it shares its time, no more");
    let mut bytes = guest.page.memory().clone();
    bytes[4096 + 128] = 3;
    guest.page = Page::new(bytes).unwrap();
    assert!(guest.page.guest_uses_notices());
    guest.waits_for(Some(5_000));
    assert_eq!(guest.turn(Some(700)), Ok(Turn::Machine(at(700))));
    guest.calendar.call(&mut guest.page, 1);
    guest.calendar.call(&mut guest.page, 0);
    assert_eq!(guest.turn(Some(900)), Ok(Turn::Run(message(Op::Run, 1, 700))));
    assert_eq!(guest.page.memory()[40..48], 3_u64.to_le_bytes());
    assert_eq!(guest.page.free_until(), 900);
}

#[test]
fn a_guest_that_uses_messages_is_answered() {
    let mut guest = Guest::started();
    assert_eq!(guest.send(message(Op::Update, 2, 50)), Some(message(Op::Ack, 2, 0)));
    assert_eq!(guest.send(message(Op::Get, 3, u64::MAX)), Some(message(Op::Ack, 3, 50)));
    assert_eq!(guest.send(message(Op::GetTimeOfDay, 4, 0)), Some(message(Op::Ack, 4, 1_050)));
    assert_eq!(guest.send(message(Op::Request, 5, 90)), Some(message(Op::Ack, 5, 0)));
    assert_eq!(guest.send(message(Op::Broadcast, 6, 1)), Some(message(Op::Ack, 6, 0)));
    guest.waits_for(None);
    assert_eq!(guest.turn(None), Ok(Turn::Run(message(Op::Run, 1, 90))));
}

#[test]
fn a_guest_that_waits_for_nothing_and_one_of_another_protocol_are_refused() {
    let mut guest = Guest::started();
    guest.waits_for(None);
    assert_eq!(guest.turn(None), Err(CalendarError::Deadlock));
    let mut calendar = Calendar::default();
    let mut page = page();
    let refused = calendar.take(&mut page, message(Op::Wait, 1, 0));
    assert_eq!(refused, Err(CalendarError::NoSharedTime));
    let refused = calendar.take(&mut page, message(Op::Run, 1, 0));
    assert_eq!(refused, Err(CalendarError::Unexpected(Op::Run)));
}

#[test]
fn a_guest_that_waits_twice_or_turns_the_time_back_is_refused() {
    let mut guest = Guest::started();
    guest.waits_for(Some(5_000));
    let refused = guest.calendar.take(&mut guest.page, message(Op::Wait, 8, 0));
    assert_eq!(refused, Err(CalendarError::WaitsTwice));

    let mut guest = Guest::started();
    guest.send(message(Op::Update, 2, 50));
    let refused = guest.calendar.take(&mut guest.page, message(Op::Update, 3, 49));
    assert_eq!(refused, Err(CalendarError::Backwards));
    // In the page, too, where no message says so.
    let mut guest = Guest::started();
    guest.send(message(Op::Update, 2, 50));
    guest.page.set_now(at(49));
    assert_eq!(guest.calendar.checked_now(&guest.page), Err(CalendarError::Backwards));
    guest.waits_for(Some(60));
    assert_eq!(guest.turn(None), Err(CalendarError::Backwards));
}

#[test]
fn a_guest_that_passed_an_event_is_refused_whatever_it_requests() {
    let mut guest = Guest::started();
    guest.waits_for(Some(5));
    guest.page.set_now(at(100));
    assert_eq!(guest.turn(Some(50)), Err(CalendarError::Overrun));
    // At the instant of the event the machine is first, also where the request was earlier.
    let mut guest = Guest::started();
    guest.waits_for(Some(5));
    guest.page.set_now(at(50));
    assert_eq!(guest.turn(Some(50)), Ok(Turn::Machine(at(50))));
}
