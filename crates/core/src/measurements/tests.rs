use super::*;
use crate::record::MarkId;

const FIGURES: &str = "[drive]\ncapacity_bytes = 2_000_398_934_016\nrpm = 7200\n\
    [random_read_qd1]\nbs = \"4k\"\niops = 57.6\nmean_ms = 17.57\np1_ms = 3.26\np99_ms = 28.44\n\
    [sequential]\nread_mb_per_s = 143\nwrite_mb_per_s = 132\nbs = \"1M\"\n";

#[test]
fn what_is_written_is_read_back() {
    let mut measured = Measurements::of_drive(1 << 40, Some(7200.0)).unwrap();
    measured.sources.push("a \"drive\"".into());
    let times: Vec<Span> = (1..=2000).map(|part| Span::from_us(part * 10)).collect();
    for (write, span_bytes, iodepth) in
        [(false, None, 1), (false, Some(1 << 30), 32), (true, None, 1), (true, None, 8)]
    {
        measured.loads.push(MeasuredLoad {
            requests: Some(2000),
            rate_error: Some(0.0125),
            figures: Figures::of_times(&times, 99.95 * f64::from(iodepth)),
            ..MeasuredLoad::new(write, span_bytes, iodepth)
        });
    }
    let stream =
        |position| MeasuredStream { write: false, position, state: None, mb_per_s: 123.25 };
    measured.streams = [None, Some(Position::Outer), Some(Position::Inner)].map(stream).into();
    measured.flushes.push(MeasuredFlush { writes: 64, mean_ms: 412.5, mean_error: Some(0.02) });
    measured.bursts.push(MeasuredBurst { writes: 64, p50_ms: 0.041_25, error: Some(0.005) });
    measured.loads.push(MeasuredLoad {
        state: Some(FlashState::Steady),
        figures: Figures::of_times(&times, 3198.4),
        ..MeasuredLoad::new(true, None, 32)
    });
    let state = Some(FlashState::Fresh);
    measured.streams.push(MeasuredStream { write: true, position: None, state, mb_per_s: 310.5 });
    measured.marks.push(Mark { id: MarkId::Contended, message: "a \"busy\" host".into() });
    let text = measured.text("measured\nby hand");
    let again = Measurements::read("m.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.text("measured\nby hand"), text);
    assert_eq!((again.loads.len(), &again.bursts), (5, &measured.bursts));
    assert_eq!(again.whole(true, 32).unwrap().state, Some(FlashState::Steady));
    let states: Vec<Option<FlashState>> = again.streams.iter().map(|it| it.state).collect();
    assert_eq!(states, [None, None, None, Some(FlashState::Fresh)]);
    assert_eq!(again.whole(true, 8).unwrap().requests, Some(2000));
    assert!((again.whole(false, 1).unwrap().figures.get("p50_ms").unwrap() - 10.01).abs() < 0.02);
    assert_eq!(again.stream_at(false, Position::Inner), Some(123.25));
    assert_eq!(again.flushes, measured.flushes);
    assert_eq!(again.marks, measured.marks);
}

#[test]
fn a_solid_state_drive_keeps_its_attachment_and_its_microseconds() {
    let mut measured = Measurements::of_drive(1 << 39, None).unwrap();
    measured.kind = Some(DriveKind::Ssd);
    (measured.interface, measured.link) = (Some(DriveInterface::Nvme), Some("pcie3x4".into()));
    let times = vec![Span::from_ns(81_234); 2000];
    let figures = Figures::of_times(&times, 12_310.0);
    measured.loads.push(MeasuredLoad { figures, ..MeasuredLoad::new(false, None, 1) });
    let again = Measurements::read("m.toml", &measured.text("")).unwrap();
    assert_eq!((again.kind, again.interface), (measured.kind, measured.interface));
    assert_eq!(again.link.as_deref(), Some("pcie3x4"));
    assert_eq!(again.whole(false, 1).unwrap().figures.get("p50_ms"), Some(0.081_234));
}

#[test]
fn files_of_before_are_read() {
    let old = Measurements::read("m.toml", FIGURES).unwrap();
    assert_eq!((old.rpm, old.loads.len(), old.stream(false)), (Some(7200.0), 1, Some(143.0)));
    assert_eq!(old.whole(false, 1).unwrap().figures.get("p99_ms"), Some(28.44));
}

#[test]
fn slips_are_refused_with_their_place() {
    let check = |text: &str, part: &str| {
        let error = Measurements::read("m.toml", text).unwrap_err().to_string();
        assert!(error.contains("m.toml:") && error.contains(part), "{error}");
    };
    let drive = "[drive]\ncapacity_bytes = 1e12\nrpm = 7200\n";
    let reads = |lines: &str| format!("{drive}[random_read_qd1]\n{lines}\n");
    check("[drive]\nrpm = 7200\n", "capacity_bytes");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 7200\nsector_bytes = 520\n", "512 or 4096");
    check("rpm = 7200\n", "[drive]");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 0\n", "rpm");
    check("[drive]\ncapacity_bytes = 1e12\nrpm = 7\n", "100 to 100000");
    check("[drive]\ncapacity_bytes = 9\nrpm = 7200\n", "1 MiB");
    check(&format!("{FIGURES}\n[random_reed]\n"), "random_reed");
    check("[drive]\ncapacity_bytes = 1e12\nkind = \"flash\"\n", "kind of drive");
    check("[drive]\ncapacity_bytes = 1e12\ninterface = \"usb\"\n", "interface");
    check(&reads("p50_ms = -1"), "p50_ms");
    check(&reads("p50_ms = nan"), "p50_ms");
    check(&reads("p50_ms = 14\np90_ms = 12"), "quantiles rise");
    check(&reads("mean_ms = 6\np50_ms = 14"), "too small");
    check(&reads("iops = 2000\nmean_ms = 14"), "contradict");
    check(&format!("{drive}[[random_read]]\niodepth = 0\niops = 9\n"), "1 to 1024");
    check(&format!("{drive}[[flush]]\nmean_ms = 9\n"), "writes");
    check(&format!("{drive}[[mark]]\nid = \"cursed\"\n"), "`cursed` is not a mark");
}

#[test]
fn two_measurements_of_one_drive_are_joined() {
    let drive = "[drive]\ncapacity_bytes = 1e12\nkind = \"ssd\"\n";
    let read = |more: &str| Measurements::read("m.toml", &format!("{drive}{more}")).unwrap();
    let mut full = read(
        "[random_read_qd1]\niops = 9000\n[sequential]\nwrite_state = \"full\"\n\
                         write_mb_per_s = 300\n",
    );
    let steady = read(
        "[random_read_qd1]\niops = 8000\n[[random_write]]\niodepth = 32\n\
                       state = \"steady\"\niops = 20000\n[[cached_write]]\nwrites = 64\n\
                       p50_ms = 0.04\n",
    );
    full.join(steady).unwrap();
    // What both show is that of the first.
    assert_eq!(full.whole(false, 1).unwrap().iops(), Some(9000.0));
    assert_eq!((full.loads.len(), full.streams.len(), full.bursts.len()), (2, 1, 1));
    let other = Measurements::of_drive(1 << 30, None).unwrap();
    assert!(full.join(other).unwrap_err().0.contains("different drives"));
}
