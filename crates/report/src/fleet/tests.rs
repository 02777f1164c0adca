use std::sync::Arc;

use drivelab_analysis::digest::RunDigest;
use drivelab_analysis::fleet::{
    CollectedHost, Collection, Fleet, FleetOptions, FleetResult, LeftOut, analyse,
};
use drivelab_core::record::{Attached, AttachedDevice, RunRecord};

use super::*;
use crate::text::Look;

const LOOK: Look = Look { width: 100, colour: false };
const OPTIONS: FleetOptions = FleetOptions { margin: 0.05, false_discovery: 0.05 };
const TODAY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/records/today.json"));
const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";

fn drive(model: &str, scheduler: &str) -> AttachedDevice {
    let mut drive =
        AttachedDevice { name: "sda".into(), kind: "ata".into(), ..AttachedDevice::default() };
    drive.set("model", Some(model));
    drive.set("kind", Some("ata"));
    drive.set("link_gbps", Some("6"));
    drive.set("scheduler", Some(scheduler));
    drive
}

fn run(drive: &AttachedDevice, iops: f64) -> RunDigest {
    RunDigest::of(&record(drive, iops))
}

fn record(drive: &AttachedDevice, iops: f64) -> RunRecord {
    let mut record: RunRecord = serde_json::from_str(TODAY).unwrap();
    record.attached = Some(Attached { devices: vec![drive.clone()], ..Attached::default() });
    record.total.as_mut().unwrap().iops = iops;
    record
}

fn host(number: u32, drive: &AttachedDevice, iops: f64) -> Collection {
    Collection {
        host: format!("web{number}"),
        time_ms: 1_000,
        boot: None,
        drives: vec![drive.clone()],
        runs: vec![run(drive, iops)],
    }
}

/// Thirty disks around 75 IOPS, one of them at 50, and one with another scheduler.
fn collections() -> Vec<Collection> {
    let of = |number: u32| {
        let iops = if number == 17 { 50.0 } else { 74.0 + f64::from(number * 37 % 21) / 10.0 };
        let scheduler = if number == 4 { "none" } else { "mq-deadline" };
        host(number, &drive("ST1000", scheduler), iops)
    };
    (0..30).map(of).collect()
}

fn result_of(collections: &[Collection]) -> FleetResult {
    let mut fleet = Fleet::new("iops");
    for it in collections {
        fleet.add(it);
    }
    analyse(&fleet, OPTIONS)
}

#[test]
fn a_slow_disk_and_a_setting_that_drifted_are_found() {
    let result = result_of(&collections());
    assert_eq!((result.hosts, result.disks, result.judged()), (30, 30, 29));
    let found: Vec<String> = result.found.iter().map(|it| it.disk.to_string()).collect();
    assert_eq!(found, ["sda of web17"]);
    assert_eq!(result.found[0].is_worse(result.better), Some(true));
    let drifted = &result.drifts[0];
    assert_eq!((result.drifts.len(), drifted.setting.as_str()), (1, "scheduler"));
    assert_eq!(drifted.values[1].disks[0].host, "web4");
    let text = text(&result, LOOK);
    for words in [
        "1 disk differs from its peers in IOPS by more than 5 %, of 29",
        "sda of web17",
        "% lower",
        "its 28 peers",
        "none: sda of web4",
        "1 disk, fewer than 8: not judged (sda of web4)",
    ] {
        let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_small_group_is_shown_side_by_side_with_an_exact_test() {
    fn of(number: u32) -> Collection {
        let drive = drive("ST1000", "none");
        let level = if number == 2 { 50.0 } else { 75.0 };
        let runs = (0..3).map(|n| run(&drive, level + f64::from(n) + f64::from(number) / 8.0));
        Collection { runs: runs.collect(), ..host(number, &drive, level) }
    }
    let result = result_of(&(0..3).map(of).collect::<Vec<_>>());
    let small = result.groups[0].small.as_ref().unwrap();
    // Of 1,680 divisions, those that swap the two equal disks and their runs are as extreme.
    let p = small.disks.p.unwrap();
    assert!(p < 0.05 && small.p_adjusted == Some(p), "{p}");
    let text = text(&result, LOOK);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "3 disks, fewer than 8: no disk is judged",
        "sda of web2: 51",
        "(3 runs)",
        "differ by more than chance",
    ] {
        assert!(whole.contains(words), "{words}: {text}");
    }
    let group = &json(&result)["groups"][0];
    assert_eq!(group["side_by_side"]["disks"][2]["host"], "web2");
    assert_eq!(group["side_by_side"]["p"], p);
    let single = result_of(&(0..2).map(|n| host(n, &drive("A", "none"), 9.0)).collect::<Vec<_>>());
    assert_eq!(single.groups[0].small.as_ref().unwrap().p_adjusted, None);
}

#[test]
fn the_order_in_which_hosts_answered_changes_nothing() {
    let mut turned = collections();
    turned.reverse();
    assert_eq!(json(&result_of(&collections())), json(&result_of(&turned)));
}

#[test]
fn a_disk_counts_as_it_was_found_last() {
    let mut all = collections();
    // Later web4 has the scheduler of the others, and web17 has been repaired.
    for (number, iops) in [(4, 75.0), (17, 75.3)] {
        let later = host(number, &drive("ST1000", "mq-deadline"), iops);
        all.push(Collection { time_ms: 2_000, ..later });
    }
    let result = result_of(&all);
    assert_eq!((result.drifts.len(), result.judged()), (0, 30));
    // One run of each counts: the others have no more.
    assert_eq!(result.found, []);
}

/// Twenty hosts with two disks each, in four boots; one disk of `web7` is slow, and is called `sdb`
/// in every other boot.
fn swapped(is_identified: bool) -> Vec<Collection> {
    let disk = |name: &str, identity: String| {
        let identity = Some(identity).filter(|_| is_identified);
        AttachedDevice { name: name.into(), identity, ..drive("ST1000", "mq-deadline") }
    };
    let of = |boot: u32, number: u32| {
        let swap = number == 7 && boot % 2 == 1;
        let mut drives = Vec::new();
        let mut runs = Vec::new();
        for own in 0..2 {
            let name = if (own == 1) == swap { "sda" } else { "sdb" };
            let disk = disk(name, format!("{number}-{own}"));
            let noise = f64::from((number * 37 + boot * 11 + own * 5) % 21) / 10.0;
            let speed = if number == 7 && own == 0 { 0.6 } else { 1.0 };
            runs.push(run(&disk, speed * (74.0 + noise)));
            drives.push(disk);
        }
        let (host, boot_id) = (format!("web{number}"), Some(format!("boot {boot} of {number}")));
        Collection { host, time_ms: 1_000 * u64::from(boot), boot: boot_id, drives, runs }
    };
    (0..4).flat_map(|boot| (0..20).map(move |number| of(boot, number))).collect()
}

#[test]
fn a_disk_is_its_serial_number_whatever_its_name() {
    let result = result_of(&swapped(true));
    let found: Vec<String> = result.found.iter().map(|it| it.disk.to_string()).collect();
    // In the last boot the slow one is `sdb`.
    assert_eq!(found, ["sdb of web7"]);
    assert_eq!((result.disks, result.left_out.of_earlier_boots), (40, 0));
    assert_eq!(result.groups[0].judged().unwrap().runs, 4);
}

#[test]
fn runs_of_disks_that_nothing_identifies_are_not_pooled_across_boots() {
    let result = result_of(&swapped(false));
    let found: Vec<String> = result.found.iter().map(|it| it.disk.to_string()).collect();
    assert_eq!(found, ["sdb of web7"], "the healthy disk is not blamed");
    assert_eq!((result.disks, result.left_out.of_earlier_boots), (40, 120));
    let text = text(&result, LOOK);
    assert!(text.contains("120 runs are of an earlier boot"), "{text}");
    // An identity that clones share identifies none of them.
    let mut same = swapped(true);
    for it in same.iter_mut().flat_map(|it| &mut it.drives) {
        it.identity = Some("clone".into());
    }
    for run in same.iter_mut().flat_map(|it| &mut it.runs) {
        Arc::make_mut(&mut run.common).drives[0].identity = Some("clone".into());
    }
    assert_eq!(json(&result_of(&same)), json(&result));
}

#[test]
fn notes_on_disks_that_did_several_kinds_of_work_say_which() {
    let mut all = collections();
    let one = drive("ST1000", "mq-deadline");
    let mut other = record(&one, 75.0);
    other.config.numjobs = 4;
    all[0].runs.push(RunDigest::of(&other));
    let result = result_of(&all);
    let notes = super::text::notes(&result);
    assert!(notes.iter().any(|note| note.contains("numjobs 4): 1 disk")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("numjobs 1): 29 disks")), "{notes:?}");
}

#[test]
fn disks_without_a_model_are_grouped_by_kind_and_boards_do_not_drift() {
    let mut all = collections();
    for (number, it) in all.iter_mut().enumerate() {
        let mut disk = drive("ST1000", "mq-deadline");
        disk.facts.remove("model");
        disk.set("kind", Some("virtio"));
        disk.set("pci_id", Some(format!("1af4:{number:04}")));
        it.drives = vec![disk.clone()];
        it.runs = vec![run(&disk, 75.0)];
    }
    let result = result_of(&all);
    assert_eq!(result.groups[0].peers.model, "virtio without a model");
    assert_eq!(result.left_out.without_disk, 0);
    assert_eq!(result.drifts, []);
}

#[test]
fn modelled_drives_are_no_disks_of_the_hosts() {
    let mut all = collections();
    for it in &mut all {
        let mut model = drive("ST1000", "mq-deadline");
        model.name = "a-profile".into();
        model.set("kind", Some("model"));
        it.runs = vec![run(&model, 75.0)];
    }
    assert_eq!(result_of(&all).disks, 30);
}

#[test]
fn runs_that_say_nothing_of_one_disk_are_left_out() {
    let mut all = collections();
    let one = drive("ST1000", "mq-deadline");
    let mut of_two = record(&one, 10.0);
    let second = AttachedDevice { name: "sdb".into(), ..one.clone() };
    of_two.attached.as_mut().unwrap().devices.push(second);
    let unseen = RunRecord { attached: None, ..record(&one, 10.0) };
    let mut failed = record(&one, 10.0);
    failed.total.as_mut().unwrap().errors = 1_000_000;
    all[0].runs.extend([of_two, unseen, failed].iter().map(RunDigest::of));
    all[0].runs.extend([run(&one, 0.0), run(&one, f64::NAN)]);
    let result = result_of(&all);
    let expected = LeftOut { without_disk: 2, without_figure: 2, of_earlier_boots: 0, invalid: 1 };
    assert_eq!(result.left_out, expected);
    assert_eq!(result.found.len(), 1);
}

#[test]
fn each_form_has_the_evidence() {
    let result = result_of(&collections());
    let found = &result.found[0];
    assert_eq!(file_name(0, found), "1-web17-sda.html");
    let page = page(&result, Links::Parts, "drivelab fleet outliers", "");
    let pages = super::page(&result, Links::Pages, "drivelab fleet outliers", "");
    let finding = finding_page(&result, found, "drivelab fleet outliers");
    assert!(page.contains("href=\"#finding-1\"") && page.contains("id=\"finding-1\""), "{page}");
    assert!(pages.contains("href=\"1-web17-sda.html\"") && !pages.contains("<svg"), "{pages}");
    for one in [&page, &finding] {
        // A dot for each disk of the group.
        assert_eq!(one.matches("<circle").count(), 29);
        assert!(one.contains("mq-deadline") && one.contains("drivelab fleet outliers"), "{one}");
    }
    let csv = csv(&result);
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.lines().nth(1).unwrap().starts_with("web17,sda,ST1000,\"ata, "), "{csv}");
    let markdown = markdown(&result);
    assert!(markdown.contains("| sda of web17 | 50.0 IOPS |"), "{markdown}");
    let json = json(&result);
    assert_eq!(json["outliers"][0]["peers"]["n"], 28);
    assert!(json["outliers"][0]["q"].as_f64().unwrap() < 0.05, "{json}");
}

#[test]
fn text_of_others_is_only_text() {
    let mut all = collections();
    for it in &mut all {
        it.drives.clear();
        let evil = drive(EVIL, "\u{1b}[2Jnone");
        it.runs = vec![run(&evil, it.runs[0].figure("iops").unwrap().1)];
    }
    all[17].host = EVIL.into();
    let result = result_of(&all);
    assert_eq!(result.found.len(), 1);
    let name = file_name(0, &result.found[0]);
    assert!(!name.contains(['/', '<', '"', ' ']) && name.len() < 200, "{name}");
    for page in [
        page(&result, Links::Parts, EVIL, ""),
        super::page(&result, Links::Pages, EVIL, ""),
        finding_page(&result, &result.found[0], EVIL),
    ] {
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }
    assert!(!text(&result, LOOK).contains('\u{1b}'));
    assert!(!markdown(&result).contains("<img"));
}

#[test]
fn a_fleet_of_nothing_is_an_answer() {
    let result = result_of(&[]);
    assert!(text(&result, LOOK).starts_with("No disk has enough peers"));
    assert!(page(&result, Links::Parts, "", "").contains("No disk has enough peers"));
}

#[test]
fn what_was_not_collected_is_named() {
    let kept = CollectedHost {
        host: "web1".into(),
        id: Some("01".into()),
        disks: 2,
        runs: 1,
        failed: vec![("/dev/sdb".into(), "drivelab ended with 3".into())],
        why: None,
    };
    let why = Some("cannot be reached".to_owned());
    let lost = CollectedHost { host: "web2".into(), why, ..CollectedHost::default() };
    assert!(!kept.is_whole() && !lost.is_whole());
    let hosts = [kept, lost];
    insta::assert_snapshot!(collected_text(&hosts, LOOK), @r"
    Failed: /dev/sdb of web1: drivelab ended with 3
    Lost: web2: cannot be reached
    kept: 1 of 2 hosts, 2 disks, 1 run
    ");
    assert_eq!(collected_json(&hosts)["lost"][0], "web2");
}
