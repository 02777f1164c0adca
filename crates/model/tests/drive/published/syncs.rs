//! Durable writes of flash, held against what owners of 23 drives measured.
//!
//! 4 KiB, `O_DIRECT` and `O_DSYNC`, in sequence, with the drive's cache off where it can be; one
//! report a drive, collected in the blog of Sébastien Han (10 October 2014). 5 and 10 writers are
//! in the table where they were reported.

use drivelab_core::{Device, Lba, Request, Sectors, Time};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, build};
use drivelab_stats::predict;

/// A drive, with MB/s of 1, 5 and 10 writers; 0 where nothing was reported.
struct Row(&'static str, [f64; 3]);

const SERVER_SATA: [Row; 7] = [
    Row("Intel DC S3610 1.6TB", [96.0, 208.0, 241.0]),
    Row("Samsung SM863 240GB", [64.7, 125.0, 125.0]),
    // SAS.
    Row("HGST Ultrastar SSD1600MM 800 GB", [43.9, 96.0, 177.0]),
    Row("Intel DC S3700 100GB", [35.2, 0.0, 0.0]),
    Row("Micron M500DC 480 GB", [33.6, 0.0, 0.0]),
    Row("Intel DC S3700 200GB", [22.5, 0.0, 0.0]),
    Row("Micron p400e 400GB", [3.0, 0.0, 0.0]),
];
const SERVER_NVME: [Row; 4] = [
    Row("Netlist EV3 16GB", [345.0, 1439.0, 1766.0]),
    Row("Intel P3700 1.6TB", [360.0, 985.0, 1095.0]),
    Row("SanDisk Fusion ioMemory SX300-1300 1.3TB", [174.0, 793.0, 1101.9]),
    Row("Samsung XS1715 400GB", [110.0, 495.0, 628.0]),
];
const PC: [Row; 12] = [
    Row("Samsung 950 PRO 512GB NVMe", [245.0, 329.0, 388.0]),
    Row("LITEON ECE-200 200GB", [15.2, 0.0, 0.0]),
    Row("Kingston v300 60GB", [9.2, 22.0, 39.0]),
    Row("Intel 520 180GB", [8.7, 22.0, 40.0]),
    Row("SanDisk Ultra Plus 256GB", [6.0, 19.0, 33.0]),
    Row("Crucial MX200", [3.7, 0.0, 0.0]),
    Row("PLEXTOR PX-128M5", [2.6, 0.0, 0.0]),
    Row("Adata SP920", [2.2, 0.0, 0.0]),
    Row("Samsung 840 EVO 250GB", [1.9, 0.0, 0.0]),
    Row("Samsung 850 Pro 128GB", [1.2, 0.0, 0.0]),
    Row("Adata SP900", [0.8, 0.0, 0.0]),
    Row("Intel 535 240GB", [0.401, 0.0, 0.0]),
];

impl Row {
    /// Writes a second of a number of writers.
    fn rate(&self, writers: usize) -> f64 {
        self.1[writers] * 1e6 / 4096.0
    }
}

/// A class, its drives, and the number that one of its drives differs in most.
struct Class {
    profile: &'static str,
    rows: &'static [Row],
    key: &'static str,
    /// Of that number: median in microseconds, and standard deviation of the logarithm.
    prior: (f64, f64),
}

const CLASSES: [Class; 3] = [
    Class {
        profile: "generic-sata-consumer",
        rows: &PC,
        key: "flush_program",
        prior: (360.0, 0.95),
    },
    Class {
        profile: "generic-sata-datacenter",
        rows: &SERVER_SATA,
        key: "write_processing",
        prior: (75.0, 0.8),
    },
    Class {
        profile: "generic-nvme-datacenter",
        rows: &SERVER_NVME,
        key: "write_processing",
        prior: (11.0, 1.1),
    },
];

/// Durable writes a second of one drive.
fn durable_writes(profile: &Profile, writers: u64) -> f64 {
    const COUNT: u64 = 200;
    let mut options = Options::default();
    options.set("scale", "1/256").unwrap();
    options.set("precondition", "fresh").unwrap();
    let mut drive = build(profile, &options, 1).unwrap();
    let (mut now, mut sent, mut done, mut completed) = (Time::ZERO, 0, 0, Vec::new());
    while done < COUNT {
        while sent < COUNT && sent - done < writers {
            let write = Request::write(sent, Lba::new(sent * 8), Sectors::new(8));
            drive.submit(now, Request { fua: true, ..write }).unwrap();
            sent += 1;
        }
        now = drive.next_event().expect("writes are in progress");
        drive.advance(now, &mut completed);
        done += completed.drain(..).len() as u64;
    }
    COUNT as f64 * 1e9 / now.since(Time::ZERO).ns() as f64
}

fn rates(profile: &Profile, count: u32, writers: u64) -> Vec<f64> {
    let all = Specimens::new(1, count, std::iter::once(profile));
    (0..count).map(|number| durable_writes(&all.of(0, profile, number), writers)).collect()
}

/// Mean and standard deviation of logarithms.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let logs = values.map(f64::ln);
    let count = logs.clone().count() as f64;
    let mean = logs.clone().sum::<f64>() / count;
    let squares = logs.map(|log| (log - mean).powi(2)).sum::<f64>();
    (mean, (squares / (count - 1.0)).sqrt())
}

/// The 95 % of a drive of the class, if the class knew only `others`.
///
/// The number that one drive differs in most is refitted: its median by the mean of the logarithms,
/// its spread by theirs, widened as a few drives require.
fn interval_without(class: &Class, others: &[f64]) -> [f64; 2] {
    let profile = Profile::embedded(class.profile).unwrap();
    let (model_mean, model_sd) = moments(rates(&profile, 40, 1).into_iter());
    let (mean, sd) = moments(others.iter().copied());
    let (median, sigma) = class.prior;
    // Student's t for 95 % over that of the normal distribution, and the error of the mean.
    let few = 1.0 + 2.5 / (others.len() as f64 - 1.0);
    let wanted = sd * few * (1.0 + 1.0 / others.len() as f64).sqrt();
    // What the other unknowns of the class contribute stays as it is.
    let rest = (model_sd.powi(2) - sigma.powi(2)).max(0.0);
    let spread = (wanted.powi(2) - rest).max(0.01).sqrt().min(3.0);
    let text = format!(
        "base = \"{}\"\n{} = {{ median = \"{:.3}us\", sigma = {spread:.3}, min = \"0.5us\", max = \
         \"900ms\" }}\n",
        class.profile,
        class.key,
        median * (model_mean - mean).exp()
    );
    let fitted = Profile::parse("fitted.toml", &text, &|_| None).unwrap();
    predict(&rates(&fitted, 40, 1), fitted.lacks()[0]).unwrap().range95
}

/// Each drive is predicted from the others of its class.
#[test]
fn twenty_one_of_23_drives_are_predicted_from_the_others() {
    let (mut within, mut missed) = (0, Vec::new());
    for class in &CLASSES {
        for (index, row) in class.rows.iter().enumerate() {
            let others = class.rows.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<f64> = others.map(|(_, row)| row.rate(0)).collect();
            let [low, high] = interval_without(class, &others);
            if (low..=high).contains(&row.rate(0)) {
                within += 1;
            } else {
                missed.push(row.0);
            }
        }
    }
    assert!(within >= 21, "{missed:?}");
}

/// The intervals of the classes as they are: all but the drive that answers out of its memory, and
/// the one whose capacitors do not cover its cache.
#[test]
fn the_classes_contain_their_drives() {
    let mut missed = Vec::new();
    for class in &CLASSES {
        let profile = Profile::embedded(class.profile).unwrap();
        let [low, high] = predict(&rates(&profile, 40, 1), profile.lacks()[0]).unwrap().range95;
        let outside = class.rows.iter().filter(|row| !(low..=high).contains(&row.rate(0)));
        missed.extend(outside.map(|row| row.0));
    }
    assert_eq!(missed, ["Samsung 950 PRO 512GB NVMe", "Micron p400e 400GB"]);
}

/// Five and ten writers share commits: 2.4 to 3.2 and 4.2 to 5.5 times the rate of one.
#[test]
fn writers_share_the_cost_of_durable_writes() {
    let profile = Profile::embedded("generic-sata-consumer").unwrap();
    let [one, five, ten] = [1, 5, 10].map(|writers| rates(&profile, 40, writers));
    let [five, ten] = [five, ten].map(|many| {
        let gains = many.iter().zip(&one).map(|(many, one)| many / one);
        moments(gains).0.exp()
    });
    assert!((2.3..3.3).contains(&five), "{five}");
    assert!((4.0..5.6).contains(&ten), "{ten}");
    let measured = PC.iter().filter(|row| row.1[1] > 0.0).skip(1);
    for Row(name, [one, with_five, with_ten]) in measured {
        assert!((five * one / with_five).ln().abs() < 0.3, "{name}: {five}");
        assert!((ten * one / with_ten).ln().abs() < 0.3, "{name}: {ten}");
    }
}

/// A drive of which it is not known whether it has capacitors is either.
#[test]
fn an_unknown_drive_is_a_mixture_of_both_classes() {
    let profile = Profile::embedded("generic-sata").unwrap();
    let fast = rates(&profile, 40, 1).iter().filter(|rate| **rate > 6_000.0).count();
    assert!((6..=14).contains(&fast), "{fast} of 40");
}
