use drivelab_analysis::digest::RunDigest;
use drivelab_analysis::history::{Past, courses, minute};
use drivelab_core::record::{Kept, KeptFigure, Origin, Work};

use super::*;
use crate::text::Look;

pub(super) fn run(number: u64, label: &str) -> Kept {
    Kept {
        id: format!("01KA9Z0000000000000000000{number}"),
        time_ms: 1_795_000_000_000 + 60_000 * number,
        origin: Origin::Run,
        target: "drive:seagate-st31000333as,controller=ahci".into(),
        drive: Some("seagate-st31000333as".into()),
        host: None,
        suite: None,
        label: Some(label.into()),
        tags: vec!["nightly".into()],
        commit: None,
        parts: 0,
        spark: "▇▇█▇".into(),
        figure: Some(KeptFigure { name: "iops".into(), value: 71.6, unit: String::new() }),
    }
}

#[test]
fn the_list_is_a_table() {
    let runs = [run(1, "before"), run(2, "odd\u{1b}[2Jlabel")];
    insta::assert_snapshot!(text(&runs, Look { width: 120, colour: false }));
}

#[test]
fn names_and_courses_are_shortened_before_a_column_is_left_out() {
    let wide = run(1, &"a long label ".repeat(5));
    let runs = [Kept {
        spark: "▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█▁▂▃▄".into(), ..wide
    }];
    let shown = text(&runs, Look { width: 100, colour: false });
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    for part in ["over time", "...ahci", "bel", "▂▄▆█▂▄▆█▂▄"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn the_document_has_the_keys_of_the_contract() {
    let found = json(&[run(1, "before")]);
    let one = &found["runs"][0];
    for key in ["id", "time", "label", "suite", "target", "drive", "host", "primary"] {
        assert!(one.get(key).is_some(), "{key}: {found}");
    }
    assert_eq!(one["time"], "2026-11-18T11:07:40Z");
    assert_eq!(one["primary"]["value"], 71.6);
}

#[test]
fn no_time_is_beyond_words() {
    assert_eq!(minute(0), "1970-01-01 00:00");
    assert!(minute(u64::MAX).starts_with("9999"), "{}", minute(u64::MAX));
}

/// What stands between the head of a page and its end.
fn main_of(page: &str) -> &str {
    page.split("<main>\n").nth(1).unwrap().split("</main>").next().unwrap()
}

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";

#[test]
fn the_page_lists_runs_to_choose_from() {
    let study = Kept { parts: 60, suite: Some("ahci-or-ide".into()), ..run(2, "after") };
    let page = page(&[run(1, "before"), study], &[], &Asked::default());
    insta::assert_snapshot!(main_of(&page));
}

#[test]
fn text_of_others_cannot_break_out_of_the_list() {
    let evil = || Some(EVIL.to_owned());
    let hostile = Kept {
        target: EVIL.into(),
        drive: evil(),
        host: evil(),
        suite: evil(),
        tags: vec![EVIL.into()],
        commit: evil(),
        spark: EVIL.into(),
        figure: Some(KeptFigure { name: EVIL.into(), value: 1e308, unit: EVIL.into() }),
        ..run(1, EVIL)
    };
    let long = Kept { label: Some("x".repeat(10_000_000)), ..run(2, "") };
    let asked = Asked::read([("label", EVIL)].into_iter()).unwrap();
    let runs = [hostile.clone(), long];
    let course = courses(runs.iter().map(|run| (run.clone(), Past::default())));
    for page in [page(&runs, &[], &asked), course_page(&course, &[], &asked)] {
        assert!(!page.contains("<script") && !page.contains("<img"));
        assert!(page.len() < 60_000, "{}", page.len());
    }
}

/// Runs of one kind of work, the second half a tenth faster, each of a commit.
fn nightly(count: u64) -> Vec<(Kept, Past)> {
    let record = include_str!("../../../core/tests/records/today.json");
    let record = drivelab_analysis::run::parse(record).unwrap().remove(0);
    let one = |number: u64| {
        let step: f64 = if number < count / 2 { 100.0 } else { 110.0 };
        let noise = f64::from(u32::try_from(number * 7 % 5).unwrap()) / 10.0;
        let figure = KeptFigure { name: "iops".into(), value: step + noise, unit: String::new() };
        let commit = number.is_multiple_of(2).then(|| format!("c0ffee{number}"));
        let kept = Kept { figure: Some(figure), commit, ..run(number, "nightly") };
        (kept, Past::from(RunDigest::of(&record)))
    };
    (0..count).map(one).collect()
}

#[test]
fn a_change_comes_with_the_commands_of_a_fresh_comparison() {
    let courses = courses(nightly(30).into_iter());
    let page = course_page(&courses, &[], &Asked::default());
    assert_eq!(page.matches("class=\"change\"").count(), 1);
    assert_eq!(page.matches("<circle").count(), 30);
    let hint = page.split("<div class=\"hint\">").nth(1).unwrap();
    insta::assert_snapshot!(hint.split("</div>").next().unwrap());
}

#[test]
fn each_kind_of_work_has_a_course_of_its_own() {
    let other = |kept: Kept| (Kept { target: "/dev/sdb".into(), ..kept }, Past::default());
    let without = nightly(4).into_iter().map(|(kept, _)| other(kept));
    let found = courses(without.chain(nightly(12)));
    let counts: Vec<usize> = found.iter().map(|course| course.moments.len()).collect();
    assert_eq!(counts, [12, 4]);
    let page = course_page(&found, &[], &Asked::default());
    assert!(page.contains("Too few runs to look for changes"), "{page}");
    let nothing = course_page(&[], &[], &Asked::default());
    assert!(nothing.contains("No run matches"), "{nothing}");
}

#[test]
fn what_the_work_or_the_unit_differs_in_makes_another_course() {
    let check = |change: fn(&mut Kept, &mut Past), what: &str| {
        let mut runs = nightly(40);
        for (kept, past) in runs.iter_mut().skip(20) {
            change(kept, past);
        }
        let found = courses(runs.into_iter());
        let counts: Vec<usize> = found.iter().map(|course| course.moments.len()).collect();
        assert_eq!(counts, [20, 20], "{what}");
        assert!(found[1].what.ends_with(what), "{what}: {}", found[1].what);
        // The step of each is its own: none comes from the other.
        let page = course_page(&found, &[], &Asked::default());
        assert!(!page.contains("796 % more"), "{page}");
    };
    let buffered = |_: &mut Kept, past: &mut Past| {
        let record = include_str!("../../../core/tests/records/today.json");
        let mut record = drivelab_analysis::run::parse(record).unwrap().remove(0);
        (record.config.direct, record.config.numjobs) = (false, 8);
        *past = Past::from(RunDigest::of(&record));
    };
    check(buffered, "(numjobs 8, direct 0)");
    let in_kib = |kept: &mut Kept, _: &mut Past| {
        let figure = kept.figure.as_mut().unwrap();
        (figure.unit, figure.value) = ("KiB/s".into(), 1024.0 * figure.value);
    };
    check(in_kib, "");
    let imported = |kept: &mut Kept, past: &mut Past| {
        kept.suite = Some("pgbench".into());
        *past = Past { work: Work::default().with("clients", 32), ..Past::default() };
    };
    check(imported, "");
}

#[test]
fn no_value_breaks_a_picture() {
    for values in [[1e308, -1e308], [f64::NAN, 1.0], [0.0, 0.0], [1e-300, 2e-300]] {
        let mut runs = nightly(20);
        for (place, (kept, _)) in runs.iter_mut().enumerate() {
            kept.figure.as_mut().unwrap().value = values[place % 2];
        }
        let page = course_page(&courses(runs.into_iter()), &[], &Asked::default());
        assert!(page.len() < 60_000, "{values:?}");
        let svg = page.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
        assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf"), "{values:?}: {svg}");
    }
}
