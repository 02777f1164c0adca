//! The words of a pasted command line.

use drivelab_core::Refusal;

use super::super::problem::At;

/// Programs that start another one, which people type in front of fio.
const STARTERS: &[&str] = &["sudo", "time", "nice", "ionice", "nohup", "env", "doas", "exec"];

/// True if the line calls fio.
pub(super) fn begins(line: &str) -> bool {
    // As the call is read later: `"fio is a tool"` is one word. A quote can end on another line.
    match split(line) {
        Ok(words) => call_at(&words.iter().map(String::as_str).collect::<Vec<_>>()).is_some(),
        Err(_) => call_at(&line.split_whitespace().collect::<Vec<_>>()).is_some(),
    }
}

/// The index of the call: after a prompt and programs that start others, with their options.
fn call_at(words: &[&str]) -> Option<usize> {
    let at = words
        .iter()
        .position(|word| *word == "fio" || word.ends_with("/fio") && !word.contains('='))?;
    let before = &words[..at];
    // `[root@host dir]# fio`, `user@host:~$ fio`, `$ fio`: a prompt ends with its sign.
    let prompt = before.iter().position(|word| word.ends_with(['$', '#', '%', '>']));
    let starters = &before[prompt.map_or(0, |at| at + 1)..];
    let is_started = starters.iter().all(|word| {
        STARTERS.contains(word)
            || word.starts_with('-')
            || word.bytes().all(|b| b.is_ascii_digit())
            || word.contains('=')
    });
    // A comment may speak of fio: only with options is it a call at the prompt of root.
    let is_comment = before.first() == Some(&"#") || before.first() == Some(&"##");
    let has_options = words.get(at + 1).is_some_and(|word| word.starts_with('-'));
    (is_started && (!is_comment || has_options)).then_some(at)
}

/// True for a word with which the shell ends a call, or redirects its output.
fn is_end(word: &str) -> bool {
    matches!(word, "|" | "||" | "&" | "&&" | ";" | "|&")
        || word.trim_start_matches(['1', '2', '&']).starts_with('>')
        || word.starts_with('<')
}

/// The words of a call alone: without the prompt, and without what the shell would do with the
/// output.
pub(super) fn call_of(words: Vec<(At, String)>) -> Vec<(At, String)> {
    let plain: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    // Behind a quote that another line closes there may be no call: then all words stay.
    let from = call_at(&plain).map_or(0, |at| at + 1);
    let plain_count = plain.len();
    let call = words.into_iter().skip(from);
    let mut call: Vec<_> = call.take_while(|(_, word)| !is_end(word)).collect();
    // `fio --name=a; echo done`, `fio --name=a&`.
    if let Some(at) = call.iter().position(|(_, word)| word.ends_with([';', '&'])) {
        call.truncate(at + 1);
        let last = &mut call[at].1;
        last.truncate(last.trim_end_matches([';', '&']).len());
    }
    call.retain(|(_, word)| !word.is_empty());
    debug_assert!(call.len() <= plain_count, "a call has no word that was not given");
    call
}

/// Splits a line like the shell, as far as guides need it: quotes, and a backslash before a blank.
pub(super) fn split(line: &str) -> Result<Vec<String>, Refusal> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // `\:` stays: it is fio's own escape.
            None if c == '\\' && chars.peek().is_some_and(|next| next.is_whitespace()) => {
                word.get_or_insert_default().extend(chars.next());
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(Refusal::request(format!("unclosed {quote}")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_behind_a_prompt_and_in_front_of_a_pipe() {
        let check = |line: &str, expected: &str| {
            assert!(begins(line), "{line}");
            let words = split(line).unwrap().into_iter().map(|word| (At::default(), word));
            let call = call_of(words.collect());
            let call: Vec<&str> = call.iter().map(|(_, word)| word.as_str()).collect();
            assert_eq!(call.join(" "), expected, "{line}");
        };
        assert!(!begins("$ \"fio is a tool\" -v"), "one word, which is not fio");
        assert!(begins("fio --name=\"a"), "the quote may end on the next line");
        for before in [
            "",
            "$ ",
            "# ",
            "sudo ",
            "$ sudo -E ",
            "time ",
            "[root@host ~]# ",
            "user@host:~/dir$ time sudo ",
            "nice -n 10 ",
            "X=1 /usr/local/bin/../bin/",
        ] {
            check(&format!("{before}fio --name=a --size=1m"), "--name=a --size=1m");
        }
        for behind in
            ["> out.txt", ">out", "2>&1", "| tee log", "&", "&& echo", "; ls", "< /dev/null"]
        {
            check(&format!("fio --name=a --size=1m {behind}"), "--name=a --size=1m");
        }
        check("fio --name=a& echo", "--name=a");
        check("fio --name='a b' --filename=x\\:y", "--name=a b --filename=x\\:y");
        for other in
            ["# fio runs this file", "; fio --name", "filename=/mnt/fio", "[fio]", "cat fio"]
        {
            assert!(!begins(other), "{other}");
        }
    }
}
