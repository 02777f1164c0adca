//! One table of a TOML file, read key by key.

use std::fmt;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigError, Value, nearest};
use crate::Invalid;

/// A file's name and text, kept to turn byte offsets into lines.
#[derive(Debug)]
struct Source {
    file: String,
    text: String,
}

impl Source {
    fn error(&self, at: usize, message: String, hint: Option<String>) -> ConfigError {
        // Spans are byte offsets: lines and columns are computed only when an error needs them.
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        ConfigError { file: self.file.clone(), line, column, message, hint }
    }
}

/// A table whose keys are taken out one by one; [`Section::finish`] refuses the rest.
#[derive(Debug, Clone)]
pub struct Section {
    source: Rc<Source>,
    /// Name of the section in messages: `[drive]`, or "the file" for the top.
    name: String,
    /// Offset of the section in the text, for errors about missing keys.
    at: usize,
    left: Vec<(String, usize, Item)>,
    asked: Vec<&'static str>,
}

/// A value with its offset in the text, free of the text it was parsed from.
#[derive(Debug, Clone)]
enum Item {
    Scalar { text: String, at: usize },
    Array { items: Vec<Item>, at: usize },
    Table { entries: Vec<(String, usize, Item)>, at: usize },
}

impl Item {
    fn new(value: Spanned<DeValue<'_>>) -> Self {
        let at = value.span().start;
        match value.into_inner() {
            DeValue::String(text) => Self::Scalar { text: text.into_owned(), at },
            DeValue::Integer(number) => Self::Scalar { text: number.to_string(), at },
            DeValue::Float(number) => Self::Scalar { text: number.to_string(), at },
            DeValue::Boolean(flag) => Self::Scalar { text: flag.to_string(), at },
            DeValue::Datetime(moment) => Self::Scalar { text: moment.to_string(), at },
            DeValue::Array(items) => {
                Self::Array { items: items.into_iter().map(Self::new).collect(), at }
            }
            DeValue::Table(table) => Self::Table { entries: entries(table), at },
        }
    }

    fn at(&self) -> usize {
        match self {
            Self::Scalar { at, .. } | Self::Array { at, .. } | Self::Table { at, .. } => *at,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Scalar { .. } => "a single value",
            Self::Array { .. } => "a list",
            Self::Table { .. } => "a table",
        }
    }
}

fn entries(table: DeTable<'_>) -> Vec<(String, usize, Item)> {
    table
        .into_iter()
        .map(|(key, value)| (key.get_ref().to_string(), key.span().start, Item::new(value)))
        .collect()
}

impl Section {
    /// Parses the TOML `text` of `file`; the name is used in messages only.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let source = Rc::new(Source { file: file.to_owned(), text: text.to_owned() });
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().trim_end().to_owned();
            source.error(at, message, Some("the file must be TOML: `key = value`".into()))
        })?;
        let left = entries(table.into_inner());
        Ok(Self { source, name: "the file".into(), at: 0, left, asked: Vec::new() })
    }

    /// Takes the value of `key`, or `None` if the key is absent.
    pub fn take<T: Value>(&mut self, key: &'static str) -> Result<Option<T>, ConfigError> {
        self.take_with(key, T::read)
    }

    /// Takes the value of `key` with the caller's reader, or `None` if it is absent.
    pub fn take_with<T>(
        &mut self,
        key: &'static str,
        reader: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(item) = self.remove(key) else { return Ok(None) };
        read(&self.source, key, &item, reader).map(Some)
    }

    /// Takes the value of a required key.
    pub fn require<T: Value>(&mut self, key: &'static str) -> Result<T, ConfigError> {
        self.take(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a list of values; a single value counts as a list of one.
    pub fn list<T: Value>(&mut self, key: &'static str) -> Result<Option<Vec<T>>, ConfigError> {
        match self.remove(key) {
            None => Ok(None),
            Some(Item::Array { items, .. }) => {
                let values = items.iter().map(|item| read(&self.source, key, item, T::read));
                values.collect::<Result<_, _>>().map(Some)
            }
            Some(item) => Ok(Some(vec![read(&self.source, key, &item, T::read)?])),
        }
    }

    /// Takes a table written as a list of lists, such as a seek curve.
    pub fn rows(&mut self, key: &'static str) -> Result<Option<Vec<Row>>, ConfigError> {
        let Some(item) = self.remove(key) else { return Ok(None) };
        let at = item.at();
        let Item::Array { items, .. } = item else { return Err(self.not_lists(key, at)) };
        let mut rows = Vec::with_capacity(items.len());
        for item in items {
            let Item::Array { items, at } = item else { return Err(self.not_lists(key, at)) };
            rows.push(Row { source: Rc::clone(&self.source), key, at, items });
        }
        Ok(Some(rows))
    }

    /// Takes the table `[key]`, or `None` if it is absent.
    pub fn section(&mut self, key: &'static str) -> Result<Option<Self>, ConfigError> {
        match self.remove(key) {
            None => Ok(None),
            Some(Item::Table { entries, at }) => Ok(Some(self.child(key, "", at, entries))),
            Some(item) => Err(self.wrong_kind(key, &item, "a table")),
        }
    }

    /// The value of `key` as written in the file; `None` if the key is absent.
    pub fn stated(&self, key: &str) -> Option<Stated> {
        let (_, _, item) = self.left.iter().find(|(name, ..)| name == key)?;
        // The parser drops comments, so value and remark are taken from the line itself.
        let line = self.source.text.get(item.at()..)?.lines().next()?;
        let mut quoted = false;
        let end = line.find(|c: char| {
            quoted ^= c == '"';
            c == '#' && !quoted
        });
        let (value, remark) = line.split_at(end.unwrap_or(line.len()));
        let remark = remark.trim_start_matches('#').trim().to_owned();
        let value = match item {
            Item::Scalar { .. } => value.trim().trim_matches('"').to_owned(),
            Item::Array { .. } | Item::Table { .. } => item.kind().to_owned(),
        };
        Some(Stated { value, remark })
    }

    /// True if `key` holds a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.left.iter().any(|(name, _, item)| name == key && matches!(item, Item::Table { .. }))
    }

    /// Takes the table `[key]` whose keys the user chooses, in alphabetical order; empty if it is
    /// absent.
    pub fn words(&mut self, key: &'static str) -> Result<Vec<(String, String)>, ConfigError> {
        let entries = match self.remove(key) {
            None => return Ok(Vec::new()),
            Some(Item::Table { entries, .. }) => entries,
            Some(item) => return Err(self.wrong_kind(key, &item, "a table")),
        };
        let mut words = Vec::with_capacity(entries.len());
        for (name, _, item) in entries {
            let value = read(&self.source, &name, &item, String::read)?;
            words.push((name, value));
        }
        Ok(words)
    }

    /// Takes the table `[key]` of tables whose names the user chooses, in alphabetical order; none
    /// if it is absent.
    pub fn tables(&mut self, key: &'static str) -> Result<Vec<(String, Self)>, ConfigError> {
        let entries = match self.remove(key) {
            None => return Ok(Vec::new()),
            Some(Item::Table { entries, .. }) => entries,
            Some(item) => return Err(self.wrong_kind(key, &item, "a table")),
        };
        let mut tables = Vec::with_capacity(entries.len());
        for (name, _, item) in entries {
            let Item::Table { entries, at } = item else {
                return Err(self.wrong_kind(&name, &item, "a table"));
            };
            let section = self.child(&format!("{key}.{name}"), "", at, entries);
            tables.push((name, section));
        }
        Ok(tables)
    }

    /// Refuses a list, of values or of tables, that is longer than `most`, before its items are
    /// processed.
    pub fn at_most(&self, key: &'static str, most: usize) -> Result<(), ConfigError> {
        match self.left.iter().find(|(name, ..)| name == key) {
            Some((_, at, Item::Array { items, .. })) if items.len() > most => {
                let message =
                    format!("`{key}`: {} entries; at most {most} are allowed", items.len());
                Err(self.error_at(*at, message, None))
            }
            _ => Ok(()),
        }
    }

    /// Takes the tables `[[key]]`, in order; none if the key is absent.
    pub fn sections(&mut self, key: &'static str) -> Result<Vec<Self>, ConfigError> {
        let items = match self.remove(key) {
            None => return Ok(Vec::new()),
            Some(Item::Array { items, .. }) => items,
            Some(item) => return Err(self.wrong_kind(key, &item, "a list of tables")),
        };
        let mut sections = Vec::with_capacity(items.len());
        for item in items {
            let Item::Table { entries, at } = item else {
                return Err(self.wrong_kind(key, &item, "a list of tables"));
            };
            sections.push(self.child(key, "[]", at, entries));
        }
        Ok(sections)
    }

    /// Moves every key of the table `[key]` up into this section, for files that may omit the table
    /// heading.
    pub fn lift(&mut self, key: &'static str) -> Result<(), ConfigError> {
        match self.remove(key) {
            None => Ok(()),
            Some(Item::Table { entries, .. }) => {
                self.left.extend(entries);
                Ok(())
            }
            Some(item) => Err(self.wrong_kind(key, &item, "a table")),
        }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// A key was never requested: it is unknown, and the most similar known key is suggested.
    pub fn finish(self) -> Result<(), ConfigError> {
        // The first in the file, not the first by name: users read errors from the top.
        let Some((key, at, _)) = self.left.iter().min_by_key(|(_, at, _)| *at) else {
            return Ok(());
        };
        let hint = match nearest(key, self.asked.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known here: `{}`", self.asked.join("`, `")),
        };
        let message = format!("unknown key `{key}` in {}", self.name);
        Err(self.error_at(*at, message, Some(hint)))
    }

    /// An error about the section as a whole.
    pub fn error(&self, message: impl fmt::Display) -> ConfigError {
        self.error_at(self.at, message.to_string(), None)
    }

    /// Calls `edit` for the table `[key]`, or for each of the tables `[[key]]`: what it changes is
    /// read later. Nothing where the key is absent or holds no table.
    pub fn edit(
        &mut self,
        key: &str,
        edit: &mut dyn FnMut(&mut Self) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(index) = self.left.iter().position(|(name, ..)| name == key) else {
            return Ok(());
        };
        let mut item = self.left[index].2.clone();
        let tables = match &mut item {
            Item::Array { items, .. } => items.iter_mut().collect(),
            table => vec![table],
        };
        for table in tables {
            let Item::Table { entries, at } = table else { continue };
            let mut child = self.child(key, "", *at, std::mem::take(entries));
            edit(&mut child)?;
            *entries = child.left;
        }
        self.left[index].2 = item;
        Ok(())
    }

    /// Removes a key with its value, so that it is not read; true if it was there.
    pub fn leave_out(&mut self, key: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|(name, ..)| name != key);
        self.left.len() < before
    }

    /// Moves a key with its value here from another section, in place of the same key; true if it
    /// was there.
    pub fn take_over(&mut self, key: &str, from: &mut Self) -> bool {
        let Some(index) = from.left.iter().position(|(name, ..)| name == key) else {
            return false;
        };
        self.leave_out(key);
        self.left.push(from.left.remove(index));
        true
    }

    /// Replaces keys by those of the table `[key]`, which is removed; true if it was there.
    pub fn overlay(&mut self, key: &'static str) -> Result<bool, ConfigError> {
        let Some(index) = self.left.iter().position(|(name, ..)| name == key) else {
            return Ok(false);
        };
        match self.left.remove(index).2 {
            Item::Table { entries, .. } => {
                self.left.retain(|(name, ..)| entries.iter().all(|(over, ..)| over != name));
                self.left.extend(entries);
                Ok(true)
            }
            item => Err(self.wrong_kind(key, &item, "a table")),
        }
    }

    fn missing(&self, key: &str) -> ConfigError {
        let message = format!("{} lacks `{key}`", self.name);
        let near = nearest(key, self.left.iter().map(|(key, _, _)| key.as_str()));
        let hint = match near {
            Some(found) => format!("did you mean `{key}` by `{found}`?"),
            None => format!("add a line `{key} = ...`"),
        };
        self.error_at(self.at, message, Some(hint))
    }

    fn not_lists(&self, key: &str, at: usize) -> ConfigError {
        self.error_at(at, format!("`{key}` must be a list of lists"), None)
    }

    fn remove(&mut self, key: &'static str) -> Option<Item> {
        // Recorded even if the key is absent: this is the list of known keys for suggestions.
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        let index = self.left.iter().position(|(name, _, _)| name == key)?;
        Some(self.left.remove(index).2)
    }

    fn child(&self, key: &str, suffix: &str, at: usize, left: Vec<(String, usize, Item)>) -> Self {
        let name = if suffix.is_empty() { format!("[{key}]") } else { format!("[[{key}]]") };
        Self { source: Rc::clone(&self.source), name, at, left, asked: Vec::new() }
    }

    fn wrong_kind(&self, key: &str, item: &Item, wanted: &str) -> ConfigError {
        self.error_at(item.at(), format!("`{key}` is {}, not {wanted}", item.kind()), None)
    }

    fn error_at(&self, at: usize, message: String, hint: Option<String>) -> ConfigError {
        self.source.error(at, message, hint)
    }
}

/// A value as written in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The value without quotes; for a list or a table, a statement that it is one.
    pub value: String,
    /// The comment at the end of its line; empty without one.
    pub remark: String,
}

/// One inner list of a table written as a list of lists.
#[derive(Debug)]
pub struct Row {
    source: Rc<Source>,
    key: &'static str,
    at: usize,
    items: Vec<Item>,
}

impl Row {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if it has no values.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reads the value at `index`, from 0.
    pub fn get<T: Value>(&self, index: usize) -> Result<T, ConfigError> {
        match self.items.get(index) {
            Some(item) => read(&self.source, self.key, item, T::read),
            None => Err(self.error(format!(
                "this row of `{}` has {} values, one more is needed",
                self.key,
                self.items.len()
            ))),
        }
    }

    /// An error about this row.
    pub fn error(&self, message: impl fmt::Display) -> ConfigError {
        self.source.error(self.at, message.to_string(), None)
    }
}

fn read<T>(
    source: &Source,
    key: &str,
    item: &Item,
    reader: impl FnOnce(&str) -> Result<T, Invalid>,
) -> Result<T, ConfigError> {
    let Item::Scalar { text, at } = item else {
        let message = format!("`{key}` is {}, not a single value", item.kind());
        return Err(source.error(item.at(), message, None));
    };
    reader(text).map_err(|wrong| source.error(*at, format!("`{key}`: {wrong}"), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Span};

    fn read_sample(text: &str) -> Result<(Bytes, Option<Span>), ConfigError> {
        let mut top = Section::parse("sample.toml", text)?;
        let mut drive = top.section("drive")?.ok_or_else(|| top.error("no [drive]"))?;
        let values = (drive.require("capacity")?, drive.take("seek")?);
        drive.finish()?;
        top.finish()?;
        Ok(values)
    }

    fn check_error(text: &str, expected: &str, hint: Option<&str>) {
        let error = read_sample(text).expect_err(text);
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.hint.as_deref(), hint);
    }

    #[test]
    fn values_are_read_with_their_units() {
        let read = read_sample("[drive]\ncapacity = \"1T\"\nseek = \"8.5ms\"\n").unwrap();
        assert_eq!(read, (Bytes::gib(1024), Some(Span::from_us(8500))));
        assert_eq!(read_sample("[drive]\ncapacity = 512\n").unwrap().0, Bytes::new(512));
    }

    #[test]
    fn tables_are_edited_before_they_are_read() {
        let text = "a = 1\n[from]\na = 2\nb = 3\n[[part]]\nc = 4\nother = { c = 5, d = 6 }\n";
        let mut top = Section::parse("sample.toml", text).unwrap();
        top.edit("part", &mut |part| part.overlay("other").map(|was| assert!(was))).unwrap();
        let mut part = top.sections("part").unwrap().remove(0);
        assert_eq!((part.take("c").unwrap(), part.take("d").unwrap()), (Some(5_u32), Some(6_u32)));
        part.finish().unwrap();
        let mut from = top.section("from").unwrap().unwrap();
        assert!(top.take_over("a", &mut from) && !top.take_over("none", &mut from));
        assert!(from.leave_out("b") && !from.leave_out("b"));
        from.finish().unwrap();
        assert_eq!(top.take("a").unwrap(), Some(2_u32));
        top.finish().unwrap();
        let mut wrong = Section::parse("sample.toml", "other = 1\n").unwrap();
        let error = wrong.overlay("other").unwrap_err().to_string();
        assert!(error.contains("a single value, not a table"), "{error}");
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        check_error(
            "[drive]\ncapacity = 1\nseeek = \"1ms\"\n",
            "sample.toml:3:1: unknown key `seeek` in [drive]",
            Some("did you mean `seek`?"),
        );
        check_error(
            "[drive]\ncapacitiy = 1\n",
            "sample.toml:1:1: [drive] lacks `capacity`",
            Some("did you mean `capacity` by `capacitiy`?"),
        );
        check_error(
            "[drive]\ncapacity = \"much\"\n",
            "sample.toml:2:12: `capacity`: `much` is not a size such as `512`, `4k`, `1M` or \
             `200G` (powers of two)",
            None,
        );
        check_error(
            "[drive]\ncapacity = [1]\n",
            "sample.toml:2:12: `capacity` is a list, not a single value",
            None,
        );
    }

    #[test]
    fn a_value_is_stated_with_the_comment_of_its_line() {
        let text = "a = \"8 # 9\"  # [M] from memory\nb = 5\nc = [\n 1,\n]\n";
        let section = Section::parse("sample.toml", text).unwrap();
        let check = |key: &str, value: &str, remark: &str| {
            let (value, remark) = (value.to_owned(), remark.to_owned());
            assert_eq!(section.stated(key), Some(Stated { value, remark }), "{key}");
        };
        check("a", "8 # 9", "[M] from memory");
        check("b", "5", "");
        check("c", "a list", "");
        assert_eq!(section.stated("d"), None);
    }

    #[test]
    fn text_that_is_not_toml_is_refused_with_its_line() {
        let error = read_sample("[drive]\ncapacity = = 1\n").expect_err("two equal signs");
        assert_eq!((error.line, error.column), (2, 12));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = read_sample(&text);
        }
    }
}
