//! Predictions of every included drive keep to what link, rotation, dies and contracts allow.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use drivelab_core::numbers::float;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{Control, Span};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::{self, Profile};
use drivelab_simulate::predict::{Given, Wanted, predict};

/// A load: direction, bytes of a request, requests in progress, writes between flushes, `O_DSYNC`.
type Load = (&'static str, u32, u32, u32, bool);

/// A prediction at one depth: medians, and ranges of 95 %.
#[derive(Debug)]
struct Found {
    iops: f64,
    iops_range: [f64; 2],
    iops_most: Option<f64>,
    mean_ns: f64,
    mean_range_ns: [f64; 2],
}

/// The drive; of flash a part that is as small as its blocks allow.
fn small(name: &str, profile: &Profile) -> DriveSpec {
    let scales = if profile.is_solid_state() { [",scale=1/256", ",scale=1/64"] } else { ["", ""] };
    let specs = scales.map(|scale| format!("{name}{scale}").parse::<DriveSpec>().unwrap());
    let builds =
        specs.into_iter().find(|it| drivelab_model::build(profile, &it.options, 1).is_ok());
    builds.expect("every included drive can be built")
}

/// The prediction from two drives and short runs.
fn found(spec: &DriveSpec, profile: &Profile, (rw, bs, iodepth, fsync, sync): Load) -> Found {
    let options = WorkloadOptions {
        rw: rw.parse().ok(),
        bs: bs.to_string().parse().ok(),
        iodepth: Some(iodepth),
        fsync: Some(fsync).filter(|each| *each > 0),
        sync: Some(sync),
        number_ios: Some(150),
        runtime: Some(Span::from_secs(10)),
        ..WorkloadOptions::default()
    };
    let wanted = Wanted {
        spec,
        profile: profile.clone(),
        specimens: 2,
        seed: 1,
        options,
        given: Given::new(|key| key == "iodepth"),
    };
    let json = predict(wanted, &Control::unattended()).unwrap().json("drive");
    let depth = &json["depths"][0];
    let number = |key: &str| depth[key].as_f64().unwrap();
    let range = |key: &str| [0, 1].map(|end| depth[key][end].as_f64().unwrap());
    Found {
        iops: number("iops"),
        iops_range: range("iops_range"),
        iops_most: depth["iops_most"].as_f64(),
        mean_ns: number("mean_ns"),
        mean_range_ns: range("mean_range_ns"),
    }
}

/// Bytes a second of a serial link after its coding; those of a card differ from card to card.
fn bytes_per_s(profile: &Profile, spec: &DriveSpec) -> Option<f64> {
    let built = drivelab_model::build(profile, &spec.options, 1).unwrap();
    let attached = built.about().attached.as_ref()?;
    attached.link.map(|_| float(attached.wire_bytes_per_s))
}

/// Checks the ranges of a load against the limits that hold for any drive of this kind.
fn check(profile: &Profile, link: Option<f64>, load: Load, found: &Found) {
    let said = format!("{} {load:?} {found:?}", profile.model);
    let (_, bs, iodepth, fsync, sync) = load;
    let (depth, [low, high]) = (f64::from(iodepth), found.iops_range);
    assert!(low <= found.iops && found.iops <= high, "{said}");
    assert!(found.iops_most.is_none_or(|most| high <= most), "{said}");
    assert!(!profile.is_volume() || found.iops_most.is_some(), "{said}");
    assert!(link.is_none_or(|link| high * f64::from(bs) < link), "{link:?} {said}");
    let is_durable = sync || fsync > 0;
    if let Some(rpm) = profile.rpm().filter(|_| is_durable) {
        assert!(high * 60.0 <= 1.000_001 * depth * float(rpm), "{rpm} {said}");
    }
    if fsync == 0 {
        let [short, long] = found.mean_range_ns;
        for (mean_ns, rate) in [(found.mean_ns, found.iops), (short, high), (long, low)] {
            let in_progress = mean_ns * rate / 1e9;
            assert!((in_progress / depth - 1.0).abs() < 0.001, "{in_progress} {said}");
        }
    }
}

#[test]
fn no_range_of_any_drive_crosses_a_limit() {
    let loads: [Load; 9] = [
        ("randread", 4096, 1, 0, false),
        ("randread", 4096, 32, 0, false),
        ("read", 4096, 32, 0, false),
        ("read", 1 << 20, 1, 0, false),
        ("randwrite", 4096, 32, 0, false),
        ("write", 4096, 1, 1, false),
        ("write", 4096, 4, 0, true),
        ("write", 1 << 20, 1, 0, false),
        ("write", 1 << 20, 32, 0, false),
    ];
    for name in profile::names() {
        let profile = Profile::embedded(name).unwrap();
        let spec = small(name, &profile);
        let link = bytes_per_s(&profile, &spec);
        for load in loads {
            check(&profile, link, load, &found(&spec, &profile, load));
        }
    }
}
