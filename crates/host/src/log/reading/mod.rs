//! Reads a log from a file of any length, a line at a time.

mod joined;
mod line;
mod quick;
mod repeats;
mod ring;
mod unpack;

pub use ring::ring;

use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read};

use memchr::memchr;

use self::repeats::Repeats;
pub(crate) use self::unpack::unpacked;
use super::KernelLog;

/// Longest line that is read; the kernel's own have at most 1024 bytes (`LOG_LINE_MAX`).
const LINE_BYTES_MAX: usize = 4096;
/// A log longer than this has no end, such as a device.
const LOG_BYTES_MAX: u64 = 64 << 30;
/// The length from which a line may have been broken by a mail program.
const BROKEN_LENGTH_MIN: usize = 50;
/// Number of lines into which a message may have been broken.
const BROKEN_LINES_MAX: usize = 3;

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
            if reading.repeats(&bytes) {
                continue;
            }
            let may_matter = quick::may_matter(&bytes);
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

/// The first two bytes of a file, which stay in it; zeros where there are none.
fn first_bytes(file: &mut impl BufRead) -> std::io::Result<[u8; 2]> {
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
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
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
fn next_line(file: &mut impl BufRead, line: &mut Vec<u8>, cut: &mut bool) -> std::io::Result<bool> {
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

/// A log, and the line that may be continued by the next one.
#[derive(Default)]
struct Reading {
    log: KernelLog,
    line: String,
    /// True if the line began with a time or a host.
    stamped: bool,
    /// True if a rule may concern it.
    matters: bool,
    /// The start of its message.
    start: usize,
    /// The length of its last part.
    length: usize,
    parts: usize,
    /// The messages that are counted without being read again.
    known: Repeats,
    /// The one that the line repeats.
    repeat: Option<Repeated>,
}

/// A line that is not read in full.
struct Repeated {
    /// The message that it repeats; `None` for libata's reports.
    slot: Option<(usize, usize)>,
    /// Its time, if it has the kernel's stamp.
    seconds: Option<u64>,
}

/// The part of a line that is read.
fn beginning(line: &str) -> &str {
    // A character is never divided: it has at most four bytes.
    let ends = (0..4).map(|back| LINE_BYTES_MAX - back);
    ends.into_iter().find_map(|end| line.get(..end)).unwrap_or(line)
}

impl Reading {
    /// Takes a line that says the same as one before, or is one of libata's reports. Only if no
    /// further lines are kept for a capture.
    fn repeats(&mut self, line: &[u8]) -> bool {
        if !self.log.only_counts() {
            return false;
        }
        let line = line.trim_ascii_end();
        let Some((seconds, start)) = repeats::stamp(line) else { return self.results(line) };
        let message = &line[start..];
        // A bracket may be the stamp of a line that was joined to it.
        let of_libata = (message.starts_with(b"ata") || message.starts_with(b"res "))
            && memchr(b'[', message).is_none();
        let slot = if of_libata { None } else { self.known.find(message) };
        // It is equal to a text but for digits.
        let Ok(text) = std::str::from_utf8(line) else { return false };
        if !of_libata && slot.is_none() {
            return false;
        }
        self.flush();
        // The line before may have changed that.
        if !self.log.only_counts() {
            return false;
        }
        self.begin(text, start, true);
        self.matters = true;
        self.length = text.len();
        self.repeat = Some(Repeated { slot, seconds });
        true
    }

    /// Takes the second line of libata's report of a command.
    fn results(&mut self, line: &[u8]) -> bool {
        let text = line.trim_ascii_start();
        let follows = self.repeat.as_ref().is_some_and(|it| it.slot.is_none());
        if !follows || !text.starts_with(b"res ") {
            return false;
        }
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let is_next = self.continues(text);
        if is_next {
            self.continue_with(text);
            self.length = text.len();
        }
        is_next
    }

    /// Begins a line, whose message begins at `start`.
    fn begin(&mut self, line: &str, start: usize, stamped: bool) {
        debug_assert!(self.line.is_empty() && self.repeat.is_none(), "the one before was read");
        self.line.push_str(line);
        self.start = start;
        self.stamped = stamped;
        self.log.stamped |= stamped;
        self.log.looked.0 += u64::from(!line.is_empty());
        self.log.looked.1 += u64::from(stamped);
        self.parts = 1;
    }

    /// Does what the line does, which repeats one before; returns false if it must be read.
    fn again(&mut self, repeated: &Repeated) -> bool {
        let seconds = repeated.seconds.or_else(|| line::seconds(&self.line));
        self.log.at_s = seconds;
        let message = &self.line[self.start..];
        let Some(slot) = repeated.slot else { return self.log.flood_line(message) };
        self.log.lines += 1;
        self.log.repeat(self.known.effect(slot), message);
        true
    }

    /// Keeps the line, if it was a single one with a stamp, and its effect is known.
    fn keep(&mut self) {
        let Some(effect) = self.log.effect.take() else { return };
        let stamp = repeats::stamp(self.line.as_bytes());
        if self.parts == 1 && stamp.is_some_and(|(_, start)| start == self.start) {
            self.known.keep(&self.line[self.start..], effect);
        }
    }

    /// Passes over a line that no rule can concern, as most are, and counts it. The first lines
    /// show what the file is, and are read in any case.
    fn skips(&mut self, line: &[u8]) -> bool {
        if !self.log.stamped {
            return false;
        }
        // It may continue a line that a mail program broke.
        let may_continue = !self.line.is_empty() && self.matters;
        if may_continue && !quick::is_stamped(line) && !line::is_dated(line) {
            return false;
        }
        self.flush();
        self.stamped = false;
        self.log.lines += 1;
        true
    }

    /// Reads a line in any case.
    fn line(&mut self, line: &str) {
        self.read(line, quick::may_matter(line.as_bytes()));
    }

    fn read(&mut self, line: &str, may_matter: bool) {
        let line = line::cleaned(beginning(line));
        if let Some((message, at)) = line::record(&line) {
            self.flush();
            self.log.at_s = at;
            self.log.stamped = true;
            for message in message.lines() {
                self.log.line(message.trim(), false);
            }
            self.log.effect = None;
            return;
        }
        if !joined::is_joined(line.as_bytes()) {
            return self.part(&line, may_matter);
        }
        for part in joined::parts(&line) {
            self.part(part, may_matter);
        }
    }

    fn part(&mut self, line: &str, may_matter: bool) {
        let text = line.trim();
        let message = line::message(text);
        let stamped = message.len() < text.len();
        if !stamped && self.continues(text) {
            self.continue_with(text);
        } else {
            self.flush();
            let line = line.trim_end();
            self.begin(line, line.len() - message.len(), stamped);
            self.matters = may_matter;
        }
        self.length = text.len();
    }

    fn continue_with(&mut self, text: &str) {
        self.line.push(' ');
        self.line.push_str(text);
        self.parts += 1;
        // As a whole it says something else.
        self.repeat.take_if(|it| it.slot.is_some());
    }

    /// Returns whether a line without a stamp continues the one before: libata's reports have a
    /// second line, and mail programs break long ones.
    fn continues(&self, text: &str) -> bool {
        let broken = self.length >= BROKEN_LENGTH_MIN && self.parts < BROKEN_LINES_MAX;
        let second = text.starts_with("res ") && self.line.contains(": cmd ");
        !text.is_empty()
            && !text.starts_with("Linux version ")
            && !line::is_dated(text.as_bytes())
            && self.stamped
            && (second || broken)
            && self.matters
            && self.line.len() + text.len() < LINE_BYTES_MAX
    }

    fn flush(&mut self) {
        debug_assert!(self.line.len() <= 2 * LINE_BYTES_MAX, "few lines make a message");
        let repeated = self.repeat.take();
        if repeated.is_some_and(|repeated| self.again(&repeated)) {
            self.line.clear();
        } else if !self.line.is_empty() {
            self.log.at_s = line::seconds(&self.line);
            self.log.line(&self.line[self.start..], self.line.starts_with([' ', '\t']));
            self.keep();
            self.line.clear();
        }
    }

    fn finish(mut self) -> KernelLog {
        self.flush();
        self.log.add_unresolved();
        let before = self.log.before.take();
        match before.filter(|_| !self.log.names_disks()) {
            Some(before) => {
                let KernelLog { release, lines, stamped, looked, .. } = self.log;
                KernelLog { lines, stamped, looked, ..Self::released(*before, release) }
            }
            None => self.log,
        }
    }

    /// The log that ended before the line with the kernel's release.
    fn released(log: KernelLog, release: Option<String>) -> KernelLog {
        KernelLog { release: log.release.clone().or(release), ..log }
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
    fn counting_repeated_lines_changes_nothing() {
        let line = |n: u32| {
            let sector = n.wrapping_mul(2_654_435_761) >> 8;
            let disk = char::from(b"abc"[n as usize % 3]);
            match n % 7 {
                0 => {
                    format!("I/O error, dev sd{disk}, sector {sector} op 0x1:(WRITE) phys_seg {n}")
                }
                1 => format!("I/O error, dev sd{disk}, sector {sector} op 0x3:(DISCARD)"),
                2 => format!("nvme nvme{}: I/O {} QID {} timeout, aborting", n % 2, n % 999, n % 2),
                3 => format!("Buffer I/O error on dev sd{disk}1, logical block {sector}, lost"),
                4 => format!(
                    "mmcblk0: error -{} transferring data, sector {sector}",
                    84 + n % 2 * 26
                ),
                5 => format!(
                    "EXT4-fs error (device sd{disk}1): ext4_find_entry:{sector}: inode #{n}"
                ),
                _ => format!("sd 0:0:0:0: [sda] tag#{} Sense Key : Medium Error", n % 32),
            }
        };
        let mut text = String::new();
        for n in 0..140_000 {
            text.push_str(&format!("[{:5}.000001] {}\n", n / 9, line(n)));
            match n {
                90_000 => text.push_str("[ 9.000001] sd 6:0:0:0: [sdb] Attached SCSI disk\n"),
                100_000 => text.push_str("that a mail program broke, op 0x9:(WRITE_ZEROES)\n"),
                110_000 => text.push_str("[ 9.000001] usb 2-1: USB disconnect, device number 4\n"),
                _ => {}
            }
        }
        let mut all = Reading::default();
        text.lines().for_each(|line| all.line(line));
        let (quick, slow) = (KernelLog::parse(&text), all.finish());
        assert!(quick.is_full() && quick.faults.len() > 5, "{:?}", quick.faults.keys());
        assert_eq!(quick, slow);
    }

    #[test]
    fn many_faults_are_counted_with_their_first_lines_and_last_time() {
        let line = |second: u64| match second % 3 {
            0 => {
                format!("[{second:5}.000001] I/O error, dev sda, sector {second} op 0x3:(DISCARD)")
            }
            1 => format!("[{second:5}.000001] I/O error, dev sda, sector {second} op 0x0:(READ)"),
            _ => format!("[{second:5}.000001] critical medium error, dev sdb, sector {second}"),
        };
        let text: Vec<String> = (0..90_000).map(line).collect();
        let log = KernelLog::parse(&text.join("\n"));
        for (disk, class, first) in
            [("sda", Class::Discard, 0), ("sda", Class::Io, 1), ("sdb", Class::Medium, 2)]
        {
            let found = log.faults[disk].of(class).unwrap();
            assert_eq!((found.count, found.last_s), (30_000, Some(89_997 + first)));
            let kept: Vec<String> = (0..3).map(|n| line(first + 3 * n)).collect();
            let kept: Vec<&str> = kept.iter().map(|line| &line[15..]).collect();
            assert_eq!(found.first, kept);
        }
        assert_eq!(log.lines, 90_000);
    }

    #[test]
    fn lines_that_a_mail_program_broke_are_joined() {
        let text = "Nov 04 06:18:51 charon kernel: blk_update_request: critical medium\n\
                    error, dev sda,\nsector 3907667964 op 0x9:(WRITE_ZEROES)\n";
        assert_eq!(count(text.as_bytes()), 1);
    }

    /// The log without the number and the time of its last line.
    fn read_from(log: KernelLog) -> KernelLog {
        KernelLog { lines: 0, looked: (0, 0), at_s: None, reported: (0, None), ..log }
    }

    #[test]
    fn passing_over_lines_changes_nothing() {
        let logs = include_str!("../../../tests/tables/logs.txt");
        for log in logs.split("\n== ") {
            let text = format!("[    0.0] a line with a stamp\n{log}");
            let mut all = Reading::default();
            text.lines().for_each(|line| all.line(line));
            assert_eq!(read_from(KernelLog::parse(&text)), read_from(all.finish()), "{log}");
        }
    }

    proptest::proptest! {
        #[test]
        fn passing_over_lines_of_any_kind_changes_nothing(
            lines in proptest::collection::vec(
                "(\\[ *[0-9.,]{0,9}\\] ?|<[0-9]>|[A-Z][a-z]{2} [0-9]{2} 12:00:00 host kernel: |2026-11-26T15:50:09,123456\\+00:00 |6,3,5140900,-;|> |\x1b\\[3m){0,2}\
                 (sd 0:0:0:0: \\[sda\\] |ata1\\.00: |critical medium error, dev sda|error, dev sdb|\
                 nvme nvme0: I/O 1 QID 2 timeout|audit: |systemd\\[1\\]: |00:1f\\.2 IDE |c0 1 ata1: )?\
                 [ -~]{0,60}",
                0..20,
            )
        ) {
            let text = format!("[    0.0] a line with a stamp\n{}", lines.join("\n"));
            let mut all = Reading::default();
            text.lines().for_each(|line| all.line(line));
            let all = read_from(all.finish());
            proptest::prop_assert_eq!(read_from(KernelLog::parse(&text)), all);
        }
    }

    #[test]
    fn lines_of_other_programs_do_not_continue_those_of_the_kernel() {
        let failed =
            "Nov 04 06:18:51 host kernel: critical medium error, dev sda, sector 8 op 0x0:(READ)";
        let text = format!("{failed}\nNov 04 06:18:52 host sshd[812]: text\n");
        let log = KernelLog::parse(&text);
        let first = &log.faults["sda"].of(Class::Medium).unwrap().first[0];
        assert!(first.ends_with("(READ)"), "{first}");
    }

    #[test]
    fn a_release_after_the_log_is_no_boot() {
        let text = format!("{LINE}\nLinux version 4.10.0-21-generic\n");
        assert_eq!(count(text.as_bytes()), 1);
        let log = KernelLog::parse(&text);
        assert_eq!(log.release.as_deref(), Some("4.10.0-21-generic"));
        assert_eq!(count(format!("{text}ata1: SATA link down (SStatus 0)\n").as_bytes()), 0);
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
