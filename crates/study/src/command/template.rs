//! Commands with places that are filled in for each run: `pgbench -n {target}`.

use std::fmt;

use super::quoted;

/// The places that every command may have.
const PLACES: [&str; 4] = ["target", "dir", "arm", "seed"];
/// The place of an arm's own command; what is put there is not quoted.
const OWN: &str = "command";

/// A command with places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(&'static str),
}

/// What the places of a run are filled with.
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
    /// Reads a command: `{word}` is a place, `{{word}}` is `{word}`, other braces are the shell's.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the command is empty".into());
        }
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('{') {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            let escaped = brace.strip_prefix("{{").and_then(word);
            if let Some((name, behind)) = escaped
                && let Some(behind) = behind.strip_prefix('}')
            {
                plain.push_str(&format!("{{{name}}}"));
                rest = behind;
                continue;
            }
            match word(&brace[1..]) {
                // `${HOME}` is the shell's.
                Some((name, behind)) if !before.ends_with('$') => {
                    let place = place(name)?;
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Place(place));
                    rest = behind;
                }
                _ => {
                    plain.push('{');
                    rest = &brace[1..];
                }
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Whether it has this place.
    pub fn has(&self, place: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Place(known) if *known == place))
    }

    /// Whether it takes the place of an arm's own command.
    pub fn has_own(&self) -> bool {
        self.has(OWN)
    }

    /// Whether it is nothing else than an arm's own command.
    pub(crate) fn is_own(&self) -> bool {
        self.text.trim() == format!("{{{OWN}}}")
    }

    /// Whether it names what is measured.
    pub fn has_target(&self) -> bool {
        self.has("target") || self.has("dir")
    }

    /// The command as a shell takes it; places are quoted, except for an arm's own command.
    pub fn fill(&self, filling: &Filling<'_>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Place("target") => quoted(filling.target.unwrap_or_default()).into_owned(),
            Part::Place("dir") => quoted(filling.dir.unwrap_or_default()).into_owned(),
            Part::Place("arm") => quoted(filling.arm).into_owned(),
            Part::Place("seed") => filling.seed.to_string(),
            Part::Place(_) => {
                // A command of an arm has no place for itself.
                let own = Filling { command: None, ..*filling };
                filling.command.map(|command| command.fill(&own)).unwrap_or_default()
            }
        };
        self.parts.iter().map(part).collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The word in front of a closing brace, and what follows that.
fn word(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = text.split_once('}')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && name.chars().all(is_word)).then_some((name, behind))
}

fn place(name: &str) -> Result<&'static str, String> {
    let known = PLACES.iter().chain([&OWN]).find(|known| **known == name);
    known.copied().ok_or_else(|| {
        format!(
            "`{{{name}}}` is not a placeholder; there are `{{{}}}`; for the text itself write \
             `{{{{{name}}}}}`",
            PLACES.join("}`, `{")
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

    #[test]
    fn places_are_filled_quoted_and_braces_of_the_shell_are_left() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Template::parse(text).unwrap().fill(&FILLING), expected);
        };
        check("a {target} b", "a '/tmp/it'\\''s here' b");
        check("x={dir}/f --arm={arm} -s{seed}", "x=/tmp/f --arm='sync on' -s7");
        check("echo ${HOME} ${target}", "echo ${HOME} ${target}");
        check("awk '{ print $1 }' {1..3} {} {a,b}", "awk '{ print $1 }' {1..3} {} {a,b}");
        check("awk '{{print}}' {{x", "awk '{print}' {{x");
        check("{", "{");
    }

    #[test]
    fn an_arms_own_command_is_put_in_as_it_is_and_its_places_are_filled() {
        let own = Template::parse("dd of={target} | wc").unwrap();
        let all = Template::parse("{command}; sync").unwrap();
        let filled = all.fill(&Filling { target: Some("f g"), command: Some(&own), ..FILLING });
        assert_eq!(filled, "dd of='f g' | wc; sync");
        assert!(all.has_own() && own.has_target() && !all.has_target());
    }

    #[test]
    fn an_unknown_place_is_refused() {
        let wrong = Template::parse("a {traget}").unwrap_err();
        assert!(wrong.contains("`{traget}` is not a placeholder"), "{wrong}");
        assert!(wrong.contains("`{target}`, `{dir}`") && wrong.contains("{{traget}}"), "{wrong}");
        Template::parse("  ").unwrap_err();
    }
}
