use drivelab_core::Sectors;

use super::*;
use crate::machine::AtaConfig;
use crate::machine::BlockConfig;

const BLOCK: Hardware = Hardware::Block(BlockConfig {
    capacity: Sectors::new(1000),
    physical_sector: Sectors::new(8),
    write_cache: true,
});

/// A message as UML sends it; all but the `GET` requests want a reply.
fn send(
    session: &mut Session,
    request: u32,
    words: &[u32],
    files: usize,
) -> Result<Step, VhostError> {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = u32::try_from(payload.len()).unwrap();
    let header = Header { request: request.into(), flags: 9.into(), length: length.into() };
    session.take(header, &payload, files)
}

fn words(reply: Option<Vec<u8>>) -> Vec<u32> {
    reply
        .unwrap_or_default()
        .chunks(4)
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

/// A region of 64 KiB at guest address 0x10000, at 0x70000 in the guest's process.
const TABLE: [u32; 10] = [1, 0, 0x1_0000, 0, 0x1_0000, 0, 0x7_0000, 0, 0x2000, 0];

#[test]
fn a_device_is_set_up_as_uml_does_it() {
    let mut session = Session::new(BLOCK);
    let done = |request| Some(wire::reply(request, &[0; 8]));
    let nothing = |request| Ok(Step { effect: Effect::Nothing, reply: done(request) });
    assert_eq!(send(&mut session, wire::SET_OWNER, &[], 0), nothing(wire::SET_OWNER));
    let offered = send(&mut session, wire::GET_FEATURES, &[], 0).unwrap().reply;
    assert_eq!(words(offered), [1, 5, 8, 0x5000_6e44, 1]);
    let offered = send(&mut session, wire::GET_PROTOCOL_FEATURES, &[], 0).unwrap().reply;
    assert_eq!(words(offered), [15, 5, 8, 0x4228, 0]);
    let step = send(&mut session, wire::SET_SLAVE_REQ_FD, &[], 1).unwrap();
    assert_eq!(step, Step { effect: Effect::Interrupts, reply: done(21) });
    let step = send(&mut session, wire::SET_MEM_TABLE, &TABLE, 1).unwrap();
    let Effect::Memory(regions) = step.effect else { panic!("{step:?}") };
    assert_eq!((regions[0].guest_address, regions[0].file_offset), (0x1_0000, 0x2000));
    assert_eq!(send(&mut session, wire::SET_VRING_NUM, &[0, 32], 0), nothing(wire::SET_VRING_NUM));
    assert_eq!(send(&mut session, wire::SET_VRING_BASE, &[0, 5], 0), nothing(wire::SET_VRING_BASE));
    let addresses = [0, 0, 0x7_1000, 0, 0x7_3000, 0, 0x7_2000, 0, 0, 0];
    let step = send(&mut session, wire::SET_VRING_ADDR, &addresses, 0).unwrap();
    let ring =
        Ring { size: 32, descriptors: 0x1_1000, available: 0x1_2000, used: 0x1_3000, base: 5 };
    assert_eq!(step, Step { effect: Effect::Queue(0, ring), reply: done(9) });
    let step = send(&mut session, wire::VRING_KICK, &[0, 0], 0).unwrap();
    assert_eq!(step, Step { effect: Effect::Kick(0), reply: done(35) });
}

#[test]
fn the_configuration_is_read_in_pieces_and_the_cache_switched() {
    let mut session = Session::new(BLOCK);
    let step = send(&mut session, wire::GET_CONFIG, &[0, 8, 0, 0, 0], 0).unwrap();
    assert_eq!(words(step.reply), [24, 5, 20, 0, 8, 0, 1000, 0]);
    let step = send(&mut session, wire::GET_CONFIG, &[56, 12, 0, 0, 0, 0], 0).unwrap();
    assert_eq!(words(step.reply)[6..], [0, 0, 0], "beyond the end are zeros");
    let off = send(&mut session, wire::SET_CONFIG, &[32, 1, 0, 0], 0).unwrap();
    assert_eq!(off.effect, Effect::WriteCache(false));
    let step = send(&mut session, wire::GET_CONFIG, &[32, 4, 0, 0], 0).unwrap();
    assert_eq!(words(step.reply)[6] & 0xff, 0);
}

#[test]
fn an_adapter_has_two_queues_and_no_configuration() {
    let mut session = Session::new(Hardware::Ahci(AtaConfig {
        model: "x".into(),
        capacity: Sectors::new(1000),
        physical_sector: Sectors::new(1),
        rpm: 1,
        queue_depth: 32,
        trims: false,
        has_write_cache: true,
        write_cache: true,
        link: 3,
    }));
    let offered = send(&mut session, wire::GET_FEATURES, &[], 0).unwrap().reply;
    assert_eq!(words(offered), [1, 5, 8, 0x5000_0000, 1]);
    let offered = send(&mut session, wire::GET_PROTOCOL_FEATURES, &[], 0).unwrap().reply;
    assert_eq!(words(offered), [15, 5, 8, 0x4028, 0]);
    let step = send(&mut session, wire::VRING_KICK, &[1, 0], 0).unwrap();
    assert_eq!(step.effect, Effect::Kick(1));
    let read = send(&mut session, wire::GET_CONFIG, &[0, 8, 0, 0, 0], 0);
    assert_eq!(read, Err(VhostError::Short(24)));
}

#[test]
fn what_no_guest_sends_is_refused() {
    let mut session = Session::new(BLOCK);
    let mut check = |request, words: &[u32], files, expected| {
        assert_eq!(send(&mut session, request, words, files), Err(expected), "{request} {words:?}");
    };
    check(99, &[], 0, VhostError::Unknown(99));
    check(wire::SET_SLAVE_REQ_FD, &[], 0, VhostError::Short(21));
    check(wire::SET_MEM_TABLE, &[9, 0], 9, VhostError::Regions { regions: 9, files: 9 });
    check(wire::SET_MEM_TABLE, &TABLE, 0, VhostError::Regions { regions: 1, files: 0 });
    check(wire::SET_MEM_TABLE, &TABLE[..8], 1, VhostError::Short(5));
    check(wire::SET_VRING_NUM, &[2, 32], 0, VhostError::Queue(2));
    check(wire::SET_VRING_NUM, &[0, 65_536], 0, VhostError::Short(8));
    check(wire::SET_VRING_ADDR, &[0; 10], 0, VhostError::Ring(0));
    check(wire::VRING_KICK, &[0], 0, VhostError::Short(35));
    check(wire::GET_CONFIG, &[0, 10_000, 0], 0, VhostError::Short(24));
    check(wire::SET_CONFIG, &[32, 1, 0], 0, VhostError::Short(25));
}

#[test]
fn an_interrupt_is_acknowledged() {
    assert_eq!(words(Some(call(0))), [4, 9, 8, 0, 0]);
    assert_eq!(words(Some(call(1))), [4, 9, 8, 1, 0]);
    let reply = |status: u64| {
        let bytes = wire::reply(4, &status.to_ne_bytes());
        <[u8; CALLED_BYTES]>::try_from(bytes).unwrap()
    };
    assert!(was_called(&reply(0)) && !was_called(&reply(1)));
}
