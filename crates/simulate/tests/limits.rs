//! The ranges of predictions, held against what links, buses, rotation, dies and clouds allow:
//! every included profile under eight loads.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use drivelab_core::Control;
use drivelab_core::units::Bytes;
use drivelab_core::workload::WorkloadOptions;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::{self, Profile};
use drivelab_simulate::predict::{Given, Wanted, predict};

const LOADS: [(&str, u64, u32, u32); 8] = [
    ("randread", 4, 32, 0),
    ("randwrite", 4, 32, 0),
    ("read", 1024, 8, 0),
    ("write", 1024, 8, 0),
    ("read", 128, 1, 0),
    ("randread", 128, 32, 0),
    ("write", 4, 1, 1),
    ("randwrite", 4, 1, 1),
];

/// Bytes a second of the fastest link or bus of a profile, before any framing; its rotation; and
/// requests and bytes a second of a volume. From its text alone.
fn stated(name: &str) -> [Option<f64>; 4] {
    let profile = Profile::embedded(name).unwrap();
    let text = profile.canonical();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
        line.map(|value| value.trim().trim_matches('"').to_owned())
    };
    let number = |key: &str| value(key).and_then(|value| value.replace('_', "").parse().ok());
    let link = match value("link").as_deref() {
        Some("1.5") => Some(150e6),
        Some("3") => Some(300e6),
        Some("6") => Some(600e6),
        Some("pcie3x4") => Some(3.94e9),
        Some("pcie4x4") => Some(7.88e9),
        Some(other) => panic!("{name}: a link of `{other}`"),
        // UHS-I, HS400 and 5 Gb/s at most; a disk on SCSI has its own.
        None => match name {
            "generic-sd" => Some(104e6),
            "generic-emmc" => Some(400e6),
            "generic-usb-stick" => Some(500e6),
            _ => None,
        },
    };
    let rate = |key: &str| value(key).and_then(|value| value.parse::<Bytes>().ok());
    let bytes = rate("burst_bytes_per_s").or(rate("bytes_per_s"));
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let bytes = bytes.map(|bytes| bytes.get() as f64);
    [link, number("rpm"), number("burst_iops").or(number("iops")), bytes]
}

/// The drive at a scale at which it is quickly prepared, if it has one.
fn scaled(name: &str) -> DriveSpec {
    let profile = Profile::embedded(name).unwrap();
    let scales = ["1/256", "1/128", "1/64", "1/32"].into_iter();
    let mut all = scales.map(|scale| format!("{name},scale={scale}").parse::<DriveSpec>().unwrap());
    let fits = |spec: &DriveSpec| drivelab_model::build(&profile, &spec.options, 1).is_ok();
    let found = if profile.is_solid_state() { all.find(fits) } else { None };
    found.unwrap_or_else(|| name.parse().unwrap())
}

#[test]
fn no_range_crosses_a_limit() {
    let mut outside = Vec::new();
    for name in profile::names() {
        let [link, rpm, iops, bytes] = stated(name);
        for (rw, kib, iodepth, fsync) in LOADS {
            let spec = scaled(name);
            let options = WorkloadOptions {
                rw: rw.parse().ok(),
                bs: Some(Bytes::kib(kib)),
                iodepth: Some(iodepth),
                fsync: (fsync > 0).then_some(fsync),
                number_ios: Some(300),
                ..WorkloadOptions::default()
            };
            let wanted = Wanted {
                spec: &spec,
                profile: Profile::embedded(name).unwrap(),
                specimens: 3,
                seed: 1,
                options,
                given: Given::new(|given| given == "iodepth"),
            };
            let found = predict(wanted, &Control::unattended());
            let json = found.unwrap_or_else(|error| panic!("{name} {rw}: {error}")).json(name);
            let depth = &json["depths"][0];
            let most = depth["iops_range"][1].as_f64().unwrap();
            let gain = depth["gain_range"][1].as_f64().unwrap();
            let mean = depth["mean_range_ns"][0].as_f64().unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a block")]
            let per_s = most * (kib * 1024) as f64;
            let mut check = |what: &str, found: f64, limit: Option<f64>| {
                if limit.is_some_and(|limit| found > limit * 1.000_001) {
                    outside.push(format!("{name} {rw} {kib}k: {what} {found} of {limit:?}"));
                }
            };
            check("bytes a second over the link", per_s, link);
            check("bytes a second of the volume", per_s, bytes);
            let merged = if rw.starts_with("rand") || kib >= 256 { 1.0 } else { 256.0 };
            check("requests a second of the volume", most, iops.map(|iops| iops * merged));
            let each_turn = fsync == 1 && rw == "write";
            check("durable writes a second", most, rpm.filter(|_| each_turn).map(|rpm| rpm / 60.0));
            check("a gain at the first depth", gain, Some(1.0));
            if fsync == 0 {
                // Little's law: so many in progress at this rate take as long.
                check("requests a second by the mean", f64::from(iodepth) * 1e9 / mean, {
                    depth["iops_most"].as_f64()
                });
            }
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}
