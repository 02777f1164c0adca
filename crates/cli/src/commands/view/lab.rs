//! The page of the laboratory in a browser: the file that the user names, or that of the package.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use drivelab_view::Lab;

/// Bytes of a page, at most: ten times those of today's.
const PAGE_MAX: u64 = 16 << 20;

const HINT: &str =
    "scripts/package-web in the source of drivelab makes the page, and --lab FILE names it";

/// Reads it; absent where no file is named and no package has installed one.
pub(super) fn read(named: Option<&Path>) -> Result<Option<Lab>, Refusal> {
    let Some(path) = named.map(Path::to_owned).or_else(installed) else { return Ok(None) };
    let page = text(&path).map_err(|error| {
        let message = format!("`{}` cannot be read", path.display());
        Refusal::request(message).because(error).hint(HINT)
    })?;
    let lab = Lab::new(page).ok_or_else(|| {
        let message = format!("`{}` is not the page of the laboratory", path.display());
        Refusal::request(message).hint(HINT)
    })?;
    Ok(Some(lab))
}

/// The file of a package, which has the program in PREFIX/bin.
fn installed() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    // The kernel names the file itself: a link to the program leads to its package.
    let page = own.parent()?.parent()?.join("share/drivelab/lab.html");
    page.is_file().then_some(page)
}

fn text(path: &Path) -> io::Result<String> {
    let file = drivelab_files::read_regular(path)?
        .ok_or_else(|| io::Error::other("it is not a regular file"))?;
    // A byte more than the limit shows that there are more.
    let mut text = String::new();
    let read = file.take(PAGE_MAX + 1).read_to_string(&mut text)?;
    debug_assert_eq!(read, text.len(), "all that was read is text");
    if read as u64 > PAGE_MAX {
        return Err(io::Error::other(format!("it has more than {PAGE_MAX} bytes")));
    }
    Ok(text)
}
