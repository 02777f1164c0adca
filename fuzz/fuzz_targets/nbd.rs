//! Whatever a client sends, an NBD session ends it or answers within its bounds.
#![no_main]

use drivelab_core::Sectors;
use drivelab_core::disk::Extent;
use drivelab_serve::nbd::{Export, Kind, Limits, Request, Session};

/// Small, so that filling answers does not take the time that inputs are to be tried in.
const BYTES: u64 = 2 << 10;
const REQUESTS: usize = 8;

/// Structured replies, the context `base:allocation`, and GO, as `doc/proto.md` of the NBD project
/// lays them out.
const HANDSHAKE: &[u8] = b"IHAVEOPT\0\0\0\x08\0\0\0\0\
    IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
    IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";

const REQUEST_MAGIC: [u8; 4] = [0x25, 0x60, 0x95, 0x13];

/// A server that answers some requests at once and others late, or never.
struct Server {
    session: Session,
    late: Vec<Request>,
}

impl Server {
    fn answer(&mut self, request: &Request) {
        match request.kind {
            Kind::Read => self.session.reply_read(request).fill(1),
            Kind::BlockStatus { .. } => {
                let sectors = Sectors::new(u64::from(request.length) / 512);
                self.session.reply_extents(request, &[Extent { sectors, hole: false }]);
            }
            _ => self.session.reply_done(request),
        }
    }

    /// Hears a piece of what the client says; `false` when the connection is over.
    fn hear(&mut self, piece: &[u8]) -> bool {
        self.session.feed(piece);
        loop {
            match self.session.next_request() {
                Err(_) => return false,
                Ok(None) if self.session.shortage() > 0 => {
                    self.session.lend(self.session.shortage());
                    assert_eq!(self.session.shortage(), 0);
                }
                Ok(None) if self.late.is_empty() => return true,
                Ok(None) => {
                    let request = self.late.remove(0);
                    self.answer(&request);
                }
                Ok(Some(request)) => {
                    assert!(request.offset + u64::from(request.length) <= BYTES);
                    assert!(self.session.in_flight() <= REQUESTS);
                    if request.cookie % 2 == 0 {
                        self.answer(&request);
                    } else {
                        self.late.push(request);
                    }
                }
            }
            assert!(self.session.output().len() <= 32 << 10);
            self.session.sent(self.session.output().len().div_ceil(2));
            assert!(self.session.surplus() <= 64 << 20);
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let export = Export { name: "drive".into(), bytes: BYTES, rotational: false, sector_bytes: 512 };
    let limits = Limits { requests: REQUESTS, bytes: 16 << 10, reserved: 1 << 10 };
    let mut server = Server { session: Session::new(export, limits), late: Vec::new() };
    // The first byte says in pieces of which size the rest arrives, the second what is given: the
    // flags alone, a whole handshake, or also the magic in front of each request.
    let [step, given, rest @ ..] = bytes else { return };
    server.session.feed(&[0, 0, 0, 3]);
    if given % 3 > 0 && !server.hear(HANDSHAKE) {
        unreachable!("the handshake is as the protocol has it");
    }
    for piece in rest.chunks(usize::from(*step) + 1) {
        if given % 3 == 2 && !server.hear(&REQUEST_MAGIC) || !server.hear(piece) {
            return;
        }
    }
});
