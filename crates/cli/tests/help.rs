//! What the program says of itself.

use crate::common::{drivelab, folder};

#[test]
fn the_first_help_shows_every_verb_with_examples() {
    let folder = folder();
    insta::assert_snapshot!(drivelab(folder.path(), &["--help"]).out);
}

/// The names in the lists of verbs of a help: of the program in groups, of a verb in one list.
fn verbs(help: &str) -> Vec<String> {
    let titles = ["Measure:", "Conclude:", "Model:", "Break:", "Keep:", "Other:", "Commands:"];
    let mut names = Vec::new();
    for title in titles {
        let listed = help.split(&format!("\n{title}\n")).nth(1).unwrap_or_default();
        let listed = listed.lines().take_while(|line| !line.is_empty());
        let first_lines = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.extend(first_lines.filter_map(|line| line.split_whitespace().next()));
    }
    names.into_iter().filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn exit_codes_of_the_help_are_those_of_the_documentation() {
    let folder = folder();
    let help = drivelab(folder.path(), &["--help"]).out;
    let page = include_str!("../../../docs/reference/exit-codes.md");
    let listed = help.split("Exit codes:\n").nth(1).unwrap();
    let mut count = 0;
    for line in listed.lines() {
        let (code, meaning) = line.trim().split_once(' ').unwrap();
        let row = format!("| {code} | {}", meaning.trim());
        assert!(page.contains(&row), "no row begins with: {row}");
        count += 1;
    }
    assert_eq!(page.lines().filter(|line| line.starts_with("| ")).count(), count + 1);
}

#[test]
fn a_finding_is_explained_without_the_repository() {
    let folder = folder();
    let page = drivelab(folder.path(), &["inspect", "--explain", "ncq-off"]);
    assert_eq!(page.out, include_str!("../../../docs/findings/ncq-off.md"));
    let json = drivelab(folder.path(), &["inspect", "--explain", "ncq-off", "--json"]).json();
    assert_eq!(json["id"], "ncq-off");
    let unknown = drivelab(folder.path(), &["inspect", "--explain", "ncq"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("unknown finding `ncq`"), "{}", unknown.err);
    assert!(unknown.err.contains("ncq-off, link-below-capability"), "{}", unknown.err);
}

#[test]
fn every_verb_has_examples() {
    let folder = folder();
    let help = |words: &[&str]| drivelab(folder.path(), &[words, &["--help"]].concat()).out;
    let (mut groups, verbs_of_all) = (0, verbs(&help(&[])));
    for verb in &verbs_of_all {
        let said = help(&[verb]);
        let examples = said.split("Examples:").nth(1).unwrap_or_default();
        assert!(examples.contains(&format!("drivelab {verb}")), "{verb}: {said}");
        let inner = verbs(&said);
        groups += usize::from(!inner.is_empty());
        for name in inner {
            let own = help(&[verb, &name]);
            let shown = format!("drivelab {verb} {name}");
            assert!(examples.contains(&shown) || own.contains("Examples:"), "{shown}: {own}");
        }
    }
    assert!(groups > 3 && verbs_of_all.len() > 20, "{verbs_of_all:?}");
}

#[test]
fn completions_and_man_pages_are_generated() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish"] {
        let said = drivelab(folder.path(), &["completions", shell]);
        assert!(said.code == 0 && said.out.contains("ahci") | said.out.contains("study"));
    }
    let page = drivelab(folder.path(), &["man"]);
    assert!(page.code == 0 && page.out.contains(".TH drivelab"), "{page:?}");
    assert_eq!(drivelab(folder.path(), &["man", "--out", "pages"]).code, 0);
    for name in ["drivelab.1", "drivelab-study.1", "drivelab-run.1", "drivelab-compare.1"] {
        assert!(folder.path().join("pages").join(name).exists(), "{name}");
    }
}

#[test]
fn generated_texts_are_json_documents_where_that_is_asked_for() {
    let folder = folder();
    let script = drivelab(folder.path(), &["completions", "bash", "--json"]).json();
    assert_eq!(script["schema"], "drivelab.completions/1");
    assert!(script["script"].as_str().unwrap().contains("complete"), "{script}");
    let page = drivelab(folder.path(), &["man", "--json"]).json();
    assert_eq!(page["schema"], "drivelab.man/1");
    assert!(page["page"].as_str().unwrap().contains(".TH drivelab"), "{page}");
    let pages = drivelab(folder.path(), &["man", "--out", "pages", "--json"]).json();
    assert!(pages["pages"].as_array().unwrap().contains(&"drivelab-run.1".into()), "{pages}");
}

#[test]
fn man_pages_have_the_sections_and_values_of_man_pages() {
    let folder = folder();
    assert_eq!(drivelab(folder.path(), &["man", "--out", "pages"]).code, 0);
    let page =
        |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    let (main, crash) = (page("drivelab.1"), page("drivelab-crash.1"));
    assert!(main.contains(".SH EXIT STATUS") && main.contains(".SH EXAMPLES"), "{main}");
    assert!(!main.contains("EXTRA") && !crash.contains("EXTRA"), "{crash}");
    assert!(crash.contains("[\\fB\\-\\-cuts\\fR \\fIN\\fR]"), "{crash}");
    assert_eq!(main.matches(".el .ds Aq").count(), 1, "{main}");
    assert!(page("drivelab-drive-fit.1").contains(".SH SYNOPSIS"), "verbs in verbs have pages");
}

/// The options below each heading of a help.
fn headings(help: &str) -> Vec<(String, Vec<String>)> {
    let mut headings: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|it| !it.starts_with(' ')) {
            headings.push((heading.to_owned(), Vec::new()));
        } else if let (Some(option), Some((_, options))) = (
            line.trim_start().split_once("--").filter(|(before, _)| before.len() <= 4),
            headings.last_mut(),
        ) {
            let end = option.1.find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
            options.push(option.1[..end.unwrap_or(option.1.len())].to_owned());
        }
    }
    headings
}

#[test]
fn options_stand_below_a_heading_of_their_own() {
    let folder = folder();
    let of_headings = [
        ("Verification", &["verify", "verify-only", "verify-state", "power-was-cut"][..]),
        ("Archive", &["archive", "no-archive", "tag", "commit"]),
        ("Global options", &["json", "progress"]),
        (
            "Linux in virtual time",
            &[
                "in",
                "filesystem",
                "mount-options",
                "disk",
                "stack",
                "memory",
                "processor",
                "kernel",
                "wall-limit",
                "trace",
                "console",
            ],
        ),
    ];
    let help = drivelab(folder.path(), &["--help"]).out;
    assert!(help.contains("5    some of many hosts were lost"), "{help}");
    for verb in verbs(&help) {
        let help = drivelab(folder.path(), &[&verb, "--help"]).out;
        for (heading, options) in headings(&help) {
            let own = of_headings.iter().find(|(known, _)| *known == heading);
            for option in options {
                let belongs =
                    of_headings.iter().find(|(_, known)| known.contains(&option.as_str()));
                let is_right = match (own, belongs) {
                    (Some((_, known)), _) => known.contains(&option.as_str()),
                    (None, Some(_)) => verb != "run",
                    (None, None) => true,
                };
                assert!(is_right, "{verb}: --{option} below {heading}:\n{help}");
            }
        }
    }
}

#[test]
fn unknown_words_are_bad_requests_with_a_suggestion() {
    let folder = folder();
    drivelab(folder.path(), &["studdy"]).failed(2, &["study"]);
    drivelab(folder.path(), &["run", "x", "--iodpeth", "1"]).failed(2, &["--iodepth"]);
    drivelab(folder.path(), &[]).failed(2, &["Usage"]);
}

#[test]
fn a_line_break_in_a_value_begins_no_message_of_its_own() {
    let folder = crate::common::folder();
    let said = drivelab(folder.path(), &["run", "drive:fixed", "--size", "1\nerror: forged"]);
    said.failed(2, &["1\\nerror: forged"]);
    assert!(!said.err.contains("\nerror: forged"), "{said:?}");
}

/// The words in backquotes of a page, and those within them.
fn quoted(page: &str) -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = std::fs::read_to_string(root.join("docs/reference").join(page)).unwrap();
    let quoted = text.split('`').skip(1).step_by(2);
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    quoted.flat_map(|text| text.split(word)).map(str::to_owned).collect()
}

fn check_named(page: &str, names: &[String]) {
    let known = quoted(page);
    let missing: Vec<&String> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "docs/reference/{page} does not name {missing:?}");
}

#[test]
fn the_reference_names_every_workload_option_and_every_scheduler() {
    use drivelab_core::config::Choice as _;
    let flags = drivelab_core::workload::OPTIONS.iter().filter(|option| option.is_flag);
    let flags: Vec<String> =
        flags.map(|option| format!("--{}", option.name.replace('_', "-"))).collect();
    check_named("run.md", &flags);
    let keys: Vec<String> = drivelab_formats::fio::job::names().map(str::to_owned).collect();
    assert!(keys.contains(&"start_delay".to_owned()), "{keys:?}");
    check_named("job-files.md", &keys);
    let schedulers = drivelab_model::Scheduler::NAMES.iter();
    let schedulers: Vec<String> = schedulers.map(|(name, _)| (*name).to_owned()).collect();
    check_named("drive-spec.md", &schedulers);
}

/// What a real shell offers after `words`, the last of which is begun.
fn offered(shell: &str, words: &[&str]) -> Vec<String> {
    let folder = folder();
    let script = drivelab(folder.path(), &["completions", "bash"]).out;
    let script_path = folder.path().join("drivelab.bash");
    std::fs::write(&script_path, script).unwrap();
    let last = words.len() - 1;
    let ask = format!(
        "source {} && COMP_WORDS=({}) && COMP_CWORD={last} && \
         $(complete -p drivelab | sed 's/.*-F \\([^ ]*\\).*/\\1/') drivelab \"{}\" \"{}\" && \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script_path.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words[last],
        words[last - 1],
    );
    let said = std::process::Command::new(shell).args(["--norc", "-c", &ask]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_studies_drives_and_values() {
    let check = |words: &[&str], expected: &[&str]| {
        assert_eq!(offered("bash", words), expected, "{words:?}");
    };
    check(&["drivelab", "study", "ahci-or-i"], &["ahci-or-ide"]);
    check(&["drivelab", "study", "--stage", ""], &["simulate", "kernel", "emulate", "hardware"]);
    check(&["drivelab", "run", "x", "--rw", "randr"], &["randread", "randrw"]);
    check(&["drivelab", "run", "x", "--ioengine", "ps"], &["psync"]);
    let generic = [
        "generic-10k",
        "generic-5400",
        "generic-advanced-format",
        "generic-emmc",
        "generic-nvme",
        "generic-nvme-consumer",
        "generic-nvme-datacenter",
        "generic-qlc",
        "generic-sata",
        "generic-sata-consumer",
        "generic-sata-datacenter",
        "generic-sd",
        "generic-smr",
        "generic-usb-stick",
    ];
    check(&["drivelab", "serve", "generic"], &generic);
    check(&["drivelab", "drive", "show", "hita"], &["hitachi-hts542516k9sa00"]);
    check(&["drivelab", "replay", "t", "--drive", "hita"], &["hitachi-hts542516k9sa00"]);
    // Bash splits the word at its colon and expects the part after it.
    check(&["drivelab", "run", "drive", ":", "generic-5"], &["generic-5400"]);
}
