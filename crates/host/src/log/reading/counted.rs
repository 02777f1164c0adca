//! Lines that are counted without being read: those that say what one before said, and those that
//! no rule can concern.

use memchr::memchr;

use super::super::fault::without_serials;
use super::message::{Reading, Repeated};
use super::{line, quick, repeats};

impl Reading {
    /// Takes a line that says the same as one before, or is one of libata's reports. Those that are
    /// kept for a capture only if no further ones are.
    pub(super) fn repeats(&mut self, line: &[u8]) -> bool {
        if !self.log.may_repeat() {
            return false;
        }
        let line = line.trim_ascii_end();
        let Some((seconds, start)) = repeats::stamp(line) else { return self.results(line) };
        let message = &line[start..];
        // A bracket may be the stamp of a line that was joined to it.
        let of_libata = self.log.only_counts()
            && (message.first_chunk() == Some(b"ata") || message.first_chunk() == Some(b"res "))
            && memchr(b'[', message).is_none();
        let slot = if of_libata { None } else { self.known.find(message) };
        // It is equal to a text but for digits.
        let Ok(text) = std::str::from_utf8(line) else { return false };
        if !of_libata && slot.is_none() {
            return false;
        }
        self.flush();
        // The line before may have changed that.
        if !self.log.may_repeat() {
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

    /// Does what the line does, which repeats one before; returns false if it must be read.
    pub(super) fn again(&mut self, repeated: &Repeated) -> bool {
        let seconds = repeated.seconds.or_else(|| line::seconds(&self.line));
        self.log.at_s = seconds;
        let message = &self.line[self.start..];
        let Some(slot) = repeated.slot else { return self.log.flood_line(message) };
        self.log.lines += 1;
        self.log.repeat(self.known.effect(slot), &without_serials(message));
        true
    }

    /// Keeps the line, if it was a single one with a stamp, and its effect is known.
    pub(super) fn keep(&mut self) {
        let Some(effect) = self.log.effect.take() else { return };
        let stamp = repeats::stamp(self.line.as_bytes());
        if self.parts == 1 && stamp.is_some_and(|(_, start)| start == self.start) {
            self.known.keep(&self.line[self.start..], effect);
        }
    }

    /// Passes over a line that no rule can concern, as most are, and counts it. The first lines
    /// show what the file is, and are read in any case.
    pub(super) fn skips(&mut self, line: &[u8]) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::super::super::KernelLog;
    use super::*;
    use crate::log::Class;

    #[test]
    fn counting_repeated_lines_changes_nothing() {
        let line = |n: u32| {
            let sector = n.wrapping_mul(2_654_435_761) >> 8;
            let disk = char::from(b"abc"[n as usize % 3]);
            match n % 11 {
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
                6 => format!("sd 0:0:0:0: [sda] tag#{} Sense Key : Medium Error", n % 32),
                7 => format!("usb 2-{}: reset SuperSpeed USB device number {n} using xhci", n % 3),
                8 => format!("scsi host{}: uas_eh_device_reset_handler start", n % 3),
                9 => format!("nvme 0000:0{}:00.0:   device [144d:a808] error status", n % 3),
                _ => format!("usb 1-{}: new high-speed USB device number {n}", n % 4),
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
    fn passing_over_what_is_not_kept_changes_nothing() {
        let line = |n: u32| match n % 5 {
            0 => format!("usb 1-{}: new high-speed USB device number {n} using xhci_hcd", n % 7),
            1 => format!("pci 0000:00:1c.{}: bridge window [mem 0xf7d00000-0xf7dfffff]", n % 3),
            2 => "pci 0000:00:1f.2: reg 0x24: [mem 0xf7d1b000-0xf7d1b7ff]".to_owned(),
            3 => format!("pcieport 0000:00:1c.{}: AER: Corrected error received: id", n % 8),
            _ => format!(
                "sd {}:0:0:0: [sd{}] Mode Sense: 00 3a",
                n % 4,
                char::from(b"abcd"[n as usize % 4])
            ),
        };
        let mut text = String::new();
        for n in 0..3000 {
            text.push_str(&format!("[{:5}.000001] {}\n", n / 9, line(n)));
            if n % 500 == 499 {
                text.push_str("[ 9.000001] scsi host6: uas\n");
                text.push_str("[ 9.000001] pci 0000:00:1f.2: [8086:2829] type 00 class 0x010601\n");
            }
        }
        let mut all = Reading::default();
        text.lines().for_each(|line| all.line(line));
        let (quick, slow) = (KernelLog::parse(&text), all.finish());
        assert!(!quick.is_full() && !quick.hosts.is_empty(), "{:?}", quick.hosts);
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

    /// The log without the number, the time and the beginning of its last line.
    fn read_from(log: KernelLog) -> KernelLog {
        KernelLog { lines: 0, looked: (0, 0), at_s: None, reported: (0, None), begun: None, ..log }
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
}
