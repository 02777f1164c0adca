//! Where a server listens: a unix socket, or a port that only this machine reaches.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;

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

/// A bound socket; a unix one is removed with it.
#[derive(Debug)]
pub(super) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    pub(super) fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let listener = match endpoint {
            Endpoint::Tcp(address) => Self::Tcp(TcpListener::bind(address)?),
            Endpoint::Unix(path) => {
                let found = path.metadata();
                let is_socket = found.as_ref().is_ok_and(|meta| meta.file_type().is_socket());
                if found.is_ok() && !is_socket {
                    let what = "it is not a socket";
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
                }
                // A socket that nobody answers on was left behind.
                if is_socket && UnixStream::connect(path).is_err() {
                    std::fs::remove_file(path)?;
                }
                Self::Unix(UnixListener::bind(path)?, path.clone())
            }
        };
        match &listener {
            Self::Unix(listener, _) => listener.set_nonblocking(true)?,
            Self::Tcp(listener) => listener.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// Where it listens: the port that was given out where 0 was asked for.
    pub(super) fn endpoint(&self) -> io::Result<Endpoint> {
        match self {
            Self::Unix(_, path) => Ok(Endpoint::Unix(path.clone())),
            Self::Tcp(listener) => listener.local_addr().map(Endpoint::Tcp),
        }
    }

    pub(super) fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Self::Unix(listener, _) => Stream::Unix(listener.accept()?.0),
            Self::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
        };
        match &stream {
            Stream::Unix(stream) => stream.set_nonblocking(true)?,
            Stream::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
            }
        }
        Ok(stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Whoever removed it already has done what we want.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
