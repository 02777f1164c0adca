//! Calls that create, replace or remove a file by its path are made in `crates/files` alone.
//!
//! A path that is resolved by such a call may lead elsewhere than when it was looked at.

use std::collections::BTreeSet;
use std::path::Path;

use super::tidy::{check, files, read, root};

/// Modules with functions that take a path, and those of them that change what it leads to.
const MODULES: [(&str, &[&str]); 4] = [
    ("std::fs", STANDARD),
    ("tokio::fs", STANDARD),
    ("std::os::unix::fs", &["chown", "lchown", "symlink"]),
    ("rustix::fs", &["chmod", "chown", "link", "mkdir", "rename", "rmdir", "symlink", "unlink"]),
];
const STANDARD: &[&str] = &[
    "copy",
    "create_dir",
    "create_dir_all",
    "hard_link",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "rename",
    "set_permissions",
    "soft_link",
    "write",
    "DirBuilder",
    "File::create",
    "File::create_new",
];
/// What is forbidden however it was imported.
const CALLS: [&str; 4] = [".create(true)", ".create_new(true)", ".truncate(true)", "at(CWD"];

/// An imported path, and the name that stands for it.
type Import = (String, String);

/// The imports of `a::{b as c, d::{self, e}}`, below `prefix`.
fn imports(tree: &str, prefix: &str, found: &mut Vec<Import>) {
    let tree = tree.trim();
    let Some((head, inner)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = format!("{prefix}{path}");
        let path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
        let last = path.rsplit("::").next().unwrap_or_default();
        let name = if alias.is_empty() { last } else { alias.trim() }.to_owned();
        return found.extend((!tree.is_empty()).then_some((path, name)));
    };
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in inner.char_indices() {
        match sign {
            ',' | '}' if depth == 0 => {
                imports(&inner[start..at], &format!("{prefix}{}", head.trim()), found);
                start = at + 1;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The code without comments and without the module of its tests.
fn shipped(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every `use` of a file, wherever it stands.
fn uses(code: &str) -> Vec<Import> {
    let mut found = vec![("std".into(), "std".into()), ("rustix".into(), "rustix".into())];
    found.push(("tokio".into(), "tokio".into()));
    for (at, _) in code.match_indices("use ") {
        let begins = code[..at].chars().next_back().is_none_or(char::is_whitespace);
        if let Some(end) = code[at..].find(';').filter(|_| begins) {
            imports(&code[at + 4..at + end].replace('\n', " "), "", &mut found);
        }
    }
    found
}

/// The names by which a file can change something by its path.
fn forbidden(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let banned = MODULES.iter().flat_map(|(module, functions)| {
        functions.iter().map(move |function| format!("{module}::{function}"))
    });
    let banned: Vec<String> = banned.collect();
    for (path, name) in uses(code) {
        for banned in &banned {
            if *banned == path {
                names.insert(name.clone());
            } else if let Some(rest) = banned.strip_prefix(&format!("{path}::")) {
                names.insert(format!("{name}::{rest}"));
            }
        }
        // What a star brings cannot be followed.
        if MODULES.iter().any(|(module, _)| format!("{module}::*") == path) {
            names.insert("::*".into());
        }
    }
    names
}

/// The lines of a source that change something by its path.
fn offending(text: &str) -> Vec<(usize, String)> {
    let code = shipped(text);
    let names = forbidden(&code);
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let holds = |line: &str, name: &str| {
        line.match_indices(name).any(|(at, _)| {
            let ends = line[at + name.len()..].chars().next().is_none_or(|sign| !is_part(sign));
            let begins = line[..at].chars().next_back().is_none_or(|sign| !is_part(sign));
            // A method of that name is another function.
            ends && (begins && !line[..at].ends_with('.') || name == "::*")
        })
    };
    let is_wrong = |line: &str| {
        CALLS.iter().any(|call| line.contains(call)) || names.iter().any(|name| holds(line, name))
    };
    let lines = (1..).zip(code.lines());
    lines.filter(|(_, line)| is_wrong(line)).map(|(at, line)| (at, line.trim().into())).collect()
}

#[test]
fn only_the_crate_of_files_removes_renames_and_replaces_by_path() {
    let mut offenders = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        let is_in = |folder: &str| path.components().any(|part| part.as_os_str() == folder);
        let is_support = path.ends_with("tests.rs") || path.ends_with("testing.rs");
        let is_ours = path.starts_with(root().join("crates/files"));
        if !is_in("src") || is_in("tests") || is_support || is_ours {
            continue;
        }
        let found = offending(&read(&path));
        offenders.extend(found.iter().map(|(at, line)| format!("{}:{at}: {line}", path.display())));
    }
    check("use drivelab-files: `Folder`, `Target`, `replace`, `remove_file`", &offenders);
    assert!(!files(Path::new(&root().join("crates/files")), &[".rs"]).is_empty());
}

#[test]
fn a_call_by_path_is_found_however_its_name_was_imported() {
    let found = [
        "use std::fs;\nfs::remove_file(a);",
        "use std::fs::remove_file;\nremove_file(a)?;",
        "use std::fs::{self, remove_file as gone};\nall.map(gone)",
        "use std::fs as disk;\ndisk::write(a, b);",
        "use std::{fs::{self as disk}, io};\ndisk::create_dir_all(a);",
        "use std as base;\nbase::fs::rename(a, b);",
        "std::fs::hard_link(a, b)",
        "use std::fs::File as Handle;\nHandle::create(a)",
        "use std::fs::DirBuilder;\nDirBuilder::new()",
        "use std::fs::*;",
        "fn a() {\n    use std::fs::copy;\n    copy(a, b);\n}",
        "use rustix::fs::{CWD, unlinkat};\nunlinkat(CWD, a, b)",
        "use std::os::unix::fs::symlink;\nsymlink(a, b)",
        "#[cfg(test)]\nmod testing;\nstd::fs::write(a, b);",
        "options.create(true).open(a)",
    ];
    for text in found {
        assert!(!offending(text).is_empty(), "{text}");
    }
    let accepted = [
        "use std::fs;\nfs::read(a); // not fs::write(a)",
        "folder.rename(a, b); file.write(b); folder.remove_file(a)",
        "use std::io::{Write as _};\nfile.write(a)",
        "use drivelab_files::remove_file;\nremove_file(a)",
        "use std::fs::File;\nFile::open(a); MyFile::create(a)",
        "#[cfg(test)]\nmod tests {\n    std::fs::write(a, b);\n}",
    ];
    for text in accepted {
        assert_eq!(offending(text), [], "{text}");
    }
}
