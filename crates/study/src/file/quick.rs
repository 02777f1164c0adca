//! The study of `study --command A --command B`: the commands are the arms, wall time decides.

use std::collections::BTreeMap;

use crate::command::WALL;

/// The study file that compares commands, each before every run of which `prepare` is run.
///
/// It is a file as a user would write it: a results folder keeps it, and it can be edited.
pub fn quick(commands: &[String], prepare: Option<&str>) -> String {
    let mut text = format!(
        "title = {}\nprimary = \"command.{WALL}\"\n",
        quoted("Which command takes less time?")
    );
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for command in commands {
        let times = seen.entry(command).or_default();
        *times += 1;
        // The same command twice shows the variation of the machine alone.
        let name = if *times == 1 { command.clone() } else { format!("{command} ({times})") };
        text += &format!("\n[[arm]]\nname = {}\ncommand = {}\n", quoted(&name), quoted(command));
    }
    // The command of each arm fills this in.
    text += "\n[[workload]]\nname = \"command\"\ncommand = \"{command}\"\n";
    if let Some(prepare) = prepare {
        text += &format!("prepare = {}\n", quoted(prepare));
    }
    text
}

/// A basic string of TOML: JSON escapes what TOML does, and leaves DEL out.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::StudyFile;
    use crate::file::tests::TwoKeys;

    #[test]
    fn any_command_becomes_an_arm() {
        let nasty = "printf 'a\\n\"\tb\u{7f}\u{1}' | wc -c # {arm}";
        let commands = [nasty, "true", "true"].map(str::to_owned);
        let text = quick(&commands, Some("sync; echo \"$HOME\""));
        let study = StudyFile::parse("quick", &text, &TwoKeys).unwrap();
        let arms: Vec<(&str, String)> = study
            .arms
            .iter()
            .map(|arm| (arm.name.as_str(), arm.command.as_ref().unwrap().to_string()))
            .collect();
        let own = |command: &str| command.to_owned();
        let same = ("true (2)", own("true"));
        assert_eq!(arms, [(nasty, own(nasty)), ("true", own("true")), same]);
        let command = study.workloads[0].work.command().unwrap();
        assert_eq!(command.prepare.as_ref().unwrap().to_string(), "sync; echo \"$HOME\"");
        assert_eq!(study.primary, "command.wall_ns");
        // One alone is refused as any study of one arm.
        StudyFile::parse("quick", &quick(&commands[..1], None), &TwoKeys).unwrap_err();
    }
}
