//! Messages of programs that watch disks, in the same files as the kernel's: smartd, mdadm,
//! multipathd and the event daemon of ZFS; and those of ZFS itself, whose disks have the names of
//! its own configuration.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::messages::Source;
use super::name::{Named, number_of, scsi_name};

/// The programs, as `syslog` names them.
const PROGRAMS: [&str; 4] = ["smartd", "mdadm", "multipathd", "zed"];
/// The words before the name of the program: a date, a host, a facility, and for relayed messages
/// two of each.
const WORDS_BEFORE_MAX: usize = 8;
/// The part of a line in which they are.
const HEAD_BYTES_MAX: usize = 160;
/// The separator of the name of a program and its message.
static COLON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(": "));
/// The beginnings of messages that have names of disks with serial numbers.
const WITH_SERIALS: [&str; 5] = ["smartd", "zed", "zio ", "mdadm", "Device: "];
/// The parts of a message before such a name.
const BEFORE_SERIAL: [&str; 2] = ["/by-id/", "vdev="];

/// Returns whether a name before a message is that of such a program.
pub(in crate::log) fn is_program(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

/// Returns the start of the name of such a program in a line: `smartd[812]: Device: ...` after
/// `Nov  4 06:18:51 host `. Without a date the line must begin with it.
pub(in crate::log) fn start(line: &[u8], is_dated: bool) -> Option<usize> {
    if begins(line) {
        return Some(0);
    }
    if !is_dated {
        return None;
    }
    let head = &line[..line.len().min(HEAD_BYTES_MAX)];
    if is_of_another(head) {
        return None;
    }
    let spaces = memchr::memchr_iter(b' ', head).take(WORDS_BEFORE_MAX);
    let found = spaces.map(|at| at + 1).find(|at| begins(&line[*at..]));
    debug_assert!(found.is_none_or(|at| at < line.len()), "a name follows");
    found
}

/// Returns whether the name before the first colon is that of another program: `sshd[12]: ` or
/// `kernel: `, as in most lines of a journal.
fn is_of_another(head: &[u8]) -> bool {
    let Some(colon) = COLON.find(head) else { return false };
    // The name is the last word before it: dates have colons, and no space after them.
    let before = &head[..colon];
    let name = memchr::memrchr(b' ', before).map_or(before, |at| &before[at + 1..]);
    (name.ends_with(b"]") || name == b"kernel") && !begins(&head[colon - name.len()..])
}

fn begins(text: &[u8]) -> bool {
    // Few words begin with these letters, so most cost one comparison.
    matches!(text.first(), Some(b's' | b'm' | b'z'))
        && PROGRAMS.iter().any(|program| {
            text.strip_prefix(program.as_bytes())
                .is_some_and(|rest| matches!(rest.first(), Some(b'[' | b':' | b' ')))
        })
}

/// The message of a program, with the device that it names.
pub(super) fn monitored(message: &str) -> Option<Named<'_>> {
    // Few messages of the kernel begin with these letters.
    if !message.starts_with(['s', 'm', 'z', 'D', 'W', 'A']) {
        return None;
    }
    let (first, _) = message.split_once([' ', ':'])?;
    match first {
        "Device" => smartd(message),
        "zio" => pool(message.strip_prefix("zio ")?, message),
        "WARNING" => suspended(message),
        "A" => array(message),
        _ => {
            let (program, _) = first.split_once('[').unwrap_or((first, ""));
            let text = after_program(message);
            match program {
                "smartd" => smartd(text),
                "mdadm" => array(text),
                "multipathd" => path(text),
                "zed" => pool(text.split_once("class=").map(|_| text)?, text),
                _ => None,
            }
        }
    }
}

/// The text after `smartd[812]: `, or after `smartd 812 - - ` of RFC 5424.
fn after_program(message: &str) -> &str {
    let plain = message.split_once(": ").filter(|(head, _)| !head.contains(' '));
    let text = plain.or_else(|| message.split_once(" - - ")).map_or(message, |(_, text)| text);
    text.trim_start()
}

/// `Device: /dev/sda [SAT], 8 Currently unreadable (pending) sectors`.
fn smartd(text: &str) -> Option<Named<'_>> {
    let (device, text) = text.strip_prefix("Device: ")?.split_once(", ")?;
    // `/dev/bus/0 [megaraid_disk_03] [SAT]`: the disk behind a RAID controller.
    let behind = device.split(['[', ']']).find(|word| word.contains("_disk"));
    let name = match behind {
        Some(name) => Cow::Borrowed(name),
        None => name_of(device.split(' ').next()?)?,
    };
    Some(Named { source: Source::Smartd, name, text })
}

/// The name of a device by its path: the kernel's, or of a link to it the part without the serial
/// number.
fn name_of(path: &str) -> Option<Cow<'_, str>> {
    let name = path.rsplit_once("/by-id/").map_or(path, |(_, name)| name);
    let name = name.trim_start_matches("/dev/");
    let name = name.split_once("-part").map_or(name, |(name, _)| name);
    let right = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/#+".contains(&b));
    (right && !name.is_empty() && !name.contains("by-")).then_some(Cow::Borrowed(name))
}

/// `Fail event detected on md device /dev/md0, component device /dev/sdb1`, and the mail of it.
fn array(text: &str) -> Option<Named<'_>> {
    let (_, rest) = text.split_once(" md device /dev/")?;
    let name = rest.split([',', ' ']).next()?.trim_end_matches('.');
    (!name.is_empty()).then(|| Named::new(Source::Mdadm, name, text))
}

/// The member in a message about an array.
pub(super) fn component(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("component device /dev/")?;
    let name = rest.split([',', ' ']).next()?.trim_end_matches('.');
    (!name.is_empty()).then_some(name)
}

/// `sdb: mark as failed`, `mpatha: sdb - tur checker reports path is down`, `checker failed path
/// 8:16 in map mpatha`.
fn path(text: &str) -> Option<Named<'_>> {
    let after = text.strip_prefix("checker failed path ").and_then(|rest| rest.split(' ').next());
    let before = text.split_once(" - ").map(|(head, _)| head.rsplit(' ').next().unwrap_or(head));
    let name = after.or(before).or_else(|| text.split_once(": ").map(|(name, _)| name))?;
    let name = match number_of(name) {
        Some(_) => scsi_name(name).map_or(Cow::Borrowed(name), Cow::Owned),
        None => Cow::Borrowed(name),
    };
    (!name.contains(' ')).then_some(Named { source: Source::Multipathd, name, text })
}

/// `class=io pool='tank' vdev=sda1 ...`, `pool=tank vdev=/dev/sda1 error=5 type=1 ...`.
fn pool<'m>(text: &'m str, message: &'m str) -> Option<Named<'m>> {
    let disk = field(text, "vdev=").or_else(|| field(text, "vdev_path=")).and_then(name_of);
    let pool = field(text, "pool=").map(|pool| Cow::Owned(format!("zpool/{pool}")));
    let at = message.find("class=").or_else(|| message.find("error=")).unwrap_or(0);
    Some(Named { source: Source::Zfs, name: disk.or(pool)?, text: &message[at..] })
}

/// The value after a key, with quotation marks or without.
fn field<'m>(text: &'m str, key: &str) -> Option<&'m str> {
    let (_, rest) = text.split_once(key)?;
    let value = match rest.strip_prefix(['\'', '"']) {
        Some(quoted) => quoted.split(['\'', '"']).next(),
        None => rest.split(' ').next(),
    };
    value.filter(|value| !value.is_empty())
}

/// `WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.`
fn suspended(message: &str) -> Option<Named<'_>> {
    let (_, rest) = message.split_once(": Pool '")?;
    let (pool, text) = rest.split_once("' ")?;
    Some(Named { source: Source::Zfs, name: Cow::Owned(format!("zpool/{pool}")), text })
}

/// The message without the serial numbers in names of disks: `/dev/disk/by-id/ata-MODEL` of
/// `/dev/disk/by-id/ata-MODEL_SERIAL`.
pub(in crate::log) fn without_serials(message: &str) -> Cow<'_, str> {
    let may_have = WITH_SERIALS.iter().any(|start| message.starts_with(start))
        && BEFORE_SERIAL.iter().any(|part| message.contains(part));
    if !may_have {
        return Cow::Borrowed(message);
    }
    let words =
        message.split(' ').map(|word| match BEFORE_SERIAL.iter().find_map(|it| word.find(it)) {
            Some(at) => without_serial(word, at),
            None => word.to_owned(),
        });
    Cow::Owned(words.collect::<Vec<_>>().join(" "))
}

/// The word without the serial number in the name that follows `start`.
fn without_serial(word: &str, start: usize) -> String {
    let name = &word[start..];
    let end = name.find("-part").or_else(|| name.find([',', '\'', ')'])).unwrap_or(name.len());
    let identity = &name[..end];
    // Other names have no type before a hyphen: `vdev=sda1`.
    let cut = match identity.rfind('_').filter(|_| identity.contains('-')) {
        Some(at) => at,
        None => identity.find("wwn-").map_or(end, |at| at + "wwn-".len()),
    };
    debug_assert!(cut <= end, "nothing is added");
    format!("{}{}{}", &word[..start], &identity[..cut], &name[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::KernelLog;

    /// The faults of a line, as `name:class`.
    fn faults(line: &str) -> Vec<String> {
        let log = KernelLog::parse(line);
        let faults = log.faults.iter().flat_map(|(name, faults)| {
            faults.by_class.keys().map(move |class| format!("{name}:{class:?}"))
        });
        faults.collect()
    }

    fn check(message: &str, expected: &[&str]) {
        let programs = ["Nov  4 06:18:51 nas ", "2026-11-26T15:50:09.123+01:00 nas ", ""];
        for before in programs {
            assert_eq!(faults(&format!("{before}{message}")), expected, "{before}{message}");
        }
    }

    #[test]
    fn what_smartd_reports_is_of_the_disk() {
        let line = |text: &str| format!("smartd[812]: Device: /dev/sda [SAT], {text}");
        check(&line("8 Currently unreadable (pending) sectors"), &["sda:Medium"]);
        check(&line("3 Offline uncorrectable sectors (changed +2)"), &["sda:Medium"]);
        check(&line("FAILED SMART self-check. BACK UP DATA NOW!"), &["sda:Health"]);
        check(&line("Failed SMART usage Attribute: 5 Reallocated_Sector_Ct."), &["sda:Health"]);
        check(&line("Self-Test Log error count increased from 0 to 1"), &["sda:Health"]);
        check(
            &line("previous self-test completed with error (read test element)"),
            &["sda:Health"],
        );
        check(&line("ATA error count increased from 0 to 5"), &["sda:Command"]);
        let hot = "Temperature 61 Celsius reached critical limit of 60 Celsius (Min/Max 20/61!)";
        check(&line(hot), &["sda:Heat"]);
        for routine in [
            "SMART Usage Attribute: 194 Temperature_Celsius changed from 110 to 111",
            "SMART Prefailure Attribute: 1 Raw_Read_Error_Rate changed from 100 to 99",
            "previous self-test completed without error",
            "No more Currently unreadable (pending) sectors, warning condition reset after 1 email",
            "Temperature 46 Celsius reached limit of 45 Celsius (Min/Max 20/46)",
            "is SMART capable. Adding to \"monitor\" list.",
            "number of Error Log entries increased from 12 to 13",
            "opened",
        ] {
            check(&line(routine), &[]);
        }
        let nvme = "smartd[1]: Device: /dev/nvme0, Critical Warning (0x04): Reliability";
        check(nvme, &["nvme0:Health"]);
        check("smartd: Device: /dev/nvme0, Critical Warning (0x02): Temperature", &["nvme0:Heat"]);
        let behind = "smartd[1]: Device: /dev/bus/0 [megaraid_disk_03], SMART Failure: FAILURE \
                      PREDICTION THRESHOLD EXCEEDED";
        check(behind, &["megaraid_disk_03:Health"]);
        // The mail of it has no stamp.
        let mail = "Device: /dev/sdd, 1 Currently unreadable (pending) sectors";
        assert_eq!(faults(mail), ["sdd:Medium"]);
    }

    #[test]
    fn events_of_arrays_paths_and_pools_belong_to_members() {
        let failed =
            "mdadm[9]: Fail event detected on md device /dev/md0, component device /dev/sdb1";
        check(failed, &["md0:Member", "sdb1:Member"]);
        check("mdadm: DegradedArray event detected on md device /dev/md127", &["md127:Member"]);
        check("mdadm[9]: RebuildFinished event detected on md device /dev/md0", &[]);
        check("mdadm[9]: SpareActive event detected on md device /dev/md0", &[]);
        check("multipathd[3]: sdb: mark as failed", &["sdb:Path"]);
        check("multipathd[3]: 8:16: mark as failed", &["sdb:Path"]);
        check("multipathd: mpatha: sdc - tur checker reports path is down", &["sdc:Path"]);
        check("multipathd: checker failed path 8:32 in map mpatha", &["sdc:Path"]);
        check("multipathd[3]: 8:16: reinstated", &[]);
        check("zed[7]: eid=5 class=io pool='tank' vdev=sda1 size=131072 err=5", &["sda1:Io"]);
        check("zed: eid=6 class=checksum pool='tank' vdev=sdb1", &["sdb1:FileSystem"]);
        let state = "zed[7]: eid=9 class=statechange pool='tank' vdev=sdb1 vdev_state=FAULTED";
        check(state, &["sdb1:Member"]);
        check("zed[7]: eid=9 class=scrub_finish pool='tank'", &[]);
        check("zed[7]: eid=9 class=data pool='tank'", &["zpool/tank:FileSystem"]);
        let zio = "[ 9.100000] zio pool=rpool vdev=/dev/sdb3 error=5 type=1 offset=1 size=8192";
        assert_eq!(faults(zio), ["sdb3:Io"]);
        let lost = "[ 9.100000] WARNING: Pool 'tank' has encountered an uncorrectable I/O failure \
                    and has been suspended.";
        assert_eq!(faults(lost), ["zpool/tank:FileSystem"]);
    }

    #[test]
    fn serial_numbers_are_not_kept() {
        let check = |message: &str, expected: &str| {
            assert_eq!(without_serials(message), expected, "{message}");
        };
        check(
            "smartd[8]: Device: /dev/disk/by-id/ata-WDC_WD40EFRX_WD-WCC4E1 [SAT], 8 Currently",
            "smartd[8]: Device: /dev/disk/by-id/ata-WDC_WD40EFRX [SAT], 8 Currently",
        );
        check(
            "zio pool=t vdev=/dev/disk/by-id/nvme-Samsung_SSD_980_S5GX-part3 error=5",
            "zio pool=t vdev=/dev/disk/by-id/nvme-Samsung_SSD_980-part3 error=5",
        );
        check(
            "zed: class=io vdev=/dev/disk/by-id/wwn-0x5000c500a1",
            "zed: class=io vdev=/dev/disk/by-id/wwn-",
        );
        check(
            "zed: class=io vdev=ata-ST4000_Z30-part1 err=5",
            "zed: class=io vdev=ata-ST4000-part1 err=5",
        );
        check("zed: class=io vdev=sda1 err=5", "zed: class=io vdev=sda1 err=5");
        check("sd 0:0:0:0: /by-id/ata-A_B", "sd 0:0:0:0: /by-id/ata-A_B");
        let log = KernelLog::parse("zed: class=io pool='t' vdev=ata-ST4000_Z30-part1 err=5");
        assert_eq!(log.faults.keys().collect::<Vec<_>>(), ["ata-ST4000"]);
        assert!(!log.to_text().contains("Z30"), "{}", log.to_text());
    }
}
