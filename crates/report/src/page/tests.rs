//! The page as a whole.

use drivelab_analysis::study::analyse;

use super::*;
use crate::study::tests::fixture::experiment;

fn page(seed: u64) -> String {
    of_study(&analyse(experiment(seed, 10)).unwrap(), &[])
}

#[test]
fn the_same_result_gives_the_same_page() {
    assert_eq!(page(1), page(1));
    assert_ne!(page(1), page(2));
}

#[test]
fn the_page_is_small_and_needs_nothing_else() {
    let page = page(1);
    assert!(page.len() < 500_000, "{}", page.len());
    // What the page itself says; licence and library mention their homes.
    let own = page.replace(UPLOT, "").replace(UPLOT_LICENSE, "");
    for outside in ["http:", "https:", "src=", "href=", "@import", "url("] {
        assert!(!own.contains(outside), "{outside}");
    }
}

#[test]
fn text_cannot_break_out_of_its_place() {
    let mut it = experiment(1, 6);
    let evil = "</script></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'";
    it.title = evil.to_owned();
    it.reproduce = evil.to_owned();
    it.arms[0].name = evil.to_owned();
    it.arms[1].summary = evil.to_owned();
    it.arms[1].settings.push((evil.to_owned(), evil.to_owned()));
    it.workloads[0].name = evil.to_owned();
    it.workloads[1].summary = evil.to_owned();
    it.contrasts[0].name = evil.to_owned();
    it.risks[0].sentence = evil.to_owned();
    it.notes.push(evil.to_owned());
    let page = of_study(&analyse(it).unwrap(), &[]);
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
    assert!(!page.contains("<img"));
}

#[test]
fn words_and_numbers_need_no_script() {
    let page = page(1);
    let before_scripts = page.split("<script").next().unwrap();
    for needed in [
        "<strong>Yes,</strong> for random 4k reads, 32 outstanding",
        "\u{2248}</span> no practical difference",
        "the drive&#39;s own queue (NCQ)",
        "drivelab study ahci-or-ide --seed 1",
        "The quantiles of these curves",
        "block by block",
        "<mark>32</mark>",
    ] {
        assert!(before_scripts.contains(needed), "{needed}");
    }
}

#[test]
fn every_number_is_a_number() {
    let page = page(1);
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["arms"].as_array().unwrap().len(), 4);
    for plot in data["latency"].as_array().unwrap() {
        let ends: [f64; 2] = serde_json::from_value(plot["ends_ms"].clone()).unwrap();
        assert!(0.0 < ends[0] && ends[0] < ends[1]);
        let lines: Vec<Vec<u64>> = serde_json::from_value(plot["steps"].clone()).unwrap();
        assert!(lines.iter().all(|line| line.len() == lines[0].len() && line.len() <= 200));
        assert!(lines.iter().all(|line| line.iter().sum::<u64>() == 1000), "{lines:?}");
    }
    let body = page.replace(UPLOT, "").replace(SCRIPT, "");
    assert!(!body.contains("NaN") && !body.contains("inf%"));
}

#[test]
fn a_risk_that_the_choice_does_not_change_is_no_alarm() {
    let shown = |differs: bool| {
        let mut it = experiment(1, 6);
        it.risks[0].differs = differs;
        of_study(&analyse(it).unwrap(), &[])
    };
    assert!(shown(true).contains("<dt class=\"risk\">Risk</dt>"));
    let alike = shown(false);
    assert!(alike.contains("<dt class=\"\">Risk</dt>") && !alike.contains("<dt class=\"risk\""));
}

#[test]
fn the_caption_of_blocks_says_what_lines_show_and_not_what_they_prove() {
    let page = page(1);
    let caption = "Where all lines rise, or all fall, every block has the same direction; where \
                   some rise and some fall, blocks disagree.";
    assert!(page.contains(caption), "{page}");
    for wrong in ["is sure", "it is chance"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
}
