//! The negotiation of options before the first request.

use zerocopy::FromBytes as _;

use super::input::{Input, Reader};
use super::meta::{self, CONTEXT, CONTEXT_ID};
use super::wire::{IHAVEOPT, OptionHeader, put_option_reply as answer};
use super::{BLOCK_BYTES, BYTES_MAX, Ended};

const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;

const FIXED_NEWSTYLE: u32 = 1;
const NO_ZEROES: u32 = 2;

/// The longest option that is read: strings have at most 4096 bytes, and no client requests many
/// contexts.
const OPTION_BYTES_MAX: u32 = 64 << 10;

mod option {
    pub(super) const EXPORT_NAME: u32 = 1;
    pub(super) const ABORT: u32 = 2;
    pub(super) const LIST: u32 = 3;
    pub(super) const INFO: u32 = 6;
    pub(super) const GO: u32 = 7;
    pub(super) const STRUCTURED_REPLY: u32 = 8;
    pub(super) const LIST_META_CONTEXT: u32 = 9;
    pub(super) const SET_META_CONTEXT: u32 = 10;
}

mod reply {
    pub(super) const ACK: u32 = 1;
    pub(super) const SERVER: u32 = 2;
    pub(super) const INFO: u32 = 3;
    pub(super) const META_CONTEXT: u32 = 4;
    pub(super) const ERR_UNSUP: u32 = 0x8000_0001;
    pub(super) const ERR_INVALID: u32 = 0x8000_0003;
    pub(super) const ERR_UNKNOWN: u32 = 0x8000_0006;
}

/// Types of information in the answer to INFO and GO.
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES` and `CAN_MULTI_CONN`:
/// all connections see one drive, so a flush on one covers what completed on all.
const TRANSMISSION_FLAGS: u16 = 1 | 4 | 8 | 32 | 64 | 256;
const ROTATIONAL: u16 = 16;
/// Must be clear if structured replies were not negotiated: only those can be sent unfragmented.
const SEND_DF: u16 = 128;

/// The export offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; the empty name, the default export, refers to it too.
    pub name: String,
    /// Its size in bytes, a multiple of the block size.
    pub bytes: u64,
    /// True if it has to seek.
    pub rotational: bool,
    /// Its physical sector in bytes, announced as the preferred block size.
    pub sector_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Agreed {
    pub(super) structured: bool,
    pub(super) block_status: bool,
}

#[derive(Debug)]
pub(super) struct Handshake {
    export: Export,
    /// The client's flags, once received.
    flags: Option<u32>,
    agreed: Agreed,
}

pub(super) enum Step {
    NeedsInput,
    Again,
    Transmission(Agreed),
}

impl Handshake {
    pub(super) fn new(export: Export, out: &mut Vec<u8>) -> Self {
        out.extend(NBDMAGIC.to_be_bytes());
        out.extend(IHAVEOPT.to_be_bytes());
        // The server's handshake flags: fixed newstyle, and no 124 zeros after the export.
        out.extend([0, 3]);
        Self { export, flags: None, agreed: Agreed::default() }
    }

    pub(super) fn step(&mut self, input: &mut Input, out: &mut Vec<u8>) -> Result<Step, Ended> {
        let Some(flags) = self.flags else {
            let Some(bytes) = input.take(4) else { return Ok(Step::NeedsInput) };
            let flags = Reader(bytes).u32().expect("four bytes");
            // Unknown flags could ask for behaviour that is not implemented.
            if flags & !(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
                return Err(Ended::Broken("unknown handshake flags"));
            }
            self.flags = Some(flags);
            return Ok(Step::Again);
        };
        let Ok((header, _)) = OptionHeader::read_from_prefix(input.peek()) else {
            return Ok(Step::NeedsInput);
        };
        if header.magic != IHAVEOPT {
            return Err(Ended::Broken("an option has the wrong magic number"));
        }
        let length = header.length.get();
        if length > OPTION_BYTES_MAX {
            return Err(Ended::Broken("an option is too long"));
        }
        let length = usize::try_from(length).expect("a small number");
        // Taken as a whole only: an option that arrives in pieces is parsed once.
        let Some(message) = input.take(16 + length) else { return Ok(Step::NeedsInput) };
        self.option(header.option.get(), &message[16..], flags, out)
    }

    fn option(
        &mut self,
        option: u32,
        data: &[u8],
        flags: u32,
        out: &mut Vec<u8>,
    ) -> Result<Step, Ended> {
        match option {
            option::EXPORT_NAME => return self.export_name(data, flags, out),
            option::ABORT => {
                answer(out, option, reply::ACK, &[]);
                return Err(Ended::Disconnected);
            }
            option::LIST if data.is_empty() => {
                let name = self.export.name.as_bytes();
                let length = u32::try_from(name.len()).expect("our own short name");
                let entry = [&length.to_be_bytes(), name].concat();
                answer(out, option, reply::SERVER, &entry);
                answer(out, option, reply::ACK, &[]);
            }
            option::INFO | option::GO => return Ok(self.info(option, data, out)),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.structured = true;
                answer(out, option, reply::ACK, &[]);
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta(option, data, out),
            option::LIST | option::STRUCTURED_REPLY => answer(out, option, reply::ERR_INVALID, &[]),
            _ => answer(out, option, reply::ERR_UNSUP, &[]),
        }
        Ok(Step::Again)
    }

    fn knows(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn export_name(&self, name: &[u8], flags: u32, out: &mut Vec<u8>) -> Result<Step, Ended> {
        if !self.knows(name) {
            // The only way to refuse this option is to disconnect.
            return Err(Ended::Broken("there is no export of that name"));
        }
        out.extend(self.export.bytes.to_be_bytes());
        out.extend(self.transmission_flags().to_be_bytes());
        // Old clients expect 124 reserved bytes.
        if flags & NO_ZEROES == 0 {
            out.extend([0; 124]);
        }
        Ok(Step::Transmission(self.agreed))
    }

    fn transmission_flags(&self) -> u16 {
        let rotational = if self.export.rotational { ROTATIONAL } else { 0 };
        let df = if self.agreed.structured { SEND_DF } else { 0 };
        TRANSMISSION_FLAGS | rotational | df
    }

    fn info(&self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Step {
        let mut reader = Reader(data);
        let name = reader.text();
        // The requested information types are hints: both types are always sent.
        let asked = reader.u16().and_then(|count| reader.bytes(usize::from(count) * 2));
        let (Some(name), Some(_), []) = (name, asked, reader.0) else {
            answer(out, option, reply::ERR_INVALID, &[]);
            return Step::Again;
        };
        if !self.knows(name.as_bytes()) {
            answer(out, option, reply::ERR_UNKNOWN, &[]);
            return Step::Again;
        }
        let mut info = INFO_EXPORT.to_be_bytes().to_vec();
        info.extend(self.export.bytes.to_be_bytes());
        info.extend(self.transmission_flags().to_be_bytes());
        answer(out, option, reply::INFO, &info);
        let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        // Minimum, preferred and maximum block size.
        for size in [BLOCK_BYTES, self.export.sector_bytes, BYTES_MAX] {
            info.extend(size.to_be_bytes());
        }
        answer(out, option, reply::INFO, &info);
        answer(out, option, reply::ACK, &[]);
        if option == option::GO { Step::Transmission(self.agreed) } else { Step::Again }
    }

    fn meta(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) {
        let set = option == option::SET_META_CONTEXT;
        let queries = meta::queries(data).filter(|_| self.agreed.structured);
        let Some((name, queries)) = queries else {
            return answer(out, option, reply::ERR_INVALID, &[]);
        };
        if !self.knows(name.as_bytes()) {
            return answer(out, option, reply::ERR_UNKNOWN, &[]);
        }
        let found = meta::selects(&queries, !set);
        if found {
            // In the answer to LIST the id is reserved, and zero.
            let id = if set { CONTEXT_ID } else { 0 };
            let context = [&id.to_be_bytes(), CONTEXT.as_bytes()].concat();
            answer(out, option, reply::META_CONTEXT, &context);
        }
        // The last request counts; one without a known context switches it off.
        if set {
            self.agreed.block_status = found;
        }
        answer(out, option, reply::ACK, &[]);
    }
}
