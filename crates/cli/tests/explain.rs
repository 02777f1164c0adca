//! `explain`: causes that are known are named, and what it prints can be used.

use std::path::Path;

use serde_json::Value;

use crate::common::{Said, command, file, folder, said};

/// Explains with a cache in the folder, so that no test meets the rates of another.
fn explain(folder: &Path, arguments: &[&str]) -> Said {
    let mut explain = command(folder, &[&["explain"], arguments].concat());
    said(explain.env("XDG_CACHE_HOME", folder.join(".cache")).output().unwrap())
}

const DRIVE: &str = "drive:seagate-st31000333as,controller=ahci,tags=31";

/// Runs two loads on a drive, and gives the names of their files.
fn runs(folder: &Path, name: &str, target: &str) -> [String; 2] {
    [("reads", "randread"), ("writes", "randwrite")].map(|(load, rw)| {
        let options = ["run", target, "--rw", rw, "--iodepth", "8", "--runtime", "4s", "--json"];
        let done = said(command(folder, &options).output().unwrap());
        assert_eq!(done.code, 0, "{done:?}");
        let name = format!("{name}-{load}.json");
        file(folder, &name, &done.out);
        name
    })
}

fn first(document: &Value) -> (&str, u64) {
    let cause = &document["ranking"][0]["causes"][0];
    (cause["id"].as_str().unwrap_or_default(), cause["arm"].as_u64().unwrap_or(9))
}

#[test]
fn a_setting_that_was_changed_is_named_in_either_arm_and_the_next_measurement_runs() {
    let folder = folder();
    let folder = folder.path();
    let [reads, writes] = runs(folder, "on", DRIVE);
    let [slow_reads, slow_writes] = runs(folder, "off", &format!("{DRIVE},write-cache=off"));
    let (on, off) = ([&*reads, &*writes], [&*slow_reads, &*slow_writes]);
    let options = ["--specimens", "8", "--json"];
    let ask =
        |a: [&str; 2], b: [&str; 2]| explain(folder, &[&options[..], &a, &["--"], &b].concat());
    let found = ask(on, off);
    let document = found.json();
    assert_eq!(first(&document), ("write-cache-off", 1), "{document:#}");
    assert_eq!(document["drive"], DRIVE);
    // The drive as it should be is not the first that is named.
    assert_eq!(first(&ask(off, on).json()), ("write-cache-off", 0));
    // What was simulated and kept gives the same bytes.
    assert!(folder.join(".cache/drivelab/explain").read_dir().unwrap().count() > 0);
    assert_eq!(ask(on, off).out, found.out);
    for next in document["next"]["commands"].as_array().unwrap() {
        let words: Vec<&str> = next.as_str().unwrap().split(' ').skip(1).collect();
        let shorter = [&words[..], &["--number-ios", "20"]].concat();
        let done = said(command(folder, &shorter).output().unwrap());
        assert_eq!(done.code, 0, "{next}: {done:?}");
    }
}

#[test]
fn the_figures_of_an_article_are_ranked_in_words() {
    let folder = folder();
    let said = explain(folder.path(), &["article:1", "--specimens", "8"]);
    assert!([0, 4].contains(&said.code), "{said:?}");
    insta::assert_snapshot!(said.out);
}

#[test]
fn what_cannot_be_explained_is_refused_with_what_to_type() {
    let folder = folder();
    let folder = folder.path();
    let figures = "[[figure]]\nname = 'reads'\nmeasured = [1, 2]\nrw = 'randread'\n";
    file(folder, "figures.toml", figures);
    file(folder, "run.json", "{}");
    let refused = |arguments: &[&str], words: &[&str]| {
        explain(folder, arguments).failed(2, words);
    };
    refused(&["article:9"], &["article 9", "article:1"]);
    refused(&["article:one"], &["does not name an article"]);
    refused(&["run.json"], &["an explanation is of two"]);
    refused(&["figures.toml"], &["do not name a modelled drive", "--drive NAME"]);
    refused(&["figures.toml", "--drive", "nosuch"], &["nosuch"]);
    file(folder, "causes.toml", "[cause.a]\nwords = 'w'\n");
    refused(&["article:1", "--causes", "causes.toml"], &["causes.toml", "prior"]);
    file(folder, "units.toml", &figures.replace("[1, 2]", "[1, 2e9]"));
    refused(&["units.toml", "--drive", "generic-5400"], &["two units"]);
    // Nothing that was meant as a load fits a drive of a few gigabytes.
    file(folder, "far.toml", &format!("{figures}offset = '900t'\n"));
    refused(&["far.toml", "--drive", "generic-5400"], &["offset"]);
}

/// Measures a drive, and gives the name of the file.
fn measured(folder: &Path, name: &str, target: &str) -> String {
    let options = ["drive", "measure", target, "--allow-destructive", target, "--out", name];
    let done = said(command(folder, &options).output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    name.to_owned()
}

#[test]
fn measurements_of_a_drive_are_figures_and_what_they_show_is_evidence() {
    let folder = folder();
    let folder = folder.path();
    let off = format!("{DRIVE},write-cache=off");
    let (before, after) = (measured(folder, "a.toml", DRIVE), measured(folder, "b.toml", &off));
    let options = ["--specimens", "8", "--json", "--drive", DRIVE];
    let ask = |results: &[&str]| explain(folder, &[&options[..], results].concat()).json();
    let both = ask(&[&before, &after]);
    assert_eq!(first(&both), ("write-cache-off", 1), "{both:#}");
    let shown: Vec<&Value> = both["signs"][1]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["id"] == "write-cache")
        .collect();
    assert_eq!(shown[0]["value"], "waits", "{both:#}");
    let words = explain(folder, &["--specimens", "8", "--drive", DRIVE, &before, &after]).out;
    assert!(words.contains("no write cache acknowledges early"), "{words}");

    // Runs that do not differ, and a drive whose cache is off all the same.
    let [reads, writes] = runs(folder, "on", DRIVE);
    let without = ask(&[&reads, &writes, "--", &reads, &writes]);
    let with = ask(&[&reads, &writes, "--", &reads, &writes, &after]);
    assert_eq!(without["ranking"][0]["kind"], "chance");
    assert!(odds_of_others(&with) > 2.0 * odds_of_others(&without), "{with:#}");
}

/// The odds of a cause outside the library against chance.
fn odds_of_others(document: &Value) -> f64 {
    let ranking = document["ranking"].as_array().unwrap();
    let [others, chance] = ["none-of-these", "chance"].map(|kind| {
        ranking.iter().find(|it| it["kind"] == kind).unwrap()["probability"].as_f64().unwrap()
    });
    others / chance
}
