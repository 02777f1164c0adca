//! Random histories with cuts: on a disorderly device and on modelled disks.

use drivelab_core::{Device, Sectors};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;

use super::jumbled::Jumbled;
use super::rig::{Conditions, MakeDevice, Rig, Right, SECTORS};

fn check(name: &str, histories: u64, make: MakeDevice<'_>) {
    for seed in 0..histories {
        if let Err(what) = Rig::new(make, &Right, seed).play() {
            panic!("{name}, seed {seed}: {what}");
        }
    }
}

pub(crate) fn jumbled(seed: u64) -> Box<dyn Device> {
    Box::new(Jumbled::new(Sectors::new(SECTORS as u64), seed))
}

#[test]
fn ten_thousand_histories_on_a_disorderly_device_are_legal() {
    check("jumbled", 10_000, &jumbled);
}

#[test]
fn histories_with_resets_and_with_a_protected_cache_are_legal() {
    let profile = Profile::embedded("seagate-st31000333as").unwrap();
    let modelled = |seed| -> Box<dyn Device> {
        Box::new(drivelab_model::build(&profile, &Options::default(), seed).unwrap())
    };
    for (name, histories, make) in
        [("jumbled", 4000, &jumbled as MakeDevice<'_>), ("modelled", 400, &modelled)]
    {
        for (resets, protected) in [(true, false), (false, true), (true, true)] {
            let conditions = Conditions { resets, protected, keeps_all: false };
            for seed in 0..histories {
                let played = Rig::new(make, &Right, seed).under(conditions).play();
                assert_eq!(played, Ok(()), "{name}, {conditions:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_thousand_power_cuts_start_from_one_image() {
    let mut first = Rig::new(&jumbled, &Right, 1);
    first.play().unwrap();
    let image = first.into_image();
    for seed in 0..1000 {
        let played = Rig::from_image(&jumbled, &image, seed).play();
        assert_eq!(played, Ok(()), "seed {seed}");
    }
}

#[test]
fn two_thousand_histories_on_modelled_disks_are_legal() {
    for (name, options) in [
        ("seagate-st31000333as", ""),
        ("seagate-st31000333as", ",controller=ide"),
        ("seagate-st250dm000", ",write-cache=off"),
        ("generic-10k", ""),
    ] {
        let spec: drivelab_model::options::DriveSpec =
            format!("drive:{name}{options}").parse().unwrap();
        let profile = Profile::embedded(name).unwrap();
        let make = |seed| -> Box<dyn Device> {
            Box::new(drivelab_model::build(&profile, &spec.options, seed).unwrap())
        };
        check(name, 500, &make);
    }
}

/// Solid-state drives as `spec` says: small parts, so that a thousand of them are made soon.
pub(crate) fn solid_state(spec: &str) -> impl Fn(u64) -> Box<dyn Device> {
    let spec: drivelab_model::options::DriveSpec = format!("drive:{spec}").parse().unwrap();
    let profile = Profile::embedded(&spec.profile.to_string()).unwrap();
    move |seed| Box::new(drivelab_model::build(&profile, &spec.options, seed).unwrap())
}

#[test]
fn a_thousand_histories_on_solid_state_drives_are_legal() {
    for (name, options) in [
        ("crucial-mx200", "scale=1/512,precondition=fresh"),
        ("crucial-mx200", "scale=1/512,precondition=full,tags=2"),
        ("crucial-mx200", "scale=1/512,precondition=fresh,controller=ide"),
        ("crucial-mx200", "scale=1/512,precondition=fresh,write-cache=off"),
        ("micron-7300pro", "scale=1/2304,precondition=fresh"),
        ("samsung-850evo", "scale=1/384,precondition=fresh"),
        ("crucial-bx500", "scale=1/768,precondition=full"),
        ("samsung-970pro", "scale=1/512,precondition=fresh"),
    ] {
        let spec = format!("{name},{options}");
        check(&spec, 200, &solid_state(&spec));
    }
}

#[test]
fn a_thousand_histories_on_tiers_are_legal() {
    let fast = "scale=1/512,precondition=fresh";
    for (slow, tier) in [
        ("seagate-st31000333as", format!("tier=swapcache:crucial-mx200,page-cache=1m,{fast}")),
        ("seagate-st31000333as", format!("tier=writeback:crucial-mx200,{fast}")),
        ("seagate-st250dm000", format!("write-cache=off,tier=writeback:samsung-970pro,{fast}")),
        ("generic-10k", "tier=writeback:micron-7300pro,scale=1/2304,precondition=fresh".to_owned()),
        ("fixed", "tier=writeback:fixed".to_owned()),
    ] {
        let spec = format!("{slow},{tier}");
        check(&spec, 200, &solid_state(&spec));
    }
}

/// Data of a writeback tier is lost with the power until the journal knows it, even on a protected
/// drive: the oracle that takes every answer for a promise accuses the tier.
#[test]
fn a_writeback_tier_promises_only_what_is_flushed() {
    let conditions = Conditions { keeps_all: true, ..Conditions::default() };
    let kept = |spec: &str| {
        let make = solid_state(spec);
        (0..300).all(|seed| Rig::new(&make, &Right, seed).under(conditions).play().is_ok())
    };
    let fast = "micron-7300pro,scale=1/2304,precondition=fresh";
    assert!(!kept(&format!("fixed,tier=writeback:{fast}")));
    assert!(kept(&format!("fixed,tier=swapcache:{fast},page-cache=1m")));
}

/// With power-loss protection an answer is a promise. The same oracle accuses a drive without it.
#[test]
fn a_protected_solid_state_drive_keeps_all_that_it_answered() {
    let conditions = Conditions { keeps_all: true, ..Conditions::default() };
    let broken = |spec: &str| {
        let make = solid_state(spec);
        (0..300).find_map(|seed| {
            let played = Rig::new(&make, &Right, seed).under(conditions).play();
            played.err().map(|what| format!("{spec}, seed {seed}: {what}"))
        })
    };
    for spec in ["micron-7300pro,scale=1/2304,precondition=fresh", "samsung-pm9a3,scale=1/1536"] {
        assert_eq!(broken(spec), None);
    }
    assert!(broken("crucial-mx200,scale=1/512,precondition=fresh").is_some());
}

#[test]
fn two_thousand_histories_on_arrays_are_legal() {
    let profile = Profile::embedded("seagate-st31000333as").unwrap();
    // Chunks and pieces of eight sectors, so that the twelve of a history lie on several drives.
    for array in [
        "raid=0,chunk=4k",
        "raid=1",
        "raid=1,failed=0",
        "raid=5,chunk=4k",
        "raid=5,chunk=4k,failed=1",
    ] {
        let spec = format!("drive:seagate-st31000333as,drives=3,max-sectors-kb=4,{array}");
        let spec: drivelab_model::options::DriveSpec = spec.parse().unwrap();
        let make = |seed| -> Box<dyn Device> {
            Box::new(drivelab_model::build(&profile, &spec.options, seed).unwrap())
        };
        check(array, 400, &make);
    }
}

#[test]
fn a_history_is_the_same_each_time_it_is_played() {
    for seed in 0..50 {
        let play = || format!("{:?}", Rig::new(&jumbled, &Right, seed).play());
        assert_eq!(play(), play(), "seed {seed}");
    }
}
