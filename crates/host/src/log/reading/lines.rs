//! The bytes of a log, a line at a time.

use std::io::{BufRead, Error, ErrorKind, Read};

use memchr::memchr;

/// Longest line that is read; the kernel's own have at most 1024 bytes (`LOG_LINE_MAX`).
pub(super) const LINE_BYTES_MAX: usize = 4096;

/// The first two bytes of a file, which stay in it; zeros where there are none.
pub(super) fn first_bytes(file: &mut impl BufRead) -> std::io::Result<[u8; 2]> {
    match file.fill_buf() {
        Ok([first, second, ..]) => Ok([*first, *second]),
        Ok(_) => Ok([0; 2]),
        // It is found again when the first line is read.
        Err(error) if is_of_decoder(&error) => Ok([0; 2]),
        Err(error) => Err(error),
    }
}

/// Returns whether the compressed data are at fault, not the file: a log that was cut or damaged is
/// read up to there.
fn is_of_decoder(error: &Error) -> bool {
    error.raw_os_error().is_none() && error.kind() != ErrorKind::Interrupted
}

/// Fills the buffer unless the file ends.
pub(super) fn fill(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < bytes.len() {
        match file.read(&mut bytes[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Reads the next line, up to its limit; the rest of a longer one is skipped.
pub(super) fn next_line(
    file: &mut impl BufRead,
    line: &mut Vec<u8>,
    cut: &mut bool,
) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let buffer = match file.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if is_of_decoder(&error) => {
                *cut = true;
                return Ok(any);
            }
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let space = LINE_BYTES_MAX - line.len();
        line.extend_from_slice(&part[..part.len().min(space)]);
        debug_assert!(line.len() <= LINE_BYTES_MAX, "a line of any length needs bounded memory");
        let used = end.map_or(buffer.len(), |end| end + 1);
        file.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}
