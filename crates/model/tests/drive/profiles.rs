//! The profiles that come along, against what is known of their models.

use crate::load::{Load, drive, run};

#[test]
fn profiles_gain_what_their_priors_say() {
    let check = |name: &str, median: f64, margin: f64| {
        let at = |depth| run(&mut drive(name), Load { depth, requests: 30_000, ..Load::default() });
        let deep = at(32);
        let (gain, tail) = (deep.iops() / at(1).iops(), deep.quantile_ms(0.99) / deep.mean_ms());
        assert!((gain / median - 1.0).abs() < margin, "{name}: R(32) = {gain}");
        assert!((3.5..4.75).contains(&tail), "{name}: p99 over mean = {tail}");
    };
    check("seagate-st31000333as", 1.65, 0.04);
    check("seagate-st250dm000", 1.65, 0.04);
    // Its own curve rises steeply: half a deviation of the prior above the median.
    check("seagate-st2000dm006", 1.65, 0.10);
    check("hitachi-hts542516k9sa00", 1.55, 0.04);
    check("generic-5400", 1.55, 0.04);
    // Data sheets of 10K and 15K drives say 1.8 to 2.2.
    check("generic-10k", 1.95, 0.04);
}

#[test]
fn depth_one_of_the_fitted_drive_is_near_what_was_measured() {
    let outcome =
        run(&mut drive("seagate-st2000dm006"), Load { requests: 60_000, ..Load::default() });
    let check = |what: &str, found: f64, measured: f64, margin: f64| {
        assert!((found / measured - 1.0).abs() < margin, "{what}: {found} for {measured}");
    };
    // A smooth curve has no kinks to meet the quartiles with.
    check("mean", outcome.mean_ms(), 17.57, 0.01);
    check("iops", outcome.iops(), 57.6, 0.02);
    check("p25", outcome.quantile_ms(0.25), 14.75, 0.08);
    check("p50", outcome.quantile_ms(0.50), 17.69, 0.03);
    check("p75", outcome.quantile_ms(0.75), 20.84, 0.03);
    check("p90", outcome.quantile_ms(0.90), 23.20, 0.05);
    check("p95", outcome.quantile_ms(0.95), 24.77, 0.05);
    check("p99", outcome.quantile_ms(0.99), 28.44, 0.05);
    check("p99.5", outcome.quantile_ms(0.995), 40.63, 0.10);
}

/// Sequential MB/s with 1 MiB blocks, beginning at a percentage of the drive.
fn sequential_mb_per_s(name: &str, from: u64) -> f64 {
    let load = Load { sequential: true, sectors: 2048, requests: 400, from, ..Load::default() };
    run(&mut drive(name), load).iops() * 1.048_576
}

#[test]
fn sequential_rates_are_those_published() {
    // "Just under 100 MB/s" between 400 and 600 GB of the 1 TB drive.
    for from in [40, 50, 59] {
        let rate = sequential_mb_per_s("seagate-st31000333as", from);
        assert!((88.0..108.0).contains(&rate), "{from} %: {rate}");
    }
    let middle = sequential_mb_per_s("seagate-st31000333as", 50);
    assert!((95.0..100.0).contains(&middle), "{middle}");
    // 143 MB/s with 1 MiB blocks over a nearly full 2 TB volume: the mean of its zones.
    let mean = (0..10).map(|tenth| sequential_mb_per_s("seagate-st2000dm006", tenth * 10 + 5));
    let mean = mean.sum::<f64>() / 10.0;
    assert!((mean / 143.0 - 1.0).abs() < 0.04, "{mean}");
}
