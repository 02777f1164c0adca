//! Files of a results folder, read with a limit, and without waiting.
//!
//! A folder may come from anywhere: a name in it may be a pipe without a writer, or a link to an
//! endless device.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use drivelab_core::{Bytes, Refusal};
use rustix::fs::OFlags;

use super::AtPath as _;

/// A study: the largest of ours has 12 KiB.
pub(crate) const STUDY: Bytes = Bytes::mib(1);
/// The plan of a study: 100 bytes a run.
pub(crate) const PLAN: Bytes = Bytes::mib(64);
/// The journal of a study: ten thousand runs.
pub(crate) const JOURNAL: Bytes = Bytes::mib(512);
/// The result of a study, or the rows of a sweep.
pub(crate) const RESULT: Bytes = Bytes::mib(128);

/// Opens a regular file that is not larger than `limit`; `None` where there is none.
pub(crate) fn open(path: &Path, limit: Bytes) -> Result<Option<File>, Refusal> {
    // Opening a pipe would wait for its other end.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.at_path("read", path)?,
    };
    let about = file.metadata().at_path("read", path)?;
    let name = path.display();
    if !about.is_file() {
        return Err(Refusal::request(format!("`{name}` is not a regular file"))
            .hint("remove it, or name another results folder"));
    }
    if about.len() > limit.get() {
        let message = format!("`{name}` is larger than {limit}, the limit for such a file");
        return Err(Refusal::request(message).hint("check the results folder"));
    }
    Ok(Some(file))
}

/// Reads a file; `None` where there is none.
pub(crate) fn bytes(path: &Path, limit: Bytes) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(file) = open(path, limit)? else { return Ok(None) };
    let mut content = Vec::new();
    // It may grow meanwhile.
    file.take(limit.get()).read_to_end(&mut content).at_path("read", path)?;
    Ok(Some(content))
}

/// Reads a text; `None` where there is none.
pub(crate) fn text(path: &Path, limit: Bytes) -> Result<Option<String>, Refusal> {
    let Some(content) = bytes(path, limit)? else { return Ok(None) };
    let text = String::from_utf8(content).map_err(|_| {
        Refusal::request(format!("`{}` is not UTF-8 text", path.display()))
            .hint("check the results folder")
    });
    text.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, mode, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zeros")).unwrap();
        for name in ["pipe", "zeros", "."] {
            let refused = bytes(&at(name), RESULT).unwrap_err();
            assert!(refused.message.contains("is not a regular file"), "{refused:?}");
        }
        assert_eq!(bytes(&at("none"), RESULT).unwrap(), None);
        std::fs::write(at("file"), "12345").unwrap();
        assert_eq!(text(&at("file"), Bytes::new(5)).unwrap().as_deref(), Some("12345"));
        assert!(bytes(&at("file"), Bytes::new(4)).unwrap_err().message.contains("larger than"));
        std::fs::write(at("file"), [0xff]).unwrap();
        assert!(text(&at("file"), RESULT).unwrap_err().message.contains("not UTF-8"));
    }
}
