//! Statistics in the form of ioping 0.6 and 1.1.

use super::*;

const OLD: &str = "\
$ ioping -R /dev/sda

--- /dev/sda (device 465.8 GiB) ioping statistics ---
186 requests completed in 3004.6 ms, 62 iops, 0.2 MiB/s
min/avg/max/mdev = 6.4/16.0/26.8/4.7 ms
";
const NEW: &str = "\
# ioping -DC -c 10 .
4 KiB <<< . (ext4 /dev/sda 20 GiB): request=1 time=531.2 us

--- . (ext4 /dev/sda 20 GiB) ioping statistics ---
9 requests completed in 56.4 ms, 36 KiB read, 1.8 k iops, 402.8 KiB/s
generated 10 requests in 6.00 s, 40 KiB, 1 iops, 4.44 KiB/s
min/avg/max/mdev = 531.2 us / 9.93 ms / 1.58 s / 12.5 ms
";

fn values(text: &str) -> Vec<(String, f64)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
}

#[track_caller]
fn check(text: &str, expected: &[(&str, f64)]) {
    let found = values(text);
    for (name, value) in expected {
        let (_, read) = found.iter().find(|(it, _)| it == name).unwrap();
        assert!((read - value).abs() <= value * 1e-12, "{name}: {read}");
    }
    assert_eq!(found.len(), expected.len(), "{found:?}");
}

#[test]
fn both_forms_are_read() {
    let mib = 1_048_576.0;
    let expected = [
        ("iops", 62.0),
        ("bytes_per_s", 0.2 * mib),
        ("lat_mean_ns", 16e6),
        ("lat_min_ns", 6.4e6),
        ("lat_max_ns", 26.8e6),
        ("lat_mdev_ns", 4.7e6),
    ];
    check(OLD, &expected);
    let expected = [
        ("iops", 1800.0),
        ("bytes_per_s", 402.8 * 1024.0),
        ("generated_iops", 1.0),
        ("generated_bytes_per_s", 4.44 * 1024.0),
        ("lat_mean_ns", 9.93e6),
        ("lat_min_ns", 531_200.0),
        ("lat_max_ns", 1.58e9),
        ("lat_mdev_ns", 12.5e6),
    ];
    check(NEW, &expected);
}

#[test]
fn megabytes_of_old_versions_have_small_letters() {
    let text = OLD.replace("0.2 MiB/s", "0.2 mb/s");
    assert_eq!(values(&text)[1], ("bytes_per_s".to_owned(), 0.2 * 1_048_576.0));
}

#[test]
fn the_options_are_work_and_a_label() {
    let imported = parse(&format!("{OLD}{NEW}")).unwrap();
    assert_eq!(imported.runs.len(), 2);
    assert_eq!(imported.runs[0].arm, "/dev/sda (device 465.8 GiB)");
    assert_eq!(imported.runs[0].phases[0].nature, Nature::Disk);
    assert_eq!(imported.runs[1].phases[0].nature, Nature::PageCache);
    assert_eq!(imported.runs[1].work.to_string(), "direct=1");
    assert!(!is_ioping("an ioping statistics ---\n"));
}

#[test]
fn damage_is_named_with_its_line() {
    let imported = parse(&OLD.replace("6.4/16.0", "6.4")).unwrap();
    assert_eq!(imported.unknown, ["line 5: `min/avg/max/mdev = 6.4/26.8/4.7 ms`"]);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.,/=a-zMiB \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&NEW.replace("1.8 k iops", &put));
        let _ = parse(&NEW.replace("9.93 ms", &put));
    }

    #[test]
    fn what_is_written_comes_back(us in 1_u32..9_999_999) {
        let found = values(&NEW.replace("9.93 ms", &format!("{us} us")));
        proptest::prop_assert!(found.contains(&("lat_mean_ns".to_owned(), f64::from(us) * 1e3)));
    }
}

#[test]
fn a_line_of_rates_alone_is_a_run() {
    let line = "10 requests completed in 9.0 s, 233 iops, 2.0 MiB/s\n";
    let text = format!("$ ioping -c 10 /\n....\n{line}\n$ ioping -c 10 /mnt\n....\n{line}");
    assert!(is_ioping(&text));
    let imported = parse(&text).unwrap();
    assert_eq!(imported.runs.len(), 2);
    check(line, &[("iops", 233.0), ("bytes_per_s", 2.0 * 1_048_576.0)]);
    assert_eq!(parse(&format!("{OLD}{NEW}{line}")).unwrap().runs.len(), 3);
}
