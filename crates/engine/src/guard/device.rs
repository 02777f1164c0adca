//! A block device is written only past every check here.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{GuardError, Use};
use super::signature::{self, Extent, Membership};
use super::tree::{self, Device, Number};
use super::users;

/// How often one who has a device open is looked for again before it counts: udev reads a device
/// for some milliseconds whenever somebody who wrote it closes it, as the run before ours did.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Opens the block device at `path`, which is open for reading as `file`, for writing, to nobody
/// else's use while it stays open.
///
/// # Errors
/// Its name is not among `allowed`, somebody uses it, or that cannot be found out.
pub(crate) fn claim(path: &Path, file: &File, allowed: &[PathBuf]) -> Result<File, GuardError> {
    let unknown = |source| GuardError::Unknown { path: path.into(), source };
    if !allowed.iter().any(|name| name == path) {
        let device = numbered(file).and_then(Device::numbered).ok();
        let what = device.and_then(|device| described(path, &device));
        let named = allowed.to_vec();
        return Err(GuardError::BlockDevice { path: path.into(), what, named });
    }
    let device = numbered(file).and_then(Device::numbered).map_err(unknown)?;
    let refuse = |device: &Device, by: Use| GuardError::InUse {
        path: path.into(),
        device: device.node(),
        by,
    };
    let touched = tree::touched(&device);
    if let Some((used, by)) = user(&device, &touched).map_err(unknown)? {
        return Err(refuse(&used, by));
    }
    if let Some((member, kind)) = membership(&device, &touched, file).map_err(unknown)? {
        return Err(refuse(&member, Use::Member { kind }));
    }
    if let Some(device) = touched.iter().find(|device| device.read_only()) {
        return Err(GuardError::ReadOnly { path: path.into(), device: device.node() });
    }
    let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path);
    let claimed = open.map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY) => {
            let numbers: Vec<Number> = touched.iter().map(|device| device.number).collect();
            // We have it open ourselves, once, to look at it.
            let (held, by) = users::opener(&numbers, 1).unzip();
            let held = touched.iter().find(|device| Some(device.number) == held);
            refuse(held.unwrap_or(&device), Use::Exclusive { by })
        }
        _ => unknown(source),
    })?;
    // What was claimed decides, not what lay under the name while we looked.
    if numbered(&claimed).map_err(unknown)? != device.number {
        return Err(unknown(io::Error::other("another device took its place meanwhile")));
    }
    // A virtual machine on a raw disk or a database on a raw device does not claim it.
    if let Some((number, by)) = lasting_opener(&touched) {
        let held = touched.iter().find(|device| device.number == number);
        return Err(refuse(held.unwrap_or(&device), Use::Open { by }));
    }
    Ok(claimed)
}

/// A process other than ours that has one of `devices` open and does not soon close it.
fn lasting_opener(devices: &[Device]) -> Option<(Number, String)> {
    let numbers: Vec<Number> = devices.iter().map(|device| device.number).collect();
    for _ in 0..LOOKS {
        users::opener(&numbers, usize::MAX)?;
        std::thread::sleep(BETWEEN_LOOKS);
    }
    users::opener(&numbers, usize::MAX)
}

/// What the device called `path` is, where the name does not tell.
fn described(path: &Path, device: &Device) -> Option<String> {
    let named = (path != Path::new(&device.node())).then(|| device.node());
    let parts: Vec<String> = named.into_iter().chain(device.stands_for()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The disk that the open `file` is or lies on, and what it really is where it is none.
pub(crate) fn disk_under(path: &Path, file: &File) -> Option<(Number, Option<String>)> {
    let meta = file.metadata().ok()?;
    let is_device = meta.file_type().is_block_device();
    let number = if is_device { meta.rdev() } else { meta.dev() };
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    let by_name = || Device::numbered(users::device_under(path)?).ok();
    let device = Device::numbered(number).ok().or_else(by_name)?;
    let stand_in = device.stand_in();
    let stand_in = stand_in.map(|what| if is_device { what } else { format!("a file on {what}") });
    Some((device.whole().unwrap_or(device).number, stand_in))
}

fn numbered(file: &File) -> io::Result<Number> {
    let number = file.metadata()?.rdev();
    Ok((rustix::fs::major(number), rustix::fs::minor(number)))
}

/// Who uses one of the devices that writing `target` would change.
fn user(target: &Device, touched: &[Device]) -> io::Result<Option<(Device, Use)>> {
    let numbers: Vec<Number> = touched.iter().map(|device| device.number).collect();
    let used = match users::mounted(&numbers)? {
        None => users::swapped(&numbers)?,
        mounted => mounted,
    };
    if let Some((number, by)) = used {
        let device = touched.iter().find(|device| device.number == number);
        return Ok(Some((device.unwrap_or(target).clone(), by)));
    }
    for device in touched {
        if let Some(by) = users::mounted_as_part(device.number)? {
            return Ok(Some((device.clone(), by)));
        }
    }
    let held = touched.iter().find_map(|device| Some((device, device.holders().pop()?)));
    if let Some((device, holder)) = held {
        return Ok(Some((device.clone(), Use::Holder { name: holder.described() })));
    }
    let looped = touched.iter().find_map(|device| {
        Some((device.clone(), Use::Loop { name: tree::loop_on_device(device, touched)?.name }))
    });
    Ok(looped)
}

/// What the device, one of its partitions, or the disk under it is a member of: an array over whole
/// disks has its superblock outside of their partitions.
fn membership(
    device: &Device,
    touched: &[Device],
    file: &File,
) -> io::Result<Option<(Device, Membership)>> {
    let parts = device.partitions();
    for it in touched {
        // A partition is read through its disk, which is open already.
        let part = parts.contains(it).then(|| it.extent()).flatten();
        let found = match part {
            Some((start, length)) => signature::member(file, Extent { start, length })?,
            None if it == device => signature::member(file, whole(file)?)?,
            None => {
                let disk = File::open(it.node())?;
                signature::member(&disk, whole(&disk)?)?
            }
        };
        // What lies within a partition is that partition's, and was looked at there or is no
        // concern of ours.
        let within = |at: u64| it != device && it.partitions().iter().any(|part| part.holds(at));
        if let Some(found) = found.filter(|found| !within(found.at)) {
            return Ok(Some((it.clone(), found)));
        }
    }
    Ok(None)
}

fn whole(mut file: &File) -> io::Result<Extent> {
    Ok(Extent { start: 0, length: file.seek(SeekFrom::End(0))? })
}
