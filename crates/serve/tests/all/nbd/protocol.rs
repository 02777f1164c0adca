//! The state machine of one connection, byte by byte.

use drivelab_core::disk::Extent;
use drivelab_serve::nbd::{Ended, Export, Kind, Limits, Request, Session, WireError};
use proptest::prelude::*;

use super::wire::*;

const BYTES: u64 = 1 << 20;

fn session() -> Session {
    let export =
        Export { name: "drive".into(), bytes: BYTES, rotational: true, sector_bytes: 4096 };
    Session::new(export, Limits::default())
}

/// Feeds `pieces`; answers each request at once, with zeros. Gives what came out and how it ended.
fn converse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Result<usize, Ended>) {
    let mut session = session();
    let (mut out, mut requests) = (Vec::new(), 0);
    for piece in pieces {
        session.feed(piece);
        loop {
            match session.next_request() {
                Ok(Some(request)) => answer(&mut session, &request),
                Ok(None) => break,
                Err(ended) => {
                    out.extend_from_slice(session.output());
                    return (out, Err(ended));
                }
            }
            requests += 1;
            let count = session.output().len();
            out.extend_from_slice(session.output());
            session.sent(count);
        }
    }
    out.extend_from_slice(session.output());
    (out, Ok(requests))
}

fn answer(session: &mut Session, request: &Request) {
    assert!(request.offset.is_multiple_of(512) && request.length.is_multiple_of(512));
    assert!(request.offset + u64::from(request.length) <= BYTES, "{request:?}");
    match request.kind {
        Kind::Read => {
            assert_eq!(session.reply_read(request).len(), request.length as usize);
        }
        Kind::BlockStatus { .. } => {
            let sectors = drivelab_core::Sectors::new(u64::from(request.length) / 512);
            session.reply_extents(request, &[Extent { sectors, hole: true }]);
        }
        _ => session.reply_done(request),
    }
}

fn hello(options: &[Vec<u8>]) -> Vec<u8> {
    [&FLAGS[..], &options.concat()].concat()
}

#[test]
fn the_greeting_and_the_oldest_way_in_are_those_of_the_description() {
    let (out, ended) = converse([&hello(&[option(EXPORT_NAME, b"drive")])[..]]);
    assert_eq!(ended, Ok(0));
    assert_eq!(&out[..18], b"NBDMAGICIHAVEOPT\x00\x03");
    assert_eq!(&out[18..26], &BYTES.to_be_bytes());
    // Has flags, flush, FUA, rotational, trim, write zeroes, several connections.
    assert_eq!(&out[26..], &(1_u16 | 4 | 8 | 16 | 32 | 64 | 256).to_be_bytes());
}

/// `NBD_FLAG_SEND_DF`.
const SEND_DF: u16 = 128;

#[test]
fn df_is_offered_where_structured_replies_were_agreed_upon_and_nowhere_else() {
    let info_flags = |options: &[Vec<u8>]| {
        let (out, _) = converse([&hello(options)[..]]);
        // NBD_INFO_EXPORT is the first NBD_REP_INFO: its flags follow type and size.
        let magic = 0x0003_e889_0455_65a9_u64.to_be_bytes();
        let replies = out.windows(8).enumerate().filter(|(_, window)| *window == magic);
        let info = replies.map(|(at, _)| &out[at..]).find(|reply| reply[12..16] == [0, 0, 0, 3]);
        u16::from_be_bytes(info.unwrap()[30..32].try_into().unwrap())
    };
    for way in [INFO, GO] {
        assert_eq!(info_flags(&[go(way)]) & SEND_DF, 0);
        assert_eq!(info_flags(&[option(STRUCTURED_REPLY, b""), go(way)]) & SEND_DF, SEND_DF);
    }
    let old = [option(STRUCTURED_REPLY, b""), option(EXPORT_NAME, b"")];
    let (out, _) = converse([&hello(&old)[..]]);
    let flags = u16::from_be_bytes(out[out.len() - 2..].try_into().unwrap());
    assert_eq!(flags & SEND_DF, SEND_DF);
}

#[test]
fn without_the_no_zeroes_flag_the_oldest_way_in_ends_with_zeroes() {
    let old = [&[0, 0, 0, 1][..], &option(EXPORT_NAME, b"")].concat();
    assert_eq!(converse([&old[..]]).0.len(), 18 + 10 + 124);
}

#[test]
fn options_are_answered_as_they_deserve() {
    const UNSUP: u32 = 0x8000_0001;
    const INVALID: u32 = 0x8000_0003;
    const UNKNOWN: u32 = 0x8000_0006;
    let check = |option: Vec<u8>, expected: &[u32]| {
        let (out, _) = converse([&hello(std::slice::from_ref(&option))[..]]);
        let mut kinds = Vec::new();
        let mut rest = &out[18..];
        while let Some(reply) = rest.get(..20) {
            assert_eq!(&reply[..8], &0x0003_e889_0455_65a9_u64.to_be_bytes());
            kinds.push(u32::from_be_bytes(reply[12..16].try_into().unwrap()));
            let length = u32::from_be_bytes(reply[16..20].try_into().unwrap());
            rest = &rest[20 + length as usize..];
        }
        assert_eq!(kinds, expected, "{option:?}");
    };
    check(option(LIST, b""), &[2, 1]);
    check(option(LIST, b"x"), &[INVALID]);
    check(go(INFO), &[3, 3, 1]);
    check(go(GO), &[3, 3, 1]);
    check(option(GO, &[0, 0, 0, 1, b'x', 0, 0]), &[UNKNOWN]);
    check(option(GO, &[0, 0, 0, 9, b'x', 0, 0]), &[INVALID]);
    check(option(STRUCTURED_REPLY, b""), &[1]);
    check(option(5, b""), &[UNSUP]);
    // A context needs structured replies first.
    check(allocation(), &[INVALID]);
    check([option(STRUCTURED_REPLY, b""), allocation()].concat(), &[1, 4, 1]);
}

fn error_of(kind: u16, flags: u16, offset: u64, length: u32) -> u32 {
    let hello = hello(&[go(GO)]);
    let before = converse([&hello[..]]).0.len();
    let mut asked = request(kind, flags, 7, offset, length);
    if kind == WRITE {
        asked.resize(28 + length as usize, 0);
    }
    let (out, ended) = converse([&hello[..], &asked]);
    assert!(ended.is_ok(), "{ended:?}");
    let reply = &out[before..];
    assert_eq!(&reply[8..16], &7_u64.to_be_bytes());
    u32::from_be_bytes(reply[4..8].try_into().unwrap())
}

#[test]
fn requests_that_make_no_sense_are_refused_with_the_error_of_the_description() {
    let check = |kind, flags, offset, length, expected| {
        assert_eq!(error_of(kind, flags, offset, length), expected, "{kind} {offset}+{length}");
    };
    check(READ, 0, 0, 512, 0);
    check(READ, 0, 256, 512, 22);
    check(READ, 0, 0, 100, 22);
    check(READ, 0, 0, 0, 22);
    check(READ, 0, BYTES, 512, 22);
    check(READ, 0, u64::MAX - 511, 512, 22);
    check(READ, 0, 0, u32::MAX - 511, 75);
    check(READ, 1 << 9, 0, 512, 22);
    check(WRITE, 1, 0, 512, 0);
    check(WRITE, 0, BYTES, 512, 28);
    check(WRITE_ZEROES, 2, BYTES - 512, 512, 0);
    check(WRITE_ZEROES, 0, BYTES - 512, 1024, 28);
    check(TRIM, 0, 0, 4096, 0);
    check(FLUSH, 0, 0, 0, 0);
    check(BLOCK_STATUS, 0, 0, 512, 22);
    check(99, 0, 0, 0, 22);
}

#[test]
fn an_error_of_a_structured_read_tells_the_first_bad_byte() {
    let check = |kind: u16, byte: Option<u64>, chunk: u16, payload: &[u8]| {
        let mut session = session();
        session.feed(&hello(&[option(8, &[]), go(7)]));
        assert!(session.next_request().unwrap().is_none());
        session.sent(session.output().len());
        let data = vec![0; if kind == 1 { 4096 } else { 0 }];
        session.feed(&[request(kind, 0, 5, 8192, 4096), data].concat());
        let request = session.next_request().unwrap().unwrap();
        session.reply_error(&request, WireError::Io, byte);
        let out = session.output();
        assert_eq!(out[6..8], chunk.to_be_bytes(), "{kind} {byte:?}");
        assert_eq!(&out[20..], payload, "{kind} {byte:?}");
    };
    check(0, Some(9216), 0x8002, &[0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0]);
    check(0, None, 0x8001, &[0, 0, 0, 5, 0, 0]);
    // Outside of the request, as where whole sectors were read for it: a client would hang up.
    check(0, Some(8191), 0x8001, &[0, 0, 0, 5, 0, 0]);
    check(1, Some(9216), 0x8001, &[0, 0, 0, 5, 0, 0]);
}

#[test]
fn block_status_is_told_once_it_was_agreed_upon() {
    let hello = hello(&[option(STRUCTURED_REPLY, b""), allocation(), go(GO)]);
    let before = converse([&hello[..]]).0.len();
    let (out, _) = converse([&hello[..], &request(BLOCK_STATUS, 0, 7, 0, 4096)]);
    let reply = &out[before..];
    assert_eq!(&reply[..8], &[0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 5]);
    assert_eq!(&reply[20..], &[0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 3]);
}

#[test]
fn what_one_connection_has_under_way_is_bounded() {
    let export =
        Export { name: "drive".into(), bytes: BYTES, rotational: false, sector_bytes: 4096 };
    let limits = Limits { requests: 4, bytes: 1 << 20, reserved: 1 << 20 };
    let mut session = Session::new(export, limits);
    let greeting = session.output().len();
    session.sent(greeting);
    session.feed(&hello(&[go(GO)]));
    assert_eq!(session.next_request(), Ok(None));
    let greeting = session.output().len();
    session.sent(greeting);
    for cookie in 0..100 {
        session.feed(&request(READ, 0, cookie, 0, 64 << 10));
    }
    let mut taken = Vec::new();
    while let Ok(Some(request)) = session.next_request() {
        taken.push(request);
    }
    assert_eq!(taken.len(), 4);
    assert_eq!(session.appetite(), 0);
    session.reply_read(&taken[2]);
    assert!(matches!(session.next_request(), Ok(Some(Request { cookie: 4, .. }))));
    assert_eq!(session.in_flight(), 4);
}

#[test]
fn a_large_request_is_taken_once_memory_was_lent_for_it() {
    const HEADER: usize = 28;
    let export =
        Export { name: "drive".into(), bytes: BYTES, rotational: false, sector_bytes: 4096 };
    let limits = Limits { reserved: 64 << 10, ..Limits::default() };
    for (kind, payload) in [(READ, 0), (WRITE, 512 << 10)] {
        let mut session = Session::new(export.clone(), limits);
        session.feed(&hello(&[go(GO)]));
        assert_eq!(session.next_request(), Ok(None));
        let greeting = session.output().len();
        session.sent(greeting);
        session.feed(&request(kind, 0, 1, 0, 512 << 10));
        assert_eq!(session.next_request(), Ok(None));
        let short = session.shortage();
        assert!((448 << 10..512 << 10).contains(&short), "{short}");
        assert_eq!(session.appetite(), 0, "nothing more is read before it is funded");
        session.lend(short);
        assert_eq!((session.shortage(), session.surplus()), (0, 0));
        if payload > 0 {
            assert!(session.appetite() >= payload);
            session.feed(&vec![7; payload]);
        }
        let request = session.next_request().unwrap().unwrap();
        assert_eq!(session.surplus(), HEADER, "the data is used");
        answer(&mut session, &request);
        let count = session.output().len();
        session.sent(count);
        assert_eq!((session.surplus(), session.held()), (short - HEADER, 0));
        assert_eq!(session.surplus(), 0, "it is given back once");
        // What is small needs no loan.
        session.feed(&super::wire::request(READ, 0, 2, 0, 4096));
        assert!(session.next_request().unwrap().is_some());
    }
}

/// Bytes of which some are messages.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let message = prop_oneof![
        any::<Vec<u8>>(),
        (0_u32..12, any::<Vec<u8>>()).prop_map(|(number, data)| option(number, &data)),
        Just(go(GO)),
        Just(option(STRUCTURED_REPLY, b"")),
        Just(allocation()),
        (0_u16..9, 0_u16..32, any::<u64>(), 0_u64..4096, 0_u32..64).prop_map(
            |(kind, flags, cookie, place, blocks)| {
                request(kind, flags, cookie, place * 512, blocks * 512)
            }
        ),
        any::<(u16, u16, u64, u64, u32)>().prop_map(|(kind, flags, cookie, offset, length)| {
            request(kind, flags, cookie, offset, length)
        }),
    ];
    prop::collection::vec(message, 0..12).prop_map(|messages| hello(&messages))
}

proptest! {
    #[test]
    fn however_the_bytes_arrive_the_answer_is_the_same(
        bytes in conversation(),
        cuts in prop::collection::vec(1_usize..64, 1..40),
    ) {
        let whole = converse([&bytes[..]]);
        let mut pieces = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(whole, converse(pieces));
    }
}
