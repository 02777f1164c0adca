//! Messages as a client writes them, from the protocol description and not from our code.

/// The client's flags after the greeting: fixed newstyle, no zeroes.
pub(crate) const FLAGS: [u8; 4] = [0, 0, 0, 3];

/// `NBD_OPT_*`.
pub(crate) const EXPORT_NAME: u32 = 1;
pub(crate) const LIST: u32 = 3;
pub(crate) const INFO: u32 = 6;
pub(crate) const GO: u32 = 7;
pub(crate) const STRUCTURED_REPLY: u32 = 8;
pub(crate) const SET_META_CONTEXT: u32 = 10;

/// `NBD_CMD_*`.
pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// INFO and GO for the default export, with no further wishes.
pub(crate) fn go(number: u32) -> Vec<u8> {
    option(number, &[0; 6])
}

/// A wish for the context `base:allocation` of the default export.
pub(crate) fn allocation() -> Vec<u8> {
    let name = b"base:allocation";
    let mut data = vec![0; 4];
    data.extend(1_u32.to_be_bytes());
    data.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    data.extend_from_slice(name);
    option(SET_META_CONTEXT, &data)
}

pub(crate) fn request(kind: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}
