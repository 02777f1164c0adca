//! A file in the order of the schema, with the figures published for three SATA modes.

use super::*;
use drivelab_core::record::{Figure, Nature};

const HEAD: &str = r#"<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="xsl/pts-results-viewer.xsl"?>
<PhoronixTestSuite>
  <Generated>
    <Title>SATA &amp; BIOS</Title>
    <LastModified>2015-07-01 10:11:12</LastModified>
    <TestClient>Phoronix Test Suite v5.8.0</TestClient>
    <Description/>
  </Generated>
  <System>
    <Identifier>ide-enhanced</Identifier>
    <Hardware>Processor: 2 x Intel Xeon, Disk: 4 x 250GB ST250DM000-1BD</Hardware>
    <TestClientVersion>v5.8.0</TestClientVersion>
  </System>
"#;

fn result(profile: &str, description: &str, unit: (&str, &str), entries: &str) -> String {
    let (scale, proportion) = unit;
    format!(
        "  <Result>\n    <Identifier>{profile}</Identifier>\n    <Title>A test</Title>\n    \
         <AppVersion>1</AppVersion>\n    <Arguments/>\n    <Description>{description}\
         </Description>\n    <Scale>{scale}</Scale>\n    <Proportion>{proportion}</Proportion>\n    \
         <DisplayFormat>BAR_GRAPH</DisplayFormat>\n    <Data>\n{entries}    </Data>\n  </Result>\n"
    )
}

fn entry(system: &str, value: &str, raw: &str) -> String {
    let raw = if raw.is_empty() { String::new() } else { format!("<RawString>{raw}</RawString>") };
    format!("<Entry><Identifier>{system}</Identifier><Value>{value}</Value>{raw}</Entry>\n")
}

fn file(results: &[String]) -> String {
    format!("{HEAD}{}</PhoronixTestSuite>\n", results.concat())
}

fn sqlite() -> String {
    let entries = entry("ide-enhanced", "1708.55", "1700.50:1710.05:1715.10")
        + &entry("ahci-bios-native", "794.92", "");
    result("pts/sqlite-1.9.0", "", ("Seconds", "LIB"), &entries)
}

fn metrics(imported: &Imported) -> Vec<(String, Figure)> {
    let of = |run: &drivelab_core::foreign::ImportedRun| {
        let arm = run.arm.clone();
        let figures = run.phases.iter().flat_map(Phase::metrics);
        figures.map(|figure| (arm.clone(), figure)).collect::<Vec<_>>()
    };
    imported.runs.iter().flat_map(of).collect()
}

fn labels(figure: &Figure) -> Vec<Label> {
    figure.remarks.iter().map(|remark| remark.label).collect()
}

#[test]
fn systems_are_arms_and_trials_are_runs() {
    let imported = parse(&file(&[sqlite()])).unwrap();
    assert_eq!(
        (imported.tool.as_str(), imported.tool_version.as_str()),
        ("Phoronix Test Suite", "5.8.0")
    );
    let found: Vec<_> =
        metrics(&imported).into_iter().map(|(arm, f)| (arm, f.name, f.value)).collect();
    let value = |arm: &str, value| (arm.to_owned(), "sqlite-1.9.0".to_owned(), value);
    let expected = [
        value("ide-enhanced", 1700.5),
        value("ide-enhanced", 1710.05),
        value("ide-enhanced", 1715.1),
        value("ahci-bios-native", 794.92),
    ];
    assert_eq!(found, expected);
    let (_, first) = &metrics(&imported)[0];
    assert_eq!((first.unit.as_str(), first.better), ("Seconds", Better::Less));
    assert_eq!(labels(first), [Label::Nature(Nature::JournalSync)]);
    let (_, mean) = &metrics(&imported)[3];
    assert!(labels(mean).contains(&Label::SingleRun));
    assert!(imported.unknown.is_empty() && imported.notes.is_empty(), "{imported:?}");
}

#[test]
fn tests_are_named_for_what_they_measure() {
    let check = |profile: &str, description: &str, expected: &[Label]| {
        let unit = ("MB/s", "HIB");
        let text = file(&[result(profile, description, unit, &entry("a", "10", "9:11"))]);
        let imported = parse(&text).unwrap();
        assert_eq!(labels(&metrics(&imported)[0].1), expected, "{profile} {description}");
    };
    let journal = [Label::Nature(Nature::JournalSync)];
    let cached = [Label::Nature(Nature::PageCache), Label::NotDisk];
    check("pts/fs-mark-1.0.1", "Test: 1000 Files, 1MB Size", &journal);
    check("pts/fs-mark-1.0.1", "Test: 1000 Files, 1MB Size, No Sync/FSync", &[cached[0]]);
    let random_read = "Test: Random Read - Size Per Thread: 64MB - Thread Count: 32";
    let random_write = "Test: Random Write - Size Per Thread: 64MB - Thread Count: 32";
    check("pts/tiobench-1.2.0", random_read, &cached);
    check("pts/tiobench-1.2.0", random_write, &[]);
    check("pts/tiobench-1.3.1", random_write, &[Label::ToolDefect]);
    check("pts/apache-1.5.1", "", &[Label::Nature(Nature::Cpu), Label::NotDisk]);
    check("pts/blogbench-1.1.0", "Test: Read", &[cached[0]]);
}

#[test]
fn unknown_tests_and_values_are_kept_as_unknown() {
    let odd = result("pts/odd-1.0.0", "", ("", ""), &entry("a", "12", "12"));
    let curve =
        result("pts/curve-1.0.0", "Disk &amp; Co", ("MB/s", "HIB"), &entry("a", "1,2,3", ""));
    let imported = parse(&file(&[odd.clone(), odd, curve])).unwrap();
    let names: Vec<_> = metrics(&imported).into_iter().map(|(_, f)| (f.name, f.better)).collect();
    let neither = |name: &str| (name.to_owned(), Better::Neither);
    assert_eq!(names, [neither("odd-1.0.0"), neither("odd-1.0.0-2")]);
    assert_eq!(imported.unknown, ["line 51: `curve-1.0.0-disk-co: 1,2,3`"]);
    assert!(imported.notes[0].starts_with("What `odd-1.0.0` measures is unknown"));
}

#[test]
fn values_beyond_the_limit_are_named() {
    let full = entry("a", "12", &vec!["1"; 10_000].join(":"));
    let filled = |number: usize| result(&format!("pts/a-{number}"), "", ("", ""), &full);
    let all: Vec<String> = (0..6).map(filled).collect();
    let imported = parse(&file(&all)).unwrap();
    assert_eq!(metrics(&imported).len(), 50_000);
    assert!(imported.unknown[0].ends_with("more than 50000 values: this result is not read"));
    let long = entry("a", "12", &vec!["1"; 40_000].join(":"));
    let text = file(&[sqlite(), result("pts/long", "", ("", ""), &long)]);
    assert!(parse(&text).unwrap().unknown[0].ends_with("long: 12`"));
}

#[test]
fn broken_files_are_refused_with_the_reason() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(HEAD, "line 15: `<PhoronixTestSuite>` is not closed; check whether the file is trunc");
    check(&file(&[]), "it contains no results of Phoronix Test Suite; give `composite.xml`");
    check("<html></html>", "line 1: not a result of the Phoronix Test Suite; give");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..1500_usize, cut in 0..30_usize, put in "[<>/a:0-9.&;]{0,8}") {
        let mut text = file(&[sqlite()]);
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        if let Ok(imported) = parse(&text) {
            for (_, figure) in metrics(&imported) {
                proptest::prop_assert!(figure.value.is_finite() && figure.value >= 0.0);
            }
        }
    }
}
