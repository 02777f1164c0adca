//! The archive of this user: where it is, and how what is finished gets into it.

pub mod entries;
mod keep;

pub use keep::{Keep, NotKept};

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drivelab_archive::{Archive, Patience, Query, RunId, is_server};
use drivelab_core::{AtPath as _, Refusal};
use drivelab_files::Folder;

use crate::interrupt;

/// The location of an archive: a file or the address of a server; if absent, the user's own.
#[derive(Debug, Clone, Default)]
pub struct Location(pub Option<PathBuf>);

impl Location {
    /// Opens it, and makes it where there is none.
    pub fn open(&self) -> Result<Archive, Refusal> {
        let path = self.path()?;
        let busy = if is_server(&path) { server_patience } else { patience };
        open_at(&path, Patience { busy, absent: patience })
    }

    /// The same where many machines write at the same moment and no person waits.
    pub fn open_patiently(&self) -> Result<Archive, Refusal> {
        open_at(&self.path()?, Patience::same(long_patience))
    }

    /// Opens it to read what is kept: one that was named must be there.
    pub fn open_to_read(&self) -> Result<Archive, Refusal> {
        self.0.as_deref().map_or(Ok(()), must_exist)?;
        let mut archive = self.open()?;
        archive.stop_when(Arc::new(interrupt::requested))?;
        Ok(archive)
    }

    /// The same; `None` where no archive was named and none was made yet, and none is made.
    pub fn open_existing(&self) -> Result<Option<Archive>, Refusal> {
        let location = self.path()?;
        if self.0.is_none() && !is_server(&location) && !location.exists() {
            return Ok(None);
        }
        self.open_to_read().map(Some)
    }

    fn path(&self) -> Result<PathBuf, Refusal> {
        self.0.clone().or_else(default_path).ok_or_else(|| {
            Refusal::machine("this user has no home folder")
                .hint("name the archive: --archive FILE")
        })
    }
}

fn open_at(path: &Path, patience: Patience) -> Result<Archive, Refusal> {
    // A server has no folder to make.
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty() && !is_server(path));
    if let Some(folder) = folder {
        make_folder(folder).at_path("create", folder)?;
    }
    let opened = Archive::open(path, patience);
    let opened = opened.map_err(|error| error.unless_interrupted(interrupt::requested()));
    let mut archive = opened?;
    archive.interrupted_when(interrupt::requested);
    Ok(archive)
}

/// Makes the folder of an archive; one that exists may be behind any link, as the user named it.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    match Folder::open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Folder::make(folder).map(drop),
        opened => opened.map(drop),
    }
}

/// Refuses the name of a file that is not there; a server says so itself.
pub fn must_exist(archive: &Path) -> Result<(), Refusal> {
    if archive.exists() || is_server(archive) {
        return Ok(());
    }
    Err(Refusal::request(format!("`{}` does not exist", archive.display()))
        .hint("check the file name"))
}

/// The kept runs that were typed: `label:NAME`, `@WHEN[,key=value...]`, or the beginning of an id.
pub fn ids(archive: &Archive, typed: &str) -> Result<Vec<RunId>, Refusal> {
    match Query::read(typed, now_ms())? {
        Some(query) => Ok(query.ids(archive, typed)?),
        None => Ok(vec![archive.find(typed)?]),
    }
}

/// Milliseconds since 1970.
pub fn millis(time: SystemTime) -> u64 {
    // A clock that is set before 1970 reads as 1970.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The present.
pub fn now_ms() -> u64 {
    millis(SystemTime::now())
}

/// Waits for another process that writes to the archive, or for a server that is not there.
fn patience(tries: i32) -> bool {
    std::thread::sleep(TRY);
    tries < tries_max(interrupt::requested())
}

/// The wait between two tries of a busy archive.
const TRY: Duration = Duration::from_millis(10);

/// Ten seconds are beyond any commit. After Ctrl-C one second, counted from the beginning, is left
/// for the commit of another, so that the verb ends within the two that are promised.
const fn tries_max(interrupted: bool) -> i32 {
    if interrupted { 100 } else { 1000 }
}

/// Waits about a minute for a server that starts: after a crash it reads its log first, which takes
/// tens of seconds on a busy disk.
fn server_patience(tries: i32) -> bool {
    wait_up_to(SERVER_TRIES, tries)
}

/// Waits up to three minutes, for hundreds of processes that come at the same moment.
fn long_patience(tries: i32) -> bool {
    wait_up_to(LONG_TRIES, tries)
}

/// Waits with growing pauses: many processes that retry every 10 ms do not help a server that is
/// out of connections. A part that depends on the process spreads them.
fn wait_up_to(tries_max: i32, tries: i32) -> bool {
    let own = std::process::id().wrapping_mul(tries.unsigned_abs().wrapping_add(1));
    std::thread::sleep(long_wait(tries, own));
    tries < if interrupt::requested() { 1 } else { tries_max }
}

/// With [`long_wait`] one minute.
const SERVER_TRIES: i32 = 65;

/// With [`long_wait`] three minutes.
const LONG_TRIES: i32 = 150;

/// 10 ms, doubled with each try up to 1.28 s, and up to as much less by `own`.
fn long_wait(tries: i32, own: u32) -> Duration {
    let most = TRY * (1 << tries.clamp(0, 7));
    // Knuth's multiplicative hash: neighbouring process ids give distant parts.
    let part = own.wrapping_mul(2_654_435_761) >> 16;
    most.mul_f64(1.0 - f64::from(part) / f64::from(1 << 17))
}

/// Not an option's default: `--no-archive` excludes the option alone.
fn default_path() -> Option<PathBuf> {
    let named = std::env::var_os("DRIVELAB_ARCHIVE").filter(|path| !path.is_empty());
    if let Some(path) = named {
        return Some(path.into());
    }
    Some(crate::paths::user_folder("XDG_DATA_HOME", ".local/share")?.join("runs.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_wait_for_a_server_wait_ever_longer_and_not_together() {
        let waits = |own| (0..LONG_TRIES).map(move |tries| long_wait(tries, own));
        for own in [1, 2, 40_000] {
            let all: Duration = waits(own).sum();
            assert!((90..200).contains(&all.as_secs()), "{own}: {all:?}");
            let restart: Duration = waits(own).take(SERVER_TRIES.unsigned_abs() as usize).sum();
            assert!((35..85).contains(&restart.as_secs()), "{own}: {restart:?}");
            assert!(waits(own).all(|wait| wait >= TRY / 2 && wait <= TRY * 128));
        }
        let first: std::collections::BTreeSet<Duration> =
            (1000..1100).map(|own| long_wait(7, own)).collect();
        assert!(first.len() > 90, "{}", first.len());
    }

    #[test]
    fn ctrl_c_leaves_a_busy_archive_one_second() {
        assert_eq!(TRY * tries_max(true).unsigned_abs(), Duration::from_secs(1));
        assert_eq!(TRY * tries_max(false).unsigned_abs(), Duration::from_secs(10));
    }
}
