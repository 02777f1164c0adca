//! Mounts: by the system call as root, by `fusermount3` as any other user.

use std::ffi::{CString, OsString};
use std::fs::OpenOptions;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_files::{Folder, Identity};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};

use super::mounts;

/// A mount that is unmounted when it is dropped.
#[derive(Debug)]
pub(super) struct Mount {
    path: PathBuf,
    /// The file to remove afterwards, if the mount created it.
    made: Option<MadeFile>,
    as_root: bool,
}

impl Mount {
    /// Mounts on the file at `path`; returns the FUSE device.
    pub(super) fn new(path: &Path) -> io::Result<(OwnedFd, Self)> {
        let as_root = rustix::process::geteuid().is_root();
        vacate(path, as_root)?;
        let made = if path.exists() { None } else { Some(MadeFile::new(path)?) };
        let path = path.canonicalize()?;
        if !path.is_file() {
            let what =
                format!("{} is not a regular file, which the mount point must be", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let device = if as_root { mount_as_root(&path) } else { mount_by_helper(&path) };
        let mount = Self { path, made, as_root };
        match device {
            Ok(device) => Ok((device, mount)),
            Err(error) => {
                // Nothing is mounted: dropping it would detach the mount of someone else.
                mount.remove_file();
                std::mem::forget(mount);
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn remove_file(&self) {
        if let Some(MadeFile { folder, name, identity }) = &self.made {
            // An empty file left behind is harmless.
            let _ = folder.remove_file_if(name, *identity);
        }
    }
}

/// A file that was created as a mount point.
#[derive(Debug)]
struct MadeFile {
    folder: Folder,
    name: OsString,
    identity: Identity,
}

impl MadeFile {
    fn new(path: &Path) -> io::Result<Self> {
        let (folder, name) = Folder::holding(path)?;
        let identity = Identity::of(folder.create_new(&name)?)?;
        Ok(Self { folder, name, identity })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Detached: processes that have it open keep it until they close it, and get errors.
        let _ = detach(&self.path, self.as_root);
        self.remove_file();
    }
}

fn detach(path: &Path, as_root: bool) -> io::Result<()> {
    if as_root {
        return Ok(unmount(path, UnmountFlags::DETACH)?);
    }
    let status = Command::new("fusermount3").args(["-u", "-z", "-q"]).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("fusermount3 did not unmount it")) }
}

/// Ensures that no drive is mounted on `path`: the mount of a killed server is removed, that of a
/// living one is kept.
fn vacate(path: &Path, as_root: bool) -> io::Result<()> {
    // A dead mount does not answer: check the path that leads to it.
    let name = path.file_name().unwrap_or_default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Not the path itself: resolving a dead mount fails with ENOTCONN.
    let Ok(folder) = folder.unwrap_or(Path::new(".")).canonicalize() else { return Ok(()) };
    let found = std::fs::metadata(path);
    let dead = found.is_err_and(|error| error.kind() == io::ErrorKind::NotConnected);
    let resolved = folder.join(name);
    let ours = mounts::read()?.into_iter().any(|mount| mount.is_drive() && mount.on == resolved);
    match (dead, ours) {
        (true, true) => detach(&resolved, as_root),
        (true, false) => {
            let what = "a stale FUSE mount of another program is there";
            Err(io::Error::new(io::ErrorKind::NotConnected, what))
        }
        (false, true) => {
            let what = "another server uses it";
            Err(io::Error::new(io::ErrorKind::ResourceBusy, what))
        }
        (false, false) => Ok(()),
    }
}

fn mount_as_root(path: &Path) -> io::Result<OwnedFd> {
    let device: OwnedFd = OpenOptions::new().read(true).write(true).open("/dev/fuse")?.into();
    // `user_id` is that of the server; `allow_other` lets all users of the host open the drive.
    let options = format!(
        "fd={},rootmode=100600,user_id=0,group_id=0,allow_other,default_permissions",
        device.as_raw_fd()
    );
    let options = CString::new(options).expect("no zero byte in numbers");
    // The file is data of a disk, never a program or a device.
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    match mount(mounts::SOURCE, path, mounts::FILE_SYSTEM, flags, options.as_c_str()) {
        // The kernel accepts the descriptor of no other device.
        Err(rustix::io::Errno::INVAL) => Err(io::Error::other("/dev/fuse is not the FUSE device")),
        mounted => Ok(mounted.map(|()| device)?),
    }
}

/// `fusermount3` mounts and sends the device back over a socket named in its environment.
fn mount_by_helper(path: &Path) -> io::Result<OwnedFd> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    // Only the helper's end is inherited.
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    let status = Command::new("fusermount3")
        .args(["-o", "fsname=drivelab,subtype=drivelab", "--"])
        .arg(path)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .status()
        .map_err(|error| io::Error::new(error.kind(), format!("fusermount3: {error}")))?;
    // With our copy of its end open, `recvmsg` would wait for ever if the helper sent nothing.
    drop(theirs);
    if !status.success() {
        return Err(io::Error::other("fusermount3 did not mount the file"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    recvmsg(&ours, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let sent = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut devices) => devices.next(),
        _ => None,
    });
    sent.ok_or_else(|| io::Error::other("fusermount3 sent no device"))
}
