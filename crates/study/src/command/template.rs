//! Commands with placeholders that are filled in for each run: `pgbench -n {target}`.

use std::fmt;

use drivelab_core::{Invalid, Refusal, invalid};

use super::context::{Context, Quoting};

/// The placeholders that every command may have.
const NAMES: [&str; 4] = ["target", "dir", "arm", "seed"];
/// The placeholder for an arm's own command, which is code and no value.
const OWN: &str = "command";

/// Finds the placeholder that a word is; `None` for a word of the shell.
type Known<'a> = dyn Fn(&str) -> Result<Option<&'static str>, Invalid> + 'a;

/// A command with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
    /// More text behind it would not be read as code.
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(&'static str, Context),
}

impl Part {
    /// True for text that closes quotes at most.
    fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => {
                text.trim_matches(|c: char| "'\"".contains(c) || c.is_whitespace()).is_empty()
            }
            Self::Placeholder(..) => false,
        }
    }
}

/// The values of the placeholders in a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filling<'a> {
    /// The file or device that is measured; `None` where the study has none.
    pub target: Option<&'a str>,
    /// The target itself where it is a directory, else the one that it is in.
    pub dir: Option<&'a str>,
    /// The name of the arm.
    pub arm: &'a str,
    /// The seed of the run.
    pub seed: u64,
    /// The arm's own command.
    pub command: Option<&'a Template>,
}

impl Template {
    /// Reads a command: `{word}` is a placeholder, `{{word}}` is `{word}`, other braces are the
    /// shell's.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err("the command is empty".into());
        }
        let template = Self::read(text, &|name| placeholder(name).map(Some))?;
        for part in &template.parts {
            if let Part::Placeholder(OWN, context @ (Context::Comment | Context::Never(_))) = part {
                return Err(invalid!(
                    "`{{{OWN}}}` is {}, where no command can be: give it a line of its own",
                    context.description()
                ));
            }
        }
        Ok(template)
    }

    /// Reads a command whose placeholders are those that `known` finds.
    fn read(text: &str, known: &Known<'_>) -> Result<Self, Invalid> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        let mut quoting = Quoting::new();
        while let Some(at) = rest.find('{') {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            let escaped = brace.strip_prefix("{{").and_then(word);
            if let Some((name, behind)) = escaped
                && let Some(behind) = behind.strip_prefix('}')
                && known(name).is_ok_and(|name| name.is_some())
            {
                plain.push_str(&format!("{{{name}}}"));
                rest = behind;
                continue;
            }
            // `${HOME}` is the shell's.
            let found = word(&brace[1..]).filter(|_| !before.ends_with('$'));
            let found = found.map(|(name, behind)| known(name).map(|name| (name, behind)));
            if let Some((Some(name), behind)) = found.transpose()? {
                quoting.text(&plain);
                quoting.placeholder();
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(Part::Placeholder(name, Context::Bare));
                rest = behind;
            } else {
                plain.push('{');
                rest = &brace[1..];
            }
        }
        plain.push_str(rest);
        quoting.text(&plain);
        parts.push(Part::Text(plain));
        let is_open = quoting.is_open();
        let mut contexts = quoting.contexts().into_iter();
        for part in &mut parts {
            if let Part::Placeholder(_, context) = part {
                *context = contexts.next().expect("each placeholder was read");
            }
        }
        Ok(Self { text: text.to_owned(), parts, is_open })
    }

    /// Returns true if an arm's own command would take in the text after it: it ends within quotes,
    /// a comment or a here-document.
    pub(crate) fn swallows(&self, own: &Self) -> bool {
        let mut parts = self.parts.iter();
        // The text behind the first placeholder of the arm's command.
        parts.find(|part| matches!(part, Part::Placeholder(OWN, _)));
        own.is_open && !parts.all(Part::is_blank)
    }

    /// Returns true if it has this placeholder.
    pub fn has(&self, name: &str) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Placeholder(known, _) if *known == name))
    }

    /// Returns true if it has the placeholder of an arm's own command.
    pub fn has_own(&self) -> bool {
        self.has(OWN)
    }

    /// True if it is only an arm's own command.
    pub(crate) fn is_own(&self) -> bool {
        self.text.trim() == format!("{{{OWN}}}")
    }

    /// True if it names the measured file, device or directory.
    pub fn has_target(&self) -> bool {
        self.has("target") || self.has("dir")
    }

    /// The command as a shell takes it; values are quoted, an arm's own command is code.
    ///
    /// # Errors
    /// A value that could be read as code where its placeholder is.
    pub fn fill(&self, filling: &Filling<'_>) -> Result<String, Refusal> {
        let seed = filling.seed.to_string();
        self.write(&|name, context| match name {
            "target" => value(name, context, filling.target.unwrap_or_default()),
            "dir" => value(name, context, filling.dir.unwrap_or_default()),
            "arm" => value(name, context, filling.arm),
            "seed" => value(name, context, &seed),
            _ => {
                // A command of an arm has no placeholder for itself.
                let own = Filling { command: None, ..*filling };
                let own = filling.command.map(|command| command.fill(&own)).transpose()?;
                let code = own.unwrap_or_default();
                Ok(context.nest(&code).expect("it was refused where no command can be"))
            }
        })
    }

    /// The command with each placeholder as `filled` writes it.
    fn write(
        &self,
        filled: &dyn Fn(&'static str, Context) -> Result<String, Refusal>,
    ) -> Result<String, Refusal> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Placeholder(name, context) => text.push_str(&filled(name, *context)?),
            }
        }
        Ok(text)
    }
}

/// A command in which each `{name}` of `values` is its value, quoted for the shell; other braces
/// are left as they are.
///
/// # Errors
/// A value that could be read as code where its placeholder is.
pub fn substitute(command: &str, values: &[(&'static str, &str)]) -> Result<String, Refusal> {
    let template = Template::read(command, &|name| {
        Ok(values.iter().map(|(known, _)| *known).find(|known| *known == name))
    })?;
    template.write(&|name, context| {
        let found = values.iter().find(|(known, _)| *known == name);
        value(name, context, found.expect("it is one of them").1)
    })
}

/// A value as it is written in the context of its placeholder.
fn value(name: &str, context: Context, value: &str) -> Result<String, Refusal> {
    context.write(value).ok_or_else(|| {
        let position = context.description();
        Refusal::request(format!(
            "`{{{name}}}` is {position}, where a shell could read `{value}` as code"
        ))
        .hint(format!(
            "put it into a variable first, and use that: `export X={{{name}}}; ... \"$X\"`"
        ))
    })
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The word in front of a closing brace, and the rest behind that.
fn word(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = text.split_once('}')?;
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    (is_word && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some((name, behind))
}

fn placeholder(name: &str) -> Result<&'static str, Invalid> {
    let known = NAMES.iter().chain([&OWN]).find(|known| **known == name);
    known.copied().ok_or_else(|| {
        invalid!(
            "`{{{name}}}` is not a placeholder; there are `{{{}}}`; for the text itself write \
             `{{{{{name}}}}}`",
            NAMES.join("}`, `{")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLING: Filling<'_> = Filling {
        target: Some("/tmp/it's here"),
        dir: Some("/tmp"),
        arm: "sync on",
        seed: 7,
        command: None,
    };

    fn filled(text: &str) -> Result<String, Refusal> {
        Template::parse(text).unwrap().fill(&FILLING)
    }

    #[test]
    fn values_are_quoted_and_braces_of_the_shell_are_left() {
        let check = |text: &str, expected: &str| assert_eq!(filled(text).unwrap(), expected);
        check("a {target} b", "a '/tmp/it'\\''s here' b");
        check("x={dir}/f --arm={arm} -s{seed}", "x=/tmp/f --arm='sync on' -s7");
        check("echo ${HOME} ${target}", "echo ${HOME} ${target}");
        check("awk '{ print $1 }' {1..3} {} {a,b}", "awk '{ print $1 }' {1..3} {} {a,b}");
        check("echo {{arm}} {{x", "echo {arm} {{x");
        check("{", "{");
    }

    #[test]
    fn a_value_inside_quotes_is_quoted_for_these_or_refused() {
        let check = |text: &str, expected: &str| assert_eq!(filled(text).unwrap(), expected);
        check("cat '{target}'", "cat '/tmp/it'\\''s here'");
        check("cat \"{target}\"", "cat \"/tmp/it's here\"");
        check("X='-c dir={dir}' true", "X='-c dir=/tmp' true");
        check("x=$(({seed} % 2))", "x=$((7 % 2))");
        let check = |text: &str, place: &str| {
            let refusal = filled(text).unwrap_err();
            assert!(refusal.message.contains(place), "{refusal}");
            assert!(refusal.hints[0].contains("export X={"), "{refusal:?}");
        };
        check(
            "X='-c sync={arm}' true",
            "`{arm}` is inside quotes, where a shell could read `sync on`",
        );
        check("sh -c \"cat {target}\"", "`{target}` is inside quotes");
        check("cat <<E\n{target}\nE", "`{target}` is in a here-document");
        check("x=`cat {target}`", "`{target}` is inside `${...}`, `$((...))` or backquotes");
    }

    /// A shell reads every value back as it was.
    #[test]
    fn no_value_becomes_code() {
        let values =
            ["a;touch PWN;#", "$(touch PWN)", "`touch PWN`", "a' b\"c\\", "\\", "'", "\n", ""];
        let texts = [
            "printf %s {arm}",
            "printf %s '{arm}'",
            "printf %s \"{arm}\"",
            "printf %s \"$(printf %s {arm}; printf E)\"",
            "printf %s '-c x={arm}'",
            "sh -c 'printf %s {arm}'",
            "printf %s `printf %s {arm}`",
            "cat <<E\n{arm}\nE",
            "printf %s {arm} # {arm}",
            "printf %s \\{arm}",
        ];
        for (text, arm) in texts.iter().flat_map(|text| values.map(|value| (text, value))) {
            let template = Template::parse(text).unwrap();
            let Ok(command) = template.fill(&Filling { arm, ..FILLING }) else { continue };
            let folder = tempfile::tempdir().unwrap();
            let mut shell = std::process::Command::new("sh");
            let ran = shell.args(["-c", &command]).current_dir(folder.path()).output().unwrap();
            let printed = String::from_utf8(ran.stdout).unwrap();
            assert!(printed.contains(arm.trim_end()), "{command}: {printed}");
            assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "{command}");
        }
    }

    #[test]
    fn an_arms_own_command_is_code_and_its_placeholders_are_filled() {
        let own = Template::parse("dd of={target} | wc").unwrap();
        let check = |text: &str, expected: &str| {
            let all = Template::parse(text).unwrap();
            assert!(all.has_own() && own.has_target() && !all.has_target());
            let filling = Filling { target: Some("f g"), command: Some(&own), ..FILLING };
            assert_eq!(all.fill(&filling).unwrap(), expected);
        };
        check("{command}; sync", "dd of='f g' | wc; sync");
        check("sh -c 'cd /; {command}'", "sh -c 'cd /; dd of='\\''f g'\\'' | wc'");
        check("sh -c \"{command}\"", "sh -c \"dd of='f g' | wc\"");
        let open = Template::parse("dd # slow").unwrap();
        let swallows = |text: &str| Template::parse(text).unwrap().swallows(&open);
        assert!(swallows("{command}; sync") && !swallows("sync; {command} "));
        let wrong = Template::parse("true # {command}").unwrap_err();
        assert!(wrong.0.contains("`{command}` is in a comment"), "{wrong}");
    }

    #[test]
    fn other_placeholders_are_quoted_as_well() {
        let values = [("rank", "3"), ("host", "a;b")];
        let check = |text: &str, expected: &str| {
            assert_eq!(substitute(text, &values).unwrap(), expected);
        };
        check("mount /mnt/{rank} {host}", "mount /mnt/3 'a;b'");
        check("echo ${host} {arm} {{x}}", "echo ${host} {arm} {{x}}");
        substitute("ssh {host} 'on {host}'", &values).unwrap_err();
    }

    #[test]
    fn an_unknown_placeholder_is_refused() {
        let wrong = Template::parse("a {traget}").unwrap_err();
        assert!(wrong.0.contains("`{traget}` is not a placeholder"), "{wrong}");
        assert!(
            wrong.0.contains("`{target}`, `{dir}`") && wrong.0.contains("{{traget}}"),
            "{wrong}"
        );
        Template::parse("  ").unwrap_err();
    }
}
