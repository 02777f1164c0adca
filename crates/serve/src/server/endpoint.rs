//! The address of a server: a unix socket, or a port that only this machine can reach.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use drivelab_core::{Invalid, Refusal, invalid};
use drivelab_files::{Folder, Identity};
use rustix::fs::Mode;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, sockopt};

/// `unix:PATH` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A TCP port on a loopback address.
    Tcp(SocketAddr),
}

impl FromStr for Endpoint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("`unix:` needs a path, for example `unix:/tmp/drive.sock`".into()),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let address = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address =
            address.ok_or_else(|| format!("`{text}` is neither `unix:PATH` nor `HOST:PORT`"))?;
        if !address.ip().is_loopback() {
            let reason = "it has no password, so it listens on 127.0.0.1 or a unix socket only";
            return Err(invalid!("`{text}` can be reached from other machines; {reason}"));
        }
        Ok(Self::Tcp(address))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// A bound socket; a unix socket is removed with it.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    endpoint: Endpoint,
    /// The socket file, if the listener created one.
    file: Option<SocketFile>,
}

/// Connections that wait to be accepted, as the standard library has it.
const BACKLOG: i32 = 128;

impl Listener {
    pub(super) fn bind(endpoint: &Endpoint) -> Result<Self, Refusal> {
        let bound = match endpoint {
            Endpoint::Tcp(address) => bind_tcp(*address),
            Endpoint::Unix(path) => bind_unix(path),
        };
        let bound = bound.and_then(|bound| Ok(ioctl_fionbio(&bound.socket, true).map(|()| bound)?));
        bound.map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "another server listens there: end it, or name another endpoint"
                }
                io::ErrorKind::AlreadyExists => {
                    "remove it if it is not needed, or name another path"
                }
                _ => "the folder of the socket must exist and be writable",
            };
            Refusal::machine(format!("cannot listen at {endpoint}")).because(error).hint(hint)
        })
    }

    /// The address, with the assigned port if port 0 was requested.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn accept(&self) -> Result<OwnedFd, Errno> {
        let stream = accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        // Nagle's algorithm would hold back an answer until the client acknowledges the one before.
        if matches!(self.endpoint, Endpoint::Tcp(_)) {
            sockopt::set_tcp_nodelay(&stream, true)?;
        }
        Ok(stream)
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<Listener> {
    let listener = TcpListener::bind(address)?;
    let endpoint = Endpoint::Tcp(listener.local_addr()?);
    Ok(Listener { socket: listener.into(), endpoint, file: None })
}

fn bind_unix(path: &Path) -> io::Result<Listener> {
    if let Ok(found) = path.symlink_metadata() {
        if !found.file_type().is_socket() {
            let what = "it is not a socket";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        let (folder, name) = Folder::holding(path)?;
        let found = folder.identity_of(&name)?;
        // Checked again: another server may have replaced the file since.
        if is_left_behind(path)? && folder.identity_of(&name)? == found {
            folder.remove_file_if(name, found)?;
        }
    }
    // The path is bound without a race: bind(2) fails if a file appeared since.
    let address = SocketAddrUnix::new(path)?;
    let socket = unix_socket()?;
    // Linux gives the file the mode of the socket, so it is never open to other users.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &address)?;
    let file = SocketFile::of(path);
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(Listener { socket, endpoint: Endpoint::Unix(path.to_owned()), file })
}

/// Returns whether no process listens at a socket file any more. Linux reports that with one error
/// only; any other, such as that of a datagram socket or of a full queue, is of a socket in use.
fn is_left_behind(path: &Path) -> io::Result<bool> {
    let connected = rustix::net::connect(unix_socket()?, &SocketAddrUnix::new(path)?);
    Ok(connected == Err(Errno::CONNREFUSED))
}

fn unix_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The file of a socket; its identity shows whether the name still belongs to it.
#[derive(Debug)]
struct SocketFile {
    folder: Folder,
    name: OsString,
    identity: Identity,
}

impl SocketFile {
    fn of(path: &Path) -> Option<Self> {
        let (folder, name) = Folder::holding(path).ok()?;
        let identity = folder.identity_of(&name).ok()?;
        Some(Self { folder, name, identity })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(SocketFile { folder, name, identity }) = &self.file {
            // If another process has already removed it, there is nothing to do.
            let _ = folder.remove_file_if(name, *identity);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn only_this_machine_can_be_listened_to() {
        let check = |text: &str, expected: Option<&str>| {
            let found = text.parse::<Endpoint>().ok().map(|endpoint| endpoint.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("unix:/tmp/a.sock", Some("unix:/tmp/a.sock"));
        check("127.0.0.1:10809", Some("127.0.0.1:10809"));
        check("[::1]:10809", Some("[::1]:10809"));
        check("0.0.0.0:10809", None);
        check("192.0.2.1:10809", None);
        check("unix:", None);
        check("10809", None);
    }

    fn bound(path: &Path) -> Result<Listener, Refusal> {
        Listener::bind(&Endpoint::Unix(path.to_owned()))
    }

    #[test]
    fn only_a_socket_that_refuses_connections_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        drop(bound(&path).unwrap());
        assert!(!path.exists(), "the socket is removed at the end");
        let datagrams = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let inode = path.symlink_metadata().unwrap().ino();
        let refusal = bound(&path).unwrap_err();
        assert!(format!("{refusal:#}").contains("in use"), "a datagram socket is in use");
        assert_eq!(path.symlink_metadata().unwrap().ino(), inode, "and is still there");
        drop(datagrams);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let refusal = bound(&link).unwrap_err();
        assert!(format!("{refusal:#}").contains("not a socket"), "links are not followed");
    }

    #[test]
    fn the_socket_of_another_server_is_not_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let first = bound(&path).unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        let second = bound(&path).unwrap();
        drop(first);
        assert!(path.exists(), "the second server still listens there");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn other_users_cannot_connect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = bound(&path).unwrap();
        // A umask can only clear more bits.
        assert_eq!(path.metadata().unwrap().mode() & 0o077, 0);
    }
}
