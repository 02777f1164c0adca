//! Study files that are read, and files that are refused.

use super::*;
use drivelab_core::{Invalid, invalid};

/// Two keys, one of which is a switch.
#[derive(Debug)]
pub(crate) struct TwoKeys;

impl Vocabulary for TwoKeys {
    fn keys(&self) -> Vec<&'static str> {
        vec!["controller", "write-cache"]
    }

    fn read(&self, key: &'static str, value: &str) -> Result<Setting, Invalid> {
        match (key, value) {
            ("write-cache", "on" | "off") | ("controller", _) => {
                Ok(Setting::new(key, value.to_owned(), value.len()))
            }
            _ => Err(invalid!("`{value}` is neither `on` nor `off`")),
        }
    }

    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
        if name != "tree" {
            return Err(section.error(format!("there is no suite `{name}`")));
        }
        let files = section.take::<u32>("files")?;
        Ok(Suite {
            name: name.to_owned(),
            options: files.map(|files| ("files".into(), files.to_string())).into_iter().collect(),
            summary: "files are made".into(),
            metrics: vec!["make.files_per_s".into(), "make.wall_ns".into()],
            headline: "make.files_per_s".into(),
            needs: Needs::Tree,
            writes: true,
            time: None,
        })
    }

    fn formats(&self) -> Vec<&'static str> {
        vec!["fio"]
    }
}

const STUDY: &str = r#"
title = "Is it worth enabling AHCI?"
primary = "read.iops"
margin = "5%"

[base]
drive = "disk,controller=ide"

[[arm]]
name = "ide"
price_usd = 99.5

[[arm]]
name = "ahci"
controller = "ahci"

[[workload]]
name = "read"
rw = "randread"
runtime = "9s"

[[workload]]
name = "write"
rw = "randwrite"
runtime = "9s"

[curve]
iodepth = [1, 4]
"#;

fn parse(text: &str) -> Result<StudyFile, ConfigError> {
    StudyFile::parse("study.toml", text, &TwoKeys)
}

fn refused(text: &str, parts: &[&str]) {
    let error = parse(text).expect_err(text).to_string();
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// The study with `to` in place of `from`.
fn with(from: &str, to: &str) -> String {
    assert!(STUDY.contains(from), "{from}");
    STUDY.replacen(from, to, 1)
}

#[test]
fn the_margin_is_a_ratio_between_0_and_100_percent() {
    assert_eq!(parse(STUDY).unwrap().margin, Ratio::percent(5));
    refused(&with("5%", "0%"), &["`margin`", "between 0 and 100 %"]);
}

#[test]
fn a_stage_overrides_what_the_file_says_elsewhere() {
    let own = "[stage]\ndefault = \"simulate\"\n[stage.hardware]\nruntime = \"2s\"\nblocks = 6\n\
               workloads = [\"read\"]\ncurve = false\n[stage.emulate]\nramp_time = \"1s\"\n[base]";
    let text = with("[base]", own);
    let at = |stage, blocks| {
        let mut study = parse(&text).unwrap();
        assert!(study.is_stage_named);
        study.choose(Choices { stage, blocks, ..Choices::default() }).unwrap();
        let times: Vec<u64> = study
            .workloads
            .iter()
            .filter_map(|named| named.work.load())
            .map(|load| (load.runtime + load.ramp_time).ns() / 1_000_000_000)
            .collect();
        let depths = study.curve.map(|curve| curve.depths[0].1.ramp_time.ns() / 1_000_000_000);
        (study.blocks, times, depths)
    };
    assert_eq!(at(None, None), (10, vec![9, 9], Some(0)));
    assert_eq!(at(Some(StageName::Hardware), None), (6, vec![2], None));
    assert_eq!(at(Some(StageName::Hardware), Some(8)), (8, vec![2], None));
    assert_eq!(at(Some(StageName::Emulate), None), (10, vec![10, 10], Some(1)));
    let wrong = |from, to, parts: &[&str]| refused(&text.replacen(from, to, 1), parts);
    wrong("[\"read\"]", "[\"write\"]", &["[stage.hardware]", "`read` must be among"]);
    wrong("[\"read\"]", "[\"reed\"]", &["no workload `reed`", "`write`"]);
    wrong("stage.emulate", "stage.emulat", &["unknown key `emulat`"]);
    wrong("blocks = 6", "blocks = 0", &["[stage.hardware]", "`blocks`"]);
}

#[test]
fn a_finding_may_rest_on_the_processor_or_on_a_second_run() {
    let finding = "[[finding]]\nname = \"a gain\"\nprocessor = [99, 98]\nat_most = 2\n\
                   [[finding]]\nname = \"another\"\nfigure = \"read.iops of ahci over ide\"\n\
                   again = \"write\"\npublished_value = 1.1\nat_most = 2\n[curve]";
    let text = with("[curve]", finding);
    let study = parse(&text).unwrap();
    assert_eq!(study.findings[0].processor, Some([99.0, 98.0]));
    assert_eq!(study.findings[1].again.as_deref(), Some("write"));
    // What is needed of the second run is not dropped as a detail.
    let index = study.workloads.iter().position(|named| named.name == "write").unwrap();
    assert!(study.wanted(Task::Workload(index)).contains(&"iops".to_owned()));
    let wrong = |from, to, parts: &[&str]| refused(&text.replacen(from, to, 1), parts);
    wrong("[99, 98]", "[99]", &["two shares in percent"]);
    wrong("[99, 98]", "[99, 101]", &["from 1 to 100"]);
    wrong("again = \"write\"", "again = \"wriet\"", &["`again`", "`wriet`"]);
    wrong("ahci over ide", "ahci", &["`again` needs a ratio"]);
    let runs =
        "again = \"write\"\nelsewhere = [48.1, 50.9, 30, 41, 77, 60]\nelsewhere_of = \"bonnie++\"";
    let there = text.replacen("again = \"write\"", runs, 1);
    let found = parse(&there).unwrap().findings[1].elsewhere.clone().unwrap();
    assert_eq!((found.runs.len(), found.of.as_str()), (6, "bonnie++"));
    refused(&there.replacen(", 77, 60", "", 1), &["at least 6 runs"]);
    refused(&there.replacen("77", "0", 1), &["above zero"]);
    refused(&there.replacen("elsewhere_of = \"bonnie++\"", "", 1), &["belong together"]);
    let relative = "read.iops relative to write.iops of ahci over ide";
    parse(&text.replace("read.iops of ahci over ide", relative)).unwrap();
    wrong("read.iops of ahci", "read.iops relative to reed.iops of ahci", &["`reed`"]);
}

#[test]
fn a_stage_has_its_own_primary_metric_and_its_own_findings() {
    let own = "[stage]\n[stage.kernel]\nprimary = \"write.iops\"\nworkloads = [\"write\"]\n\
               notes = [\"real\"]\nblocks = 6\n[base]";
    let finding = "[[finding]]\nname = \"a gain\"\ncannot_tell = \"no file system\"\n\
                   [finding.kernel]\nfigure = \"write.iops of ahci over ide\"\nat_least = 2\n\
                   [curve]";
    let text = with("[base]", own).replace("[curve]", finding);
    let at = |stage| {
        let mut study = parse(&text).unwrap();
        study.choose(Choices { stage: Some(stage), ..Choices::default() }).unwrap();
        study.settle_blocks(true).unwrap();
        study
    };
    assert!(parse(&text).unwrap().is_made_for(StageName::Kernel));
    let simulated = at(StageName::Simulate);
    assert!(!simulated.is_made_for(StageName::Hardware));
    assert_eq!((simulated.primary.as_str(), simulated.blocks), ("read.iops", 20));
    assert!(simulated.findings[0].cannot_tell.is_some() && simulated.findings[0].figure.is_empty());
    let kernel = at(StageName::Kernel);
    assert_eq!((kernel.primary.as_str(), kernel.blocks), ("write.iops", 6));
    let [finding] = &kernel.findings[..] else { panic!("{:?}", kernel.findings) };
    assert_eq!((finding.name.as_str(), finding.at_least), ("a gain", Some(2.0)));
    assert_eq!((finding.cannot_tell.as_ref(), kernel.notes), (None, vec!["real".to_owned()]));
    let wrong = |from, to, parts: &[&str]| refused(&text.replacen(from, to, 1), parts);
    wrong("at_least = 2", "", &["a finding needs a bound"]);
    wrong("at_least = 2", "at_least = 2\nat_msot = 3", &["unknown key `at_msot`"]);
    wrong("finding.kernel", "finding.kernle", &["unknown key `kernle`"]);
    wrong("\"write.iops\"", "\"wriet.iops\"", &["[stage.kernel]", "the workload `wriet`"]);
    wrong("\"write.iops\"", "\"read.iops\"", &["[stage.kernel]", "`read` must be among"]);
}

#[test]
fn workloads_that_are_left_out_change_nothing_for_the_others() {
    let mut study = parse(&with("\"read.iops\"", "\"write.iops\"")).unwrap();
    let all: Vec<usize> = study.workloads.iter().map(|named| named.number).collect();
    let only = ["write".to_owned()];
    study.choose(Choices { only: &only, ..Choices::default() }).unwrap();
    let left: Vec<usize> = study.workloads.iter().map(|named| named.number).collect();
    assert_eq!((all, left), (vec![0, 1], vec![1]));
    assert!(study.curve.is_none());
    let wrong = |only: &[&str], part: &str| {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let choices = Choices { only: &only, ..Choices::default() };
        let error = parse(STUDY).unwrap().choose(choices).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    wrong(&["write"], "`read` must be among the workloads: the verdict rests on `read.iops`");
    wrong(&["read", "reed"], "there is no workload `reed`");
}

#[test]
fn an_arm_declares_its_drive_and_what_stands_behind_its_name() {
    let text = with("controller = \"ahci\"", "drive = \"drive:other,controller=ahci,tags=8\"");
    let study = parse(&text).unwrap();
    let declares = |arm: usize| study.arms[arm].declares(study.drive.as_deref());
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(factor, value)| ((*factor).into(), (*value).into())).collect()
    };
    assert_eq!(declares(0), pairs(&[("drive", "disk"), ("controller", "ide")]));
    let other = [("drive", "other"), ("controller", "ahci"), ("queue-depth", "8")];
    assert_eq!(declares(1), pairs(&other));
    // What the arm sets goes before what its drive brings along.
    let text = text.replacen("drive = \"drive:other", "controller = \"scsi\"\ndrive = \"other", 1);
    let study = parse(&text).unwrap();
    assert!(study.arms[1].declares(None).contains(&("controller".into(), "scsi".into())));
    assert_eq!(study.arms[1].declares(None).len(), 3);
}

#[test]
fn targets_are_paths() {
    let study = parse(&with("price_usd", "target = \"/mnt/one/file\"\nprice_usd")).unwrap();
    assert_eq!(study.arms[0].targets, ["/mnt/one/file"]);
    refused(&with("price_usd", "target = \"drive:disk\"\nprice_usd"), &["`drive = \"NAME\"`"]);
    refused(&with("price_usd", "target = \"\"\nprice_usd"), &["`target`", "path"]);
    refused(&with("99.5", "0"), &["`price_usd`", "above 0"]);
}

/// Four arms, the combinations of two factors.
fn factorial(change: (&str, &str)) -> String {
    let mut text = String::new();
    for mode in ["ide", "ahci"] {
        for caching in ["on", "off"] {
            let levels = format!("{{ mode = \"{mode}\", caching = \"{caching}\" }}");
            text += &format!("[[arm]]\nname = \"{mode}-{caching}\"\nlevels = {levels}\n");
        }
    }
    let (_, rest) = STUDY.split_once("[[workload]]").unwrap();
    let (head, _) = STUDY.split_once("[[arm]]").unwrap();
    let interaction = "[[interaction]]\nfactors = [\"mode\", \"caching\"]\n";
    let text = format!("asks = \"gain\"{head}{text}{interaction}[[workload]]{rest}");
    assert!(text.contains(change.0), "{change:?}");
    text.replacen(change.0, change.1, 1)
}

#[test]
fn an_interaction_needs_every_combination_of_its_levels() {
    let study = parse(&factorial(("", ""))).unwrap();
    assert_eq!(
        study.interactions,
        [Interaction { factors: vec!["mode".into(), "caching".into()] }]
    );
    assert!(study.asks_gain);
    assert_eq!(study.arms[3].level("caching"), Some("off"));
    let check = |change, parts: &[&str]| refused(&factorial(change), parts);
    check(("[\"mode\", \"caching\"]", "[\"mode\"]"), &["two factors"]);
    check(("[\"mode\", \"caching\"]", "[\"mode\", \"mode\"]"), &["two factors"]);
    check(("[\"mode\", \"caching\"]", "[\"mode\", \"cache\"]"), &["no level of `cache`"]);
    let one_level = ("caching = \"off\"", "caching = \"on\"");
    check(one_level, &["4 combinations, but the arms cover 3"]);
    check(("asks = \"gain\"", "asks = \"loss\""), &["`asks`", "\"gain\""]);
}

#[test]
fn findings_name_what_exists_and_have_bounds() {
    let finding = |figure: &str, bounds: &str| {
        let finding = format!(
            "[[finding]]\nname = \"faster\"\nsource = \"an article\"\nfigure = \"{figure}\"\n{bounds}"
        );
        with("[curve]", &format!("{finding}\n[curve]"))
    };
    let study = parse(&finding("read.iops of ahci over ide", "at_least = 1.5")).unwrap();
    assert_eq!(study.findings[0].figure, "read.iops of ahci over ide");
    assert_eq!((study.findings[0].at_least, study.findings[0].at_most), (Some(1.5), None));
    parse(&finding("write.lat_p99_ns of ide", "at_least = 1\nat_most = 1")).unwrap();
    parse(&finding("read.iops_per_usd of ide", "at_least = 1")).unwrap();
    let check = |figure, bounds, part| refused(&finding(figure, bounds), &[part]);
    check("read.iops of ahci", "", "needs a bound");
    check("read.iops of ahci", "at_least = 2\nat_most = 1", "is above `at_most`");
    check("read.iops of ahci", "at_least = nan", "number");
    check("read.iops", "at_least = 2", "write `WORKLOAD.METRIC of ARM`");
    check("reed.iops of ahci", "at_least = 2", "the workload `reed`");
    check("read.iopses of ahci", "at_least = 2", "the metric `iopses`");
    check("read.lat_p99_ns_per_usd of ahci", "at_least = 2", "the metric");
    check("read.iops of scsi", "at_least = 2", "the arm `scsi`");
    check("read.iops of ahci over scsi", "at_least = 2", "the arm `scsi`");
    // A finding about a workload that is left out is left out with it.
    let mut study = parse(&finding("write.iops of ide", "at_least = 1")).unwrap();
    let only = ["read".to_owned()];
    study.choose(Choices { only: &only, ..Choices::default() }).unwrap();
    assert!(study.findings.is_empty());
}

#[test]
fn settings_are_those_of_the_vocabulary() {
    let study = parse(STUDY).unwrap();
    let [setting] = &study.arms[1].settings[..] else { panic!("{:?}", study.arms[1]) };
    assert_eq!((setting.key, setting.text.as_str()), ("controller", "ahci"));
    assert_eq!((setting.typed::<usize>(), setting.typed::<u8>()), (Some(&4), None));
    refused(&with("controller = \"ahci\"", "contoller = \"ahci\""), &["unknown key `contoller`"]);
    let wrong = with("controller = \"ahci\"", "write-cache = \"maybe\"");
    refused(&wrong, &["`write-cache`", "neither `on` nor `off`"]);
}

#[test]
fn blocks_are_specimens_where_the_drive_leaves_something_open() {
    let settled = |blocks, specimens, leaves_open, of_file: &str| {
        let mut study = parse(&format!("{of_file}\n{STUDY}")).unwrap();
        let stage = Some(StageName::Simulate);
        study.choose(Choices { stage, blocks, specimens, ..Choices::default() })?;
        study.settle_blocks(leaves_open)?;
        Ok::<_, drivelab_core::Refusal>((study.blocks, study.draws_specimens))
    };
    let check = |blocks, specimens, leaves_open, of_file: &str, expected| {
        assert_eq!(settled(blocks, specimens, leaves_open, of_file).unwrap(), expected);
    };
    check(None, None, true, "blocks = 12", (20, true));
    check(None, None, true, "blocks = 30", (30, true));
    check(None, None, false, "blocks = 12", (12, false));
    check(Some(7), None, true, "blocks = 12", (7, true));
    check(None, Some(40), true, "blocks = 12", (40, true));
    check(None, Some(1), true, "blocks = 12", (12, false));
    check(Some(9), Some(1), true, "blocks = 12", (9, false));
    check(Some(9), Some(9), true, "blocks = 12", (9, true));
    assert!(settled(Some(9), Some(8), true, "").unwrap_err().to_string().contains("contradict"));
    assert!(settled(None, Some(0), true, "").unwrap_err().to_string().contains("from 1 to"));
    let mut study = parse(STUDY).unwrap();
    let stage = Some(StageName::Emulate);
    let wrong = study.choose(Choices { stage, specimens: Some(9), ..Choices::default() });
    assert!(wrong.unwrap_err().to_string().contains("emulate runs on one drive"));
}

/// A study of two commands, with more keys of the workload.
fn commands(keys: &str) -> String {
    format!(
        "title = \"Is it quicker?\"\nprimary = \"bench.tps\"\n[[arm]]\nname = \"on\"\n\
         [[arm]]\nname = \"off\"\n[[workload]]\nname = \"bench\"\n{keys}"
    )
}

#[test]
fn a_command_is_a_workload_with_metrics_of_its_own() {
    const TPS: &str = "[workload.metrics]\ntps = { regex = \"tps = ([0-9.]+)\", unit = \"1/s\", \
                       better = \"more\" }\nwal = { json = \"a[0].b\", better = \"less\" }\n";
    let keys = "command = \"bench {arm} {target}\"\nprograms = [\"bench\"]\ntimeout = \"9s\"\n";
    let keys = format!("{keys}{TPS}");
    let study = parse(&commands(&keys)).unwrap();
    assert!(study.is_of_commands() && study.needs_target());
    let command = study.workloads[0].work.command().unwrap();
    assert_eq!(command.programs, ["bench"]);
    assert_eq!(command.metric_names().unwrap(), ["tps", "wal", "wall_ns", "cpu_ns"]);
    assert_eq!((study.workloads[0].work.headline().as_str(), command.timeout), {
        ("tps", drivelab_core::Span::from_secs(9))
    });
    assert_eq!(study.workloads[0].summary, "bench {arm} {target}");
    let long = commands(&keys).replace("{target}", &"{target} ".repeat(9));
    let cut = "bench {arm} {target} {target} {target} {target} {target} ...";
    assert_eq!(parse(&long).unwrap().workloads[0].summary, cut);
    let primary = commands(&keys).replace("bench.tps", "bench.wal");
    let study = parse(&primary).unwrap();
    assert_eq!(study.headline(&study.workloads[0]), "wal");
    let wrong = |keys: &str, parts: &[&str]| refused(&commands(keys), parts);
    wrong("command = \"a\"", &["`tps`; there are `wall_ns`, `cpu_ns`"]);
    wrong("command = \"a {tagret}\"", &["`{tagret}` is not a placeholder"]);
    wrong("command = \"a\"\nformat = \"foi\"", &["`foi` is not a known format", "`fio`"]);
    wrong("command = \"a\"\nbs = \"4k\"", &["unknown key `bs`"]);
    wrong("command = \"a\"\nsuite = \"tree\"", &["either a `command` or a `suite`"]);
    wrong("command = \"a\"\n[workload.metrics]\ntps = { regex = \"(.)\" }", &["which way"]);
    let tps = |metric: &str| format!("command = \"a\"\n[workload.metrics]\ntps = {{ {metric} }}");
    wrong(&tps("regex = \".\", better = \"more\""), &["no group for the number"]);
    wrong(&tps("regex = \"(\", better = \"more\""), &["`regex`"]);
    wrong(&tps("better = \"more\""), &["one of `regex = ` and `json = `"]);
    wrong(&tps("json = \"a\", unti = \"s\", better = \"more\""), &["[metrics.tps]", "`unti`"]);
    // What a format holds is known when it is there.
    parse(&commands("command = \"a\"\nformat = \"fio\"")).unwrap();
}

#[test]
fn a_suite_declares_what_it_measures_and_takes_its_options() {
    let with = |primary: &str, keys: &str| {
        commands(&format!("suite = \"tree\"\n{keys}")).replace("bench.tps", primary)
    };
    let study = parse(&with("bench.make.files_per_s", "files = 7\n")).unwrap();
    let Work::Suite(suite) = &study.workloads[0].work else { panic!("it is a suite") };
    assert_eq!(suite.options, [("files".to_owned(), "7".to_owned())]);
    refused(&with("bench.files_per_s", ""), &["`files_per_s`; there are `make.files_per_s`"]);
    refused(&with("bench.make.files_per_s", "fiels = 7"), &["unknown key `fiels`"]);
    refused(&commands("suite = \"tere\""), &["there is no suite `tere`"]);
}

#[test]
fn arms_have_commands_where_a_workload_runs_them() {
    let arms = |one: &str, two: &str| {
        commands("command = \"{command}\"")
            .replace("bench.tps", "bench.wall_ns")
            .replace("name = \"on\"", &format!("name = \"on\"\n{one}"))
            .replace("name = \"off\"", &format!("name = \"off\"\n{two}"))
    };
    let study = parse(&arms("command = \"a\"", "command = \"b\"")).unwrap();
    assert!(!study.needs_target());
    assert_eq!(study.arms[1].declares(None), [(String::new(), "b".to_owned())]);
    refused(&arms("command = \"a\"", ""), &["arm `off` has no `command`"]);
    refused(&arms("command = \"{command}\"", ""), &["has no place for `{command}`"]);
    let unused = arms("command = \"a\"", "").replace("\"{command}\"", "\"x\"");
    refused(&unused, &["no workload runs the command of arm `on`"]);
}
