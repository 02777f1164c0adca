//! Every suite, small: what it says it measures, and what it leaves behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drivelab_core::control::{Control, Event};
use drivelab_core::record::{MarkId, Nature, Phase};
use drivelab_core::{Bytes, RefusalKind};

use crate::{Outcome, SUITES, Setting, Suite, run};

/// Each suite at a size that takes a moment; one of them drops the page cache, which as root is
/// that of the machine.
const SMALL: &[&str] = &[
    "bonnie,size=256k,putc=8k,n=1:100:10:2,seeks=50,drop=never",
    "bonnie,size=0,n=1:-1,fsync=on,drop=never",
    "bonnie,size=0,n=1:-2::3,drop=never",
    "bonnie,size=64k,putc=0,n=0,seeks=0,drop=phases",
    "fsmark,files=8,sync=0,threads=3,drop=never",
    "fsmark,files=8,sync=1,dirs=3,loops=2,drop=never",
    "fsmark,files=8,sync=2,drop=never",
    "fsmark,files=8,sync=3,size=0,drop=never",
    "fsmark,files=8,sync=4,drop=never",
    "fsmark,files=8,sync=5,drop=never",
    "fsmark,files=8,sync=6,drop=never",
    "tiobench,size=64k,threads=3,random_ops=20,drop=never",
    "tiobench,size=64k,threads=1,random_ops=3,osync=on,drop=never",
    "sqlite,repeat=2,rows=5,threads=2,drop=never",
    "blogbench,iterations=2,interval=100ms,readers=4,drop=never",
    "copy,size=300000,sets=100k+1m,bs=4k,drop=never",
    "scan,files=40,copy=3,drop=never",
    "metadata,files=40,drop=never",
];

fn carry_out(text: &str, dir: &Path, stop: &AtomicBool, at: u64) -> Outcome {
    let suite: Suite = text.parse().unwrap();
    let setting = Setting { dir, seed: 1, memory: Bytes::gib(1), in_memory: false };
    let shown = AtomicU64::new(0);
    // Stops at so many signs of progress.
    let progress = |_: Event<'_>| {
        if shown.fetch_add(1, Ordering::Relaxed) + 1 == at {
            stop.store(true, Ordering::Relaxed);
        }
    };
    run(&suite, setting, Control::new(stop, &progress)).unwrap()
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn sizes_beyond_all_numbers_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for text in [
        "bonnie,size=0,n=1:18446744073709551615,drop=never",
        "bonnie,size=0,n=1048576:18446744073709551615:18446744073709551615,drop=never",
    ] {
        let suite: Suite = text.parse().unwrap();
        let dir = dir.path();
        let setting = Setting { dir, seed: 1, memory: Bytes::gib(1), in_memory: false };
        let stop = AtomicBool::new(true);
        let refusal = run(&suite, setting, Control::silent(&stop)).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Machine, "{text}: {refusal}");
        assert!(is_empty(dir), "{text}");
    }
}

#[test]
fn bytes_one_by_one_are_a_step_of_them_at_least() {
    let wrong = "bonnie,putc=4k".parse::<Suite>().unwrap_err();
    assert!(wrong.0.contains("`putc` is 4k: at least 8k, or 0"), "{wrong}");
    "bonnie,putc=0".parse::<Suite>().unwrap();
}

#[test]
fn every_suite_measures_what_it_declares_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for text in SMALL {
        let outcome = carry_out(text, dir.path(), &AtomicBool::new(false), u64::MAX);
        let declared = text.parse::<Suite>().unwrap().metrics();
        let figures = outcome.phases.iter().flat_map(Phase::metrics);
        for figure in figures {
            assert!(declared.contains(&figure.name), "{text}: {} is not declared", figure.name);
            assert!(figure.value.is_finite() && figure.value >= 0.0, "{text}: {figure:?}");
        }
        let measured = |name: &&String| {
            let all = outcome.phases.iter().flat_map(Phase::metrics);
            !name.contains("lat_") && !all.map(|it| it.name).any(|it| it == **name)
        };
        let missing: Vec<&String> = declared.iter().filter(measured).collect();
        assert!(missing.is_empty(), "{text}: declared and not measured: {missing:?}");
        // Threads of these may come to nothing in so short a time.
        let races = ["blogbench", "scan"].iter().any(|name| text.starts_with(name));
        assert!(races || outcome.phases.iter().all(|phase| phase.lat_ns.is_some()), "{text}");
        assert!(is_empty(dir.path()), "{text} left something behind");
    }
}

#[test]
fn a_suite_that_is_stopped_keeps_the_phases_that_ended_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let text = SMALL[0];
    let all = carry_out(text, dir.path(), &AtomicBool::new(false), u64::MAX).phases.len();
    let mut counts = Vec::new();
    for at in 1..=12 {
        let outcome = carry_out(text, dir.path(), &AtomicBool::new(false), at);
        assert!(is_empty(dir.path()));
        let is_marked = outcome.marks.iter().any(|mark| mark.id == MarkId::Interrupted);
        assert_eq!(is_marked, outcome.phases.len() < all, "{outcome:?}");
        counts.push(outcome.phases.len());
    }
    assert_eq!(counts[0], 0);
    assert!(counts.iter().any(|count| (1..all).contains(count)), "{counts:?}");
}

/// Everything below a folder with what it holds; of links where they lead.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.push((entry.path(), Vec::new()));
            found.extend(tree(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_link_in_the_place_of_a_suite_s_folder_leads_it_nowhere() {
    // One of each suite; those that sync the whole machine wait for other programs.
    let name = |text: &str| text.split(',').next().map(str::to_owned);
    let mut suites = SMALL.to_vec();
    suites.dedup_by_key(|text| name(text));
    for text in suites {
        for at in [1, 3] {
            let dir = tempfile::tempdir().unwrap();
            let (victim, bench) = (dir.path().join("victim"), dir.path().join("bench"));
            for folder in ["blogs", "files/sub", "from", "to", "tree", "large", "databases"] {
                fs::create_dir_all(victim.join(folder)).unwrap();
                fs::write(victim.join(folder).join("thesis"), "of years").unwrap();
            }
            fs::write(victim.join(".drivelab-suite"), "").unwrap();
            fs::create_dir(&bench).unwrap();
            let before = tree(&victim);
            let (stop, shown) = (AtomicBool::new(false), AtomicU64::new(0));
            let swap = |_: Event<'_>| {
                if shown.fetch_add(1, Ordering::Relaxed) + 1 == at {
                    let own = bench.join("drivelab-suite-1");
                    fs::rename(&own, bench.join("moved")).unwrap();
                    std::os::unix::fs::symlink(&victim, own).unwrap();
                }
            };
            let setting = Setting { dir: &bench, seed: 1, memory: Bytes::gib(1), in_memory: false };
            let suite: Suite = text.parse().unwrap();
            let ended = run(&suite, setting, Control::new(&stop, &swap));
            if text.starts_with("sqlite") {
                // It opens its files by name, and works only where no other user may do this.
                continue;
            }
            assert_eq!(tree(&victim), before, "{text}, at {at}");
            if shown.into_inner() >= at {
                let refusal = ended.unwrap_err();
                assert!(refusal.message.contains("cannot remove"), "{text}: {refusal:?}");
                let hints = refusal.hints.join("\n");
                assert!(hints.contains("remove it by hand") && !hints.contains("mkdir"), "{hints}");
                assert!(is_empty(&bench.join("moved")), "{text}, at {at}");
            }
        }
    }
}

#[test]
fn a_suite_that_opens_by_name_is_refused_where_others_may_move_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let suite: Suite = "sqlite,repeat=1,rows=1,drop=never".parse().unwrap();
    let setting = Setting { dir: dir.path(), seed: 1, memory: Bytes::gib(1), in_memory: false };
    let stop = AtomicBool::new(false);
    let refusal = run(&suite, setting, Control::silent(&stop)).unwrap_err();
    assert!(refusal.message.contains("other users may rename files"), "{refusal:?}");
    assert!(is_empty(dir.path()));
}

#[test]
fn what_is_in_memory_is_no_disk() {
    let dir = tempfile::tempdir().unwrap();
    let suite: Suite = "tiobench,size=64k,random_ops=2,drop=never".parse().unwrap();
    let setting = Setting { dir: dir.path(), seed: 1, memory: Bytes::gib(1), in_memory: true };
    let stop = AtomicBool::new(false);
    let outcome = run(&suite, setting, Control::silent(&stop)).unwrap();
    assert!(outcome.phases.iter().all(|phase| phase.nature == Nature::PageCache));
    assert!(outcome.marks.iter().any(|mark| mark.id == MarkId::NotDisk));
}

#[test]
fn too_large_a_suite_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let suite: Suite = "tiobench,size=1024T".parse().unwrap();
    let setting = Setting { dir: dir.path(), seed: 1, memory: Bytes::gib(1), in_memory: false };
    let stop = AtomicBool::new(false);
    let refusal = run(&suite, setting, Control::silent(&stop)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Machine);
    assert!(is_empty(dir.path()));
}

#[test]
fn a_suite_reads_back_as_it_is_shown_and_names_what_it_does_not_know() {
    for text in SMALL {
        assert_eq!(text.parse::<Suite>().unwrap().to_string(), *text);
    }
    let check = |text: &str, words: &str| {
        let wrong = text.parse::<Suite>().unwrap_err();
        assert!(wrong.0.contains(words), "{text}: {wrong}");
    };
    check("bonie", "did you mean `bonnie`?");
    check("fsmark,fiels=3", "did you mean `files`?");
    check("fsmark,files", "is not `key=value`");
    check("fsmark,files=3,files=4", "given twice");
    check("fsmark,sync=7", "`sync` is 7, not from 0 to 6");
    check("bonnie,size=0,n=0", "nothing is measured");
    check("bonnie,chunk=3000", "not a power of two");
    check("tiobench,size=1k", "less than one block");
    check("copy,sets=5m", "is not a set");
    check("sqlite,drop=often", "is not a valid moment");
    assert!(SUITES.iter().all(|suite| !suite.options.is_empty()));
    assert!(crate::help().len() > SUITES.len());
}

#[test]
fn an_option_that_equals_its_default_is_the_same_work_as_none() {
    let work = |text: &str| text.parse::<Suite>().unwrap().work();
    let check = |one: &str, other: &str, is_same: bool| {
        assert_eq!(work(one) == work(other), is_same, "{one} {other}");
    };
    check("fsmark", "fsmark,threads=1,size=51200", true);
    check("fsmark", "fsmark,threads=4", false);
    check("bonnie,size=1G", "bonnie,size=1024M,fsync=no", true);
    check("bonnie,size=1G", "bonnie,size=2G", false);
    check("blogbench", "blogbench,drop=never", false);
    assert_eq!(work("fsmark").get("suite.size"), Some("50k"));
}
