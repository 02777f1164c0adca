//! Kernels for other machines: compressed with xz, with a checksum in another file.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::trace::sha256;

/// The first bytes of a file of xz.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// A kernel takes 10 MB: more than this is another file.
const PROGRAM_BYTES_MAX: u64 = 256 << 20;

/// The compressed content of a file.
pub(super) fn pack(file: &Path) -> io::Result<Vec<u8>> {
    // In one thread: the same kernel gives the same bytes on any machine.
    xz(&["-9", "-T1", "-c"], file)
}

/// The content of a compressed file; `None` if it is not compressed. If the file has a checksum,
/// that must fit.
pub(super) fn unpacked(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut start = Vec::new();
    File::open(file)?.take(XZ.len() as u64).read_to_end(&mut start)?;
    if start != XZ {
        return Ok(None);
    }
    let sums = checksum_file(file);
    if let Ok(text) = fs::read_to_string(&sums)
        && text.split_whitespace().next() != Some(&sha256(&fs::read(file)?))
    {
        let message = format!("its checksum is not that in `{}`", sums.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    xz(&["-d", "-T1", "-c"], file).map(Some)
}

/// The file with the checksum of another one.
pub(super) fn checksum_file(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".sha256");
    path.into()
}

/// The output of `xz` for a file.
fn xz(options: &[&str], file: &Path) -> io::Result<Vec<u8>> {
    let mut command = Command::new("xz");
    command.args(options).stdin(File::open(file)?).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("`xz`, of the package xz-utils, does not start: {error}"),
        )
    })?;
    let mut output = Vec::new();
    let piped = child.stdout.take().expect("it is piped");
    let read = piped.take(PROGRAM_BYTES_MAX).read_to_end(&mut output);
    let is_too_long = output.len() as u64 == PROGRAM_BYTES_MAX;
    if is_too_long {
        // It waits for a reader.
        let _ = child.kill();
    }
    let ended = child.wait()?;
    read?;
    if is_too_long || !ended.success() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged, or no kernel"));
    }
    Ok(output)
}
