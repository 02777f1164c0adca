//! Volumes of clouds held against the tables of their makers.

use drivelab_core::{Device, Lba, Op, Request, Sectors, Span, Time};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Drive, build};

fn volume(base: &str, keys: &str) -> Drive {
    let text = format!("base = \"{base}\"\n{keys}");
    let profile = Profile::parse("volume.toml", &text, &|_| None).unwrap();
    build(&profile, &Options::default(), 1).unwrap()
}

/// A closed loop of random reads: completions in each of `seconds` seconds.
fn rates(drive: &mut Drive, depth: u64, kib: u64, seconds: u64) -> Vec<u64> {
    let span = drive.capacity().get() - kib * 2;
    let (mut id, mut made, mut completed) = (0, vec![0; seconds as usize], Vec::new());
    let end = Time::ZERO + Span::from_secs(seconds);
    let mut next = |now, drive: &mut Drive| {
        // A step that no request continues.
        let lba = Lba::new(id * 7_919_993 * 8 % span / 8 * 8);
        drive.submit(now, Request::read(id, lba, Sectors::new(kib * 2))).unwrap();
        id += 1;
    };
    for _ in 0..depth {
        next(Time::ZERO, drive);
    }
    while let Some(now) = drive.next_event().filter(|now| *now < end) {
        drive.advance(now, &mut completed);
        for completion in completed.drain(..) {
            made[(completion.at.since(Time::ZERO).ns() / 1_000_000_000) as usize] += 1;
            next(now, drive);
        }
    }
    made
}

fn near(found: f64, published: f64) -> bool {
    (found / published - 1.0).abs() < 0.01
}

#[test]
fn gp2_of_100_gib_makes_3000_for_2000_seconds_and_then_300() {
    let made = rates(&mut volume("aws-gp2", ""), 64, 16, 2100);
    let last = made.iter().rposition(|count| *count > 1650).unwrap() + 1;
    assert!(near(last as f64, 2000.0), "{last} s");
    let mean = |range: std::ops::Range<usize>| {
        made[range.clone()].iter().sum::<u64>() as f64 / range.len() as f64
    };
    assert!(near(mean(1..1990), 3000.0), "{}", mean(1..1990));
    assert!(near(mean(2020..2100), 300.0), "{}", mean(2020..2100));
}

/// The table of gp2: size, the requests that it makes for ever, and the seconds that a full balance
/// lasts.
#[test]
fn gp2_by_size_is_as_in_the_table() {
    for (gib, base, seconds) in [
        (1_u64, 100, 1862),
        (100, 300, 2000),
        (250, 750, 2400),
        (334, 1002, 2703),
        (500, 1500, 3600),
    ] {
        let bytes = gib << 30_u64;
        let mut drive = volume("aws-gp2", &format!("capacity_bytes = {bytes}\n"));
        let made = rates(&mut drive, 64, 16, seconds + 40);
        let half = u64::midpoint(3000, base);
        let last = made.iter().rposition(|count| *count > half).unwrap() + 1;
        assert!(near(last as f64, seconds as f64), "{gib} GiB: {last} s");
        let after = made[last + 5..].iter().sum::<u64>() as f64 / (made.len() - last - 5) as f64;
        assert!(near(after, base as f64), "{gib} GiB: {after}");
    }
    for (gib, base) in [(1000_u64, 3000.0), (2000, 6000.0), (5334, 16_000.0), (16_384, 16_000.0)] {
        let mut drive = volume("aws-gp2", &format!("capacity_bytes = {}\n", gib << 30_u64));
        // Small requests, as the throughput is that of a small volume here.
        let made = rates(&mut drive, 64, 4, 12);
        let mean = made[2..].iter().sum::<u64>() as f64 / 10.0;
        assert!(near(mean, base), "{gib} GiB: {mean}");
    }
}

/// Throughput of gp2 by size: 128 MiB/s up to 170 GiB, 250 MiB/s above, which requests of 256 KiB
/// pay for with credits below 334 GiB.
#[test]
fn the_throughput_of_gp2_is_as_in_the_table() {
    for (gib, mib_per_s) in
        [(1_u64, 128.0), (170, 128.0), (171, 250.0), (334, 250.0), (2000, 250.0)]
    {
        let mut drive = volume("aws-gp2", &format!("capacity_bytes = {}\n", gib << 30_u64));
        let made = rates(&mut drive, 64, 256, 12);
        let mean = made[2..].iter().sum::<u64>() as f64 / 10.0 / 4.0;
        assert!(near(mean, mib_per_s), "{gib} GiB: {mean}");
    }
    // A rate that a file states holds at any size.
    let keys = format!("capacity_bytes = {}\nbytes_per_s = \"200M\"\n", 500_u64 << 30_u64);
    let made = rates(&mut volume("aws-gp2", &keys), 64, 256, 12);
    let mean = made[2..].iter().sum::<u64>() as f64 / 10.0 / 4.0;
    assert!(near(mean, 200.0), "{mean}");
}

#[test]
fn a_volume_goes_to_a_real_host_without_an_elevator() {
    let profile = Profile::embedded("aws-gp2").unwrap();
    for name in ["aws-gp2", "azure-p20", "fixed"] {
        let profile = Profile::embedded(name).unwrap();
        let drive = drivelab_model::build_bare(&profile, &Options::default(), 1).unwrap();
        assert!(drive.about().attached.is_none(), "{name}");
    }
    let mut options = Options::default();
    options.set("scheduler", "deadline").unwrap();
    let refusal = drivelab_model::build_bare(&profile, &options, 1).unwrap_err();
    assert!(refusal.to_string().contains("it has no `scheduler`"), "{refusal}");
}

/// Requests and MiB a second at the sizes of request that decide for either limit.
#[test]
fn gp3_and_io2_are_as_provisioned() {
    for (base, keys, kib, expected) in [
        ("aws-gp3", "", 16, 3000.0),
        ("aws-gp3", "", 256, 500.0),
        ("aws-gp3", "", 1024, 125.0),
        ("aws-gp3", "iops = 16000\nbytes_per_s = \"1000M\"\n", 16, 16_000.0),
        ("aws-gp3", "iops = 16000\nbytes_per_s = \"1000M\"\n", 256, 4000.0),
        ("aws-io2", "iops = 32000\n", 16, 32_000.0),
        ("aws-io2", "iops = 64000\n", 256, 16_000.0),
    ] {
        let made = rates(&mut volume(base, keys), 128, kib, 12);
        let mean = made[2..].iter().sum::<u64>() as f64 / 10.0;
        assert!(near(mean, expected), "{base} {keys} {kib} KiB: {mean}");
    }
}

/// The table of st1: 1 TiB reads 250 MiB/s out of a bucket of 1 TiB, which fills at 40.
#[test]
fn st1_empties_its_bucket() {
    let made = rates(&mut volume("aws-st1", ""), 8, 1024, 5200);
    let last = made.iter().rposition(|count| *count > 145).unwrap() + 1;
    // 1 TiB at the difference of the two rates.
    assert!(near(last as f64, 1_048_576.0 / 210.0), "{last} s");
    let first = made[1..1000].iter().sum::<u64>() as f64 / 999.0;
    let after = made[last + 5..].iter().sum::<u64>() as f64 / (made.len() - last - 5) as f64;
    assert!(near(first, 250.0) && near(after, 40.0), "{first} {after}");
}

/// Requests a second before and after 30 minutes, of disks of Azure.
#[test]
fn premium_disks_burst_for_half_an_hour() {
    for (size, base, burst) in [
        (32_u64, 120, 3500),
        (64, 240, 3500),
        (128, 500, 3500),
        (256, 1100, 3500),
        (512, 2300, 3500),
    ] {
        let credits = (burst - base) * 1800;
        let keys = format!(
            "capacity_bytes = {}\niops = {base}\nburst_iops = {burst}\nburst_credits = {credits}\n",
            size << 30_u64
        );
        let made = rates(&mut volume("azure-p20", &keys), 64, 4, 1840);
        let last = made.iter().rposition(|count| *count > u64::midpoint(burst, base)).unwrap() + 1;
        assert!(last.abs_diff(1800) <= 1, "{size} GiB: {last} s");
        let first = made[1..1790].iter().sum::<u64>() as f64 / 1789.0;
        let after = made[last + 3..].iter().sum::<u64>() as f64 / (made.len() - last - 3) as f64;
        assert!(near(first, burst as f64) && near(after, base as f64), "{first} {after}");
    }
}

#[test]
fn small_requests_in_sequence_count_as_one_and_new_parts_cost_once() {
    let mut drive = volume("aws-gp3", "iops = 100\n");
    let (mut completed, mut now) = (Vec::new(), Time::ZERO);
    // A hundred a second: of 64 requests of 4 KiB in sequence the first takes what is free, and
    // the others are one.
    for id in 0..64 {
        drive.submit(now, Request::read(id, Lba::new(id * 8), Sectors::new(8))).unwrap();
    }
    while let Some(next) = drive.next_event() {
        now = next;
        drive.advance(now, &mut completed);
    }
    assert!(completed.len() == 64 && now.since(Time::ZERO) < Span::from_ms(13), "{now:?}");
    let mut drive = volume("aws-gp3", "first_touch = \"20ms\"\n");
    let mut took = |id, lba| {
        let before = now;
        let read = Request { op: Op::Read, ..Request::read(id, Lba::new(lba), Sectors::new(8)) };
        drive.submit(now, read).unwrap();
        now = drive.next_event().unwrap();
        drive.advance(now, &mut completed);
        now.since(before)
    };
    let spans = [took(0, 0), took(1, 1016), took(2, 1024), took(3, 0)];
    assert!(spans[0] > Span::from_ms(20) && spans[2] > Span::from_ms(20), "{spans:?}");
    assert!(spans[1] < Span::from_ms(2) && spans[3] < Span::from_ms(2), "{spans:?}");
}
