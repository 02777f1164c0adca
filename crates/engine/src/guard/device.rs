//! A block device is written only past every check here.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::error::{GuardError, Use};
use super::signature::{self, Extent};
use super::tree::{self, Device, Number};
use super::users;

/// Opens the block device at `path`, which is open for reading as `file`, for writing, to nobody
/// else's use while it stays open.
///
/// # Errors
/// Its name is not among `allowed`, somebody uses it, or that cannot be found out.
pub(crate) fn claim(path: &Path, file: &File, allowed: &[PathBuf]) -> Result<File, GuardError> {
    if !allowed.iter().any(|name| name == path) {
        return Err(GuardError::BlockDevice { path: path.into() });
    }
    let unknown = |source| GuardError::Unknown { path: path.into(), source };
    let device = numbered(file).and_then(Device::numbered).map_err(unknown)?;
    let refuse = |device: &Device, by: Use| {
        let device = format!("/dev/{}", device.name.replace('!', "/"));
        GuardError::InUse { path: path.into(), device, by }
    };
    let touched = tree::touched(&device);
    if let Some((used, by)) = user(&device, &touched).map_err(unknown)? {
        return Err(refuse(&used, by));
    }
    if let Some((member, kind)) = membership(&device, file).map_err(unknown)? {
        return Err(refuse(&member, Use::Member { kind }));
    }
    let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path);
    let claimed = open.map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY) => refuse(&device, Use::Exclusive { by: users::opener(device.number) }),
        _ => unknown(source),
    })?;
    // What was claimed decides, not what lay under the name while we looked.
    if numbered(&claimed).map_err(unknown)? != device.number {
        return Err(unknown(io::Error::other("another device took its place meanwhile")));
    }
    Ok(claimed)
}

/// What a device that is no disk of its own is, for people; `None` for a disk.
pub(crate) fn kind(file: &File) -> Option<String> {
    let device = Device::numbered(numbered(file).ok()?).ok()?;
    if let Some(backing) = device.backing() {
        return Some(format!("a loop device on {}", backing.display()));
    }
    device.name.starts_with("zram").then(|| "compressed memory (zram)".into())
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
    let held = touched.iter().find_map(|device| Some((device, device.holders().pop()?)));
    if let Some((device, holder)) = held {
        return Ok(Some((device.clone(), Use::Holder { name: holder.described() })));
    }
    Ok(looped(touched))
}

/// A loop device on one of `touched`, or on the same file as one of them.
fn looped(touched: &[Device]) -> Option<(Device, Use)> {
    let loops = tree::loops().into_iter();
    let others = loops.filter(|(device, _)| !touched.contains(device));
    for (other, backing) in others {
        let number = tree::number_of(&backing);
        let on_it = touched.iter().find(|device| {
            Some(device.number) == number
                || device.backing().is_some_and(|own| tree::same(&own, &backing))
        });
        if let Some(device) = on_it {
            return Some((device.clone(), Use::Loop { name: other.name }));
        }
    }
    None
}

/// What the device or one of its partitions is a member of.
fn membership(device: &Device, file: &File) -> io::Result<Option<(Device, &'static str)>> {
    use std::io::{Seek as _, SeekFrom};
    let mut end = file;
    let length = end.seek(SeekFrom::End(0))?;
    let parts = device.partitions().into_iter();
    let extents = parts.filter_map(|part| part.extent().map(|extent| (part, extent)));
    let all = std::iter::once((device.clone(), (0, length))).chain(extents);
    for (part, (start, size)) in all {
        if let Some(kind) = signature::member(file, Extent { start, length: size })? {
            return Ok(Some((part, kind)));
        }
    }
    Ok(None)
}
