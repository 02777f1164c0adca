//! The rules of STYLE.md that a machine can check.
//!
//! Every rule reports all its offenders at once, as `path:line: what`, so that one run shows what
//! there is to do.

use std::fs;
use std::path::{Path, PathBuf};

/// Which crates of ours each crate may use; `dev` marks what only its tests may use.
const EDGES: &[(&str, &[&str], &[&str])] = &[
    ("core", &[], &[]),
    ("stats", &[], &[]),
    ("model", &["core"], &[]),
    ("disksim", &["core", "model"], &[]),
    ("engine", &["core"], &["model"]),
    ("serve", &["core"], &["model"]),
    ("host", &["core"], &[]),
    ("study", &["core"], &[]),
    ("formats", &["core"], &[]),
    ("report", &["core", "stats"], &[]),
    (
        "cli",
        &[
            "core", "stats", "model", "disksim", "engine", "serve", "host", "study", "formats",
            "report",
        ],
        &[],
    ),
];

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/").to_owned()
}

/// Every file below `folder` with one of the endings, without what is built or vendored.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            let skip = ["target", "vendor", "corpus", "artifacts", "node_modules"];
            if entry.is_dir() && !name.starts_with('.') && !skip.contains(&name.as_str()) {
                folders.push(entry);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

/// `path:line: what` for each line of each file that `wrong` objects to.
fn offending_lines(files: &[PathBuf], wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut offenders = Vec::new();
    for path in files {
        for (number, line) in (1..).zip(read(path).lines()) {
            if let Some(what) = wrong(line) {
                offenders.push(format!("{}:{number}: {what}", path.display()));
            }
        }
    }
    offenders
}

/// The value below which a share of the sorted `sizes` lies.
fn percentile(sizes: &mut [usize], percent: usize) -> usize {
    sizes.sort_unstable();
    sizes[(sizes.len() - 1) * percent / 100]
}

/// First line and length of each function of rustfmt's making: its brace closes at its own indent.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = |line: &str| {
        let line = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let line = line.trim_start_matches("pub(super) ").trim_start_matches("const ");
        line.starts_with("fn ") || line.starts_with("unsafe fn ")
    };
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate().filter(|(_, line)| starts(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let body = &lines[start..];
        let opens = body.iter().position(|line| line.ends_with('{'));
        let declared = body.iter().position(|line| line.ends_with(';'));
        if declared.is_some_and(|end| opens.is_none_or(|open| end < open)) {
            continue;
        }
        let close = format!("{indent}}}");
        if let Some(length) = body.iter().position(|line| *line == close) {
            found.push((start + 1, length + 1));
        }
    }
    found
}

#[test]
fn files_are_of_a_size_to_be_read() {
    let (mut sizes, mut offenders) = (Vec::new(), Vec::new());
    for path in files(&root().join("crates"), &[".rs"]) {
        let text = read(&path);
        let all = text.lines().count();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("").lines().count();
        sizes.push(code);
        if code > 600 || all > 800 {
            offenders.push(format!("{}: {code} lines, {all} with tests", path.display()));
        }
    }
    check("a file holds at most 600 lines, 800 with its tests", &offenders);
    assert!(percentile(&mut sizes, 50) <= 150, "half of the files are over 150 lines");
    assert!(percentile(&mut sizes, 90) <= 400, "a tenth of the files is over 400 lines");
}

#[test]
fn functions_fit_a_screen() {
    let (mut sizes, mut offenders) = (Vec::new(), Vec::new());
    for path in files(&root().join("crates"), &[".rs"]) {
        for (line, length) in functions(&read(&path)) {
            sizes.push(length);
            if length > 70 {
                offenders.push(format!("{}:{line}: {length} lines", path.display()));
            }
        }
    }
    check("a function holds at most 70 lines", &offenders);
    let p90 = percentile(&mut sizes, 90);
    assert!(p90 <= 30, "a tenth of the functions is over 30 lines: {p90}");
}

#[test]
fn folders_hold_at_most_ten_files() {
    let sources = files(&root().join("crates"), &[".rs"]);
    let mut offenders = Vec::new();
    // Integration tests have one file a command, however many commands there are.
    let tests = root().join("crates/cli/tests");
    let folders = sources.iter().filter_map(|path| path.parent());
    for folder in folders.filter(|folder| *folder != tests) {
        let count = sources.iter().filter(|path| path.parent() == Some(folder)).count();
        // lib.rs and mod.rs are the folder's face, not one of its rooms.
        if folder.join("lib.rs").exists() || folder.join("mod.rs").exists() {
            if count > 11 {
                offenders.push(format!("{}: {count} files", folder.display()));
            }
        } else if count > 12 {
            offenders.push(format!("{}: {count} files", folder.display()));
        }
    }
    offenders.dedup();
    check("a folder holds at most ten files beside its face", &offenders);
}

#[test]
fn main_is_short() {
    let lines = read(&root().join("crates/cli/src/main.rs")).lines().count();
    assert!(lines <= 40, "main.rs has {lines} lines");
}

#[test]
fn crates_form_a_star() {
    let mut offenders = Vec::new();
    for manifest in files(&root().join("crates"), &["Cargo.toml"]) {
        let name = manifest.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let edges = EDGES.iter().find(|(known, _, _)| *known == name);
        let (_, uses, dev) = edges.unwrap_or_else(|| panic!("crate {name} has no place in EDGES"));
        let mut testing = false;
        for line in read(&manifest).lines() {
            if line.starts_with('[') {
                testing = line == "[dev-dependencies]";
            }
            let Some(other) = line.strip_prefix("drivelab-") else { continue };
            let other = other.split(['.', ' ', '=']).next().unwrap_or("");
            let allowed = uses.contains(&other) || testing && dev.contains(&other);
            if !allowed {
                offenders.push(format!("{name} -> {other}"));
            }
        }
    }
    for (name, ..) in EDGES {
        if !root().join("crates").join(name).join("Cargo.toml").exists() {
            offenders.push(format!("{name} is no crate"));
        }
    }
    check("a crate uses only what ARCHITECTURE.md allows", &offenders);
}

#[test]
fn unfinished_work_is_not_left_in_the_code() {
    let sources = files(&root(), &[".rs", ".js", ".css", ".html", ".toml", ".md"]);
    // Spelled apart, so that this file does not find itself.
    let banned = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")];
    let wrong = |line: &str| banned.iter().find(|word| line.contains(**word)).map(|w| (*w).into());
    check("no marker of unfinished work", &offending_lines(&sources, wrong));
}

#[test]
fn lines_fit_a_hundred_columns() {
    let mut sources = files(&root().join("crates"), &[".rs"]);
    // Tests hold tables and pages as they are printed; rustfmt keeps their code short.
    sources.retain(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    sources.retain(|path| !path.ends_with("tests.rs"));
    // A line that ends in `\` is text that is printed: breaking it would change what is read.
    let text = |line: &str| line.ends_with('\\') || line.contains("http");
    let long = |line: &str| line.chars().count() > 100 && !text(line);
    let wrong = |line: &str| long(line).then(|| format!("{} columns", line.chars().count()));
    check("a line has at most 100 columns", &offending_lines(&sources, wrong));
}

#[test]
fn every_markdown_file_has_one_title() {
    let mut offenders = Vec::new();
    for path in files(&root(), &[".md"]) {
        let mut fenced = false;
        let mut titles = 0;
        for line in read(&path).lines() {
            fenced ^= line.starts_with("```");
            titles += usize::from(!fenced && line.starts_with("# "));
        }
        if titles != 1 {
            offenders.push(format!("{}: {titles} titles", path.display()));
        }
    }
    check("a Markdown file has one `# Title`", &offenders);
}

#[test]
fn safety_comments_say_which_invariant_holds() {
    let empty = ["safe because", "this is safe", "trust me", "obviously", "values are valid"];
    let mut offenders = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        let text = read(&path);
        for (place, _) in text.match_indices(concat!("// SAFE", "TY:")) {
            let comment = text[place..].lines().map(str::trim_start);
            let comment: Vec<&str> = comment.take_while(|line| line.starts_with("//")).collect();
            let comment = comment.join(" ").replace("//", "").to_lowercase();
            let words = comment.split_whitespace().count() - 1;
            if words < 8 || empty.iter().any(|phrase| comment.contains(phrase)) {
                offenders.push(format!("{}: {comment}", path.display()));
            }
        }
    }
    check("a SAFETY comment names the invariant and who keeps it", &offenders);
}

#[test]
fn no_test_file_is_forgotten() {
    let tests = root().join("crates/cli/tests");
    let runner = read(&tests.join("runner.rs"));
    let mut offenders = Vec::new();
    for path in fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = path.extension().is_some_and(|ending| ending == "rs") && name != "runner";
        if source && !runner.contains(&format!("mod {name};")) {
            offenders.push(name);
        }
    }
    check("every file in tests/ is a module of runner.rs", &offenders);
}

/// The rows of the first table below `heading`, each cell trimmed.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let below = text.split(heading).nth(1).expect("the heading is there");
    let rows = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|c| c.trim().into()).collect();
    rows.map(cells).collect()
}

#[test]
fn the_answers_to_a_new_maintainer_are_true() {
    let questions = table(&read(&root().join("docs/internals/twenty-questions.md")), "# Twenty");
    assert_eq!(questions.len(), 20);
    let mut offenders = Vec::new();
    for row in questions {
        let [question, file, item] = &row[..] else { panic!("{row:?} is no question") };
        let path = root().join(file.trim_matches('`'));
        let item = item.trim_matches('`');
        let text = fs::read_to_string(&path).unwrap_or_default();
        let kinds = ["fn ", "struct ", "enum ", "macro_rules! "];
        if !kinds.iter().any(|kind| text.contains(&format!("{kind}{item}"))) {
            offenders.push(format!("{question} {} has no `{item}`", path.display()));
        }
    }
    check("each item of the twenty questions is in its file", &offenders);
}

/// Whether `text` contains `phrase` as whole words, in any case.
fn says(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    text.match_indices(phrase).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        outside(before.chars().next_back()) && outside(after.chars().next())
    })
}

/// What users read of a source file: its string literals, line by line.
fn literals(path: &Path) -> String {
    let text = read(path);
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    let literal = |line: &str| {
        let line = line.trim_start();
        // A line inside a literal has no quotation mark of its own.
        !line.starts_with("//") && (line.contains('"') || line.ends_with('\\'))
    };
    let lines = code.lines().map(|line| if literal(line) { line } else { "" });
    lines.collect::<Vec<_>>().join("\n")
}

/// The help of the program and of every verb, as it is printed.
fn help() -> Vec<(String, String)> {
    let folder = crate::common::folder();
    let shown = |verb: &str| {
        let words: Vec<&str> =
            verb.split(' ').filter(|w| !w.is_empty()).chain(["--help"]).collect();
        (format!("drivelab {verb} --help"), crate::common::drivelab(folder.path(), &words).out)
    };
    let verbs = "|study|run|compare|inspect|drive|drive list|drive show|drive fit|drive predict|replay|\
                 serve|durability|completions|man";
    verbs.split('|').map(shown).collect()
}

#[test]
fn words_are_those_of_the_style() {
    let avoided = table(&read(&root().join("STYLE.md")), "## English");
    let avoided: Vec<&str> = avoided.iter().flat_map(|row| row[0].split(", ")).collect();
    assert!(avoided.len() > 15, "{avoided:?}");
    let mut sources = files(&root().join("docs"), &[".md"]);
    sources.extend(files(&root().join("studies"), &[".toml"]));
    sources.push(root().join("README.md"));
    let code = files(&root().join("crates"), &[".rs"]);
    let product = |path: &PathBuf| {
        let path = path.to_string_lossy();
        !path.contains("/tests") && !path.ends_with("tests.rs") && path.contains("/src/")
    };
    sources.extend(code.into_iter().filter(product));
    let mut texts = help();
    for path in sources {
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        let text = if is_code { literals(&path) } else { read(&path) };
        texts.push((path.display().to_string(), text));
    }
    let mut offenders = Vec::new();
    for (name, text) in texts {
        for (number, line) in (1..).zip(text.lines()) {
            for phrase in avoided.iter().filter(|phrase| says(line, phrase)) {
                offenders.push(format!("{name}:{number}: {phrase}: {line}"));
            }
        }
    }
    check("STYLE.md names what to write instead", &offenders);
}
