//! The shell quoting around a placeholder, and a value written for it.

use super::{is_plain, quoted};

/// The shell quoting at a point of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Outside quotes.
    Bare,
    /// Inside `'...'`.
    Single(Quoted),
    /// Inside `"..."`.
    Double(Quoted),
    /// In a comment, which ends with its line.
    Comment,
    /// A position where no quotes would hold, in words.
    Never(&'static str),
}

/// The kind of a quoted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoted {
    /// One plain word, such as a path.
    Word,
    /// Several words, or an expansion: it may be code for another shell, as in `sh -c '...'`.
    Code,
}

impl Context {
    /// The value as it is written here; `None` where a shell could read it as something else.
    pub(super) fn write(self, value: &str) -> Option<String> {
        match self {
            Self::Bare => Some(quoted(value).into_owned()),
            Self::Single(Quoted::Word) | Self::Double(Quoted::Word) => self.nest(value),
            Self::Comment => (!value.contains('\n')).then(|| value.to_owned()),
            // Characters that mean the same to every shell are safe in any context.
            _ => value.chars().all(is_plain).then(|| value.to_owned()),
        }
    }

    /// Shell code as it is written here, inside quotes for the shell that those are passed to.
    pub(super) fn nest(self, code: &str) -> Option<String> {
        match self {
            Self::Bare => Some(code.to_owned()),
            Self::Single(_) => Some(code.replace('\'', "'\\''")),
            Self::Double(_) => {
                let mut escaped = String::with_capacity(code.len());
                for c in code.chars() {
                    if "\\\"$`".contains(c) {
                        escaped.push('\\');
                    }
                    escaped.push(c);
                }
                Some(escaped)
            }
            Self::Comment | Self::Never(_) => None,
        }
    }

    /// The position in words.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Bare => "outside quotes",
            Self::Single(_) | Self::Double(_) => "inside quotes",
            Self::Comment => "in a comment",
            Self::Never(description) => description,
        }
    }
}

const EXPANSION: &str = "inside `${...}`, `$((...))` or backquotes";
const HERE_DOCUMENT: &str = "in a here-document";
const ESCAPED: &str = "behind a backslash";
const UNCLEAR: &str = "in a command whose quotes drivelab cannot follow";

/// One level of nesting.
#[derive(Debug)]
enum Frame {
    /// Commands, at the top or in `$(...)`; counts the parentheses opened within.
    Code(u32),
    /// `$((...))` or `((...))`, likewise.
    Arithmetic(u32),
    /// `${...}`.
    Braces,
    /// Between backquotes.
    Backquotes,
    /// From `#` to the end of the line.
    Comment,
    Single(Quotes),
    Double(Quotes),
}

/// A quoted text as far as it was read.
#[derive(Debug, Default)]
struct Quotes {
    /// The placeholders in it, by number.
    placeholders: Vec<usize>,
    /// It contains more than a plain word.
    has_code: bool,
}

impl Quotes {
    fn has(&mut self, number: usize, context: Context) -> Context {
        self.placeholders.push(number);
        context
    }
}

/// Follows the quotes of a command, up to each of its placeholders and to its end.
#[derive(Debug)]
pub(super) struct Quoting {
    /// The first is the command itself.
    frames: Vec<Frame>,
    contexts: Vec<Context>,
    previous: char,
    is_escaped: bool,
    /// The ends of the here-documents that begin at the next line, and of the one under way.
    here: Vec<String>,
    /// The line of a here-document so far.
    line: Option<String>,
    /// The word after `<<`, while it is being read.
    end_word: Option<String>,
    has_substitution: bool,
    is_unclear: bool,
}

impl Quoting {
    pub(super) fn new() -> Self {
        Self {
            frames: vec![Frame::Code(0)],
            contexts: Vec::new(),
            previous: '\n',
            is_escaped: false,
            here: Vec::new(),
            line: None,
            end_word: None,
            has_substitution: false,
            is_unclear: false,
        }
    }

    /// Reads text of the command.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            self.character(c);
            self.previous = c;
        }
        // A pattern of `case` closes a parenthesis that none opened.
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        self.is_unclear |= self.has_substitution && words.any(|word| word == "esac");
    }

    /// Reads a placeholder.
    pub(super) fn placeholder(&mut self) {
        let number = self.contexts.len();
        let context = if self.line.is_some() || self.end_word.is_some() {
            Context::Never(HERE_DOCUMENT)
        } else if self.is_escaped {
            Context::Never(ESCAPED)
        } else {
            match self.frames.last_mut().expect("the command itself stays") {
                Frame::Code(_) => Context::Bare,
                Frame::Comment => Context::Comment,
                // Whether that is a word is known at the end of the quotes.
                Frame::Single(quotes) => quotes.has(number, Context::Single(Quoted::Code)),
                Frame::Double(quotes) => quotes.has(number, Context::Double(Quoted::Code)),
                Frame::Arithmetic(_) | Frame::Braces | Frame::Backquotes => {
                    Context::Never(EXPANSION)
                }
            }
        };
        self.contexts.push(context);
        self.is_escaped = false;
        // Any character that begins neither a word nor an expansion.
        self.previous = 'a';
    }

    /// Returns true if the command ends where more of it would not be read as code.
    pub(super) fn is_open(&self) -> bool {
        // Text appended to an open quotation or here-document would become part of it.
        let in_here = self.line.is_some() || self.end_word.is_some() || !self.here.is_empty();
        self.frames.len() > 1 || self.is_escaped || in_here
    }

    /// The context of each placeholder.
    pub(super) fn contexts(self) -> Vec<Context> {
        if self.is_unclear {
            return vec![Context::Never(UNCLEAR); self.contexts.len()];
        }
        self.contexts
    }

    fn character(&mut self, c: char) {
        if self.line.is_some() {
            return self.here_document(c);
        }
        if std::mem::take(&mut self.is_escaped) {
            return;
        }
        match self.frames.last_mut().expect("the command itself stays") {
            Frame::Code(_) => self.code(c),
            Frame::Comment => {
                if c == '\n' {
                    self.frames.pop();
                    self.code(c);
                }
            }
            Frame::Arithmetic(open) => {
                match c {
                    '(' => *open += 1,
                    ')' => *open -= 1,
                    '\'' | '"' | '`' | '\\' => self.is_unclear = true,
                    _ => {}
                }
                if matches!(self.frames.last(), Some(Frame::Arithmetic(0))) {
                    self.frames.pop();
                }
            }
            Frame::Braces => match c {
                '}' => {
                    self.frames.pop();
                }
                '\'' | '"' | '`' | '\\' | '{' | '(' => self.is_unclear = true,
                _ => {}
            },
            Frame::Backquotes => match c {
                '`' => {
                    self.frames.pop();
                }
                '\\' => self.is_escaped = true,
                _ => {}
            },
            Frame::Single(quotes) => match c {
                '\'' => self.end_quotes(Context::Single(Quoted::Word)),
                _ => quotes.has_code |= !is_plain(c),
            },
            Frame::Double(quotes) => {
                quotes.has_code |= c != '"' && !is_plain(c);
                match c {
                    '"' => self.end_quotes(Context::Double(Quoted::Word)),
                    _ => self.expansion(c),
                }
            }
        }
    }

    fn code(&mut self, c: char) {
        if self.end_of_here(c) {
            return;
        }
        let begins_word = self.previous.is_whitespace() || ";&|()".contains(self.previous);
        match c {
            // `$'...'` has escapes that not every shell reads alike.
            '\'' if self.previous == '$' => self.is_unclear = true,
            '\'' => self.frames.push(Frame::Single(Quotes::default())),
            '"' => self.frames.push(Frame::Double(Quotes::default())),
            '#' if begins_word => self.frames.push(Frame::Comment),
            '<' if self.previous == '<' => self.end_word = Some(String::new()),
            '\n' if !self.here.is_empty() => self.line = Some(String::new()),
            '(' if self.previous == '(' => {
                if let Some(Frame::Code(open)) = self.frames.last_mut() {
                    match open.checked_sub(1) {
                        // The first of the two belongs to `$((`.
                        None => drop(self.frames.pop()),
                        Some(rest) => *open = rest,
                    }
                }
                self.frames.push(Frame::Arithmetic(2));
            }
            '(' if self.previous != '$' => self.parentheses(1),
            ')' => self.parentheses(-1),
            _ => self.expansion(c),
        }
    }

    /// Counts a parenthesis of code; the last one ends `$(...)`.
    fn parentheses(&mut self, more: i32) {
        let is_nested = self.frames.len() > 1;
        let Some(Frame::Code(open)) = self.frames.last_mut() else { return };
        match open.checked_add_signed(more) {
            Some(count) => *open = count,
            None if is_nested => drop(self.frames.pop()),
            // A pattern of `case`.
            None => {}
        }
    }

    /// Reads a character that has one meaning in code and in double quotes.
    fn expansion(&mut self, c: char) {
        match c {
            '\\' => self.is_escaped = true,
            '`' => self.frames.push(Frame::Backquotes),
            '{' if self.previous == '$' => self.frames.push(Frame::Braces),
            '(' if self.previous == '$' => {
                self.has_substitution = true;
                self.frames.push(Frame::Code(0));
            }
            _ => {}
        }
    }

    fn end_quotes(&mut self, context: Context) {
        let Some(Frame::Single(quotes) | Frame::Double(quotes)) = self.frames.pop() else {
            return;
        };
        if !quotes.has_code {
            for number in quotes.placeholders {
                self.contexts[number] = context;
            }
        }
    }

    /// Takes a character of the word after `<<`, which is the last line of the here-document;
    /// `false` where it is none.
    fn end_of_here(&mut self, c: char) -> bool {
        let Some(word) = &mut self.end_word else { return false };
        match c {
            // `<<-` is an operator, too, and blanks may precede the word.
            '-' | ' ' | '\t' if word.is_empty() => {}
            // The last line has the word without its quotes (POSIX, 2.7.4).
            '\'' | '"' | '\\' => {}
            // `<<<` is a here-string, which is a word.
            '<' if word.is_empty() => self.end_word = None,
            _ if c.is_whitespace() || "<>;&|()".contains(c) => {
                self.here.extend(self.end_word.take());
                return false;
            }
            _ => word.push(c),
        }
        true
    }

    fn here_document(&mut self, c: char) {
        let line = self.line.as_mut().expect("one is under way");
        if c != '\n' {
            line.push(c);
            return;
        }
        // With `<<-` tabs may precede the last line (POSIX, 2.7.4).
        if line.trim_start_matches('\t') == self.here[0] {
            self.here.remove(0);
        }
        self.line = (!self.here.is_empty()).then(String::new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The context of the only placeholder of a command, written `@`.
    fn context(command: &str) -> Context {
        let mut quoting = Quoting::new();
        let (before, behind) = command.split_once('@').unwrap();
        quoting.text(before);
        quoting.placeholder();
        quoting.text(behind);
        quoting.contexts()[0]
    }

    #[test]
    fn the_quotes_around_a_placeholder_are_found() {
        use Context::{Bare, Comment, Double, Never, Single};
        use Quoted::{Code, Word};
        let check = |command: &str, expected: Context| {
            assert_eq!(context(command), expected, "{command}");
        };
        check("cat @", Bare);
        check("echo 'it'\"s\" @", Bare);
        check("cat '@' | wc", Single(Word));
        check("cat \"@/file\"", Double(Word));
        check("X='-c sync=@' true", Single(Code));
        check("sh -c 'cat @'", Single(Code));
        check("sh -c \"cat @\"", Double(Code));
        check("x=\"$(basename @)\"", Bare);
        check("x=\"$(basename \"@\")\"", Double(Word));
        check("x=$(echo ')' '@')", Single(Word));
        check("echo (a; (b)) @", Bare);
        check("echo \\' @ '", Bare);
        check("echo \"a\\\"\" @", Bare);
        check("echo \\@", Never(ESCAPED));
        check("x=${y:-@}", Never(EXPANSION));
        check("x=$((@ % 7)); '", Never(EXPANSION));
        check("((x = @))", Never(EXPANSION));
        check("x=$((1 + 2)) '@'", Single(Word));
        check("((1 + 2)); echo '@'", Single(Word));
        check("(((1 + 2)); echo '@')", Never(UNCLEAR));
        check("echo `cat @`", Never(EXPANSION));
        check("true # it's @", Comment);
        check("true # it's\ncat @", Bare);
        check("echo a#'@'", Single(Word));
        check("cat <<E\n'@'\nE", Never(HERE_DOCUMENT));
        check("cat <<-'E' | wc\nit's\n\tE\ncat @", Bare);
        check("cat <<A <<B\nA\n@\nB", Never(HERE_DOCUMENT));
        check("cat <<< it '@'", Single(Word));
        check("x=$'\\'' @", Never(UNCLEAR));
        check("x=\"$(case a in a) echo \"a @ b\";; esac)\"", Never(UNCLEAR));
        check("case a in a) cat @;; esac", Bare);
        check("x=${y:-'}'} '@'", Never(UNCLEAR));
        check("cat 'not closed @", Single(Code));
    }

    #[test]
    fn a_command_may_end_within_something() {
        let check = |command: &str, expected: bool| {
            let mut quoting = Quoting::new();
            quoting.text(command);
            assert_eq!(quoting.is_open(), expected, "{command}");
        };
        check("dd of=x | wc", false);
        check("echo 'it", true);
        check("echo \"$(a", true);
        check("a # b", true);
        check("a # b\n", false);
        check("cat <<E", true);
        check("cat <<E\nx\nE\n", false);
        check("a \\", true);
    }
}
