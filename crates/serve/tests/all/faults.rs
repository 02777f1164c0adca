//! What each fault does to a drive in virtual time.

use drivelab_core::disk::{Answer, Command, CommandError, Data};
use drivelab_core::{Bytes, Disk, IoError, Lba, Op, Sectors, Span, Time};
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{KeepAll, Store};

const CAPACITY: Sectors = Sectors::new(4096);

struct Bench {
    drive: ServedDrive,
    now: Time,
}

impl Bench {
    fn with(fault: &str, seed: u64) -> Self {
        let store = Store::new(Box::new(Memory::new(CAPACITY, Bytes::mib(8))), Sectors::new(8));
        let mut drive = ServedDrive::new(Null::new(CAPACITY), store, seed);
        drive.add_fault(Time::ZERO, Fault::from_json(fault).unwrap());
        Self { drive, now: Time::ZERO }
    }

    /// Submits a write of one 4096-byte sector, which is then on its way.
    fn begin_write(&mut self, lba: u64, byte: u8) {
        let data = Some(Data::Bytes(vec![byte; 4096].into_boxed_slice()));
        let (token, op, lba, sectors) = (1, Op::Write, Lba::new(lba), Sectors::new(8));
        let command = Command { token, op, lba, sectors, fua: false, submitter: 0, data };
        self.drive.submit(self.now, command).unwrap();
    }

    /// What lies on the medium in the 4096-byte sector at `lba`.
    fn medium(&self, lba: u64) -> Vec<u8> {
        let mut data = vec![0; 4096];
        self.drive.read(Lba::new(lba), &mut data).unwrap();
        data
    }

    fn ask(&mut self, op: Op, lba: u64, sectors: u64, byte: u8) -> Answer {
        let bytes = vec![byte; usize::try_from(sectors * 512).unwrap()];
        let data = (op == Op::Write).then(|| Data::Bytes(bytes.into_boxed_slice()));
        let (lba, sectors) = (Lba::new(lba), Sectors::new(sectors));
        let command = Command { token: 1, op, lba, sectors, fua: false, submitter: 0, data };
        self.drive.submit(self.now, command).unwrap();
        let mut done = Vec::new();
        while done.is_empty() {
            self.now = self.drive.next_event().unwrap();
            self.drive.advance(self.now, &mut done).unwrap();
        }
        done[0]
    }

    fn read(&mut self, lba: u64) -> Result<[u8; 512], CommandError> {
        self.ask(Op::Read, lba, 1, 0).result?;
        let mut data = [0; 512];
        self.drive.read(Lba::new(lba), &mut data).unwrap();
        Ok(data)
    }
}

fn bad_sector<T>(lba: u64) -> Result<T, CommandError> {
    Err(CommandError { kind: IoError::Medium, lba: Some(Lba::new(lba)) })
}

#[test]
fn an_error_tells_the_first_sector_that_failed() {
    for (kind, op) in [("read-error", Op::Read), ("write-error", Op::Write)] {
        let fault = format!(r#"{{"kind": "{kind}", "range": [10240, 12288]}}"#);
        let mut bench = Bench::with(&fault, 1);
        assert_eq!(bench.ask(op, 16, 8, 1).result, bad_sector(20), "{kind}");
        assert_eq!(bench.ask(op, 22, 8, 1).result, bad_sector(22), "{kind}");
        assert_eq!(bench.ask(op, 24, 8, 1).result, Ok(()), "{kind}");
    }
    let mut bench = Bench::with(r#"{"kind": "latent-error", "range": [10240, 12288]}"#, 1);
    assert_eq!(bench.ask(Op::Read, 16, 8, 0).result, bad_sector(20));
}

#[test]
fn a_stall_holds_back_what_it_concerns_and_nothing_else() {
    let fault = r#"{"kind": "stall", "op": "read", "range": [4096, 8192], "duration_ms": 250}"#;
    let mut bench = Bench::with(fault, 1);
    assert_eq!(bench.ask(Op::Read, 0, 8, 0).due, Time::ZERO);
    assert_eq!(bench.ask(Op::Write, 8, 8, 1).due, Time::ZERO);
    assert_eq!(bench.ask(Op::Read, 8, 8, 0).due, Time::ZERO + Span::from_ms(250));
}

#[test]
fn an_error_reaches_the_asker_and_a_failed_write_changes_nothing() {
    let mut bench = Bench::with(r#"{"kind": "write-error", "range": [0, 512]}"#, 1);
    assert_eq!(bench.ask(Op::Write, 0, 1, 7).result, bad_sector(0));
    assert_eq!(bench.read(0), Ok([0; 512]));
    assert_eq!(bench.ask(Op::Write, 1, 1, 7).result, Ok(()));
    assert_eq!(bench.read(1), Ok([7; 512]));
}

#[test]
fn a_latent_error_stays_until_the_sector_is_written() {
    let mut bench = Bench::with(r#"{"kind": "latent-error", "range": [5120, 5632]}"#, 1);
    assert_eq!(bench.read(9), Ok([0; 512]));
    assert_eq!(bench.read(10), bad_sector(10));
    assert_eq!(bench.read(10), bad_sector(10));
    assert_eq!(bench.ask(Op::Write, 10, 1, 3).result, Ok(()));
    assert_eq!(bench.read(10), Ok([3; 512]));
}

#[test]
fn bit_rot_flips_one_bit_of_a_sector_once() {
    let mut bench = Bench::with(r#"{"kind": "bit-rot", "range": [0, 512]}"#, 1);
    let ones = |data: [u8; 512]| data.iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert_eq!(bench.read(0).map(ones), Ok(1));
    assert_eq!(bench.read(0).map(ones), Ok(1));
    assert_eq!(bench.read(1).map(ones), Ok(0));
}

#[test]
fn a_misdirected_write_is_found_elsewhere_within_its_range() {
    let mut bench = Bench::with(r#"{"kind": "misdirected", "range": [0, 65536]}"#, 3);
    assert_eq!(bench.ask(Op::Write, 0, 8, 9).result, Ok(()));
    let found: Vec<u64> = (0..128).filter(|lba| bench.read(*lba) == Ok([9; 512])).collect();
    assert_eq!(found.len(), 8);
    assert!(found[0] > 0 && found[0].is_multiple_of(8), "{found:?}");
}

#[test]
fn a_share_of_the_requests_is_struck_and_the_same_ones_by_the_same_seed() {
    let strikes = |seed| -> Vec<bool> {
        let mut bench = Bench::with(r#"{"kind": "read-error", "probability": 0.25}"#, seed);
        (0..400).map(|_| bench.read(0).is_err()).collect()
    };
    let struck = strikes(5).iter().filter(|struck| **struck).count();
    // 100 expected, standard deviation 8.7.
    assert!((55..=145).contains(&struck), "{struck}");
    assert_eq!(strikes(5), strikes(5));
    assert_ne!(strikes(5), strikes(6));
}

#[test]
fn what_a_fault_did_is_logged_and_a_removed_one_does_nothing() {
    let mut bench = Bench::with(r#"{"kind": "read-error"}"#, 1);
    assert_eq!(bench.read(0), bad_sector(0));
    assert!(bench.drive.remove_fault(bench.now, 1));
    assert!(!bench.drive.remove_fault(bench.now, 1));
    assert_eq!(bench.read(0), Ok([0; 512]));
    let log: Vec<String> = bench.drive.take_incidents().iter().map(ToString::to_string).collect();
    assert_eq!(
        log,
        [
            "0s fault 1: added {\"kind\":\"read-error\",\"probability\":1.0}",
            "0s fault 1: read-error strikes Read at 0+1",
            "0s fault 1: removed, 1 strikes",
        ]
    );
}

#[test]
fn strikes_are_counted_and_not_told_one_by_one() {
    let stall = r#"{"kind": "stall", "duration_ms": 1}"#;
    for fault in [r#"{"kind": "read-error"}"#, r#"{"kind": "latent-error"}"#, stall] {
        let mut bench = Bench::with(fault, 1);
        for _ in 0..20_000 {
            bench.ask(Op::Read, 0, 1, 0);
        }
        let told = bench.drive.take_incidents();
        assert!(told.len() <= 20, "{} lines for {fault}", told.len());
        assert!(told.iter().any(|incident| incident.what.contains("10000 strikes")), "{told:?}");
        let (_, _, strikes) = bench.drive.faults().next().unwrap();
        assert_eq!(strikes, 20_000);
    }
}

#[test]
fn a_cut_tears_a_physical_sector_once() {
    for seed in 1..20 {
        let mut bench = Bench::with(r#"{"kind": "torn"}"#, seed);
        bench.begin_write(8, 7);
        bench.drive.cut(bench.now, &mut KeepAll).unwrap();
        let found = bench.medium(8);
        let new = found.iter().take_while(|byte| **byte == 7).count();
        assert!((1..4096).contains(&new), "seed {seed}: {new}");
        assert!(found[new..].iter().all(|byte| *byte == 0), "seed {seed}");
        let incidents = bench.drive.take_incidents();
        let torn = format!("sector 8+8 is torn after {new} bytes");
        assert_eq!(incidents.last().unwrap().what, torn, "seed {seed}");
    }
}

#[test]
fn an_orderly_end_tears_nothing() {
    let mut bench = Bench::with(r#"{"kind": "torn"}"#, 1);
    bench.begin_write(8, 7);
    bench.drive.power_off().unwrap();
    assert_eq!(bench.medium(8), vec![7; 4096]);
}

#[test]
fn a_write_that_fails_does_not_survive_a_cut_in_part() {
    let mut bench = Bench::with(r#"{"kind": "write-error"}"#, 1);
    bench.begin_write(8, 7);
    bench.drive.cut(bench.now, &mut KeepAll).unwrap();
    assert_eq!(bench.medium(8), vec![0; 4096]);
}

#[test]
fn a_flush_that_lies_can_be_stalled() {
    let mut bench = Bench::with(r#"{"kind": "lying-flush"}"#, 1);
    let stall = r#"{"kind": "stall", "op": "flush", "duration_ms": 5}"#;
    bench.drive.add_fault(Time::ZERO, Fault::from_json(stall).unwrap());
    assert_eq!(bench.ask(Op::Flush, 0, 0, 0).due, Time::ZERO + Span::from_ms(5));
}
