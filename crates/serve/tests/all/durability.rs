//! The check of promises on modelled drives in virtual time.

use drivelab_core::{Bytes, Sectors, Span, Time};
use drivelab_model::Drive;
use drivelab_model::profile::Profile;
use drivelab_model::spec::DriveSpec;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::durability::{
    Ledger, ModelledPlace, PlaceError, Verdict, Writing, Written, verify, write,
};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Dice, Store};

fn drive(options: &str) -> Drive {
    let name = "seagate-st31000333as";
    let spec: DriveSpec = format!("drive:{name}{options}").parse().unwrap();
    drivelab_model::build(&Profile::embedded(name).unwrap(), &spec.options, 1).unwrap()
}

fn outcome(options: &str, fault: Option<&str>, seed: u64) -> (Written, Verdict) {
    use drivelab_core::Device as _;
    let device = drive(options);
    let medium = Box::new(Memory::new(device.capacity(), Bytes::mib(512)));
    let mut served = ServedDrive::new(device, Store::new(medium, Sectors::new(1)), seed);
    if let Some(fault) = fault {
        served.add_fault(Time::ZERO, Fault::from_json(fault).unwrap());
    }
    let power_goes = Time::ZERO + Span::from_ms(500 + seed * 37);
    let mut place = ModelledPlace::new(served, power_goes);
    let mut ledger = Ledger::new(seed, 256);
    let writing = Writing { run: seed, pages: 256, until: Time::MAX };
    let (written, ended) = write(&mut place, &mut ledger, writing).unwrap();
    assert!(matches!(ended, Some(PlaceError::PowerCut)), "{ended:?}");
    assert_eq!(ledger.written().promised, written.promised);
    place.cut(&mut Dice::new(seed)).unwrap();
    (written, verify(&mut place, &ledger).unwrap())
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
    let verdicts: Vec<Verdict> = (0..10).map(|seed| outcome("", Some(fault), seed).1).collect();
    assert!(verdicts.iter().all(|verdict| !verdict.is_kept()), "{verdicts:?}");
    assert!(verdicts.iter().any(|verdict| verdict.misdirected > 0), "{verdicts:?}");
}
