//! The published comparisons, run again.

use std::collections::BTreeMap;

use drivelab_report::article::again::{Again, html, markdown};

use crate::common::{drivelab, folder};
use crate::tidy::{read, root};

fn committed() -> Again {
    serde_json::from_str(&read(&root().join("docs/articles.json"))).unwrap()
}

#[test]
fn each_article_has_one_study_which_the_list_names() {
    let folder = folder();
    let list = drivelab(folder.path(), &["study", "--list", "--json"]).json();
    let of_article = |study: &serde_json::Value| {
        let name = study["name"].as_str()?.to_owned();
        Some((study["article"].as_u64()?, name))
    };
    let studies: BTreeMap<u64, String> =
        list["studies"].as_array().unwrap().iter().filter_map(of_article).collect();
    let names: Vec<&str> = studies.values().map(String::as_str).collect();
    let expected =
        ["piix-vs-ahci", "bios-modes", "tag-dispatch", "two-controllers", "ncq-and-caching"];
    assert_eq!(names, expected);
    let text = drivelab(folder.path(), &["study", "--list"]).out;
    assert!(text.contains("(stage simulate, article 3)"), "{text}");
}

#[test]
fn an_article_gives_the_committed_bytes_and_is_continued() {
    let folder = folder();
    let stage = ["articles", "--stage", "simulate"];
    let words = [&stage[..], &["--only", "0", "--out", "it", "--json", "--progress", "none"]];
    let words = words.concat();
    let first = drivelab(folder.path(), &words);
    assert_eq!(first.code, 0, "{first:?}");
    let again: Again = serde_json::from_str(&first.out).unwrap();
    let kept = committed().articles;
    let kept =
        kept.iter().find(|one| (one.number, one.stage) == (0, drivelab_core::StageName::Simulate));
    assert_eq!(Some(&again.articles[0]), kept);
    let page = read(&folder.path().join("it/articles.html"));
    assert!(page.contains("<svg") && page.contains("Article 0"), "no picture");
    let second = drivelab(folder.path(), &words);
    assert_eq!((second.code, second.out), (0, first.out));
    drivelab(folder.path(), &["articles", "--only", "7"]).failed(2, &["no article 7", "0 to 4"]);
}

#[test]
fn the_committed_page_follows_from_its_json() {
    let again = committed();
    let (path, page) = (root().join("docs/articles.md"), markdown(&again));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let remedy = "repeat this test with UPDATE=1";
    assert!(read(&path) == page, "docs/articles.md does not follow from articles.json: {remedy}");
    // The page with pictures is made where it is read, and not kept.
    assert!(html(&again).contains("<svg"));
}

#[test]
fn every_finding_has_a_source_and_its_committed_answer() {
    let mut answers = String::new();
    for one in committed().articles {
        for finding in &one.findings {
            assert!(!finding.source.is_empty(), "{}", finding.name);
            let is_open = finding.verdict == "cannot-tell";
            assert!(!is_open || finding.why.is_some() || finding.ci95.is_some(), "{finding:?}");
            let (number, stage, verdict) = (one.number, &one.stage, &finding.verdict);
            answers += &format!("{number} {stage:8} {verdict:13} {}\n", finding.name);
        }
    }
    insta::assert_snapshot!(answers);
}

/// The labels that article 1 has in its text are those that an import of the same results gets.
#[test]
fn published_figures_are_labelled_as_an_import_labels_them() {
    let folder = folder();
    let random = "Size Per Thread: 64MB - Thread Count: 32";
    let tests = [
        ("pts/sqlite-1.9.0", "Timed SQLite Insertions".to_owned(), "Seconds"),
        ("pts/fs-mark-1.0.1", "Test: 1000 Files, 1MB Size".to_owned(), "Files/s"),
        ("pts/tiobench-1.2.0", format!("Test: Random Read - {random}"), "MB/s"),
        ("pts/tiobench-1.2.0", format!("Test: Random Write - {random}"), "MB/s"),
        ("pts/apache-1.5.1", String::new(), "Requests Per Second"),
    ];
    let shown = drivelab(folder.path(), &["show", "article:1", "--json"]).json();
    let figures = shown["figures"].as_array().unwrap();
    assert_eq!(figures.len(), tests.len());
    for (figure, (profile, description, unit)) in figures.iter().zip(tests) {
        let value = figure["values"][0].as_f64().unwrap();
        let file = format!(
            "<?xml version=\"1.0\"?>\n<PhoronixTestSuite><Generated><Title>SATA</Title><TestClient>\
             Phoronix Test Suite v5.8.0</TestClient></Generated><System><Identifier>ide</Identifier>\
             </System><Result><Identifier>{profile}</Identifier><Title>A test</Title><Description>\
             {description}</Description><Scale>{unit}</Scale><Proportion>HIB</Proportion>\
             <DisplayFormat>BAR_GRAPH</DisplayFormat><Data><Entry><Identifier>ide</Identifier>\
             <Value>{value}</Value><RawString>{value}</RawString></Entry></Data></Result>\
             </PhoronixTestSuite>\n"
        );
        std::fs::write(folder.path().join("composite.xml"), file).unwrap();
        let imported = drivelab(folder.path(), &["import", "composite.xml", "--json"]).json();
        let result = &imported["results"][0];
        assert_eq!(result["value"].as_f64(), Some(value), "{imported}");
        let labels = result["labels"].as_array().unwrap();
        // Of the number of runs the article says nothing.
        let labels: Vec<_> = labels.iter().filter(|label| *label != "single-run").collect();
        let published: Vec<_> = figure["labels"].as_array().unwrap().iter().collect();
        assert_eq!(labels, published, "{}", figure["test"]);
    }
}
