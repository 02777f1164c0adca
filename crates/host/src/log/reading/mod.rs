//! Reads a log from a file of any length, a line at a time.

mod counted;
mod joined;
mod line;
mod lines;
mod message;
mod quick;
mod repeats;
mod ring;
mod unpack;

pub use ring::ring;

use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read};

use self::lines::{LINE_BYTES_MAX, fill, first_bytes, next_line};
use self::message::Reading;
pub(crate) use self::unpack::unpacked;
use super::KernelLog;

/// More zeros than this before a log are no log.
const ZEROS_MAX: usize = 64 << 20;
/// A log longer than this has no end, such as a device.
const LOG_BYTES_MAX: u64 = 64 << 30;

impl KernelLog {
    /// Reads a log in the format of `dmesg`, `/dev/kmsg`, `journalctl` or syslog: as text in UTF-8
    /// or UTF-16, as JSON of the journal, plain or compressed with gzip, xz or zstd. The memory
    /// needed does not depend on its length.
    ///
    /// Fails where the file cannot be read, is compressed in another way or is not text.
    pub fn read(mut file: impl Read) -> std::io::Result<Self> {
        Self::unpack(&mut file)
    }

    /// As above for files of any type, so that the decoders are compiled once.
    fn unpack(file: &mut dyn Read) -> std::io::Result<Self> {
        let file = BufReader::with_capacity(64 << 10, file.take(LOG_BYTES_MAX));
        match unpacked(file, LOG_BYTES_MAX)? {
            Ok(content) => Self::plain(content),
            Err(file) => Self::plain(file),
        }
    }

    fn plain(mut file: impl BufRead) -> std::io::Result<Self> {
        match first_bytes(&mut file)? {
            [0xff, 0xfe] => Self::wide(file, u16::from_le_bytes),
            [0xfe, 0xff] => Self::wide(file, u16::from_be_bytes),
            _ => Self::text(file),
        }
    }

    fn text(mut file: impl BufRead) -> std::io::Result<Self> {
        skip_zeros(&mut file);
        // Log files of a machine that lost its power can end in a block of zeros.
        if let Ok(start) = file.fill_buf()
            && start.iter().take(1024).any(|byte| *byte == 0)
        {
            let message = "holds binary data, which no kernel log contains";
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        let mut reading = Reading::default();
        let mut bytes = Vec::with_capacity(LINE_BYTES_MAX);
        let mut cut = false;
        while next_line(&mut file, &mut bytes, &mut cut)? {
            // Where errors fill the log, most lines repeat one; elsewhere most do not matter.
            let is_flood = reading.log.only_counts();
            if is_flood && reading.repeats(&bytes) {
                continue;
            }
            let may_matter = quick::may_matter(&bytes);
            if may_matter && !is_flood && reading.repeats(&bytes) {
                continue;
            }
            if may_matter || !reading.skips(&bytes) {
                reading.read(&String::from_utf8_lossy(&bytes), may_matter);
            }
        }
        let log = reading.finish();
        if cut && !log.present {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "is damaged: nothing could be unpacked",
            ));
        }
        Ok(KernelLog { cut, ..log })
    }

    /// Reads UTF-16, as some programs on Windows save it, in pieces.
    fn wide(mut file: impl BufRead, unit: fn([u8; 2]) -> u16) -> std::io::Result<Self> {
        let mut reading = Reading::default();
        let mut bytes = vec![0; 64 << 10];
        let mut text = String::new();
        loop {
            let count = fill(&mut file, &mut bytes)?;
            let units = bytes[..count].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
            text.extend(char::decode_utf16(units).map(|it| it.unwrap_or('\u{fffd}')));
            while let Some((line, rest)) = text.split_once('\n') {
                reading.line(line);
                text = rest.to_owned();
            }
            if text.len() > LINE_BYTES_MAX || count < bytes.len() {
                reading.line(&text);
                text.clear();
            }
            if count < bytes.len() {
                return Ok(reading.finish());
            }
        }
    }
}

/// Passes over the zeros that a log begins with after it was emptied while a program wrote to it.
fn skip_zeros(file: &mut impl BufRead) {
    let mut left = ZEROS_MAX;
    while left > 0 {
        // The reader of lines meets the same error, and says what is damaged.
        let Ok(start) = file.fill_buf() else { return };
        let zeros = start.iter().take(left).take_while(|byte| **byte == 0).count();
        let goes_on = zeros > 0 && zeros == start.len();
        debug_assert!(zeros <= left, "no more than are left");
        file.consume(zeros);
        left = if goes_on { left - zeros } else { 0 };
    }
}

impl From<&str> for KernelLog {
    fn from(text: &str) -> Self {
        Self::read(Cursor::new(text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::Class;
    use super::*;

    const LINE: &str = "[ 9.1] critical medium error, dev sda, sector 2048";
    /// Two such lines, by `xz` and `zstd`.
    const XZ: &[u8] =
        b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01\x16\x00\x00\x00t/\xe5\xa3\xe0\x00e\
        \x00:]\x00-\x88\x03\x22\xffSO\x07J\xd0\xc0\xbb&}'\x0fz\x98\x17\xb7\x9f\xace\xaa\xf6[\
        \xdf\xfc(iN\xe5-\x81\xd3\x87^\xa4\x0co\xd9\xac\xab\xf19\x12\xec$#\x98\x8fy;$\xac\x22\
        \x00\x00\x00\x00\x00`\xf1g\xa5\xdd\x9a8\x86\x00\x01Vf\x94\x8b\xb6h\x1f\xb6\xf3}\x01\
        \x00\x00\x00\x00\x04YZ";
    const ZSTD: &[u8] =
        b"(\xb5/\xfd\x04X\xdd\x01\x004\x03[ 9.1] critical medium error, dev sda, sector 2048\
        \x0a\x01\x00\x03{*(w\xe6\x00\x12";

    /// Number of faults of `sda`.
    fn count(bytes: &[u8]) -> u64 {
        let log = KernelLog::read(bytes).unwrap();
        log.faults.get("sda").and_then(|it| it.of(Class::Medium)).map_or(0, |lines| lines.count)
    }

    #[test]
    fn compressed_and_wide_texts_are_read() {
        let text = format!("{LINE}\n{LINE}\n");
        assert_eq!(count(text.as_bytes()), 2);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        assert_eq!(count(&gzip.finish().unwrap()), 2);
        assert_eq!(count(XZ), 2);
        assert_eq!(count(ZSTD), 2);
        // `cat` of two files is a file.
        assert_eq!(count(&[ZSTD, ZSTD].concat()), 4);
        assert_eq!(count(&[XZ, XZ].concat()), 4);
        let mut wide = vec![0xff, 0xfe];
        wide.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(count(&wide), 2);
        let mut wide = vec![0xfe, 0xff];
        wide.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        assert_eq!(count(&wide), 2);
    }

    #[test]
    fn a_log_that_was_cut_while_compressed_is_read_up_to_there_and_says_so() {
        let lines: Vec<String> =
            (0..20_000).map(|n| format!("[ {n}.1] usb 1-{n}: text {}", n * 7919)).collect();
        let lines = lines.join("\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(format!("{LINE}\n{lines}").as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        let whole = KernelLog::read(packed.as_slice()).unwrap();
        let half = KernelLog::read(&packed[..packed.len() / 2]).unwrap();
        assert!(!whole.cut && half.cut);
        assert!(half.lines < whole.lines && half.faults.contains_key("sda"));
        for packed in [XZ, ZSTD] {
            let error = KernelLog::read(&packed[..packed.len() / 2]).unwrap_err();
            assert!(error.to_string().contains("damaged"), "{error}");
        }
    }

    #[test]
    fn zeros_before_a_log_are_passed_over() {
        let zeros = vec![0; 70_000];
        assert_eq!(count(&[&zeros, LINE.as_bytes()].concat()), 1);
        assert!(KernelLog::read(zeros.as_slice()).is_ok_and(|log| !log.present));
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let check = |bytes: &[u8], reason: &str| {
            let error = KernelLog::read(bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        check(b"\x28\xb5\x2f\xfd\x24\xff\xff\xff\xff\xff\xff\xff", "damaged");
        check(b"BZh91AY", "bzip2 -dc");
        check(b"\x7fELF\0\0", "binary");
    }

    #[test]
    fn the_newest_lines_of_a_long_log_count() {
        let mut text = "[    1.0] random: text that has nothing to do with disks\n".repeat(400_000);
        assert!(text.len() > 20 << 20);
        text.push_str(LINE);
        assert_eq!(count(text.as_bytes()), 1);
    }

    #[test]
    fn a_line_of_any_length_is_cut() {
        // Bytes that are not text become three each.
        assert_eq!(count(&[vec![0xff; 1 << 20], b"\n".to_vec(), LINE.into()].concat()), 1);
        let mut wide = vec![0xff, 0xfe];
        wide.extend("\u{4e00}".repeat(1 << 18).encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(count(&wide), 0);
        let mut text = "x".repeat(10 << 20);
        text.push('\n');
        text.push_str(LINE);
        assert_eq!(count(text.as_bytes()), 1);
    }
}
