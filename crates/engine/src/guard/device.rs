//! A block device is written only after every check here.

use std::fs::{File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::units::Bytes;
use drivelab_core::usage::{BlockDevice, Census, DeviceNumber, Extent, Identity, Opener, Usage};

use super::error::{GuardError, Use};
use super::judge::{self, Wish};
use super::signature::{self, Membership};
use super::tree::{self, Disk};
use crate::sys::loop_device;

/// Checks of a process that has a device open, before it counts: udev reads a
/// device for some milliseconds whenever a writer closes it, as the previous run did.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A target that may be written, and the facts on which this was decided.
#[derive(Debug)]
pub(crate) struct WritableTarget {
    pub(crate) file: File,
    /// The users of all devices immediately before it was opened.
    pub(crate) usage: Usage,
}

/// Opens the block device at `path`, which is open for reading as `file`, for writing, and excludes
/// all other users while it stays open.
pub(crate) fn claim(
    path: &Path,
    file: &File,
    allowed: &[PathBuf],
    census: &dyn Census,
) -> Result<WritableTarget, GuardError> {
    let unknown = |source| GuardError::Unknown { path: path.into(), source };
    let wish = Wish { path, device: numbered(file).map_err(unknown)?, allowed };
    let mut usage = match census.usage() {
        // A device that is not named is refused below in any case, with the message that says so.
        Err(error) if allowed.iter().any(|name| name == path) => return Err(wish.unknown(error)),
        usage => usage.unwrap_or_default(),
    };
    ask_drivers(&mut usage, |_| true);
    let touched = judge::judge(&usage, wish)?;
    if let Some((member, kind)) = membership(&usage, wish, &touched, file).map_err(unknown)? {
        return Err(wish.in_use(member, Use::Member { kind }));
    }
    let numbers: Vec<DeviceNumber> = touched.iter().map(|device| device.number).collect();
    let refuse = |opener: Option<&Opener>, by: Use| {
        let number = opener.map_or(wish.device, |opener| opener.device);
        wish.in_use(usage.device(number).expect("only listed devices were asked for"), by)
    };
    // By its descriptor: the name may refer to another device by now.
    let claimed = drivelab_files::reopen_to_claim(file);
    let claimed = claimed.map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY) => {
            // We have it open once ourselves, to check it.
            let openers = census.openers(&numbers).unwrap_or_default();
            let opener = judge::other_opener(openers, 1);
            let by = opener.as_ref().map(|opener| opener.process.clone());
            refuse(opener.as_ref(), Use::Exclusive { by })
        }
        _ => unknown(source),
    })?;
    // A virtual machine on a raw disk or a database on a raw device does not claim it.
    if let Some(opener) = lasting_opener(census, &numbers).map_err(unknown)? {
        return Err(refuse(Some(&opener), Use::Open { by: opener.process.clone() }));
    }
    Ok(WritableTarget { file: claimed, usage })
}

/// Another process that has one of `devices` open and does not close it soon.
fn lasting_opener(census: &dyn Census, devices: &[DeviceNumber]) -> io::Result<Option<Opener>> {
    let mut opener = judge::other_opener(census.openers(devices)?, usize::MAX);
    for _ in 0..LOOKS {
        if opener.is_none() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        opener = judge::other_opener(census.openers(devices)?, usize::MAX);
    }
    Ok(opener)
}

/// The users of the regular file of `meta`, and of everything else.
pub(crate) fn of_file(meta: &Metadata, census: &dyn Census) -> io::Result<(Option<Use>, Usage)> {
    let file = identity(meta);
    let mut usage = census.usage()?;
    // By path alone first: querying a driver requires opening its device.
    let mut by = judge::judge_file(&usage, file);
    if by.is_none() {
        ask_drivers(&mut usage, |device| judge::must_ask(device, file, Bytes::new(meta.len())));
        by = judge::judge_file(&usage, file);
    }
    Ok((by, usage))
}

/// Queries the drivers of the `wanted` loop devices for their files: the path in sysfs may by now
/// refer to another file, or to none.
fn ask_drivers(usage: &mut Usage, wanted: impl Fn(&BlockDevice) -> bool) {
    for device in usage.devices.iter_mut().filter(|device| wanted(device)) {
        let node = device.node();
        let Some(backing) = &mut device.backing else { continue };
        if let Ok([file_system, inode, stands_for]) =
            File::open(node).and_then(|device| loop_device::behind(&device))
        {
            backing.identity = Some(match stands_for {
                0 => Identity::File { device: split(file_system), inode },
                number => Identity::Device(split(number)),
            });
        }
    }
}

/// The disk that the target at `path` with metadata `meta` is or lies on; from the `usage` on which
/// it was judged, if there was one.
pub(crate) fn disk_under(
    path: &Path,
    meta: &Metadata,
    usage: Option<Usage>,
    census: &dyn Census,
) -> Option<Disk> {
    let is_device = meta.file_type().is_block_device();
    let number = split(if is_device { meta.rdev() } else { meta.dev() });
    let usage = usage.unwrap_or_else(|| census.under(number));
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    tree::disk_under(&usage, number, &path, is_device)
}

pub(super) fn identity(meta: &Metadata) -> Identity {
    Identity::File { device: split(meta.dev()), inode: meta.ino() }
}

fn numbered(file: &File) -> io::Result<DeviceNumber> {
    Ok(split(file.metadata()?.rdev()))
}

fn split(number: u64) -> DeviceNumber {
    DeviceNumber { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
}

/// The volume that the device, one of its partitions, or the disk under it is a member of: an array
/// over whole disks has its superblock outside their partitions.
fn membership<'u>(
    usage: &Usage,
    wish: Wish<'_>,
    touched: &[&'u BlockDevice],
    file: &File,
) -> io::Result<Option<(&'u BlockDevice, Membership)>> {
    for device in touched {
        let part = device.part.filter(|part| part.disk == wish.device);
        // A partition is read through its disk, which is already open.
        let found = match part.and_then(|part| part.extent) {
            Some(extent) => signature::member(file, extent)?,
            None if device.number == wish.device => signature::member(file, whole(file)?)?,
            None => {
                let disk = File::open(device.node())?;
                signature::member(&disk, whole(&disk)?)?
            }
        };
        // A signature within a partition belongs to that partition; it was checked there or does
        // not concern us.
        let found = found.filter(|found| {
            let mut extents = usage.partitions(device.number).filter_map(|part| part.part?.extent);
            device.number == wish.device || !extents.any(|extent| extent.contains(found.at))
        });
        if let Some(found) = found {
            return Ok(Some((device, found)));
        }
    }
    Ok(None)
}

fn whole(mut file: &File) -> io::Result<Extent> {
    // `stat` reports a size of 0 for a block device.
    Ok(Extent { start: 0, length: file.seek(SeekFrom::End(0))? })
}
