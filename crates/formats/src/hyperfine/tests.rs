//! Documents in the form of `--export-json`.

use super::*;

const TWO: &str = r#"{
  "results": [
    {
      "command": "sync a",
      "mean": 0.25,
      "stddev": 0.05,
      "median": 0.25,
      "user": 0.01,
      "system": 0.02,
      "min": 0.2,
      "max": 0.3,
      "times": [0.2, 0.3, 9.0],
      "exit_codes": [0, 0, 1],
      "parameters": {"size": "4k"}
    },
    {
      "command": "sync b",
      "mean": 0.5,
      "stddev": null,
      "median": 0.5,
      "user": 0.125,
      "system": 0.25,
      "min": 0.5,
      "max": 0.5
    }
  ]
}
"#;

#[test]
fn warnings_above_a_document_are_passed_over() {
    let text = format!("[ERROR] the cache of `a` is cold\nWarning: {{outliers}}\n{TWO}\ndone\n");
    assert!(is_hyperfine(&text));
    assert_eq!(parse(&text).unwrap().runs, parse(TWO).unwrap().runs);
    let damaged = text.replace("\"mean\": 0.5", "\"mean\": x");
    let error = parse(&damaged).unwrap_err();
    assert_eq!(error.line, damaged.lines().position(|line| line.contains("x,")).unwrap() + 1);
}

#[test]
fn each_time_is_a_run_of_its_command() {
    let imported = parse(TWO).unwrap();
    let found: Vec<_> = imported
        .runs
        .iter()
        .map(|run| {
            let figures = run.phases.iter().flat_map(Phase::metrics);
            (run.arm.as_str(), figures.map(|f| (f.name, f.value)).collect::<Vec<_>>())
        })
        .collect();
    let wall = |value| ("wall_time".to_owned(), value);
    let (user, system) = ("wall_time_user".to_owned(), "wall_time_system".to_owned());
    let expected = [
        ("sync a size=4k", vec![wall(0.2)]),
        ("sync a size=4k", vec![wall(0.3)]),
        ("sync b", vec![wall(0.5), (user, 0.125), (system, 0.25)]),
    ];
    assert_eq!(found, expected);
    assert_eq!(imported.notes, ["Runs of `sync a size=4k` failed and are excluded."]);
    assert!(imported.runs[0].phases[0].remarks.is_empty());
    assert_eq!(imported.runs[2].phases[0].remarks[0].label, Label::SingleRun);
}

#[test]
fn parameters_may_be_numbers() {
    let arm = |value| parse(&TWO.replace("\"4k\"", value)).unwrap().runs[0].arm.clone();
    assert_eq!(arm("-4"), "sync a size=-4");
    assert_eq!(arm("0.5, \"threads\": 8"), "sync a size=0.5 threads=8");
}

#[test]
fn runs_beyond_the_limit_are_counted() {
    let times = vec!["0.2"; FIGURES_MAX + 2].join(",");
    let text = TWO.replace("0.2, 0.3, 9.0", &times).replace("[0, 0, 1]", "[]");
    let unknown = parse(&text).unwrap().unknown;
    assert_eq!(unknown, ["25003 more runs: only the first 25000 are read"]);
}

#[test]
fn damage_is_named_with_its_line() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(&TWO[..60], "line 5: not a result of hyperfine: EOF while parsing");
    check("{\"results\": []}", "it contains no results of hyperfine; check");
    let lists = TWO.replace("\"4k\"", "[4]");
    check(&lists, "line 14: not a result of hyperfine: invalid type: sequence, expected a text");
    check("{\"results\": [{\"command\": 5}]}", "line 1: not a result of hyperfine: invalid type");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..600_usize, cut in 0..30_usize, put in "[{}\\[\\],:0-9.\"-]{0,8}") {
        let mut text = TWO.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        let _ = parse(&text);
    }
}
