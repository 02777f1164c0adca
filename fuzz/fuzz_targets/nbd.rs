//! Whatever a client sends, an NBD session ends it or answers within its bounds.
#![no_main]

use drivelab_core::Sectors;
use drivelab_serve::medium::Extent;
use drivelab_serve::nbd::{Export, Kind, Limits, Session};

const BYTES: u64 = 64 << 10;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let export = Export { name: "drive".into(), bytes: BYTES, rotational: false };
    let limits = Limits { requests: 8, bytes: 128 << 10 };
    let mut session = Session::new(export, limits);
    // The first byte says in pieces of which size the rest arrives; the flags are given, so that
    // the fuzzer comes to the options at once.
    let Some((step, rest)) = bytes.split_first() else { return };
    session.feed(&[0, 0, 0, 3]);
    for piece in rest.chunks(usize::from(*step) + 1) {
        session.feed(piece);
        while let Ok(next) = session.next_request() {
            let Some(request) = next else { break };
            assert!(request.offset + u64::from(request.length) <= BYTES);
            assert!(session.in_flight() <= 8);
            match request.kind {
                Kind::Read => session.reply_read(&request).fill(1),
                Kind::BlockStatus { .. } => {
                    let sectors = Sectors::new(u64::from(request.length) / 512);
                    session.reply_extents(&request, &[Extent { sectors, hole: true }]);
                }
                _ => session.reply_done(&request),
            }
            assert!(session.output().len() <= 256 << 10);
            session.sent(session.output().len());
        }
    }
});
