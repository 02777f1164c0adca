//! Targets of the device mapper, and bcache: the commands that make them.
//!
//! Tables of the device mapper count sectors of 512 bytes. There is no udev in a guest and so no
//! `/dev/mapper`: devices are named by their numbers, which are given in the order they are made.

use drivelab_core::config::{Choice, Value as _};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Invalid, choice_as_text, invalid};

use super::array::chunk_of;
use super::shell::has;

/// The program that makes targets of the device mapper.
const MAKER: &str = "dmsetup";
/// The program that makes a disk one of bcache.
pub(super) const BCACHE_MAKER: &str = "make-bcache";
/// The folder of the first device of bcache.
const BCACHE: &str = "/sys/block/bcache0/bcache";
/// The name of the device for the device mapper.
const NAME: &str = "stack";
/// Default size of a cache on its disk: the map must fit in the memory of a guest.
const CACHE: Bytes = Bytes::gib(1);
/// Default size of the part of a disk with checksums: all of it is written once.
const CHECKED: Bytes = Bytes::mib(256);
/// The least delay: below it Linux looks at the clock without end, and in virtual time that stands
/// still (`delay_ctr` of `dm-delay.c`).
const DELAY_MIN: Span = Span::from_ms(50);
/// The metadata of a cache or of thin volumes, in sectors: 64 MiB.
const METADATA_SECTORS: u64 = 131_072;
/// The key of the encrypted disk, in hexadecimal: any will do, as it protects nothing.
const KEY: &str = "00112233445566778899aabbccddeeff0123456789abcdef0011223344556677\
                   ffeeddccbbaa99887766554433221100fedcba98765432107766554433221100";

/// A way in which Linux makes a device of disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One disk behind the other.
    Linear,
    /// Striped over all disks.
    Striped,
    /// Encrypted.
    Crypt,
    /// Each request is held back for some time.
    Delay,
    /// Each sector has a checksum.
    Integrity,
    /// The second disk caches what is used often of the first.
    Cache,
    /// The second disk takes what is written to the first.
    Writecache,
    /// A volume whose blocks are allocated when they are written; its map is on the second disk.
    Thin,
    /// The second disk caches the first, by bcache and not by the device mapper.
    Bcache,
}

impl Choice for Kind {
    const WHAT: &'static str = "stack";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("dm-linear", Self::Linear),
        ("dm-striped", Self::Striped),
        ("dm-crypt", Self::Crypt),
        ("dm-delay", Self::Delay),
        ("dm-integrity", Self::Integrity),
        ("dm-cache", Self::Cache),
        ("dm-writecache", Self::Writecache),
        ("dm-thin", Self::Thin),
        ("bcache", Self::Bcache),
    ];
}
choice_as_text!(Kind);

impl Kind {
    /// The least and the greatest number of disks.
    fn disks(self) -> (usize, usize) {
        match self {
            Self::Linear | Self::Striped => (2, usize::MAX),
            Self::Crypt | Self::Delay | Self::Integrity => (1, 1),
            Self::Cache | Self::Writecache | Self::Thin | Self::Bcache => (2, 2),
        }
    }

    /// The devices that are made below it, in this order.
    fn helpers(self) -> &'static [&'static str] {
        match self {
            Self::Cache => &["meta", "fast"],
            Self::Writecache => &["fast"],
            Self::Thin => &["meta", "pool"],
            _ => &[],
        }
    }
}

/// The time at which the first disk has what was written to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Later.
    Writeback,
    /// Before the write is answered.
    Writethrough,
}

impl Choice for Mode {
    const WHAT: &'static str = "mode of a cache";
    const NAMES: &'static [(&'static str, Self)] =
        &[("writeback", Self::Writeback), ("writethrough", Self::Writethrough)];
}
choice_as_text!(Mode);

/// A device that is not an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// The way it is made.
    pub kind: Kind,
    /// Data of one stripe on one disk, or of a block of a cache or thin volume.
    chunk: Option<Bytes>,
    /// The part of a disk that it takes, where it does not take all of it.
    size: Option<Bytes>,
    /// The mode of a cache.
    mode: Option<Mode>,
    /// The time for which a request is held back.
    delay: Option<Span>,
}

impl Mapped {
    /// Reads `KIND[,chunk=SIZE][,size=SIZE][,mode=writeback|writethrough][,delay=TIME]`.
    ///
    /// # Errors
    /// There is no such stack.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        let mut parts = text.split(',').map(str::trim);
        let kind = Kind::read(parts.next().unwrap_or_default())?;
        let chunk = match kind {
            Kind::Striped | Kind::Thin => Some(Bytes::kib(64)),
            Kind::Cache => Some(Bytes::kib(256)),
            _ => None,
        };
        let size = match kind {
            Kind::Cache | Kind::Writecache => Some(CACHE),
            Kind::Integrity => Some(CHECKED),
            _ => None,
        };
        let mode = matches!(kind, Kind::Cache | Kind::Bcache).then_some(Mode::Writeback);
        let delay = (kind == Kind::Delay).then_some(DELAY_MIN);
        let mut mapped = Self { kind, chunk, size, mode, delay };
        for part in parts {
            match part.split_once('=') {
                Some(("chunk", chunk)) if mapped.chunk.is_some() => {
                    mapped.chunk = Some(chunk_of(chunk)?);
                }
                Some(("size", size)) if mapped.size.is_some() => {
                    mapped.size = Some(size_of(size)?);
                }
                Some(("mode", mode)) if mapped.mode.is_some() => {
                    mapped.mode = Some(Mode::read(mode)?);
                }
                Some(("delay", delay)) if mapped.delay.is_some() => {
                    mapped.delay = Some(delay_of(delay)?);
                }
                _ => {
                    return Err(invalid!(
                        "`{part}` is not an option of `{kind}`: known are `chunk=64k` of stripes, \
                         `dm-cache` and `dm-thin`, `size=1G` of `dm-cache`, `dm-writecache` and \
                         `dm-integrity`, `mode=writeback` and `mode=writethrough` of `dm-cache` \
                         and `bcache`, and `delay=50ms` of `dm-delay`"
                    ));
                }
            }
        }
        Ok(mapped)
    }

    pub(super) fn check(&self, disks: usize) -> Result<(), Invalid> {
        let (least, most) = self.kind.disks();
        if (least..=most).contains(&disks) {
            return Ok(());
        }
        let needed = match (least, most) {
            (1, 1) => "one disk".to_owned(),
            (least, most) if least == most => format!("{least} disks"),
            _ => format!("at least {least} disks"),
        };
        Err(invalid!("`{self}` needs {needed}, and there are {disks}"))
    }

    pub(super) fn device(&self) -> &'static str {
        // It is made last.
        match (self.kind, self.kind.helpers().len()) {
            (Kind::Bcache, _) => "bcache0",
            (_, 0) => "dm-0",
            (_, 1) => "dm-1",
            _ => "dm-2",
        }
    }

    /// The program that makes it.
    pub(super) fn maker(&self) -> &'static str {
        if self.kind == Kind::Bcache { BCACHE_MAKER } else { MAKER }
    }

    /// The size of the device, where it is less than that of its first disk.
    pub(super) fn size(&self) -> Option<Bytes> {
        self.size.filter(|_| self.kind == Kind::Integrity)
    }

    pub(super) fn commands(&self, disks: &[&str]) -> Vec<String> {
        let mut lines = self.lines(disks, true);
        for line in &mut lines {
            line.push_str(" >&2 || exit");
        }
        match (self.kind, self.mode) {
            // Without its cache it would be "no cache"; nothing is written yet.
            (Kind::Bcache, Some(mode)) => {
                lines.push(has(&format!("{BCACHE}/state"), "clean"));
                lines.push(format!("grep -q '\\[{mode}\\]' {BCACHE}/cache_mode || exit"));
            }
            _ => lines.push(has(&format!("/sys/block/{}/dm/name", self.device()), NAME)),
        }
        lines
    }

    pub(super) fn again(&self, disks: &[&str]) -> String {
        format!("{{ {}; }} >&2", self.lines(disks, false).join(" && "))
    }

    /// The commands that make it of `disks`, which are new or hold it already.
    fn lines(&self, disks: &[&str], is_new: bool) -> Vec<String> {
        debug_assert!(self.check(disks.len()).is_ok(), "checked before");
        let chunk = sectors(self.chunk.unwrap_or(Bytes::kib(4)));
        let size = sectors(self.size.unwrap_or(Bytes::kib(4)));
        let first = disks[0];
        let second = disks.get(1).copied().unwrap_or_default();
        let all = format!("$(cat /sys/block/{first}/size)");
        match self.kind {
            Kind::Linear => {
                let disks = disks.join(" ");
                vec![format!(
                    "n=0; for disk in {disks}; do s=$(cat /sys/block/$disk/size); echo \"$n $s \
                     linear /dev/$disk 0\"; n=$((n + s)); done | dmsetup create --noudevsync {NAME}"
                )]
            }
            Kind::Striped => striped(disks, chunk),
            Kind::Crypt => {
                vec![create(NAME, &format!("0 {all} crypt aes-xts-plain64 {KEY} 0 /dev/{first} 0"))]
            }
            Kind::Delay => {
                let delay_ms = self.delay.unwrap_or(DELAY_MIN).ns() / 1_000_000;
                vec![create(NAME, &format!("0 {all} delay /dev/{first} 0 {delay_ms}"))]
            }
            Kind::Integrity => integrity(first, size, is_new),
            Kind::Cache => {
                let mode = self.mode.unwrap_or(Mode::Writeback);
                let of = format!("/dev/dm-0 /dev/dm-1 /dev/{first} {chunk} 1 {mode} smq 0");
                vec![
                    part("meta", second, (0, METADATA_SECTORS)),
                    part("fast", second, (METADATA_SECTORS, size)),
                    create(NAME, &format!("0 {all} cache {of}")),
                ]
            }
            Kind::Writecache => vec![
                part("fast", second, (0, size)),
                create(NAME, &format!("0 {all} writecache s /dev/{first} /dev/dm-0 4096 0")),
            ],
            Kind::Thin => {
                let mut lines = vec![
                    part("meta", second, (0, METADATA_SECTORS)),
                    create("pool", &format!("0 {all} thin-pool /dev/dm-0 /dev/{first} {chunk} 0")),
                ];
                if is_new {
                    lines.push("dmsetup message pool 0 'create_thin 0'".to_owned());
                }
                lines.push(create(NAME, &format!("0 {all} thin /dev/dm-1 0")));
                lines
            }
            Kind::Bcache => {
                // A writethrough cache is the default of its program.
                let mode = self.mode.filter(|mode| *mode == Mode::Writeback);
                let mode = mode.map_or_else(String::new, |mode| format!("--{mode} "));
                let make = format!("{BCACHE_MAKER} {mode}-B /dev/{first} -C /dev/{second}");
                let register = format!(
                    "for disk in {second} {first}; do echo /dev/$disk > /sys/fs/bcache/register; \
                     done"
                );
                is_new.then_some(make).into_iter().chain([register]).collect()
            }
        }
    }

    /// The line of a shell that takes it apart.
    pub(super) fn end(&self) -> String {
        if self.kind == Kind::Bcache {
            // It ends behind the back of who asks, after what is left to write.
            return format!(
                "{{ echo 1 > {BCACHE}/stop; for set in /sys/fs/bcache/*-*; do echo 1 > $set/stop; \
                 done; while [ -e {BCACHE} ]; do sleep 0.01; done; }} >&2"
            );
        }
        let mut names = vec![NAME];
        names.extend(self.kind.helpers().iter().rev());
        format!("dmsetup remove --noudevsync {} >&2", names.join(" "))
    }
}

/// Makes a device of the device mapper.
fn create(name: &str, table: &str) -> String {
    format!("dmsetup create --noudevsync {name} --table \"{table}\"")
}

/// Makes a part of a disk a device.
fn part(name: &str, disk: &str, (start, length): (u64, u64)) -> String {
    create(name, &format!("0 {length} linear /dev/{disk} {start}"))
}

/// Stripes over all disks: as much of each as the smallest has, in whole stripes.
fn striped(disks: &[&str], chunk: u64) -> Vec<String> {
    let (count, sizes) = (disks.len(), disks.join("/size /sys/block/"));
    let parts: Vec<String> = disks.iter().map(|disk| format!("/dev/{disk} 0")).collect();
    let length = format!("$((least / {chunk} * {chunk} * {count}))");
    vec![
        format!("least=$(sort -n /sys/block/{sizes}/size | head -n 1)"),
        create(NAME, &format!("0 {length} striped {count} {chunk} {}", parts.join(" "))),
    ]
}

/// A disk with checksums: the target formats an empty disk when it first sees it.
fn integrity(disk: &str, size: u64, is_new: bool) -> Vec<String> {
    let of = format!("integrity /dev/{disk} 0 - J 1 internal_hash:crc32c");
    let whole = create(NAME, &format!("0 {size} {of}"));
    if !is_new {
        return vec![whole];
    }
    vec![
        create(NAME, &format!("0 8 {of}")),
        format!("dmsetup remove --noudevsync {NAME}"),
        whole,
        // What has never been written has no checksum, and cannot be read.
        format!("dd if=/dev/zero of=/dev/dm-0 bs=64k count={} conv=fsync", size / 128),
    ]
}

impl std::fmt::Display for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(chunk) = self.chunk {
            write!(f, ",chunk={chunk}")?;
        }
        if let Some(size) = self.size {
            write!(f, ",size={size}")?;
        }
        if let Some(mode) = self.mode {
            write!(f, ",mode={mode}")?;
        }
        if let Some(delay) = self.delay {
            write!(f, ",delay={delay}")?;
        }
        Ok(())
    }
}

fn sectors(size: Bytes) -> u64 {
    debug_assert!(size.get().is_multiple_of(512), "sizes are whole pages");
    size.get() >> 9
}

/// The part of a disk, in whole MiB.
fn size_of(text: &str) -> Result<Bytes, Invalid> {
    let size = Bytes::read(text)?;
    let is_possible = size >= Bytes::mib(16) && size <= Bytes::gib(64);
    if !is_possible || !size.get().is_multiple_of(1 << 20) {
        return Err(invalid!("`{text}` is not whole MiB from 16M to 64G, a part of a disk"));
    }
    Ok(size)
}

/// Whole milliseconds, as the target has them.
fn delay_of(text: &str) -> Result<Span, Invalid> {
    let delay = Span::read(text)?;
    let is_possible = delay >= DELAY_MIN && delay <= Span::from_ms(10_000);
    if !is_possible || !delay.ns().is_multiple_of(1_000_000) {
        return Err(invalid!(
            "`{text}` is not whole milliseconds from 50ms to 10s, a delay of Linux"
        ));
    }
    Ok(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (Mapped::read(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
            (Err(found), Err(part)) => assert!(found.0.contains(part), "{found}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn stacks_are_read_and_printed_as_they_are_made() {
        check("dm-linear", Ok("dm-linear"));
        check("dm-striped, chunk=128k", Ok("dm-striped,chunk=128k"));
        check("dm-cache", Ok("dm-cache,chunk=256k,size=1G,mode=writeback"));
        check("dm-writecache,size=64M", Ok("dm-writecache,size=64M"));
        check("dm-delay,delay=60ms", Ok("dm-delay,delay=60ms"));
        check("bcache", Ok("bcache,mode=writeback"));
        check("bcache,size=1G", Err("not an option of `bcache`"));
        check("dm-linear,chunk=64k", Err("not an option of `dm-linear`"));
        check("dm-writecache,mode=writeback", Err("not an option of `dm-writecache`"));
        check("dm-delay,delay=20ms", Err("whole milliseconds"));
        check("dm-cache,size=1M", Err("whole MiB"));
        check("dm-crypto", Err("dm-crypto"));
    }

    #[test]
    fn a_stack_needs_its_disks() {
        let is_refused = |text: &str, disks: usize, part: &str| {
            let wrong = Mapped::read(text).unwrap().check(disks).unwrap_err();
            assert!(wrong.0.contains(part), "{wrong}");
        };
        is_refused("dm-linear", 1, "at least 2 disks");
        is_refused("dm-crypt", 2, "needs one disk, and there are 2");
        is_refused("dm-cache", 3, "needs 2 disks, and there are 3");
        Mapped::read("dm-striped").unwrap().check(8).unwrap();
    }

    #[test]
    fn devices_below_are_made_first_and_removed_last() {
        let cache = Mapped::read("dm-cache,size=64M").unwrap();
        let lines = cache.commands(&["sda", "sdb"]);
        assert_eq!(lines.len(), 4);
        let part = "dmsetup create --noudevsync fast --table \"0 131072 linear /dev/sdb 131072\" \
                    >&2 || exit";
        assert_eq!(lines[1], part);
        assert!(lines[2].contains("/dev/sda 512 1 writeback smq 0"), "{}", lines[2]);
        assert!(lines[3].contains("/sys/block/dm-2/dm/name"), "{}", lines[3]);
        assert_eq!(cache.end(), "dmsetup remove --noudevsync stack fast meta >&2");
    }

    #[test]
    fn bcache_is_made_once_and_registered_each_time() {
        let through = Mapped::read("bcache,mode=writethrough").unwrap();
        let disks = ["sda", "sdb"];
        assert_eq!(through.device(), "bcache0");
        let lines = through.commands(&disks);
        assert_eq!(lines[0], "make-bcache -B /dev/sda -C /dev/sdb >&2 || exit");
        assert!(lines[1].starts_with("for disk in sdb sda; do echo /dev/$disk > "), "{lines:?}");
        assert!(lines[3].contains("'\\[writethrough\\]'"), "{}", lines[3]);
        let back = Mapped::read("bcache").unwrap();
        assert!(back.commands(&disks)[0].starts_with("make-bcache --writeback -B "));
        assert!(!back.again(&disks).contains("make-bcache"));
    }

    #[test]
    fn what_a_disk_holds_is_not_made_again() {
        let thin = Mapped::read("dm-thin").unwrap();
        let disks = ["sda", "sdb"];
        assert!(thin.commands(&disks).iter().any(|line| line.contains("create_thin")));
        assert!(!thin.again(&disks).contains("create_thin"));
        let checked = Mapped::read("dm-integrity,size=64M").unwrap();
        assert!(checked.commands(&["sda"])[3].contains("count=1024 conv=fsync"));
        assert!(!checked.again(&["sda"]).contains("dd "));
    }
}
