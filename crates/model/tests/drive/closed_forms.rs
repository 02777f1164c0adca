//! What can be worked out with pencil and paper.

use drivelab_core::{Completion, Device, Lba, Request, Rng, Sectors, Span, Time};
use drivelab_model::Drive;

use crate::load::{Load, drive, drive_with, run};

/// Runs one request to its end.
fn alone(drive: &mut Drive, at: Time, request: Request) -> Completion {
    let mut completed = Vec::new();
    drive.submit(at, request).unwrap();
    while completed.is_empty() {
        let next = drive.next_event().unwrap();
        drive.advance(next, &mut completed);
    }
    completed[0]
}

#[test]
fn mean_latency_is_average_seek_plus_half_a_revolution_plus_overhead() {
    for (rpm, average, overhead) in [(7200, 8.5, 0.1), (5400, 12.0, 0.3), (10_000, 4.7, 0.0)] {
        let profile = format!(
            "rpm = {rpm}\nseek_average = \"{average}ms\"\nseek_track = \"0.5ms\"\n\
             overhead_read_miss = \"{overhead}ms\"\nread_segments = 0\nguard = \"0ms\"\n"
        );
        let mut drive = drive_with("seagate-st31000333as", &profile);
        let outcome = run(&mut drive, Load { requests: 60_000, ..Load::default() });
        let revolution = 60_000.0 / f64::from(rpm);
        // Eight sectors off a track of about 1675, then over 300 MB/s, and 5.4 us of frames.
        let transfer = revolution * 8.0 / 1675.0 + 4096.0 / 300e3 + 0.0054;
        let expected = average + revolution / 2.0 + overhead + transfer;
        let error = outcome.mean_ms() / expected - 1.0;
        // Standard error of the mean 0.14 %.
        assert!(error.abs() < 0.006, "{rpm} rpm: {} against {expected}", outcome.mean_ms());
    }
}

#[test]
fn sequential_time_is_tracks_and_skews_to_the_nanosecond() {
    // 6000 rpm: 10 ms a revolution, 10 us a sector. A head switch of 0.5 ms is 50 sectors of skew,
    // the step of 0.7 ms to the next cylinder 70.
    let profile = "rpm = 6000\nheads = 4\nzones = [[2500, 1000]]\n\
                   capacity_bytes = 5_120_000_000\nhead_switch = \"0.5ms\"\n\
                   seek_track = \"0.7ms\"\nseek_average = \"8ms\"\noverhead_read_miss = \"1ms\"\n\
                   link = \"3\"\n";
    for (cylinders, rest) in [(1_u64, 0_u64), (3, 0), (25, 500), (250, 1)] {
        let mut drive = drive_with("seagate-st31000333as", profile);
        let sectors = Sectors::new(cylinders * 4000 + rest);
        let done = alone(&mut drive, Time::ZERO, Request::read(1, Lba::ZERO, sectors));
        let switches = if rest == 0 { cylinders * 4 - 1 } else { cylinders * 4 };
        let steps = switches / 4;
        // Ready at 1 ms, the first sector comes round at 10 ms.
        let expected =
            10_000_000 + sectors.get() * 10_000 + (switches - steps) * 500_000 + steps * 700_000;
        // The last frame of 16 sectors at 300 MB/s, and 5.4 us.
        let wire = (16 * 512 * 10_u64).div_ceil(3) + 5_400;
        let off = done.at.ns().abs_diff(expected + wire);
        assert!(off <= 3, "{cylinders} cylinders: {} against {}", done.at.ns(), expected + wire);
    }
}

#[test]
fn a_stream_of_small_reads_keeps_the_media_rate() {
    let profile = "heads = 4\nzones = [[2500, 1200]]\ncapacity_bytes = 6_144_000_000\n\
                   rpm = 6000\nhead_switch = \"0.5ms\"\nseek_track = \"0.5ms\"\n";
    // 1200 sectors in 10 ms and 0.5 ms of skew: 58.51 MB/s, whatever the block and depth.
    let expected = 1200.0 * 512.0 / 0.0105;
    for (sectors, depth) in [(16, 4), (128, 1), (128, 32), (256, 1), (1024, 2), (4096, 1)] {
        let mut drive = drive_with("seagate-st31000333as", profile);
        let load = Load { sequential: true, sectors, depth, requests: 3000, ..Load::default() };
        let rate = run(&mut drive, load).iops() * sectors as f64 * 512.0;
        assert!((rate / expected - 1.0).abs() < 0.005, "{sectors} sectors, depth {depth}: {rate}");
    }
}

/// Submits at random times; gives arrival and completion of each request in order.
fn poisson(mut drive: Drive, mean: Span, count: u64, seed: u64) -> Vec<(Time, Time)> {
    let mut rng = Rng::new(seed);
    let (mut arrivals, mut completed) = (Vec::new(), Vec::new());
    let mut at = Time::ZERO;
    for id in 0..count {
        at += rng.exponential(mean);
        while drive.next_event().is_some_and(|next| next <= at) {
            let next = drive.next_event().unwrap();
            drive.advance(next, &mut completed);
        }
        arrivals.push(at);
        drive.submit(at, Request::read(id, Lba::ZERO, Sectors::new(8))).unwrap();
    }
    while let Some(next) = drive.next_event() {
        drive.advance(next, &mut completed);
    }
    let arrival = |done: &Completion| arrivals[usize::try_from(done.id.0).unwrap()];
    completed.iter().map(|done| (arrival(done), done.at)).collect()
}

#[test]
fn waiting_in_m_d_1_is_what_pollaczek_and_khinchine_say() {
    for load in [0.3, 0.5, 0.7, 0.85] {
        let service = Span::from_ms(10);
        let mean = Span::from_ns((10e6 / load) as u64);
        let served = poisson(drive("fixed"), mean, 1_500_000, 11);
        let waited: u64 = served.iter().map(|(from, to)| to.since(*from).ns()).sum();
        let waited = waited as f64 / served.len() as f64 / 1e6 - 10.0;
        let expected = load / (2.0 * (1.0 - load)) * 10.0;
        // The longest correlation, at 0.85, leaves a standard error of 0.8 %.
        assert!((waited / expected - 1.0).abs() < 0.03, "load {load}: {waited} {expected}");
        // And request by request: each begins when it has arrived and its predecessor is done.
        let mut free = Time::ZERO;
        for (from, to) in served {
            free = free.max(from) + service;
            assert_eq!(to, free, "load {load}");
        }
    }
}

#[test]
fn several_fixed_servers_serve_at_once() {
    let mut drive = drive_with("fixed", "servers = 4\n");
    let outcome = run(&mut drive, Load { depth: 8, requests: 4000, ..Load::default() });
    assert!((outcome.iops() - 400.0).abs() < 1.0, "{}", outcome.iops());
    assert_eq!(outcome.latencies.iter().max(), Some(&20_000_000));
}
