//! The grammar: blocks of `key = value`, lists, and included files.

use std::iter::Peekable;
use std::rc::Rc;
use std::vec::IntoIter;

use super::error::{At, DiskSimResult};
use super::include::{Resolve, include};
use super::token::{Token, tokens};

#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) at: At,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// One or more words: a number, a name, a file.
    Words(String),
    List(Vec<Value>),
    Block(Block),
}

/// `type name { key = value, ... }`.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) at: At,
    /// Its kind: its first word.
    pub(super) what: String,
    pub(super) name: String,
    pub(super) entries: Vec<(String, Value)>,
}

/// A top-level item of a file.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Block(Block),
    /// `instantiate [ names ] as block`.
    Instance {
        at: At,
        names: Vec<String>,
        of: String,
    },
    /// The components in order of attachment, as (kind, name).
    Topology {
        at: At,
        components: Vec<(String, String)>,
    },
}

/// Maximum nesting of included files.
const MAX_DEPTH: usize = 8;
/// Maximum number of words in all files together; the largest known has a tenth of it.
const MAX_WORDS: usize = 1 << 20;

pub(super) struct Reader<'a> {
    resolve: Resolve<'a>,
    depth: usize,
    words: usize,
}

type Tokens<'t> = Peekable<IntoIter<(usize, Token<'t>)>>;

struct Source<'t> {
    file: Rc<str>,
    line: usize,
    tokens: Tokens<'t>,
}

impl<'t> Source<'t> {
    fn at(&self) -> At {
        At { file: Rc::clone(&self.file), line: self.line }
    }

    fn next(&mut self) -> Option<Token<'t>> {
        let (line, token) = self.tokens.next()?;
        self.line = line;
        Some(token)
    }

    fn peek(&mut self) -> Option<Token<'t>> {
        self.tokens.peek().map(|(_, token)| *token)
    }

    fn takes(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: char, after: &str) -> DiskSimResult<()> {
        match self.next() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            Some(found) => {
                Err(self.at().error(format!("expected `{sign}` after {after}, found `{found}`")))
            }
            None => {
                Err(self.at().error(format!("the file ends where `{sign}` should follow {after}")))
            }
        }
    }

    /// The words up to the next sign, joined by single spaces.
    fn words(&mut self) -> String {
        self.words_up_to(usize::MAX)
    }

    /// At most `limit` words, joined by single spaces.
    fn words_up_to(&mut self, limit: usize) -> String {
        let mut words = Vec::new();
        while words.len() < limit {
            let Some(Token::Word(word)) = self.peek() else { break };
            self.next();
            words.push(word);
        }
        words.join(" ")
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(resolve: Resolve<'a>) -> Self {
        Self { resolve, depth: 0, words: 0 }
    }

    /// Everything in `text` and in the files that it names.
    pub(super) fn read(&mut self, file: &str, text: &str) -> DiskSimResult<Vec<Item>> {
        let list: Vec<_> = tokens(text).collect();
        let file: Rc<str> = file.into();
        let start = At { file: Rc::clone(&file), line: 1 };
        // Counted over all files: files that include one another could multiply without a limit.
        self.words += list.len();
        if self.words > MAX_WORDS {
            return Err(start.error(format!("more than {MAX_WORDS} words in all files together")));
        }
        let mut source = Source { file, line: 1, tokens: list.into_iter().peekable() };
        let mut items = Vec::new();
        while let Some(token) = source.next() {
            match token {
                Token::Word("source") => {
                    let included = self.include(&mut source)?;
                    items.extend(included);
                }
                Token::Word("instantiate") => items.push(instance(&mut source)?),
                Token::Word("topology") => items.push(topology(&mut source)?),
                Token::Word(what) => {
                    let name = source.words();
                    source.expect('{', &format!("`{what}`"))?;
                    items.push(Item::Block(self.block(&mut source, what.to_owned(), name)?));
                }
                Token::Sign(sign) => {
                    let expected = "expected a block, `source`, `instantiate` or `topology`";
                    return Err(source.at().error(format!("{expected}, found `{sign}`")));
                }
            }
        }
        Ok(items)
    }

    fn include(&mut self, source: &mut Source<'_>) -> DiskSimResult<Vec<Item>> {
        let Some(Token::Word(name)) = source.next() else {
            return Err(source.at().error("expected the name of a file after `source`"));
        };
        self.file(&source.at(), name)
    }

    fn file(&mut self, at: &At, name: &str) -> DiskSimResult<Vec<Item>> {
        let Some(found) = include(&at.file, name, self.resolve) else {
            return Err(at.error(format!("there is no file `{name}`; put it next to this file")));
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(at.error(format!(
                "files include files more than {MAX_DEPTH} deep: check for a cycle"
            )));
        }
        let items = self.read(&found.file, &found.text);
        self.depth -= 1;
        items
    }

    /// The inside of a block whose `{` has been read.
    fn block(
        &mut self,
        source: &mut Source<'_>,
        what: String,
        name: String,
    ) -> DiskSimResult<Block> {
        let at = source.at();
        let mut entries: Vec<(String, Value)> = Vec::new();
        while !source.takes('}') {
            let key = source.words();
            let key_at = source.at();
            if key.is_empty() {
                let found = source.next();
                let found = match found {
                    Some(found) => format!("found `{found}`"),
                    None => {
                        format!("the file ends inside `{what}`, which begins on line {}", at.line)
                    }
                };
                return Err(source.at().error(format!("expected `key = value` or `}}`; {found}")));
            }
            source.expect('=', &format!("`{key}`"))?;
            if entries.iter().any(|(known, _)| *known == key) {
                return Err(key_at.error(format!("`{key}` is given twice")));
            }
            entries.push((key, self.value(source)?));
            if !source.takes(',') && source.peek() != Some(Token::Sign('}')) {
                return Err(source.at().error("expected `,` or `}` after this value"));
            }
        }
        Ok(Block { at, what, name, entries })
    }

    fn value(&mut self, source: &mut Source<'_>) -> DiskSimResult<Value> {
        self.depth += 1;
        if self.depth > 4 * MAX_DEPTH {
            return Err(source.at().error("values are nested too deeply"));
        }
        let value = self.value_within(source);
        self.depth -= 1;
        value
    }

    fn value_within(&mut self, source: &mut Source<'_>) -> DiskSimResult<Value> {
        if source.takes('[') {
            let at = source.at();
            let mut list = Vec::new();
            while !source.takes(']') {
                list.push(self.value(source)?);
                if !source.takes(',') && source.peek() != Some(Token::Sign(']')) {
                    return Err(source.at().error("expected `,` or `]` in this list"));
                }
            }
            return Ok(Value { at, kind: Kind::List(list) });
        }
        let words = source.words();
        let at = source.at();
        if words.is_empty() {
            source.next();
            return Err(source.at().error("expected a value after `=`"));
        }
        if source.takes('{') {
            // An inline block: its kind, and optionally its name.
            let (what, name) = words.split_once(' ').unwrap_or((&words, ""));
            let kind = Kind::Block(self.block(source, what.to_owned(), name.to_owned())?);
            return Ok(Value { at, kind });
        }
        if let Some(name) = words.strip_prefix("source ") {
            let mut items = self.file(&at, name)?;
            // A value may be in another file, which then holds exactly this block.
            return match (items.pop(), items.is_empty()) {
                (Some(Item::Block(block)), true) => Ok(Value { at, kind: Kind::Block(block) }),
                _ => Err(at.error(format!("expected one block in `{name}`, and nothing else"))),
            };
        }
        Ok(Value { at, kind: Kind::Words(words) })
    }
}

fn instance(source: &mut Source<'_>) -> DiskSimResult<Item> {
    let at = source.at();
    source.expect('[', "`instantiate`")?;
    let mut names = Vec::new();
    while !source.takes(']') {
        let name = source.words();
        if name.is_empty() && !source.takes(',') {
            return Err(source.at().error("expected names and `]` after `instantiate [`"));
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
    // No sign ends the statement: the words behind these two belong to the next one.
    let words = source.words_up_to(2);
    match words.strip_prefix("as ") {
        Some(of) => Ok(Item::Instance { at, names, of: of.to_owned() }),
        None => Err(source.at().error("expected `as` and the name of a block after the names")),
    }
}

fn topology(source: &mut Source<'_>) -> DiskSimResult<Item> {
    let at = source.at();
    let (mut components, mut open) = (Vec::new(), 0_usize);
    loop {
        let words = source.words_up_to(2);
        match words.split_once(' ') {
            Some((kind, name)) => {
                components.push((kind.to_owned(), name.to_owned()));
                source.expect('[', &format!("`{words}`"))?;
                open += 1;
            }
            None if words.is_empty() && open > 0 && source.takes(']') => open -= 1,
            None if words.is_empty() && open > 0 && source.takes(',') => {}
            None => return Err(source.at().error("expected `kind name [ ... ]` in the topology")),
        }
        if open == 0 {
            return Ok(Item::Topology { at, components });
        }
    }
}
