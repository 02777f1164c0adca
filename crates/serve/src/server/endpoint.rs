//! Where a server listens: a unix socket, or a port that only this machine can reach.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use drivelab_core::Refusal;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{SocketFlags, accept_with, sockopt};

/// `unix:PATH` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A TCP port on a loopback address.
    Tcp(SocketAddr),
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("`unix:` needs a path, for example `unix:/tmp/drive.sock`".to_owned()),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let wanted = || format!("`{text}` is neither `unix:PATH` nor `HOST:PORT`");
        let mut addresses = text.to_socket_addrs().map_err(|_| wanted())?;
        let address = addresses.next().ok_or_else(wanted)?;
        if !address.ip().is_loopback() {
            let reason = "it has no password, so it listens on 127.0.0.1 or a unix socket only";
            return Err(format!("`{text}` can be reached from other machines; {reason}"));
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
}

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

    /// Where it listens, with the assigned port if port 0 was requested.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn accept(&self) -> Result<OwnedFd, Errno> {
        let stream = accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        if matches!(self.endpoint, Endpoint::Tcp(_)) {
            sockopt::set_tcp_nodelay(&stream, true)?;
        }
        Ok(stream)
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<Listener> {
    let listener = TcpListener::bind(address)?;
    let endpoint = Endpoint::Tcp(listener.local_addr()?);
    Ok(Listener { socket: listener.into(), endpoint })
}

fn bind_unix(path: &Path) -> io::Result<Listener> {
    let found = path.metadata();
    let is_socket = found.as_ref().is_ok_and(|meta| meta.file_type().is_socket());
    if found.is_ok() && !is_socket {
        let what = "it is not a socket";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    // A socket that no process answers on was left behind.
    if is_socket && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let socket = UnixListener::bind(path)?.into();
    Ok(Listener { socket, endpoint: Endpoint::Unix(path.to_owned()) })
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Endpoint::Unix(path) = &self.endpoint {
            // If another process has already removed it, there is nothing to do.
            let _ = std::fs::remove_file(path);
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
}
