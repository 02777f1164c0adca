//! The arms of a comparison by what was typed, and their names.

use std::path::{Path, PathBuf};

use drivelab_analysis::comparison::Input;
use drivelab_analysis::run::{minute, quoted};
use drivelab_archive::{Archive, Filter, Query};
use drivelab_core::record::Kept;

use crate::commands::archive::keep::ArchiveArgs;
use drivelab_core::Refusal;
use drivelab_lab::archive::now_ms;
use drivelab_lab::results;

/// One arm and its files.
pub(crate) struct ArmFiles<'a> {
    pub(crate) name: String,
    pub(crate) files: Vec<&'a Path>,
}

/// The arms by what was typed after a verb: one a file, or one on each side of `--`.
pub(crate) fn arms<'a>(
    verb: &str,
    first: &'a [PathBuf],
    others: &'a [PathBuf],
) -> Result<Vec<ArmFiles<'a>>, Refusal> {
    if first.is_empty() {
        return Err(Refusal::request("nothing to compare")
            .hint(format!("give two results: drivelab {verb} before.json after.json")));
    }
    // The parser takes all words behind `--` for files.
    if let Some(option) = others.iter().find(|path| is_option(path)) {
        let message = format!("`{}` follows `--`, where only files can stand", option.display());
        let first = format!("drivelab {verb} [OPTIONS] before/*.json -- after/*.json");
        return Err(Refusal::request(message).hint(format!("put options first: {first}")));
    }
    let groups: Vec<Vec<&Path>> = if others.is_empty() {
        first.iter().map(|path| vec![path.as_path()]).collect()
    } else {
        [first, others].map(|files| files.iter().map(PathBuf::as_path).collect()).into()
    };
    let arms = names(&groups).into_iter().zip(groups);
    Ok(arms.map(|(name, files)| ArmFiles { name, files }).collect())
}

/// The same arms, where kept runs that were named by their ids are called by their labels, their
/// dates or their targets: by the first of these that distinguishes all arms.
pub(crate) fn called_by_content<'a>(
    arms: Vec<ArmFiles<'a>>,
    archive: &ArchiveArgs,
) -> Vec<ArmFiles<'a>> {
    // A file of this name takes precedence over a kept run.
    let is_id = |arm: &ArmFiles| match arm.files[..] {
        [file] if !file.exists() => {
            let query = file.to_str().map(|typed| Query::read(typed, now_ms()));
            matches!(query, Some(Ok(Some(Query::Id(_)))))
        }
        _ => false,
    };
    if !arms.iter().any(is_id) {
        return arms;
    }
    // What is wrong with the archive is said when the runs are read.
    let Ok(Some(archive)) = archive.location().open_existing() else { return arms };
    let kept: Vec<Option<Kept>> = arms
        .iter()
        .map(|arm| is_id(arm).then(|| kept_run(&archive, arm.files[0])).flatten())
        .collect();
    let names: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
    let names = told_apart(&names, &kept);
    arms.into_iter().zip(names).map(|(arm, name)| ArmFiles { name, ..arm }).collect()
}

/// The one kept run that is meant.
fn kept_run(archive: &Archive, typed: &Path) -> Option<Kept> {
    let typed = typed.to_str()?;
    let query = Query::read(typed, now_ms()).ok().flatten()?;
    let ids: Vec<String> =
        query.ids(archive, typed).ok()?.iter().map(ToString::to_string).collect();
    // An ambiguous id is refused when the runs are read.
    let [_] = ids[..] else { return None };
    archive.listed(&Filter::default(), &ids).ok()?.runs.into_iter().next()
}

/// The names of arms, some of which are kept runs: by label, date or target if that distinguishes
/// all of them, else as they are.
pub(crate) fn told_apart(names: &[String], kept: &[Option<Kept>]) -> Vec<String> {
    // `zip` below would drop the arms that have no counterpart.
    debug_assert_eq!(names.len(), kept.len());
    let ways: [fn(&Kept) -> Option<String>; 3] = [
        |kept| kept.label.clone(),
        |kept| Some(minute(kept.time_ms)),
        |kept| Some(kept.target.clone()),
    ];
    for way in ways {
        let called = names.iter().zip(kept).map(|(name, kept)| match kept {
            Some(kept) => way(kept),
            None => Some(name.clone()),
        });
        let called: Option<Vec<String>> = called.collect();
        if let Some(called) = called.filter(|called| are_different(called)) {
            return called;
        }
    }
    names.to_vec()
}

/// True if this is an option and no file has that name.
fn is_option(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("--")) && !path.exists()
}

/// One name an arm, all different: the folder or the file, else the beginning that the names of its
/// files share, else the path; what is equal even so is numbered.
fn names(groups: &[Vec<&Path>]) -> Vec<String> {
    let ways: [fn(&[&Path]) -> String; 3] = [by_folder, by_beginning, by_path];
    for way in ways {
        let names: Vec<String> = groups.iter().map(|files| way(files)).collect();
        if !names.iter().any(String::is_empty) && are_different(&names) {
            return names;
        }
    }
    let names: Vec<String> = groups.iter().map(|files| by_path(files)).collect();
    let numbered = names.iter().enumerate().map(|(index, name)| {
        if names.iter().filter(|other| *other == name).count() == 1 {
            return name.clone();
        }
        let number = names[..=index].iter().filter(|other| *other == name).count();
        format!("{name}-{number}")
    });
    let numbered: Vec<String> = numbered.collect();
    if are_different(&numbered) {
        return numbered;
    }
    // A file may be called as the number of another.
    (1..).zip(&names).map(|(number, name)| format!("{number}: {name}")).collect()
}

fn are_different(names: &[String]) -> bool {
    names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
}

/// The name of the file, or of the folder that all files lie in.
fn by_folder(files: &[&Path]) -> String {
    let folder = files[0].parent().filter(|folder| folder.file_name().is_some());
    match folder {
        Some(folder) if files.len() > 1 && files.iter().all(|it| it.parent() == Some(folder)) => {
            results::name(folder, Path::file_name)
        }
        _ => by_beginning(files),
    }
}

/// The beginning that the names of the files share: `before` of `before1.json` and `before2.json`.
fn by_beginning(files: &[&Path]) -> String {
    let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
    let beginning = shared(&names);
    if beginning.is_empty() { names[0].clone() } else { beginning.to_owned() }
}

/// The name of a folder, or of a file without its ending.
fn name_of(path: &Path) -> String {
    if path.is_dir() { results::name(path, Path::file_name) } else { results::stem(path) }
}

/// The same with the path, which distinguishes `old/run.json` from `new/run.json`.
fn by_path(files: &[&Path]) -> String {
    match files {
        [file] => file.display().to_string(),
        files => {
            let beginning = by_beginning(files);
            let folder = files[0].parent().unwrap_or(Path::new(""));
            folder.join(beginning).display().to_string()
        }
    }
}

/// The common beginning of names, without the number and the sign that follow it.
fn shared(names: &[String]) -> &str {
    let (first, others) = names.split_first().expect("an arm has files");
    if others.is_empty() {
        return first;
    }
    let length = others.iter().map(|other| shared_bytes(first, other)).min().unwrap_or(0);
    // Whole characters were compared, so the slice cannot split one.
    debug_assert!(first.is_char_boundary(length));
    without_number(&first[..length])
}

/// The length in bytes of the beginning that two names share.
fn shared_bytes(first: &str, other: &str) -> usize {
    let same = first.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    same.last().map_or(0, |((at, c), _)| at + c.len_utf8())
}

/// A name without the number of the run at its end: `before` of `before-12`.
fn without_number(name: &str) -> &str {
    let plain = name
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['-', '_', '.', ' ', '#']);
    if plain.is_empty() { name } else { plain }
}

/// A hint where the shell made one arm of each file: runs that belong together have no `--` between
/// their arms.
pub(crate) fn several_files(arms: &[ArmFiles], input: &Input) -> Option<String> {
    // Two files are two arms without doubt.
    let are_single = arms.len() > 2
        && arms.iter().all(|arm| arm.files.len() == 1)
        && input.arms.iter().all(|arm| arm.runs.len() == 1);
    if !are_single {
        return None;
    }
    let mut groups: Vec<(String, Vec<&Path>)> = Vec::new();
    for arm in arms {
        let stem = results::stem(arm.files[0]);
        let name = without_number(&stem);
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, files)) => files.push(arm.files[0]),
            None => groups.push((name.to_owned(), vec![arm.files[0]])),
        }
    }
    // One `--` separates two groups, not more.
    let [(_, first), (_, others)] = &groups[..] else { return None };
    Some(format!(
        "Each of the {} files is an arm with one run. To compare them as two arms with several \
         runs each, put `--` between them: drivelab compare {} -- {}",
        arms.len(),
        words(first),
        words(others)
    ))
}

/// Files as words of a command line.
fn words(files: &[&Path]) -> String {
    let words = files.iter().map(|file| quoted(&file.display().to_string()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(first: &[&str], others: &[&str], expected: &[&str]) {
        let [first, others] =
            [first, others].map(|files| files.iter().map(PathBuf::from).collect::<Vec<_>>());
        let found = arms("compare", &first, &others).unwrap();
        let names: Vec<&str> = found.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn names_of_arms_are_never_equal() {
        check(&["before.json", "after.json"], &[], &["before", "after"]);
        check(
            &["d/before1.json", "d/before2.json"],
            &["d/after1.json", "d/after2.json"],
            &["before", "after"],
        );
        check(
            &["before1.json", "before2.json"],
            &["after1.json", "after2.json"],
            &["before", "after"],
        );
        check(&["old/1.json", "old/2.json"], &["new/1.json", "new/2.json"], &["old", "new"]);
        check(&["old/run.json", "new/run.json"], &[], &["old/run.json", "new/run.json"]);
        check(&["a/x/1.json", "a/x/2.json"], &["b/x/1.json", "b/x/2.json"], &["a/x/1", "b/x/1"]);
        check(&["run.json", "run.json"], &[], &["run.json-1", "run.json-2"]);
        check(&["r-01.json", "r-02.json"], &["s-01.json"], &["r", "s-01"]);
        check(&["label:one", "label:two"], &[], &["one", "two"]);
    }
}
