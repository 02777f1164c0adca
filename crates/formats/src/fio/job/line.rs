//! The lines of job files, with those of included files among them.

use std::rc::Rc;

use drivelab_core::Refusal;

use super::problem::{At, Problem};

/// Longest line, before and after variables are expanded.
pub(super) const LINE_BYTES_MAX: usize = 16 << 10;
/// Files that include one another, the outermost counted.
const INCLUDES_MAX: usize = 16;
/// Lines of a job file with those of all included files.
const LINES_MAX: usize = 1 << 20;

/// One line with content.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) at: At,
    pub(super) item: Item,
}

/// The content of a line.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// `[name]`.
    Section(String),
    /// `--name=NAME` of a command line, which is a section, too.
    Named(String),
    /// `key=value` or `key`.
    Option {
        key: String,
        /// Empty without an equals sign.
        value: String,
    },
    /// The next line is outside of all sections.
    End,
}

impl Item {
    pub(super) fn option(key: &str, value: &str) -> Self {
        Self::Option { key: key.trim().to_owned(), value: value.trim().to_owned() }
    }

    /// True where a section begins or ends.
    pub(super) fn is_border(&self) -> bool {
        !matches!(self, Self::Option { .. })
    }
}

/// The name and the text of a file, from the name of the file that includes it and the name there.
pub type Include<'a> = &'a dyn Fn(&str, &str) -> Result<(String, String), Refusal>;

/// The means of reading lines that are not in the text itself.
pub(super) struct Sources<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(super) include: Include<'a>,
}

/// Values that fio provides itself.
const KEYWORDS: &[&str] = &["$ncpus", "$pagesize", "$mb_memory"];

/// The lines of `text`, and all that is wrong with them.
pub(super) fn lines(file: &str, text: &str, sources: &Sources<'_>) -> (Vec<Line>, Vec<Problem>) {
    let mut reader = Lines { sources, all: Vec::new(), problems: Vec::new() };
    reader.file(file, text, 1);
    (reader.all, reader.problems)
}

struct Lines<'a> {
    sources: &'a Sources<'a>,
    all: Vec<Line>,
    problems: Vec<Problem>,
}

impl Lines<'_> {
    fn file(&mut self, file: &str, text: &str, depth: usize) {
        let file: Rc<str> = file.into();
        for (number, line) in (1..).zip(text.lines()) {
            let line = content(line);
            if line.is_empty() {
                continue;
            }
            let at = At { file: file.clone(), line: number };
            let taken = expand(line, self.sources.variable);
            let taken = taken.and_then(|line| self.line(&at, &line, depth));
            self.problems.extend(taken.err().map(|refusal| at.problem(refusal)));
        }
    }

    fn line(&mut self, at: &At, line: &str, depth: usize) -> Result<(), Refusal> {
        if self.all.len() >= LINES_MAX {
            return Err(Refusal::request(format!("the job has more than {LINES_MAX} lines")));
        }
        if let Some(path) = line.strip_prefix("include ") {
            return self.include(&at.file, path.trim(), depth);
        }
        let item = if let Some(name) = header(line) {
            Item::Section(name.to_owned())
        } else {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            Item::option(key, value)
        };
        self.all.push(Line { at: at.clone(), item });
        Ok(())
    }

    fn include(&mut self, parent: &str, path: &str, depth: usize) -> Result<(), Refusal> {
        if depth >= INCLUDES_MAX {
            let wrong = format!("`{path}` would be included {INCLUDES_MAX} levels deep");
            return Err(Refusal::request(wrong).hint("a file must not include itself"));
        }
        let (file, text) = (self.sources.include)(parent, path)?;
        self.file(&file, &text, depth + 1);
        Ok(())
    }
}

/// A line without its comment, which may follow anything, as in fio.
fn content(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

/// The name of the section that the line begins. As in fio, its last character is left out,
/// even if it is not the bracket.
fn header(line: &str) -> Option<&str> {
    let (last, _) = line.char_indices().next_back()?;
    line.get(..last)?.strip_prefix('[')
}

pub(super) fn too_long() -> Refusal {
    Refusal::request(format!("the line is longer than {LINE_BYTES_MAX} bytes"))
}

/// A line whose value is a product, with its result. As in fio, a value is computed only where it
/// had a keyword: elsewhere fio reads the first factor alone.
fn computed(line: &str) -> String {
    let Some((key, value)) = line.split_once('=') else { return line.to_owned() };
    let factors = value.split('*').map(|factor| factor.trim().parse::<u64>().ok());
    let product = factors.reduce(|product, factor| product?.checked_mul(factor?)).flatten();
    product.map_or_else(|| line.to_owned(), |product| format!("{key}={product}"))
}

/// Expands `${NAME}` and keywords.
fn expand(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Refusal> {
    if line.len() > LINE_BYTES_MAX {
        return Err(too_long());
    }
    let mut expanded = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(Refusal::request("`${` has no `}`"));
        };
        let value = variable(name).ok_or_else(|| {
            Refusal::request(format!("`${{{name}}}` is not set in the environment"))
        })?;
        expanded += before;
        expanded += &value;
        if expanded.len() > LINE_BYTES_MAX {
            return Err(too_long());
        }
        rest = behind;
    }
    expanded += rest;
    for keyword in KEYWORDS.iter().filter(|keyword| line.contains(**keyword)) {
        if let Some(value) = variable(keyword) {
            expanded = computed(&expanded.replace(keyword, &value));
        }
    }
    if expanded.len() > LINE_BYTES_MAX {
        return Err(too_long());
    }
    Ok(expanded)
}
