//! Converts fio's command lines, as found in guides, into the lines of a job file.

use drivelab_core::Refusal;

use super::problem::Problem;

/// One command: its lines, each with its line number in the text.
pub(super) type Command = Vec<(usize, String)>;

/// Options of the program itself: they control the output, not the measurement.
const OF_THE_PROGRAM: &[&str] = &[
    "output",
    "output-format",
    "minimal",
    "append-terse",
    "terse-version",
    "eta",
    "eta-newline",
    "eta-interval",
    "status-interval",
    "bandwidth-log",
    "aggrmode",
    "warnings-fatal",
    "max-jobs",
    "alloc-size",
    "debug",
];

/// The commands of `text`; `None` if it is a job file.
pub(super) fn commands(text: &str) -> Result<Option<Vec<Command>>, Problem> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']));
    let Some((number, first)) = lines.next() else { return Ok(None) };
    if !begins(first) {
        return Ok(None);
    }
    let mut commands: Vec<Vec<(usize, String)>> = Vec::new();
    for (number, line) in std::iter::once((number, first)).chain(lines) {
        // A backslash at the end joins lines, as in the shell that guides are written for.
        let (line, _) =
            line.rsplit_once('\\').filter(|(_, end)| end.is_empty()).unwrap_or((line, ""));
        if begins(line) {
            commands.push(Vec::new());
        }
        let words = split_words(line).map_err(Problem::at(number))?;
        let command = commands.last_mut().expect("the first line begins one");
        command.extend(words.into_iter().map(|word| (number, word)));
    }
    commands.into_iter().map(lines_of).collect::<Result<_, _>>().map(Some)
}

/// True if the line calls fio.
fn begins(line: &str) -> bool {
    let mut words = line.trim_start_matches("$ ").split_whitespace().filter(|word| *word != "sudo");
    words.next().is_some_and(|word| word == "fio" || word.ends_with("/fio"))
}

/// Splits a line like the shell, as far as guides need it: quotes.
fn split_words(line: &str) -> Result<Vec<String>, Refusal> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
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

/// The job file lines that are equivalent to the words of a command.
fn lines_of(words: Vec<(usize, String)>) -> Result<Command, Problem> {
    let first = words.first().map_or(1, |(number, _)| *number);
    let mut lines = vec![(first, "[global]".to_owned())];
    // Words before the call, such as `sudo`, are not options of fio.
    let call = words.iter().position(|(_, word)| word.ends_with("fio")).map_or(0, |at| at + 1);
    let mut words = words.into_iter().skip(call).peekable();
    while let Some((number, word)) = words.next() {
        let Some(option) = word.strip_prefix('-').map(|word| word.trim_start_matches('-')) else {
            let refusal = Refusal::request(format!("unexpected word `{word}` in the command line"));
            let hint = format!("run a job file alone: drivelab run --job {word}");
            return Err(Problem::at(number)(refusal.hint(hint)));
        };
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            // `--name value`: fio accepts a blank for the equals sign.
            None => (option, words.next_if(|(_, next)| !next.starts_with('-')).map(|next| next.1)),
        };
        match (key, value) {
            // It holds for all jobs of the command.
            ("readonly", _) => lines.insert(1, (number, "readonly".to_owned())),
            ("name", Some(name)) => lines.push((number, format!("[{name}]"))),
            (key, _) if OF_THE_PROGRAM.contains(&key) => {}
            (key, Some(value)) => lines.push((number, format!("{key}={value}"))),
            (key, None) => lines.push((number, key.to_owned())),
        }
    }
    Ok(lines)
}
