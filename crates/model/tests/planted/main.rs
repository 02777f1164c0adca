//! The patches here plant bugs in the model; each still applies to the code as it stands.
#![expect(clippy::disallowed_methods, reason = "the patches and the sources are read from disk")]

use std::fs;
use std::path::Path;

/// What one hunk finds in its file: the lines that it keeps or takes away.
fn hunks(patch: &str) -> Vec<(String, String)> {
    let (mut found, mut file) = (Vec::new(), String::new());
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("--- a/") {
            path.clone_into(&mut file);
        } else if line.starts_with("@@ ") {
            found.push((file.clone(), String::new()));
        } else if let (Some((_, old)), Some(line)) =
            (found.last_mut(), line.strip_prefix([' ', '-']).filter(|_| !line.starts_with("---")))
        {
            *old += line;
            old.push('\n');
        }
    }
    found
}

#[test]
fn every_patch_applies_and_says_what_is_wrong() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.ancestors().nth(2).unwrap();
    let mut patches = 0;
    for path in fs::read_dir(manifest.join("tests/planted")).unwrap().map(|it| it.unwrap().path()) {
        if path.extension().is_none_or(|ending| ending != "patch") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let patch = fs::read_to_string(&path).unwrap();
        assert!(patch.starts_with("# ") && patch.contains('+'), "{name}: a comment, then a patch");
        let hunks = hunks(&patch);
        assert!(!hunks.is_empty(), "{name} changes nothing");
        for (file, old) in hunks {
            assert!(file.starts_with("crates/model/src/"), "{name} changes {file}");
            let text = fs::read_to_string(root.join(&file)).unwrap();
            assert_eq!(text.matches(&old).count(), 1, "{name} is stale: {file} lacks\n{old}");
        }
        patches += 1;
    }
    assert!(patches >= 52, "{patches} patches: some are lost");
}
