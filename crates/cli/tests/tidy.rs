//! The rules of STYLE.md that a machine can check.
//!
//! Every rule reports all its offenders at once, as `path:line: what`, so that one run shows what
//! there is to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which crates of ours each crate may use; `dev` marks what only its tests may use.
const EDGES: &[(&str, &[&str], &[&str])] = &[
    ("core", &[], &[]),
    ("stats", &[], &[]),
    ("files", &[], &[]),
    ("load", &["core", "stats"], &["model"]),
    ("model", &["core", "stats"], &[]),
    ("disksim", &["core", "model"], &[]),
    ("engine", &["core", "files", "load"], &["model"]),
    ("probe", &["core"], &["model"]),
    ("serve", &["core", "files"], &["model"]),
    ("host", &["core"], &[]),
    ("study", &["core", "files"], &[]),
    ("archive", &["core", "files"], &[]),
    ("formats", &["core", "stats"], &[]),
    ("suites", &["core", "files"], &[]),
    ("guest", &["core", "files"], &["model", "serve"]),
    ("analysis", &["core", "stats"], &[]),
    ("report", &["core", "stats", "analysis"], &[]),
    ("simulate", &["core", "stats", "load", "model", "study", "analysis", "report"], &[]),
    ("web", &["core", "model", "study", "analysis", "report", "simulate"], &[]),
    (
        "lab",
        &[
            "core", "load", "model", "disksim", "engine", "serve", "host", "study", "archive",
            "formats", "suites", "guest", "files", "analysis", "report", "simulate",
        ],
        &[],
    ),
    ("view", &["core", "report"], &["analysis"]),
    (
        "cli",
        &[
            "core", "stats", "load", "model", "disksim", "engine", "probe", "serve", "host",
            "study", "archive", "formats", "analysis", "report", "suites", "guest", "lab", "view",
            "files", "simulate",
        ],
        &[],
    ),
];

pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/").to_owned()
}

/// Every file below `folder` with one of the endings, without what is built or vendored.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
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

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn check(rule: &str, offenders: &[String]) {
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
fn the_sources_that_identify_a_model_include_those_that_they_use() {
    let build = read(&root().join("crates/lab/build.rs"));
    let known = build.lines().filter_map(|line| line.trim().strip_prefix("\"../"));
    let known: BTreeSet<&str> = known.filter_map(|rest| rest.strip_suffix("/src\",")).collect();
    assert!(known.contains("model"), "{known:?}");
    let mut offenders = Vec::new();
    for (name, uses, _) in EDGES.iter().filter(|(name, ..)| known.contains(name)) {
        // Neither how files are opened nor the words of an answer decide a figure.
        let decides = |other: &&&str| !["files", "report"].contains(*other);
        let missing = uses.iter().filter(|other| !known.contains(*other)).filter(decides);
        offenders.extend(missing.map(|other| format!("{name} -> {other}")));
    }
    check("crates/lab/build.rs lists what a modelled drive is made of", &offenders);
}

#[test]
fn unfinished_work_is_not_left_in_the_code() {
    let sources = files(&root(), &[".rs", ".js", ".css", ".html", ".toml", ".md"]);
    // Spelled apart, so that this file does not find itself.
    let banned = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")];
    let wrong = |line: &str| banned.iter().find(|word| line.contains(**word)).map(|w| (*w).into());
    check("no marker of unfinished work", &offending_lines(&sources, wrong));
}

/// The lines on which an error is a `String`: that of a `Result`, or of a trait that reads text.
fn errors_of_text(text: &str) -> Vec<usize> {
    let results = text.match_indices("Result<");
    let results = results.filter(|(at, open)| second_type(&text[at + open.len()..]) == "String");
    let ends = [" Err = String;", " Error = String;"];
    let traits = ends.into_iter().flat_map(|end| text.match_indices(end));
    results.chain(traits).map(|(at, _)| text[..at].lines().count().max(1)).collect()
}

/// The second of the types that a `>` ends; empty if there is only one.
fn second_type(types: &str) -> &str {
    let (mut depth, mut begin) = (0_i32, None);
    for (at, c) in types.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            // The arrow before the type that a function returns ends nothing.
            '>' if types[..at].ends_with('-') => {}
            '>' if depth == 0 => {
                let second = begin.map_or("", |begin| &types[begin..at]);
                return second.trim_matches(|c: char| c.is_whitespace() || c == ',');
            }
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => begin = begin.or(Some(at + 1)),
            _ => {}
        }
    }
    ""
}

#[test]
fn no_error_is_a_string() {
    let mut offenders = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        if path.components().any(|part| part.as_os_str() == "src") {
            let lines = errors_of_text(&read(&path));
            offenders.extend(lines.iter().map(|line| format!("{}:{line}", path.display())));
        }
    }
    check("an error is `core::Invalid`, a `Refusal` or an enum, not a `String`", &offenders);
}

#[test]
fn the_error_of_a_result_is_found_on_any_number_of_lines() {
    let text = "fn a() -> Result<Map<String, String>, Invalid> {}\n\
                fn b() -> Result<String, String> {}\n\
                type C = fn() -> Result<\n    Box<dyn Fn(u8, u8) -> String>,\n    String,\n>;\n\
                type Err = String;\n\
                fn d() -> Result<String> {}\n";
    assert_eq!(errors_of_text(text), [2, 3, 7]);
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

/// A path of names: to a module from the root of its crate, or as it stands in the code.
type Names = Vec<String>;

/// What a module names of its own crate.
#[derive(Default)]
struct Mentions {
    /// Every path in it, those of `use` with their braces expanded.
    paths: Vec<Names>,
    /// What it passes on with `pub use`, by the last name.
    passed_on: BTreeMap<String, Names>,
}

fn names(path: &str) -> Names {
    let path = path.split(" as ").next().unwrap_or("");
    path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect()
}

/// The single paths of `a::{b, c::{d, e}}`.
fn expanded(tree: &str, prefix: &[String], found: &mut Vec<Names>) {
    let Some((head, inner)) = tree.split_once('{') else {
        let path = [prefix.to_vec(), names(tree)].concat();
        return found.extend((path.len() > prefix.len()).then_some(path));
    };
    let prefix = [prefix.to_vec(), names(head)].concat();
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in inner.char_indices() {
        match sign {
            ',' | '}' if depth == 0 => {
                expanded(&inner[start..at], &prefix, found);
                start = at + 1;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
}

fn mentions(code: &str) -> Mentions {
    let mut found = Mentions::default();
    let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            lines.next();
            continue;
        }
        let line = line.trim_start();
        let open = ["pub(crate) ", "pub(super) ", "pub "];
        let shown = open.iter().find_map(|open| line.strip_prefix(open));
        if let Some(tree) = shown.unwrap_or(line).strip_prefix("use ") {
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                tree += lines.next().expect("a `use` ends");
            }
            let before = found.paths.len();
            expanded(tree.trim_end_matches(';'), &[], &mut found.paths);
            let passed_on = found.paths[before..].iter().filter(|_| shown.is_some());
            let named = passed_on.map(|path| (path[path.len() - 1].clone(), path.clone()));
            found.passed_on.extend(named);
            continue;
        }
        let words = line.split(|sign: char| !sign.is_alphanumeric() && !"_:".contains(sign));
        found.paths.extend(words.filter(|word| word.contains("::")).map(names));
    }
    found
}

/// The modules of a crate and what each names.
struct Modules(BTreeMap<Names, Mentions>);

impl Modules {
    /// Those of the sources in a folder, tests left out.
    fn of(sources: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for path in files(sources, &[".rs"]) {
            let inner = path.strip_prefix(sources).unwrap().with_extension("");
            let mut module: Names =
                inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.iter().any(|name| ["main", "tests", "testing"].contains(&name.as_str())) {
                continue;
            }
            module.pop_if(|name| ["lib", "mod"].contains(&name.as_str()));
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
            modules.insert(module, mentions(code));
        }
        Self(modules)
    }

    /// `path`, which stands in `module`, from the root of the crate; `None` where it leads out.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Names> {
        let above = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (&module[..module.len().checked_sub(above)?], &path[above..]),
            _ => {
                let child = [module, &path[..1]].concat();
                return self.0.contains_key(&child).then(|| [module, path].concat());
            }
        };
        Some([base, rest].concat())
    }

    /// The module whose file defines what `path` in `module` names: one that only passes it on is
    /// not meant. `None` where the path leads out of the crate, or is a module's.
    fn defines(&self, module: &[String], path: &[String], depth: u32) -> Option<Names> {
        let path = self.absolute(module, path).filter(|_| depth < 8)?;
        let modules = (0..=path.len()).rev().map(|end| &path[..end]);
        let home = modules.into_iter().find(|module| self.0.contains_key(*module))?;
        let (name, rest) = path[home.len()..].split_first()?;
        if let Some(origin) = self.0[home].passed_on.get(name)
            && let Some(origin) = self.defines(home, &[origin, rest].concat(), depth + 1)
        {
            return Some(origin);
        }
        (name != "self").then(|| home.to_vec())
    }

    /// The modules that `module` uses.
    fn used(&self, module: &Names) -> BTreeSet<Names> {
        let Mentions { paths, passed_on } = &self.0[module];
        let whole = |path: &Names| {
            let mut path = self.absolute(module, path).filter(|_| path.len() > 1)?;
            path.pop_if(|name| name == "self");
            self.0.contains_key(&path).then_some(path)
        };
        let imported: Vec<Names> = paths.iter().filter_map(whole).collect();
        let uses = |path: &Names| {
            if let Some(origin) = self.defines(module, path, 0) {
                // To pass on what a child has is no use of it.
                let passes_on = passed_on.values().any(|passed| passed == path);
                return (!passes_on || !origin.starts_with(module)).then_some(origin);
            }
            let by_name = imported.iter().find(|it| it.last() == path.first())?;
            self.defines(&[], &[by_name, &path[1..]].concat(), 0)
        };
        paths.iter().filter_map(uses).filter(|it| it != module).collect()
    }

    /// Groups of modules that use one another.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let uses: BTreeMap<&Names, BTreeSet<Names>> =
            self.0.keys().map(|module| (module, self.used(module))).collect();
        let reached = |from: &Names| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                let more = uses[&module].iter().filter(|it| seen.insert((*it).clone()));
                next.extend(more.cloned());
            }
            seen
        };
        let reach: BTreeMap<&Names, _> = uses.keys().map(|it| (*it, reached(it))).collect();
        let around = reach.iter().filter(|(module, reached)| reached.contains(**module));
        let circle = |(module, reached): (&&Names, &BTreeSet<Names>)| {
            let back = reached.iter().filter(|other| reach[other].contains(*module));
            back.map(|it| it.join("::")).collect()
        };
        around.map(circle).collect()
    }
}

#[test]
fn files_do_not_import_one_another_in_a_circle() {
    let mut offenders = Vec::new();
    for (name, ..) in EDGES {
        let modules = Modules::of(&root().join("crates").join(name).join("src"));
        let circles = modules.circles().into_iter();
        offenders.extend(circles.map(|circle| format!("{name}: {}", circle.join(", "))));
    }
    check("files use one another in one direction", &offenders);
}

#[test]
fn a_circle_is_found_through_what_is_passed_on_and_whole_modules() {
    let circles = |files: &[(&str, &str)]| {
        let modules = files.iter().map(|(name, code)| (names(name), mentions(code)));
        Modules(modules.collect()).circles().into_iter().collect::<Vec<_>>()
    };
    let door = "mod one;\nmod two;\npub use one::One;\npub use two::Two;";
    let (one, two) = ("use super::Two;\npub struct One(Two);", "pub struct Two;");
    assert!(circles(&[("", door), ("one", one), ("two", two)]).is_empty());
    let two = "use crate::{\n    one as other,\n};\npub struct Two;\nfn f() { crate::one::f() }";
    let found = circles(&[("", door), ("one", one), ("two", two)]);
    assert_eq!(found, [["one", "two"]]);
    let two = "use super::one;\npub struct Two;\nfn f() {\n    one::f()\n}";
    assert_eq!(circles(&[("", door), ("one", one), ("two", two)]), [["one", "two"]]);
    let door = "mod one;\npub struct Two;\nfn f() {\n    one::f();\n}";
    assert_eq!(circles(&[("", door), ("one", one)]), [["", "one"]]);
}
