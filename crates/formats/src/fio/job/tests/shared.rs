//! Rates, locks and the free space that jobs share.

use drivelab_core::workload::{FileLock, FlowShare};

use super::super::extent::ExtentError;
use super::*;

fn flow_of(options: &str) -> Option<FlowShare> {
    job(&format!("size=1m\n{options}")).conduct.flow
}

fn lock_of(options: &str) -> (FileLock, bool) {
    let read = job(&format!("size=1m\n{options}"));
    let noted = read.notes.iter().any(|note| note.starts_with("`lockfile`"));
    (read.conduct.lock, noted)
}

#[test]
fn a_flow_is_a_weight_among_the_jobs_with_its_number() {
    let share = FlowShare { id: 0, weight: 3, sleep: Span::ZERO };
    assert_eq!(flow_of("flow=3"), Some(share));
    let sleep = Span::from_us(250);
    assert_eq!(
        flow_of("flow_id=7\nflow=3\nflow_sleep=250"),
        Some(FlowShare { id: 7, sleep, ..share })
    );
    assert_eq!(flow_of("flow=0\nflow_id=7\nflow_sleep=250"), None);
    // fio reads a negative weight as one of 32 bits.
    assert_eq!(flow_of("flow=-1").unwrap().weight, u32::MAX);
    let read = job("size=1m\nflow=-1\nflow_watermark=100");
    assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
    check_error("[a]\nsize=1m\nflow=x", 3, "`flow`", "");
    let two = "[a]\nsize=1m\nfilename=x:y\nioengine=libaio\niodepth=2\nflow=2";
    check_error(two, 1, "several files", "a section with its `flow`");
}

#[test]
fn a_lock_is_one_of_the_calls_of_a_synchronous_engine() {
    assert_eq!(lock_of("lockfile=exclusive"), (FileLock::Exclusive, false));
    assert_eq!(lock_of("lockfile=readwrite\nioengine=pvsync"), (FileLock::ReadWrite, false));
    assert_eq!(lock_of("lockfile=none"), (FileLock::None, false));
    let (_, noted) = lock_of("lockfile=exclusive\nioengine=libaio");
    assert!(noted, "a queue is not locked");
    check_error("[a]\nsize=1m\nlockfile=all", 3, "`readwrite`", "");
}

#[test]
fn a_job_fills_a_device_up_to_its_size() {
    assert!(job("rw=write\nfill_device=1").fills());
    assert!(job("rw=write\nfill_fs").fills());
    assert!(!job("rw=write\nfill_device=0").fills());
    assert!(!job("rw=write\nfill_device=1\nsize=50%").fills());
    for (size, filled) in [("1m", 1), ("100m", 8)] {
        let mut sized = job(&format!("rw=write\nfill_device=1\nsize={size}"));
        assert!(sized.fills());
        sized.fill_to(Bytes::mib(8));
        let found = sized.workload(None).unwrap().size;
        assert_eq!(found, Some(Bytes::mib(filled)), "{size}");
    }
    check_error("[a]\nfill_device=2", 2, "`2` is neither 0 nor 1", "");
    let mut behind = job("rw=write\nfill_device=1\noffset=25%");
    behind.fill_to(Bytes::mib(8));
    assert_eq!(behind.workload(None).unwrap_err(), ExtentError::NoWhole { option: "offset" });
    assert_eq!(behind.workload(Some(Bytes::mib(8))).unwrap().size, Some(Bytes::mib(6)));
}

#[test]
fn a_target_for_latencies_is_a_search_for_the_depth() {
    let read = job("size=1m\nlatency_target=10ms\nlatency_window=500ms\nlatency_percentile=99.9");
    let goal = read.conduct.latency.unwrap();
    assert_eq!((goal.target, goal.window), (Span::from_ms(10), Span::from_ms(500)));
    assert_eq!((goal.share, goal.endless), (Ratio::from_billionths(999_000_000), false));
    let read = job("size=1m\nlatency_target=250\nlatency_run=1");
    let goal = read.conduct.latency.unwrap();
    assert_eq!((goal.target, goal.window), (Span::from_us(250), Span::ZERO));
    assert!(goal.endless && goal.share == Ratio::ONE);
    for wrong in ["150", "-1", "nan"] {
        let text = format!("[a]\nsize=1m\nlatency_percentile={wrong}");
        check_error(&text, 3, "latency_percentile", "");
    }
    assert_eq!(job("size=1m\nlatency_window=5\nlatency_percentile=95").conduct.latency, None);
}
