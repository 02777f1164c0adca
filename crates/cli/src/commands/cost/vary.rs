//! `--vary`: the settings under which one command is billed, and the request for each.

use std::str::FromStr;

use drivelab_core::config::Value as _;
use drivelab_core::{Bytes, Invalid, Refusal, invalid};
use drivelab_lab::cost::file_system;
use drivelab_lab::stage::kernel;
use drivelab_study::cost::CostFile;

/// Each combination boots seven guests.
const COMBINATIONS_MAX: usize = 16;

/// A setting and its values, as in `filesystem=ext4|xfs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Varied {
    name: String,
    values: Vec<String>,
}

impl FromStr for Varied {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let example = "such as `filesystem=ext4|xfs`";
        let Some((name, values)) = text.split_once('=') else {
            return Err(invalid!("`{text}` is not NAME=VALUE|VALUE..., {example}"));
        };
        let values: Vec<String> = values.split('|').map(str::to_owned).collect();
        if name.is_empty() || values.len() < 2 {
            return Err(invalid!("`{text}` does not have a name and two values, {example}"));
        }
        if values.iter().enumerate().any(|(index, value)| values[..index].contains(value)) {
            return Err(invalid!("`{text}` has a value twice"));
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

/// One combination of values, and the request under it.
#[derive(Debug)]
pub(super) struct Variant {
    /// The value of each setting, in the order of the settings.
    pub(super) values: Vec<String>,
    /// The request.
    pub(super) file: CostFile,
}

/// The names of settings.
pub(super) fn names(varied: &[Varied]) -> Vec<String> {
    varied.iter().map(|it| it.name.clone()).collect()
}

/// All combinations of the values; the first setting changes last.
pub(super) fn variants(file: &CostFile, varied: &[Varied]) -> Result<Vec<Variant>, Refusal> {
    for (index, setting) in varied.iter().enumerate() {
        if varied[..index].iter().any(|earlier| earlier.name == setting.name) {
            let message = format!("`--vary` names `{}` twice", setting.name);
            return Err(Refusal::request(message).hint("give all its values in one option"));
        }
    }
    let combinations = varied.iter().map(|it| it.values.len()).fold(1, usize::saturating_mul);
    if combinations > COMBINATIONS_MAX {
        let message = format!(
            "{combinations} combinations of settings, but at most {COMBINATIONS_MAX} are billed"
        );
        return Err(Refusal::request(message).hint("vary fewer settings, or fewer values of each"));
    }
    let mut variants = vec![Variant { values: Vec::new(), file: file.clone() }];
    for setting in varied {
        let mut next = Vec::new();
        for variant in &variants {
            for value in &setting.values {
                let mut file = variant.file.clone();
                set(&mut file, &setting.name, value)?;
                let values = variant.values.iter().chain([value]).cloned().collect();
                next.push(Variant { values, file });
            }
        }
        variants = next;
    }
    Ok(variants)
}

/// Gives a setting of the file system, the guest or the command a value.
fn set(file: &mut CostFile, name: &str, value: &str) -> Result<(), Refusal> {
    match name {
        "filesystem" => {
            file.filesystem = file_system(value)?.to_string();
        }
        "mount-options" => {
            file.mount_options = kernel::mount_options(value).map_err(Refusal::request_error)?;
        }
        "size" => file.size = Bytes::read(value).map_err(Refusal::request_error)?,
        "memory" => file.memory = Bytes::read(value).map_err(Refusal::request_error)?,
        _ => {
            let mark = format!("{{{name}}}");
            if !(file.command.contains(&mark) || file.prepare.contains(&mark)) {
                let message = format!(
                    "`{name}` is not `filesystem`, `mount-options`, `size` or `memory`, and neither \
                     the command nor its preparation has `{mark}`"
                );
                return Err(Refusal::request(message)
                    .hint(format!("write `{mark}` where the command has the value")));
            }
            file.command = file.command.replace(&mark, value);
            file.prepare = file.prepare.replace(&mark, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(command: &str) -> CostFile {
        CostFile::new(command.to_owned())
    }

    fn varied(texts: &[&str]) -> Vec<Varied> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn every_combination_is_billed_once() {
        let settings = varied(&["filesystem=ext4|xfs", "journal=wal|delete"]);
        let made = variants(&file("app --journal={journal}"), &settings).unwrap();
        let seen: Vec<(&str, &str)> =
            made.iter().map(|it| (it.file.filesystem.as_str(), it.file.command.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("ext4", "app --journal=wal"),
                ("ext4", "app --journal=delete"),
                ("xfs", "app --journal=wal"),
                ("xfs", "app --journal=delete"),
            ]
        );
        assert_eq!(made[3].values, ["xfs", "delete"]);
        assert_eq!(names(&settings), ["filesystem", "journal"]);
    }

    #[test]
    fn settings_that_change_nothing_are_refused() {
        for (text, expected) in [
            ("filesystem", "NAME=VALUE"),
            ("filesystem=ext4", "two values"),
            ("=a|b", "a name"),
            ("memory=1G|1G", "twice"),
        ] {
            let error = text.parse::<Varied>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let many: Vec<String> = (0..80).map(|index| format!("n{index}=1|2")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (texts, expected) in [
            (&["level=1|2"][..], "`{level}`"),
            (&["size=1G|huge"], "huge"),
            (&["size=1G|2G", "size=3G|4G"], "twice"),
            (&["size=1G|2G|3G|4G|5G", "memory=1G|2G|3G|4G"], "20 combinations"),
            (&many, "combinations"),
        ] {
            let error = variants(&file("true"), &varied(texts)).unwrap_err().to_string();
            assert!(error.contains(expected), "{texts:?}: {error}");
        }
    }
}
