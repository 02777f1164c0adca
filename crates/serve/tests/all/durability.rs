//! The check of promises on modelled drives in virtual time.

use std::sync::atomic::AtomicBool;

use drivelab_core::Control;
use drivelab_core::verification::{Judgement, PromiseRate};
use drivelab_core::{Bytes, Sectors, Span, Time};
use drivelab_model::Drive;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::durability::{
    Ended, Ledger, ModelledTarget, PageTarget, TargetError, Writing, verify, write,
};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Dice, Store};

fn drive(options: &str) -> Drive {
    let name = "seagate-st31000333as";
    let spec: DriveSpec = format!("drive:{name}{options}").parse().unwrap();
    drivelab_model::build(&Profile::embedded(name).unwrap(), &spec.options, 1).unwrap()
}

fn outcome(options: &str, fault: Option<&str>, seed: u64) -> (PromiseRate, Judgement) {
    use drivelab_core::Device as _;
    let device = drive(options);
    let medium = Box::new(Memory::new(device.capacity(), Bytes::mib(512)));
    let mut served = ServedDrive::new(device, Store::new(medium, Sectors::new(1)), seed);
    if let Some(fault) = fault {
        served.add_fault(Time::ZERO, Fault::from_json(fault).unwrap());
    }
    let power_goes = Time::ZERO + Span::from_ms(500 + seed * 37);
    let mut target = ModelledTarget::new(served, power_goes);
    let mut ledger = Ledger::new(seed, 256);
    let control = Control::unattended();
    let writing = Writing { run: seed, pages: 256, until: Time::MAX, control: &control };
    let (written, ended) = write(&mut target, &mut ledger, writing);
    assert!(matches!(ended, Ended::Target(TargetError::PowerCut)), "{ended:?}");
    assert_eq!(ledger.pace().promised, written.promised);
    target.cut(&mut Dice::new(seed)).unwrap();
    (written, verify(&mut target, &ledger, &control).unwrap())
}

#[test]
fn an_honest_drive_keeps_every_promise_with_and_without_its_cache() {
    for options in
        ["", ",write-cache=off", ",controller=ide", ",drives=2,raid=1", ",drives=3,raid=5"]
    {
        for seed in 0..12 {
            let (written, verdict) = outcome(options, None, seed);
            assert!(written.promised > 10 && !written.is_beyond(7200), "{written:?}");
            assert!(verdict.is_kept(), "{options}, seed {seed}: {verdict:?}");
        }
    }
}

#[test]
fn a_drive_whose_flush_lies_breaks_promises_and_is_told_by_its_pace() {
    let mut broken = 0;
    for seed in 0..12 {
        let (written, verdict) = outcome("", Some(r#"{"kind": "lying-flush"}"#), seed);
        broken += u64::from(!verdict.is_kept());
        assert!(written.is_beyond(7200), "{written:?} is no more than an honest drive does");
    }
    assert!(broken >= 6, "only {broken} of 12 lying drives were caught");
}

#[test]
fn misdirected_writes_are_told_apart_from_lost_ones() {
    let fault = r#"{"kind": "misdirected", "probability": 0.2, "range": [0, 4194304]}"#;
    let verdicts: Vec<Judgement> = (0..10).map(|seed| outcome("", Some(fault), seed).1).collect();
    assert!(verdicts.iter().all(|verdict| !verdict.is_kept()), "{verdicts:?}");
    assert!(verdicts.iter().any(|verdict| verdict.misdirected > 0), "{verdicts:?}");
}

/// Counts what is read.
struct Counting<P>(P, u64);

impl<P: PageTarget> PageTarget for Counting<P> {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn write(&mut self, page: u64, bytes: &[u8]) -> Result<(), TargetError> {
        self.0.write(page, bytes)
    }

    fn sync(&mut self) -> Result<(), TargetError> {
        self.0.sync()
    }

    fn read(&mut self, page: u64, bytes: &mut [u8]) -> Result<(), TargetError> {
        self.1 += 1;
        self.0.read(page, bytes)
    }

    fn data_from(&mut self, page: u64) -> Result<Option<u64>, TargetError> {
        self.0.data_from(page)
    }
}

#[test]
fn verifying_takes_as_long_as_there_is_data_whatever_the_size() {
    use drivelab_core::Device as _;
    let device = drive("");
    let medium = Box::new(Memory::new(device.capacity(), Bytes::mib(512)));
    let served = ServedDrive::new(device, Store::new(medium, Sectors::new(1)), 1);
    let mut target = ModelledTarget::new(served, Time::ZERO + Span::from_ms(500));
    let pages = target.pages();
    assert!(pages > 10_000_000, "a terabyte");
    let mut ledger = Ledger::new(1, pages);
    let control = Control::unattended();
    let writing = Writing { run: 1, pages, until: Time::MAX, control: &control };
    let (written, _) = write(&mut target, &mut ledger, writing);
    target.cut(&mut Dice::new(1)).unwrap();
    let mut target = Counting(target, 0);
    let verdict = verify(&mut target, &ledger, &control).unwrap();
    assert!(verdict.is_kept() && verdict.promised > 10, "{verdict:?}");
    // A page of the store's memory is two of ours, and one write may have been under way.
    assert!(target.1 <= 2 * (written.promised + 1), "{} reads for {written:?}", target.1);
}

#[test]
fn writing_stops_before_the_next_page() {
    use drivelab_core::Device as _;
    let device = drive("");
    let medium = Box::new(Memory::new(device.capacity(), Bytes::mib(64)));
    let served = ServedDrive::new(device, Store::new(medium, Sectors::new(1)), 1);
    let mut target = ModelledTarget::new(served, Time::MAX);
    let mut ledger = Ledger::new(1, 256);
    let stop = AtomicBool::new(true);
    let control = Control::silent(&stop);
    let writing = Writing { run: 1, pages: 256, until: Time::MAX, control: &control };
    let (written, ended) = write(&mut target, &mut ledger, writing);
    assert!(matches!(ended, Ended::Stopped), "{ended:?}");
    assert_eq!(written.promised, 0);
}
