use super::*;
use crate::profile::Profile;

const FIGURES: &str = "[drive]\ncapacity_bytes = 2_000_398_934_016\nrpm = 7200\n\
    [random_read_qd1]\nbs = \"4k\"\niops = 57.6\nmean_ms = 17.57\np1_ms = 3.26\np5_ms = 7.70\n\
    p10_ms = 10.42\np25_ms = 14.75\np50_ms = 17.69\np75_ms = 20.84\np90_ms = 23.20\n\
    p95_ms = 24.77\np99_ms = 28.44\np99_5_ms = 40.63\n\
    [sequential]\nread_mb_per_s = 143\nwrite_mb_per_s = 132\nbs = \"1M\"\n";

fn read(text: &str) -> Measurements {
    Measurements::read("m.toml", text).unwrap()
}

#[test]
fn a_measured_drive_is_met_at_depth_one_and_always_the_same() {
    let once = fit("fitted", "", &read(FIGURES), 1).unwrap();
    for figure in &once.figures {
        let off = (figure.fitted / figure.measured - 1.0).abs();
        let margin = if figure.name == "mean_ms" { 0.01 } else { 0.10 };
        assert!(off < margin, "{:?}", once.figures);
    }
    assert!(once.rms_log_error < 0.05, "{:?}", once.figures);
    let profile = Profile::parse("fitted.toml", &once.profile, &|_| None).unwrap();
    assert_eq!(profile.capacity().bytes().get(), 2_000_398_934_016);
    assert_eq!(once, fit("fitted", "", &read(FIGURES), 1).unwrap());
    assert_ne!(once.profile, fit("fitted", "", &read(FIGURES), 8).unwrap().profile);
}

#[test]
fn what_a_queue_gains_is_the_median_of_its_kind() {
    let check = |rpm: f64, mean_ms: f64, median: f64| {
        let text = format!(
            "[drive]\ncapacity_bytes = 500107862016\nrpm = {rpm}\n\
             [random_read_qd1]\nmean_ms = {mean_ms}\n[sequential]\nread_mb_per_s = 90\n"
        );
        let fit = fit("a", "", &read(&text), 1).unwrap();
        assert!((fit.gain / median - 1.0).abs() < 0.10, "{rpm} rpm: {}", fit.gain);
    };
    check(7200.0, 13.5, 1.65);
    check(5400.0, 18.0, 1.55);
    check(10_000.0, 8.0, 1.80);
}

#[test]
fn slips_are_refused_with_their_place() {
    let check = |text: &str, part: &str| {
        let error = Measurements::read("m.toml", text).unwrap_err().to_string();
        assert!(error.contains("m.toml:") && error.contains(part), "{error}");
    };
    let reads = |lines: &str| {
        format!("[drive]\ncapacity_bytes = 1e12\nrpm = 7200\n[random_read_qd1]\n{lines}\n")
    };
    check("[drive]\nrpm = 7200\n", "capacity_bytes");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 7200\nsector_bytes = 520\n", "512 or 4096");
    check("rpm = 7200\n", "[drive]");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 0\n", "rpm");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 7\n", "100 to 100000");
    check("[drive]\ncapacity_bytes = 9\nrpm = 7200\n", "1 MiB");
    check(&format!("{FIGURES}\n[random_read]\n"), "random_read");
    check(&reads("p50_ms = -1"), "p50_ms");
    check(&reads("p50_ms = nan"), "p50_ms");
    check(&reads("p50_ms = 14\np90_ms = 12"), "quantiles rise");
    check(&reads("mean_ms = 6\np50_ms = 14"), "too small");
    check(&reads("iops = 2000\nmean_ms = 14"), "contradict");
    let empty = read("[drive]\ncapacity_bytes = 1000000000000\nrpm = 7200\n");
    assert!(fit("a", "", &empty, 1).unwrap_err().contains("nothing to fit"));
    let cached = read(&reads("mean_ms = 0.3"));
    assert!(fit("a", "", &cached, 1).unwrap_err().contains("no cache answered"));
}

#[test]
fn what_was_not_measured_is_named() {
    let named = |text: &str| fit("a", "", &read(text), 1).unwrap().not_identified.join("\n");
    let all = named(FIGURES);
    assert!(all.contains("revolutions per retry") && !all.contains("150 MB/s"), "{all}");
    let few =
        named("[drive]\ncapacity_bytes = 500107862016\nrpm = 7200\n[random_read_qd1]\niops = 70\n");
    assert!(few.contains("150 MB/s") && few.contains("retries, visible above p99"), "{few}");
}

#[test]
fn the_size_of_a_physical_sector_is_handed_on() {
    let text = "[drive]\ncapacity_bytes = 500107862016\nrpm = 7200\nsector_bytes = 4096\n\
                [random_read_qd1]\niops = 70\n";
    let fitted = fit("a", "", &read(text), 1).unwrap().profile;
    let profile = Profile::parse("fitted.toml", &fitted, &|_| None).unwrap();
    assert_eq!(profile.physical_sector.get(), 8);
}
