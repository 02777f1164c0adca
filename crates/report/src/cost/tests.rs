use drivelab_analysis::cost::{
    Bill, CallCost, DriveCost, FileCost, FlashCost, KERNEL, Ledger, ProcessCost, Requests, SCHEMA,
    Tolerance, against, lifetime, varying,
};

use super::*;
use crate::text::Look;

const LOOK: Look = Look { width: 100, colour: false };

fn requests(writes: u64, flushes: u64) -> Requests {
    Requests { writes, write_bytes: 4096 * writes, flushes, ..Requests::default() }
}

fn call(
    process: &str,
    call: &str,
    path: &str,
    count: u64,
    (writes, flushes): (u64, u64),
) -> CallCost {
    CallCost {
        process: process.into(),
        call: call.into(),
        path: path.into(),
        stack: Vec::new(),
        count,
        bytes: 0,
        waits: count,
        waited_ns: 1_000_000 * count,
        requests: requests(writes, flushes),
        syncs: call == "fdatasync",
        changes: false,
    }
}

/// The bill of a number of commits.
fn bill(commits: u64) -> Bill {
    let total = requests(4 * commits + 2, 2 * commits);
    let (data, journal) = (4096 * (2 * commits + 1), 4096 * (2 * commits + 1));
    Bill {
        schema: SCHEMA.into(),
        command: "app | tee log".into(),
        file_system: "ext4".into(),
        kernel: "6.12.117".into(),
        seed: 1,
        total,
        left: requests(2, 0),
        syncs: commits,
        changes: 0,
        ledger: Ledger {
            program_bytes: data - 96,
            page_cache_bytes: 96,
            data_bytes: data,
            metadata_bytes: 0,
            journal_bytes: journal,
            unattributed_bytes: 0,
            drive_bytes: data + journal,
        },
        drives: vec![DriveCost {
            class: "sata-consumer".into(),
            drive: "generic-sata-consumer".into(),
            time_ns: 31_400_000,
            left_ns: 1_200_000,
            requests: total,
            flash: Some(FlashCost {
                held_bytes: 0,
                host_bytes: data + journal,
                copied_bytes: 0,
                padded_bytes: 8192,
            }),
        }],
        calls: vec![
            call("app", "fdatasync", "db-wal", commits, (4 * commits, 2 * commits)),
            call(KERNEL, "writeback", "db", 2, (2, 0)),
        ],
        files: vec![FileCost {
            path: "db-wal".into(),
            program_bytes: data - 96,
            data_bytes: data,
            read_bytes: 0,
            requests: requests(4 * commits, 2 * commits),
        }],
        processes: vec![ProcessCost {
            process: "app".into(),
            calls: commits,
            waits: commits,
            waited_ns: 1_000_000 * commits,
            requests: requests(4 * commits, 2 * commits),
        }],
        varies: Vec::new(),
        notes: Vec::new(),
    }
}

fn report(bill: Bill, base: Option<&Bill>) -> CostReport {
    let gate = base.map(|base| against(base, &bill, Tolerance::default()).unwrap());
    CostReport { bill, gate, lifetimes: Vec::new(), per_hour: None }
}

#[test]
fn calls_with_one_stack_are_shown_together() {
    let stack: Vec<String> = ["sync_log", "save", "main"].map(Into::into).into();
    let mut bill = bill(300);
    bill.calls = [("a", 2), ("b", 3), ("c", 1)]
        .map(|(path, count)| CallCost {
            stack: stack.clone(),
            ..call("app", "fsync", path, count, (4, 2))
        })
        .into();
    bill.calls[2].stack.pop();
    let text = CostReport::of(bill.clone()).to_text(LOOK);
    assert!(text.contains("fsync of 2 files, 5 calls: sync_log < save < main\n"), "{text}");
    assert!(text.contains("fsync of c, 1 call: sync_log < save\n"), "{text}");
    for call in &mut bill.calls {
        call.stack.clear();
    }
    assert!(!CostReport::of(bill).to_text(LOOK).contains("stacks"));
}

#[test]
fn a_bill_is_read_from_the_program_down_to_the_flash() {
    insta::assert_snapshot!(report(bill(300), None).to_text(LOOK));
}

#[test]
fn a_change_is_named_with_its_call() {
    let more = report(bill(301), Some(&bill(300)));
    let text = more.to_text(LOOK);
    assert!(text.contains("More than allowed:"), "{text}");
    assert!(text.contains("flushes: 602, before 600 (+2)"), "{text}");
    assert!(text.contains("app: fdatasync of db-wal, 301 calls where there were 300"), "{text}");
    insta::assert_snapshot!(more.to_markdown());
    let same = report(bill(300), Some(&bill(300))).to_text(LOOK);
    assert!(same.contains("Passed: nothing changed"), "{same}");
}

#[test]
fn a_change_in_one_of_two_runs_is_no_pass() {
    let first = bill(301);
    let unsteady = Bill { varies: varying(&first, &bill(303)), ..first };
    // The base has 600 flushes, and half a percent is 3: 602 are allowed, and 606 are not.
    let base = bill(300);
    let gate = against(&base, &unsteady, Tolerance::parse("0.5%").unwrap()).unwrap();
    let report = CostReport { gate: Some(gate), ..report(unsteady, None) };
    for text in [report.to_text(LOOK), report.to_markdown()] {
        assert!(text.contains("Cannot tell:") && !text.contains("Passed"), "{text}");
        assert!(text.contains("above what is allowed in one run and not in another"), "{text}");
    }
}

#[test]
fn what_is_not_the_same_twice_is_said() {
    let first = bill(300);
    let unsteady = Bill { varies: varying(&first, &bill(302)), ..first };
    let text = report(unsteady, None).to_text(LOOK);
    assert!(text.contains("two runs with seeds 1 and 2 differ in writes"), "{text}");
    assert!(text.contains("NOT THE SAME TWICE: flushes is 600 in one run and 604"), "{text}");
}

#[test]
fn json_is_a_base_for_later_bills() {
    let first = bill(300);
    let lifetimes = lifetime(&first, 60.0);
    let whole =
        CostReport { lifetimes, per_hour: Some(60.0), ..report(first.clone(), Some(&first)) };
    let document = whole.to_json();
    assert_eq!(document["schema"], "drivelab.cost/1");
    assert_eq!(document["gate"]["exceeded"], false);
    assert_eq!(document["lifetimes"].as_array().unwrap().len(), 3);
    let again: Bill = serde_json::from_value(document).unwrap();
    assert_eq!(again, first);
    let text = whole.to_text(LOOK);
    assert!(text.contains("60 times an hour it writes"), "{text}");
}

#[test]
fn foreign_names_are_only_text() {
    let mut odd = bill(1);
    odd.command = "a\u{1b}[31m<b>\n".into();
    odd.calls[0].path = "x\u{1b}[2J|y".into();
    let odd = report(odd, None);
    assert!(!odd.to_text(LOOK).contains('\u{1b}'));
    let markdown = odd.to_markdown();
    assert!(!markdown.contains('\u{1b}') && !markdown.contains("<b>"), "{markdown}");
    assert!(markdown.contains("\\|y"), "{markdown}");
}

fn at_a_rate(commits: u64) -> CostReport {
    let lifetimes = lifetime(&bill(commits), 60.0);
    CostReport { lifetimes, per_hour: Some(60.0), gate: None, bill: bill(commits) }
}

#[test]
fn bills_under_several_settings_share_their_tables() {
    let bills =
        vec![(vec!["1".to_owned()], at_a_rate(1)), (vec!["\u{202e}3".to_owned()], at_a_rate(3))];
    let report =
        SettingsReport { command: "app -n {n}".into(), names: vec!["n".to_owned()], bills };
    let text = report.to_text(LOOK);
    let first = bill(1).total.write_bytes;
    assert!(text.starts_with("app -n {n}\nunder Linux "), "{text}");
    assert!(text.contains(&first.to_string()) && text.contains("x1.000"), "{text}");
    assert!(text.contains("time on") && text.contains("years of flash at 60 runs"), "{text}");
    // What a value says never turns the terminal.
    assert!(!text.contains('\u{202e}'), "{text:?}");
    for note in &bill(1).notes {
        assert_eq!(text.matches(note.as_str()).count(), 1, "{text}");
    }
    let json = report.to_json();
    assert_eq!(json["bills"][1]["bill"]["total"], json!(bill(3).total));
    assert_eq!(json["bills"][0]["settings"], json!({ "n": "1" }));
}
