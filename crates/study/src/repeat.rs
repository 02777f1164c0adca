//! The command that repeats a study, as a shell takes it.

use std::path::Path;

use drivelab_core::plan::Scale;
use drivelab_core::units::Bytes;

use crate::asked::Asked;
use crate::command::quoted;
use crate::file::StudyFile;

/// The words that repeat a study: `drivelab study NAME` and every option that matters.
///
/// No folder is among it: the one that this study was kept in is not written again, so the
/// results of the next go to another folder.
pub fn words(study: &StudyFile, asked: &Asked, size: Option<Bytes>) -> Vec<String> {
    let mut words = program(asked);
    if asked.commands.is_empty() {
        words.push(asked.study.clone());
    }
    for command in &asked.commands {
        push_option(&mut words, "--command", command.clone());
    }
    if let Some(prepare) = &asked.prepare {
        push_option(&mut words, "--prepare", prepare.clone());
    }
    push_option(&mut words, "--stage", study.stage.to_string());
    push_option(&mut words, "--blocks", study.blocks.to_string());
    if let Some(specimens) = asked.specimens {
        push_option(&mut words, "--specimens", specimens.to_string());
    }
    push_option(&mut words, "--seed", study.seed.to_string());
    if let Some(drive) = &asked.drive {
        push_option(&mut words, "--drive", drive.clone());
    }
    if let Some(target) = &asked.target {
        push_option(&mut words, "--target", target.clone());
    }
    if !asked.only.is_empty() {
        push_option(&mut words, "--only", asked.only.join(","));
    }
    if study.scale == Some(Scale::Full) {
        push_option(&mut words, "--scale", Scale::Full.to_string());
    }
    if let Some(size) = size {
        push_option(&mut words, "--size", size.to_string());
    }
    if asked.overwrite {
        words.push("--overwrite".into());
    }
    if asked.check_determinism {
        words.push("--check-determinism".into());
    }
    words
}

fn push_option(words: &mut Vec<String>, name: &str, value: String) {
    words.extend([name.to_owned(), value]);
}

/// The program for a study of this kind.
fn program(asked: &Asked) -> Vec<String> {
    let Some(ranks) = asked.ranks else { return ["drivelab", "study"].map(String::from).to_vec() };
    ["mpirun", "-n", &ranks.to_string(), "drivelab-mpi", "study"].map(String::from).to_vec()
}

/// The command for the user's own drive, `my-drive.toml`, where all arms have the drive that the
/// command can set.
pub fn of_own_drive(study: &StudyFile, asked: &Asked) -> Option<String> {
    let has_one = study.drive.is_some() && study.arms.iter().all(|arm| arm.drive.is_none());
    has_one.then(|| {
        let mut words = ["drivelab", "study", asked.study.as_str()].map(String::from).to_vec();
        if !asked.only.is_empty() {
            words.extend(["--only".to_owned(), asked.only.join(",")]);
        }
        words.extend(["--drive", "my-drive.toml"].map(String::from));
        command(&words)
    })
}

/// One line of a POSIX shell from its words.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The name of a study's results.
pub fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "study".into())
}
